/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables with every link usable. The rules are in rules.c. */
#include "route_parts.h"

/* Fills a leaf's entries for the planes that it has up ports for. */
static void fill_leaf(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct pm_fabric *topology = routes->plan->topology;

	pm_for_each_port(port, topology, sw) {
		uint32_t plane = tree->plane[port];

		if (plane == PM_NONE)
			continue;
		for (uint32_t i = routes->first_interval[plane];
		     i < routes->first_interval[plane + 1]; i++)
			memset(row + routes->intervals[i].start,
			       topology->ports[port].num, routes->intervals[i].length);
	}
}

/* Room for results about the present switch, and data about all. */
struct room {
	uint8_t *digit; /* [height][lid] of up ports, for switches with .. */
	uint32_t most[PM_NO_LEVEL + 1]; /* [height] .. so many */
	uint64_t *every_path;		/* [words] */
	uint64_t *below;      /* [words] places below; then those not filled yet */
	uint64_t *forks;      /* [words] places that several ports lead down to */
	uint64_t *places;     /* [words] places that a port is the first to */
	uint32_t *path;	      /* [height][lid] port down on the path up, or PM_NONE */
	uint32_t shift;	      /* the switch's summand for the .. */
	const uint32_t *keys; /* .. keys, one of the next two; or NULL */
	uint32_t *keys_2, *keys_above; /* [index in lids_of] level 2, and all others */
	struct interval *spare;	       /* LIDs without an owner */
	uint32_t num_spare;
};

/* The index of the up port of a native destination; a division takes time. */
static uint32_t native_digit(const struct pm_routes *routes, const struct room *room,
			     uint32_t sw, uint32_t lid, uint32_t count)
{
	unsigned int height = pm_tree_height(&routes->plan->tree, sw);

	return count == room->most[height]
		       ? room->digit[(size_t)height * routes->stride + lid]
		       : route_native_key(routes, sw, lid) % count;
}

/* Fills the entries of LIDs from first to end - 1. */
typedef void fill_run(const struct pm_routes *routes, uint32_t sw, uint32_t first,
		      uint32_t end, const struct room *room, uint8_t *row);

/* Calls `fill` for runs of the planes that the switch is native to. */
static void fill_runs(const struct pm_routes *routes, uint32_t sw, fill_run *fill,
		      const struct room *room, uint8_t *row)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t p = 0; p < tree->num_planes; p++) {
		if (!pm_tree_is_native(tree, p, sw))
			continue;
		for (uint32_t i = routes->first_interval[p];
		     i < routes->first_interval[p + 1]; i++) {
			uint32_t first = routes->intervals[i].start;

			fill(routes, sw, first, first + routes->intervals[i].length, room,
			     row);
		}
	}
}

static void fill_native(const struct pm_routes *routes, uint32_t sw, uint32_t first,
			uint32_t end, const struct room *room, uint8_t *row)
{
	struct up_ports up = route_up(routes, sw);

	for (uint32_t lid = first; lid < end; lid++)
		if (!routes->is_lone[lid / PM_LFT_BLOCK])
			row[lid] = up.num[native_digit(routes, room, sw, lid, up.count)];
}

/*
 * Fills the up entries of a switch above the leaves, also of LIDs without an owner, which
 * fill_switch clears afterwards.
 */
static void fill_upper(const struct pm_routes *routes, uint32_t sw,
		       const struct room *room, uint8_t *row)
{
	struct up_ports up = route_up(routes, sw);

	if (!up.count)
		return;
	route_fill_foreign(routes, sw, up, row);
	fill_runs(routes, sw, fill_native, room, row);
}

static const uint64_t *set_below(const struct pm_routes *routes, uint32_t port)
{
	return pm_reach_down(&routes->whole, route_remote_switch(routes, port));
}

static bool is_down(const struct pm_routes *routes, uint32_t port)
{
	return routes->plan->tree.direction[port] == PM_DOWN;
}

/* Finds the places that several ports of a switch lead down to. */
static void find_forks(const struct pm_routes *routes, uint32_t sw,
		       const struct room *room)
{
	memset(room->below, 0, routes->whole.words * sizeof(*room->below));
	memset(room->forks, 0, routes->whole.words * sizeof(*room->forks));
	pm_for_each_port(i, routes->plan->topology, sw) {
		const uint64_t *set;

		if (!is_down(routes, i))
			continue;
		set = set_below(routes, i);
		for (uint32_t w = 0; w < routes->whole.words; w++) {
			room->forks[w] |= room->below[w] & set[w];
			room->below[w] |= set[w];
		}
	}
}

/* Lists the ports, from this one on, that lead down to a place. */
static void list_down(const struct pm_routes *routes, uint32_t port, uint32_t to,
		      struct ports *down)
{
	const struct pm_fabric *topology = routes->plan->topology;
	const struct pm_node *node = &topology->nodes[topology->ports[port].node];

