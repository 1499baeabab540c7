/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the lines of ibsim's Dump. */
#include "netlist_parts.h"

#include <inttypes.h>

#define MAX_LMC 7

static const char *const type_words[] = {"Switch", "Ca", "Router"};

static int fail_line(const struct dump *dump, const char *what, struct pm_text line)
{
	return pm_lexer_fail(dump->lexer, "no %s in \"%.*s\"", what, PM_SHOWN(line));
}

/* Takes the number, up to max, behind a word, if the text has this word. */
static int take_after(const struct dump *dump, struct pm_text *text, const char *word,
		      uint64_t max, uint64_t *value)
{
	struct pm_text all = *text;

	if (pm_text_skip_past(text, word) &&
	    (pm_text_take_digits(text, 10, value) || *value > max))
		return pm_lexer_fail(dump->lexer,
				     "no number up to %" PRIu64
				     " behind \"%s\" in \"%.*s\"",
				     max, word, PM_SHOWN(all));
	return 0;
}

/* `[12]` */
static bool take_index(struct pm_text *text, uint64_t *number)
{
	pm_text_skip_blanks(text);
	if (!pm_text_next_is(*text, '['))
		return false;
	text->at++;
	if (pm_text_take_digits(text, 10, number) || !pm_text_next_is(*text, ']'))
		return false;
	text->at++;
	return true;
}

/* ---- Lines ---- */

static int parse_node(struct dump *dump, struct pm_text text, struct dump_line *line)
{
	struct pm_text all = text;

	line->kind = DUMP_NODE;
	netlist_take_type(&text, type_words, &line->type);
	if (pm_text_take_digits(&text, 10, &line->number) || line->number < 1 ||
	    line->number > PM_MAX_PORTS)
		return fail_line(dump, "number of ports", all);
	pm_text_skip_blanks(&text);
	if (!pm_text_next_is(text, '"') || !pm_text_take_quoted(&text, &line->id) ||
	    pm_text_is_empty(line->id))
		return fail_line(dump, "quoted id", all);
	if (!pm_text_skip_past(&text, "nodeguid ") ||
	    pm_text_take_digits(&text, 16, &line->guid))
		return fail_line(dump, "GUID", all);
	if (dump->ended)
		return pm_lexer_fail(dump->lexer, "another Dump begins");
	dump->nodes++;
	return 0;
}

/* Parses the rest of a line, behind the port's number. */
static int parse_peer(struct dump *dump, struct pm_text text, struct dump_line *line)
{
	struct pm_text peer = text;
	int rc;

	pm_text_skip_blanks(&peer);
	if (pm_text_next_is(peer, '"') && (!pm_text_take_quoted(&peer, &line->peer) ||
					   !take_index(&peer, &line->peer_port)))
		return fail_line(dump, "peer", text);
	line->rest = peer;
	if (!line->number)
		line->peer.end = line->peer.at; /* port 0 of a switch has no cable */
	rc = take_after(dump, &text, " lid ", UINT16_MAX, &line->lid);
	if (!rc)
		rc = take_after(dump, &text, " lmc ", MAX_LMC, &line->lmc);
	if (!rc)
		rc = take_after(dump, &text, " smlid ", UINT16_MAX, &line->sm_lid);
	line->lid = dump_lid(line->lid);
	line->sm_lid = dump_lid(line->sm_lid);
	return rc;
}

static int parse_dump_port(struct dump *dump, struct pm_text text, struct dump_line *line)
{
	struct pm_text all = text;

	line->kind = DUMP_PORT;
	if (pm_text_take_digits(&text, 16, &line->guid) ||
	    !take_index(&text, &line->number))
		return fail_line(dump, "port", all);
	if (!dump->nodes || dump->ended)
		return pm_lexer_fail(dump->lexer, "a port outside of a node");
	return parse_peer(dump, text, line);
}

static int parse_comment(struct dump *dump, struct pm_text text, struct dump_line *line)
{
	uint64_t count = 0;
	int rc;

	line->rest = text;
	if (pm_text_starts(text, "#\tForwarding table")) {
		line->kind = DUMP_ENTRIES;
		return pm_text_skip_past(&line->rest, ":")
			       ? 0
			       : fail_line(dump, "entries", text);
	}
	if (pm_text_skip_past(&line->rest, " FDBtop ")) {
		line->kind = DUMP_TOP;
		return take_after(dump, &text, " FDBtop ", PM_MAX_LID, &line->number);
	}
	if (!pm_text_starts(text, "#  dumped "))
		return 0;
	rc = take_after(dump, &text, " dumped ", UINT32_MAX, &count);
	if (!rc && count != dump->nodes)
		rc = pm_lexer_fail(dump->lexer,
				   "%" PRIu64 " nodes, but %" PRIu64 " are here", count,
				   dump->nodes);
	dump->ended = true;
	return rc;
}

static int parse_dump_line(struct dump *dump, struct pm_text text, struct dump_line *line)
{
	struct pm_text rest = text;
	enum pm_node_type type;
	int rc = pm_lexer_check_text(dump->lexer, text);

	*line = (struct dump_line){.kind = DUMP_OTHER};
	if (rc || pm_text_is_empty(text))
		return rc;
	if (*text.at == '#')
		return parse_comment(dump, text, line);
	if (netlist_take_type(&rest, type_words, &type))
		return parse_node(dump, text, line);
	return parse_dump_port(dump, text, line);
}

int dump_next(struct dump *dump, struct dump_line *line)
{
	struct pm_text text;
	int rc;

	if (!pm_lexer_next(dump->lexer, &text))
		return dump->ended ? 0
				   : pm_lexer_fail(dump->lexer,
						   "the Dump stops before its end");
	rc = parse_dump_line(dump, text, line);
	return rc ? rc : 1;
}

int dump_take_entry(const struct dump *dump, struct pm_text *entries, uint64_t *lid,
		    uint8_t *port)
{
	struct pm_text all;
	uint64_t value;

	pm_text_skip_blanks(entries);
	if (pm_text_is_empty(*entries))
		return 0;
	all = *entries;
	if (!take_index(entries, lid) || *lid > PM_MAX_LID)
		return fail_line(dump, "LID", all);
	if (pm_text_take_digits(entries, 16, &value) || value > UINT8_MAX)
		return fail_line(dump, "port", all);
	*port = (uint8_t)value;
	return 1;
}

bool dump_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;
	enum pm_node_type type;

	while (pm_lexer_next(&lexer, &line)) {
		if (pm_text_is_empty(line) || pm_text_next_is(line, '#'))
			continue;
		return netlist_take_type(&line, type_words, &type) &&
		       pm_text_skip_past(&line, "\tnodeguid ");
	}
	return false;
}
