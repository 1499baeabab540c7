/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes tables, updates them for the usable links, and reads them; rules.c has the rules.
 */
#include "route_parts.h"

/* ---- Usable links ---- */

bool route_has_stand_in(const struct pm_routes *routes, uint32_t port)
{
	const struct pm_fabric *topology = routes->plan->topology;

	pm_for_each_port(i, topology, topology->ports[port].node)
		if (routes->usable[i] &&
		    route_remote_switch(routes, i) == route_remote_switch(routes, port))
			return true;
	return false;
}

static void find_linked(struct pm_routes *routes)
{
	const struct pm_fabric *topology = routes->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		routes->linked[i] =
			routes->usable[i] || (topology->ports[i].peer != PM_NONE &&
					      route_has_stand_in(routes, i));
}

void route_update(struct pm_routes *routes, const struct pm_detours *detours)
{
	find_linked(routes);
	pm_reach_compute_since(routes->plan->topology, &routes->plan->tree,
			       routes->usable, &routes->whole, &routes->now,
			       routes->failure.changed);
	routes->num_moved = 0;
	routes->hub = PM_NONE;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		route_update_switch(routes, sw);
	if (detours)
		route_add_detours(routes, detours);
}

void pm_routes_update(struct pm_routes *routes, const uint8_t *usable,
		      const struct pm_detours *detours)
{
	memcpy(routes->usable, usable, routes->plan->topology->num_ports);
	routes->whole_now = false;
	routes->failure.num_affected = 0;
	route_update(routes, detours);
}

/* ---- Making ---- */

static void allocate_index(struct pm_routes *routes)
{
	struct pm_pool *pool = &routes->pool;
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t words = pm_bits_words(routes->num_switches);

	routes->to = pm_pool_array(pool, routes->stride, sizeof(*routes->to));
	routes->first_lid =
		pm_pool_array(pool, routes->num_switches + 1u, sizeof(uint32_t));
	routes->lids_of = pm_pool_array(pool, routes->stride, sizeof(uint16_t));
	routes->first_interval =
		pm_pool_array(pool, tree->num_planes + 2u, sizeof(uint32_t));
	routes->intervals =
		pm_pool_array(pool, routes->stride, sizeof(*routes->intervals));
	routes->touched_words = pm_bits_words(routes->stride / PM_LFT_BLOCK);
	routes->plane_blocks = pm_pool_array(
		pool, (tree->num_planes + (size_t)1) * routes->touched_words,
		sizeof(uint64_t));
	routes->own =
		pm_pool_array(pool, (size_t)tree->num_leaves * (tree->num_planes + 1u),
			      sizeof(*routes->own));
	routes->moved_index = pm_pool_array(pool, tree->num_leaves, sizeof(uint32_t));
	routes->first_up =
		pm_pool_array(pool, routes->num_switches + 1u, sizeof(uint32_t));
	routes->up = pm_pool_array(pool, tree->num_ports, 1);
	routes->up_by_num = pm_pool_array(pool, tree->num_ports, 1);
	routes->leaf_set = pm_pool_array(pool, words, sizeof(uint64_t));
	routes->planeless = pm_pool_array(pool, words, sizeof(uint64_t));
	routes->is_lone = pm_pool_array(pool, routes->stride / PM_LFT_BLOCK, 1);
	routes->nothing = pm_pool_array(pool, words, sizeof(uint64_t));
	pm_reach_init(tree, pool, &routes->whole);
	routes->below = pm_pool_array(pool, routes->num_switches, sizeof(*routes->below));
}

static void allocate_hub_index(struct pm_routes *routes)
{
	struct pm_pool *pool = &routes->pool;
	struct hub_index *index = &routes->hub_index;
	size_t cells = (size_t)routes->num_switches * routes->now.words;

	index->from = pm_pool_array(pool, cells, sizeof(uint64_t));
	index->over = pm_pool_array(pool, cells, sizeof(uint64_t));
	index->via = pm_pool_array(pool, cells, sizeof(uint64_t));
	index->again = pm_pool_array(pool, routes->now.words, sizeof(uint64_t));
}

