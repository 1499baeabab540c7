/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds levels. Where an operator names roots (roles.h), a switch is as far below the
 * highest level as it is from the nearest root. Otherwise levels are guessed. These
 * methods are tried in turn, until one connects all hosts that links connect:
 *
 * 1. Leaves first: every switch with hosts is a leaf, except small ones. A small one has
 *    two or more links to leaves, and at most half as many hosts as these leaves have on
 *    average, where a leaf counts once for each link. All small ones are dropped at once,
 *    and the rest is judged again, until none is small. As leaves, small ones would have
 *    side links to leaves, which no path uses. Where neighbours have equal shares (a
 *    ring, a torus), all of them stay leaves, the links between them are side links, and
 *    no tree is found. Levels count from the leaves upward. If all links of a
 *    switch above the first level go down to one subtree, it connects nothing that is not
 *    connected below. It is probably a leaf without hosts yet, and goes two levels down.
 * 2. Large leaves first: the same, but only large switches are leaves. For each host,
 *    count the hosts at its switch: a large switch has more than half of the mean. A core
 *    switch with one host has spines for neighbours, none of them a leaf, and only the
 *    whole fabric shows that it is no leaf.
 * 3. Roots first: a switch is a root if none of its neighbours is farther from its
 *    nearest host, as in a director with hosts at its line boards and at edge switches
 *    below these.
 * 4. The same with the distance from the nearest large leaf.
 * 5. The centre: where the graph of switches has no cycle (two switches with links
 *    between them, a chain, a star), any root will do; the graph's centre is taken.
 *
 * With roots, the level below the highest with the most hosts is the leaf level; switches
 * there or below are leaves.
 *
 * A new plan tries further ways where none of these joins all end ports; the roots that
 * it then chooses (PM_ROOT_GUESSED) count as if they were named.
 *
 * Hosts here are all end ports except service ports, or service ports if there are no
 * others. Methods 1 and 2 need not connect the hosts above their leaves if these are at
 * most a quarter of all.
 */
#include "tree_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/fabric/search.h>

#include <errno.h>

uint32_t tree_find_root(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x) {
		parent[x] = parent[parent[x]];
		x = parent[x];
	}
	return x;
}

/* The smaller root stays, so a set's root is its first switch by GUID. */
static void join_sets(uint32_t *parent, uint32_t x, uint32_t y)
{
	x = tree_find_root(parent, x);
	y = tree_find_root(parent, y);
	if (x < y)
		parent[y] = x;
	else
		parent[x] = y;
}

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
		join_sets(parent, x, y);
	}
}

/* Data that all guesses share. */
struct levels {
	const struct pm_fabric *skeleton;
	struct pm_tree *tree;	/* level, direction, remote: the present guess's */
	struct pm_pool pool;	/* of the arrays */
	uint32_t *hosts;	/* [switch] */
	uint32_t *parent;	/* [switch] room for a union-find */
	uint8_t *is_in, *other; /* [switch] room for two sets */
	uint32_t *list;		/* [switch] room */
	struct pm_search search;
};

/* ---- Leaves first ---- */

/* Counts a switch's links to leaves, and the hosts of these leaves, once per link. */
static uint32_t count_leaf_links(const struct levels *l, uint32_t sw,
				 uint64_t *their_hosts)
{
	uint32_t links = 0;

	*their_hosts = 0;
	pm_for_each_port(i, l->skeleton, sw) {
		uint32_t peer = l->tree->remote[i];

		if (peer == PM_NONE || peer == sw || l->tree->level[peer] != 0)
			continue;
		links++;
		*their_hosts += l->hosts[peer];
	}
	return links;
}

/* Drops leaves that are small among leaf neighbours; returns whether there were any. */
static bool drop_small_leaves(const struct levels *l)
{
	bool any = false;

	memset(l->is_in, 0, l->tree->num_switches);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		uint64_t their_hosts;
		uint32_t links;

		if (l->tree->level[sw] != 0)
			continue;
		links = count_leaf_links(l, sw, &their_hosts);
		l->is_in[sw] =
			links >= 2 && (uint64_t)l->hosts[sw] * links * 2 <= their_hosts;
		any |= l->is_in[sw];
	}
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		if (l->is_in[sw])
			l->tree->level[sw] = PM_NO_LEVEL;
	return any;
}

/*
 * Makes leaves of switches with so many hosts or more, and drops small ones, in rounds.
 */
static void find_leaves(const struct levels *l, uint64_t least)
{
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		l->tree->level[sw] =
			l->hosts[sw] && l->hosts[sw] >= least ? 0 : PM_NO_LEVEL;
	while (drop_small_leaves(l))
		;
}

