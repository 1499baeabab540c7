/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/lftfile.h>
#include <portmajor/alloc.h>
#include <portmajor/digit.h>
#include <portmajor/lexer.h>
#include <portmajor/textfile.h>

#include <errno.h>
#include <inttypes.h>

#define NO_TABLE UINT32_MAX

struct reader {
	struct pm_lexer lexer;
	struct pm_lfts *lfts;
	uint32_t current; /* switch whose table is being read, or NO_TABLE */
	uint32_t entries; /* lines of it that are no empty ones */
	bool open;	  /* a table that says how it ends has not ended */
};

static int fail_memory(const struct reader *r)
{
	return pm_error_no_memory(r->lexer.err);
}

/* Takes a number that begins with 0x. */
static bool take_hex(struct pm_text *text, uint64_t max, uint64_t *value)
{
	return pm_text_starts(*text, "0x") && pm_text_take_number(text, 16, max, value);
}

/* ---- Tables ---- */

/* What stands between the first quote or parenthesis and the last one, or nothing. */
static struct pm_text find_name(struct pm_text text)
{
	static const char *const pairs[] = {"('", "')", "(", ")"};

	for (size_t i = 0; i < 4; i += 2) {
		struct pm_text name = text;
		size_t length = strlen(pairs[i + 1]);

		if (!pm_text_skip_past(&name, pairs[i]))
			continue;
		while (pm_text_length(name) >= length &&
		       memcmp(name.end - length, pairs[i + 1], length))
			name.end--;
		if (pm_text_length(name) < length)
			continue;
		name.end -= length;
		return name;
	}
	return (struct pm_text){text.at, text.at};
}

static int end_table(struct reader *r)
{
	if (r->open)
		return pm_lexer_fail(&r->lexer,
				     "the table that begins on line %" PRIu32
				     " has no \"lids dumped\" at its end",
				     r->lfts->switches[r->current].line);
	r->current = NO_TABLE;
	return 0;
}

static int begin_table(struct reader *r, uint64_t guid, uint64_t lid, struct pm_text name)
{
	struct pm_lft_switch *sw;

	if (!guid)
		return pm_lexer_fail(&r->lexer, "a switch with GUID 0");
	if (lid > PM_MAX_LID)
		return pm_lexer_fail(&r->lexer, "LIDs are at most 0x%x", PM_MAX_LID);
	if (r->lfts->num_switches >= PM_MAX_NODES)
		return pm_lexer_fail(&r->lexer, "more than %d switches", PM_MAX_NODES);
	sw = pm_lfts_add(r->lfts, guid, name.at, pm_text_length(name), 0);
	if (!sw)
		return fail_memory(r);
	sw->line = r->lexer.line;
	sw->lid = (uint16_t)lid;
	r->current = r->lfts->num_switches - 1;
	r->entries = 0;
	return 0;
}

/* `Unicast lids [0-70] of switch Lid 2 guid 0x0000000000200000 ('leaf0'):` */
static int parse_lfts_header(struct reader *r, struct pm_text line)
{
	uint64_t guid, top = 0, lid = 0;
	struct pm_text rest = line, own;
	int rc;

	if (!pm_text_skip_past(&rest, "-"))
		return pm_lexer_fail(&r->lexer, "no range of LIDs in \"%.*s\"",
				     PM_SHOWN(line));
	own = rest;
	if (!pm_text_take_number(&rest, pm_text_starts(rest, "0x") ? 16 : 10, UINT64_MAX,
				 &top))
		return pm_lexer_fail(&r->lexer, "no range of LIDs in \"%.*s\"",
				     PM_SHOWN(line));
	if (!pm_text_skip_past(&rest, " guid ") || !take_hex(&rest, UINT64_MAX, &guid))
		return pm_lexer_fail(&r->lexer, "no GUID of the switch in \"%.*s\"",
				     PM_SHOWN(line));
	own.end = rest.at;
	if (pm_text_skip_past(&own, " of switch Lid ") &&
	    !pm_text_take_number(&own, 10, UINT64_MAX, &lid))
		return pm_lexer_fail(&r->lexer, "no LID of the switch in \"%.*s\"",
				     PM_SHOWN(line));
	rc = begin_table(r, guid, lid, find_name(rest));
	r->open = !rc;
	return rc;
}

