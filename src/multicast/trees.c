/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the tree of one group. Its sites are the switches with members. The root is the
 * lowest switch of the plane that reaches all sites going down. From each site a walk
 * goes up until it meets the tree. It takes uplinks only to switches that the root
 * reaches, so it comes to the root. Each switch has one uplink per root, so walks that
 * meet stay together, and there is no loop.
 *
 * With all links usable, a switch has its home uplink, which leads to the MLID's
 * preferred top switch. If this does not lead to the root now, another link does, if
 * possible in the same 16-port position: then the switch changes one block, not two.
 */
#include "tree_rules.h"

#define BROAD_PART 8 /* a broad group may lack one leaf in so many */

/* ---- Sites ---- */

static void add_site(struct pm_multicast *m, uint32_t sw)
{
	if (m->site_stamp[sw] != m->site_now) {
		m->site_stamp[sw] = m->site_now;
		m->site_members[sw] = 0;
		m->sites[m->num_sites++] = sw;
	}
	m->site_members[sw]++;
}

/* Finds the sites; returns the number of members, each counted once. */
static uint32_t find_sites(struct pm_multicast *m, const struct pm_group *group)
{
	uint32_t num = 0;

	m->site_now++;
	m->num_sites = 0;
	for (uint32_t i = 0; i < group->num; i++) {
		uint32_t port = group->members[i];

		if (m->member_stamp[port] == m->site_now)
			continue;
		m->member_stamp[port] = m->site_now;
		add_site(m, m->topology->ports[port].node);
		num++;
	}
	return num;
}

/*
 * Whether the group has members at all leaves except an eighth. Its tree has those
 * leaves, too: when the only member at a leaf leaves, one block changes, the leaf's own,
 * not three.
 */
static bool is_broad(const struct pm_multicast *m)
{
	uint32_t without = m->tree->num_leaves;

	for (uint32_t i = 0; i < m->num_sites; i++)
		without -= pm_tree_is_leaf(m->tree, m->sites[i]);
	return without <= m->tree->num_leaves / BROAD_PART;
}

static bool is_capable(const struct mlid_range *range, uint32_t sw)
{
	return pm_bits_test(range->capable, sw);
}

/*
 * The connected component with the most members, the first of equal ones; PM_NONE if no
 * site can take part.
 */
static uint32_t find_main_part(struct pm_multicast *m, const struct mlid_range *range)
{
	uint32_t most = PM_NONE, members = 0;

	for (uint32_t i = 0; i < m->num_sites; i++)
		m->part_members[range->part[m->sites[i]]] = 0;
	for (uint32_t i = 0; i < m->num_sites; i++) {
		uint32_t sw = m->sites[i], part = range->part[sw];

		if (is_capable(range, sw))
			m->part_members[part] += m->site_members[sw];
	}
	for (uint32_t i = 0; i < m->num_sites; i++) {
		uint32_t part = range->part[m->sites[i]], here = m->part_members[part];

		if (here > members || (here && here == members && part < most)) {
			most = part;
			members = here;
		}
	}
	return most;
}

/* Removes the sites that cannot take part; returns the number of their members. */
static uint32_t exclude_sites(struct pm_multicast *m, const struct mlid_range *range)
{
	uint32_t part = find_main_part(m, range), num = 0, excluded = 0;

	for (uint32_t i = 0; i < m->num_sites; i++) {
		uint32_t sw = m->sites[i];

		if (is_capable(range, sw) && range->part[sw] == part) {
			m->sites[num++] = sw;
		} else {
			excluded += m->site_members[sw];
			m->site_stamp[sw] = 0;
		}
	}
	m->num_sites = num;
	return excluded;
}

/* ---- Root ---- */

static bool reaches_all(const struct pm_multicast *m, const struct mlid_range *range,
			uint32_t sw)
{
	const uint64_t *down = pm_reach_down(&range->reach, sw);

	for (uint32_t i = 0; i < m->num_sites; i++)
		if (!pm_bits_test(down, m->sites[i]))
			return false;
	return true; /* a switch without room has no link, so it reaches no second site */
}

/* Whether, with all links usable, a switch is the preferred top or below it. */
static bool is_below_top(const struct pm_multicast *m, const struct subject *subject,
			 uint32_t sw)
{
	return subject->top != PM_NONE &&
	       pm_bits_test(pm_reach_down(&m->whole, subject->top), sw);
}

