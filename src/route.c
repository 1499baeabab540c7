/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preferred ports, with everything alive:
 *
 * At a leaf, traffic goes to the plane of the destination. Above, a
 * destination of a plane that runs through this switch (a native one) takes
 * the up port of a digit of its rank: rank mod n at level 1, rank / n mod n' at
 * level 2, and so on. As ranks count in subtree order, any n neighbours use
 * different ports, up and, mirrored, down again: this is the d-mod-k rule,
 * under which shift permutations meet nowhere in a full tree.
 *
 * Foreign destinations, whose planes run elsewhere, come only when their plane
 * is cut off somewhere. They take an up port by block instead of by LID, so
 * that losing an up port touches few blocks: `spread` ports for each block,
 * next to each other, moving on from block to block and from switch to switch.
 *
 * Going down, where several ports lead to the place, a native destination
 * takes the mirror image of its way up: the cable that its own subtree would
 * use for it. A foreign one is dealt over the cables likewise.
 *
 * Moved entries: the way down if there is one, else up. The candidates are the
 * ports that lead there in the whole tree, except the preferred one and those to
 * neighbours that this switch has no cable to any more. The entry takes number
 * key mod count, where the key is the destination's number plus that of the
 * switch, so that moved entries spread evenly over the ports at every switch,
 * and those of one destination over the planes. If that port does not lead
 * there now, it is struck off and the next choice made with key / count: what
 * found a port once seldom moves again when others are lost.
 */
#include <portmajor/route.h>
#include <portmajor/reach.h>

#include "alloc.h"
#include "bits.h"

#include <errno.h>
#include <math.h>

/* What the inner loops need to know of a LID. */
struct destination {
	uint32_t sw; /* switch of the place, PM_NONE: no such LID */
	uint32_t rank;
	uint32_t number; /* of slots: plane by plane, by rank; else the rank */
	uint32_t plane;
	uint8_t port; /* 0: the switch itself */
};

/* LIDs that follow each other and have the same plane. */
struct interval {
	uint16_t start, length;
};

/* A leaf's own slots, which take no place among those that it sends to. */
struct own {
	uint32_t before; /* in planes before this one */
	uint32_t first;	 /* lowest rank in this plane, PM_NONE if it has none */
	uint32_t count;	 /* in this plane */
};

struct pm_routes {
	const struct pm_plan *plan;
	uint32_t stride, num_switches;
	uint8_t *preferred; /* [switch][stride] */
	uint8_t *table;	    /* [switch][stride], valid where moved[switch] */
	uint8_t *moved;	    /* [switch] table differs from preferred */
	uint8_t *irregular; /* [leaf switch] preferred ports are not the planes' own
			     * everywhere: the tree has holes */
	uint8_t *full;	    /* [switch] each up port leads to every leaf */
	uint64_t *leaf_set; /* [words] */
	uint64_t *nothing;  /* [words] the empty set */
	struct own *own;    /* [leaf][plane] */
	struct pm_reach whole, now;
	uint8_t *alive;		  /* [port] */
	uint8_t *linked;	  /* [port] this cable or a parallel one is alive */
	struct destination *to;	  /* [lid] */
	uint32_t *first_lid;	  /* [switch + 1] into lids_of */
	uint16_t *lids_of;	  /* LIDs by switch of the place */
	uint32_t *first_interval; /* [plane + 1] into intervals; the last
				   * "plane" is for places without one */
	struct interval *intervals;
	uint32_t weight[PM_NO_LEVEL + 1]; /* [level] divisor of the digit there */
	uint32_t spread;		  /* ports per block of foreign destinations */
	uint8_t *part;			  /* [lid] which of them: rank mod spread */
};

/* Some ports of one switch. */
struct ports {
	uint8_t num[PM_MAX_PORTS + 1];
	uint32_t count;
};

static const struct pm_node *node_of(const struct pm_routes *routes, uint32_t sw)
{
	return &routes->plan->known->nodes[sw];
}

static uint32_t far_switch(const struct pm_routes *routes, uint32_t port)
{
	return pm_fabric_peer_node(routes->plan->known, port);
}

