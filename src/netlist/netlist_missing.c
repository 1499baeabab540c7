/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completes a netlist with a truncated file or record. Both ends of a cable list it, so
 * one end may have data that the other lacks. An end node and its cable are taken from
 * its switch's line. Between switches one end is not enough: a table that uses a missing
 * cable loses packets, while a table that lacks an existing cable does not.
 */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define NO_CABLE UINT32_MAX

/* ---- Notes ---- */

void netlist_note(struct netlist *n, uint32_t line, const char *format, ...)
{
	struct pm_lexer lexer = n->lexer;
	char message[PM_ERROR_TEXT];
	va_list args;

	if (n->notes.count < PM_NETLIST_NOTES) {
		va_start(args, format);
		vsnprintf(message, sizeof(message), format, args);
		va_end(args);
		lexer.err = &n->notes.first[n->notes.count];
		pm_lexer_fail_at(&lexer, line, "%s", message);
	}
	n->notes.count++;
}

bool netlist_is_cut(const struct netlist *n)
{
	return pm_text_is_empty(n->lexer.rest) && n->lexer.rest.at[-1] != '\n';
}

int netlist_leave_cut(struct netlist *n)
{
	netlist_note(n, n->lexer.line,
		     "the file ends in the middle of this line, which is left out");
	return 0;
}

/* ---- One end of a cable ---- */

/* How many were taken from the other end, and the first one's cable. */
struct taken {
	uint32_t count, cable;
};

struct completion {
	struct netlist *n;
	const struct netlist_id_key *keys; /* of the nodes with a record */
	uint32_t num_keys;
	uint32_t *by_port; /* [port] the cable of its own line, or NO_CABLE */
	uint32_t *missing; /* cables to a peer without a record */
	uint32_t num_missing;
	struct taken nodes, cables;
};

static void take_cable(struct taken *taken, uint32_t cable)
{
	if (!taken->count++)
		taken->cable = cable;
}

/* How messages name a cable. */
#define PORT_LEADS "port %u of \"%.*s\" leads to port %" PRIu32 " of \"%.*s\""
#define LEADS(n, cable)                                                                  \
	(n)->fabric->ports[(cable)->port].num, PM_SHOWN(netlist_id((n), (cable)->port)), \
		(cable)->peer_port, PM_SHOWN((cable)->peer)

static bool is_switch(const struct netlist *n, uint32_t port)
{
	return n->fabric->nodes[n->fabric->ports[port].node].type == PM_SWITCH;
}

static void leave_out(struct netlist *n, uint32_t cable)
{
	n->cables[cable].port = PM_NONE;
}

/* Adds the line that the port at the other end of a cable lacks. */
static int add_back(struct netlist *n, uint32_t cable, uint32_t peer)
{
	const struct cable *there = &n->cables[cable];
	struct cable back = {
		.peer = netlist_id(n, there->port),
		.port = peer,
		.line = there->line,
		.peer_port = n->fabric->ports[there->port].num,
		.link = there->link,
	};

	return netlist_add_cable(n, &back);
}

/* Stores a switch's data of an end port. */
static void set_end_port(struct netlist *n, uint32_t port,
			 const struct netlist_peer *reported)
{
	n->fabric->ports[port].guid = reported->port_guid;
	n->fabric->ports[port].lid = reported->lid;
}

/* Completes or leaves out a cable that the peer's record does not list. */
static int complete_cable(struct completion *c, uint32_t cable, uint32_t peer)
{
	struct netlist *n = c->n;
	const struct cable *there = &n->cables[cable];
	struct netlist_peer reported;
	bool whole = is_switch(n, there->port) != is_switch(n, peer);

	if (whole && !is_switch(n, peer)) {
		whole = n->read_peer(there, &reported);
		if (whole)
			set_end_port(n, peer, &reported);
	}
	if (!whole) {
		netlist_note(n, there->line,
			     PORT_LEADS ", which does not list it: left out",
			     LEADS(n, there));
		leave_out(n, cable);
		return 0;
	}
	take_cable(&c->cables, cable);
	c->by_port[peer] = n->num_cables;
	return add_back(n, cable, peer);
}