/* The switch of one level that reaches all sites, preferably below the preferred top. */
static uint32_t find_in_level(const struct pm_multicast *m, const struct subject *subject,
			      const uint32_t *switches, uint32_t num)
{
	uint32_t found = PM_NONE;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t sw = switches[(i + subject->key) % num];

		if (!reaches_all(m, subject->range, sw))
			continue;
		if (is_below_top(m, subject, sw))
			return sw;
		if (found == PM_NONE)
			found = sw;
	}
	return found;
}

/* The lowest switch that reaches all sites, of a list sorted by level; or PM_NONE. */
static uint32_t find_lowest(const struct pm_multicast *m, const struct subject *subject,
			    const uint32_t *switches, uint32_t num)
{
	uint32_t found = PM_NONE;

	for (uint32_t i = 0, end; i < num && found == PM_NONE; i = end) {
		for (end = i + 1; end < num && m->tree->level[switches[end]] ==
						       m->tree->level[switches[i]];)
			end++;
		found = find_in_level(m, subject, switches + i, end - i);
	}
	return found;
}

static void set_plane(const struct pm_multicast *m, struct subject *subject,
		      uint32_t plane)
{
	subject->plane = plane;
	subject->top = plane == PM_NONE ? PM_NONE : planes_top(m, plane, subject->key);
}

static void find_root(struct pm_multicast *m, struct subject *subject,
		      struct pm_group_tree *tree)
{
	for (uint32_t i = 0; i < m->num_planes; i++) {
		uint32_t plane = m->order[i], first = m->first_native[plane];

		set_plane(m, subject, plane);
		tree->root = find_lowest(m, subject, m->natives + first,
					 m->first_native[plane + 1] - first);
		if (tree->root == PM_NONE)
			continue;
		tree->plane = plane;
		tree->state = PM_GROUP_PLANE;
		return;
	}
	set_plane(m, subject, m->num_planes ? m->order[0] : PM_NONE);
	tree->root = find_lowest(m, subject, m->whole.by_level, m->whole.num_by_level);
	tree->state = tree->root == PM_NONE ? PM_GROUP_UNSERVED : PM_GROUP_ROOT;
}

/* ---- Uplinks ---- */

static uint32_t num_tops(const struct pm_multicast *m, uint32_t plane)
{
	return m->first_top[plane + 1] - m->first_top[plane];
}

/*
 * Picks the up port with index `key` modulo their count, among those that lead below
 * the preferred top, or among all if none does.
 */
static uint32_t pick_up(const struct pm_multicast *m, const struct subject *subject,
			uint32_t sw, uint32_t key)
{
	uint32_t first = m->first_up[sw], end = m->first_up[sw + 1], count = 0;

	for (uint32_t i = first; i < end; i++)
		count += is_below_top(m, subject, m->tree->remote[m->ups[i]]);
	if (!count)
		return first + key % (end - first);
	key %= count;
	for (uint32_t i = first; i < end; i++)
		if (is_below_top(m, subject, m->tree->remote[m->ups[i]]) && !key--)
			return i;
	return first; /* not reached */
}

/* The index in ups[] of a switch's uplink with all links usable. */
static uint32_t find_home(const struct pm_multicast *m, const struct subject *subject,
			  uint32_t sw)
{
	uint32_t key = subject->key;

	if (subject->plane == PM_NONE)
		return pick_up(m, subject, sw, key);
	if (m->tree->level[sw] == m->tree->leaf_level)
		for (uint32_t i = m->first_up[sw]; i < m->first_up[sw + 1]; i++)
			if (m->tree->plane[m->ups[i]] == subject->plane)
				return i;
	if (num_tops(m, subject->plane))
		key /= num_tops(m, subject->plane);
	return pick_up(m, subject, sw, key);
}

/* Whether an up port leads to the root now. */
static bool leads_up(const struct pm_multicast *m, const struct subject *subject,
		     uint32_t root, uint32_t port)
{
	uint32_t remote = m->tree->remote[port];

	return subject->range->usable[port] &&
	       pm_bits_test(pm_reach_down(&subject->range->reach, root), remote);
}

/* Rates a port as a substitute for another port of the switch; 0 is best. */
static unsigned int rate_port(const struct pm_multicast *m, uint32_t home, uint32_t port)
{
	const struct pm_port *ports = m->topology->ports;
	bool parallel = m->tree->remote[home] == m->tree->remote[port];
	bool same_block =
		ports[home].num / PM_MFT_POSITION == ports[port].num / PM_MFT_POSITION;

	return (parallel ? 0u : 2u) + (same_block ? 0u : 1u);
}

