/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fabrics: built, sealed, copied, cut and merged. */
#include "fabric_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct pm_fabric *pm_fabric_new(void)
{
	return calloc(1, sizeof(struct pm_fabric));
}

void pm_fabric_free(struct pm_fabric *fabric)
{
	if (!fabric)
		return;
	free(fabric->nodes);
	free(fabric->ports);
	free(fabric->names);
	free(fabric->by_guid);
	free(fabric);
}

static int add_ports(struct pm_fabric *fabric, uint32_t node, unsigned int num_ports)
{
	uint32_t first = fabric->num_ports;

	if (pm_grow(&fabric->ports, &fabric->ports_room, first + num_ports + 1,
		    sizeof(*fabric->ports)))
		return -ENOMEM;
	for (unsigned int i = 0; i <= num_ports; i++)
		fabric->ports[first + i] = (struct pm_port){
			.guid = fabric->nodes[node].guid,
			.node = node,
			.peer = PM_NONE,
			.num = (uint8_t)i,
		};
	fabric->num_ports = first + num_ports + 1;
	return 0;
}

int pm_fabric_add_node(struct pm_fabric *fabric, enum pm_node_type type, uint64_t guid,
		       unsigned int num_ports, const char *name, uint32_t *node,
		       struct pm_error *err)
{
	uint32_t index = fabric->num_nodes;
	uint32_t name_offset;

	if (num_ports < 1 || num_ports > PM_MAX_PORTS)
		return pm_error_set(err, -EINVAL,
				    "node \"%s\": %u ports, allowed are 1 to %d", name,
				    num_ports, PM_MAX_PORTS);
	if (index >= PM_MAX_NODES)
		return pm_error_set(err, -E2BIG, "more than %d nodes", PM_MAX_NODES);
	if (pm_grow(&fabric->nodes, &fabric->nodes_room, index + 1,
		    sizeof(*fabric->nodes)) ||
	    fabric_add_text(fabric, name, &name_offset))
		return pm_error_no_memory(err);
	fabric->nodes[index] = (struct pm_node){
		.guid = guid,
		.key = guid,
		.name = name_offset,
		.label = name_offset,
		.first_port = fabric->num_ports,
		.type = (uint8_t)type,
		.num_ports = (uint8_t)num_ports,
	};
	if (add_ports(fabric, index, num_ports))
		return pm_error_no_memory(err);
	fabric->num_nodes++;
	if (type == PM_SWITCH)
		fabric->num_switches++;
	*node = index;
	return 0;
}

static int find_free_port(const struct pm_fabric *fabric, uint32_t node,
			  unsigned int port, uint32_t *index, struct pm_error *err)
{
	const struct pm_node *n = &fabric->nodes[node];

	if (port < 1 || port > n->num_ports)
		return pm_error_set(err, -EINVAL, "\"%s\" has ports 1 to %u, not %u",
				    pm_fabric_name(fabric, node), n->num_ports, port);
	*index = n->first_port + port;
	if (fabric->ports[*index].peer != PM_NONE)
		return pm_error_set(err, -EEXIST, "port %u of \"%s\" has a cable already",
				    port, pm_fabric_name(fabric, node));
	return 0;
}

int pm_fabric_link(struct pm_fabric *fabric, uint32_t node_a, unsigned int port_a,
		   uint32_t node_b, unsigned int port_b, struct pm_error *err)
{
	uint32_t a = PM_NONE, b = PM_NONE;
	int rc;

	rc = find_free_port(fabric, node_a, port_a, &a, err);
	if (rc)
		return rc;
	rc = find_free_port(fabric, node_b, port_b, &b, err);
	if (rc)
		return rc;
	if (a == b)
		return pm_error_set(err, -EINVAL, "port %u of \"%s\" is linked to itself",
				    port_a, pm_fabric_name(fabric, node_a));
	fabric->ports[a].peer = b;
	fabric->ports[b].peer = a;
	return 0;
}

static int compare_keys(const void *a, const void *b, void *context)
{
	const struct pm_fabric *fabric = context;
	const struct pm_node *x = &fabric->nodes[*(const uint32_t *)a];
	const struct pm_node *y = &fabric->nodes[*(const uint32_t *)b];

	if ((x->type == PM_SWITCH) != (y->type == PM_SWITCH))
		return x->type == PM_SWITCH ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static int compare_guids(const void *a, const void *b, void *context)
{
	const struct pm_fabric *fabric = context;
	uint64_t x = fabric->nodes[*(const uint32_t *)a].guid;
	uint64_t y = fabric->nodes[*(const uint32_t *)b].guid;

	return x < y ? -1 : x > y;
}

static void sort_nodes(struct pm_fabric *fabric, uint32_t *order,
		       int (*compare)(const void *, const void *, void *))
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		order[i] = i;
	qsort_r(order, fabric->num_nodes, sizeof(*order), compare, fabric);
}

