/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Relieves up ports of leaves, where leaves have different links.
 *
 * The few ports that lead to some leaf get all destinations there. Destinations that
 * more ports lead to may use these few as well, as that is their plane:
 *
 *	leaf0: links to s0, s1, s2, s3		24 hosts each
 *	leaf1: links to s0, s1, s2, s3		at leaf0, s0 and s1 get half of
 *	leaf2: links to s0, s1			leaf2's 24 and a quarter of leaf1's
 *
 * So some of these destinations take other ports: those by which the path to the
 * destination has the least load.
 */
#include "route_parts.h"

/* A LID, and the most flows on a link of the path that it could take. */
struct movable {
	uint32_t most;
	uint16_t lid;
};

struct relief {
	struct pm_routes *routes;
	uint16_t *lids; /* of hosts */
	uint32_t num_lids;
	struct movable *movable; /* [num_lids] working memory */
	uint32_t *hosts;	 /* [switch] */
	uint32_t *flows; /* [port] out of it, from all hosts to all LIDs of others */

	/* Of the present leaf: */
	uint32_t leaf;
	uint8_t *row;
	struct up_ports up;
	uint32_t load[PM_MAX_PORTS + 1]; /* [port] LIDs */
	uint32_t limit;			 /* of a port's load */
};

/* Finds the LIDs of hosts; those of aggregation nodes and of empty slots do not count. */
static void find_hosts(struct relief *relief)
{
	const struct pm_routes *routes = relief->routes;
	const struct pm_plan *plan = routes->plan;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		relief->hosts[plan->topology->ports[i].node] +=
			plan->lid[i] && plan->topology->ports[i].host &&
			plan->topology->ports[i].host != PM_AGGREGATION;
	for (uint32_t lid = 0; lid <= plan->top_lid; lid++)
		if (routes->to[lid].sw != PM_NONE && routes->to[lid].counts &&
		    plan->topology->ports[plan->owner[lid]].host)
			relief->lids[relief->num_lids++] = (uint16_t)lid;
}

/*
 * Adds flows to the links by which the leaf sends to a LID if its own port for it is
 * `num`. Returns the most flows on a link behind this port.
 */
static uint32_t add_flows(const struct relief *relief, uint8_t num, uint32_t lid,
			  uint32_t flows)
{
	const struct pm_routes *routes = relief->routes;
	uint32_t sw = relief->leaf, to = routes->to[lid].sw, most = 0;

	while (sw != to && num != PM_LFT_KEEP) {
		uint32_t port = route_node(routes, sw)->first_port + num;

		relief->flows[port] += flows;
		if (sw != relief->leaf && relief->flows[port] > most)
			most = relief->flows[port];
		sw = route_remote_switch(routes, port);
		num = route_preferred(routes, sw)[lid];
	}
	return most;
}

static void turn_to(struct relief *relief, uint32_t leaf)
{
	relief->leaf = leaf;
	relief->row = relief->routes->preferred + (size_t)leaf * relief->routes->stride;
	relief->up = route_up(relief->routes, leaf);
}

/*
 * Counts the LIDs of each port, and sets the limit: an eighth more than an even share.
 * False: no port has over a quarter and one LID more, so all may stay.
 */
static bool is_overloaded(struct relief *relief)
{
	uint32_t ports = relief->up.count, total = 0, most = 0;

	memset(relief->load, 0, sizeof(relief->load));
	for (uint32_t i = 0; i < relief->num_lids; i++)
		if (relief->row[relief->lids[i]] <= PM_MAX_PORTS)
			relief->load[relief->row[relief->lids[i]]]++;
	for (uint32_t i = 0; i < ports; i++) {
		total += relief->load[relief->up.num[i]];
		if (relief->load[relief->up.num[i]] > most)
			most = relief->load[relief->up.num[i]];
	}
	if (!total || most * ports * 4 < total * 5 + ports * 4)
		return false;
	relief->limit = total * 9 / 8 / ports;
	if (relief->limit < (total + ports - 1) / ports)
		relief->limit = (total + ports - 1) / ports;
	return true;
}

