/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads OpenSM's opensm-subnet.lst, and ibdiagnet2.lst, which has comments before it. It
 * has a line for each end of a cable, node by node:
 * `{ END } { OTHER END } PHY=4x LOG=ACT SPD=10`. An end is
 * `SW Ports:24 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. .. {NAME} LID:0001 PN:01`.
 * All numbers are hexadecimal.
 */
#include "netlist_parts.h"

#include <errno.h>
#include <inttypes.h>

/* The data between two braces. */
struct end {
	enum pm_node_type type;
	struct pm_text id, name; /* id: the node's GUID as text */
	uint64_t num_ports, node_guid, port_guid, device, lid, port;
};

bool subnet_lst_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;

	while (pm_lexer_next(&lexer, &line)) {
		pm_text_skip_blanks(&line);
		if (!pm_text_is_empty(line) && *line.at != '#')
			return pm_text_starts(line, "{ ") &&
			       pm_text_skip_past(&line, " SystemGUID:");
	}
	return false;
}

/* ---- Pieces of a line ---- */

/* `SW`, or `SW-SM` for the master's node. */
static bool take_type(struct pm_text *text, enum pm_node_type *type)
{
	static const char *const words[] = {"SW", "CA", "Rt"};
	struct pm_text word;

	return pm_text_take_word(text, &word) &&
	       netlist_find_type(pm_text_before(word, '-'), words, type);
}

/* The number, up to max, behind the next word. */
static int need_next(struct netlist *n, struct pm_text *text, const char *word,
		     uint64_t max, uint64_t *value)
{
	struct pm_text all;

	pm_text_skip_blanks(text);
	all = *text;
	if (!pm_text_starts(*text, word))
		return pm_lexer_fail(&n->lexer, "no \"%s\" before \"%.*s\"", word,
				     PM_SHOWN(all));
	text->at += strlen(word);
	if (!pm_text_take_number(text, 16, max, value))
		return pm_lexer_fail(&n->lexer,
				     "no number up to 0x%" PRIx64 " in \"%.*s\"", max,
				     PM_SHOWN(all));
	return 0;
}

/*
 * `DevID:CF09`. Where the end is not the line's first one, OpenSM writes 16 zeros behind
 * it; its node has it from another line.
 */
static int need_device(struct netlist *n, struct pm_text *text, uint64_t *device)
{
	if (!pm_text_skip_past(text, " DevID:"))
		return pm_lexer_fail(&n->lexer, "no \"DevID:\" before \"%.*s\"",
				     PM_SHOWN(*text));
	text->at -= strlen("DevID:");
	return need_next(n, text, "DevID:", UINT32_MAX, device);
}

/* `{desc} LID:`, where the description may have braces; the text begins before it. */
static int need_name(struct netlist *n, struct pm_text *text, struct pm_text *name)
{
	static const char after[] = "} LID:";

	if (!pm_text_skip_past(text, " {"))
		return pm_lexer_fail(&n->lexer, "no name in braces in \"%.*s\"",
				     PM_SHOWN(*text));
	name->at = text->at;
	if (!pm_text_skip_past(text, after))
		return pm_lexer_fail(&n->lexer, "no LID behind the name \"%.*s\"",
				     PM_SHOWN(*text));
	name->end = text->at - strlen(after);
	text->at -= strlen("LID:");
	return 0;
}

static int take_end(struct netlist *n, struct pm_text *text, struct end *end)
{
	uint64_t system_guid;
	int rc;

	if (!pm_text_skip_past(text, "{ ") || !take_type(text, &end->type))
		return pm_lexer_fail(&n->lexer, "no switch, host or router in \"%.*s\"",
				     PM_SHOWN(*text));
	rc = need_next(n, text, "Ports:", PM_MAX_PORTS, &end->num_ports);
	if (!rc)
		rc = need_next(n, text, "SystemGUID:", UINT64_MAX, &system_guid);
	if (!rc)
		rc = need_next(n, text, "NodeGUID:", UINT64_MAX, &end->node_guid);
	if (!rc) {
		end->id = (struct pm_text){text->at, text->at};
		while (end->id.at[-1] != ':')
			end->id.at--;
		rc = need_next(n, text, "PortGUID:", UINT64_MAX, &end->port_guid);
	}
	if (!rc)
		rc = need_device(n, text, &end->device);
	if (!rc)
		rc = need_name(n, text, &end->name);
	if (!rc)
		rc = need_next(n, text, "LID:", UINT16_MAX, &end->lid);
	if (!rc)
		rc = need_next(n, text, "PN:", PM_MAX_PORTS, &end->port);
	if (!rc && (!end->num_ports || !end->port || end->port > end->num_ports))
		rc = pm_lexer_fail(&n->lexer,
				   "port %" PRIu64 " of \"%.*s\" is not one of %" PRIu64,
				   end->port, PM_SHOWN(end->name), end->num_ports);
	return rc;
}

