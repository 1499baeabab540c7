/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads multicast tables as OpenSM and dump_fts write them. */
#include <portmajor/files/mft_file.h>

#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NO_SWITCH UINT32_MAX
#define POSITIONS (PM_MAX_PORTS / PM_MFT_POSITION + 1)

/* In a row of dump_mfts: the column of port 0, and the columns per port. */
#define FIRST_COLUMN 12
#define COLUMNS 2

struct reader {
	struct pm_lexer lexer;
	const struct pm_fabric *fabric;
	struct pm_mfts *mfts;
	uint32_t current; /* switch of the table being read, or NO_SWITCH */
	uint32_t tables;
};

/* The ports of an entry. */
struct entry {
	uint64_t mlid;
	uint16_t mask[POSITIONS];
};

/* ---- Tables ---- */

/* `Switch 0x..` or `Multicast mlids .. guid 0x.. (name):` */
static int begin_table(struct reader *r, struct pm_text line, const char *word)
{
	struct pm_text rest = line;
	uint64_t guid;

	if (!pm_text_skip_past(&rest, word) ||
	    !pm_text_take_number(&rest, 16, UINT64_MAX, &guid))
		return pm_lexer_fail(&r->lexer, "no GUID of the switch in \"%.*s\"",
				     PM_SHOWN(line));
	r->current = pm_fabric_find_guid(r->fabric, guid);
	if (r->current >= r->fabric->num_switches)
		return pm_lexer_fail(&r->lexer,
				     "the topology has no switch 0x%016" PRIx64, guid);
	r->tables++;
	return 0;
}

static int add_entry_port(const struct reader *r, struct entry *entry, uint64_t port)
{
	const struct pm_node *n = &r->fabric->nodes[r->current];
	uint16_t *mask = &entry->mask[port / PM_MFT_POSITION];

	if (port > n->num_ports)
		return pm_lexer_fail(&r->lexer, "\"%s\" has no port %" PRIu64,
				     pm_fabric_label(r->fabric, r->current), port);
	*mask = (uint16_t)(*mask | 1u << port % PM_MFT_POSITION);
	return 0;
}

/* A switch may come again with other MLIDs, but not with one it had. */
static int set_entry(struct reader *r, const struct entry *entry)
{
	uint32_t positions = pm_mfts_num_positions(r->mfts, r->current);
	uint16_t mlid = (uint16_t)entry->mlid;
	int rc = 0;

	for (uint32_t p = 0; p < positions; p++)
		if (pm_mfts_mask(r->mfts, r->current, mlid, p))
			return pm_lexer_fail(&r->lexer, "a second entry for MLID 0x%x",
					     mlid);
	for (uint32_t p = 0; p < positions && !rc; p++)
		if (entry->mask[p])
			rc = pm_mfts_set_mask(r->mfts, r->current, mlid, p,
					      entry->mask[p]);
	return rc ? pm_error_no_memory(r->lexer.err) : 0;
}

/* ---- Entries ---- */

/* ` 0x001  0x007 ` */
static int take_numbers(const struct reader *r, struct pm_text rest, struct entry *entry)
{
	int rc = 0;

	for (pm_text_skip_blanks(&rest); !rc && !pm_text_is_empty(rest);
	     pm_text_skip_blanks(&rest)) {
		struct pm_text all = rest;
		uint64_t port;

		if (!pm_text_take_number(&rest, 16, PM_MAX_PORTS, &port))
			return pm_lexer_fail(&r->lexer, "no port in \"%.*s\"",
					     PM_SHOWN(all));
		rc = add_entry_port(r, entry, port);
	}
	return rc;
}

/* Reads a row with an x in each member port's column. */
static int take_columns(const struct reader *r, struct pm_text line, struct entry *entry)
{
	size_t length = pm_text_length(line);
	int rc = 0;

	for (size_t at = 6; at < length && !rc; at++) {
		if (line.at[at] == ' ' || line.at[at] == '\r')
			continue;
		if (line.at[at] != 'x' || at < FIRST_COLUMN ||
		    (at - FIRST_COLUMN) % COLUMNS)
			return pm_lexer_fail(&r->lexer, "no ports in \"%.*s\"",
					     PM_SHOWN(line));
		if ((at - FIRST_COLUMN) / COLUMNS > PM_MAX_PORTS)
			return pm_lexer_fail(&r->lexer, "a port above %d", PM_MAX_PORTS);
		rc = add_entry_port(r, entry, (at - FIRST_COLUMN) / COLUMNS);
	}
	return rc;
}

static int parse_entry(struct reader *r, struct pm_text line)
{
	struct entry entry = {0};
	struct pm_text rest = line;
	int rc;

	if (r->current == NO_SWITCH)
		return pm_lexer_fail(&r->lexer, "an entry outside of a table");
	if (!pm_text_take_number(&rest, 16, PM_MLID_LAST, &entry.mlid) ||
	    entry.mlid < PM_MLID_FIRST)
		return pm_lexer_fail(&r->lexer, "no MLID in \"%.*s\"", PM_SHOWN(line));
	pm_text_skip_blanks(&rest);
	if (pm_text_starts(rest, ":")) {
		rest.at++;
		rc = take_numbers(r, rest, &entry);
	} else {
		rc = take_columns(r, line, &entry);
	}
	return rc ? rc : set_entry(r, &entry);
}

/* ---- Lines ---- */

/* Whether a line is known, though neither a table's beginning nor an entry. */
static bool is_known(struct pm_text line)
{
	static const char *const words[] = {"LID",   "     Ports:", "            ",
					    " MLid", "#",	    "***"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (pm_text_starts(line, words[i]))
			return true;
	pm_text_skip_blanks(&line);
	return pm_text_is_empty(line) || pm_text_skip_past(&line, " mlids dumped");
}

static int parse_mft_line(struct reader *r, struct pm_text line)
{
	int rc = pm_lexer_check_text(&r->lexer, line);

	if (rc)
		return rc;
	if (line.end == r->lexer.rest.end)
		return pm_lexer_fail(&r->lexer, "the file stops in the middle of a line");
	if (pm_text_starts(line, "Switch "))
		return begin_table(r, line, "Switch ");
	if (pm_text_starts(line, "Multicast mlids"))
		return begin_table(r, line, " guid ");
	if (pm_text_starts(line, "0x"))
		return parse_entry(r, line);
	if (is_known(line))
		return 0;
	return pm_lexer_fail(&r->lexer, "\"%.*s\" is no line of a multicast table",
			     PM_SHOWN(line));
}

int pm_mfts_parse(const char *text, size_t length, const char *source,
		  const struct pm_fabric *fabric, struct pm_mfts **mfts,
		  struct pm_error *err)
{
	struct reader r = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.fabric = fabric,
		.current = NO_SWITCH,
	};
	struct pm_text line;
	int rc = 0;

	if (length > PM_TEXTFILE_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_TEXTFILE_MAX_BYTES);
	r.mfts = pm_mfts_new(fabric);
	if (!r.mfts)
		return pm_error_no_memory(err);
	while (!rc && pm_lexer_next(&r.lexer, &line))
		rc = parse_mft_line(&r, line);
	if (!rc && !r.tables)
		rc = pm_lexer_fail(&r.lexer, "no multicast tables in it");
	if (rc)
		pm_mfts_free(r.mfts);
	else
		*mfts = r.mfts;
	return rc;
}

int pm_mfts_read(const char *path, const struct pm_fabric *fabric, struct pm_mfts **mfts,
		 struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_mfts_parse(text, length, pm_textfile_name(path), fabric, mfts,
				   err);
	free(text);
	return rc;
}