	down->count = 0;
	for (; port <= node->first_port + node->num_ports; port++)
		if (is_down(routes, port) && pm_bits_test(set_below(routes, port), to))
			down->num[down->count++] = topology->ports[port].num;
}

/* Whether, from this port on, exactly the listed ports lead to all of the places. */
static bool lead_alike(const struct pm_routes *routes, uint32_t port,
		       const uint64_t *places, const struct ports *down)
{
	const struct pm_fabric *topology = routes->plan->topology;
	const struct pm_node *node = &topology->nodes[topology->ports[port].node];
	uint32_t at = 0;

	for (; port <= node->first_port + node->num_ports; port++) {
		bool listed =
			at < down->count && down->num[at] == topology->ports[port].num;
		uint64_t wrong = 0;
		const uint64_t *set;

		if (!is_down(routes, port))
			continue;
		set = set_below(routes, port);
		for (uint32_t w = 0; w < routes->whole.words; w++)
			wrong |= places[w] & (listed ? ~set[w] : set[w]);
		if (wrong)
			return false;
		at += listed;
	}
	return true;
}

static void fill_place(const struct pm_routes *routes, uint32_t to, uint8_t num,
		       uint8_t *row)
{
	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++)
		row[routes->lids_of[i]] = num;
}

/* Fills a place that several ports lead to, as if all its LIDs were foreign. */
static void fill_fork(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		      const struct room *room, const struct ports *down, uint8_t *row)
{
	uint32_t i = routes->first_lid[to], end = routes->first_lid[to + 1];
	uint32_t shift = room->shift;

	if (!room->keys)
		for (; i < end; i++)
			row[routes->lids_of[i]] =
				down->num[route_foreign_down(routes, sw,
							     routes->lids_of[i]) %
					  down->count];
	else if (down->count == 2) /* most often */
		for (; i < end; i++)
			row[routes->lids_of[i]] = down->num[(shift + room->keys[i]) % 2];
	else
		for (; i < end; i++)
			row[routes->lids_of[i]] =
				down->num[(shift + room->keys[i]) % down->count];
}

/* Fills places that several ports lead to, this port being the first. */
static void fill_forks(const struct pm_routes *routes, uint32_t port,
		       const struct room *room, uint8_t *row)
{
	const uint64_t *set = set_below(routes, port);
	uint32_t sw = routes->plan->topology->ports[port].node;
	struct ports down = {.count = 0};
	bool alike = false;

	for (uint32_t w = 0; w < routes->whole.words; w++) {
		room->places[w] = set[w] & room->forks[w] & room->below[w];
		room->below[w] &= ~set[w];
	}
	for (uint32_t w = 0; w < routes->whole.words; w++)
		for (uint64_t bits = room->places[w]; bits; bits &= bits - 1) {
			uint32_t t = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (!down.count) {
				list_down(routes, port, t, &down);
				alike = lead_alike(routes, port, room->places, &down);
			} else if (!alike) {
				list_down(routes, port, t, &down);
			}
			fill_fork(routes, sw, t, room, &down, row);
		}
}

/* The switch at a height on the path up of a LID: its own, or one above it. */
static uint32_t find_on_path(const struct pm_routes *routes, const struct room *room,
			     unsigned int height, uint32_t lid)
{
	const struct destination *to = &routes->to[lid];
	uint32_t port;

	if (to->sw == PM_NONE)
		return PM_NONE;
	if (pm_tree_height(&routes->plan->tree, to->sw) == height)
		return pm_tree_is_native(&routes->plan->tree, to->plane, to->sw)
			       ? to->sw
			       : PM_NONE;
	port = room->path[(size_t)height * routes->stride + lid];
	return port == PM_NONE ? PM_NONE : routes->plan->topology->ports[port].node;
}

/* A port down of a switch to another one, by the key of foreign ones; 0: none. */
static uint8_t choose_to(const struct pm_routes *routes, uint32_t sw, uint32_t below,
			 uint32_t lid)
{
	struct ports to = {.count = 0};

	pm_for_each_port(i, routes->plan->topology, sw)
		if (is_down(routes, i) && route_remote_switch(routes, i) == below)
			to.num[to.count++] = routes->plan->topology->ports[i].num;
	return to.count ? to.num[route_foreign_down(routes, sw, lid) % to.count] : 0;
}

/*
 * Sends a native destination down by the mirror image of its path up. Switches that are
 * not on that path, too, may get its traffic, where leaves have different links. They
 * lead to the switch that is on it one level lower. So the link of the destination's
 * plane carries the traffic to the leaf.
 */
