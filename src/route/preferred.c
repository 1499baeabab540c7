/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables with every cable alive. The rules are in rules.c. */
#include "parts.h"

/* Entries of a leaf for the planes that it has up ports for. */
static void fill_leaf(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct pm_fabric *known = routes->plan->known;

	pm_for_each_port(port, known, sw) {
		uint32_t plane = tree->plane[port];

		if (plane == PM_NONE)
			continue;
		for (uint32_t i = routes->first_interval[plane];
		     i < routes->first_interval[plane + 1]; i++)
			memset(row + routes->intervals[i].start, known->ports[port].num,
			       routes->intervals[i].length);
	}
}

static void fill_native(const struct pm_routes *routes, uint32_t sw, struct up_ports up,
			uint8_t *row)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t p = 0; p < tree->num_planes; p++) {
		if (!pm_tree_is_native(tree, p, sw))
			continue;
		for (uint32_t i = routes->first_interval[p];
		     i < routes->first_interval[p + 1]; i++) {
			uint32_t lid = routes->intervals[i].start;
			uint32_t end = lid + routes->intervals[i].length;

			for (; lid < end; lid++)
				row[lid] = up.num[route_native_key(routes, sw, lid) %
						  up.count];
		}
	}
}

/* A switch between cables of one kind: those of places that are none stay. */
static void fill_upper(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	struct up_ports up = route_up(routes, sw);

	if (!up.count)
		return;
	route_fill_foreign(routes, sw, up, row);
	fill_native(routes, sw, up, row);
}

/*
 * The port that mirrors the way up of a native destination: its far end is the
 * port that the switch below would take to come here. 0: none of the list.
 */
static uint8_t mirror(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
		      const struct ports *down)
{
	const struct pm_fabric *known = routes->plan->known;
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t first = route_node(routes, sw)->first_port;

	for (uint32_t i = 0; i < down->count; i++) {
		uint32_t far = known->ports[first + down->num[i]].peer;
		uint32_t below = known->ports[far].node;
		struct up_ports up = route_up(routes, below);

		if (tree->level[below] == 0) {
			if (tree->plane[far] == routes->to[lid].plane)
				return down->num[i];
			continue;
		}
		if (!pm_tree_is_native(tree, routes->to[lid].plane, below))
			continue;
		if (up.num[route_native_key(routes, below, lid) % up.count] ==
		    known->ports[far].num)
			return down->num[i];
	}
	return 0;
}

static uint8_t preferred_down(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			      const struct ports *down, const uint8_t *native)
{
	uint32_t key;

	if (native[routes->to[lid].plane]) {
		uint8_t port = mirror(routes, sw, lid, down);

		if (port)
			return port;
	}
	key = route_foreign_down(routes, sw, lid);
	/* Cables come in pairs most often, and a division takes its time. */
	return down->num[down->count == 2 ? key % 2 : key % down->count];
}

/* For every place, the first port down to it and how many there are. */
struct way_down {
	uint8_t first, count;
};

/* Room for what is found of the switch at hand, and what holds for all. */
struct room {
	struct way_down *ways;	/* [switch] */
	uint8_t *native;	/* [plane + 1] runs through it; no plane does not */
	uint64_t *every_way;	/* [words] */
	struct interval *spare; /* LIDs that are nobody's */
	uint32_t num_spare;
};

static void find_native(const struct pm_routes *routes, uint32_t sw, uint8_t *native)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t p = 0; p < tree->num_planes; p++)
		native[p] = pm_tree_is_native(tree, p, sw);
}

static void find_ways_down(const struct pm_routes *routes, uint32_t sw,
			   struct way_down *ways)
{
	memset(ways, 0, routes->num_switches * sizeof(*ways));
	pm_for_each_port(i, routes->plan->known, sw) {
		const uint64_t *set;

		if (routes->plan->tree.direction[i] != PM_DOWN)
			continue;
		set = route_reach_over(routes, &routes->whole, i);
		for (uint32_t w = 0; w < routes->whole.words; w++)
			for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
				uint32_t t = w * 64 + (uint32_t)__builtin_ctzll(bits);

				if (!ways[t].count++)
					ways[t].first = routes->plan->known->ports[i].num;
			}
	}
}

static bool leads_all(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		      const struct ports *down)
{
	uint32_t first = route_node(routes, sw)->first_port;

	for (uint32_t i = 0; i < down->count; i++)
		if (!pm_bits_test(route_reach_over(routes, &routes->whole,
						   first + down->num[i]),
				  to))
			return false;
	return true;
}

static void fill_down(const struct pm_routes *routes, uint32_t sw,
		      const struct room *room, uint8_t *row)
{
	struct way_down *ways = room->ways;
	struct ports down;

	down.count = 0;
	find_ways_down(routes, sw, ways);
	find_native(routes, sw, room->native);
	for (uint32_t t = 0; t < routes->num_switches; t++) {
		uint32_t i = routes->first_lid[t], end = routes->first_lid[t + 1];

		if (!ways[t].count || t == sw)
			continue;
		if (ways[t].count == 1) {
			for (; i < end; i++)
				row[routes->lids_of[i]] = ways[t].first;
			continue;
		}
		/* Most often the ports are those to the place before. */
		if (down.count != ways[t].count || !leads_all(routes, sw, t, &down))
			route_list_leading(routes, sw, t, PM_DOWN, &down);
		for (; i < end; i++)
			row[routes->lids_of[i]] = preferred_down(
				routes, sw, routes->lids_of[i], &down, room->native);
	}
}

