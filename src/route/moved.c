/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moves entries if their preferred port no longer leads to the place, by the rules in
 * rules.c.
 */
#include "route_parts.h"

static bool leads_now(const struct pm_routes *routes, uint32_t port, uint32_t to)
{
	return routes->usable[port] &&
	       pm_bits_test(route_reach_over(routes, &routes->now, port), to);
}

/* The destination's index among the slots of other leaves, less the leaf's index. */
static uint32_t leaf_key(const struct pm_routes *routes, uint32_t leaf, uint32_t lid)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct destination *to = &routes->to[lid];
	uint32_t index = tree->leaf_index[leaf], key = to->index + LEAF_INDEXES;
	const struct own *own;

	key -= tree->pod[to->sw] == tree->pod[leaf] ? index : routes->moved_index[index];
	if (!to->counts)
		return key;
	own = &routes->own[(size_t)index * (tree->num_planes + 1u) + to->plane];
	return key - own->before - (to->rank > own->first ? own->count : 0);
}

static uint32_t key_of(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	const struct pm_tree *tree = &routes->plan->tree;

	if (pm_tree_is_leaf(tree, sw))
		return leaf_key(routes, sw, lid);
	if (route_is_native(routes, sw, lid))
		return route_native_key(routes, sw, lid) + tree->index_in_level[sw];
	return pm_bits_test(pm_reach_down(&routes->now, sw), routes->to[lid].sw)
		       ? route_foreign_down(routes, sw, lid)
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

/* The first port, in the order of the key, that leads to the place now; 0: none. */
static uint8_t choose_leading(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
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

/* Finds another port for an entry than `instead_of`, which may be 0 (none). */
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
	port = choose_leading(routes, sw, lid, &list);
	return port ? port : PM_LFT_KEEP;
}

void route_note(struct pm_routes *routes, uint32_t sw, uint32_t lid, uint8_t before,
		uint8_t after)
{
	if (pm_grow(&routes->changes, &routes->changes_room, routes->num_changes + 1,
		    sizeof(*routes->changes)))
		routes->lacks_memory = true;
	else
		routes->changes[routes->num_changes++] = (struct pm_routes_change){
			.sw = sw, .lid = (uint16_t)lid, .before = before, .after = after};
}

/* Lists up ports to linked neighbours, except one port. */
static void list_survivors(const struct pm_routes *routes, uint32_t sw, uint8_t except,
			   struct ports *list)
{
	const uint8_t *linked = routes->linked + route_node(routes, sw)->first_port;

	list->count = 0;
	for (uint32_t i = routes->first_up[sw]; i < routes->first_up[sw + 1]; i++) {
		uint8_t num = routes->up_by_num[i];

		list->num[list->count] = num;
		list->count += linked[num] & (num != except);
	}
}

/*
 * A port that no longer leads to some places, so that entries move. Candidate ports are
 * listed once for many entries: the first choice among them is nearly always right. For
 * the rest, route_move_entry finds the same port as it would without this list.
 */
struct leaving {
	uint32_t sw;
	uint32_t plane; /* the only one with entries over the port, or PM_NONE */
	uint8_t num;
	bool listed; /* `up` has the survivors */
	struct ports up;
	uint8_t direction;  /* of `alike`; PM_DARK: nothing listed yet */
	struct ports alike; /* the candidates for the places in routes->alike */
};

/* The only plane with entries over a port, or PM_NONE. */
static uint32_t only_plane(const struct pm_routes *routes, uint32_t sw, uint32_t port)
{
	return routes->irregular[sw] ? PM_NONE : routes->plan->tree.plane[port];
}

static void leave(const struct pm_routes *routes, uint32_t sw, uint32_t port,
		  struct leaving *from)
{
	from->sw = sw;
	from->plane = only_plane(routes, sw, port);
	from->num = routes->plan->topology->ports[port].num;
	from->listed = false;
	from->direction = PM_DARK;
}

/* Finds the places that have the same candidates as this one. */
static void find_alike(const struct pm_routes *routes, const struct leaving *from,
		       uint32_t to)
{
	uint64_t *alike = routes->alike;

	memset(alike, 0xff, routes->whole.words * sizeof(*alike));
	pm_for_each_port(i, routes->plan->topology, from->sw) {
		const uint64_t *over;
		uint64_t unlike;

		if (routes->plan->tree.direction[i] != from->direction ||
		    !routes->linked[i])
			continue;
		over = route_reach_over(routes, &routes->whole, i);
		unlike = pm_bits_test(over, to) ? 0 : UINT64_MAX;
		for (uint32_t w = 0; w < routes->whole.words; w++)
			alike[w] &= over[w] ^ unlike;
	}
}

/* Lists the candidates for a reachable place, in one direction. */
static const struct ports *list_candidates(const struct pm_routes *routes,
					   struct leaving *from, uint32_t to,
					   enum pm_direction direction)
{
	uint32_t at;

	/* where every up port leads to every leaf in the whole tree */
	if (direction == PM_UP && routes->full[from->sw] &&
	    pm_bits_test(routes->leaf_set, to)) {
		if (!from->listed)
			list_survivors(routes, from->sw, from->num, &from->up);
		from->listed = true;
		return &from->up;
	}
	if (from->direction == direction && pm_bits_test(routes->alike, to))
		return &from->alike;
	from->direction = (uint8_t)direction;
	find_alike(routes, from, to);
	route_list_leading(routes, from->sw, to, direction, &from->alike);
	at = find_in(&from->alike, from->num);
	if (at < from->alike.count)
		strike(&from->alike, at);
	return &from->alike;
}

/* The new port of an entry that uses the present port. */
static uint8_t move_one(const struct pm_routes *routes, struct leaving *from,
			uint32_t lid)
{
	uint32_t first = route_node(routes, from->sw)->first_port;
	uint32_t to = routes->to[lid].sw;
	const struct ports *list;
	uint8_t num;

	if (!pm_bits_test(pm_reach_updown(&routes->now, from->sw), to))
		return PM_LFT_KEEP;
	list = list_candidates(routes, from, to,
			       pm_bits_test(pm_reach_down(&routes->now, from->sw), to)
				       ? PM_DOWN
				       : PM_UP);
	if (list->count) {
		num = list->num[key_of(routes, from->sw, lid) % list->count];
		if (leads_now(routes, first + num, to))
			return num;
	}
	return route_move_entry(routes, from->sw, lid, from->num);
}

/* Examines an entry, and moves it if it uses the port. */
static inline void move_if_used(struct pm_routes *routes, struct leaving *from,
				const uint8_t *row, uint32_t lid)
{
	routes->examined++;
	if (row[lid] == from->num)
		route_put(routes, from->sw, lid, from->num, move_one(routes, from, lid));
}

/* Moves all entries, except those for the switch's own places. */
static void move_all(struct pm_routes *routes, struct leaving *from, const uint8_t *row)
{
	const uint8_t *end = row + routes->stride, *at = row;

	for (; (at = memchr(at, from->num, (size_t)(end - at))); at++)
		if (routes->to[at - row].sw != from->sw)
			move_if_used(routes, from, row, (uint32_t)(at - row));
}

/*
 * A leaf's up port of a plane has failed: moves the entries of that plane, as
 * move_if_used would. Most time is spent here when a plane fails for many leaves, and
 * this function takes half as long: where every up port leads to every leaf in the whole
 * tree, the ports' reach is looked up once for all destinations on leaves.
 */
static void move_plane(struct pm_routes *routes, uint32_t sw, uint32_t plane,
		       uint8_t port, const uint8_t *row)
{
	uint32_t first = route_node(routes, sw)->first_port;
	const uint64_t *reach[PM_MAX_PORTS + 1];
	struct ports up;
	bool same;

	list_survivors(routes, sw, port, &up);
	for (uint32_t i = 0; i < up.count; i++)
		reach[i] = routes->usable[first + up.num[i]]
				   ? route_reach_over(routes, &routes->now,
						      first + up.num[i])
				   : routes->nothing;
	same = routes->full[sw] && up.count;
	for (uint32_t i = routes->first_interval[plane];
	     i < routes->first_interval[plane + 1]; i++) {
		uint32_t lid = routes->intervals[i].start;
		uint32_t end = lid + routes->intervals[i].length;

		routes->examined += routes->intervals[i].length;
		for (; lid < end; lid++) {
			uint32_t to = routes->to[lid].sw, at;

			if (row[lid] != port)
				continue;
			at = same ? leaf_key(routes, sw, lid) % up.count : 0;
			if (same && pm_bits_test(routes->leaf_set, to) &&
			    pm_bits_test(reach[at], to))
				route_put(routes, sw, lid, port, up.num[at]);
			else
				route_put(routes, sw, lid, port,
					  route_move_entry(routes, sw, lid, port));
		}
	}
}

static void move_place(struct pm_routes *routes, struct leaving *from, const uint8_t *row,
		       uint32_t to)
{
	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (from->plane == PM_NONE || routes->to[lid].plane == from->plane)
			move_if_used(routes, from, row, lid);
	}
}

