/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gives LIDs to places: the layouts, and spare LIDs. */
#include "plan_parts.h"

#include <errno.h>
#include <stdlib.h>

/* The places of one group in the order in which they get LIDs. */
struct group {
	uint32_t *places; /* slots and leaves' own LIDs, in subtree order */
	uint32_t num_places;
	uint32_t *fillers; /* the others: switches above the leaves, and their slots */
	uint32_t num_fillers;
	uint32_t num_slots, num_leaves; /* of places: slots, leaves' own LIDs */
	bool slots_only;		/* only slots are; leaves are the last fillers */
};

/* Counts the places from the i-th on that belong to one pod (or one leaf). */
static uint32_t count_same(const struct pm_plan *plan, const struct group *group,
			   uint32_t i, bool pod)
{
	const struct pm_port *ports = plan->topology->ports;
	uint32_t sw = ports[group->places[i]].node, count = 0;

	while (i + count < group->num_places) {
		uint32_t next = ports[group->places[i + count]].node;

		if (pod ? plan->tree.pod[next] != plan->tree.pod[sw] : next != sw)
			break;
		count++;
	}
	return count;
}

/* A run of at most half a block is a power of two, so that it never straddles. */
static uint32_t run_length(uint32_t needed)
{
	uint32_t length = 1;

	if (needed > PM_LFT_BLOCK / 2)
		return (needed + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK * PM_LFT_BLOCK;
	while (length < needed)
		length *= 2;
	return length;
}

/*
 * LIDs to leave free, so that the next `length` LIDs do not straddle a block. 0 if they
 * would not, always would, or if there are not enough spare LIDs.
 */
static uint32_t gap_before(uint32_t at, uint32_t length, uint32_t spare)
{
	uint32_t room = PM_LFT_BLOCK - at % PM_LFT_BLOCK;

	return length > room && length <= PM_LFT_BLOCK && room <= spare ? room : 0;
}

static uint32_t align(uint32_t lid, uint32_t to)
{
	return (lid + to - 1) / to * to;
}

/* LIDs that the places from the i-th on need, one after the other, from LID `at` on. */
static uint32_t measure(const struct pm_plan *plan, const struct group *group, uint32_t i,
			uint32_t count, uint32_t at)
{
	uint32_t start = at;

	for (; count > 0; count--, i++) {
		uint32_t num = pm_plan_num_lids(plan, group->places[i]);

		at = align(at, num) + num;
	}
	return at - start;
}

/*
 * Gives the LIDs of a run to the places of a group; the run is long enough. Slots and
 * leaves take no more blocks than they need. Gaps that these blocks allow go to pods
 * first. Where pods straddle, leaves keep what they need: per block, at most one LID less
 * than a leaf has.
 */
static void fill_run(struct pm_plan *plan, const struct group *group, uint32_t start,
		     uint32_t length)
{
	uint32_t at = start ? start : 1;
	uint32_t needed = at - start + measure(plan, group, 0, group->num_places, at);
	uint32_t blocks = (needed + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
	uint32_t spare = length < PM_LFT_BLOCK ? 0 : blocks * PM_LFT_BLOCK - needed;
	uint32_t pod_left = 0, leaf_left = 0, longest = 1;

	for (uint32_t i = 0; i < group->num_places; i += leaf_left) {
		leaf_left = count_same(plan, group, i, false);
		if (leaf_left > longest)
			longest = leaf_left;
	}
	leaf_left = 0;
	for (uint32_t i = 0; i < group->num_places; i++, pod_left--, leaf_left--) {
		uint32_t gap = 0, reserve = blocks * (longest - 1);

		if (!pod_left) {
			pod_left = count_same(plan, group, i, true);
			gap = gap_before(at, measure(plan, group, i, pod_left, at),
					 spare > reserve ? spare - reserve : 0);
		}
		if (!leaf_left) {
			leaf_left = count_same(plan, group, i, false);
			if (!gap)
				gap = gap_before(at,
						 measure(plan, group, i, leaf_left, at),
						 spare);
		}
		spare -= gap;
		at = align(at + gap, pm_plan_num_lids(plan, group->places[i]));
		plan_give_lids(plan, group->places[i], at);
		at += pm_plan_num_lids(plan, group->places[i]);
	}
}

/*
 * Gives the rest of a group free LIDs of the run, from its end, so that the last run ends
 * with a switch. Places that find none are left to plan_give_missing.
 */
static void fill_gaps(struct pm_plan *plan, const struct group *group, uint32_t start,
		      uint32_t length)
{
	for (uint32_t f = group->num_fillers; f-- > 0;) {
		uint32_t num = pm_plan_num_lids(plan, group->fillers[f]);
		uint32_t lid = start + length - num;

		if (plan->lid[group->fillers[f]])
			continue;
		while (lid > start && !plan_is_free(plan, lid, num))
			lid--;
		if (plan_is_free(plan, lid, num))
			plan_give_lids(plan, group->fillers[f], lid);
	}
}

static struct group *group_of(const struct pm_plan *plan, struct group *groups,
			      uint32_t place)
{
	uint32_t plane = plan->plane[place];

	return &groups[plane == PM_NONE ? plan->tree.num_planes : plane];
}

static bool is_on_leaf(const struct pm_plan *plan, uint32_t place)
{
	return pm_tree_is_leaf(&plan->tree, plan->topology->ports[place].node);
}

/* Whether a place gets one of the LIDs left in its group's run. */
static bool is_filler(const struct pm_plan *plan, const struct group *group,
		      uint32_t place)
{
	return !is_on_leaf(plan, place) ||
	       (plan->topology->ports[place].num == 0 && group->slots_only);
}

/*
 * With LMC, finds groups where leaves' own LIDs among slots' would take one more block.
 */
static void find_slots_only(const struct pm_plan *plan, const uint8_t *is_place,
			    struct group *groups)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		struct group *group = group_of(plan, groups, i);

		if (!is_place[i] || !is_on_leaf(plan, i))
			continue;
		group->num_slots += plan->topology->ports[i].num != 0;
		group->num_leaves += plan->topology->ports[i].num == 0;
	}
	for (uint32_t p = 0; plan->lmc && p <= plan->tree.num_planes; p++) {
		uint32_t slots = groups[p].num_slots << plan->lmc;
		uint32_t leaves = groups[p].num_leaves << plan->lmc;

		groups[p].slots_only =
			align(slots + leaves, PM_LFT_BLOCK) != align(slots, PM_LFT_BLOCK);
	}
}