/* What can be reached over this cable when it is alive. */
static const uint64_t *reach_over(const struct pm_routes *routes,
				  const struct pm_reach *reach, uint32_t port)
{
	uint32_t far = far_switch(routes, port);

	return routes->plan->tree.direction[port] == PM_UP ? pm_reach_updown(reach, far)
							   : pm_reach_down(reach, far);
}

/*
 * All up ports of a switch, alive or not, parallel cables side by side: a block
 * whose ports are neighbours then depends on the fewest switches above.
 */
static void list_up(const struct pm_routes *routes, uint32_t sw, struct ports *list)
{
	const struct pm_node *n = node_of(routes, sw);
	uint32_t above[PM_MAX_PORTS + 1];

	list->count = 0;
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t at = list->count, far;

		if (routes->plan->tree.direction[n->first_port + p] != PM_UP)
			continue;
		far = far_switch(routes, n->first_port + p);
		for (; at > 0 && above[at - 1] > far; at--) {
			above[at] = above[at - 1];
			list->num[at] = list->num[at - 1];
		}
		above[at] = far;
		list->num[at] = (uint8_t)p;
		list->count++;
	}
}

/* Going one way, the ports to linked neighbours that led there in the whole tree. */
static void list_leading(const struct pm_routes *routes, uint32_t sw, uint32_t to,
			 enum pm_direction direction, struct ports *list)
{
	const struct pm_node *n = node_of(routes, sw);

	list->count = 0;
	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (routes->plan->tree.direction[i] == direction && routes->linked[i] &&
		    pm_bits_test(reach_over(routes, &routes->whole, i), to))
			list->num[list->count++] = (uint8_t)(i - n->first_port);
}

static uint32_t native_key(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	return routes->to[lid].rank / routes->weight[routes->plan->tree.level[sw]];
}

/* Going up, by block; going down, like a native one. See the top of the file. */
static uint32_t foreign_key(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	return (routes->plan->tree.position[sw] + lid / PM_LFT_BLOCK) * routes->spread +
	       routes->part[lid];
}

static uint32_t foreign_key_down(const struct pm_routes *routes, uint32_t sw,
				 uint32_t lid)
{
	return routes->plan->tree.position[sw] + routes->to[lid].plane +
	       routes->to[lid].rank;
}

/* ---- Indexes ---- */

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
		to->sw = plan->known->ports[place].node;
		to->port = plan->known->ports[place].num;
		to->rank = plan->rank[place];
		to->plane = pm_plan_plane(plan, place, lid - plan->lid[place]);
		if (to->plane == PM_NONE)
			to->plane = plan->tree.num_planes;
	}
}

static int index_lids(struct pm_routes *routes)
{
	uint32_t num = routes->num_switches;
	uint32_t *next = pm_array(num, sizeof(*next));

	if (!next)
		return -ENOMEM;
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

/* Intervals by plane, and the destinations' numbers. */
static int index_intervals(struct pm_routes *routes)
{
	uint32_t groups = routes->plan->tree.num_planes + 1, count = 0, number = 0;
	uint32_t *next = pm_array(groups, sizeof(*next));
	uint32_t *slots = pm_array(groups, sizeof(*slots));

	for (uint32_t lid = 0; lid < routes->stride; lid++)
		count += starts_interval(routes, lid);
	routes->intervals = pm_array(count, sizeof(*routes->intervals));
	if (!next || !slots || !routes->intervals) {
		free(next);
		free(slots);
		return -ENOMEM;
	}
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		if (routes->to[lid].sw != PM_NONE)
			slots[routes->to[lid].plane] += routes->to[lid].port != 0;
		if (starts_interval(routes, lid))
			next[routes->to[lid].plane]++;
	}
	for (uint32_t p = 0; p < groups; p++) {
		routes->first_interval[p + 1] = routes->first_interval[p] + next[p];
		next[p] = routes->first_interval[p];
		number += slots[p];
		slots[p] = number - slots[p];
	}
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		struct destination *to = &routes->to[lid];

		if (to->sw == PM_NONE)
			continue;
		to->number = to->port ? slots[to->plane] + to->rank : to->rank;
		if (starts_interval(routes, lid))
			routes->intervals[next[to->plane]++].start = (uint16_t)lid;
		routes->intervals[next[to->plane] - 1].length++;
	}
	free(next);
	free(slots);
	return 0;
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

			if (!to->port)
				continue;
			own[to->plane].count++;
			if (to->rank < own[to->plane].first)
				own[to->plane].first = to->rank;
		}
		for (uint32_t p = 1; p < planes; p++)
			own[p].before = own[p - 1].before + own[p - 1].count;
	}
}

