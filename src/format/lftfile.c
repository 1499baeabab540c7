/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/lftfile.h>
#include <portmajor/alloc.h>
#include <portmajor/digit.h>
#include <portmajor/textfile.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#define SHOWN_BYTES 64	 /* of the text in a message */
#define SHOWN_SOURCE 200 /* of the source's name in a message */
#define NO_TABLE UINT32_MAX

/* A line, or what is left of it. */
struct text {
	const char *at;
	const char *end;
};

struct reader {
	const char *source;
	struct pm_error *err;
	struct pm_lfts *lfts;
	uint32_t line;
	uint32_t current; /* switch whose table is being read, or NO_TABLE */
	uint32_t entries; /* lines of it that are no empty ones */
	bool open;	  /* a table that says how it ends has not ended */
};

/* ---- Pieces of a line ---- */

static int __attribute__((format(printf, 3, 4)))
fail(const struct reader *r, uint32_t line, const char *format, ...)
{
	size_t length = strlen(r->source);
	const char *source =
		length > SHOWN_SOURCE ? r->source + length - SHOWN_SOURCE : r->source;
	char message[PM_ERROR_TEXT / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return pm_error_set(r->err, -EINVAL, "%s:%" PRIu32 ": %s", source,
			    line ? line : 1, message);
}

static int fail_memory(const struct reader *r)
{
	return pm_error_no_memory(r->err);
}

static size_t text_length(struct text text)
{
	return (size_t)(text.end - text.at);
}

#define SHOWN(text)                                                                      \
	(int)(text_length(text) > SHOWN_BYTES ? SHOWN_BYTES : text_length(text)),        \
		(text).at

static bool starts_with(struct text text, const char *word)
{
	size_t length = strlen(word);

	return text_length(text) >= length && !memcmp(text.at, word, length);
}

/* Moves behind the first `word` in the text; false, and nothing moves, without one. */
static bool skip_to(struct text *text, const char *word)
{
	const char *found = text_length(*text) ? memmem(text->at, text_length(*text),
							word, strlen(word))
					       : NULL;

	if (found)
		text->at = found + strlen(word);
	return found != NULL;
}

static void skip_blanks(struct text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

/* Takes digits up to a blank, ':', ']' or ')', or the end; false if there are others. */
static bool take_number(struct text *text, unsigned int base, uint64_t *value)
{
	const char *start = text->at;

	*value = 0;
	for (; text->at < text->end; text->at++) {
		unsigned int digit = pm_digit_value(*text->at);

		if (digit >= base)
			break;
		if (*value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	return text->at > start &&
	       (text->at == text->end || memchr(" \t:])", *text->at, 5));
}

/* ---- Tables ---- */

/* What stands between the first quote or parenthesis and the last one, or nothing. */
static struct text find_name(struct text text)
{
	static const char *const pairs[] = {"('", "')", "(", ")"};

	for (size_t i = 0; i < 4; i += 2) {
		struct text name = text;
		size_t length = strlen(pairs[i + 1]);

		if (!skip_to(&name, pairs[i]))
			continue;
		while (text_length(name) >= length &&
		       memcmp(name.end - length, pairs[i + 1], length))
			name.end--;
		if (text_length(name) < length)
			continue;
		name.end -= length;
		return name;
	}
	return (struct text){text.at, text.at};
}

static int end_table(struct reader *r)
{
	if (r->open)
		return fail(r, r->line,
			    "the table that begins on line %" PRIu32
			    " has no \"lids dumped\" at its end",
			    r->lfts->switches[r->current].line);
	r->current = NO_TABLE;
	return 0;
}

static int begin_table(struct reader *r, uint64_t guid, uint64_t lid, struct text name)
{
	struct pm_lft_switch *sw;

	if (!guid)
		return fail(r, r->line, "a switch with GUID 0");
	if (lid > PM_MAX_LID)
		return fail(r, r->line, "LIDs are at most 0x%x", PM_MAX_LID);
	if (r->lfts->num_switches >= PM_MAX_NODES)
		return fail(r, r->line, "more than %d switches", PM_MAX_NODES);
	sw = pm_lfts_add(r->lfts, guid, name.at, text_length(name), 0);
	if (!sw)
		return fail_memory(r);
	sw->line = r->line;
	sw->lid = (uint16_t)lid;
	r->current = r->lfts->num_switches - 1;
	r->entries = 0;
	return 0;
}

/* `Unicast lids [0-70] of switch Lid 2 guid 0x0000000000200000 ('leaf0'):` */
static int parse_lfts_header(struct reader *r, struct text line)
{
	uint64_t guid, top = 0, lid = 0;
	struct text rest = line, own;
	int rc;

	if (!skip_to(&rest, "-"))
		return fail(r, r->line, "no range of LIDs in \"%.*s\"", SHOWN(line));
	own = rest;
	if (starts_with(rest, "0x")) {
		rest.at += 2;
		rc = take_number(&rest, 16, &top);
	} else {
		rc = take_number(&rest, 10, &top);
	}
	if (!rc)
		return fail(r, r->line, "no range of LIDs in \"%.*s\"", SHOWN(line));
	if (!skip_to(&rest, " guid 0x") || !take_number(&rest, 16, &guid))
		return fail(r, r->line, "no GUID of the switch in \"%.*s\"", SHOWN(line));
	own.end = rest.at;
	if (skip_to(&own, " of switch Lid ") && !take_number(&own, 10, &lid))
		return fail(r, r->line, "no LID of the switch in \"%.*s\"", SHOWN(line));
	rc = begin_table(r, guid, lid, find_name(rest));
	r->open = !rc;
	return rc;
}

/* `dump_ucast_routes: Switch 0x0000000000200000` */
static int parse_fdbs_header(struct reader *r, struct text line)
{
	struct text rest = line;
	uint64_t guid;

	if (!skip_to(&rest, "Switch 0x") || !take_number(&rest, 16, &guid))
		return fail(r, r->line, "no GUID of the switch in \"%.*s\"", SHOWN(line));
	return begin_table(r, guid, 0, (struct text){rest.at, rest.at});
}

/* `70 lids dumped`, where OpenSM gives the highest LID and dump_fts what it printed. */
static int parse_footer(struct reader *r, struct text line)
{
	struct text rest = line;
	uint64_t count;

	if (r->current == NO_TABLE || !take_number(&rest, 10, &count))
		return fail(r, r->line, "\"%.*s\" ends no table", SHOWN(line));
	skip_blanks(&rest);
	if (starts_with(rest, "valid") && count != r->entries)
		return fail(r, r->line, "%" PRIu64 " entries, but %" PRIu32 " are here",
			    count, r->entries);
	r->open = false;
	return end_table(r);
}

/* ` .. portguid 0x0000000000100001: ..` after an entry, if it is there. */
static int take_owner(struct reader *r, uint32_t lid, struct text rest)
{
	struct pm_lft_owner *owner = &r->lfts->owner[lid];
	uint64_t guid;

	if (!skip_to(&rest, " portguid 0x"))
		return 0;
	if (!take_number(&rest, 16, &guid) || !guid)
		return fail(r, r->line, "no port GUID for LID %" PRIu32, lid);
	if (!owner->guid) {
		*owner = (struct pm_lft_owner){guid, r->line};
		r->lfts->num_owned++;
	}
	if (owner->guid != guid)
		return fail(r, r->line,
			    "LID %" PRIu32 " belongs to port 0x%016" PRIx64
			    ", but on line %" PRIu32 " to 0x%016" PRIx64,
			    lid, guid, owner->line, owner->guid);
	return 0;
}

/* `0x0001 001 # ..`, `0x0001 001 : ..` or `0x0001 : 001  : ..`; "0x" is gone. */
static int parse_entry(struct reader *r, struct text rest)
{
	struct text all = rest;
	struct pm_lft_switch *sw;
	uint64_t lid, port;

	if (r->current == NO_TABLE)
		return fail(r, r->line, "an entry outside of a table");
	sw = &r->lfts->switches[r->current];
	if (!take_number(&rest, 16, &lid) || lid > PM_MAX_LID)
		return fail(r, r->line, "no LID in \"0x%.*s\"", SHOWN(all));
	skip_blanks(&rest);
	if (starts_with(rest, ":")) {
		rest.at++;
		skip_blanks(&rest);
	}
	if (pm_lft_grow(sw, (uint32_t)lid))
		return fail_memory(r);
	if (lid > sw->top)
		sw->top = (uint16_t)lid;
	if (starts_with(rest, "UNREACHABLE"))
		return 0;
	if (!take_number(&rest, 10, &port) || port > UINT8_MAX)
		return fail(r, r->line, "no port in \"0x%.*s\"", SHOWN(all));
	if (sw->table[lid] != PM_LFT_KEEP)
		return fail(r, r->line, "a second entry for LID %" PRIu64, lid);
	sw->table[lid] = (uint8_t)port;
	r->entries++;
	return take_owner(r, (uint32_t)lid, rest);
}

/* ---- Lines ---- */

static int parse_line(struct reader *r, struct text line)
{
	int rc = 0;

	for (const char *at = line.at; at < line.end; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			return fail(r, r->line, "not text: byte 0x%02x",
				    (unsigned char)*at);
	if (starts_with(line, "Unicast lids") ||
	    starts_with(line, "dump_ucast_routes:")) {
		rc = end_table(r);
		if (rc)
			return rc;
		return *line.at == 'U' ? parse_lfts_header(r, line)
				       : parse_fdbs_header(r, line);
	}
	if (starts_with(line, "Multicast mlids"))
		return fail(r, r->line, "multicast tables, not unicast ones");
	if (starts_with(line, "0x")) {
		line.at += 2;
		return parse_entry(r, line);
	}
	if (starts_with(line, "LID") || starts_with(line, "  Lid") ||
	    starts_with(line, "       Port") || starts_with(line, "#") ||
	    line.at == line.end)
		return 0;
	if (pm_digit_value(*line.at) < 10)
		return parse_footer(r, line);
	return fail(r, r->line, "\"%.*s\" is no line of a table", SHOWN(line));
}

static int parse_lines(struct reader *r, struct text text)
{
	int rc = 0;

	while (!rc && text.at < text.end) {
		const char *newline = memchr(text.at, '\n', text_length(text));
		struct text line = {text.at, newline};

		r->line++;
		if (!newline)
			return fail(r, r->line, "the file stops in the middle of a line");
		if (newline > text.at && newline[-1] == '\r')
			line.end--;
		rc = parse_line(r, line);
		text.at = newline + 1;
	}
	if (!rc)
		rc = end_table(r);
	if (!rc && !r->lfts->num_switches)
		rc = fail(r, r->line, "no tables in it");
	return rc;
}

static int check_unique(const struct reader *r)
{
	const struct pm_lft_switch *sw = r->lfts->switches;

	for (uint32_t i = 1; i < r->lfts->num_switches; i++)
		if (sw[i - 1].guid == sw[i].guid)
			return fail(r, sw[i].line,
				    "the table of switch 0x%016" PRIx64
				    " is on line %" PRIu32 " already",
				    sw[i].guid, sw[i - 1].line);
	return 0;
}

bool pm_lfts_recognise(const char *text, size_t length)
{
	struct text rest = {text, text + length};

	while (rest.at < rest.end && memchr(" \t\r\n", *rest.at, 4))
		rest.at++;
	return starts_with(rest, "Unicast lids") ||
	       starts_with(rest, "dump_ucast_routes:");
}

int pm_lfts_parse(const char *text, size_t length, const char *source,
		  struct pm_lfts **lfts, struct pm_error *err)
{
	struct reader r = {.source = source, .err = err, .current = NO_TABLE};
	int rc;

	if (length > PM_TEXTFILE_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_TEXTFILE_MAX_BYTES);
	r.lfts = pm_lfts_new();
	if (!r.lfts)
		return fail_memory(&r);
	rc = parse_lines(&r, length ? (struct text){text, text + length}
				    : (struct text){"", ""});
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
