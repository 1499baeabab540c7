/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries whose preferred port does not lead there any more. The rules are in rules.c. */
#include "parts.h"

static bool leads_now(const struct pm_routes *routes, uint32_t port, uint32_t to)
{
	return routes->alive[port] &&
	       pm_bits_test(route_reach_over(routes, &routes->now, port), to);
}

/* The destination's number among all slots of other leaves, plus the leaf's. */
static uint32_t leaf_key(const struct pm_routes *routes, uint32_t leaf, uint32_t lid)
{
	const struct destination *to = &routes->to[lid];
	uint32_t key = to->number + routes->plan->tree.leaf_rank[leaf];
	const struct own *own;

	if (!to->port)
		return key;
	own = &routes->own[(size_t)routes->plan->tree.leaf_rank[leaf] *
				   (routes->plan->tree.num_planes + 1u) +
			   to->plane];
	return key - own->before - (to->rank > own->first ? own->count : 0);
}

static uint32_t key_of(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	const struct pm_tree *tree = &routes->plan->tree;
	bool down = pm_bits_test(pm_reach_down(&routes->now, sw), routes->to[lid].sw);

	if (tree->level[sw] == 0)
		return leaf_key(routes, sw, lid);
	if (pm_tree_is_native(tree, routes->to[lid].plane, sw))
		return route_native_key(routes, sw, lid) + tree->position[sw];
	return down ? route_foreign_down(routes, sw, lid)
		    : route_foreign_up(routes, sw, lid);
}

static void strike(struct ports *list, uint32_t at)
{
	list->count--;
	memmove(list->num + at, list->num + at + 1, list->count - at);
}

static uint32_t find_in(const struct ports *list, uint8_t num)
{
	const uint8_t *found = memchr(list->num, num, list->count);

	return found ? (uint32_t)(found - list->num) : list->count;
}

/* The first of the list, in the order of the key, that leads there now; 0: none. */
static uint8_t choose(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
		      struct ports *list)
{
	uint32_t first = route_node(routes, sw)->first_port;
	uint32_t key = key_of(routes, sw, lid);

	while (list->count) {
		uint32_t at = key % list->count;

		if (leads_now(routes, first + list->num[at], routes->to[lid].sw))
			return list->num[at];
		key /= list->count;
		strike(list, at);
	}
	return 0;
}

/* Finds another port for an entry instead of the one given; 0 stands for none. */
uint8_t route_move_entry(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			 uint8_t instead_of)
{
	uint32_t to = routes->to[lid].sw, at;
	struct ports list;
	uint8_t port;

	if (!pm_bits_test(pm_reach_updown(&routes->now, sw), to))
		return PM_LFT_KEEP;
	route_list_leading(routes, sw, to,
			   pm_bits_test(pm_reach_down(&routes->now, sw), to) ? PM_DOWN
									     : PM_UP,
			   &list);
	at = find_in(&list, instead_of);
	if (at < list.count)
		strike(&list, at);
	port = choose(routes, sw, lid, &list);
	return port ? port : PM_LFT_KEEP;
}

/* Moves the entries for one switch's places that use this port; were there any? */
static bool move_place(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		       uint8_t port, const uint8_t *row)
{
	bool any = false;

	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (row[lid] != port)
			continue;
		route_put(routes, sw, lid, route_move_entry(routes, sw, lid, port));
		any = true;
	}
	return any;
}

/* Up ports of a leaf to linked neighbours, each with what it leads to now. */
struct survivors {
	uint8_t num[PM_MAX_PORTS + 1];
	const uint64_t *reach[PM_MAX_PORTS + 1];
	uint32_t count;
};

static void list_survivors(const struct pm_routes *routes, uint32_t sw, uint8_t except,
			   struct survivors *list)
{
	list->count = 0;
	pm_for_each_port(i, routes->plan->known, sw) {
		uint8_t num = routes->plan->known->ports[i].num;

		if (routes->plan->tree.direction[i] != PM_UP || !routes->linked[i] ||
		    num == except)
			continue;
		list->num[list->count] = num;
		list->reach[list->count++] =
			routes->alive[i] ? route_reach_over(routes, &routes->now, i)
					 : routes->nothing;
	}
}

/*
 * A leaf lost the up port of a plane: its entries for that plane. This is where
 * the time goes when many leaves lose a plane. Where every up port leads to every
 * leaf in the whole tree, the candidates are the same for all destinations on
 * leaves, and the first choice is right nearly always; the rest is left to
 * move_entry, which would find the same.
 */