/* Lists switches that have no level and a link to this level; returns their number. */
static uint32_t find_candidates(const struct levels *l, unsigned int level)
{
	uint32_t count = 0;

	memset(l->is_in, 0, l->tree->num_switches);
	for (uint32_t i = 0; i < l->tree->num_ports; i++) {
		uint32_t x = l->skeleton->ports[i].node, y = l->tree->remote[i];

		if (y == PM_NONE || l->tree->level[x] != PM_NO_LEVEL ||
		    l->tree->level[y] != level || l->is_in[x])
			continue;
		l->is_in[x] = 1;
		l->list[count++] = x;
	}
	return count;
}

/* Whether a switch has more links to other candidates than to switches of this level. */
static bool belongs_higher(const struct levels *l, uint32_t sw, unsigned int level)
{
	uint32_t down = 0, beside = 0;

	pm_for_each_port(i, l->skeleton, sw) {
		uint32_t y = l->tree->remote[i];

		down += y != PM_NONE && l->tree->level[y] == level;
		beside += y != PM_NONE && l->is_in[y];
	}
	return beside > down;
}

/*
 * Gives levels upward from the leaves. A switch next to a level is one above it, unless
 * most of its links lead to other switches next to that level. Then it is above these,
 * and its link to this level skips one.
 */
static void count_from_leaves(const struct levels *l)
{
	struct pm_tree *tree = l->tree;
	unsigned int top = 0;

	for (unsigned int level = 0; level + 1 < PM_NO_LEVEL; level++) {
		uint32_t count = find_candidates(l, level), taken = 0;

		if (!count)
			break;
		for (uint32_t i = 0; i < count; i++)
			if (!belongs_higher(l, l->list[i], level))
				l->list[taken++] = l->list[i];
		if (!taken)
			taken = count;
		for (uint32_t i = 0; i < taken; i++)
			tree->level[l->list[i]] = (uint8_t)(level + 1);
		top = level + 1;
	}
	/* Deferred switches get levels: the loop above had passed their neighbours'. */
	for (unsigned int level = 0; level <= top && level + 1 < PM_NO_LEVEL; level++) {
		uint32_t count = find_candidates(l, level);

		for (uint32_t i = 0; i < count; i++)
			tree->level[l->list[i]] = (uint8_t)(level + 1);
		if (count && top < level + 1)
			top = level + 1;
	}
}

static enum pm_direction direction_of(const struct pm_fabric *skeleton,
				      const struct pm_tree *tree, uint32_t port)
{
	uint32_t x = skeleton->ports[port].node, y = tree->remote[port];

	if (skeleton->ports[port].host)
		return PM_HOST;
	if (y == PM_NONE || tree->level[x] == PM_NO_LEVEL)
		return PM_DARK;
	if (tree->level[y] == tree->level[x] + 1)
		return PM_UP;
	return tree->level[y] + 1 == tree->level[x] ? PM_DOWN : PM_SIDE;
}

/* Finds the directions of ports, the number of side links and the highest level. */
static void find_directions(const struct pm_fabric *skeleton, struct pm_tree *tree)
{
	tree->num_side = tree->top_level = 0;
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		tree->direction[i] = (uint8_t)direction_of(skeleton, tree, i);
		if (tree->direction[i] == PM_SIDE && skeleton->ports[i].peer > i)
			tree->num_side++;
	}
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->level[sw] != PM_NO_LEVEL && tree->level[sw] > tree->top_level)
			tree->top_level = tree->level[sw];
}

/* Whether no link leads up, and the links down reach at most one set with leaves. */
static bool connects_nothing(const struct levels *l, uint32_t sw)
{
	uint32_t root = PM_NONE;
	bool any = false;

	pm_for_each_port(i, l->skeleton, sw) {
		uint32_t below;

		if (l->tree->direction[i] == PM_UP)
			return false;
		if (l->tree->direction[i] != PM_DOWN)
			continue;
		any = true;
		below = tree_find_root(l->parent, l->tree->remote[i]);
		if (root != PM_NONE && below != root && l->other[below])
			return false;
		if (l->other[below])
			root = below;
	}
	return any;
}

/* Joins the switches below a level; other[] marks the roots of sets that have a leaf. */
static void join_below(const struct levels *l, unsigned int level)
{
	tree_join_levels(l->skeleton, l->tree, 0, level - 1, l->parent);
	memset(l->other, 0, l->tree->num_switches);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		if (l->tree->level[sw] == 0)
			l->other[tree_find_root(l->parent, sw)] = 1;
}

