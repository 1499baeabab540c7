/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads iblinkinfo's output: a line for each port with its LID, number, state, width and
 * speed, and its peer. With -l each line has the GUIDs and names of both ends, but not
 * their types:
 *
 *     0x0000000000200001 "  a"  3   1[  ] ==( 4X  2.5 Gbps Active/  LinkUp)==>
 *     0x.. 2  5[  ] "b" ( )
 *
 * Without -l a line `Switch: 0x0000000000200001 a:` or `CA: b:` precedes a node's lines.
 * Lines of an end node begin with the port's GUID, and a peer has only a LID.
 *
 * With --switches-only end nodes have no lines of their own. With -l their switches'
 * lines have all data of them.
 */
#include "netlist_parts.h"

#include <errno.h>

#define TO_STATE "==("
#define TO_PEER "==>"

static bool is_header(struct pm_text line, enum pm_node_type *type, struct pm_text *rest)
{
	static const struct {
		const char *word;
		enum pm_node_type type;
	} words[] = {{"Switch:", PM_SWITCH},
		     {"Switch ", PM_SWITCH}, /* older versions */
		     {"CA:", PM_CA},
		     {"Router:", PM_ROUTER}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (pm_text_starts(line, words[i].word)) {
			*type = words[i].type;
			*rest = line;
			rest->at += strlen(words[i].word);
			return line.end[-1] == ':';
		}
	return false;
}

/* The next line that is not empty, without the blanks at its end. */
static bool next_line(struct pm_lexer *lexer, struct pm_text *line)
{
	while (pm_lexer_next(lexer, line)) {
		while (line->end > line->at &&
		       (line->end[-1] == ' ' || line->end[-1] == '\r'))
			line->end--;
		if (!pm_text_is_empty(*line) && !pm_text_next_is(*line, '#'))
			return true;
	}
	return false;
}

bool iblinkinfo_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line, rest;
	enum pm_node_type type;

	if (!next_line(&lexer, &line))
		return false;
	if (is_header(line, &type, &rest)) {
		if (!next_line(&lexer, &line))
			return false;
	} else if (!pm_text_starts(line, "0x")) {
		return false;
	}
	return pm_text_skip_past(&line, TO_STATE);
}

/* ---- Pieces of a line ---- */

/* Takes the text between the first and the last quote, without the blanks that pad it. */
static struct pm_text take_quoted_name(struct pm_text *text)
{
	struct pm_text name = {text->at, text->at}, after;

	if (!pm_text_skip_past(text, "\""))
		return name;
	after = netlist_after_quotes(*text);
	name = (struct pm_text){text->at, after.at > text->at ? after.at - 1 : text->end};
	*text = after;
	pm_text_skip_blanks(&name);
	return name;
}

/* `[ ]`, or with the external port number of a chassis, `[ 7]` */
static int skip_external(struct netlist *n, struct pm_text *text)
{
	if (!pm_text_next_is(*text, '[') || !pm_text_skip_past(text, "]"))
		return pm_lexer_fail(&n->lexer, "no \"[ ]\" behind the port in \"%.*s\"",
				     PM_SHOWN(*text));
	return 0;
}

/* ` 4X 25.78125 Gbps Active/ LinkUp)`; a port that is down has neither number. */
static void take_link(struct pm_text state, struct netlist_link *link)
{
	static const struct {
		const char *word;
		enum pm_speed speed;
	} words[] = {{"2.5", PM_SDR},	  {"5.0", PM_DDR},	{"10.0", PM_QDR},
		     {"14.0625", PM_FDR}, {"25.78125", PM_EDR}, {"53.125", PM_HDR},
		     {"106.25", PM_NDR},  {"212.5", PM_XDR}};
	enum pm_speed speed = PM_SPEED_UNKNOWN;
	struct pm_text width, word;

	if (!pm_text_take_word(&state, &width) || !pm_text_take_word(&state, &word))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (pm_text_is(word, words[i].word))
			speed = words[i].speed;
	if (pm_text_skip_past(&state, "(FDR10)"))
		speed = PM_FDR10;
	netlist_set_link(link, width, speed);
}

/* Splits `OWN ==(STATE==>  PEER`. */
static int split(struct netlist *n, struct pm_text line, struct pm_text *own,
		 struct pm_text *state, struct pm_text *peer)
{
	struct pm_text rest = line;

	if (!pm_text_skip_past(&rest, TO_STATE))
		return pm_lexer_fail(&n->lexer, "no \"" TO_STATE "\" in \"%.*s\"",
				     PM_SHOWN(line));
	*own = (struct pm_text){line.at, rest.at - strlen(TO_STATE)};
	state->at = rest.at;
	if (!pm_text_skip_past(&rest, TO_PEER))
		return pm_lexer_fail(&n->lexer, "no \"" TO_PEER "\" in \"%.*s\"",
				     PM_SHOWN(line));
	state->end = rest.at - strlen(TO_PEER);
	*peer = rest;
	return 0;
}

/* Whether there is a peer: `[  ] "" ( )` and `"Port not available"` are none. */
static bool has_peer(struct pm_text peer)
{
	pm_text_skip_blanks(&peer);
	return !pm_text_is_empty(peer) && *peer.at != '[' && *peer.at != '"';
}