/* ---- Nodes without a record ---- */

static int compare_missing(const void *a, const void *b, void *context)
{
	const struct netlist *n = context;
	const struct cable *x = &n->cables[*(const uint32_t *)a];
	const struct cable *y = &n->cables[*(const uint32_t *)b];
	int order = pm_text_compare(x->peer, y->peer);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/*
 * Whether the lines of a node's cables suffice to add it: an end node, and all agree. If
 * two of its ports have one GUID, it is a switch.
 */
static bool read_node(const struct netlist *n, const uint32_t *list, uint32_t count,
		      struct netlist_peer *reported)
{
	struct netlist_peer other;

	if (!n->read_peer(&n->cables[list[0]], reported) || reported->type == PM_SWITCH)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct cable *cable = &n->cables[list[i]];

		if (!is_switch(n, cable->port) || !n->read_peer(cable, &other) ||
		    other.type != reported->type ||
		    other.node_guid != reported->node_guid ||
		    (cable->peer_port != n->cables[list[0]].peer_port &&
		     other.port_guid == reported->port_guid))
			return false;
		if (cable->peer_port > reported->num_ports)
			reported->num_ports = cable->peer_port;
	}
	return true;
}

/* If two cables lead to one port, they stay, and are refused like those of records. */
static int add_named(struct netlist *n, const uint32_t *list, uint32_t count,
		     const struct netlist_peer *reported)
{
	const struct cable first = n->cables[list[0]];
	uint32_t node = n->fabric->num_nodes;
	uint32_t first_port = n->fabric->num_ports;
	struct pm_text name =
		pm_text_is_empty(reported->name) ? first.peer : reported->name;
	int rc = netlist_add_node(n, reported->type, reported->node_guid,
				  reported->num_ports, first.peer, name);

	if (rc)
		return rc;
	n->records[node].line = first.line;
	memset(n->given, 0, sizeof(n->given));
	for (uint32_t i = 0; !rc && i < count; i++) {
		const struct cable *cable = &n->cables[list[i]];
		uint32_t port = first_port + cable->peer_port;
		struct netlist_peer other;

		if (n->given[cable->peer_port]++ || !n->read_peer(cable, &other))
			continue;
		set_end_port(n, port, &other);
		rc = add_back(n, list[i], port);
	}
	return rc;
}

static int complete_node(struct completion *c, const uint32_t *list, uint32_t count)
{
	struct netlist *n = c->n;
	const struct cable *first = &n->cables[list[0]];
	struct netlist_peer reported = {0};

	if (read_node(n, list, count, &reported)) {
		take_cable(&c->nodes, list[0]);
		return add_named(n, list, count, &reported);
	}
	netlist_note(
		n, first->line,
		"%" PRIu32 " %s to \"%.*s\", which has no record, such as port %u of "
		"\"%.*s\": left out",
		count, count == 1 ? "port leads" : "ports lead", PM_SHOWN(first->peer),
		n->fabric->ports[first->port].num, PM_SHOWN(netlist_id(n, first->port)));
	for (uint32_t i = 0; i < count; i++)
		leave_out(n, list[i]);
	return 0;
}

static int complete_nodes(struct completion *c)
{
	uint32_t *list = c->missing, count = c->num_missing, last = 0;
	int rc = 0;

	qsort_r(list, count, sizeof(*list), compare_missing, c->n);
	for (uint32_t first = 0; !rc && first < count; first = last) {
		struct pm_text id = c->n->cables[list[first]].peer;

		for (last = first; last < count; last++)
			if (!pm_text_equal(c->n->cables[list[last]].peer, id))
				break;
		rc = complete_node(c, list + first, last - first);
	}
	return rc;
}

/* ---- All of it ---- */