/*
 * Sorts places into groups, one per plane and a last one for places without a plane;
 * groups[] has num_planes + 1 elements, room[] one per port.
 */
static void collect_groups(const struct pm_plan *plan, const uint8_t *is_place,
			   struct group *groups, uint32_t *room)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t planes = tree->num_planes;

	find_slots_only(plan, is_place, groups);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		struct group *group = group_of(plan, groups, i);

		if (!is_place[i])
			continue;
		if (is_filler(plan, group, i))
			group->num_fillers++;
		else
			group->num_places++;
	}
	for (uint32_t p = 0; p <= planes; p++) {
		groups[p].places = room;
		groups[p].fillers = room + groups[p].num_places;
		room += groups[p].num_places + groups[p].num_fillers;
		groups[p].num_places = groups[p].num_fillers = 0;
	}
	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		const struct pm_node *n = &plan->topology->nodes[tree->leaves[l]];

		for (uint32_t k = 1; k <= n->num_ports + 1u; k++) {
			/* a leaf's own LID comes after its slots */
			uint32_t i = n->first_port + k % (n->num_ports + 1u);
			struct group *group = group_of(plan, groups, i);

			if (is_place[i] && !is_filler(plan, group, i))
				group->places[group->num_places++] = i;
		}
	}
	for (int leaves = 0; leaves <= 1; leaves++)
		for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
			struct group *group = group_of(plan, groups, i);

			if (is_place[i] && is_filler(plan, group, i) &&
			    is_on_leaf(plan, i) == leaves)
				group->fillers[group->num_fillers++] = i;
		}
}

/*
 * The last plane that has the LID of a switch; num_planes stands for none. With LMC only
 * leaves count, as other switches may find no room in the plane.
 */
static uint32_t last_with_switch(const struct pm_plan *plan, const uint8_t *is_place)
{
	uint32_t none = plan->tree.num_planes, last = 0;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t p = plan->plane[i] == PM_NONE ? none : plan->plane[i];

		if (is_place[i] && plan->topology->ports[i].num == 0 && p > last &&
		    (!plan->lmc || is_on_leaf(plan, i)))
			last = p;
	}
	return last;
}

