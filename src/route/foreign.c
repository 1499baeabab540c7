/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Assigns a block's foreign destinations to ports: `part` and `step` of rules.c, where
 * the rule for the port itself is.
 *
 * A flow is a leaf that sends to a slot. When a plane fails, each leaf sends to the
 * plane's slots elsewhere over the n remaining planes in turn, slot by slot. The leaves
 * of a pod begin with different planes, all next to each other. So a switch of another
 * plane, with L leaves below it, gets L / n flows to each slot from each pod. This is
 * rounded up for L mod n of n consecutive slots, and down for the others. The `phase` of
 * switch and plane says for which slots it is rounded up.
 */
#include "route_parts.h"

#include <errno.h>

/* ---- Room ---- */

/*
 * The tree's sizes, as if all its parts were of mean size. All is counted in integers, so
 * that all builds make the same tables. Products fit in 64 bits: there are at most 2^16
 * LIDs, leaves and pods, 2^24 planes and 2^8 ports of a switch.
 */
struct mean {
	uint64_t leaves, pods; /* of the tree */
	uint64_t room;	 /* flows that a failed component may add to a link above level 1,
			    times `planes`, rounded down */
	uint32_t failed; /* planes of a component */
	uint32_t planes; /* the other planes, at least 1 */
	uint32_t width;	 /* up ports of a switch */
	uint32_t links;	 /* from a switch of level 1 to one above */
};

/* Slots of all planes, at least 1 of each on average. */
static uint64_t count_slots(const struct pm_routes *routes)
{
	uint32_t slots = 0, planes = routes->plan->tree.num_planes;

	for (uint32_t lid = 0; lid < routes->stride; lid++)
		slots += routes->to[lid].counts;
	return slots > planes ? slots : planes;
}

/* The most links from a switch of level 1 to one above. */
static uint32_t most_parallel(const struct pm_routes *routes)
{
	uint32_t most = 1;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		struct up_ports up = route_up(routes, sw);
		uint32_t first = route_node(routes, sw)->first_port, last = PM_NONE;
		uint32_t length = 0;

		if (pm_tree_height(&routes->plan->tree, sw) != 1)
			continue;
		for (uint32_t i = 0; i < up.count; i++) {
			uint32_t remote = route_remote_switch(routes, first + up.num[i]);

			length = remote == last ? length + 1 : 1;
			last = remote;
			if (length > most)
				most = length;
		}
	}
	return most;
}

/* value * part / whole, rounded down; only part * whole and the result need to fit. */
static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return value / whole * part + value % whole * part / whole;
}

/*
 * Each link above level 1 carries some flows, both up and down. It would carry more if
 * those of a failed component were spread evenly over the others. At most 7% more than
 * that is allowed, or one more flow, as a flow is not divided. Returns how many more
 * flows than before this is, times mean->planes, rounded down.
 */
static uint64_t find_room(const struct pm_routes *routes, const struct mean *mean)
{
	uint64_t all = routes->plan->tree.num_planes, failed = all - mean->planes;
	uint64_t pairs = count_slots(routes) * (mean->pods - 1) * mean->leaves;
	/* A link carries pairs / (all * links) flows before, `all / mean->planes` times
	 * as many afterwards. */
	uint64_t links = mean->pods * mean->pods * mean->width;
	uint64_t part = scale(pairs, 100 * failed + 7 * all, 100 * all) / links;
	uint64_t one = scale(pairs, failed, all) / links + mean->planes;

	return part > one ? part : one;
}

static struct mean find_mean(const struct pm_routes *routes, uint32_t width)
{
	const struct pm_tree *tree = &routes->plan->tree;
	struct mean mean = {
		.leaves = tree->num_leaves,
		.pods = tree->num_pods,
		.failed = tree->num_planes / tree->num_components,
		.width = width,
		.links = most_parallel(routes),
	};