static void allocate_tables(struct pm_routes *routes)
{
	struct pm_pool *pool = &routes->pool;
	uint32_t num = routes->num_switches, ports = routes->plan->topology->num_ports;
	size_t cells = (size_t)num * routes->stride;

	routes->preferred = pm_pool_bytes(pool, cells);
	routes->irregular = pm_pool_array(pool, num, 1);
	routes->full = pm_pool_array(pool, num, 1);
	routes->usable = pm_pool_array(pool, ports, 1);
	routes->linked = pm_pool_array(pool, ports, 1);
	pm_reach_init(&routes->plan->tree, pool, &routes->now);
	pm_reach_failure_init(&routes->now, num, pool, &routes->failure);
	routes->table = pm_pool_bytes(pool, cells);
	routes->moved = pm_pool_array(pool, num, 1);
	routes->touched = pm_pool_array(pool, (size_t)num * routes->touched_words,
					sizeof(*routes->touched));
	routes->moved_list = pm_pool_array(pool, num, sizeof(uint32_t));
	routes->unfailed.row = pm_pool_array(pool, num, sizeof(uint32_t));
	allocate_hub_index(routes);
	routes->cut = pm_pool_array(pool, ports, sizeof(uint32_t));
	routes->everywhere = pm_pool_array(pool, routes->now.words, sizeof(uint64_t));
	routes->alike = pm_pool_array(pool, routes->now.words, sizeof(uint64_t));
	routes->withdrawn.places =
		pm_pool_array(pool, routes->now.words, sizeof(uint64_t));
	routes->withdrawn.blocks =
		pm_pool_array(pool, routes->touched_words, sizeof(uint64_t));
	routes->withdrawn.lids =
		pm_pool_array(pool, routes->stride / PM_LFT_BLOCK, sizeof(uint64_t));
	routes->named = pm_pool_array(pool, (size_t)ports * routes->touched_words,
				      sizeof(uint64_t));
	routes->indexed = pm_pool_array(pool, num, 1);
	routes->queue = pm_pool_array(pool, num, sizeof(uint32_t));
	routes->distance = pm_pool_array(pool, num, sizeof(uint32_t));
}

int pm_routes_make(const struct pm_plan *plan, struct pm_routes **result,
		   struct pm_error *err)
{
	struct pm_routes *routes = calloc(1, sizeof(*routes));
	int rc;

	if (!routes)
		return pm_error_no_memory(err);
	routes->plan = plan;
	routes->sm = PM_NONE;
	routes->num_switches = plan->topology->num_switches;
	routes->stride = pm_plan_blocks(plan) * PM_LFT_BLOCK;
	allocate_index(routes);
	allocate_tables(routes);
	rc = pm_pool_check(&routes->pool, err);
	if (!rc)
		rc = route_index(routes, err);
	if (rc)
		goto out;
	for (uint32_t i = 0; i < plan->tree.num_leaves; i++)
		pm_bits_set(routes->leaf_set, plan->tree.leaves[i]);
	/* While preferred ports are found, everything is usable. */
	memset(routes->usable, 1, plan->topology->num_ports);
	memset(routes->linked, 1, plan->topology->num_ports);
	pm_reach_compute(plan->topology, &plan->tree, NULL, &routes->whole);
	memcpy(routes->now.down, routes->whole.down,
	       (size_t)routes->whole.words * routes->num_switches * sizeof(uint64_t));
	memcpy(routes->now.updown, routes->whole.updown,
	       (size_t)routes->whole.words * routes->num_switches * sizeof(uint64_t));
	rc = route_index_beyond(routes, err);
	if (!rc)
		rc = route_fill_preferred(routes, err);
	/* The pages are needed in the first event, when time counts. */
	memset(routes->table, PM_LFT_KEEP, (size_t)routes->num_switches * routes->stride);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		route_touch_all(routes, sw);
out:
	if (rc) {
		pm_routes_free(routes);
		return rc;
	}
	*result = routes;
	return 0;
}

void pm_routes_free(struct pm_routes *routes)
{
	if (!routes)
		return;
	pm_pool_free(&routes->pool);
	free(routes->changes);
	free(routes->unfailed.rows);
	free(routes);
}

/* ---- Reading ---- */

