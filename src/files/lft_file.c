/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads LFT files in any known format, and writes OpenSM's. */
#include "lft_file_parts.h"

#include <portmajor/base/escape.h>
#include <portmajor/base/textfile.h>
#include <portmajor/netlist/recognise.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/*
 * The first format that recognises a text reads it. Where none does, the first one of all
 * reports the error.
 */
static const struct {
	bool (*recognise)(struct pm_text text);
	int (*read)(struct lft_reader *r);
} formats[] = {
	{pm_text_is_lfts, lft_opensm_read},
	{dump_recognise, lft_dump_read},
};

#define NUM_FORMATS (sizeof(formats) / sizeof(*formats))

/* ---- Reading ---- */

static int check_unique(const struct lft_reader *r)
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

/* The index of the format that recognises a text, or NUM_FORMATS. */
static size_t find_format(struct pm_text text)
{
	size_t i = 0;

	while (i < NUM_FORMATS && !formats[i].recognise(text))
		i++;
	return i;
}

bool pm_lfts_recognise(const char *text, size_t length)
{
	return find_format(pm_lexer_begin(text, length, "", 0, NULL).rest) < NUM_FORMATS;
}

static int read_tables(struct lft_reader *r)
{
	size_t format = find_format(r->lexer.rest);
	int rc;

	if (format == NUM_FORMATS && pm_text_is_topology(r->lexer.rest))
		return pm_lexer_fail(&r->lexer,
				     "this is a topology, where tables are wanted");
	rc = formats[format < NUM_FORMATS ? format : 0].read(r);
	if (!rc && !r->lfts->num_switches)
		rc = pm_lexer_fail(&r->lexer, "no tables in it");
	if (rc)
		return rc;
	pm_lfts_sort(r->lfts);
	return check_unique(r);
}

int pm_lfts_parse(const char *text, size_t length, const char *source,
		  struct pm_lfts **lfts, struct pm_error *err)
{
	struct lft_reader r = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.current = LFT_NO_TABLE,
	};
	int rc;

	if (length > PM_TEXTFILE_MAX_TABLES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_TEXTFILE_MAX_TABLES);
	r.lfts = pm_lfts_new();
	if (!r.lfts)
		return pm_error_no_memory(err);
	rc = read_tables(&r);
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

#define SHOWN 200 /* bytes of a name: room for a line's longest */

/* Writes the owner of a LID, as OpenSM's dump has it. */
static void write_owner(const struct pm_fabric *fabric, uint32_t port, uint64_t guid,
			FILE *file)
{
	uint32_t node = fabric->ports[port].node;

	fprintf(file, "%s portguid 0x%016" PRIx64 ": '",
		kind_name(fabric->nodes[node].type), guid);
	pm_put_field(file, pm_fabric_name(fabric, node), SHOWN, "");
	putc('\'', file);
}

static void write_header(uint32_t top, uint16_t lid, uint64_t guid, const char *name,
			 FILE *file)
{
	fprintf(file, "Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64 " ('",
		top, lid, guid);
	pm_put_field(file, name, SHOWN, "");
	fputs("'):\n", file);
}

void pm_lfts_write_plain(uint64_t guid, uint16_t lid, const char *name,
			 const uint8_t *table, uint32_t length, FILE *file)
{
	uint32_t top = length ? length - 1 : 0;

	write_header(top, lid, guid, name, file);
	for (uint32_t i = 0; i < length; i++)
		if (table[i] != PM_LFT_KEEP)
			fprintf(file, "0x%04x %03u\n", i, table[i]);
	fprintf(file, "%u lids dumped\n", top);
}

int pm_lfts_write(const struct pm_lfts *lfts, const struct pm_fabric *fabric, FILE *file)
{
	uint32_t count;
	struct pm_port_key *keys = pm_fabric_ports_by_guid(fabric, &count);
	uint32_t top = pm_lfts_top(lfts);

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &lfts->switches[i];

		write_header(top, sw->lid, sw->guid, sw->name, file);
		for (uint32_t lid = 0; lid <= top && lid < sw->length; lid++) {
			uint64_t guid = lfts->owner[lid].guid;
			uint32_t port;

			if (sw->table[lid] == PM_LFT_KEEP || !guid)
				continue;
			port = pm_ports_find(keys, count, guid);
			fprintf(file, "0x%04x %03u # ", lid, sw->table[lid]);
			if (port != PM_NONE)
				write_owner(fabric, port, guid, file);
			else
				fputs("unknown node and type", file);
			putc('\n', file);
		}
		fprintf(file, "%u lids dumped\n", top);
	}
	free(keys);
	return 0;
}