static void fill_mirrored(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			  const struct room *room, uint8_t *row)
{
	const struct pm_fabric *topology = routes->plan->topology;
	unsigned int height = pm_tree_height(&routes->plan->tree, sw);
	uint32_t port = room->path[(size_t)height * routes->stride + lid], below;
	uint8_t num;

	if (!pm_bits_test(room->forks, routes->to[lid].sw))
		return;
	if (port != PM_NONE && topology->ports[port].node == sw) {
		row[lid] = topology->ports[port].num;
		return;
	}
	below = height > 1 ? find_on_path(routes, room, height - 1, lid) : PM_NONE;
	if (below == PM_NONE ||
	    route_remote_switch(routes, route_node(routes, sw)->first_port + row[lid]) ==
		    below)
		return;
	num = choose_to(routes, sw, below, lid);
	if (num)
		row[lid] = num;
}

static void fill_native_down(const struct pm_routes *routes, uint32_t sw, uint32_t first,
			     uint32_t end, const struct room *room, uint8_t *row)
{
	for (uint32_t lid = first; lid < end; lid++)
		if (!routes->is_lone[lid / PM_LFT_BLOCK])
			fill_mirrored(routes, sw, lid, room, row);
}

/* Chooses the keys of route_foreign_down at this switch, if they are that simple. */
static void choose_keys(const struct pm_routes *routes, uint32_t sw, struct room *room)
{
	const struct pm_tree *tree = &routes->plan->tree;

	room->shift = tree->index_in_level[sw];
	room->keys = room->keys_above;
	if (pm_tree_height(tree, sw) != 2)
		return;
	room->shift *= routes->foreign_down.step;
	room->keys = routes->foreign_down.phases == 1 ? room->keys_2 : NULL;
}

static void fill_down(const struct pm_routes *routes, uint32_t sw, struct room *room,
		      uint8_t *row)
{
	bool forks = false;

	find_forks(routes, sw, room);
	choose_keys(routes, sw, room);
	pm_for_each_port(i, routes->plan->topology, sw) {
		const uint64_t *set;

		if (!is_down(routes, i))
			continue;
		set = set_below(routes, i);
		for (uint32_t w = 0; w < routes->whole.words; w++) {
			uint64_t bits = set[w] & ~room->forks[w];

			forks |= set[w] & room->forks[w];
			for (; bits; bits &= bits - 1)
				fill_place(routes,
					   w * 64 + (uint32_t)__builtin_ctzll(bits),
					   routes->plan->topology->ports[i].num, row);
		}
		if (forks)
			fill_forks(routes, i, room, row);
	}
	if (forks)
		fill_runs(routes, sw, fill_native_down, room, row);
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

/* Fills up entries for a switch's places without a preferred port that leads there. */
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
 * Fills entries for places above this switch's level that some up port does not lead to:
 * they are switches of one component, or links were missing from the start. Preferred
 * ports were given without checking. Also fills entries that a leaf lacks, for places
 * without a plane.
 */
static void fill_holes(struct pm_routes *routes, uint32_t sw, const uint64_t *every_path,
		       uint8_t *row)
{
	const uint64_t *reach = pm_reach_updown(&routes->whole, sw);
	const uint64_t *below = pm_reach_down(&routes->whole, sw);

	for (uint32_t w = 0; w < routes->whole.words; w++) {
		uint64_t doubtful = ~every_path[w] | routes->planeless[w];

		for (uint64_t holes = reach[w] & ~below[w] & doubtful; holes;
		     holes &= holes - 1)
			if (fill_hole(routes, sw,
				      w * 64 + (uint32_t)__builtin_ctzll(holes), row))
				routes->irregular[sw] = 1;
	}
}

/* Finds the places that every up port of a switch leads to. */
static void find_every_path(const struct pm_routes *routes, uint32_t sw,
			    uint64_t *every_path)
{
	struct up_ports up = route_up(routes, sw);
	uint32_t first = route_node(routes, sw)->first_port, words = routes->whole.words;

	memset(every_path, 0xff, words * sizeof(*every_path));
	for (uint32_t i = 0; i < up.count; i++) {
		const uint64_t *over =
			route_reach_over(routes, &routes->whole, first + up.num[i]);

		for (uint32_t w = 0; w < words; w++)
			every_path[w] &= over[w];
	}
}

static bool has_all_leaves(const struct pm_routes *routes, const uint64_t *set)
{
	for (uint32_t w = 0; w < routes->whole.words; w++)
		if (routes->leaf_set[w] & ~set[w])
			return false;
	return true;
}

static void fill_switch(struct pm_routes *routes, uint32_t sw, struct room *room,
			uint8_t *row)
{
	memset(row, PM_LFT_KEEP, routes->stride);
	if (routes->plan->tree.level[sw] == PM_NO_LEVEL) {
		route_fill_own(routes, sw, row);
		return;
	}
	if (pm_tree_is_leaf(&routes->plan->tree, sw))
		fill_leaf(routes, sw, row);
	else
		fill_upper(routes, sw, room, row);
	fill_down(routes, sw, room, row);
	find_every_path(routes, sw, room->every_path);
	routes->full[sw] = has_all_leaves(routes, room->every_path);
	fill_holes(routes, sw, room->every_path, row);
	clear_unreachable(routes, sw, row);
	route_fill_own(routes, sw, row);
	for (uint32_t i = 0; i < room->num_spare; i++)
		memset(row + room->spare[i].start, PM_LFT_KEEP, room->spare[i].length);
}

/* Lists intervals of LIDs without an owner; returns their number. */
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

static void find_digits(const struct pm_routes *routes, struct room *room)
{
	const struct pm_tree *tree = &routes->plan->tree;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		uint32_t count = route_up(routes, sw).count;

		unsigned int height = pm_tree_height(tree, sw);

		if (count > room->most[height])
			room->most[height] = count;
	}
	for (uint32_t h = 1; h + tree->leaf_level <= tree->top_level; h++)
		for (uint32_t lid = 0; room->most[h] && lid < routes->stride; lid++)
			room->digit[(size_t)h * routes->stride + lid] =
				(uint8_t)(routes->to[lid].order / routes->weight[h] %
					  room->most[h]);
}