/*
 * The highest LID of all should be a switch's, so that LinearFDBTop does not depend on
 * hosts. Where the last run ends with a slot, a leaf's own LID goes behind it, or swaps
 * places with it.
 */
static void end_with_switch(struct pm_plan *plan, const struct group *group,
			    uint32_t start, uint32_t length)
{
	uint32_t top = start + length - 1, leaf = PM_NONE, slot;

	while (top > start && plan->owner[top] == PM_NONE)
		top--;
	slot = plan->owner[top];
	for (uint32_t i = 0; i < group->num_places; i++)
		if (plan->topology->ports[group->places[i]].num == 0)
			leaf = group->places[i];
	if (slot == PM_NONE || plan->topology->ports[slot].num == 0 || leaf == PM_NONE)
		return;
	if (top + 1 < start + length) {
		plan->owner[plan->lid[leaf]] = PM_NONE;
		plan_give_lids(plan, leaf, top + 1);
	} else if (pm_plan_num_lids(plan, slot) == 1) {
		plan_give_lids(plan, slot, plan->lid[leaf]);
		plan_give_lids(plan, leaf, top);
	}
}

/*
 * LIDs that a group needs when its run begins at this LID. With LMC, whatever does not
 * fit into the blocks of slots is left to give_rest.
 */
static uint32_t group_length(const struct pm_plan *plan, const struct group *group,
			     uint32_t at)
{
	uint32_t length = measure(plan, group, 0, group->num_places, at);

	if (plan->lmc && (length == 0 || length > PM_LFT_BLOCK / 2))
		return length;
	for (uint32_t i = 0; i < group->num_fillers; i++)
		length += 2 * pm_plan_num_lids(plan, group->fillers[i]) - 1;
	return length;
}

/* Runs that share a block. */
struct shared {
	uint32_t num;	 /* their number; 0: none */
	uint32_t spare;	 /* spare LIDs of each */
	uint32_t length; /* of all of them together */
};

/*
 * Finds a component's planes, from the n-th on, for which a block has room, but not with
 * runs that are powers of two. They share it, as they fail together.
 */
static struct shared find_shared(const struct pm_plan *plan, const struct group *groups,
				 uint32_t n, uint32_t last, uint32_t next)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t first = plan_nth_plane(plan, n, last), powers = 0;
	struct shared shared = {0, 0, 0};

	for (; n <= tree->num_planes; n++) {
		uint32_t p = plan_nth_plane(plan, n, last);
		uint32_t needed = group_length(plan, &groups[p], 0);

		if (!needed)
			continue;
		if (p == tree->num_planes || first == tree->num_planes ||
		    tree->planes[p].component != tree->planes[first].component)
			break;
		if (needed > PM_LFT_BLOCK / 2)
			return (struct shared){0, 0, 0};
		needed += next == 0 && shared.num == 0;
		shared.num++;
		shared.length += needed;
		powers += run_length(needed);
	}
	if (plan->lmc || shared.length > PM_LFT_BLOCK || powers <= PM_LFT_BLOCK)
		return (struct shared){0, 0, 0};
	shared.spare = (PM_LFT_BLOCK - shared.length) / shared.num;
	shared.length += shared.spare * shared.num;
	return shared;
}

/* The highest free LID of all runs, or 0. */
static uint32_t highest_free(const struct pm_plan *plan)
{
	for (uint32_t r = plan->num_runs; r-- > 0;)
		for (uint32_t k = plan->runs[r].length; k-- > 0;)
			if (plan_is_free(plan, plan->runs[r].start + k, 1))
				return plan->runs[r].start + k;
	return 0;
}

/* Whether slots fill their blocks, so that they cannot use the block with LID 0. */
static bool leaves_first_block(const struct pm_plan *plan, const struct group *group)
{
	return plan->lmc && run_length(group_length(plan, group, 1) + 1) >
				    run_length(group_length(plan, group, 0));
}

/* The state of laying out groups. */
struct layout {
	struct pm_plan *plan;
	struct group *groups; /* [plane + 1] */
	uint32_t next;	      /* the first LID behind all runs so far */
	uint32_t last;	      /* the plane with the last run */
	struct shared shared;
};