	if (mean.failed == 0)
		mean.failed = 1;
	mean.planes = tree->num_planes - mean.failed;
	if (mean.planes == 0)
		mean.planes = 1;
	mean.room = find_room(routes, &mean);
	return mean;
}

/* ---- Choosing ports ---- */

/* Flows to a place, in the assignment's unit. */
static uint64_t find_flows(const struct pm_routes *routes, const struct foreign *foreign,
			   uint32_t phase, uint32_t lid)
{
	uint32_t planes = routes->plan->tree.num_planes - 1;
	uint32_t index;

	if (!routes->to[lid].counts)
		return 0;
	if (!foreign->more)
		return foreign->flows[0];
	index = routes->to[lid].index % planes;
	return foreign->flows[(index + planes - phase) % planes < foreign->more];
}

/* Shorter runs of a plane's LIDs are assigned one by one. */
#define FEW 8

/* The walk over a plane's LIDs. */
struct walk {
	uint32_t port, block, pod;
	uint64_t load; /* of the present port, in the assignment's unit */
};

static void walk_on(const struct pm_routes *routes, const struct foreign *foreign,
		    uint64_t flows, uint32_t lid, struct walk *walk)
{
	uint32_t pod = routes->plan->tree.pod[routes->to[lid].sw];
	uint32_t block = lid / PM_LFT_BLOCK;

	if (!flows)
		return;
	if (walk->load > 0 &&
	    (block != walk->block || (foreign->by_pod && pod != walk->pod) ||
	     walk->load + flows > foreign->share * foreign->unit)) {
		walk->load = 0;
		walk->port++;
	}
	walk->load += flows;
	walk->block = block;
	walk->pod = pod;
}

/*
 * Chooses the ports of a plane's destinations. The LIDs of a block fill one port after
 * the other, each up to its share of flows; pods may have separate ports. Where LIDs do
 * not form a run of their plane, blocks have all ports anyway, and a LID's port is
 * its rank. part[lid] may be NULL. Returns the number of ports.
 */
static uint32_t assign_plane(const struct pm_routes *routes,
			     const struct foreign *foreign, uint32_t phase,
			     uint32_t plane, uint8_t *part)
{
	uint32_t first = plane * foreign->each_plane;
	struct walk walk = {.port = 0};

	for (uint32_t i = routes->first_interval[plane];
	     i < routes->first_interval[plane + 1]; i++) {
		const struct interval *interval = &routes->intervals[i];
		uint32_t lid = interval->start, end = lid + interval->length;

		for (; lid < end; lid++) {
			uint32_t port = routes->to[lid].rank;

			if (interval->length >= FEW) {
				walk_on(routes, foreign,
					find_flows(routes, foreign, phase, lid), lid,
					&walk);
				port = first + walk.port;
			}
			if (part)
				part[lid] = (uint8_t)(port % foreign->width);
		}
	}
	return walk.port + (walk.load > 0);
}

static uint32_t count_ports(const struct pm_routes *routes, const struct foreign *foreign)
{
	uint32_t ports = 0;

	for (uint32_t p = 0; p < routes->plan->tree.num_planes; p++)
		ports += assign_plane(routes, foreign, 0, p, NULL);
	return ports;
}

/*
 * Finds the smallest share that takes no more ports than the largest allowed share does.
 * `ports`: how many there are if planes that fail together have separate ports. If these
 * are too few, each port is taken several times, and shares are smaller. Returns how many
 * times.
 */
static uint32_t choose_share(const struct pm_routes *routes, const struct mean *mean,
			     const struct pm_ratio *ports, struct foreign *foreign)
{
	uint64_t room = mean->room / mean->planes;
	uint32_t low = 0, high, wanted, times = 0;

	do {
		high = (uint32_t)(room / ++times);
		if (high == 0)
			high = 1;
		foreign->share = high;
		wanted = count_ports(routes, foreign);
	} while (wanted > times * ports->numerator / ports->denominator && high > 1);
	/* low is too small */
	while (high - low > 1) {
		foreign->share = low + (high - low) / 2;
		if (count_ports(routes, foreign) > wanted)
			low = foreign->share;
		else
			high = foreign->share;
	}
	foreign->share = high;
	return times;
}