/* Moves idle switches two levels down. Returns whether there were any. */
static bool lower_idle_switches(const struct levels *l)
{
	struct pm_tree *tree = l->tree;
	bool any = false;

	for (unsigned int level = tree->top_level; level >= 2; level--) {
		join_below(l, level);
		for (uint32_t sw = 0; sw < tree->num_switches; sw++)
			if (tree->level[sw] == level && connects_nothing(l, sw)) {
				tree->level[sw] = (uint8_t)(level - 2);
				any = true;
			}
		find_directions(l->skeleton, tree);
	}
	return any;
}

static void guess_from_leaves(const struct levels *l, uint64_t least)
{
	find_leaves(l, least);
	count_from_leaves(l);
	find_directions(l->skeleton, l->tree);
	/* Switches above a lowered one may now be idle, too. */
	while (lower_idle_switches(l))
		;
}

/* ---- Roots first ---- */

/*
 * Gives levels downward from the nearest of the roots in is_in. In each connected
 * component the switches farthest from their roots are at level 0. A component without a
 * root keeps its levels.
 */
static int count_from_roots(struct levels *l, struct pm_error *err)
{
	struct pm_search *search = &l->search;
	uint32_t *farthest = l->list; /* [first switch of a part] */

	pm_reach_parts(l->skeleton, NULL, l->parent, l->list);
	memset(farthest, 0, l->skeleton->num_nodes * sizeof(*farthest));
	pm_search_begin(search);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		if (l->is_in[sw])
			pm_search_start(search, sw);
	pm_search_run(search, NULL, NULL);
	pm_search_distances(search);
	for (uint32_t k = 0; k < search->count; k++) {
		uint32_t sw = search->queue[k];

		/* The queue is in order of distance: the last one is the farthest. */
		farthest[l->parent[sw]] = search->by[sw];
		if (search->by[sw] >= PM_NO_LEVEL)
			return pm_error_set(err, -ENOTSUP,
					    "a switch is %u cables from the nearest root",
					    search->by[sw]);
	}
	for (uint32_t k = 0; k < search->count; k++) {
		uint32_t sw = search->queue[k];

		l->tree->level[sw] = (uint8_t)(farthest[l->parent[sw]] - search->by[sw]);
	}
	find_directions(l->skeleton, l->tree);
	return 0;
}

static bool take_chosen_roots(const struct levels *l, enum pm_root kind)
{
	bool any = false;

	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		l->is_in[sw] = l->skeleton->nodes[sw].root == kind;
		any |= l->is_in[sw];
	}
	return any;
}

/* search.by[switch]: links from the nearest switch with at least so many hosts. */
static void search_from_hosts(struct levels *l, uint64_t least)
{
	pm_search_begin(&l->search);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		if (l->hosts[sw] && l->hosts[sw] >= least)
			pm_search_start(&l->search, sw);
	pm_search_run(&l->search, NULL, NULL);
	pm_search_distances(&l->search);
}

static bool has_farther_neighbour(const struct levels *l, uint32_t sw)
{
	pm_for_each_port(i, l->skeleton, sw) {
		uint32_t remote = l->tree->remote[i];

		if (remote != PM_NONE && l->search.by[remote] > l->search.by[sw])
			return true;
	}
	return false;
}

/* Takes switches that have no neighbour farther from the switches with so many hosts. */
static bool take_farthest(struct levels *l, uint64_t least)
{
	const uint32_t *distance = l->search.by;
	bool any = false;

	search_from_hosts(l, least);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		l->is_in[sw] = distance[sw] != PM_NONE && distance[sw] > 0 &&
			       !has_farther_neighbour(l, sw);
		any |= l->is_in[sw];
	}
	return any;
}

/* Counts a switch's neighbours in is_in; parallel links count once. */
static uint32_t count_neighbours(const struct levels *l, uint32_t sw, uint8_t *visited)
{
	uint32_t count = 0;

	pm_for_each_port(i, l->skeleton, sw) {
		uint32_t remote = l->tree->remote[i];

		if (remote == PM_NONE || remote == sw || !l->is_in[remote] ||
		    visited[remote])
			continue;
		visited[remote] = 1;
		count++;
	}
	pm_for_each_port(i, l->skeleton, sw)
		if (l->tree->remote[i] != PM_NONE)
			visited[l->tree->remote[i]] = 0;
	return count;
}

/*
 * Finds centres: removes the ends of the graph, round after round, until at most two
 * switches of each component are left, and then one of these. False if there is a cycle,
 * as its switches are never ends.
 */
