/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins both ends of each cable, and reports contradictions. */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>

struct guid_key {
	uint64_t guid;
	uint32_t node;
};

struct pm_text netlist_id(const struct netlist *n, uint32_t port)
{
	return n->records[n->fabric->ports[port].node].id;
}

/* ---- Adding ---- */

int netlist_add_node(struct netlist *n, enum pm_node_type type, uint64_t guid,
		     unsigned int num_ports, struct pm_text id, struct pm_text name)
{
	uint32_t node;
	char *copy;
	bool failed;

	if (n->fabric->num_nodes >= PM_MAX_NODES)
		return pm_lexer_fail(&n->lexer, "node \"%.*s\": more than %d nodes",
				     PM_SHOWN(id), PM_MAX_NODES);
	if (pm_grow(&n->records, &n->records_room, n->fabric->num_nodes + 1,
		    sizeof(*n->records)))
		return pm_error_no_memory(n->lexer.err);
	copy = strndup(name.at, pm_text_length(name));
	failed = !copy ||
		 pm_fabric_add_node(n->fabric, type, guid, num_ports, copy, &node, NULL);
	free(copy);
	if (failed)
		return pm_error_no_memory(n->lexer.err);
	n->records[node] = (struct record){id, n->lexer.line};
	if (type == PM_SWITCH)
		return 0;
	for (uint32_t i = 1; i <= num_ports; i++)
		n->fabric->ports[n->fabric->nodes[node].first_port + i].guid = guid + i;
	return 0;
}

int netlist_add_cable(struct netlist *n, const struct cable *cable)
{
	if (pm_grow(&n->cables, &n->cables_room, n->num_cables + 1, sizeof(*n->cables)))
		return pm_error_no_memory(n->lexer.err);
	n->cables[n->num_cables++] = *cable;
	return 0;
}

/* ---- Resolving and checking ---- */

static int compare_id_keys(const void *a, const void *b)
{
	const struct netlist_id_key *x = a, *y = b;
	int order = pm_text_compare(x->id, y->id);

	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

int netlist_sort_ids(struct netlist *n, struct netlist_id_key **sorted)
{
	uint32_t count = n->fabric->num_nodes;
	struct netlist_id_key *keys = pm_array(count, sizeof(*keys));

	if (!keys)
		return pm_error_no_memory(n->lexer.err);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct netlist_id_key){n->records[i].id, i};
	qsort(keys, count, sizeof(*keys), compare_id_keys);
	for (uint32_t i = 1; i < count; i++) {
		if (!pm_text_equal(keys[i - 1].id, keys[i].id))
			continue;
		pm_lexer_fail_at(&n->lexer, n->records[keys[i].node].line,
				 "node id \"%.*s\" is used already on line %" PRIu32,
				 PM_SHOWN(keys[i].id), n->records[keys[i - 1].node].line);
		free(keys);
		return -EINVAL;
	}
	*sorted = keys;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct netlist_id_key *x = a, *y = b;

	return pm_text_compare(x->id, y->id);
}

uint32_t netlist_find_id(const struct netlist_id_key *keys, uint32_t count,
			 struct pm_text id)
{
	const struct netlist_id_key wanted = {.id = id};
	const struct netlist_id_key *found =
		bsearch(&wanted, keys, count, sizeof(*keys), compare_ids);

	return found ? found->node : PM_NONE;
}