/*
 * Assumes `each` flows per slot on average, in foreign->unit. The slots with one flow
 * more are found out where one more flow on a port would exceed the room, or where this
 * saves ports; but not where components have several planes.
 */
static void share_out(const struct pm_routes *routes, const struct mean *mean,
		      uint64_t each, const struct pm_ratio *ports,
		      struct foreign *foreign)
{
	uint32_t more = (uint32_t)(mean->leaves / mean->pods % mean->planes);
	uint32_t times, taken;
	uint64_t most; /* flows of a port on average, times mean->planes */
	bool fits;

	foreign->flows[0] = each;
	times = choose_share(routes, mean, ports, foreign);
	taken = count_ports(routes, foreign);
	most = (uint64_t)foreign->share * mean->planes +
	       (uint64_t)more * (mean->planes - more);
	fits = times * most <= mean->room;
	if (!more || mean->failed > 1)
		return;
	foreign->more = more;
	foreign->flows[0] = each / foreign->unit * foreign->unit;
	foreign->flows[1] = foreign->flows[0] + foreign->unit;
	choose_share(routes, mean, ports, foreign);
	if (!fits || count_ports(routes, foreign) < taken)
		return;
	foreign->more = 0;
	foreign->flows[0] = each;
	choose_share(routes, mean, ports, foreign);
}

/*
 * Flows to the switch's own pod do not go up, if there are other pods. So if it takes no
 * more ports, each pod has ports of its own, and a switch does not use those of its own
 * pod. Flows to a pod take some adjacent ports, and other ports at the next switch of the
 * level: otherwise all of them would come down by the same links. Parallel links lead
 * down from one switch.
 */
static void share_up(struct pm_routes *routes, const struct mean *mean)
{
	uint64_t planes = routes->plan->tree.num_planes;
	uint64_t bundle = planes * mean->pods * mean->links;
	struct pm_ratio ports = {planes * mean->width * mean->pods,
				 mean->failed * (mean->pods > 1 ? mean->pods - 1 : 1)};
	struct foreign *up = &routes->foreign_up;
	uint32_t taken, bundles;

	up->unit = mean->pods * mean->planes;
	share_out(routes, mean, mean->leaves, &ports, up);
	taken = count_ports(routes, up);
	up->by_pod = true;
	up->by_pod = count_ports(routes, up) <= taken;
	bundles = (uint32_t)((taken + bundle - 1) / bundle);
	up->step =
		bundles * mean->links % mean->width ? bundles * mean->links : mean->links;
}

/*
 * Shares of the links down to one switch of level 1. Where these are all of that switch's
 * links up, and all flows come from one other pod, there are as many flows as go up
 * there. Otherwise each slot is taken to have equally many.
 */
static void share_down(struct pm_routes *routes, const struct mean *mean)
{
	uint64_t each = mean->leaves * (mean->pods - 1) * mean->links;
	struct pm_ratio ports = {(uint64_t)mean->links * routes->plan->tree.num_planes *
					 mean->pods,
				 mean->failed};
	struct foreign *down = &routes->foreign_down;

	down->unit = mean->pods * mean->planes * mean->width;
	down->step = 1;
	down->by_pod = true;
	if (mean->links == mean->width && routes->plan->tree.num_pods == 2) {
		share_out(routes, mean, each, &ports, down);
	} else {
		down->flows[0] = each;
		choose_share(routes, mean, &ports, down);
	}
}

/*
 * Gives unassigned LIDs the port of others in their block; whether all have this port
 * then.
 */
