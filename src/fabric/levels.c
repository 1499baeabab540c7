/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Leaves first: every switch with end ports, except those that sit among
 * leaves with at most half as many end ports as these have on average. If such
 * a switch counted as a leaf, all its cables would join switches of one level
 * and lead nowhere. Where neighbours have equal shares (a ring, a torus) nobody
 * gives way, the cables between them stay side cables, and what follows finds
 * no tree.
 *
 * Levels count from the leaves upward. A switch above the first level all of
 * whose cables lead down into one and the same subtree joins nothing that is not
 * joined below: it is a leaf where no end port is attached yet, or something like
 * it, and goes two levels down.
 *
 * Roots that an operator names (roles.h) override all of this.
 */
#include "tree_parts.h"

#include <portmajor/alloc.h>
#include <portmajor/search.h>

#include <errno.h>

/* Union-find over switches. */
uint32_t tree_find_root(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x) {
		parent[x] = parent[parent[x]];
		x = parent[x];
	}
	return x;
}

/* The smaller root stays, so that a root is its set's first switch by GUID. */
static void join(uint32_t *parent, uint32_t x, uint32_t y)
{
	x = tree_find_root(parent, x);
	y = tree_find_root(parent, y);
	if (x < y)
		parent[y] = x;
	else
		parent[x] = y;
}

/* Joins switches whose cables run up or down with both ends in the levels given. */
void tree_join_levels(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      unsigned int low, unsigned int high, uint32_t *parent)
{
	for (uint32_t i = 0; i < tree->num_switches; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		uint32_t x = skeleton->ports[i].node, y;

		if (tree->direction[i] != PM_UP || tree->level[x] < low ||
		    tree->level[x] + 1u > high)
			continue;
		y = pm_fabric_peer_node(skeleton, i);
		join(parent, x, y);
	}
}

/*
 * How many cables lead from this switch to leaves, and how many end ports
 * those leaves have, counted per cable.
 */
static uint32_t count_leaf_cables(const struct pm_fabric *skeleton, const uint8_t *level,
				  const uint32_t *hosts, uint32_t node,
				  uint64_t *their_hosts)
{
	uint32_t cables = 0;

	*their_hosts = 0;
	pm_for_each_port(i, skeleton, node) {
		uint32_t peer = pm_fabric_peer_node(skeleton, i);

		if (peer == PM_NONE || peer == node || level[peer] != 0)
			continue;
		cables++;
		*their_hosts += hosts[peer];
	}
	return cables;
}

static int find_leaves(const struct pm_fabric *skeleton, struct pm_tree *tree,
		       struct pm_error *err)
{
	uint32_t num = tree->num_switches;
	struct pm_pool pool = {0};
	uint32_t *hosts = pm_pool_array(&pool, num, sizeof(*hosts));
	uint8_t *gives_way = pm_pool_array(&pool, num, 1);
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < num; i++) {
		hosts[i] = pm_fabric_count_hosts(skeleton, i, NULL);
		tree->level[i] = hosts[i] ? 0 : PM_NO_LEVEL;
		tree->num_leaves += hosts[i] != 0;
	}
	if (!tree->num_leaves) {
		rc = pm_error_set(err, -ENOENT, "no switch has an end port");
		goto out;
	}
	for (uint32_t i = 0; i < num; i++) {
		uint64_t their_hosts;
		uint32_t cables;

		if (!hosts[i])
			continue;
		cables = count_leaf_cables(skeleton, tree->level, hosts, i, &their_hosts);
		gives_way[i] =
			cables >= 2 && (uint64_t)hosts[i] * cables * 2 <= their_hosts;
	}
	for (uint32_t i = 0; i < num; i++)
		if (gives_way[i]) {
			tree->level[i] = PM_NO_LEVEL;
			tree->num_leaves--;
		}
out:
	pm_pool_free(&pool);
	return rc;
}

/* Candidates for the next level, see find_levels. */
struct frontier {
	uint32_t *list, count;
	uint8_t *is_in; /* [switch] */
};

/* Lists switches without a level that have a cable to one of this level. */
static void find_candidates(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			    unsigned int level, struct frontier *next)
{
	next->count = 0;
	memset(next->is_in, 0, tree->num_switches);
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		uint32_t x = skeleton->ports[i].node;
		uint32_t y = pm_fabric_peer_node(skeleton, i);

		if (y == PM_NONE || tree->level[x] != PM_NO_LEVEL ||
		    tree->level[y] != level || next->is_in[x])
			continue;
		next->is_in[x] = 1;
		next->list[next->count++] = x;
	}
}

/* Whether it has more cables to other candidates than to switches of this level. */
static bool belongs_higher(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			   const struct frontier *next, uint32_t sw, unsigned int level)
{
	uint32_t down = 0, beside = 0;

	pm_for_each_port(i, skeleton, sw) {
		uint32_t y = pm_fabric_peer_node(skeleton, i);

		down += y != PM_NONE && tree->level[y] == level;
		beside += y != PM_NONE && next->is_in[y];
	}
	return beside > down;
}

/*
 * Level by level. A switch next to this level goes to the following one, unless
 * most of its cables lead to switches that do too: then it stands above these,
 * and its cable to this level skips one.
 */