static bool take_centres(struct levels *l)
{
	uint32_t num = l->tree->num_switches, ends, left = 0;

	memset(l->other, 0, num);
	search_from_hosts(l, 1);
	for (uint32_t sw = 0; sw < num; sw++)
		l->is_in[sw] = l->search.by[sw] != PM_NONE &&
			       pm_fabric_has_link(l->skeleton, sw);
	do {
		ends = 0;
		for (uint32_t sw = 0; sw < num; sw++)
			if (l->is_in[sw] && count_neighbours(l, sw, l->other) == 1)
				l->list[ends++] = sw;
		for (uint32_t i = 0; i < ends; i++)
			/* The second of two has no neighbour any more, and stays. */
			if (count_neighbours(l, l->list[i], l->other))
				l->is_in[l->list[i]] = 0;
	} while (ends);
	for (uint32_t sw = 0; sw < num; sw++) {
		if (l->is_in[sw] && count_neighbours(l, sw, l->other))
			return false;
		left += l->is_in[sw];
	}
	return left > 0;
}

/* ---- Choosing a guess ---- */

static void count_hosts(struct levels *l)
{
	uint32_t num = l->tree->num_switches, all = 0;

	for (uint32_t sw = 0; sw < num; sw++)
		all += l->hosts[sw] = pm_fabric_count_hosts(l->skeleton, sw, NULL);
	for (uint32_t i = 0; !all && i < l->tree->num_ports; i++)
		l->hosts[l->skeleton->ports[i].node] +=
			l->skeleton->ports[i].host != PM_NO_HOST;
}

/* The least hosts of a large leaf: more than half of a leaf's, as the mean over hosts. */
static uint64_t fair_share(const struct levels *l)
{
	uint64_t sum = 0, squares = 0;

	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		sum += l->hosts[sw];
		squares += (uint64_t)l->hosts[sw] * l->hosts[sw];
	}
	return sum ? squares / (2 * sum) + 1 : 1;
}

/*
 * Where roots came first, finds the level where planes begin: the one with the most
 * hosts, below the highest.
 */
static void find_leaf_level(const struct levels *l)
{
	uint64_t most = 0;

	l->tree->leaf_level = 0;
	for (unsigned int level = 0; level < l->tree->top_level; level++) {
		uint64_t hosts = 0;

		for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
			hosts += l->tree->level[sw] == level ? l->hosts[sw] : 0;
		if (hosts > most) {
			most = hosts;
			l->tree->leaf_level = (uint8_t)level;
		}
	}
}

static bool take_roots(struct levels *l, enum pm_levels_by by, uint64_t fair)
{
	if (by == PM_BY_NAMED_ROOTS)
		return take_chosen_roots(l, PM_ROOT_NAMED);
	if (by == PM_BY_GUESSED_ROOTS)
		return take_chosen_roots(l, PM_ROOT_GUESSED);
	if (by == PM_BY_CENTRE)
		return take_centres(l);
	return take_farthest(l, by == PM_BY_FARTHEST ? 1 : fair);
}

static int guess(struct levels *l, enum pm_levels_by by, struct pm_error *err)
{
	uint64_t fair = fair_share(l);
	int rc = 0;

	l->tree->levels_by = (uint8_t)by;
	l->tree->leaf_level = 0;
	/* Switches that no links connect to a root get levels, too. */
	guess_from_leaves(l, by == PM_BY_LARGE_LEAVES ? fair : 1);
	if (by == PM_BY_LEAVES || by == PM_BY_LARGE_LEAVES)
		return 0;
	if (take_roots(l, by, fair))
		rc = count_from_roots(l, err);
	find_leaf_level(l);
	return rc;
}

/* Counts hosts at those switches of a word that are not in the set. */
static uint64_t count_lacking(const struct levels *l, uint64_t set, uint32_t word)
{
	uint64_t count = 0;

	for (uint64_t lacking = ~set; lacking; lacking &= lacking - 1) {
		uint32_t sw = word * 64 + (uint32_t)__builtin_ctzll(lacking);

		if (sw < l->tree->num_switches)
			count += l->hosts[sw];
	}
	return count;
}

/* Counts the ordered pairs of hosts at different switches that the guess connects. */
static uint64_t count_connected(const struct levels *l, struct pm_reach *reach)
{
	uint64_t pairs = 0, all = 0;

	pm_reach_sort(l->tree, reach);
	pm_reach_compute(l->skeleton, l->tree, NULL, reach);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		all += l->hosts[sw];
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		const uint64_t *row = pm_reach_updown(reach, sw);
		uint64_t lacking = pm_bits_test(row, sw) ? l->hosts[sw] : 0;

		for (uint32_t w = 0; l->hosts[sw] && w < reach->words; w++)
			lacking += count_lacking(l, row[w], w);
		pairs += l->hosts[sw] * (all - lacking);
	}
	return pairs;
}