/* Adds the n-th run, and gives LIDs to the places of its group. */
static int lay_out_group(struct layout *l, uint32_t n, struct pm_error *err)
{
	struct pm_plan *plan = l->plan;
	uint32_t planes = plan->tree.num_planes, p = plan_nth_plane(plan, n, l->last);
	uint32_t needed = group_length(plan, &l->groups[p], 0), length;
	int rc;

	if (!needed)
		return 0;
	if (l->next == 0 && leaves_first_block(plan, &l->groups[p]))
		l->next = PM_LFT_BLOCK;
	if (!l->shared.num) {
		l->shared = find_shared(plan, l->groups, n, l->last, l->next);
		if (l->next % PM_LFT_BLOCK + l->shared.length > PM_LFT_BLOCK)
			l->next = align(l->next, PM_LFT_BLOCK);
	}
	if (l->next == 0)
		needed = group_length(plan, &l->groups[p], 1) + 1;
	length = l->shared.num ? needed + l->shared.spare : run_length(needed);
	if (!l->shared.num)
		l->next = align(l->next, length < PM_LFT_BLOCK ? length : PM_LFT_BLOCK);
	l->shared.num -= l->shared.num > 0;
	rc = plan_add_run(plan, l->next, length, p == planes ? PM_NONE : p, err);
	if (rc)
		return rc;
	fill_run(plan, &l->groups[p], l->next, length);
	l->next += length;
	return 0;
}

static const struct group *group_of_run(const struct layout *l, const struct pm_run *run)
{
	return &l->groups[run->plane == PM_NONE ? l->plan->tree.num_planes : run->plane];
}

/* Gives the groups' other places LIDs. */
static void fill_all_gaps(struct layout *l)
{
	struct pm_plan *plan = l->plan;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];

		fill_gaps(plan, group_of_run(l, run), run->start, run->length);
	}
}

/* The first LID behind all places and runs. */
static uint32_t find_end(const struct pm_plan *plan)
{
	uint32_t end = 1;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++)
		if (plan->owner[lid] != PM_NONE)
			end = lid + 1;
	for (uint32_t r = 0; r < plan->num_runs; r++) {
		uint32_t run_end = (uint32_t)plan->runs[r].start + plan->runs[r].length;

		if (run_end > end)
			end = run_end;
	}
	return end;
}

/* Adds a run of one block, which planes share, behind all others. */
static int add_block(struct pm_plan *plan, uint32_t *start, struct pm_error *err)
{
	*start = align(find_end(plan), PM_LFT_BLOCK);
	return plan_add_run(plan, *start, PM_LFT_BLOCK, PM_NONE, err);
}

/* Gives switches without a LID the LIDs left in all runs, and then a run of their own. */
static int give_rest(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t lid, start;

		if (!is_place[i] || plan->lid[i] || plan->topology->ports[i].num != 0)
			continue;
		lid = highest_free(plan);
		if (!lid) {
			int rc = add_block(plan, &start, err);

			if (rc)
				return rc;
			lid = highest_free(plan);
		}
		plan_give_lids(plan, i, lid);
	}
	return 0;
}

/* ---- Aggregation nodes ---- */

/*
 * Aggregation nodes get the LIDs that all others leave: a fabric costs the same with them
 * and without. In each block that the others do not need, a failure may change entries of
 * every switch.
 *
 * At a leaf, an aggregation node may take any plane, so it takes a LID in a block of the
 * leaf's slots, which changes with their plane anyway. What finds no LID in a run of its
 * plane gets one in blocks behind all runs, which planes share (see find_lone in
 * route/index.c). The highest LID may then be an aggregation node's, which comes and goes
 * with its switch.
 */
static bool is_aggregation(const struct pm_plan *plan, uint32_t place)
{
	return plan->topology->ports[place].host == PM_AGGREGATION;
}

/* The part of a run in one block. */
struct stretch {
	uint32_t first, end;
};

static struct stretch stretch_of(const struct pm_run *run, uint32_t lid)
{
	uint32_t first = lid / PM_LFT_BLOCK * PM_LFT_BLOCK;
	uint32_t end = (uint32_t)run->start + run->length;

