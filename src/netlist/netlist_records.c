/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads records of ibsim and ibnetdiscover: a header line and a line for each port with a
 * cable.
 */
#include "netlist_parts.h"

#include <portmajor/fabric/mac.h>

#include <errno.h>
#include <inttypes.h>

#define MAX_LMC 7

/* ---- Pieces of a line ---- */

int netlist_need_number(struct netlist *n, struct pm_text *text, unsigned int base,
			const char *what, uint64_t *value)
{
	switch (pm_text_take_digits(text, base, value)) {
	case -EINVAL:
		return pm_lexer_fail(&n->lexer, "no %s in \"%.*s\"", what,
				     PM_SHOWN(*text));
	case -ERANGE:
		return pm_lexer_fail(&n->lexer, "the %s is too large", what);
	}
	return 0;
}

/* Takes `"quoted"`; the text begins at the first quote. */
static int need_quoted(struct netlist *n, struct pm_text *text, struct pm_text *quoted)
{
	return pm_text_take_quoted(text, quoted)
		       ? 0
		       : pm_lexer_fail(&n->lexer, "unterminated quote before \"%.*s\"",
				       PM_SHOWN(*text));
}

/* An id must not begin like one of ibsim's aliases or module names. */
static int check_id(struct netlist *n, struct pm_text id)
{
	if (id.at == id.end)
		return pm_lexer_fail(&n->lexer, "empty node id");
	if (pm_text_find(id, '@'))
		return pm_lexer_fail(&n->lexer,
				     "node id \"%.*s\": aliases ('@') are not supported",
				     PM_SHOWN(id));
	if (pm_text_find(id, '#'))
		return pm_lexer_fail(&n->lexer,
				     "node id \"%.*s\": modules ('#') are not supported",
				     PM_SHOWN(id));
	return 0;
}

/* Reads `lid 3 lmc 0` among other words of a comment. */
static int read_lid(struct netlist *n, struct pm_text comment, uint32_t index)
{
	struct pm_port *port = &n->fabric->ports[index];
	struct pm_text word;

	while (pm_text_take_word(&comment, &word)) {
		bool is_lmc = pm_text_is(word, "lmc");
		uint64_t limit = is_lmc ? MAX_LMC : UINT16_MAX;
		uint64_t value;
		int rc;

		if (!is_lmc && !pm_text_is(word, "lid"))
			continue;
		rc = pm_text_take_digits(&comment, 10, &value);
		if (rc == -EINVAL)
			continue; /* a word in some sentence */
		if (rc || value > limit)
			return pm_lexer_fail(
				&n->lexer,
				"%.*s of port %u of \"%.*s\" is not 0 to %" PRIu64,
				PM_SHOWN(word), port->num, PM_SHOWN(netlist_id(n, index)),
				limit);
		if (is_lmc)
			port->lmc = (uint8_t)value;
		else
			port->lid = dump_lid(value);
	}
	return 0;
}

/* ---- Headers ---- */

/*
 * The description in `# "description" ...`, which may have quotes of its own. Without
 * one, the name does not change.
 */
static int take_description(struct netlist *n, struct pm_text *rest, struct pm_text *name)
{
	const char *hash = pm_text_find(*rest, '#');
	struct pm_text description;

	if (!hash)
		return 0;
	rest->at = hash + 1;
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, '"'))
		return 0;
	description = (struct pm_text){rest->at + 1, netlist_after_quotes(*rest).at - 1};
	if (description.at > description.end)
		return need_quoted(n, rest, &description); /* there is one quote alone */
	if (description.at < description.end)
		*name = description;
	return 0;
}

static int parse_record(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	struct pm_text id, name;
	uint64_t num_ports;
	int rc;

	rc = netlist_need_number(n, &rest, 0, "number of ports", &num_ports);
	if (rc)
		return rc;
	pm_text_skip_blanks(&rest);
	if (!pm_text_next_is(rest, '"'))
		return pm_lexer_fail(&n->lexer, "no quoted id after the number of ports");
	rc = need_quoted(n, &rest, &id);
	if (!rc)
		rc = check_id(n, id);
	if (rc)
		return rc;
	if (num_ports < 1 || num_ports > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer,
				     "node \"%.*s\" has %" PRIu64
				     " ports, allowed are 1 to %d",
				     PM_SHOWN(id), num_ports, PM_MAX_PORTS);
	name = id;
	rc = take_description(n, &rest, &name);
	if (!rc && n->find_guid)
		rc = n->find_guid(n, id, type);
	if (!rc)
		rc = netlist_add_node(n, type, n->guid_next[type],
				      (unsigned int)num_ports, id, name);
	if (rc)
		return rc;
	n->fabric->nodes[n->fabric->num_nodes - 1].device = n->device;
	n->guid_next[type] += type == PM_SWITCH ? 1 : num_ports + 1;
	memset(n->given, 0, sizeof(n->given));
	n->in_record = true;
	n->ports_left = (unsigned int)num_ports;
	if (type != PM_SWITCH)
		return 0;
	return read_lid(n, netlist_after_quotes(rest),
			n->fabric->nodes[n->fabric->num_nodes - 1].first_port);
}