/* Counts the ordered pairs of hosts at different switches that links connect. */
static uint64_t count_joinable(struct levels *l)
{
	uint64_t pairs = 0;

	pm_reach_parts(l->skeleton, NULL, l->parent, l->list);
	memset(l->list, 0, l->tree->num_switches * sizeof(*l->list));
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		l->list[l->parent[sw]] += l->hosts[sw];
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		pairs += (uint64_t)l->hosts[sw] * (l->list[l->parent[sw]] - l->hosts[sw]);
	return pairs;
}

/*
 * Where levels came from leaves, hosts above the leaves become service ports, which need
 * not be connected with each other. Leaves them out, unless they are more than a quarter.
 */
static void set_aside(struct levels *l)
{
	uint64_t upper = 0, all = 0;

	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++) {
		all += l->hosts[sw];
		upper += l->tree->level[sw] ? l->hosts[sw] : 0;
	}
	if (upper * 4 > all)
		return;
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		if (l->tree->level[sw])
			l->hosts[sw] = 0;
}

/* Counts the ordered pairs of hosts that links connect and a guess does not. */
static uint64_t count_unreachable(struct levels *l, enum pm_levels_by by,
				  struct pm_reach *reach)
{
	uint64_t unreachable;

	/* A guess that fails connects no pair. */
	if (guess(l, by, NULL))
		return count_joinable(l);
	if (by == PM_BY_LEAVES || by == PM_BY_LARGE_LEAVES)
		set_aside(l);
	unreachable = count_joinable(l) - count_connected(l, reach);
	count_hosts(l);
	return unreachable;
}

/*
 * Takes the first guess that connects all pairs, or else the one with the fewest
 * unreachable pairs. A later guess counts only where it halves them, so that a hole in a
 * tree does not turn the tree upside down.
 */
static int choose_guess(struct levels *l, struct pm_error *err)
{
	uint64_t best_count = UINT64_MAX;
	enum pm_levels_by best = PM_BY_LEAVES;
	struct pm_reach reach;
	int rc;

	pm_reach_init(l->tree, &l->pool, &reach);
	rc = pm_pool_check(&l->pool, err);
	if (rc)
		return rc;
	for (enum pm_levels_by by = PM_BY_LEAVES; by <= PM_BY_CENTRE; by++) {
		uint64_t unreachable = count_unreachable(l, by, &reach);

		if (unreachable == 0)
			return 0;
		if (unreachable < best_count / 2) {
			best_count = unreachable;
			best = by;
		}
	}
	return guess(l, best, err);
}

static int settle_levels(struct levels *l, struct pm_error *err)
{
	uint32_t hosts = 0;

	count_hosts(l);
	for (uint32_t sw = 0; sw < l->tree->num_switches; sw++)
		hosts |= l->hosts[sw];
	if (!hosts)
		return pm_error_set(err, -ENOENT, "no switch has an end port");
	if (take_chosen_roots(l, PM_ROOT_NAMED))
		return guess(l, PM_BY_NAMED_ROOTS, err);
	if (take_chosen_roots(l, PM_ROOT_GUESSED))
		return guess(l, PM_BY_GUESSED_ROOTS, err);
	return choose_guess(l, err);
}

int tree_find_levels(const struct pm_fabric *skeleton, struct pm_tree *tree,
		     struct pm_error *err)
{
	uint32_t num = skeleton->num_nodes;
	struct levels l = {.skeleton = skeleton, .tree = tree};
	int rc;

	l.hosts = pm_pool_array(&l.pool, num, sizeof(*l.hosts));
	l.parent = pm_pool_array(&l.pool, num, sizeof(*l.parent));
	l.is_in = pm_pool_array(&l.pool, num, 1);
	l.other = pm_pool_array(&l.pool, num, 1);
	l.list = pm_pool_array(&l.pool, num, sizeof(*l.list));
	l.search = (struct pm_search){
		.fabric = skeleton,
		.queue = pm_pool_array(&l.pool, num, sizeof(uint32_t)),
		.by = pm_pool_array(&l.pool, num, sizeof(uint32_t)),
	};
	rc = pm_pool_check(&l.pool, err);
	for (uint32_t i = 0; !rc && i < tree->num_ports; i++)
		tree->remote[i] = pm_fabric_peer_node(skeleton, i);
	if (!rc)
		rc = settle_levels(&l, err);
	for (uint32_t sw = 0; !rc && sw < tree->num_switches; sw++)
		tree->num_leaves += pm_tree_is_leaf(tree, sw);
	pm_pool_free(&l.pool);
	return rc;
}