/* The port of a switch's uplink; the root reaches the switch. */
static uint32_t find_up(const struct pm_multicast *m, const struct subject *subject,
			uint32_t root, uint32_t sw)
{
	uint32_t first = m->first_up[sw], num = m->first_up[sw + 1] - first;
	uint32_t home = find_home(m, subject, sw), found = PM_NONE;
	unsigned int best = UINT32_MAX;

	if (leads_up(m, subject, root, m->ups[home]))
		return m->ups[home];
	for (uint32_t i = 0; i < num; i++) {
		uint32_t at = (home - first + 1 + subject->key + i) % num;
		uint32_t port = m->ups[first + at];
		unsigned int rating = rate_port(m, m->ups[home], port);

		if (rating < best && leads_up(m, subject, root, port)) {
			best = rating;
			found = port;
		}
	}
	return found;
}

/* ---- The tree ---- */

static bool enter(struct growing *growing, uint32_t sw)
{
	if (growing->stamp[sw] == growing->now)
		return false;
	growing->stamp[sw] = growing->now;
	growing->list[growing->num++] = sw;
	growing->up[sw] = PM_NONE;
	growing->children[sw] = 0;
	return true;
}

static void plant(struct growing *growing, uint32_t root)
{
	growing->now++;
	growing->num = 0;
	growing->root = root;
	enter(growing, root);
}

static void walk_up(struct pm_multicast *m, const struct subject *subject, uint32_t sw)
{
	struct growing *growing = &m->growing;

	while (enter(growing, sw)) {
		uint32_t port = find_up(m, subject, growing->root, sw);

		growing->up[sw] = port;
		sw = m->tree->remote[port];
	}
}

static void count_children(struct pm_multicast *m)
{
	struct growing *growing = &m->growing;

	for (uint32_t i = 0; i < growing->num; i++) {
		uint32_t sw = growing->list[i], port = growing->up[sw];

		if (port == PM_NONE)
			continue;
		growing->children[m->tree->remote[port]]++;
		growing->child[m->tree->remote[port]] = sw;
	}
}

/* Removes the root as long as it has no member and only one branch. */
static void trim_root(struct pm_multicast *m)
{
	struct growing *growing = &m->growing;

	count_children(m);
	while (growing->children[growing->root] == 1 &&
	       m->site_stamp[growing->root] != m->site_now) {
		uint32_t child = growing->child[growing->root];

		growing->stamp[growing->root] = 0;
		growing->up[child] = PM_NONE;
		growing->root = child;
	}
}

/* Adds the leaves without members that the root reaches. */
static void add_leaves(struct pm_multicast *m, const struct subject *subject)
{
	const uint64_t *down = pm_reach_down(&subject->range->reach, m->growing.root);

	for (uint32_t l = 0; l < m->tree->num_leaves; l++)
		if (pm_bits_test(down, m->tree->leaves[l]))
			walk_up(m, subject, m->tree->leaves[l]);
}

static void grow(struct pm_multicast *m, const struct subject *subject,
		 struct pm_group_tree *tree)
{
	plant(&m->growing, tree->root);
	for (uint32_t i = 0; i < m->num_sites; i++)
		walk_up(m, subject, m->sites[i]);
	if (subject->broad)
		add_leaves(m, subject);
	trim_root(m);
	tree->root = m->growing.root;
}

const struct mlid_range *trees_range(const struct pm_multicast *m, uint32_t index)
{
	const struct mlid_range *range = m->ranges;

	while (index >= range->end)
		range++;
	return range;
}

void trees_make(struct pm_multicast *m, const struct pm_group *group,
		struct pm_group_tree *tree)
{
	uint32_t index = group->mlid - (uint32_t)PM_MLID_FIRST, members;
	struct subject subject = {.range = trees_range(m, index), .index = index};
	bool large;

	*tree = (struct pm_group_tree){.root = PM_NONE, .plane = PM_NONE};
	members = find_sites(m, group);
	if (members < 2)
		return;
	large = m->num_sites > m->large;
	subject.broad = is_broad(m);
	tree->excluded = exclude_sites(m, subject.range);
	if (members - tree->excluded < 2)
		return;
	if (m->num_sites == 1) {
		tree->state = PM_GROUP_LOCAL;
		tree->root = m->sites[0];
		plant(&m->growing, tree->root);
		return;
	}
	subject.key = index + (m->num_wide ? index / m->num_wide : 0);
	planes_set_order(m, index, large);
	find_root(m, &subject, tree);
	if (tree->root != PM_NONE)
		grow(m, &subject, tree);
}