/* The most up ports that a switch of this level has. */
static uint32_t widest(const struct pm_routes *routes, unsigned int level)
{
	uint32_t most = 1;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		struct ports up;

		if (routes->plan->tree.level[sw] != level)
			continue;
		list_up(routes, sw, &up);
		if (up.count > most)
			most = up.count;
	}
	return most;
}

/* Slots per plane on average, at least 1. */
static uint32_t mean_slots(const struct pm_routes *routes)
{
	uint32_t slots = 0, planes = routes->plan->tree.num_planes;

	for (uint32_t lid = 0; lid < routes->stride; lid++)
		slots += routes->to[lid].sw != PM_NONE && routes->to[lid].port != 0;
	return slots > planes ? (slots + planes - 1) / planes : 1;
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/*
 * Spread: the fewest ports per block with which, after the loss of a plane, no
 * up port at level 1 carries more than 6% over an even share. In pairs (leaf
 * below, slot elsewhere): of the slots of a plane a part `elsewhere` is not in
 * the same pod, and each up port carries `native` pairs. The other planes take
 * over 1 / (planes - 1) each; of that a port carries its share of the blocks
 * that use it, and up to one pair more as leaves do not divide evenly.
 */
static uint32_t find_spread(const struct pm_routes *routes, uint32_t width)
{
	const struct pm_tree *tree = &routes->plan->tree;
	double planes = tree->num_planes, pods = tree->num_pods;
	double elsewhere = (pods - 1) / pods, leaves = tree->num_leaves / pods, native;
	uint32_t slots, blocks, spread = 1;

	if (tree->num_planes < 2)
		return 1;
	slots = mean_slots(routes);
	blocks = divide_up(slots, PM_LFT_BLOCK);
	native = slots * elsewhere * leaves / width;
	for (; spread < width; spread++) {
		uint32_t share = divide_up(divide_up(slots, blocks), spread);
		double more = ceil(share * elsewhere) *
				      divide_up(spread * blocks, width) * leaves /
				      (planes - 1) +
			      1;

		if (native + more <= 1.06 * native * planes / (planes - 1))
			break;
	}
	return spread;
}

static void find_weights(struct pm_routes *routes)
{
	unsigned int top = routes->plan->tree.top_level;
	uint32_t width = 1;

	routes->weight[0] = routes->weight[1] = 1;
	for (unsigned int level = 1; level <= top; level++) {
		uint32_t most = widest(routes, level);

		/* Ranks are below 65536: beyond that all have the digit 0. */
		routes->weight[level + 1] = routes->weight[level] < 65536
						    ? routes->weight[level] * most
						    : 65536;
		if (most > width)
			width = most;
	}
	routes->spread = find_spread(routes, width);
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		routes->part[lid] = (uint8_t)(routes->to[lid].rank % routes->spread);
}

/* ---- Moved entries ---- */

static bool leads_now(const struct pm_routes *routes, uint32_t port, uint32_t to)
{
	return routes->alive[port] &&
	       pm_bits_test(reach_over(routes, &routes->now, port), to);
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
		return native_key(routes, sw, lid) + tree->position[sw];
	return down ? foreign_key_down(routes, sw, lid) : foreign_key(routes, sw, lid);
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
	uint32_t first = node_of(routes, sw)->first_port;
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
static uint8_t move_entry(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			  uint8_t instead_of)
{
	uint32_t to = routes->to[lid].sw, at;
	struct ports list;
	uint8_t port;

	if (!pm_bits_test(pm_reach_updown(&routes->now, sw), to))
		return PM_LFT_KEEP;
	list_leading(routes, sw, to,
		     pm_bits_test(pm_reach_down(&routes->now, sw), to) ? PM_DOWN : PM_UP,
		     &list);
	at = find_in(&list, instead_of);
	if (at < list.count)
		strike(&list, at);
	port = choose(routes, sw, lid, &list);
	return port ? port : PM_LFT_KEEP;
}

/* Moves the entries for one switch's places that use this port; were there any? */
static bool move_place(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		       uint8_t port, uint8_t *row)
{
	bool any = false;

	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (row[lid] != port)
			continue;
		row[lid] = move_entry(routes, sw, lid, port);
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
	const struct pm_node *n = node_of(routes, sw);

	list->count = 0;
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t port = n->first_port + p;

		if (routes->plan->tree.direction[port] != PM_UP ||
		    !routes->linked[port] || p == except)
			continue;
		list->num[list->count] = (uint8_t)p;
		list->reach[list->count++] =
			routes->alive[port] ? reach_over(routes, &routes->now, port)
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
		       uint8_t port, uint8_t *row)
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
				row[lid] = up.num[at];
			else
				row[lid] = move_entry(routes, sw, lid, port);
		}
	}
}