	return (struct stretch){
		.first = first > run->start ? first : run->start,
		.end = end < first + PM_LFT_BLOCK ? end : first + PM_LFT_BLOCK,
	};
}

/* The stretch with a LID; empty if no run has it. */
static struct stretch find_stretch(const struct pm_plan *plan, uint32_t lid)
{
	for (uint32_t r = 0; r < plan->num_runs; r++)
		if (lid >= plan->runs[r].start &&
		    lid < (uint32_t)plan->runs[r].start + plan->runs[r].length)
			return stretch_of(&plan->runs[r], lid);
	return (struct stretch){0, 0};
}

/* The first of num free LIDs there, and the number of such places; or 0. */
static uint32_t find_free(const struct pm_plan *plan, struct stretch at, uint32_t num,
			  uint32_t *count)
{
	uint32_t first = 0;

	*count = 0;
	for (uint32_t lid = at.first; lid + num <= at.end; lid++) {
		if (!plan_is_free(plan, lid, num))
			continue;
		first = *count ? first : lid;
		++*count;
	}
	return first;
}

/*
 * Gives an aggregation node of a leaf a LID beside a slot of the leaf, in the block with
 * the most room, if there is any.
 */
static void give_beside(struct pm_plan *plan, const uint8_t *is_place, uint32_t place)
{
	uint32_t sw = plan->topology->ports[place].node, most = 0, best = 0;

	pm_for_each_port(i, plan->topology, sw) {
		uint32_t lid, count;

		if (!is_place[i] || !plan->lid[i] || plan->plane[i] == PM_NONE)
			continue;
		lid = find_free(plan, find_stretch(plan, plan->lid[i]),
				pm_plan_num_lids(plan, place), &count);
		if (count <= most)
			continue;
		most = count;
		best = lid;
		plan->plane[place] = plan->plane[i];
		plan->base_plane[place] = plan->base_plane[i];
	}
	if (best)
		plan_give_lids(plan, place, best);
}

/* Whether some place there belongs to this place's pod. */
static bool has_pod(const struct pm_plan *plan, struct stretch at, uint32_t place)
{
	uint32_t pod = plan->tree.pod[plan->topology->ports[place].node];

	for (uint32_t lid = at.first; pod != PM_NONE && lid < at.end; lid++) {
		uint32_t owner = plan->owner[lid];

		if (owner != PM_NONE &&
		    plan->tree.pod[plan->topology->ports[owner].node] == pod)
			return true;
	}
	return false;
}

/* Whether some LID there has this plane: with LMC, slots have LIDs of several. */
static bool has_plane(const struct pm_plan *plan, struct stretch at, uint32_t plane)
{
	for (uint32_t lid = at.first; plan->lmc && lid < at.end; lid++) {
		uint32_t owner = plan->owner[lid];

		if (owner != PM_NONE &&
		    pm_plan_plane(plan, owner, lid - plan->lid[owner]) == plane)
			return true;
	}
	return false;
}

/*
 * Gives another aggregation node a LID in a block of its plane, if there is one: with
 * others of its pod, which change together, or else the first one.
 */
static void give_in_plane(struct pm_plan *plan, uint32_t place)
{
	uint32_t num = pm_plan_num_lids(plan, place), plane = plan->plane[place];
	uint32_t found = 0;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];
		uint32_t end = (uint32_t)run->start + run->length;

		for (uint32_t lid = run->start; lid < end;
		     lid += PM_LFT_BLOCK - lid % PM_LFT_BLOCK) {
			struct stretch at = stretch_of(run, lid);
			uint32_t count, first = find_free(plan, at, num, &count);

			if (!first ||
			    (run->plane != plane && !has_plane(plan, at, plane)))
				continue;
			if (has_pod(plan, at, place)) {
				plan_give_lids(plan, place, first);
				return;
			}
			found = found ? found : first;
		}
	}
	if (found)
		plan_give_lids(plan, place, found);
}