/* Fills by_guid[]. Fails if two nodes have the same GUID. */
static int index_guids(struct pm_fabric *fabric, struct pm_error *err)
{
	uint32_t *order = fabric->by_guid;

	sort_nodes(fabric, order, compare_guids);
	for (uint32_t i = 1; i < fabric->num_nodes; i++)
		if (fabric->nodes[order[i]].guid == fabric->nodes[order[i - 1]].guid)
			return pm_error_set(
				err, -EEXIST,
				"\"%s\" and \"%s\" both have GUID 0x%016" PRIx64,
				pm_fabric_name(fabric, order[i - 1]),
				pm_fabric_name(fabric, order[i]),
				fabric->nodes[order[i]].guid);
	return 0;
}

static void reorder(const struct pm_fabric *fabric, const uint32_t *order,
		    struct pm_node *nodes, struct pm_port *ports, uint32_t *moved)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *old = &fabric->nodes[order[i]];

		nodes[i] = *old;
		nodes[i].first_port = at;
		for (uint32_t p = 0; p <= old->num_ports; p++) {
			moved[old->first_port + p] = at;
			ports[at] = fabric->ports[old->first_port + p];
			ports[at++].node = i;
		}
	}
	for (uint32_t i = 0; i < at; i++)
		if (ports[i].peer != PM_NONE)
			ports[i].peer = moved[ports[i].peer];
}

static void mark_hosts(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (fabric->ports[i].node < fabric->num_switches && peer != PM_NONE &&
		    peer >= fabric->num_switches)
			fabric->ports[i].host = PM_COMPUTE;
	}
}

int pm_fabric_seal(struct pm_fabric *fabric, struct pm_error *err)
{
	uint32_t *order = pm_array(fabric->num_nodes, sizeof(*order));
	struct pm_node *nodes = pm_array(fabric->num_nodes, sizeof(*nodes));
	struct pm_port *ports = pm_array(fabric->num_ports, sizeof(*ports));
	uint32_t *moved = pm_array(fabric->num_ports, sizeof(*moved));
	int rc = 0;

	fabric->by_guid = pm_array(fabric->num_nodes, sizeof(*fabric->by_guid));
	if (!order || !nodes || !ports || !moved || !fabric->by_guid) {
		rc = pm_error_no_memory(err);
		goto out;
	}
	sort_nodes(fabric, order, compare_keys);
	reorder(fabric, order, nodes, ports, moved);
	free(fabric->nodes);
	free(fabric->ports);
	fabric->nodes = nodes;
	fabric->ports = ports;
	fabric->nodes_room = fabric->num_nodes;
	fabric->ports_room = fabric->num_ports;
	nodes = NULL;
	ports = NULL;
	rc = index_guids(fabric, err);
	if (!rc && label_nodes(fabric))
		rc = pm_error_no_memory(err);
	if (rc)
		goto out;
	fabric->sealed = true;
	mark_hosts(fabric);
out:
	free(order);
	free(nodes);
	free(ports);
	free(moved);
	return rc;
}

int pm_fabric_rename(struct pm_fabric *fabric, uint32_t node, uint64_t guid,
		     const char *name, struct pm_error *err)
{
	uint32_t offset, other = pm_fabric_find_guid(fabric, guid);

	if (other != PM_NONE && other != node)
		return pm_error_set(err, -EEXIST,
				    "\"%s\" has GUID 0x%016" PRIx64 " already",
				    pm_fabric_name(fabric, other), guid);
	if (fabric_add_text(fabric, name, &offset) ||
	    label_renamed(fabric, node, guid, offset))
		return pm_error_no_memory(err);
	fabric->nodes[node].name = offset;
	fabric->nodes[node].guid = guid;
	for (uint32_t p = 0;
	     fabric->nodes[node].type == PM_SWITCH && p <= fabric->nodes[node].num_ports;
	     p++)
		fabric->ports[fabric->nodes[node].first_port + p].guid = guid;
	return index_guids(fabric, err);
}

struct pm_fabric *pm_fabric_clone(const struct pm_fabric *fabric)
{
	struct pm_fabric *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *fabric;
	copy->nodes = pm_copy(fabric->nodes, fabric->num_nodes, sizeof(*copy->nodes));
	copy->ports = pm_copy(fabric->ports, fabric->num_ports, sizeof(*copy->ports));
	copy->names = pm_copy(fabric->names, fabric->names_used, 1);
	copy->by_guid =
		pm_copy(fabric->by_guid, fabric->num_nodes, sizeof(*copy->by_guid));
	copy->nodes_room = fabric->num_nodes;
	copy->ports_room = fabric->num_ports;
	copy->names_room = fabric->names_used;
	if (!copy->nodes || !copy->ports || !copy->names || !copy->by_guid) {
		pm_fabric_free(copy);
		return NULL;
	}
	return copy;
}

/* The number of switch ports, which come first. */
static uint32_t count_switch_ports(const struct pm_fabric *fabric)
{
	return fabric->num_switches == fabric->num_nodes
		       ? fabric->num_ports
		       : fabric->nodes[fabric->num_switches].first_port;
}

struct pm_fabric *pm_fabric_skeleton(const struct pm_fabric *fabric)
{
	struct pm_fabric *copy = pm_fabric_clone(fabric);
	uint32_t kept = 0;