/* Moves what used this port for places that it does not lead to any more. */
static void move_from_port(const struct pm_routes *routes, uint32_t sw, uint32_t port,
			   uint8_t *row)
{
	const uint64_t *before = reach_over(routes, &routes->whole, port);
	const uint64_t *after = reach_over(routes, &routes->now, port);
	uint8_t num = routes->plan->known->ports[port].num;
	uint32_t plane = routes->plan->tree.plane[port];

	if (!routes->alive[port] && plane != PM_NONE && !routes->irregular[sw]) {
		move_plane(routes, sw, plane, num, row);
		return;
	}
	if (!routes->alive[port]) {
		for (uint32_t lid = 0; lid < routes->stride; lid++)
			if (row[lid] == num && routes->to[lid].sw != sw)
				row[lid] = move_entry(routes, sw, lid, num);
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
	return !routes->alive[port] ||
	       memcmp(reach_over(routes, &routes->whole, port),
		      reach_over(routes, &routes->now, port),
		      routes->whole.words * sizeof(uint64_t)) != 0;
}

static void fill_own(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	for (uint32_t i = routes->first_lid[sw]; i < routes->first_lid[sw + 1]; i++)
		row[routes->lids_of[i]] = routes->to[routes->lids_of[i]].port;
}

/* Whether all cables to other switches are lost. */
static bool is_alone(const struct pm_routes *routes, uint32_t sw)
{
	const struct pm_node *n = node_of(routes, sw);

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (routes->alive[i] && routes->plan->known->ports[i].peer != PM_NONE)
			return false;
	return true;
}

static void update_switch(struct pm_routes *routes, uint32_t sw)
{
	const struct pm_node *n = node_of(routes, sw);
	size_t at = (size_t)sw * routes->stride;
	uint8_t *row = routes->table + at;

	routes->moved[sw] = is_alone(routes, sw);
	if (routes->moved[sw]) {
		memset(row, PM_LFT_KEEP, routes->stride);
		fill_own(routes, sw, row);
		return;
	}
	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		if (!port_lost_places(routes, i))
			continue;
		if (!routes->moved[sw])
			memcpy(row, routes->preferred + at, routes->stride);
		routes->moved[sw] = 1;
		move_from_port(routes, sw, i, row);
	}
}

static void find_linked(struct pm_routes *routes)
{
	const struct pm_fabric *known = routes->plan->known;

	memcpy(routes->linked, routes->alive, known->num_ports);
	for (uint32_t i = 0; i < known->num_ports; i++) {
		const struct pm_node *n = &known->nodes[known->ports[i].node];

		if (routes->alive[i] || known->ports[i].peer == PM_NONE)
			continue;
		for (uint32_t k = n->first_port + 1;
		     k <= n->first_port + n->num_ports && !routes->linked[i]; k++)
			routes->linked[i] =
				routes->alive[k] &&
				far_switch(routes, k) == far_switch(routes, i);
	}
}

void pm_routes_update(struct pm_routes *routes, const uint8_t *alive)
{
	memcpy(routes->alive, alive, routes->plan->known->num_ports);
	find_linked(routes);
	pm_reach_compute(routes->plan->known, &routes->plan->tree, routes->alive,
			 &routes->now);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		update_switch(routes, sw);
}

/* ---- Preferred ports ---- */

