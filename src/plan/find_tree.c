/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the tree of a new plan. The levels that a fabric's end ports suggest (levels.c)
 * are right for trees. Where they leave end ports without a path that links would give
 * them, further ways are tried in turn, until one joins all:
 *
 * 1. End ports beyond the cut become service ports: at switches that reach all, while
 *    others do not. Such switches are tops that were taken for leaves.
 * 2. Where levels count from roots, end ports above most leaves become service ports.
 *    Here and in 1 this includes ports of which the operator named the role. If there is
 *    no tree nevertheless, all is tried as if no role was named.
 * 3. The same, with the switches in the middle as roots: each nearer to the farthest, or
 *    on average to all, end ports than its neighbours.
 * 4. The tops of the tree found so far are roots, except those above switches that lack
 *    a path. These, and their tops, are then below the leaves that they have links to.
 *    This is repeated up to MAX_ROUNDS times.
 * 5. One switch is the root, the nearest to all end ports (classic up-and-down routing).
 *    That joins every connected fabric, but all traffic between distant switches meets
 *    at the root.
 *
 * Ways 4 and 5 are only for trees with holes: where the first levels join less than half
 * of the pairs (a ring, a torus), the fabric is refused. Ways 1 to 3 may show that it is
 * a tree nevertheless: with few end ports above the leaves, and without links within a
 * level.
 */
#include "plan_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/fabric/hub.h>
#include <portmajor/fabric/search.h>
#include <portmajor/plan/reachable.h>

#include <errno.h>

#define MAX_ROUNDS 16 /* of way 4 */

/*
 * The hub may join one of this many pairs of leaves: these paths share its links, and a
 * tree where it joins many has the wrong levels.
 */
#define FEW 100

/* What a tree joins. */
struct verdict {
	struct pm_reachable reachable; /* pairs of hosts */
	uint64_t
		cut; /* ordered pairs of switches with end ports that paths do not join */
	bool enough;
};

struct finder {
	struct pm_plan *plan;
	struct pm_pool pool;
	struct pm_reach reach;
	uint64_t *talking;
	uint8_t *roles, *best_roles; /* [port] as given, and those of the best tree */
	uint8_t *roots;		     /* [switch] */
	uint32_t *part, *room;
	uint32_t *lacking; /* [switch] */
	struct pm_search search;
	struct spread {
		uint32_t talking; /* number of those that it is connected to */
		uint32_t farthest;
		uint64_t squares;
	} * spread; /* [switch] distances to end ports; computed when needed */
};

static bool is_host(uint8_t host)
{
	return host == PM_COMPUTE || host == PM_IO;
}

/* ---- Judging a tree ---- */

/*
 * Makes service ports of hosts above the leaves, but of those that the operator named;
 * returns whether there were any.
 */
static bool mark_service_ports(struct pm_plan *plan)
{
	const struct pm_tree *tree = &plan->tree;
	bool any = false;

	/* Otherwise levels came from roots, and hosts may be at any level. */
	if (tree->levels_by != PM_BY_LEAVES && tree->levels_by != PM_BY_LARGE_LEAVES)
		return false;
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		struct pm_port *port = &plan->topology->ports[i];

		if (port->host != PM_COMPUTE || port->named ||
		    pm_tree_is_leaf(tree, port->node) ||
		    tree->level[port->node] == PM_NO_LEVEL)
			continue;
		port->host = PM_SERVICE;
		any = true;
	}
	return any;
}

/* Makes the tree of these roles and roots, and completes the roles. */
static int make_tree(struct pm_plan *plan, struct pm_error *err)
{
	int rc;

	pm_tree_free(&plan->tree);
	rc = pm_tree_make(plan->topology, &plan->tree, err);
	/* The tree must be that of the roles which the plan keeps. */
	while (!rc && mark_service_ports(plan)) {
		pm_tree_free(&plan->tree);
		rc = pm_tree_make(plan->topology, &plan->tree, err);
	}
	return rc;
}

static void find_talking(struct finder *f)
{
	memset(f->talking, 0, f->reach.words * sizeof(*f->talking));
	pm_hub_talking(f->plan->topology, f->talking);
}

