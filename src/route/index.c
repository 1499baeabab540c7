/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Indexes over the LIDs of a plan, and the weights of keys. */
#include "route_parts.h"

static void index_destinations(struct pm_routes *routes)
{
	const struct pm_plan *plan = routes->plan;

	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		uint32_t place = lid <= plan->top_lid ? plan->owner[lid] : PM_NONE;
		struct destination *to = &routes->to[lid];

		to->sw = PM_NONE;
		to->plane = PM_NONE;
		if (place == PM_NONE)
			continue;
		to->sw = plan->topology->ports[place].node;
		to->port = plan->topology->ports[place].num;
		to->counts =
			to->port && plan->topology->ports[place].host != PM_AGGREGATION;
		to->rank = plan->rank[place];
		to->plane = pm_plan_plane(plan, place, lid - plan->lid[place]);
		if (to->plane != PM_NONE)
			continue;
		to->plane = plan->tree.num_planes;
		pm_bits_set(routes->planeless, to->sw);
	}
}

/*
 * Finds the blocks without other end ports than aggregation nodes, and gives their LIDs
 * one rank: so a switch above the leaves sends all of a block to few ports.
 */
static void find_lone(struct pm_routes *routes)
{
	for (uint32_t start = 0; start < routes->stride; start += PM_LFT_BLOCK) {
		bool any = false, other = false;

		for (uint32_t lid = start; lid < start + PM_LFT_BLOCK; lid++) {
			const struct destination *to = &routes->to[lid];

			if (to->sw == PM_NONE || !to->port)
				continue;
			any |= !to->counts;
			other |= to->counts;
		}
		routes->is_lone[start / PM_LFT_BLOCK] = any && !other;
		for (uint32_t lid = start; any && !other && lid < start + PM_LFT_BLOCK;
		     lid++)
			routes->to[lid].rank = start / PM_LFT_BLOCK;
	}
}

/* Finds out whether each leaf has every plane. */
static void find_uneven(struct pm_routes *routes)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint32_t planes = 0;

		pm_for_each_port(i, routes->plan->topology, tree->leaves[l])
			planes += tree->plane[i] != PM_NONE;
		routes->uneven |= planes != tree->num_planes;
	}
}

static int index_lids(struct pm_routes *routes, struct pm_error *err)
{
	uint32_t num = routes->num_switches;
	uint32_t *next = pm_array(num, sizeof(*next));

	if (!next)
		return pm_error_no_memory(err);
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (routes->to[lid].sw != PM_NONE)
			next[routes->to[lid].sw]++;
	for (uint32_t sw = 0; sw < num; sw++) {
		routes->first_lid[sw + 1] = routes->first_lid[sw] + next[sw];
		next[sw] = routes->first_lid[sw];
	}
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (routes->to[lid].sw != PM_NONE)
			routes->lids_of[next[routes->to[lid].sw]++] = (uint16_t)lid;
	free(next);
	return 0;
}

static bool starts_interval(const struct pm_routes *routes, uint32_t lid)
{
	return routes->to[lid].sw != PM_NONE &&
	       (lid == 0 || routes->to[lid - 1].plane != routes->to[lid].plane);
}

/* Indexes intervals by plane, and destinations. */
static int index_intervals(struct pm_routes *routes, struct pm_error *err)
{
	uint32_t groups = routes->plan->tree.num_planes + 1, index = 0;
	struct pm_pool pool = {0};
	uint32_t *next = pm_pool_array(&pool, groups, sizeof(*next));
	uint32_t *slots = pm_pool_array(&pool, groups, sizeof(*slots));
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		if (routes->to[lid].sw != PM_NONE)
			slots[routes->to[lid].plane] += routes->to[lid].counts;
		if (starts_interval(routes, lid))
			next[routes->to[lid].plane]++;
	}
	for (uint32_t p = 0; p < groups; p++) {
		routes->first_interval[p + 1] = routes->first_interval[p] + next[p];
		next[p] = routes->first_interval[p];
		index += slots[p];
		slots[p] = index - slots[p];
	}
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		struct destination *to = &routes->to[lid];

		if (to->sw == PM_NONE)
			continue;
		pm_bits_set(routes->plane_blocks +
				    (size_t)to->plane * routes->touched_words,
			    lid / PM_LFT_BLOCK);
		to->index = to->counts ? slots[to->plane] + to->rank : to->rank;
		if (starts_interval(routes, lid))
			routes->intervals[next[to->plane]++].start = (uint16_t)lid;
		routes->intervals[next[to->plane] - 1].length++;
	}