const struct pm_plan *pm_routes_plan(const struct pm_routes *routes)
{
	return routes->plan;
}

const uint8_t *pm_routes_table(const struct pm_routes *routes, uint32_t sw)
{
	return route_table(routes, sw);
}

const uint8_t *pm_routes_preferred(const struct pm_routes *routes, uint32_t sw)
{
	return route_preferred(routes, sw);
}

uint32_t pm_routes_stride(const struct pm_routes *routes)
{
	return routes->stride;
}

const struct pm_reach *pm_routes_reach(const struct pm_routes *routes)
{
	return &routes->now;
}

bool pm_routes_may_turn(const struct pm_routes *routes)
{
	return routes->num_may_turn || routes->had_hub;
}

bool pm_routes_reach_switch(const struct pm_routes *routes, uint32_t from, uint32_t to)
{
	return pm_bits_test(pm_reach_updown(&routes->now, from), to);
}

int pm_routes_make_for(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t sm, bool connect_roots, struct pm_routes **routes,
		       struct pm_error *err)
{
	struct pm_detours detours = {.sm = PM_NONE, .switches = connect_roots};
	uint8_t *usable = pm_array(plan->topology->num_ports, 1);
	int rc = usable ? pm_routes_make(plan, routes, err) : pm_error_no_memory(err);

	if (!rc) {
		if (sm != PM_NONE)
			detours.sm = pm_plan_place(plan, now, sm);
		pm_plan_match(plan, now, usable);
		pm_routes_update(*routes, usable, &detours);
	}
	free(usable);
	return rc;
}

/* ---- Unreachable pairs ---- */

/* Usable end ports of a switch: all, and of these hosts and aggregation nodes. */
struct ends {
	uint32_t all, hosts, aggregation;
};

static void count_ends(const struct pm_routes *routes, struct ends *ends)
{
	const struct pm_fabric *topology = routes->plan->topology;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		ends[sw].hosts = pm_fabric_count_hosts(topology, sw, routes->usable);
		pm_for_each_port(i, topology, sw) {
			if (!routes->usable[i] || topology->ports[i].peer != PM_NONE)
				continue;
			ends[sw].all++;
			ends[sw].aggregation += topology->ports[i].host == PM_AGGREGATION;
		}
	}
}

/* Counts the end ports of a switch that another switch has no entry for. */
static struct ends count_unreachable(const struct pm_routes *routes, uint32_t from,
				     uint32_t to)
{
	const struct pm_port *ports = routes->plan->topology->ports;
	const uint8_t *table = route_table(routes, from);
	struct ends ends = {0};

	if (pm_routes_reach_switch(routes, from, to))
		return ends;
	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint16_t lid = routes->lids_of[i];
		uint32_t port = routes->plan->owner[lid];

		if (!routes->usable[port] || ports[port].peer != PM_NONE ||
		    lid != routes->plan->lid[port] || table[lid] != PM_LFT_KEEP)
			continue;
		ends.all++;
		ends.hosts += !pm_host_is_service(ports[port].host);
		ends.aggregation += ports[port].host == PM_AGGREGATION;
	}
	return ends;
}

/* Whether all usable hosts of a switch have a path from another switch. */
static bool leads_to_hosts(const struct pm_routes *routes, uint32_t from, uint32_t to)
{
	return !count_unreachable(routes, from, to).hosts;
}

/* Counts pairs of these end ports but those of two hosts or two aggregation nodes. */
static uint64_t count_pairs(const struct ends *from, const struct ends *to)
{
	return (uint64_t)from->all * to->all - (uint64_t)from->hosts * to->hosts -
	       (uint64_t)from->aggregation * to->aggregation;
}

/* The same without aggregation nodes. */
static uint64_t count_talking_pairs(const struct ends *from, const struct ends *to)
{
	return (uint64_t)(from->all - from->aggregation) * (to->all - to->aggregation) -
	       (uint64_t)from->hosts * to->hosts;
}

/* Sets of switches with usable end ports, by these. */
enum { WITH_ANY, WITH_HOSTS, BUT_HOSTS, BUT_AGGREGATION, NUM_SETS };