	if (!copy)
		return NULL;
	copy->num_ports = count_switch_ports(fabric);
	copy->num_nodes = fabric->num_switches;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (copy->by_guid[i] < copy->num_nodes)
			copy->by_guid[kept++] = copy->by_guid[i];
	for (uint32_t i = 0; i < copy->num_ports; i++) {
		struct pm_port *port = &copy->ports[i];

		port->lid = 0;
		port->lmc = 0;
		port->link = 0;
		if (port->peer != PM_NONE && port->peer >= copy->num_ports)
			port->peer = PM_NONE;
	}
	return copy;
}

static int merge_switches(const struct pm_fabric *skeleton, const struct pm_fabric *now,
			  struct pm_fabric *merged, struct pm_error *err)
{
	uint32_t index;
	int rc;

	for (uint32_t i = 0; i < now->num_switches; i++) {
		uint32_t old = pm_fabric_find_guid(skeleton, now->nodes[i].guid);

		rc = pm_fabric_add_node(merged, PM_SWITCH, now->nodes[i].guid,
					now->nodes[i].num_ports, pm_fabric_name(now, i),
					&index, err);
		if (rc)
			return rc;
		merged->nodes[index].root = now->nodes[i].root;
		if (old != PM_NONE)
			merged->nodes[index].key = skeleton->nodes[old].key;
	}
	for (uint32_t i = 0; i < skeleton->num_switches; i++) {
		if (pm_fabric_find_guid(now, skeleton->nodes[i].guid) != PM_NONE)
			continue;
		rc = pm_fabric_add_node(merged, PM_SWITCH, skeleton->nodes[i].guid,
					skeleton->nodes[i].num_ports,
					pm_fabric_name(skeleton, i), &index, err);
		if (rc)
			return rc;
		merged->nodes[index].key = skeleton->nodes[i].key;
		merged->nodes[index].root = skeleton->nodes[i].root;
	}
	return pm_fabric_seal(merged, err);
}

uint32_t pm_fabric_same_port(const struct pm_fabric *from, uint32_t port,
			     const struct pm_fabric *to)
{
	const struct pm_port *p = &from->ports[port];
	uint64_t guid = from->nodes[p->node].guid;
	/* Fabrics made from each other have most nodes in the same order. */
	uint32_t node = p->node < to->num_nodes && to->nodes[p->node].guid == guid
				? p->node
				: pm_fabric_find_guid(to, guid);

	if (node == PM_NONE || p->num > to->nodes[node].num_ports)
		return PM_NONE;
	return to->nodes[node].first_port + p->num;
}

/*
 * Copies the links and host marks of `from` to ports that have neither yet. The present
 * fabric comes first, so that its links count.
 */
static void merge_links(const struct pm_fabric *from, struct pm_fabric *merged)
{
	uint32_t num = count_switch_ports(from);

	for (uint32_t i = 0; i < num; i++) {
		uint32_t peer = from->ports[i].peer, a, b;

		a = pm_fabric_same_port(from, i, merged);
		if (a == PM_NONE || merged->ports[a].peer != PM_NONE)
			continue;
		if (from->ports[i].host && !merged->ports[a].host) {
			merged->ports[a].host = from->ports[i].host;
			merged->ports[a].named = from->ports[i].named;
			continue;
		}
		if (from->ports[i].host || peer == PM_NONE || peer < i || peer >= num)
			continue;
		b = pm_fabric_same_port(from, peer, merged);
		if (b == PM_NONE || a == b || merged->ports[b].peer != PM_NONE ||
		    merged->ports[a].host || merged->ports[b].host)
			continue;
		merged->ports[a].peer = b;
		merged->ports[b].peer = a;
	}
}

int pm_fabric_merge(const struct pm_fabric *skeleton, const struct pm_fabric *now,
		    struct pm_fabric **merged, struct pm_error *err)
{
	struct pm_fabric *fabric = pm_fabric_new();
	int rc;

	if (!fabric)
		return pm_error_no_memory(err);
	rc = merge_switches(skeleton, now, fabric, err);
	if (rc) {
		pm_fabric_free(fabric);
		return rc;
	}
	merge_links(now, fabric);
	merge_links(skeleton, fabric);
	*merged = fabric;
	return 0;
}

bool pm_fabric_has_link(const struct pm_fabric *fabric, uint32_t node)
{
	pm_for_each_port(i, fabric, node)
		if (fabric->ports[i].peer != PM_NONE)
			return true;
	return false;
}

uint32_t pm_fabric_count_hosts(const struct pm_fabric *skeleton, uint32_t sw,
			       const uint8_t *usable)
{
	uint32_t hosts = 0;

	pm_for_each_port(i, skeleton, sw)
		hosts += !pm_host_is_service(skeleton->ports[i].host) &&
			 (usable ? usable[i] && skeleton->ports[i].peer == PM_NONE
				 : skeleton->ports[i].host != PM_NO_HOST);
	return hosts;
}

void pm_fabric_cut(struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	if (peer == PM_NONE)
		return;
	fabric->ports[port].peer = PM_NONE;
	fabric->ports[peer].peer = PM_NONE;
}