static void clear_unreachable(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	const uint64_t *reach = pm_reach_updown(&routes->whole, sw);

	for (uint32_t t = 0; t < routes->num_switches; t++) {
		if (~reach[t / 64] == 0) {
			t |= 63;
			continue;
		}
		if (pm_bits_test(reach, t))
			continue;
		for (uint32_t i = routes->first_lid[t]; i < routes->first_lid[t + 1]; i++)
			row[routes->lids_of[i]] = PM_LFT_KEEP;
	}
}

/* Up entries for one switch's places whose preferred port does not lead there. */
static bool fill_hole(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		      uint8_t *row)
{
	uint32_t first = route_node(routes, sw)->first_port;
	bool any = false;

	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (row[lid] != PM_LFT_KEEP &&
		    pm_bits_test(
			    route_reach_over(routes, &routes->whole, first + row[lid]),
			    to))
			continue;
		row[lid] = route_move_entry(routes, sw, lid, 0);
		any = true;
	}
	return any;
}

/*
 * Places above switch sw's level that do not lie behind every up port, because
 * they are switches of one component or because cables were missing from the
 * first: preferred ports were given without looking. And those that a leaf was given
 * none for, as they have no plane.
 */
static void fill_holes(struct pm_routes *routes, uint32_t sw, const uint64_t *every_way,
		       uint8_t *row)
{
	const uint64_t *reach = pm_reach_updown(&routes->whole, sw);
	const uint64_t *below = pm_reach_down(&routes->whole, sw);

	for (uint32_t w = 0; w < routes->whole.words; w++) {
		uint64_t doubtful = ~every_way[w] | routes->planeless[w];

		for (uint64_t holes = reach[w] & ~below[w] & doubtful; holes;
		     holes &= holes - 1)
			if (fill_hole(routes, sw,
				      w * 64 + (uint32_t)__builtin_ctzll(holes), row))
				routes->irregular[sw] = 1;
	}
}

/* The places that each of its up ports leads to. */
static void find_every_way(const struct pm_routes *routes, uint32_t sw,
			   uint64_t *every_way)
{
	struct up_ports up = route_up(routes, sw);
	uint32_t first = route_node(routes, sw)->first_port, words = routes->whole.words;

	memset(every_way, 0xff, words * sizeof(*every_way));
	for (uint32_t i = 0; i < up.count; i++) {
		const uint64_t *over =
			route_reach_over(routes, &routes->whole, first + up.num[i]);

		for (uint32_t w = 0; w < words; w++)
			every_way[w] &= over[w];
	}
}

static bool has_all_leaves(const struct pm_routes *routes, const uint64_t *set)
{
	for (uint32_t w = 0; w < routes->whole.words; w++)
		if (routes->leaf_set[w] & ~set[w])
			return false;
	return true;
}

static void fill_switch(struct pm_routes *routes, uint32_t sw, const struct room *room,
			uint8_t *row)
{
	memset(row, PM_LFT_KEEP, routes->stride);
	if (routes->plan->tree.level[sw] == PM_NO_LEVEL) {
		route_fill_own(routes, sw, row);
		return;
	}
	if (routes->plan->tree.level[sw] == 0)
		fill_leaf(routes, sw, row);
	else
		fill_upper(routes, sw, row);
	fill_down(routes, sw, room, row);
	find_every_way(routes, sw, room->every_way);
	routes->full[sw] = has_all_leaves(routes, room->every_way);
	fill_holes(routes, sw, room->every_way, row);
	clear_unreachable(routes, sw, row);
	route_fill_own(routes, sw, row);
	for (uint32_t i = 0; i < room->num_spare; i++)
		memset(row + room->spare[i].start, PM_LFT_KEEP, room->spare[i].length);
}

/* LIDs that are nobody's, as intervals; how many. */
static uint32_t find_spare(const struct pm_routes *routes, struct interval *spare)
{
	uint32_t num = 0;

	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		if (routes->to[lid].sw != PM_NONE)
			continue;
		if (lid == 0 || routes->to[lid - 1].sw != PM_NONE)
			spare[num++].start = (uint16_t)lid;
		spare[num - 1].length++;
	}
	return num;
}

int route_fill_preferred(struct pm_routes *routes, struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct room room = {
		.ways = pm_pool_array(&pool, routes->num_switches, sizeof(*room.ways)),
		.native = pm_pool_array(&pool, routes->plan->tree.num_planes + 1u, 1),
		.every_way = pm_pool_array(&pool, routes->whole.words, sizeof(uint64_t)),
		.spare = pm_pool_array(&pool, routes->stride, sizeof(*room.spare)),
	};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	room.num_spare = find_spare(routes, room.spare);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		fill_switch(routes, sw, &room,
			    routes->preferred + (size_t)sw * routes->stride);
	rc = route_deal(routes, err);
out:
	pm_pool_free(&pool);
	return rc;
}