/* ---- Lines ---- */

static int parse_own_port(struct netlist *n, struct pm_text own, struct netlist_row *row,
			  struct pm_text *lid)
{
	int rc = netlist_need_port(n, &own, lid, &row->lid, &row->port);

	return rc ? rc : skip_external(n, &own);
}

static int parse_peer(struct netlist *n, struct pm_text peer, struct netlist_row *row)
{
	bool by_lid = n->header.given;
	struct pm_text lid = {0};
	uint64_t guid;
	uint16_t number;
	int rc = 0;

	if (!has_peer(peer))
		return 0;
	row->rest = peer;
	if (!by_lid)
		rc = netlist_need_guid(n, &peer, &row->peer, &guid);
	if (!rc)
		rc = netlist_need_port(n, &peer, &lid, &number, &row->peer_port);
	if (by_lid)
		row->peer = lid;
	return rc ? rc : skip_external(n, &peer);
}

/* `0x0000000000200001 "  a"  3   1[  ] ` */
static int parse_whole(struct netlist *n, struct pm_text own, struct netlist_row *row)
{
	struct pm_text lid;
	int rc = netlist_need_guid(n, &own, &row->id, &row->guid);

	if (rc)
		return rc;
	row->name = take_quoted_name(&own);
	return parse_own_port(n, own, row, &lid);
}

/* `  3   1[  ] ` or `0x0000000000100006  5   1[  ] ` */
static int parse_of_node(struct netlist *n, struct pm_text own, struct netlist_row *row)
{
	struct pm_text text;
	int rc = 0;

	row->typed = true;
	row->type = n->header.type;
	row->guid = n->header.guid;
	row->name = n->header.name;
	if (row->type != PM_SWITCH)
		rc = netlist_need_guid(n, &own, &text, &row->guid);
	return rc ? rc : parse_own_port(n, own, row, &row->id);
}

static int parse_header(struct netlist *n, enum pm_node_type type, struct pm_text rest)
{
	struct pm_text guid;
	int rc = 0;

	n->header.given = true;
	n->header.type = type;
	if (type == PM_SWITCH)
		rc = netlist_need_guid(n, &rest, &guid, &n->header.guid);
	pm_text_skip_blanks(&rest);
	rest.end--;
	n->header.name = rest.at < rest.end ? rest : (struct pm_text){rest.at, rest.at};
	return rc;
}

static int parse(struct netlist *n, struct pm_text line)
{
	struct netlist_row row = {.line = n->lexer.line};
	struct pm_text own, state, peer, rest;
	enum pm_node_type type;
	int rc;

	if (is_header(line, &type, &rest))
		return parse_header(n, type, rest);
	rc = split(n, line, &own, &state, &peer);
	if (!rc)
		rc = n->header.given ? parse_of_node(n, own, &row)
				     : parse_whole(n, own, &row);
	if (!rc)
		rc = parse_peer(n, peer, &row);
	if (rc)
		return rc;
	take_link(state, &row.link);
	if (pm_text_is_empty(row.peer) && pm_text_skip_past(&state, " Active/"))
		netlist_add_silent(n, &row);
	return netlist_add_row(n, &row);
}

/* Behind the peer's name there are no numbers of the link. */
static bool is_line_whole(struct pm_text line)
{
	char last = line.end[-1];
	struct pm_text rest;
	enum pm_node_type type;

	return is_header(line, &type, &rest) ||
	       (pm_text_skip_past(&line, TO_PEER) && (last == ')' || last == '"'));
}

/* Reads `0x0000000000000c10     10    1[  ] "n10 HCA-1" ( )`. */
static bool read_end_node(const struct cable *cable, struct netlist_peer *peer)
{
	struct netlist n = {.lexer = {.source = ""}};
	struct pm_text rest = cable->rest, id, lid_text, name;
	uint64_t guid;
	uint32_t port;
	uint16_t lid;

	if (netlist_need_guid(&n, &rest, &id, &guid) ||
	    netlist_need_port(&n, &rest, &lid_text, &lid, &port))
		return false;
	name = take_quoted_name(&rest);
	if (!netlist_may_be_end_node(port, name))
		return false;
	*peer = (struct netlist_peer){
		.type = PM_CA,
		.node_guid = guid,
		.port_guid = guid,
		.lid = lid,
		.name = name,
	};
	return true;
}

/* Reads none, and says why. */
static int note_switches_only(struct netlist *n)
{
	return netlist_use_peers(
		n, netlist_read_no_peer,
		"only switches have lines here, without the GUIDs of their "
		"hosts: take iblinkinfo with -l, or without "
		"--switches-only");
}

int iblinkinfo_read(struct netlist *n)
{
	int rc;

	n->read_peer = netlist_read_no_peer;
	rc = netlist_read_rows(n, parse, is_line_whole);
	if (rc || n->fabric->num_switches < n->fabric->num_nodes)
		return rc;
	return n->header.given ? note_switches_only(n)
			       : netlist_use_peers(n, read_end_node, NULL);
}
