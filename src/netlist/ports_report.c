/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the output of ibnetdiscover -p. It has a line for each port: the node's type, the
 * port's LID, number, GUID, width and speed, and the same of its peer: `SW 3 65
 * 0x0000000000200001 4x SDR - CA 9 1 0x0000000000000001 ( 'a' - 'b' )`. A switch's port
 * without a cable has a line, too, with only its own name.
 */
#include "netlist_parts.h"

#include <errno.h>

#define AFTER_NAMES "' )"

/* `SW     3 65 0x0000000000200001` */
struct end {
	enum pm_node_type type;
	struct pm_text id;
	uint64_t guid;
	uint16_t lid;
	uint32_t port;
};

static const char *const type_words[] = {"SW", "CA", "RT"};

bool ports_report_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line, word;
	enum pm_node_type type;
	uint64_t value;

	while (pm_lexer_next(&lexer, &line)) {
		if (pm_text_is_empty(line) || pm_text_next_is(line, '#'))
			continue;
		return netlist_take_type(&line, type_words, &type) &&
		       !pm_text_take_digits(&line, 10, &value) &&
		       !pm_text_take_digits(&line, 10, &value) &&
		       pm_text_take_word(&line, &word) && pm_text_starts(word, "0x");
	}
	return false;
}

static int take_end(struct netlist *n, struct pm_text *text, struct end *end)
{
	struct pm_text lid;
	int rc;

	if (!netlist_take_type(text, type_words, &end->type))
		return pm_lexer_fail(&n->lexer, "no SW, CA or RT before \"%.*s\"",
				     PM_SHOWN(*text));
	rc = netlist_need_port(n, text, &lid, &end->lid, &end->port);
	return rc ? rc : netlist_need_guid(n, text, &end->id, &end->guid);
}

/* `4x SDR`; unknown values are left out. */
static int take_link(struct netlist *n, struct pm_text *text, struct netlist_link *link)
{
	struct pm_text width, speed;

	if (!pm_text_take_word(text, &width) || !pm_text_take_word(text, &speed))
		return pm_lexer_fail(&n->lexer, "no width and speed behind the GUID");
	netlist_set_link(link, width, pm_speed_find(speed.at, pm_text_length(speed)));
	return 0;
}

static bool ends_with(struct pm_text text, const char *word)
{
	size_t length = strlen(word);

	return pm_text_length(text) >= length && !memcmp(text.end - length, word, length);
}

/* `( 'a' - 'b' )`: names may have quotes of their own. */
static void take_names(struct pm_text text, struct pm_text *own, struct pm_text *other)
{
	static const char between[] = "' - '";
	const char *at;

	if (!pm_text_skip_past(&text, "( '") || !ends_with(text, AFTER_NAMES))
		return;
	text.end -= strlen(AFTER_NAMES);
	at = text.at;
	if (!pm_text_skip_past(&text, between))
		return;
	*own = (struct pm_text){at, text.at - strlen(between)};
	*other = text;
}

/* `'a'` */
static struct pm_text take_name(struct pm_text text)
{
	pm_text_skip_blanks(&text);
	if (pm_text_length(text) < 2 || *text.at != '\'')
		return (struct pm_text){text.at, text.at};
	return (struct pm_text){text.at + 1, text.end - 1};
}

/* Reads the peer, from behind the `-` on. */
static bool read_port_peer(const struct cable *cable, struct netlist_peer *peer)
{
	struct netlist n = {.lexer = {.source = ""}};
	struct pm_text rest = cable->rest, own = {0}, name = {0};
	struct end end;

	if (take_end(&n, &rest, &end))
		return false;
	take_names(rest, &own, &name);
	*peer = (struct netlist_peer){
		.type = end.type,
		.node_guid = end.guid,
		.port_guid = end.guid,
		.lid = end.lid,
		.name = name,
	};
	return true;
}

static int parse(struct netlist *n, struct pm_text line)
{
	struct netlist_row row = {.line = n->lexer.line, .typed = true};
	struct end own, peer;
	struct pm_text name = {0};
	int rc = take_end(n, &line, &own);

	if (!rc)
		rc = take_link(n, &line, &row.link);
	if (rc)
		return rc;
	row.type = own.type;
	row.id = own.id;
	row.guid = own.guid;
	row.lid = own.lid;
	row.port = own.port;
	pm_text_skip_blanks(&line);
	if (!pm_text_next_is(line, '-')) {
		row.name = take_name(line);
		return netlist_add_row(n, &row);
	}
	line.at++;
	row.rest = line;
	rc = take_end(n, &line, &peer);
	if (rc)
		return rc;
	row.peer = peer.id;
	row.peer_port = peer.port;
	take_names(line, &row.name, &name);
	return netlist_add_row(n, &row);
}

/* Behind the names there are no numbers. */
static bool is_line_whole(struct pm_text line)
{
	return ends_with(line, AFTER_NAMES) ||
	       (line.end[-1] == '\'' && !pm_text_skip_past(&line, "( '"));
}

int ports_report_read(struct netlist *n)
{
	n->read_peer = read_port_peer;
	return netlist_read_rows(n, parse, is_line_whole);
}