out:
	pm_pool_free(&pool);
	return rc;
}

static void index_planes(const struct pm_routes *routes, uint32_t leaf, struct own *own)
{
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t index = 0;

	pm_for_each_port(i, routes->plan->topology, leaf)
		if (tree->plane[i] != PM_NONE)
			own[tree->plane[i]].index = index++;
}

static void index_own(struct pm_routes *routes)
{
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t planes = tree->num_planes + 1;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		struct own *own = routes->own + (size_t)l * planes;
		uint32_t sw = tree->leaves[l];

		for (uint32_t p = 0; p < planes; p++)
			own[p].first = PM_NONE;
		for (uint32_t i = routes->first_lid[sw]; i < routes->first_lid[sw + 1];
		     i++) {
			const struct destination *to = &routes->to[routes->lids_of[i]];

			if (!to->counts)
				continue;
			own[to->plane].count++;
			if (to->rank < own[to->plane].first)
				own[to->plane].first = to->rank;
		}
		for (uint32_t p = 1; p < planes; p++)
			own[p].before = own[p - 1].before + own[p - 1].count;
		index_planes(routes, sw, own);
	}
}

/* Lists a switch's up ports in the order of route_up; returns their number. */
static uint32_t list_up(const struct pm_routes *routes, uint32_t sw, uint8_t *num)
{
	const struct pm_fabric *topology = routes->plan->topology;
	uint32_t above[PM_MAX_PORTS + 1], count = 0;

	pm_for_each_port(i, topology, sw) {
		uint32_t at = count, remote;

		if (routes->plan->tree.direction[i] != PM_UP)
			continue;
		remote = route_remote_switch(routes, i);
		for (; at > 0 && above[at - 1] > remote; at--) {
			above[at] = above[at - 1];
			num[at] = num[at - 1];
		}
		above[at] = remote;
		num[at] = topology->ports[i].num;
		count++;
	}
	return count;
}

static void index_up(struct pm_routes *routes)
{
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		uint32_t at = routes->first_up[sw];

		routes->first_up[sw + 1] = at + list_up(routes, sw, routes->up + at);
		pm_for_each_port(i, routes->plan->topology, sw)
			if (routes->plan->tree.direction[i] == PM_UP)
				routes->up_by_num[at++] =
					routes->plan->topology->ports[i].num;
	}
}

/* Goes from the leaves upward. */
static void index_below(struct pm_routes *routes)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		routes->below[sw] = (struct below){tree->leaf_index[sw], PM_NONE};
	for (uint32_t k = 0; k < routes->whole.num_by_level; k++) {
		uint32_t sw = routes->whole.by_level[k];
		struct below *least = &routes->below[sw];

		pm_for_each_port(i, routes->plan->topology, sw) {
			uint32_t remote;

			if (tree->direction[i] != PM_DOWN)
				continue;
			remote = route_remote_switch(routes, i);
			if (routes->below[remote].leaf >= least->leaf)
				continue;
			*least = routes->below[remote];
			if (pm_tree_is_leaf(tree, remote))
				least->plane =
					tree->plane[routes->plan->topology->ports[i]
							    .peer];
		}
	}
	/* Without a leaf below there are no flows: any leaf will do. */
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->below[sw].leaf == PM_NONE)
			routes->below[sw].leaf = 0;
	while (routes->other_pod < tree->num_leaves &&
	       tree->pod[tree->leaves[routes->other_pod]] == tree->pod[tree->leaves[0]])
		routes->other_pod++;
	if (routes->other_pod == tree->num_leaves)
		routes->other_pod = 0;
}

/* The largest number of up ports of a switch at a height above the leaves. */
static uint32_t widest(const struct pm_routes *routes, unsigned int height)
{
	uint32_t most = 1;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (pm_tree_height(&routes->plan->tree, sw) == height &&
		    route_up(routes, sw).count > most)
			most = route_up(routes, sw).count;
	return most;
}