/* ---- Port lines ---- */

/* Takes `12]`; the text begins behind the '['. */
static int take_port_number(struct netlist *n, struct pm_text *rest, uint64_t *number)
{
	int rc = netlist_need_number(n, rest, 10, "port number", number);

	if (rc)
		return rc;
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, ']'))
		return pm_lexer_fail(&n->lexer, "no ']' after port number %" PRIu64,
				     *number);
	rest->at++;
	return 0;
}

/* Takes `[1](8f10403960985)` and finds the port of the record's node. */
static int take_port(struct netlist *n, struct pm_text *rest, struct pm_port **port)
{
	struct pm_node *node = &n->fabric->nodes[n->fabric->num_nodes - 1];
	struct pm_text id = n->records[n->fabric->num_nodes - 1].id;
	uint64_t number, guid;
	int rc;

	rest->at++;
	rc = take_port_number(n, rest, &number);
	if (rc)
		return rc;
	if (number < 1 || number > node->num_ports)
		return pm_lexer_fail(&n->lexer,
				     "\"%.*s\" has ports 1 to %u, not %" PRIu64,
				     PM_SHOWN(id), node->num_ports, number);
	if (n->given[number])
		return pm_lexer_fail(&n->lexer,
				     "port %" PRIu64
				     " of \"%.*s\" is given already on line %" PRIu32,
				     number, PM_SHOWN(id), n->given[number]);
	n->given[number] = n->lexer.line;
	n->ports_left--;
	*port = &n->fabric->ports[node->first_port + number];
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, '('))
		return 0;
	if (n->find_guid && node->type == PM_SWITCH) /* ibdiagnet: the port's label */
		return 0;
	rest->at++;
	rc = netlist_need_number(n, rest, 16, "port GUID", &guid);
	if (rc)
		return rc;
	if (!pm_text_next_is(*rest, ')'))
		return pm_lexer_fail(&n->lexer,
				     "no ')' after the GUID of port %" PRIu64
				     " of \"%.*s\"",
				     number, PM_SHOWN(id));
	if (node->type != PM_SWITCH)
		(*port)->guid = guid;
	return 0;
}

/* Takes `"peer"[2]`; anything but a comment may precede it. */
static int take_peer(struct netlist *n, struct pm_text *rest, struct cable *cable)
{
	struct pm_text id = netlist_id(n, cable->port);
	unsigned int num = n->fabric->ports[cable->port].num;
	uint64_t number = 1;
	int rc;

	while (rest->at < rest->end && *rest->at != '"' && *rest->at != '#')
		rest->at++;
	if (!pm_text_next_is(*rest, '"'))
		return pm_lexer_fail(&n->lexer, "port %u of \"%.*s\" has no quoted peer",
				     num, PM_SHOWN(id));
	rc = need_quoted(n, rest, &cable->peer);
	if (!rc)
		rc = check_id(n, cable->peer);
	if (rc)
		return rc;
	if (pm_text_next_is(*rest, '[')) {
		rest->at++;
		rc = take_port_number(n, rest, &number);
		if (rc)
			return rc;
	}
	if (number < 1 || number > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer,
				     "port %u of \"%.*s\": the peer's port %" PRIu64
				     " is not 1 to %d",
				     num, PM_SHOWN(id), number, PM_MAX_PORTS);
	cable->peer_port = (uint32_t)number;
	return 0;
}

/* Reads `mac 02:00:00:00:00:01` among other words of a comment. */
static int read_mac(struct netlist *n, struct pm_text comment, uint32_t index)
{
	struct pm_text word;
	uint64_t mac;

	while (pm_text_take_word(&comment, &word)) {
		if (!pm_text_is(word, "mac") || !pm_text_take_word(&comment, &word))
			continue;
		if (!pm_mac_parse(word, &mac) || !pm_mac_is_host(mac))
			return pm_lexer_fail(
				&n->lexer, "%.*s of \"%.*s\" is no host's MAC address",
				PM_SHOWN(word), PM_SHOWN(netlist_id(n, index)));
		n->fabric->ports[index].guid = pm_mac_guid(mac);
	}
	return 0;
}

/* `# lid 16 lmc 1 "peer's description" lid 3 4xSDR`: the first LID is this port's. */
static int take_port_comment(struct netlist *n, struct pm_text rest, uint32_t port)
{
	const char *hash = pm_text_find(rest, '#');
	const char *quote;
	int rc;

	if (!hash)
		return 0;
	rest.at = hash + 1;
	quote = pm_text_find(rest, '"');
	if (quote)
		rest.end = quote;
	rc = read_lid(n, rest, port);
	return rc ? rc : read_mac(n, rest, port);
}