static void move_block(struct pm_routes *routes, struct leaving *from, const uint8_t *row,
		       uint32_t block, uint64_t lids)
{
	for (; lids; lids &= lids - 1)
		move_if_used(routes, from, row,
			     block * PM_LFT_BLOCK + (uint32_t)__builtin_ctzll(lids));
}

static bool port_leads_to_less(const struct pm_routes *routes, uint32_t port)
{
	uint8_t direction = routes->plan->tree.direction[port];

	if (direction != PM_UP && direction != PM_DOWN)
		return false;
	return !routes->usable[port] || route_reach_changed(routes, port);
}

void route_move_from(struct pm_routes *routes, uint32_t sw, uint32_t port)
{
	const uint64_t *before = route_reach_over(routes, &routes->whole, port);
	const uint64_t *after = route_reach_over(routes, &routes->now, port);
	const uint8_t *row = routes->table + (size_t)sw * routes->stride;
	struct leaving from;

	leave(routes, sw, port, &from);
	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	if (!routes->usable[port]) {
		if (from.plane == PM_NONE)
			move_all(routes, &from, row);
		else
			move_plane(routes, sw, from.plane, from.num, row);
		return;
	}
	for (uint32_t w = 0; w < routes->whole.words; w++) {
		uint64_t withdrawn = before[w] & ~after[w];

		for (; withdrawn; withdrawn &= withdrawn - 1)
			move_place(routes, &from, row,
				   w * 64 + (uint32_t)__builtin_ctzll(withdrawn));
	}
}