/* ---- Lines ---- */

/* Reads the peer from the text behind the line's own end. */
static bool read_subnet_peer(const struct cable *cable, struct netlist_peer *peer)
{
	struct netlist n = {.lexer = {.source = ""}};
	struct pm_text rest = cable->rest;
	struct end end = {0};

	if (take_end(&n, &rest, &end))
		return false;
	*peer = (struct netlist_peer){
		.type = end.type,
		.node_guid = end.node_guid,
		.port_guid = end.port_guid,
		.num_ports = (unsigned int)end.num_ports,
		.lid = dump_lid(end.lid),
		.name = end.name,
	};
	return true;
}

/* Adds the node of an end, unless it is the node of the last line. */
static int need_node(struct netlist *n, const struct end *end)
{
	uint32_t num = n->fabric->num_nodes;
	int rc;

	if (num && pm_text_equal(n->records[num - 1].id, end->id)) {
		if (end->num_ports == n->fabric->nodes[num - 1].num_ports)
			return 0;
		return pm_lexer_fail(&n->lexer, "\"%.*s\" had %u ports on line %" PRIu32,
				     PM_SHOWN(end->name),
				     n->fabric->nodes[num - 1].num_ports,
				     n->records[num - 1].line);
	}
	memset(n->given, 0, sizeof(n->given));
	rc = netlist_add_node(n, end->type, end->node_guid, (unsigned int)end->num_ports,
			      end->id, pm_text_is_empty(end->name) ? end->id : end->name);
	if (!rc)
		n->fabric->nodes[num].device = (uint16_t)end->device;
	return rc;
}

static int read_line(struct netlist *n, struct pm_text line)
{
	struct cable cable = {.line = n->lexer.line};
	struct end own = {0}, other = {0};
	const struct pm_node *node;
	struct pm_port *port;
	int rc = take_end(n, &line, &own);

	cable.rest = line;
	if (!rc)
		rc = take_end(n, &line, &other);
	if (!rc)
		rc = need_node(n, &own);
	if (rc)
		return rc;
	if (n->given[own.port])
		return pm_lexer_fail(&n->lexer,
				     "port %" PRIu64
				     " of \"%.*s\" is given already on line %" PRIu32,
				     own.port, PM_SHOWN(own.name), n->given[own.port]);
	n->given[own.port] = n->lexer.line;
	node = &n->fabric->nodes[n->fabric->num_nodes - 1];
	cable.port = node->first_port + (uint32_t)own.port;
	cable.peer = other.id;
	cable.peer_port = (uint32_t)other.port;
	port = &n->fabric->ports[node->type == PM_SWITCH ? node->first_port : cable.port];
	port->lid = dump_lid(own.lid);
	if (node->type != PM_SWITCH)
		port->guid = own.port_guid;
	netlist_take_active(line, &cable.link);
	return netlist_add_cable(n, &cable);
}

/* Whether the line's last word is there, and so the numbers before it. */
static bool ends(struct pm_text line)
{
	return pm_text_skip_past(&line, " SPD=") && !pm_text_is_empty(line);
}

int subnet_lst_read(struct netlist *n)
{
	struct pm_text line;
	int rc = 0;

	n->read_peer = read_subnet_peer;

	while (!rc && pm_lexer_next(&n->lexer, &line)) {
		rc = pm_lexer_check_text(&n->lexer, line);
		pm_text_skip_blanks(&line);
		if (rc || pm_text_is_empty(line) || *line.at == '#')
			continue;
		rc = netlist_is_cut(n) && !ends(line) ? netlist_leave_cut(n)
						      : read_line(n, line);
	}
	return rc;
}