static int judge_tree(struct finder *f, struct verdict *verdict, struct pm_error *err)
{
	const struct pm_fabric *topology = f->plan->topology;
	const struct pm_tree *tree = &f->plan->tree;
	const struct pm_hub_ends ends = {f->talking, f->talking};
	struct pm_hub_pairs pairs;
	uint64_t served, talking = 0;
	int rc;

	pm_reach_sort(tree, &f->reach);
	pm_reach_compute(topology, tree, NULL, &f->reach);
	rc = pm_reachable_find(topology, &f->reach, NULL, &verdict->reachable, err);
	if (rc)
		return rc;
	verdict->enough = pm_reachable_enough(&verdict->reachable);
	find_talking(f);
	pm_hub_count(tree, &f->reach, &ends, f->part, &pairs);
	verdict->cut = pairs.lacking;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		talking += pm_bits_test(f->talking, sw);
	if (pairs.leaves * FEW <= talking * (talking - 1)) {
		pm_hub_find(topology, tree, NULL, &f->reach, &ends, pairs.weight,
			    &served);
		verdict->cut -= served / PM_HUB_TALKING;
	}
	return 0;
}

static int try_tree(struct finder *f, struct verdict *verdict, struct pm_error *err)
{
	int rc = make_tree(f->plan, err);

	return rc ? rc : judge_tree(f, verdict, err);
}

/* ---- Service ports: ways 1 to 3 ---- */

static void put_roles(struct finder *f, const uint8_t *roles)
{
	for (uint32_t i = 0; i < f->plan->topology->num_ports; i++)
		f->plan->topology->ports[i].host = roles[i];
}

static void note_roles(const struct finder *f, uint8_t *roles)
{
	for (uint32_t i = 0; i < f->plan->topology->num_ports; i++)
		roles[i] = f->plan->topology->ports[i].host;
}

/* Makes service ports of the hosts at these switches, unless these are half of all. */
static bool set_aside(struct finder *f, const uint8_t *chosen)
{
	struct pm_fabric *topology = f->plan->topology;
	uint32_t all = 0, aside = 0;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		if (!is_host(topology->ports[i].host))
			continue;
		all++;
		aside += chosen[topology->ports[i].node];
	}
	if (!aside || aside * 2 >= all)
		return false;
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (is_host(topology->ports[i].host) && chosen[topology->ports[i].node])
			topology->ports[i].host = PM_SERVICE;
	return true;
}

/* Counts for each switch the others that it lacks a path to. */
static void count_lacking(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches;

	memset(f->lacking, 0, num * sizeof(*f->lacking));
	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = 0; pm_bits_test(f->talking, a) && b < num; b++)
			f->lacking[a] += a != b && pm_bits_test(f->talking, b) &&
					 f->part[a] == f->part[b] &&
					 !pm_bits_test(pm_reach_updown(&f->reach, a), b);
}

static bool choose_beyond_cut(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches;

	count_lacking(f);
	for (uint32_t sw = 0; sw < num; sw++)
		f->roots[sw] = pm_bits_test(f->talking, sw) && !f->lacking[sw];
	return set_aside(f, f->roots);
}

static bool choose_above_leaves(struct finder *f)
{
	const struct pm_tree *tree = &f->plan->tree;

	if (tree->levels_by == PM_BY_LEAVES || tree->levels_by == PM_BY_LARGE_LEAVES)
		return false;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		f->roots[sw] =
			tree->level[sw] != PM_NO_LEVEL && !pm_tree_is_leaf(tree, sw);
	return set_aside(f, f->roots);
}

/* Finds the distances of each switch to those with end ports. */
static void find_spread(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches;

	for (uint32_t sw = 0; sw < num; sw++) {
		f->spread[sw] = (struct spread){0};
		pm_search_begin(&f->search);
		pm_search_start(&f->search, sw);
		pm_search_run(&f->search, NULL, NULL);
		pm_search_distances(&f->search);
		for (uint32_t k = 0; k < f->search.count; k++) {
			uint32_t other = f->search.queue[k];
			uint64_t distance = f->search.by[other];

			if (!pm_bits_test(f->talking, other))
				continue;
			f->spread[sw].talking++;
			f->spread[sw].farthest = (uint32_t)distance;
			f->spread[sw].squares += distance * distance;
		}
	}
}

static bool is_nearer(const struct spread *a, const struct spread *b)
{
	return a->farthest != b->farthest ? a->farthest < b->farthest
					  : a->squares < b->squares;
}

/* Whether a switch is nearer to all end ports than each of its neighbours. */
static bool is_middle(const struct finder *f, uint32_t sw)
{
	pm_for_each_port(i, f->plan->topology, sw) {
		uint32_t remote = f->plan->tree.remote[i];

		if (remote != PM_NONE && remote != sw &&
		    !is_nearer(&f->spread[sw], &f->spread[remote]))
			return false;
	}
	return pm_fabric_has_link(f->plan->topology, sw);
}