static int parse_record_port(struct netlist *n, struct pm_text line)
{
	struct cable cable = {.line = n->lexer.line, .link = n->link};
	struct pm_port *port = NULL;
	int rc;

	if (!n->in_record)
		return pm_lexer_fail(&n->lexer, "a port line outside of a node's record");
	rc = take_port(n, &line, &port);
	if (rc)
		return rc;
	cable.port = (uint32_t)(port - n->fabric->ports);
	rc = take_peer(n, &line, &cable);
	if (rc)
		return rc;
	netlist_take_link(line, &cable.link);
	cable.rest = line;
	rc = netlist_add_cable(n, &cable);
	if (rc)
		return rc;
	if (n->fabric->nodes[port->node].type == PM_SWITCH)
		return 0;
	return take_port_comment(n, line, cable.port);
}

/* ---- Lines ---- */

/*
 * ibsim looks for ports until it has read all of them, and drops the line that ends the
 * record. A reader that took this line would have another fabric than ibsim.
 */
static int check_dropped(struct netlist *n, const char *word, bool dropped)
{
	return dropped ? pm_lexer_fail(
				 &n->lexer,
				 "no blank line before this \"%s\" line, ibsim would drop it",
				 word)
		       : 0;
}

static int reject(struct netlist *n, struct pm_text line, bool dropped)
{
	static const char *const words[] = {"module", "include", "do"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		int rc;

		if (!pm_text_starts(line, words[i]))
			continue;
		rc = check_dropped(n, words[i], dropped);
		return rc ? rc
			  : pm_lexer_fail(&n->lexer,
					  "ibsim's \"%s\" lines are not supported",
					  words[i]);
	}
	return 0;
}

/* `devid=0xcf09`; a larger number than 16 bits stands for none. */
static void take_device(struct netlist *n, struct pm_text line)
{
	uint64_t device;

	if (!pm_text_starts(line, "devid") || !pm_text_skip_past(&line, "=") ||
	    pm_text_take_digits(&line, 0, &device))
		return;
	n->device = device <= UINT16_MAX ? (uint16_t)device : 0;
}

/*
 * Words that begin lines between records. ibsim compares no more than these either, so
 * that "switchguids=" is "switchguid".
 */
static const struct {
	const char *word;
	enum pm_node_type type;
	bool is_guid;
} statements[] = {
	{"Switch", PM_SWITCH, false},
	{"Hca", PM_CA, false},
	{"Ca", PM_CA, false},
	{"Rt", PM_ROUTER, false},
	{"switchguid", PM_SWITCH, true},
	{"hcaguids", PM_CA, true},
	{"caguid", PM_CA, true},
	{"rtguid", PM_ROUTER, true},
};

static int parse_record_line(struct netlist *n, struct pm_text line,
			     netlist_parse *parse_guid)
{
	int rc = pm_lexer_check_text(&n->lexer, line);
	bool dropped;

	if (rc || pm_text_next_is(line, '#'))
		return rc;
	if (pm_text_next_is(line, '['))
		return parse_record_port(n, line);
	if (pm_text_next_is(line, '@'))
		return pm_lexer_fail(&n->lexer, "aliases ('@') are not supported");
	dropped = n->in_record && n->ports_left;
	n->in_record = false;
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		netlist_parse *parse = statements[i].is_guid ? parse_guid : parse_record;

		if (!pm_text_starts(line, statements[i].word))
			continue;
		line.at += strlen(statements[i].word);
		rc = check_dropped(n, statements[i].word, dropped);
		return rc ? rc : parse(n, line, statements[i].type);
	}
	if (!dropped) {
		netlist_take_default(line, &n->link);
		take_device(n, line);
	}
	return reject(n, line, dropped);
}

/* Whether an unfinished line is one with data. */
static bool says_something(struct pm_text line)
{
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
		if (pm_text_starts(line, statements[i].word))
			return true;
	return pm_text_next_is(line, '[');
}

/*
 * ibnetdiscover ends a port's line with width and speed. If these are cut off, the
 * numbers before them may be cut, too.
 */
static bool is_record_whole(struct pm_text line)
{
	struct netlist_link link = {0, 0};

	netlist_take_link(line, &link);
	return pm_text_next_is(line, '[') && (link.widths || link.speeds);
}

static int parse_cut(struct netlist *n, struct pm_text line, netlist_parse *parse_guid)
{
	int rc;

	if (n->read_peer && says_something(line) && !is_record_whole(line))
		return netlist_leave_cut(n);
	rc = parse_record_line(n, line, parse_guid);
	if (rc == -EINVAL && n->lexer.err)
		strncat(n->lexer.err->text, "; the file ends in the middle of this line",
			sizeof(n->lexer.err->text) - strlen(n->lexer.err->text) - 1);
	return rc;
}

int netlist_read_records(struct netlist *n, netlist_parse *parse_guid)
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&n->lexer, &line))
		rc = netlist_is_cut(n) ? parse_cut(n, line, parse_guid)
				       : parse_record_line(n, line, parse_guid);
	return rc;
}