static int compare_guid_keys(const void *a, const void *b)
{
	const struct guid_key *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int check_unique(struct netlist *n, struct guid_key *keys, uint32_t count,
			const char *what)
{
	qsort(keys, count, sizeof(*keys), compare_guid_keys);
	for (uint32_t i = 1; i < count; i++) {
		const struct record *first = &n->records[keys[i - 1].node];
		const struct record *second = &n->records[keys[i].node];

		if (keys[i - 1].guid == keys[i].guid)
			return pm_lexer_fail_at(&n->lexer, second->line,
						"\"%.*s\" has the %s GUID 0x%016" PRIx64
						" of \"%.*s\" on line %" PRIu32,
						PM_SHOWN(second->id), what, keys[i].guid,
						PM_SHOWN(first->id), first->line);
	}
	return 0;
}

/*
 * Node GUIDs are unique, and so are port GUIDs. Of end nodes only ports with a cable
 * count: ibnetdiscover does not print the other ports' GUIDs, so ours are guesses.
 */
static int check_guids(struct netlist *n)
{
	const struct pm_fabric *fabric = n->fabric;
	struct guid_key *keys;
	uint32_t count = 0;
	int rc;

	keys = pm_array((size_t)fabric->num_nodes + n->num_cables, sizeof(*keys));
	if (!keys)
		return pm_error_no_memory(n->lexer.err);
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		keys[count++] = (struct guid_key){fabric->nodes[i].guid, i};
	rc = check_unique(n, keys, count, "node");
	if (rc)
		goto out;
	count = 0;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (fabric->nodes[i].type == PM_SWITCH)
			keys[count++] = (struct guid_key){fabric->nodes[i].guid, i};
	for (uint32_t i = 0; i < n->num_cables; i++) {
		const struct pm_port *port = &fabric->ports[n->cables[i].port];

		if (fabric->nodes[port->node].type != PM_SWITCH)
			keys[count++] = (struct guid_key){port->guid, port->node};
	}
	rc = check_unique(n, keys, count, "port");
out:
	free(keys);
	return rc;
}

/* Finds the port at the other end of a cable. */
static int find_peer(struct netlist *n, const struct netlist_id_key *keys,
		     const struct cable *cable, uint32_t *peer)
{
	const struct pm_port *port = &n->fabric->ports[cable->port];
	struct pm_text id = netlist_id(n, cable->port);
	uint32_t node = netlist_find_id(keys, n->fabric->num_nodes, cable->peer);
	unsigned int num_ports;

	if (node == PM_NONE)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\": unknown peer \"%.*s\"",
					port->num, PM_SHOWN(id), PM_SHOWN(cable->peer));
	num_ports = n->fabric->nodes[node].num_ports;
	if (cable->peer_port > num_ports)
		return pm_lexer_fail_at(
			&n->lexer, cable->line,
			"port %u of \"%.*s\": its peer \"%.*s\" has ports 1 to %u, not %" PRIu32,
			port->num, PM_SHOWN(id), PM_SHOWN(cable->peer), num_ports,
			cable->peer_port);
	*peer = n->fabric->nodes[node].first_port + cable->peer_port;
	if (*peer == cable->port)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\" is linked to itself",
					port->num, PM_SHOWN(id));
	return 0;
}

/* back: the line of the peer's port in the peer's record, or NULL. */
static int check_back(struct netlist *n, const struct cable *cable,
		      const struct cable *back)
{
	const struct pm_port *port = &n->fabric->ports[cable->port];
	struct pm_text id = netlist_id(n, cable->port);

	if (!back)
		return pm_lexer_fail_at(
			&n->lexer, cable->line,
			"port %u of \"%.*s\": its peer \"%.*s\" does not list port %" PRIu32,
			port->num, PM_SHOWN(id), PM_SHOWN(cable->peer), cable->peer_port);
	if (back->peer_port != port->num || !pm_text_equal(back->peer, id))
		return pm_lexer_fail_at(
			&n->lexer, cable->line,
			"port %u of \"%.*s\": on line %" PRIu32 " port %" PRIu32
			" of its peer \"%.*s\" is linked to port %" PRIu32 " of \"%.*s\"",
			port->num, PM_SHOWN(id), back->line, cable->peer_port,
			PM_SHOWN(cable->peer), back->peer_port, PM_SHOWN(back->peer));
	return 0;
}

static int join_ports(struct pm_fabric *fabric, uint32_t a, uint32_t b, uint8_t link)
{
	fabric->ports[a].link = fabric->ports[b].link = link;
	return pm_fabric_link(fabric, fabric->ports[a].node, fabric->ports[a].num,
			      fabric->ports[b].node, fabric->ports[b].num, NULL);
}

static int link_cables(struct netlist *n, const struct netlist_id_key *keys,
		       const struct cable **by_port)
{
	for (uint32_t i = 0; i < n->num_cables; i++)
		by_port[n->cables[i].port] = &n->cables[i];
	for (uint32_t i = 0; i < n->num_cables; i++) {
		const struct cable *cable = &n->cables[i];
		uint32_t peer = PM_NONE;
		int rc;

		rc = find_peer(n, keys, cable, &peer);
		if (!rc)
			rc = check_back(n, cable, by_port[peer]);
		if (!rc && n->fabric->ports[peer].peer == PM_NONE)
			rc = join_ports(
				n->fabric, cable->port, peer,
				netlist_link_code(&cable->link, &by_port[peer]->link));
		if (rc)
			return rc;
	}
	return 0;
}

int netlist_resolve(struct netlist *n)
{
	const struct cable **by_port = pm_array(n->fabric->num_ports, sizeof(*by_port));
	struct netlist_id_key *keys = NULL;
	int rc = by_port ? 0 : pm_error_no_memory(n->lexer.err);

	if (!rc && !n->fabric->num_nodes)
		rc = pm_lexer_fail(&n->lexer, "no nodes in the netlist");
	if (!rc)
		rc = netlist_sort_ids(n, &keys);
	if (!rc)
		rc = check_guids(n);
	if (!rc && !n->fabric->num_switches)
		rc = pm_lexer_fail(&n->lexer, "no switch in the netlist");
	if (!rc)
		rc = link_cables(n, keys, by_port);
	free(keys);
	free(by_port);
	return rc;
}