/* Distances from these roots; PM_NONE: none. Returns the one with the most hosts. */
static uint32_t search_from_roots(struct finder *f)
{
	const struct pm_fabric *topology = f->plan->topology;
	uint32_t best = 0, most = 0;

	pm_search_begin(&f->search);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (f->roots[sw])
			pm_search_start(&f->search, sw);
	pm_search_run(&f->search, NULL, NULL);
	pm_search_distances(&f->search);
	memset(f->room, 0, topology->num_nodes * sizeof(*f->room));
	for (uint32_t k = 0; k < f->search.count; k++) {
		uint32_t sw = f->search.queue[k], distance = f->search.by[sw];

		f->room[distance] += pm_fabric_count_hosts(topology, sw, NULL);
		if (distance && f->room[distance] >= most) {
			most = f->room[distance];
			best = distance;
		}
	}
	return best;
}

static bool choose_by_middle(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches, leaves;

	find_spread(f);
	for (uint32_t sw = 0; sw < num; sw++)
		f->roots[sw] = is_middle(f, sw);
	leaves = search_from_roots(f);
	for (uint32_t sw = 0; sw < num; sw++)
		f->roots[sw] = f->search.by[sw] < leaves;
	return set_aside(f, f->roots);
}

/* Whether a tree that only these ways found is surely one. */
static bool is_sure(const struct finder *f, const struct verdict *first,
		    const struct verdict *verdict)
{
	return verdict->enough && (first->enough || !f->plan->tree.num_side);
}

/* 1: a way joins all. */
static int try_service_ports(struct finder *f, const struct verdict *first,
			     struct verdict *best, struct pm_error *err)
{
	static bool (*const ways[])(struct finder *) = {
		choose_beyond_cut, choose_above_leaves, choose_by_middle};
	struct verdict verdict;
	int rc = 0;

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(*ways) && !rc; i++) {
		/* Each way starts from the first tree. */
		put_roles(f, f->roles);
		rc = try_tree(f, &verdict, err);
		if (rc || !ways[i](f))
			continue;
		rc = try_tree(f, &verdict, err);
		if (rc || !is_sure(f, first, &verdict))
			continue;
		if (!verdict.cut)
			return 1;
		if (first->enough && verdict.cut < best->cut) {
			*best = verdict;
			note_roles(f, f->best_roles);
		}
	}
	return rc;
}

/* ---- Roots: ways 4 and 5 ---- */

static void put_roots(struct finder *f)
{
	for (uint32_t sw = 0; sw < f->plan->topology->num_switches; sw++)
		f->plan->topology->nodes[sw].root = f->roots[sw] ? PM_ROOT_GUESSED : 0;
}

static void clear_roots(struct pm_fabric *topology)
{
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (topology->nodes[sw].root == PM_ROOT_GUESSED)
			topology->nodes[sw].root = 0;
}

bool plan_is_root(const struct pm_plan *plan, uint32_t sw)
{
	bool any = false;

	pm_for_each_port(i, plan->topology, sw) {
		if (plan->tree.direction[i] == PM_UP)
			return false;
		any |= plan->tree.direction[i] == PM_DOWN;
	}
	return any;
}

/* Removes the roots above the switch that lacks most, but not the last one. */
static bool lower_roots(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches, worst = 0, left = 0, lowered = 0;

	count_lacking(f);
	for (uint32_t sw = 1; sw < num; sw++)
		if (f->lacking[sw] > f->lacking[worst])
			worst = sw;
	for (uint32_t sw = 0; sw < num; sw++) {
		bool above = pm_bits_test(pm_reach_down(&f->reach, sw), worst);

		lowered += f->roots[sw] && above;
		left += f->roots[sw] && !above && f->part[sw] == f->part[worst];
	}
	for (uint32_t sw = 0; left && sw < num; sw++)
		f->roots[sw] &= !pm_bits_test(pm_reach_down(&f->reach, sw), worst);
	return left && lowered;
}

/* 1: joins all. */
static int try_tops(struct finder *f, struct pm_error *err)
{
	struct verdict verdict;
	int rc;

	put_roles(f, f->best_roles);
	rc = try_tree(f, &verdict, err);
	for (uint32_t sw = 0; !rc && sw < f->plan->topology->num_switches; sw++)
		f->roots[sw] = plan_is_root(f->plan, sw);
	for (int round = 0; !rc && round < MAX_ROUNDS && lower_roots(f); round++) {
		put_roots(f);
		rc = try_tree(f, &verdict, err);
		if (!rc && !verdict.cut && verdict.enough)
			return 1;
	}
	clear_roots(f->plan->topology);
	return rc;
}