/* `dump_ucast_routes: Switch 0x0000000000200000` */
static int parse_fdbs_header(struct reader *r, struct pm_text line)
{
	struct pm_text rest = line;
	uint64_t guid;

	if (!pm_text_skip_past(&rest, "Switch ") || !take_hex(&rest, UINT64_MAX, &guid))
		return pm_lexer_fail(&r->lexer, "no GUID of the switch in \"%.*s\"",
				     PM_SHOWN(line));
	return begin_table(r, guid, 0, (struct pm_text){rest.at, rest.at});
}

/* `70 lids dumped`, where OpenSM gives the highest LID and dump_fts what it printed. */
static int parse_footer(struct reader *r, struct pm_text line)
{
	struct pm_text rest = line;
	uint64_t count;

	if (r->current == NO_TABLE || !pm_text_take_number(&rest, 10, UINT64_MAX, &count))
		return pm_lexer_fail(&r->lexer, "\"%.*s\" ends no table", PM_SHOWN(line));
	pm_text_skip_blanks(&rest);
	if (pm_text_starts(rest, "valid") && count != r->entries)
		return pm_lexer_fail(&r->lexer,
				     "%" PRIu64 " entries, but %" PRIu32 " are here",
				     count, r->entries);
	r->open = false;
	return end_table(r);
}

/* ` .. portguid 0x0000000000100001: ..` after an entry, if it is there. */
static int take_owner(struct reader *r, uint32_t lid, struct pm_text rest)
{
	struct pm_lft_owner *owner = &r->lfts->owner[lid];
	uint64_t guid;

	if (!pm_text_skip_past(&rest, " portguid "))
		return 0;
	if (!take_hex(&rest, UINT64_MAX, &guid) || !guid)
		return pm_lexer_fail(&r->lexer, "no port GUID for LID %" PRIu32, lid);
	if (!owner->guid) {
		*owner = (struct pm_lft_owner){guid, r->lexer.line};
		r->lfts->num_owned++;
	}
	if (owner->guid != guid)
		return pm_lexer_fail(&r->lexer,
				     "LID %" PRIu32 " belongs to port 0x%016" PRIx64
				     ", but on line %" PRIu32 " to 0x%016" PRIx64,
				     lid, guid, owner->line, owner->guid);
	return 0;
}

/* `0x0001 001 # ..`, `0x0001 001 : ..` or `0x0001 : 001  : ..`. */
static int parse_entry(struct reader *r, struct pm_text rest)
{
	struct pm_text all = rest;
	struct pm_lft_switch *sw;
	uint64_t lid, port;

	if (r->current == NO_TABLE)
		return pm_lexer_fail(&r->lexer, "an entry outside of a table");
	sw = &r->lfts->switches[r->current];
	if (!take_hex(&rest, PM_MAX_LID, &lid))
		return pm_lexer_fail(&r->lexer, "no LID in \"%.*s\"", PM_SHOWN(all));
	pm_text_skip_blanks(&rest);
	if (pm_text_starts(rest, ":")) {
		rest.at++;
		pm_text_skip_blanks(&rest);
	}
	if (pm_lft_grow(sw, (uint32_t)lid))
		return fail_memory(r);
	if (lid > sw->top)
		sw->top = (uint16_t)lid;
	if (pm_text_starts(rest, "UNREACHABLE"))
		return 0;
	if (!pm_text_take_number(&rest, 10, UINT8_MAX, &port))
		return pm_lexer_fail(&r->lexer, "no port in \"%.*s\"", PM_SHOWN(all));
	if (sw->table[lid] != PM_LFT_KEEP)
		return pm_lexer_fail(&r->lexer, "a second entry for LID %" PRIu64, lid);
	sw->table[lid] = (uint8_t)port;
	r->entries++;
	return take_owner(r, (uint32_t)lid, rest);
}

/* ---- Lines ---- */

static int parse_line(struct reader *r, struct pm_text line)
{
	int rc = pm_lexer_check_text(&r->lexer, line);

	if (rc)
		return rc;
	if (pm_text_starts(line, "Unicast lids") ||
	    pm_text_starts(line, "dump_ucast_routes:")) {
		rc = end_table(r);
		if (rc)
			return rc;
		return *line.at == 'U' ? parse_lfts_header(r, line)
				       : parse_fdbs_header(r, line);
	}
	if (pm_text_starts(line, "Multicast mlids"))
		return pm_lexer_fail(&r->lexer, "multicast tables, not unicast ones");
	if (pm_text_starts(line, "0x"))
		return parse_entry(r, line);
	if (pm_text_starts(line, "LID") || pm_text_starts(line, "  Lid") ||
	    pm_text_starts(line, "       Port") || pm_text_starts(line, "#") ||
	    line.at == line.end)
		return 0;
	if (pm_digit_value(*line.at) < 10)
		return parse_footer(r, line);
	return pm_lexer_fail(&r->lexer, "\"%.*s\" is no line of a table", PM_SHOWN(line));
}