/* Entries of a leaf for other leaves; planes it has no up port for are dealt out. */
static void fill_leaf(struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct pm_node *n = node_of(routes, sw);
	uint8_t port_of[PM_MAX_PORTS + 1];
	uint32_t plane_at[PM_MAX_PORTS + 1], count = 0;

	for (uint32_t p = 1; p <= n->num_ports; p++) {
		if (tree->plane[n->first_port + p] == PM_NONE)
			continue;
		plane_at[count] = tree->plane[n->first_port + p];
		port_of[count++] = (uint8_t)p;
	}
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = routes->first_interval[plane_at[c]];
		     i < routes->first_interval[plane_at[c] + 1]; i++)
			memset(row + routes->intervals[i].start, port_of[c],
			       routes->intervals[i].length);
	if (count == tree->num_planes &&
	    routes->first_interval[count] == routes->first_interval[count + 1])
		return;
	routes->irregular[sw] = 1;
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (row[lid] == PM_LFT_KEEP && routes->to[lid].sw != PM_NONE &&
		    routes->to[lid].sw != sw)
			row[lid] = move_entry(routes, sw, lid, 0);
}

static void fill_foreign(const struct pm_routes *routes, uint32_t sw,
			 const struct ports *up, uint8_t *row)
{
	uint32_t key = routes->plan->tree.position[sw] * routes->spread % up->count;
	uint8_t port_of[PM_MAX_PORTS + 1];

	for (uint32_t lid = 0; lid < routes->stride; lid += PM_LFT_BLOCK) {
		for (uint32_t k = 0; k < routes->spread; k++) {
			port_of[k] = up->num[key];
			key = key + 1 == up->count ? 0 : key + 1;
		}
		for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
			row[lid + i] = port_of[routes->part[lid + i]];
	}
}

static void fill_native(const struct pm_routes *routes, uint32_t sw,
			const struct ports *up, uint8_t *row)
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
				row[lid] =
					up->num[native_key(routes, sw, lid) % up->count];
		}
	}
}

/* A switch between cables of one kind: those of places that are none stay. */
static void fill_upper(const struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	struct ports up;

	list_up(routes, sw, &up);
	if (!up.count)
		return;
	fill_foreign(routes, sw, &up, row);
	fill_native(routes, sw, &up, row);
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
	uint32_t first = node_of(routes, sw)->first_port, last = PM_NONE;
	struct ports up;

	for (uint32_t i = 0; i < down->count; i++) {
		uint32_t far = known->ports[first + down->num[i]].peer;
		uint32_t below = known->ports[far].node;

		if (tree->level[below] == 0) {
			if (tree->plane[far] == routes->to[lid].plane)
				return down->num[i];
			continue;
		}
		if (!pm_tree_is_native(tree, routes->to[lid].plane, below))
			continue;
		if (below != last)
			list_up(routes, below, &up);
		last = below;
		if (up.num[native_key(routes, below, lid) % up.count] ==
		    known->ports[far].num)
			return down->num[i];
	}
	return 0;
}

static uint8_t preferred_down(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			      const struct ports *down)
{
	uint8_t port = 0;

	if (pm_tree_is_native(&routes->plan->tree, routes->to[lid].plane, sw))
		port = mirror(routes, sw, lid, down);
	return port ? port : down->num[foreign_key_down(routes, sw, lid) % down->count];
}

/* For every place, the first port down to it and how many there are. */
struct way_down {
	uint8_t first, count;
};

static void find_ways_down(const struct pm_routes *routes, uint32_t sw,
			   struct way_down *ways)
{
	const struct pm_node *n = node_of(routes, sw);

	memset(ways, 0, routes->num_switches * sizeof(*ways));
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		const uint64_t *set;

		if (routes->plan->tree.direction[n->first_port + p] != PM_DOWN)
			continue;
		set = reach_over(routes, &routes->whole, n->first_port + p);
		for (uint32_t w = 0; w < routes->whole.words; w++)
			for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
				uint32_t t = w * 64 + (uint32_t)__builtin_ctzll(bits);

				if (!ways[t].count++)
					ways[t].first = (uint8_t)p;
			}
	}
}