/*
 * Orders destinations for the digits: by rank. Where leaves have different links, some
 * slots of parallel planes would meet on a link, as the switch above their leaves sends
 * all of them up: so these planes, and aggregation nodes, begin with different digits.
 */
static void find_orders(struct pm_routes *routes)
{
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t width = widest(routes, 1);

	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		struct destination *to = &routes->to[lid];
		uint32_t parallel = 1, link;

		to->order = to->rank;
		if (!routes->uneven || !to->port || to->sw == PM_NONE ||
		    to->plane == tree->num_planes || routes->is_lone[lid / PM_LFT_BLOCK])
			continue;
		link = tree->planes[to->plane].link;
		while (to->plane + parallel < tree->num_planes &&
		       tree->planes[to->plane + parallel].link == link + parallel)
			parallel++;
		parallel += link;
		to->order += (2 * link + !to->counts) * width / (2 * parallel);
	}
}

static int find_weights(struct pm_routes *routes, struct pm_error *err)
{
	unsigned int top = routes->plan->tree.top_level - routes->plan->tree.leaf_level;
	uint32_t width = 1;

	routes->weight[0] = routes->weight[1] = 1;
	for (unsigned int height = 1; height <= top; height++) {
		uint32_t most = widest(routes, height);

		/* Ranks are below 65536: beyond that all have the digit 0. */
		routes->weight[height + 1] = routes->weight[height] < 65536
						     ? routes->weight[height] * most
						     : 65536;
		if (most > width)
			width = most;
	}
	return route_assign_foreign(routes, width, err);
}

/* So many moved flows of a shift permutation may share a link above level 1. */
#define SHARING 2

/* The most slots in a row that share an up port, if each of them has a flow. */
static uint64_t count_sharing(const struct foreign *up)
{
	uint64_t each = up->flows[0] > up->unit ? up->flows[0] : up->unit;

	return each ? up->share * up->unit / each : 0;
}

/*
 * The number of leaves of a pod whose moved flows may take one plane in a shift
 * permutation, by the rules in rules.c.
 */
static uint32_t choose_group_size(const struct pm_routes *routes, uint32_t leaves)
{
	uint32_t planes = routes->plan->tree.num_planes;

	if (planes < 2 || count_sharing(&routes->foreign_up) <= SHARING ||
	    (leaves - 1) % (planes - 1) != 0)
		return leaves;
	return SHARING;
}

/*
 * Indexes a pod's leaves from `first` on, group by group. Groups of the second half and
 * of the first half alternate: then the distance from a group's old place to its new one
 * differs from group to group.
 */
static void index_pod(struct pm_routes *routes, uint32_t first, uint32_t end)
{
	uint32_t size = choose_group_size(routes, end - first), index = first;
	uint32_t groups = (end - first + size - 1) / size;

	for (uint32_t place = 0; place < groups; place++) {
		uint32_t group = place / 2 + (place % 2 ? 0 : groups / 2);
		uint32_t leaf = first + group * size;

		for (uint32_t i = 0; i < size && leaf < end; i++)
			routes->moved_index[leaf++] = index++;
	}
}

/* Indexes the leaves for moved entries to other pods. */
static void index_leaves(struct pm_routes *routes)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t first = 0, end = 0; first < tree->num_leaves; first = end) {
		uint32_t pod = tree->pod[tree->leaves[first]];

		while (end < tree->num_leaves && tree->pod[tree->leaves[end]] == pod)
			end++;
		index_pod(routes, first, end);
	}
}

int route_index(struct pm_routes *routes, struct pm_error *err)
{
	int rc;

	index_destinations(routes);
	find_lone(routes);
	find_uneven(routes);
	rc = index_lids(routes, err);
	if (!rc)
		rc = index_intervals(routes, err);
	if (rc)
		return rc;
	index_own(routes);
	index_up(routes);
	index_below(routes);
	find_orders(routes);
	rc = find_weights(routes, err);
	if (!rc)
		index_leaves(routes);
	return rc;
}