/* Each part's switch that is nearest to all end ports; none where there are none. */
static void choose_best_roots(struct finder *f)
{
	uint32_t num = f->plan->topology->num_switches, *best = f->room;

	memset(f->roots, 0, num);
	memset(best, 0xff, f->plan->topology->num_nodes * sizeof(*best));
	find_talking(f);
	find_spread(f);
	for (uint32_t sw = 0; sw < num; sw++) {
		uint32_t *of_part = &best[f->part[sw]];

		if (!f->spread[sw].talking)
			continue;
		if (*of_part == PM_NONE ||
		    is_nearer(&f->spread[sw], &f->spread[*of_part]))
			*of_part = sw;
	}
	for (uint32_t sw = 0; sw < num; sw++)
		f->roots[sw] = best[f->part[sw]] == sw &&
			       pm_fabric_has_link(f->plan->topology, sw);
}

/* 1: joins all. */
static int try_best_root(struct finder *f, struct pm_error *err)
{
	struct verdict verdict;
	int rc;

	put_roles(f, f->roles);
	choose_best_roots(f);
	put_roots(f);
	rc = try_tree(f, &verdict, NULL);
	if (!rc && !verdict.cut)
		return 1;
	clear_roots(f->plan->topology);
	/* A switch may be too far from the root. */
	return rc == -ENOMEM ? pm_error_no_memory(err) : 0;
}

/* ---- The tree ---- */

static int begin(struct finder *f, struct pm_error *err)
{
	const struct pm_fabric *topology = f->plan->topology;
	uint32_t num = topology->num_switches;

	f->talking = pm_pool_array(&f->pool, pm_bits_words(num), sizeof(*f->talking));
	f->roles = pm_pool_array(&f->pool, topology->num_ports, 1);
	f->best_roles = pm_pool_array(&f->pool, topology->num_ports, 1);
	f->roots = pm_pool_array(&f->pool, num, 1);
	f->part = pm_pool_array(&f->pool, topology->num_nodes, sizeof(*f->part));
	f->room = pm_pool_array(&f->pool, topology->num_nodes + 1u, sizeof(*f->room));
	f->lacking = pm_pool_array(&f->pool, num, sizeof(*f->lacking));
	f->spread = pm_pool_array(&f->pool, num, sizeof(*f->spread));
	f->search = (struct pm_search){
		.fabric = topology,
		.queue = pm_pool_array(&f->pool, topology->num_nodes, sizeof(uint32_t)),
		.by = pm_pool_array(&f->pool, topology->num_nodes, sizeof(uint32_t)),
	};
	return pm_pool_check(&f->pool, err);
}

/* Tries all ways; without success the first tree stays, if it is good enough. */
static int try_ways(struct finder *f, const struct verdict *first, struct pm_error *err)
{
	struct verdict best = *first, last;
	int rc;

	note_roles(f, f->best_roles);
	rc = try_service_ports(f, first, &best, err);
	if (!rc && first->enough)
		rc = try_tops(f, err);
	if (!rc && first->enough)
		rc = try_best_root(f, err);
	if (rc)
		return rc < 0 ? rc : 0;
	put_roles(f, first->enough ? f->best_roles : f->roles);
	rc = try_tree(f, &last, err);
	return rc || first->enough
		       ? rc
		       : pm_reachable_refuse(&last.reachable, f->plan->topology,
					     &f->plan->tree, err);
}

/* Finds a tree for the given roles; -ENOTSUP: there is none. */
static int find_tree(struct finder *f, struct pm_error *err)
{
	struct pm_plan *plan = f->plan;
	struct verdict first;
	int rc;

	clear_roots(plan->topology);
	put_roles(f, f->roles);
	rc = make_tree(plan, err);
	if (rc)
		return rc;
	pm_reach_init(&plan->tree, &f->pool, &f->reach);
	rc = pm_pool_check(&f->pool, err);
	if (!rc)
		rc = judge_tree(f, &first, err);
	if (rc)
		return rc;
	if (plan->tree.levels_by != PM_BY_NAMED_ROOTS)
		return first.cut || !first.enough ? try_ways(f, &first, err) : 0;
	return first.enough ? 0
			    : pm_reachable_refuse(&first.reachable, plan->topology,
						  &plan->tree, err);
}

/* Has end ports' places decide, whatever the operator named; false: none was named. */
static bool forget_named(struct pm_fabric *topology)
{
	bool any = false;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		any |= topology->ports[i].named;
		topology->ports[i].named = 0;
	}
	return any;
}

int plan_find_tree(struct pm_plan *plan, struct pm_error *err)
{
	struct finder f = {.plan = plan};
	int rc = begin(&f, err);

	if (!rc) {
		note_roles(&f, f.roles);
		pm_reach_parts(plan->topology, NULL, f.part, f.room);
		rc = find_tree(&f, err);
	}
	if (rc == -ENOTSUP && forget_named(plan->topology))
		rc = find_tree(&f, err);
	pm_pool_free(&f.pool);
	return rc;
}