static int find_levels(const struct pm_fabric *skeleton, struct pm_tree *tree,
		       struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct frontier next = {
		.list = pm_pool_array(&pool, tree->num_switches, sizeof(uint32_t)),
		.is_in = pm_pool_array(&pool, tree->num_switches, 1),
	};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (unsigned int level = 0; level + 1 < PM_NO_LEVEL; level++) {
		uint32_t taken = 0;

		find_candidates(skeleton, tree, level, &next);
		if (!next.count)
			break;
		for (uint32_t i = 0; i < next.count; i++)
			if (!belongs_higher(skeleton, tree, &next, next.list[i], level))
				next.list[taken++] = next.list[i];
		if (!taken)
			taken = next.count;
		for (uint32_t i = 0; i < taken; i++)
			tree->level[next.list[i]] = (uint8_t)(level + 1);
		tree->top_level = (uint8_t)(level + 1);
	}
	/* Those put off whose neighbours ended up too low to come back to them. */
	for (unsigned int level = 0; level <= tree->top_level && level + 1 < PM_NO_LEVEL;
	     level++) {
		find_candidates(skeleton, tree, level, &next);
		for (uint32_t i = 0; i < next.count; i++)
			tree->level[next.list[i]] = (uint8_t)(level + 1);
		if (next.count && tree->top_level < level + 1)
			tree->top_level = (uint8_t)(level + 1);
	}
out:
	pm_pool_free(&pool);
	return rc;
}

static enum pm_direction direction_of(const struct pm_fabric *skeleton,
				      const struct pm_tree *tree, uint32_t port)
{
	uint32_t x = skeleton->ports[port].node;
	uint32_t y = pm_fabric_peer_node(skeleton, port);

	if (skeleton->ports[port].host)
		return PM_HOST;
	if (y == PM_NONE || tree->level[x] == PM_NO_LEVEL)
		return PM_DARK;
	if (tree->level[y] == tree->level[x] + 1)
		return PM_UP;
	return tree->level[y] + 1 == tree->level[x] ? PM_DOWN : PM_SIDE;
}

static void find_directions(const struct pm_fabric *skeleton, struct pm_tree *tree)
{
	tree->num_side = 0;
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		tree->direction[i] = (uint8_t)direction_of(skeleton, tree, i);
		if (tree->direction[i] == PM_SIDE && skeleton->ports[i].peer > i)
			tree->num_side++;
	}
}

/* Whether all cables down from this switch lead into one set of the union-find. */
static bool joins_nothing(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			  uint32_t *parent, uint32_t sw)
{
	uint32_t root = PM_NONE;

	pm_for_each_port(i, skeleton, sw) {
		uint32_t below;

		if (tree->direction[i] == PM_UP)
			return false;
		if (tree->direction[i] != PM_DOWN)
			continue;
		below = tree_find_root(parent, pm_fabric_peer_node(skeleton, i));
		if (root != PM_NONE && below != root)
			return false;
		root = below;
	}
	return root != PM_NONE;
}

static int lower_idle_switches(const struct pm_fabric *skeleton, struct pm_tree *tree,
			       struct pm_error *err)
{
	uint32_t *parent = pm_array(tree->num_switches, sizeof(*parent));
	unsigned int top = 0;

	if (!parent)
		return pm_error_no_memory(err);
	for (unsigned int level = tree->top_level; level >= 2; level--) {
		tree_join_levels(skeleton, tree, 0, level - 1, parent);
		for (uint32_t sw = 0; sw < tree->num_switches; sw++)
			if (tree->level[sw] == level &&
			    joins_nothing(skeleton, tree, parent, sw)) {
				tree->level[sw] = (uint8_t)(level - 2);
				tree->num_leaves += level == 2;
			}
		find_directions(skeleton, tree);
	}
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->level[sw] != PM_NO_LEVEL && tree->level[sw] > top)
			top = tree->level[sw];
	tree->top_level = (uint8_t)top;
	free(parent);
	return 0;
}

/* Levels are final now: counts leaves, finds the top and all directions. */
static void finish_levels(const struct pm_fabric *skeleton, struct pm_tree *tree)
{
	tree->num_leaves = 0;
	tree->top_level = 0;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		tree->num_leaves += tree->level[sw] == 0;
		if (tree->level[sw] != PM_NO_LEVEL && tree->level[sw] > tree->top_level)
			tree->top_level = tree->level[sw];
	}
	find_directions(skeleton, tree);
}

/*
 * Where roots are named, the levels of what cables join with them count from there
 * downward: the switches farthest from the nearest root are at level 0.
 */
static int count_from_roots(const struct pm_fabric *skeleton, struct pm_tree *tree,
			    struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct pm_search search = {
		.fabric = skeleton,
		.queue = pm_pool_array(&pool, skeleton->num_nodes, sizeof(uint32_t)),
		.by = pm_pool_array(&pool, skeleton->num_nodes, sizeof(uint32_t)),
	};
	uint32_t farthest;
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	pm_search_begin(&search);
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (skeleton->nodes[sw].root)
			pm_search_start(&search, sw);
	if (!search.count)
		goto out;
	pm_search_run(&search, NULL, NULL);
	pm_search_distances(&search);
	farthest = search.by[search.queue[search.count - 1]];
	if (farthest >= PM_NO_LEVEL) {
		rc = pm_error_set(err, -ENOTSUP,
				  "a switch is %u cables from the nearest root",
				  farthest);
		goto out;
	}
	for (uint32_t k = 0; k < search.count; k++)
		tree->level[search.queue[k]] =
			(uint8_t)(farthest - search.by[search.queue[k]]);
	finish_levels(skeleton, tree);
out:
	pm_pool_free(&pool);
	return rc;
}

int tree_find_levels(const struct pm_fabric *skeleton, struct pm_tree *tree,
		     struct pm_error *err)
{
	int rc = find_leaves(skeleton, tree, err);

	if (!rc)
		rc = find_levels(skeleton, tree, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < tree->num_ports; i++)
		tree->far[i] = pm_fabric_peer_node(skeleton, i);
	find_directions(skeleton, tree);
	rc = lower_idle_switches(skeleton, tree, err);
	return rc ? rc : count_from_roots(skeleton, tree, err);
}