/*
 * Finds the port with room by which the path to a LID has the least load, *most on its
 * fullest link behind the leaf. 0: there is none.
 */
static uint8_t find_relief_port(const struct relief *relief, uint32_t lid, uint32_t *most)
{
	struct ports list;
	uint8_t num = 0;

	*most = PM_NONE;
	route_list_leading(relief->routes, relief->leaf, relief->routes->to[lid].sw,
			   PM_UP, &list);
	for (uint32_t c = 0; c < list.count; c++) {
		uint32_t here;

		if (relief->load[list.num[c]] >= relief->limit)
			continue;
		here = add_flows(relief, list.num[c], lid, 0);
		if (here >= *most)
			continue;
		*most = here;
		num = list.num[c];
	}
	return num;
}

static int compare_movables(const void *a, const void *b)
{
	const struct movable *x = a, *y = b;

	if (x->most != y->most)
		return x->most < y->most ? -1 : 1;
	return y->lid - x->lid;
}

/* Gives a port's LIDs to ports with room, first those that load other links least. */
static void relieve_port(struct relief *relief, uint8_t from)
{
	uint32_t hosts = relief->hosts[relief->leaf], num = 0, most;

	for (uint32_t i = 0; i < relief->num_lids; i++) {
		uint16_t lid = relief->lids[i];

		if (relief->row[lid] == from && find_relief_port(relief, lid, &most))
			relief->movable[num++] = (struct movable){most, lid};
	}
	qsort(relief->movable, num, sizeof(*relief->movable), compare_movables);
	for (uint32_t i = 0; i < num && relief->load[from] > relief->limit; i++) {
		uint32_t lid = relief->movable[i].lid;
		uint8_t to = find_relief_port(relief, lid, &most);

		if (!to)
			continue;
		add_flows(relief, from, lid, -hosts);
		add_flows(relief, to, lid, hosts);
		relief->load[from]--;
		relief->load[to]++;
		relief->row[lid] = to;
	}
}

static void relieve_leaf(struct relief *relief)
{
	for (uint32_t i = 0; i < relief->up.count; i++)
		if (relief->load[relief->up.num[i]] > relief->limit)
			relieve_port(relief, relief->up.num[i]);
	relief->routes->irregular[relief->leaf] = 1;
}

static void count_flows(struct relief *relief)
{
	const struct pm_tree *tree = &relief->routes->plan->tree;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		turn_to(relief, tree->leaves[l]);
		for (uint32_t i = 0; i < relief->num_lids; i++)
			add_flows(relief, relief->row[relief->lids[i]], relief->lids[i],
				  relief->hosts[relief->leaf]);
	}
}

int route_relieve(struct pm_routes *routes, struct pm_error *err)
{
	const struct pm_tree *tree = &routes->plan->tree;
	struct pm_pool pool = {0};
	struct relief relief = {
		.routes = routes,
		.lids = pm_pool_array(&pool, routes->stride, sizeof(*relief.lids)),
		.movable = pm_pool_array(&pool, routes->stride, sizeof(*relief.movable)),
		.hosts = pm_pool_array(&pool, routes->plan->topology->num_nodes,
				       sizeof(*relief.hosts)),
		.flows = pm_pool_array(&pool, tree->num_ports, sizeof(*relief.flows)),
	};
	bool counted = false;
	int rc = pm_pool_check(&pool, err);

	if (!rc)
		find_hosts(&relief);
	for (uint32_t l = 0; !rc && l < tree->num_leaves; l++) {
		turn_to(&relief, tree->leaves[l]);
		if (!is_overloaded(&relief))
			continue;
		if (!counted)
			count_flows(&relief);
		counted = true;
		turn_to(&relief, tree->leaves[l]);
		relieve_leaf(&relief);
	}
	pm_pool_free(&pool);
	return rc;
}