static void fill_down(const struct pm_routes *routes, uint32_t sw, struct way_down *ways,
		      uint8_t *row)
{
	find_ways_down(routes, sw, ways);
	for (uint32_t t = 0; t < routes->num_switches; t++) {
		struct ports down;

		down.count = ways[t].count;
		down.num[0] = ways[t].first;
		if (!down.count || t == sw)
			continue;
		if (down.count == 1) {
			for (uint32_t i = routes->first_lid[t];
			     i < routes->first_lid[t + 1]; i++)
				row[routes->lids_of[i]] = down.num[0];
			continue;
		}
		list_leading(routes, sw, t, PM_DOWN, &down);
		for (uint32_t i = routes->first_lid[t]; i < routes->first_lid[t + 1]; i++)
			row[routes->lids_of[i]] =
				preferred_down(routes, sw, routes->lids_of[i], &down);
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
	uint32_t first = node_of(routes, sw)->first_port;
	bool any = false;

	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (row[lid] != PM_LFT_KEEP &&
		    pm_bits_test(reach_over(routes, &routes->whole, first + row[lid]),
				 to))
			continue;
		row[lid] = move_entry(routes, sw, lid, 0);
		any = true;
	}
	return any;
}

/*
 * Places above switch sw's level that do not lie behind every up port, because
 * they are switches of one component or because cables were missing from the
 * first: preferred ports were given without looking.
 */
static void fill_holes(struct pm_routes *routes, uint32_t sw, uint8_t *row)
{
	const uint64_t *reach = pm_reach_updown(&routes->whole, sw);
	const uint64_t *below = pm_reach_down(&routes->whole, sw);

	for (uint32_t w = 0; w < routes->whole.words; w++) {
		uint64_t holes = reach[w] & ~below[w];

		if (routes->full[sw])
			holes &= ~routes->leaf_set[w];
		for (; holes; holes &= holes - 1)
			if (fill_hole(routes, sw,
				      w * 64 + (uint32_t)__builtin_ctzll(holes), row))
				routes->irregular[sw] = 1;
	}
}

static bool is_full(const struct pm_routes *routes, uint32_t sw)
{
	const struct pm_node *n = node_of(routes, sw);

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		const uint64_t *over;

		if (routes->plan->tree.direction[i] != PM_UP)
			continue;
		over = reach_over(routes, &routes->whole, i);
		for (uint32_t w = 0; w < routes->whole.words; w++)
			if (routes->leaf_set[w] & ~over[w])
				return false;
	}
	return true;
}

static void fill_switch(struct pm_routes *routes, uint32_t sw, struct way_down *ways,
			const uint16_t *free_lids, uint32_t num_free, uint8_t *row)
{
	memset(row, PM_LFT_KEEP, routes->stride);
	if (routes->plan->tree.level[sw] == PM_NO_LEVEL) {
		fill_own(routes, sw, row);
		return;
	}
	if (routes->plan->tree.level[sw] == 0)
		fill_leaf(routes, sw, row);
	else
		fill_upper(routes, sw, row);
	fill_down(routes, sw, ways, row);
	routes->full[sw] = is_full(routes, sw);
	fill_holes(routes, sw, row);
	clear_unreachable(routes, sw, row);
	fill_own(routes, sw, row);
	for (uint32_t i = 0; i < num_free; i++)
		row[free_lids[i]] = PM_LFT_KEEP;
}

/* ---- Making ---- */

static int fill_preferred(struct pm_routes *routes)
{
	struct way_down *ways = pm_array(routes->num_switches, sizeof(*ways));
	uint16_t *free_lids = pm_array(routes->stride, sizeof(*free_lids));
	uint32_t num_free = 0;
	int rc = -ENOMEM;

	if (!ways || !free_lids)
		goto out;
	rc = 0;
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (routes->to[lid].sw == PM_NONE)
			free_lids[num_free++] = (uint16_t)lid;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		fill_switch(routes, sw, ways, free_lids, num_free,
			    routes->preferred + (size_t)sw * routes->stride);
out:
	free(ways);
	free(free_lids);
	return rc;
}

