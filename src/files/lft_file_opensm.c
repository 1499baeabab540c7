/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads tables as OpenSM and dump_fts write them, in one reader. */
#include "lft_file_parts.h"

#include <portmajor/base/digit.h>

#include <inttypes.h>

/* Takes a number that begins with 0x. */
static bool take_hex(struct pm_text *text, uint64_t max, uint64_t *value)
{
	return pm_text_starts(*text, "0x") && pm_text_take_number(text, 16, max, value);
}

/* ---- Tables ---- */

/* The text between the first quote or parenthesis and the last one, or nothing. */
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

static int end_table(struct lft_reader *r)
{
	if (r->open)
		return pm_lexer_fail(&r->lexer,
				     "the table that begins on line %" PRIu32
				     " has no \"lids dumped\" at its end",
				     r->lfts->switches[r->current].line);
	r->current = LFT_NO_TABLE;
	return 0;
}

/*
 * dump_fts, which writes LIDs of a range in hexadecimal, reads no block that begins with
 * the last one of these.
 */
static uint16_t find_cut(struct pm_text last, uint64_t top)
{
	return pm_text_starts(last, "0x") && top <= PM_MAX_LID && top % PM_LFT_BLOCK == 0
		       ? (uint16_t)top
		       : 0;
}

/* `Unicast lids [0-70] of switch Lid 2 guid 0x0000000000200000 ('leaf0'):` */
static int parse_lfts_header(struct lft_reader *r, struct pm_text line)
{
	uint64_t guid, top = 0, lid = 0;
	struct pm_text rest = line, own, last;
	int rc;

	if (!pm_text_skip_past(&rest, "-"))
		return pm_lexer_fail(&r->lexer, "no range of LIDs in \"%.*s\"",
				     PM_SHOWN(line));
	own = last = rest;
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
	rc = lft_begin(r, guid, lid, find_name(rest));
	r->open = !rc;
	r->cut = find_cut(last, top);
	return rc;
}

/* `dump_ucast_routes: Switch 0x0000000000200000` */
static int parse_fdbs_header(struct lft_reader *r, struct pm_text line)
{
	struct pm_text rest = line;
	uint64_t guid;

	if (!pm_text_skip_past(&rest, "Switch ") || !take_hex(&rest, UINT64_MAX, &guid))
		return pm_lexer_fail(&r->lexer, "no GUID of the switch in \"%.*s\"",
				     PM_SHOWN(line));
	return lft_begin(r, guid, 0, (struct pm_text){rest.at, rest.at});
}

/* `70 lids dumped`: OpenSM's highest LID, or the number that dump_fts printed. */
static int parse_footer(struct lft_reader *r, struct pm_text line)
{
	struct pm_text rest = line;
	uint64_t count;

	if (r->current == LFT_NO_TABLE ||
	    !pm_text_take_number(&rest, 10, UINT64_MAX, &count))
		return pm_lexer_fail(&r->lexer, "\"%.*s\" ends no table", PM_SHOWN(line));
	pm_text_skip_blanks(&rest);
	if (pm_text_starts(rest, "valid") && count != r->entries)
		return pm_lexer_fail(&r->lexer,
				     "%" PRIu64 " entries, but %" PRIu32 " are here",
				     count, r->entries);
	if (r->cut > r->lfts->switches[r->current].top)
		r->lfts->switches[r->current].left_out = r->cut;
	r->open = false;
	return end_table(r);
}

/* ` .. portguid 0x0000000000100001: ..` after an entry, if it is there. */
static int take_owner(struct lft_reader *r, uint32_t lid, struct pm_text rest)
{
	uint64_t guid;

	if (!pm_text_skip_past(&rest, " portguid "))
		return 0;
	if (!take_hex(&rest, UINT64_MAX, &guid) || !guid)
		return pm_lexer_fail(&r->lexer, "no port GUID for LID %" PRIu32, lid);
	return lft_own(r, lid, guid);
}

/* `0x0001 001 # ..`, `0x0001 001 : ..` or `0x0001 : 001  : ..`. */
static int parse_entry(struct lft_reader *r, struct pm_text rest)
{
	struct pm_text all = rest;
	struct pm_lft_switch *sw;
	uint64_t lid, port;
	int rc;

	if (r->current == LFT_NO_TABLE)
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
		return pm_error_no_memory(r->lexer.err);
	if (lid > sw->top)
		sw->top = (uint16_t)lid;
	if (pm_text_starts(rest, "UNREACHABLE"))
		return 0;
	if (!pm_text_take_number(&rest, 10, UINT8_MAX, &port))
		return pm_lexer_fail(&r->lexer, "no port in \"%.*s\"", PM_SHOWN(all));
	rc = lft_set(r, (uint32_t)lid, (uint8_t)port);
	r->entries++;
	return rc ? rc : take_owner(r, (uint32_t)lid, rest);
}

/* ---- Lines ---- */

static int parse_dump_line(struct lft_reader *r, struct pm_text line)
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

int lft_opensm_read(struct lft_reader *r)
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&r->lexer, &line)) {
		if (line.end == r->lexer.rest.end)
			return pm_lexer_fail(&r->lexer,
					     "the file stops in the middle of a line");
		rc = parse_dump_line(r, line);
	}
	if (!rc)
		rc = end_table(r);
	return rc;
}