static int parse_lines(struct reader *r)
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&r->lexer, &line)) {
		if (line.end == r->lexer.rest.end)
			return pm_lexer_fail(&r->lexer,
					     "the file stops in the middle of a line");
		rc = parse_line(r, line);
	}
	if (!rc)
		rc = end_table(r);
	if (!rc && !r->lfts->num_switches)
		rc = pm_lexer_fail(&r->lexer, "no tables in it");
	return rc;
}

static int check_unique(const struct reader *r)
{
	const struct pm_lft_switch *sw = r->lfts->switches;

	for (uint32_t i = 1; i < r->lfts->num_switches; i++)
		if (sw[i - 1].guid == sw[i].guid)
			return pm_lexer_fail_at(&r->lexer, sw[i].line,
						"the table of switch 0x%016" PRIx64
						" is on line %" PRIu32 " already",
						sw[i].guid, sw[i - 1].line);
	return 0;
}

bool pm_lfts_recognise(const char *text, size_t length)
{
	struct pm_lexer lexer = pm_lexer_begin(text, length, "", 0, NULL);
	struct pm_text line = {NULL, NULL};

	while (pm_text_is_empty(line) && pm_lexer_next(&lexer, &line))
		pm_text_skip_blanks(&line);
	return pm_text_starts(line, "Unicast lids") ||
	       pm_text_starts(line, "dump_ucast_routes:");
}

int pm_lfts_parse(const char *text, size_t length, const char *source,
		  struct pm_lfts **lfts, struct pm_error *err)
{
	struct reader r = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.current = NO_TABLE,
	};
	int rc;

	if (length > PM_TEXTFILE_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_TEXTFILE_MAX_BYTES);
	r.lfts = pm_lfts_new();
	if (!r.lfts)
		return fail_memory(&r);
	rc = parse_lines(&r);
	if (!rc) {
		pm_lfts_sort(r.lfts);
		rc = check_unique(&r);
	}
	if (rc)
		pm_lfts_free(r.lfts);
	else
		*lfts = r.lfts;
	return rc;
}

int pm_lfts_read(const char *path, struct pm_lfts **lfts, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_lfts_parse(text, length, pm_textfile_name(path), lfts, err);
	free(text);
	return rc;
}

/* ---- Writing ---- */

static const char *kind_name(uint8_t type)
{
	return type == PM_SWITCH   ? "Switch"
	       : type == PM_ROUTER ? "Router"
				   : "Channel Adapter";
}

/* What OpenSM's dump says of a LID: room for the longest name there is in a line. */
#define OWNER_TEXT 320

static void describe_owner(const struct pm_fabric *fabric, uint32_t port, uint64_t guid,
			   char text[OWNER_TEXT])
{
	uint32_t node = fabric->ports[port].node;

	snprintf(text, OWNER_TEXT, "%s portguid 0x%016" PRIx64 ": '%.200s'",
		 kind_name(fabric->nodes[node].type), guid, pm_fabric_name(fabric, node));
}

int pm_lfts_write(const struct pm_lfts *lfts, const struct pm_fabric *fabric, FILE *file)
{
	uint32_t count;
	struct pm_port_key *keys = pm_fabric_ports_by_guid(fabric, &count);
	uint32_t top = pm_lfts_top(lfts);
	char text[OWNER_TEXT];

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &lfts->switches[i];

		fprintf(file,
			"Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64
			" ('%.200s'):\n",
			top, sw->lid, sw->guid, sw->name);
		for (uint32_t lid = 0; lid <= top && lid < sw->length; lid++) {
			uint64_t guid = lfts->owner[lid].guid;
			uint32_t port;

			if (sw->table[lid] == PM_LFT_KEEP || !guid)
				continue;
			port = pm_ports_find(keys, count, guid);
			snprintf(text, sizeof(text), "unknown node and type");
			if (port != PM_NONE)
				describe_owner(fabric, port, guid, text);
			fprintf(file, "0x%04x %03u # %s\n", lid, sw->table[lid], text);
		}
		fprintf(file, "%u lids dumped\n", top);
	}
	free(keys);
	return 0;
}