/* Records in which blocks the preferred entries of a switch name each port. */
static void index_ports(struct pm_routes *routes, uint32_t sw)
{
	const struct pm_node *n = route_node(routes, sw);
	const uint8_t *row = route_preferred(routes, sw);
	uint64_t *named = routes->named + (size_t)n->first_port * routes->touched_words;

	memset(named, 0,
	       (n->num_ports + (size_t)1) * routes->touched_words * sizeof(*named));
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (row[lid] <= n->num_ports)
			pm_bits_set(named + (size_t)row[lid] * routes->touched_words,
				    lid / PM_LFT_BLOCK);
	routes->indexed[sw] = 1;
}

/* The blocks that may have entries with a port. */
static const uint64_t *blocks_of(struct pm_routes *routes, uint32_t sw, uint32_t port)
{
	uint32_t plane = only_plane(routes, sw, port);

	if (plane != PM_NONE)
		return routes->plane_blocks + (size_t)plane * routes->touched_words;
	if (!routes->indexed[sw])
		index_ports(routes, sw);
	return routes->named + (size_t)port * routes->touched_words;
}

void route_fetch_withdrawn(struct pm_routes *routes, uint32_t sw, uint32_t port,
			   const struct withdrawn *withdrawn)
{
	const uint64_t *blocks = blocks_of(routes, sw, port);
	const uint8_t *row = routes->table + (size_t)sw * routes->stride;

	for (uint32_t w = 0; w < routes->touched_words; w++)
		for (uint64_t set = blocks[w] & withdrawn->blocks[w]; set; set &= set - 1)
			__builtin_prefetch(
				row + ((size_t)w * 64 + (size_t)__builtin_ctzll(set)) *
					      PM_LFT_BLOCK);
}