static void find_sets(const struct pm_routes *routes, const struct ends *ends,
		      uint64_t *sets)
{
	uint32_t words = routes->now.words;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		if (ends[sw].all)
			pm_bits_set(sets + (size_t)WITH_ANY * words, sw);
		if (ends[sw].hosts)
			pm_bits_set(sets + (size_t)WITH_HOSTS * words, sw);
		if (ends[sw].all > ends[sw].hosts)
			pm_bits_set(sets + (size_t)BUT_HOSTS * words, sw);
		if (ends[sw].all > ends[sw].aggregation)
			pm_bits_set(sets + (size_t)BUT_AGGREGATION * words, sw);
	}
}

/* The set of switches with an end port that one of this switch makes a counted pair with.
 */
static uint32_t set_for(const struct ends *from)
{
	if (from->all == from->aggregation)
		return BUT_AGGREGATION;
	return from->all == from->hosts ? BUT_HOSTS : WITH_ANY;
}

/* Counts the pairs of switches' end ports in each part, less those at one switch. */
static uint64_t count_connected_pairs(const struct pm_routes *routes,
				      const struct ends *ends, const uint32_t *part,
				      struct ends *sums)
{
	uint64_t pairs = 0;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		struct ends *sum = &sums[part[sw]];

		sum->all += ends[sw].all;
		sum->hosts += ends[sw].hosts;
		sum->aggregation += ends[sw].aggregation;
		pairs -= count_pairs(&ends[sw], &ends[sw]);
	}
	for (uint32_t i = 0; i < routes->num_switches; i++)
		pairs += count_pairs(&sums[i], &sums[i]);
	return pairs;
}

/* Adds the pairs of two switches' end ports that the tables do not connect. */
static void add_unreachable(const struct pm_routes *routes, const struct ends *ends,
			    uint32_t from, uint32_t to, struct pm_unreachable *found)
{
	struct ends without = count_unreachable(routes, from, to);
	uint64_t pairs = count_pairs(&ends[from], &without);

	if (pairs && (!found->service_count || to < found->service[1])) {
		found->service[0] = from;
		found->service[1] = to;
	}
	found->service_count += pairs;
	found->service_cut += count_talking_pairs(&ends[from], &without);
}

/* `sums` is working memory, all 0. */
static void count_services(const struct pm_routes *routes, const struct ends *ends,
			   const uint32_t *part, const uint64_t *sets, struct ends *sums,
			   struct pm_unreachable *found)
{
	uint32_t words = routes->now.words;

	found->service_pairs = count_connected_pairs(routes, ends, part, sums);
	for (uint32_t from = 0; from < routes->num_switches; from++) {
		const uint64_t *reached = pm_reach_updown(&routes->now, from);
		const uint64_t *set = sets + (size_t)set_for(&ends[from]) * words;

		for (uint32_t w = 0; ends[from].all && w < words; w++)
			for (uint64_t rest = set[w] & ~reached[w]; rest;
			     rest &= rest - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(rest);

				if (from != to && part[from] == part[to])
					add_unreachable(routes, ends, from, to, found);
			}
	}
}

/* Counts a pair of switches with hosts that has no up-then-down path. */
static void add_hosts(const struct pm_routes *routes, uint32_t a, uint32_t b,
		      struct pm_unreachable *found)
{
	if (leads_to_hosts(routes, a, b) && leads_to_hosts(routes, b, a)) {
		found->beyond++;
		return;
	}
	if (found->count < PM_UNREACHABLE_NAMED) {
		found->pair[found->count][0] = a;
		found->pair[found->count][1] = b;
	}
	found->count++;
}

/* Counts pairs of switches with hosts that lack a path, and lists the first ones. */
static void sum_hosts(const struct pm_routes *routes, const uint32_t *part,
		      const uint64_t *sets, struct pm_unreachable *found)
{
	const uint64_t *with = sets + (size_t)WITH_HOSTS * routes->now.words;

	for (uint32_t a = 0; a < routes->num_switches; a++) {
		const uint64_t *reached = pm_reach_updown(&routes->now, a);

		for (uint32_t w = a / 64; pm_bits_test(with, a) && w < routes->now.words;
		     w++)
			for (uint64_t rest = with[w] & ~reached[w]; rest;
			     rest &= rest - 1) {
				uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(rest);

				if (b > a && part[a] == part[b])
					add_hosts(routes, a, b, found);
			}
	}
}