static void move_plane(const struct pm_routes *routes, uint32_t sw, uint32_t plane,
		       uint8_t port, const uint8_t *row)
{
	struct survivors up;
	bool same;

	list_survivors(routes, sw, port, &up);
	same = routes->full[sw] && up.count;
	for (uint32_t i = routes->first_interval[plane];
	     i < routes->first_interval[plane + 1]; i++) {
		uint32_t lid = routes->intervals[i].start;
		uint32_t end = lid + routes->intervals[i].length;

		for (; lid < end; lid++) {
			uint32_t to = routes->to[lid].sw, at;

			if (row[lid] != port)
				continue;
			at = same ? leaf_key(routes, sw, lid) % up.count : 0;
			if (same && pm_bits_test(routes->leaf_set, to) &&
			    pm_bits_test(up.reach[at], to))
				route_put(routes, sw, lid, up.num[at]);
			else
				route_put(routes, sw, lid,
					  route_move_entry(routes, sw, lid, port));
		}
	}
}

/* Moves what used this port for places that it does not lead to any more. */
static void move_from_port(const struct pm_routes *routes, uint32_t sw, uint32_t port,
			   const uint8_t *row)
{
	const uint64_t *before = route_reach_over(routes, &routes->whole, port);
	const uint64_t *after = route_reach_over(routes, &routes->now, port);
	uint8_t num = routes->plan->known->ports[port].num;
	uint32_t plane = routes->plan->tree.plane[port];

	if (!routes->alive[port] && plane != PM_NONE && !routes->irregular[sw]) {
		move_plane(routes, sw, plane, num, row);
		return;
	}
	if (!routes->alive[port]) {
		for (uint32_t lid = 0; lid < routes->stride; lid++)
			if (row[lid] == num && routes->to[lid].sw != sw)
				route_put(routes, sw, lid,
					  route_move_entry(routes, sw, lid, num));
		return;
	}
	for (uint32_t w = 0; w < routes->whole.words; w++) {
		uint64_t lost = before[w] & ~after[w];

		for (; lost; lost &= lost - 1)
			move_place(routes, sw, w * 64 + (uint32_t)__builtin_ctzll(lost),
				   num, row);
	}
}

static bool port_lost_places(const struct pm_routes *routes, uint32_t port)
{
	uint8_t direction = routes->plan->tree.direction[port];

	if (direction != PM_UP && direction != PM_DOWN)
		return false;
	return !routes->alive[port] || route_reach_changed(routes, port);
}

void route_fill_own(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	for (uint32_t i = routes->first_lid[sw]; i < routes->first_lid[sw + 1]; i++)
		row[routes->lids_of[i]] = routes->to[routes->lids_of[i]].port;
}

/* Whether all cables to other switches are lost. */
static bool is_alone(const struct pm_routes *routes, uint32_t sw)
{
	pm_for_each_port(i, routes->plan->known, sw)
		if (routes->alive[i] && routes->plan->known->ports[i].peer != PM_NONE)
			return false;
	return true;
}

void route_touch_all(struct pm_routes *routes, uint32_t sw)
{
	memset(route_touched(routes, sw), 0xff,
	       routes->touched_words * sizeof(*routes->touched));
}

void route_start_moving(struct pm_routes *routes, uint32_t sw)
{
	size_t row = (size_t)sw * routes->stride;
	uint64_t *touched = route_touched(routes, sw);

	for (uint32_t block = 0; block < routes->stride / PM_LFT_BLOCK; block++) {
		size_t at = row + (size_t)block * PM_LFT_BLOCK;

		if (pm_bits_test(touched, block))
			memcpy(routes->table + at, routes->preferred + at, PM_LFT_BLOCK);
	}
	memset(touched, 0, routes->touched_words * sizeof(*touched));
	routes->moved[sw] = 1;
}

void route_update_switch(struct pm_routes *routes, uint32_t sw)
{
	uint8_t *row = routes->table + (size_t)sw * routes->stride;

	routes->moved[sw] = is_alone(routes, sw);
	if (routes->moved[sw]) {
		route_touch_all(routes, sw);
		memset(row, PM_LFT_KEEP, routes->stride);
		route_fill_own(routes, sw, row);
		return;
	}
	pm_for_each_port(i, routes->plan->known, sw) {
		if (!port_lost_places(routes, i))
			continue;
		if (!routes->moved[sw])
			route_start_moving(routes, sw);
		move_from_port(routes, sw, i, row);
	}
}
