/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads ibsim's Dump as a netlist: nodes, present cables, and LIDs. */
#include "netlist_parts.h"

#include <inttypes.h>

struct own {
	uint64_t lid, lmc;
};

static int add_dumped(struct netlist *n, const struct dump_line *line)
{
	memset(n->given, 0, sizeof(n->given));
	return netlist_add_node(n, line->type, line->guid, (unsigned int)line->number,
				line->id, line->id);
}

/* A port without a cable keeps its old LID, which another port may have by now. */
static int add_dumped_port(struct netlist *n, const struct dump_line *line,
			   struct own *own)
{
	const struct pm_node *node = &n->fabric->nodes[n->fabric->num_nodes - 1];
	bool is_switch = node->type == PM_SWITCH;
	struct cable cable = {
		.peer = line->peer,
		.port = node->first_port + (uint32_t)line->number,
		.line = n->lexer.line,
		.peer_port = (uint32_t)line->peer_port,
	};
	struct pm_port *port;

	if (line->number > node->num_ports || (!line->number && !is_switch))
		return pm_lexer_fail(&n->lexer, "the node has no port %" PRIu64,
				     line->number);
	if (n->given[line->number])
		return pm_lexer_fail(&n->lexer,
				     "port %" PRIu64 " is given already on line %" PRIu32,
				     line->number, n->given[line->number]);
	n->given[line->number] = n->lexer.line;
	port = &n->fabric->ports[is_switch ? node->first_port : cable.port];
	if (!is_switch)
		port->guid = line->guid;
	if (!is_switch || !line->number)
		*own = (struct own){line->lid, line->lmc};
	if (pm_text_is_empty(line->peer))
		return 0;
	if (line->peer_port < 1 || line->peer_port > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer, "the peer's port is not 1 to %d",
				     PM_MAX_PORTS);
	netlist_take_dumped(line->rest, &cable.link);
	port->lid = (uint16_t)own->lid;
	port->lmc = (uint8_t)own->lmc;
	return netlist_add_cable(n, &cable);
}

int netlist_dump_read(struct netlist *n)
{
	struct dump dump = {.lexer = &n->lexer};
	struct dump_line line;
	struct own own = {0, 0};
	int more, rc = 0;

	while (!rc && (more = dump_next(&dump, &line))) {
		if (more < 0)
			rc = more;
		else if (line.kind == DUMP_NODE)
			rc = add_dumped(n, &line);
		else if (line.kind == DUMP_PORT)
			rc = add_dumped_port(n, &line, &own);
	}
	return rc;
}