static void add_sm_pair(struct pm_unreachable *unreachable, uint32_t from, uint32_t to)
{
	if (unreachable->sm_count++)
		return;
	unreachable->sm[0] = from;
	unreachable->sm[1] = to;
}

/* Counts the switches with end ports that lack a path to or from the subnet manager. */
static void count_sm(const struct pm_routes *routes, const struct ends *ends,
		     const uint32_t *part, struct pm_unreachable *unreachable)
{
	uint32_t sm, lid;

	if (routes->sm == PM_NONE || !routes->plan->lid[routes->sm])
		return;
	sm = routes->plan->topology->ports[routes->sm].node;
	lid = routes->plan->lid[routes->sm];
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		struct ends without;

		if (sw == sm || ends[sw].all == ends[sw].aggregation ||
		    part[sw] != part[sm])
			continue;
		if (!pm_routes_reach_switch(routes, sw, sm) &&
		    route_table(routes, sw)[lid] == PM_LFT_KEEP)
			add_sm_pair(unreachable, sw, sm);
		without = count_unreachable(routes, sm, sw);
		if (without.all > without.aggregation)
			add_sm_pair(unreachable, sm, sw);
	}
}

int pm_routes_unreachable(const struct pm_routes *routes,
			  struct pm_unreachable *unreachable, struct pm_error *err)
{
	uint32_t num = routes->num_switches;
	struct pm_pool pool = {0};
	struct ends *ends = pm_pool_array(&pool, num, sizeof(*ends));
	uint32_t *hosts = pm_pool_array(&pool, num, sizeof(*hosts));
	uint32_t *part = pm_pool_array(&pool, num, sizeof(*part));
	uint32_t *room = pm_pool_array(&pool, num, sizeof(*room));
	uint64_t *sets =
		pm_pool_array(&pool, (size_t)NUM_SETS * routes->now.words, sizeof(*sets));
	struct ends *sums = pm_pool_array(&pool, num, sizeof(*sums));
	struct pm_reachable reachable;
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	count_ends(routes, ends);
	/* one each, as pairs of switches are counted */
	for (uint32_t sw = 0; sw < num; sw++)
		hosts[sw] = ends[sw].hosts != 0;
	pm_reach_parts(routes->plan->topology, routes->usable, part, room);
	pm_reachable_count(&routes->now, num, hosts, part, room, &reachable);
	*unreachable = (struct pm_unreachable){
		.pairs = reachable.connected / 2,
		.hub = routes->hub,
	};
	find_sets(routes, ends, sets);
	if (reachable.pairs < reachable.connected)
		sum_hosts(routes, part, sets, unreachable);
	count_services(routes, ends, part, sets, sums, unreachable);
	count_sm(routes, ends, part, unreachable);
out:
	pm_pool_free(&pool);
	return rc;
}

/* Counts pairs of hosts that the tables join by other paths than up and then down. */
static uint64_t count_beyond(const struct pm_routes *routes, const uint8_t *discovered)
{
	const struct pm_fabric *topology = routes->plan->topology;
	uint64_t pairs = 0;

	for (uint32_t to = 0; to < routes->num_switches; to++) {
		uint32_t hosts = pm_fabric_count_hosts(topology, to, discovered);

		if (!hosts || !pm_fabric_count_hosts(topology, to, routes->usable))
			continue;
		for (uint32_t from = 0; from < routes->num_switches; from++)
			if (from != to && !pm_routes_reach_switch(routes, from, to) &&
			    leads_to_hosts(routes, from, to))
				pairs +=
					(uint64_t)hosts *
					pm_fabric_count_hosts(topology, from, discovered);
	}
	return pairs;
}

int pm_routes_reachable(const struct pm_routes *routes, const uint8_t *discovered,
			struct pm_reachable *reachable, struct pm_error *err)
{
	int rc = pm_reachable_find(routes->plan->topology, &routes->now, discovered,
				   reachable, err);

	if (!rc && reachable->pairs < reachable->connected)
		reachable->pairs += count_beyond(routes, discovered);
	return rc;
}