static int allocate(struct pm_routes *routes)
{
	const struct pm_plan *plan = routes->plan;
	size_t cells = (size_t)routes->num_switches * routes->stride;

	routes->preferred = malloc(cells ? cells : 1);
	routes->table = malloc(cells ? cells : 1);
	routes->moved = pm_array(routes->num_switches, 1);
	routes->irregular = pm_array(routes->num_switches, 1);
	routes->full = pm_array(routes->num_switches, 1);
	routes->leaf_set =
		pm_array(pm_bits_words(routes->num_switches), sizeof(uint64_t));
	routes->nothing = pm_array(pm_bits_words(routes->num_switches), sizeof(uint64_t));
	routes->alive = pm_array(plan->known->num_ports, 1);
	routes->linked = pm_array(plan->known->num_ports, 1);
	routes->to = pm_array(routes->stride, sizeof(*routes->to));
	routes->first_lid = pm_array(routes->num_switches + 1u, sizeof(uint32_t));
	routes->first_interval = pm_array(plan->tree.num_planes + 2u, sizeof(uint32_t));
	routes->lids_of = pm_array(routes->stride, sizeof(uint16_t));
	routes->part = pm_array(routes->stride, 1);
	routes->own =
		pm_array((size_t)plan->tree.num_leaves * (plan->tree.num_planes + 1u),
			 sizeof(*routes->own));
	if (!routes->preferred || !routes->table || !routes->moved ||
	    !routes->irregular || !routes->full || !routes->leaf_set ||
	    !routes->nothing || !routes->alive || !routes->linked || !routes->to ||
	    !routes->first_lid || !routes->first_interval || !routes->lids_of ||
	    !routes->part || !routes->own ||
	    pm_reach_init(&plan->tree, &routes->whole, NULL) ||
	    pm_reach_init(&plan->tree, &routes->now, NULL))
		return -ENOMEM;
	return 0;
}

int pm_routes_make(const struct pm_plan *plan, struct pm_routes **result,
		   struct pm_error *err)
{
	struct pm_routes *routes = calloc(1, sizeof(*routes));
	int rc = -ENOMEM;

	if (!routes)
		goto out;
	routes->plan = plan;
	routes->num_switches = plan->known->num_switches;
	routes->stride = pm_plan_blocks(plan) * PM_LFT_BLOCK;
	rc = allocate(routes);
	if (rc)
		goto out;
	index_destinations(routes);
	rc = index_lids(routes);
	if (!rc)
		rc = index_intervals(routes);
	if (rc)
		goto out;
	index_own(routes);
	find_weights(routes);
	for (uint32_t i = 0; i < plan->tree.num_leaves; i++)
		pm_bits_set(routes->leaf_set, plan->tree.leaves[i]);
	/* While preferred ports are found, everything is alive. */
	memset(routes->alive, 1, plan->known->num_ports);
	memset(routes->linked, 1, plan->known->num_ports);
	pm_reach_compute(plan->known, &plan->tree, NULL, &routes->whole);
	memcpy(routes->now.down, routes->whole.down,
	       (size_t)routes->whole.words * routes->num_switches * sizeof(uint64_t));
	memcpy(routes->now.updown, routes->whole.updown,
	       (size_t)routes->whole.words * routes->num_switches * sizeof(uint64_t));
	rc = fill_preferred(routes);
	/* The pages are needed in the first event, when time counts. */
	memset(routes->table, PM_LFT_KEEP, (size_t)routes->num_switches * routes->stride);
out:
	if (rc) {
		pm_routes_free(routes);
		return pm_error_set(err, rc, "out of memory");
	}
	*result = routes;
	return 0;
}

void pm_routes_free(struct pm_routes *routes)
{
	if (!routes)
		return;
	free(routes->preferred);
	free(routes->table);
	free(routes->moved);
	free(routes->irregular);
	free(routes->full);
	free(routes->leaf_set);
	free(routes->nothing);
	free(routes->alive);
	free(routes->linked);
	free(routes->to);
	free(routes->first_lid);
	free(routes->first_interval);
	free(routes->intervals);
	free(routes->lids_of);
	free(routes->part);
	free(routes->own);
	pm_reach_free(&routes->whole);
	pm_reach_free(&routes->now);
	free(routes);
}

/* ---- Reading ---- */

const uint8_t *pm_routes_table(const struct pm_routes *routes, uint32_t sw)
{
	return (routes->moved[sw] ? routes->table : routes->preferred) +
	       (size_t)sw * routes->stride;
}

uint32_t pm_routes_stride(const struct pm_routes *routes)
{
	return routes->stride;
}

bool pm_routes_joined(const struct pm_routes *routes, uint32_t from, uint32_t to)
{
	return pm_bits_test(pm_reach_updown(&routes->now, from), to);
}