/* Gives aggregation nodes without a LID one in shared blocks, plane by plane. */
static int add_blocks(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	uint32_t planes = plan->tree.num_planes, lid = 0, end = 0;

	for (uint32_t p = 0; p <= planes; p++)
		for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
			uint32_t num = pm_plan_num_lids(plan, i);

			if (!is_place[i] || plan->lid[i] ||
			    plan->plane[i] != (p == planes ? PM_NONE : p))
				continue;
			if (lid + num > end) {
				int rc = add_block(plan, &lid, err);

				if (rc)
					return rc;
				end = lid + PM_LFT_BLOCK;
			}
			plan_give_lids(plan, i, lid);
			lid += num;
		}
	return 0;
}

/*
 * Gives LIDs to aggregation nodes, when all others have theirs. Switches above the leaves
 * make room for those of leaves: of all LIDs theirs change least.
 */
static int lay_out_aggregation(struct layout *l, const uint8_t *is_place,
			       struct pm_error *err)
{
	struct pm_plan *plan = l->plan;
	uint32_t ports = plan->topology->num_ports;
	int rc;

	for (uint32_t i = 0; i < ports; i++)
		if (!plan->topology->ports[i].num && !is_on_leaf(plan, i))
			plan_take_back(plan, i);
	for (uint32_t i = 0; i < ports; i++)
		if (is_place[i] && is_aggregation(plan, i) && is_on_leaf(plan, i))
			give_beside(plan, is_place, i);
	fill_all_gaps(l);
	rc = give_rest(plan, is_place, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (is_place[i] && is_aggregation(plan, i) && !plan->lid[i])
			give_in_plane(plan, i);
	return add_blocks(plan, is_place, err);
}

/* Gives LIDs to all others; is_place[] has no aggregation node's. */
static int lay_out_others(struct layout *l, const uint8_t *is_place, struct pm_error *err)
{
	struct pm_plan *plan = l->plan;
	int rc = 0;

	for (uint32_t n = 0; n <= plan->tree.num_planes && !rc; n++)
		rc = lay_out_group(l, n, err);
	if (rc)
		return rc;
	fill_all_gaps(l);
	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct group *group = group_of_run(l, &plan->runs[r]);

		/* see end_with_switch */
		if (group == &l->groups[l->last])
			end_with_switch(plan, group, plan->runs[r].start,
					plan->runs[r].length);
	}
	if (plan->lmc)
		rc = give_rest(plan, is_place, err);
	return rc ? rc : plan_give_missing(plan, is_place, err);
}

/* Forgets all LIDs and runs. */
static void start_again(struct pm_plan *plan)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		plan_take_back(plan, i);
	free(plan->runs);
	plan->runs = NULL;
	plan->num_runs = 0;
}

static int lay_out_grouped(struct pm_plan *plan, const uint8_t *is_place,
			   struct pm_error *err)
{
	uint32_t ports = plan->topology->num_ports;
	struct pm_pool pool = {0};
	struct layout l = {
		.plan = plan,
		.groups = pm_pool_array(&pool, plan->tree.num_planes + 1u,
					sizeof(*l.groups)),
		.last = last_with_switch(plan, is_place),
	};
	uint32_t *room = pm_pool_array(&pool, ports, sizeof(*room));
	uint8_t *others = pm_pool_array(&pool, ports, 1);
	bool any = false;
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < ports; i++) {
		others[i] = is_place[i] && !is_aggregation(plan, i);
		any |= is_place[i] && !others[i];
	}
	collect_groups(plan, others, l.groups, room);
	rc = lay_out_others(&l, others, err);
	if (!rc && any)
		rc = lay_out_aggregation(&l, is_place, err);
	if (rc == -ENOSPC) {
		start_again(plan);
		rc = plan_lay_out_scarce(plan, is_place, l.last, err);
	}
out:
	pm_pool_free(&pool);
	return rc;
}

/* -ENOSPC without a message. */
static int give_next_lid(struct pm_plan *plan, uint32_t place, uint32_t *next)
{
	uint32_t num = pm_plan_num_lids(plan, place);
	uint32_t lid = align(*next, num);

	if (lid + num - 1 > PM_MAX_LID)
		return -ENOSPC;
	plan_give_lids(plan, place, lid);
	*next = lid + num;
	return 0;
}

/* The k-th slot of a leaf, or PM_NONE. */
static uint32_t kth_slot(const struct pm_plan *plan, const uint8_t *is_place, uint32_t sw,
			 uint32_t k)
{
	pm_for_each_port(i, plan->topology, sw)
		if (is_place[i] && k-- == 0)
			return i;
	return PM_NONE;
}