static bool even_out_block(const struct pm_routes *routes, uint32_t first, uint8_t *part)
{
	uint32_t end = first + PM_LFT_BLOCK, lid = first;
	uint8_t port;

	while (lid < end && routes->to[lid].sw == PM_NONE)
		lid++;
	port = lid < end ? part[lid] : 0;
	for (lid = first; lid < end; lid++) {
		if (routes->to[lid].sw == PM_NONE)
			part[lid] = port;
		if (part[lid] != port)
			return false;
	}
	return true;
}

/* All LIDs of a lone block have one port, the next block the next one. */
static void assign_lone(const struct pm_routes *routes, const struct foreign *foreign,
			uint8_t *part)
{
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		if (routes->is_lone[lid / PM_LFT_BLOCK])
			part[lid] = (uint8_t)(lid / PM_LFT_BLOCK % foreign->width);
}

static int make_parts(struct pm_routes *routes, struct foreign *foreign,
		      struct pm_error *err)
{
	uint32_t planes = routes->plan->tree.num_planes;

	foreign->phases = foreign->more ? planes - 1 : 1;
	foreign->part =
		pm_pool_array(&routes->pool, (size_t)foreign->phases * routes->stride, 1);
	if (!foreign->part)
		return pm_pool_check(&routes->pool, err);
	if (planes > 1) {
		foreign->each_plane =
			(count_ports(routes, foreign) + planes - 1) / planes;
		for (uint32_t i = 0; i < foreign->phases; i++)
			for (uint32_t p = 0; p <= planes; p++)
				assign_plane(routes, foreign, i, p,
					     foreign->part + (size_t)i * routes->stride);
		for (uint32_t i = 0; i < foreign->phases; i++)
			assign_lone(routes, foreign,
				    foreign->part + (size_t)i * routes->stride);
	}
	foreign->whole_blocks = foreign->phases == 1;
	for (uint32_t lid = 0; lid < routes->stride; lid += PM_LFT_BLOCK)
		foreign->whole_blocks &= even_out_block(routes, lid, foreign->part);
	return 0;
}

int route_assign_foreign(struct pm_routes *routes, uint32_t width, struct pm_error *err)
{
	int rc;

	routes->foreign_up.width = routes->foreign_down.width = 1;
	if (routes->plan->tree.num_planes > 1) {
		struct mean mean = find_mean(routes, width);

		routes->foreign_up.width = mean.width;
		routes->foreign_down.width = mean.links;

		share_up(routes, &mean);
		share_down(routes, &mean);
	}
	rc = make_parts(routes, &routes->foreign_up, err);
	return rc ? rc : make_parts(routes, &routes->foreign_down, err);
}

/*
 * The phase of a plane at a switch, for flows from this leaf and the following ones.
 * Slots with this index modulo n get the flows of the leaf with this index over that
 * switch, as by leaf_key() of moved.c. `behind`: for slots behind the leaf's own ones.
 */
static uint32_t find_phase(const struct pm_routes *routes, const struct foreign *foreign,
			   uint32_t leaf, uint32_t sw, uint32_t plane, bool behind)
{
	const struct pm_tree *tree = &routes->plan->tree;
	const struct own *own = routes->own + (size_t)leaf * (tree->num_planes + 1u);
	uint32_t native = routes->below[sw].plane, index, before;

	if (foreign->phases == 1 || native == PM_NONE || plane == tree->num_planes)
		return 0;
	index = own[native].index - (own[plane].index < own[native].index);
	before = own[plane].before + (behind ? own[plane].count : 0);
	return (index + before + leaf + foreign->phases -
		LEAF_INDEXES % foreign->phases) %
	       foreign->phases;
}

static uint32_t phase_of(const struct pm_routes *routes, const struct foreign *foreign,
			 uint32_t leaf, uint32_t sw, uint32_t lid)
{
	const struct destination *to = &routes->to[lid];
	uint32_t planes = routes->plan->tree.num_planes;
	const struct own *own = routes->own + (size_t)leaf * (planes + 1u);

	return find_phase(routes, foreign, leaf, sw, to->plane,
			  to->rank > own[to->plane].first);
}