/*
 * Finds the path up of each LID: its plane's link of its own leaf, then the digits. A
 * place below several leaves has none, as traffic goes to it over all of them in turn.
 */
static void find_paths(const struct pm_routes *routes, const struct room *room)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct pm_fabric *topology = routes->plan->topology;
	size_t stride = routes->stride;

	memset(room->path, 0xff, (tree->top_level + 1u) * stride * sizeof(*room->path));
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		uint32_t leaf = topology->ports[i].node;

		for (uint32_t k = routes->first_lid[leaf];
		     tree->plane[i] != PM_NONE && k < routes->first_lid[leaf + 1]; k++)
			if (routes->to[routes->lids_of[k]].plane == tree->plane[i])
				room->path[stride + routes->lids_of[k]] =
					topology->ports[i].peer;
	}
	for (unsigned int h = 1; h + tree->leaf_level < tree->top_level; h++)
		for (uint32_t lid = 0; lid < stride; lid++) {
			uint32_t sw = find_on_path(routes, room, h, lid), port;
			struct up_ports up;

			if (sw == PM_NONE)
				continue;
			up = route_up(routes, sw);
			if (!up.count)
				continue;
			port = route_node(routes, sw)->first_port +
			       up.num[native_digit(routes, room, sw, lid, up.count)];
			room->path[(h + 1) * stride + lid] = topology->ports[port].peer;
		}
}

static void find_keys(const struct pm_routes *routes, struct room *room)
{
	for (uint32_t i = 0; i < routes->first_lid[routes->num_switches]; i++) {
		uint32_t lid = routes->lids_of[i], plane = route_plane_key(routes, lid);

		room->keys_2[i] = plane + routes->foreign_down.part[lid];
		room->keys_above[i] = plane + routes->to[lid].rank;
	}
}

int route_fill_preferred(struct pm_routes *routes, struct pm_error *err)
{
	uint32_t words = routes->whole.words;
	struct pm_pool pool = {0};
	struct room room = {
		.digit = pm_pool_array(&pool, routes->plan->tree.top_level + (size_t)1,
				       routes->stride),
		.every_path = pm_pool_array(&pool, words, sizeof(uint64_t)),
		.below = pm_pool_array(&pool, words, sizeof(uint64_t)),
		.forks = pm_pool_array(&pool, words, sizeof(uint64_t)),
		.places = pm_pool_array(&pool, words, sizeof(uint64_t)),
		.path = pm_pool_array(&pool, routes->plan->tree.top_level + (size_t)1,
				      routes->stride * sizeof(*room.path)),
		.keys_2 = pm_pool_array(&pool, routes->stride, sizeof(uint32_t)),
		.keys_above = pm_pool_array(&pool, routes->stride, sizeof(uint32_t)),
		.spare = pm_pool_array(&pool, routes->stride, sizeof(*room.spare)),
	};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	find_digits(routes, &room);
	find_paths(routes, &room);
	find_keys(routes, &room);
	room.num_spare = find_spare(routes, room.spare);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		fill_switch(routes, sw, &room,
			    routes->preferred + (size_t)sw * routes->stride);
	if (routes->uneven)
		rc = route_assign(routes, err);
	if (routes->uneven && !rc)
		rc = route_relieve(routes, err);
out:
	pm_pool_free(&pool);
	return rc;
}