/*
 * The two orders of the paper: slots of the leaves first, then everything else. -ENOSPC
 * without a message.
 */
static int lay_out_paper(struct pm_plan *plan, const uint8_t *is_place)
{
	const struct pm_tree *tree = &plan->tree;
	bool leaf_major = plan->order == PM_LEAF_MAJOR;
	uint32_t outer = leaf_major ? tree->num_leaves : PM_MAX_PORTS;
	uint32_t inner = leaf_major ? PM_MAX_PORTS : tree->num_leaves;
	uint32_t next = 1;
	int rc = 0;

	for (uint32_t i = 0; i < outer && !rc; i++)
		for (uint32_t j = 0; j < inner && !rc; j++) {
			uint32_t leaf = tree->leaves[leaf_major ? i : j];
			uint32_t place =
				kth_slot(plan, is_place, leaf, leaf_major ? j : i);

			if (place != PM_NONE)
				rc = give_next_lid(plan, place, &next);
		}
	for (int leaves = 1; leaves >= 0; leaves--)
		for (uint32_t i = 0; i < plan->topology->num_ports && !rc; i++)
			if (is_place[i] && !plan->lid[i] && is_on_leaf(plan, i) == leaves)
				rc = give_next_lid(plan, i, &next);
	return rc;
}

int plan_lay_out(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	int rc = plan->order == PM_GROUPED ? lay_out_grouped(plan, is_place, err)
					   : lay_out_paper(plan, is_place);

	return rc == -ENOSPC ? plan_out_of_lids(plan, is_place, err) : rc;
}

/* The unit that should stay together: a pod; or a leaf, where all leaves are one pod. */
static uint32_t unit_of(const struct pm_plan *plan, uint32_t place)
{
	uint32_t sw = plan->topology->ports[place].node;

	return plan->tree.top_level >= plan->tree.leaf_level + 2 ? plan->tree.pod[sw]
								 : sw;
}

/*
 * Finds free LIDs: behind those of the place's unit, or else in its plane's runs; or 0.
 */
static uint32_t find_spare(const struct pm_plan *plan, uint32_t place)
{
	uint32_t num = pm_plan_num_lids(plan, place), found = 0;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];
		uint32_t end = (uint32_t)run->start + run->length;

		if (run->plane != plan->plane[place])
			continue;
		for (uint32_t lid = run->start; lid + num <= end; lid++) {
			if (!plan_is_free(plan, lid, num))
				continue;
			if (lid % PM_LFT_BLOCK && plan->owner[lid - 1] != PM_NONE &&
			    unit_of(plan, plan->owner[lid - 1]) == unit_of(plan, place))
				return lid;
			if (!found)
				found = lid;
		}
	}
	return found;
}

/* The first free LIDs for a place in all runs and behind them; 0: none. */
static uint32_t find_any(const struct pm_plan *plan, uint32_t place)
{
	uint32_t num = pm_plan_num_lids(plan, place);

	for (uint32_t lid = num; lid <= PM_MAX_LID; lid += num)
		if (plan_is_free(plan, lid, num))
			return lid;
	return 0;
}

/*
 * Gives LIDs to places without one; all others keep theirs. Where there is no room behind
 * all runs, planes share them.
 */
int plan_give_missing(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	uint32_t end = find_end(plan);
	int rc;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t lid;

		if (!is_place[i] || plan->lid[i])
			continue;
		lid = plan->order == PM_GROUPED ? find_spare(plan, i) : 0;
		if (lid) {
			rc = give_next_lid(plan, i, &lid);
		} else if (plan->order == PM_GROUPED) {
			lid = align(end, PM_LFT_BLOCK);
			rc = plan_add_run(plan, lid, PM_LFT_BLOCK, plan->plane[i], err);
			if (!rc) {
				end = lid + PM_LFT_BLOCK;
				rc = give_next_lid(plan, i, &lid);
			}
		} else {
			rc = give_next_lid(plan, i, &end);
		}
		if (rc == -ENOSPC) {
			lid = find_any(plan, i);
			rc = lid ? give_next_lid(plan, i, &lid)
				 : plan_out_of_lids(plan, is_place, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}