uint32_t route_foreign_up(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	const struct foreign *up = &routes->foreign_up;
	uint32_t leaf = routes->below[sw].leaf;

	if (pm_tree_height(&routes->plan->tree, sw) > 1)
		return routes->plan->tree.index_in_level[sw] + routes->to[lid].rank;
	return route_foreign_key(routes, up, phase_of(routes, up, leaf, sw, lid), sw,
				 lid);
}

/* With two pods, flows come from the other pod, and phases may matter. */
uint32_t route_down_phase(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	const struct pm_tree *tree = &routes->plan->tree;
	bool first = tree->pod[routes->to[lid].sw] == tree->pod[tree->leaves[0]];

	return phase_of(routes, &routes->foreign_down, first ? routes->other_pod : 0, sw,
			lid);
}

/* For a plane at a switch: the parts of slots before and behind a leaf's own slots. */
struct sides {
	uint32_t first;
	const uint8_t *part[2];
};

static struct sides find_sides(const struct pm_routes *routes, uint32_t sw,
			       uint32_t plane)
{
	const struct foreign *up = &routes->foreign_up;
	uint32_t leaf = routes->below[sw].leaf, planes = routes->plan->tree.num_planes;
	struct sides sides = {
		.first = routes->own[(size_t)leaf * (planes + 1u) + plane].first,
	};

	for (int behind = 0; behind < 2; behind++)
		sides.part[behind] = up->part + (size_t)find_phase(routes, up, leaf, sw,
								   plane, behind) *
							routes->stride;
	return sides;
}

/* The up ports of a switch as a ring, from the first one that the switch uses. */
struct ring {
	uint8_t num[2 * PM_MAX_PORTS + 1];
};

static void make_ring(const struct pm_routes *routes, uint32_t sw, struct up_ports up,
		      struct ring *ring)
{
	uint32_t at = routes->plan->tree.index_in_level[sw] * routes->foreign_up.step;

	for (uint32_t i = 0; i < routes->foreign_up.width; i++)
		ring->num[i] = up.num[(at + i) % up.count];
}

static void fill_plane(const struct pm_routes *routes, uint32_t sw, uint32_t plane,
		       const struct ring *ring, uint8_t *row)
{
	struct sides sides = find_sides(routes, sw, plane);

	for (uint32_t i = routes->first_interval[plane];
	     i < routes->first_interval[plane + 1]; i++) {
		uint32_t lid = routes->intervals[i].start;
		uint32_t end = lid + routes->intervals[i].length;

		for (; lid < end; lid++) {
			bool behind = routes->to[lid].rank > sides.first;

			row[lid] = ring->num[sides.part[behind][lid]];
		}
	}
}

/* With one phase all planes are alike. */
static void fill_blocks(const struct pm_routes *routes, const struct ring *ring,
			uint8_t *row)
{
	const struct foreign *up = &routes->foreign_up;

	for (uint32_t lid = 0; lid < routes->stride; lid += PM_LFT_BLOCK)
		if (up->whole_blocks)
			memset(row + lid, ring->num[up->part[lid]], PM_LFT_BLOCK);
		else
			for (uint32_t i = lid; i < lid + PM_LFT_BLOCK; i++)
				row[i] = ring->num[up->part[i]];
}

void route_fill_foreign(const struct pm_routes *routes, uint32_t sw, struct up_ports up,
			uint8_t *row)
{
	struct ring ring;

	make_ring(routes, sw, up, &ring);
	if (pm_tree_height(&routes->plan->tree, sw) > 1)
		for (uint32_t lid = 0; lid < routes->stride; lid++)
			row[lid] = up.num[route_foreign_up(routes, sw, lid) % up.count];
	else if (routes->foreign_up.phases == 1)
		fill_blocks(routes, &ring, row);
	else
		for (uint32_t p = 0; p <= routes->plan->tree.num_planes; p++)
			fill_plane(routes, sw, p, &ring, row);
}