/* The node with a record at the other end of a cable, or PM_NONE. */
static uint32_t find_peer(const struct completion *c, uint32_t cable)
{
	return netlist_find_id(c->keys, c->num_keys, c->n->cables[cable].peer);
}

static void find_missing(struct completion *c)
{
	struct netlist *n = c->n;

	for (uint32_t i = 0; i < n->fabric->num_ports; i++)
		c->by_port[i] = NO_CABLE;
	for (uint32_t i = 0; i < n->num_cables; i++) {
		c->by_port[n->cables[i].port] = i;
		if (find_peer(c, i) == PM_NONE)
			c->missing[c->num_missing++] = i;
	}
}

static int complete_cables(struct completion *c, uint32_t count)
{
	const struct netlist *n = c->n;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < count; i++) {
		uint32_t node = find_peer(c, i), peer;

		if (node == PM_NONE ||
		    n->cables[i].peer_port > n->fabric->nodes[node].num_ports)
			continue;
		peer = n->fabric->nodes[node].first_port + n->cables[i].peer_port;
		if (c->by_port[peer] == NO_CABLE)
			rc = complete_cable(c, i, peer);
	}
	return rc;
}

/* Adds one note for all nodes, and one for all cables, that were taken. */
static void note_taken(const struct completion *c)
{
	struct netlist *n = c->n;
	const struct cable *node, *cable;

	if (!n->num_cables)
		return;
	node = &n->cables[c->nodes.cable];
	cable = &n->cables[c->cables.cable];
	if (c->nodes.count)
		netlist_note(n, node->line,
			     "end nodes without a record: %" PRIu32
			     ", taken from their switches' lines, such as \"%.*s\"",
			     c->nodes.count, PM_SHOWN(node->peer));
	if (c->cables.count)
		netlist_note(n, cable->line,
			     "cables of end nodes that one end lists: %" PRIu32
			     ", taken from there, such as " PORT_LEADS,
			     c->cables.count, LEADS(n, cable));
}

/* Reports nodes without a cable: a program finds nodes by their cables. */
static void note_lonely(const struct completion *c)
{
	struct netlist *n = c->n;
	uint32_t count = 0, first = 0;

	for (uint32_t i = c->num_keys; i-- > 0;) {
		const struct pm_node *node = &n->fabric->nodes[i];
		uint32_t num = 1;

		while (num <= node->num_ports &&
		       c->by_port[node->first_port + num] == NO_CABLE)
			num++;
		if (num <= node->num_ports)
			continue;
		count++;
		first = i;
	}
	if (count)
		netlist_note(n, n->records[first].line,
			     "nodes without a cable: %" PRIu32 ", such as \"%.*s\"",
			     count, PM_SHOWN(n->records[first].id));
}

static void drop_left_out(struct netlist *n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n->num_cables; i++)
		if (n->cables[i].port != PM_NONE)
			n->cables[kept++] = n->cables[i];
	n->num_cables = kept;
}

static int complete(struct completion *c)
{
	uint32_t count = c->n->num_cables;
	int rc;

	find_missing(c);
	rc = complete_nodes(c);
	if (!rc)
		rc = complete_cables(c, count);
	if (rc)
		return rc;
	note_lonely(c);
	note_taken(c);
	drop_left_out(c->n);
	return 0;
}

int netlist_complete(struct netlist *n)
{
	struct netlist_id_key *keys = NULL;
	struct completion c = {
		.n = n,
		.num_keys = n->fabric->num_nodes,
		.by_port = pm_array(n->fabric->num_ports, sizeof(*c.by_port)),
		.missing = pm_array(n->num_cables, sizeof(*c.missing)),
	};
	int rc;

	if (!c.by_port || !c.missing)
		rc = pm_error_no_memory(n->lexer.err);
	else
		rc = netlist_sort_ids(n, &keys);
	c.keys = keys;
	if (!rc)
		rc = complete(&c);
	free(keys);
	free(c.by_port);
	free(c.missing);
	return rc;
}