void route_move_withdrawn(struct pm_routes *routes, uint32_t sw, uint32_t port,
			  const struct withdrawn *withdrawn)
{
	const uint64_t *blocks = blocks_of(routes, sw, port);
	const uint8_t *row = routes->table + (size_t)sw * routes->stride;
	struct leaving from;

	leave(routes, sw, port, &from);
	routes->examined++;
	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	for (uint32_t w = 0; w < routes->touched_words; w++)
		for (uint64_t set = blocks[w] & withdrawn->blocks[w]; set;
		     set &= set - 1) {
			uint32_t block = w * 64 + (uint32_t)__builtin_ctzll(set);

			move_block(routes, &from, row, block, withdrawn->lids[block]);
		}
}

void route_fill_own(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	for (uint32_t i = routes->first_lid[sw]; i < routes->first_lid[sw + 1]; i++)
		row[routes->lids_of[i]] = routes->to[routes->lids_of[i]].port;
}

bool route_is_alone(const struct pm_routes *routes, uint32_t sw)
{
	pm_for_each_port(i, routes->plan->topology, sw)
		if (routes->usable[i] && routes->plan->topology->ports[i].peer != PM_NONE)
			return false;
	return true;
}

void route_touch_all(struct pm_routes *routes, uint32_t sw)
{
	uint32_t words = routes->touched_words, blocks = routes->stride / PM_LFT_BLOCK;
	uint64_t *touched = route_touched(routes, sw);

	memset(touched, 0xff, words * sizeof(*touched));
	touched[words - 1] >>= words * 64 - blocks; /* no bits beyond the last block */
}

/* Resets the touched blocks of a table to the preferred ones; then none is touched. */
static void clean(struct pm_routes *routes, uint32_t sw)
{
	size_t row = (size_t)sw * routes->stride;
	uint64_t *touched = route_touched(routes, sw);

	for (uint32_t w = 0; w < routes->touched_words; w++) {
		for (; touched[w]; touched[w] &= touched[w] - 1) {
			uint32_t block = w * 64 + (uint32_t)__builtin_ctzll(touched[w]);
			size_t at = row + (size_t)block * PM_LFT_BLOCK;

			memcpy(routes->table + at, routes->preferred + at, PM_LFT_BLOCK);
		}
	}
}

static void note_moved(struct pm_routes *routes, uint32_t sw, enum table_state state)
{
	if (!routes->moved[sw])
		routes->moved_list[routes->num_moved++] = sw;
	routes->moved[sw] = (uint8_t)state;
}

void route_start_moving(struct pm_routes *routes, uint32_t sw)
{
	clean(routes, sw);
	note_moved(routes, sw, TABLE_MOVED);
}

void pm_routes_put(struct pm_routes *routes, uint32_t sw, uint32_t number,
		   const uint8_t *entries)
{
	size_t at = (size_t)sw * routes->stride + (size_t)number * PM_LFT_BLOCK;

	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	memcpy(routes->table + at, entries, PM_LFT_BLOCK);
	pm_bits_set(route_touched(routes, sw), number);
	routes->whole_now = false;
}

/* Records that a switch drops all entries except its own. */
static void note_isolation(struct pm_routes *routes, uint32_t sw)
{
	const uint8_t *row = route_table(routes, sw);

	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (row[lid] != PM_LFT_KEEP && routes->to[lid].sw != sw)
			route_note(routes, sw, lid, row[lid], PM_LFT_KEEP);
}

bool route_isolate(struct pm_routes *routes, uint32_t sw)
{
	uint8_t *row = routes->table + (size_t)sw * routes->stride;

	if (!route_is_alone(routes, sw))
		return false;
	if (routes->moved[sw] == TABLE_ISOLATED)
		return true;
	if (routes->noting)
		note_isolation(routes, sw);
	note_moved(routes, sw, TABLE_ISOLATED);
	route_touch_all(routes, sw);
	memset(row, PM_LFT_KEEP, routes->stride);
	route_fill_own(routes, sw, row);
	return true;
}

void route_update_switch(struct pm_routes *routes, uint32_t sw)
{
	routes->moved[sw] = TABLE_PREFERRED;
	if (route_isolate(routes, sw))
		return;
	pm_for_each_port(i, routes->plan->topology, sw)
		if (port_leads_to_less(routes, i))
			route_move_from(routes, sw, i);
}
