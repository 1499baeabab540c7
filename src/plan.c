/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Three steps: every place is dealt a plane, is given a rank in it, and then
 * a LID. A grown plan runs the same steps with the planes and LIDs of the old
 * one already filled in.
 */
#include <portmajor/plan.h>
#include <portmajor/reach.h>

#include "alloc.h"
#include "bits.h"

#include <errno.h>

static const char *const order_names[] = {
	[PM_GROUPED] = "grouped",
	[PM_LEAF_MAJOR] = "leaf-major",
	[PM_PORT_MAJOR] = "port-major",
};

const char *pm_lid_order_name(enum pm_lid_order order)
{
	return order_names[order];
}

int pm_lid_order_parse(const char *name, enum pm_lid_order *order)
{
	for (unsigned int i = 0; i < sizeof(order_names) / sizeof(*order_names); i++)
		if (!strcmp(name, order_names[i])) {
			*order = (enum pm_lid_order)i;
			return 0;
		}
	return -EINVAL;
}

static int no_memory(struct pm_error *err)
{
	return pm_error_set(err, -ENOMEM, "out of memory");
}

/* ---- Places ---- */

/* Marks in is_place[] the ports that are places; see plan.h. */
static int find_places(const struct pm_plan *plan, uint8_t *is_place, struct pm_error *err)
{
	const struct pm_fabric *known = plan->known;
	/* usual[ports][number]: some leaf with so many ports has a host there */
	uint8_t (*usual)[PM_MAX_PORTS + 1] = pm_array(PM_MAX_PORTS + 1, sizeof(*usual));

	if (!usual)
		return no_memory(err);
	for (uint32_t i = 0; i < known->num_ports; i++) {
		const struct pm_port *port = &known->ports[i];

		if (port->host && plan->tree.level[port->node] == 0)
			usual[known->nodes[port->node].num_ports][port->num] = 1;
	}
	for (uint32_t i = 0; i < known->num_ports; i++) {
		const struct pm_port *port = &known->ports[i];

		is_place[i] = port->num == 0 || port->host ||
			(port->peer == PM_NONE && plan->tree.level[port->node] == 0 &&
			 usual[known->nodes[port->node].num_ports][port->num]);
	}
	free(usual);
	return 0;
}

/* ---- Planes ---- */

/*
 * Whether a plane leads to a switch: those of a leaf's up ports do; that of the
 * first-level switch itself; higher up all planes of the component. For leaves
 * see mark_planes.
 */
static bool leads_to(const struct pm_tree *tree, uint32_t plane, uint32_t sw)
{
	return tree->planes[plane].component == tree->component[sw] &&
		(tree->level[sw] > 1 || tree->planes[plane].rank == tree->rank[sw]);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The plane after this one, in a circle, of those that lead to a switch. */
static uint32_t next_plane(const struct pm_plan *plan, uint32_t sw, uint32_t plane)
{
	const struct pm_tree *tree = &plan->tree;
	const struct pm_node *n = &plan->known->nodes[sw];
	uint32_t first = plane, next = PM_NONE;

	for (uint32_t k = 1; tree->level[sw] > 0 && k < tree->num_planes; k++)
		if (leads_to(tree, (plane + k) % tree->num_planes, sw))
			return (plane + k) % tree->num_planes;
	for (uint32_t p = 1; tree->level[sw] == 0 && p <= n->num_ports; p++) {
		uint32_t other = tree->plane[n->first_port + p];

		if (other == PM_NONE)
			continue;
		if (other < first)
			first = other;
		if (other > plane && other < next)
			next = other;
	}
	return next != PM_NONE ? next : first;
}

uint32_t pm_plan_plane(const struct pm_plan *plan, uint32_t place, uint32_t k)
{
	uint32_t plane = plan->plane[place];

	k = (k + plan->turn[place]) % pm_plan_num_lids(plan, place);
	for (; plane != PM_NONE && k > 0; k--)
		plane = next_plane(plan, plan->known->ports[place].node, plane);
	return plane;
}

/* Every how manieth of a switch's planes is a slot's own. */
static uint32_t plane_step(uint32_t num_planes, unsigned int lmc)
{
	return num_planes ? common_divisor(num_planes, 1u << lmc) : 1;
}

static uint32_t count_planes(const struct pm_plan *plan, uint32_t sw)
{
	const struct pm_tree *tree = &plan->tree;
	const struct pm_node *n = &plan->known->nodes[sw];
	uint32_t count = 0;

	if (tree->level[sw] == PM_NO_LEVEL)
		return 0;
	for (uint32_t p = 0; tree->level[sw] > 0 && p < tree->num_planes; p++)
		count += leads_to(tree, p, sw);
	for (uint32_t p = 1; tree->level[sw] == 0 && p <= n->num_ports; p++)
		count += tree->plane[n->first_port + p] != PM_NONE;
	return count;
}

/* Lists the planes that lead to a switch, in ascending order; returns how many. */
static uint32_t list_planes(const struct pm_plan *plan, uint32_t sw, uint32_t *list)
{
	const struct pm_tree *tree = &plan->tree;
	const struct pm_node *n = &plan->known->nodes[sw];
	uint32_t count = 0;

	if (tree->level[sw] == PM_NO_LEVEL)
		return 0;
	for (uint32_t p = 0; tree->level[sw] > 0 && p < tree->num_planes; p++)
		if (leads_to(tree, p, sw))
			list[count++] = p;
	for (uint32_t p = 1; tree->level[sw] == 0 && p <= n->num_ports; p++) {
		uint32_t plane = tree->plane[n->first_port + p], at = count;

		if (plane == PM_NONE)
			continue;
		for (; at > 0 && list[at - 1] > plane; at--)
			list[at] = list[at - 1];
		list[at] = plane;
		count++;
	}
	return count;
}

struct deal {
	struct pm_plan *plan;
	const uint8_t *is_place;
	uint32_t *slots;	/* [plane] slots dealt to it so far */
	uint32_t *switches;	/* [plane] switches dealt to it so far */
	uint32_t *choice;	/* planes that serve the switch at hand .. */
	uint32_t num_choice;	/* .. in ascending order */
	uint32_t step;		/* with LMC, every step-th plane is a slot's own */
	uint32_t *here;		/* [plane] slots of the switch at hand */
};

static void find_choice(struct deal *deal, uint32_t sw)
{
	deal->num_choice = list_planes(deal->plan, sw, deal->choice);
	deal->step = plane_step(deal->num_choice, deal->plan->lmc);
	for (uint32_t i = 0; i < deal->num_choice; i++)
		deal->here[deal->choice[i]] = 0;
}

/* Leaves only the planes that may be a slot's own, see plan.h. */
static void thin_choice(struct deal *deal)
{
	deal->num_choice /= deal->step;
	for (uint32_t i = 0; i < deal->num_choice; i++)
		deal->choice[i] = deal->choice[i * deal->step];
}

/* The plane with the fewest slots here, then the fewest over all, then the first. */
static uint32_t least_loaded(const struct deal *deal, const uint32_t *overall)
{
	uint32_t best = PM_NONE;

	for (uint32_t i = 0; i < deal->num_choice; i++) {
		uint32_t p = deal->choice[i];

		if (best == PM_NONE || deal->here[p] < deal->here[best] ||
		    (deal->here[p] == deal->here[best] && overall[p] < overall[best]))
			best = p;
	}
	return best;
}

static void give_plane(struct deal *deal, uint32_t port, uint32_t plane)
{
	if (deal->plan->plane[port] == PM_NONE && plane != PM_NONE)
		deal->plan->turn[port] = (uint8_t)(deal->slots[plane] % deal->step);
	deal->plan->plane[port] = plane;
	if (plane == PM_NONE)
		return;
	deal->slots[plane]++;
	deal->here[plane]++;
}

/*
 * Full rounds over the planes go in port order, so that the same slot uses the
 * same plane on every leaf. The rest goes where there is least. Used slots
 * come first: empty ones must not take their places' share.
 */
static void deal_slots(struct deal *deal, uint32_t sw)
{
	struct pm_plan *plan = deal->plan;
	const struct pm_node *n = &plan->known->nodes[sw];
	uint32_t first = n->first_port, used = 0, fresh = 0, in_rounds;

	for (uint32_t i = first + 1; i <= first + n->num_ports; i++) {
		if (deal->is_place[i] && plan->plane[i] != PM_NONE) {
			give_plane(deal, i, plan->plane[i]);
			used++;
		}
	}
	for (uint32_t i = first + 1; i <= first + n->num_ports; i++)
		fresh += plan->known->ports[i].host && plan->plane[i] == PM_NONE;
	in_rounds = used || !deal->num_choice ? 0 : fresh - fresh % deal->num_choice;
	for (int empty = 0; empty <= 1; empty++) {
		uint32_t count = 0;

		for (uint32_t i = first + 1; i <= first + n->num_ports; i++) {
			if (!deal->is_place[i] || plan->plane[i] != PM_NONE ||
			    plan->known->ports[i].host == empty)
				continue;
			if (!empty && count < in_rounds)
				give_plane(deal, i,
					   deal->choice[count++ % deal->num_choice]);
			else
				give_plane(deal, i, least_loaded(deal, deal->slots));
		}
	}
}

static void deal_switch(struct deal *deal, uint32_t sw)
{
	uint32_t port = deal->plan->known->nodes[sw].first_port;
	uint32_t plane = deal->plan->plane[port];

	if (plane == PM_NONE)
		plane = least_loaded(deal, deal->switches);
	deal->plan->plane[port] = plane;
	if (plane != PM_NONE)
		deal->switches[plane]++;
}

static void deal_places(struct deal *deal, uint32_t sw)
{
	find_choice(deal, sw);
	deal_switch(deal, sw);
	find_choice(deal, sw);
	thin_choice(deal);
	deal_slots(deal, sw);
}

/* Leaves in subtree order, then the other switches by GUID. */
static void deal_all(struct deal *deal)
{
	const struct pm_tree *tree = &deal->plan->tree;

	for (uint32_t i = 0; i < tree->num_leaves; i++) {
		deal_places(deal, tree->leaves[i]);
	}
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		if (tree->level[sw] != 0)
			deal_places(deal, sw);
	}
}

static int deal_planes(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	uint32_t planes = plan->tree.num_planes;
	struct deal deal = {
		.plan = plan,
		.is_place = is_place,
		.slots = pm_array(planes, sizeof(uint32_t)),
		.switches = pm_array(planes, sizeof(uint32_t)),
		.choice = pm_array(planes, sizeof(uint32_t)),
		.here = pm_array(planes, sizeof(uint32_t)),
	};
	int rc = 0;

	if (deal.slots && deal.switches && deal.choice && deal.here)
		deal_all(&deal);
	else
		rc = no_memory(err);
	free(deal.slots);
	free(deal.switches);
	free(deal.choice);
	free(deal.here);
	return rc;
}

/* ---- Ranks ---- */

/*
 * With LMC, `step` slots that follow each other share a rank: those LIDs of theirs
 * that have one and the same plane are then numbered one by one.
 */
static void rank_switch(struct pm_plan *plan, const uint8_t *is_place, uint32_t sw,
			uint32_t *slots, uint32_t *others)
{
	const struct pm_node *n = &plan->known->nodes[sw];
	uint32_t none = plan->tree.num_planes;
	uint32_t step = plane_step(count_planes(plan, sw), plan->lmc);

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		uint32_t p = plan->plane[i];

		if (is_place[i])
			plan->rank[i] = slots[p == PM_NONE ? none : p]++ / step;
	}
	if (plan->tree.level[sw] == 0) {
		plan->rank[n->first_port] = plan->tree.leaf_rank[sw];
	} else {
		uint32_t p = plan->plane[n->first_port];

		plan->rank[n->first_port] = others[p == PM_NONE ? none : p]++;
	}
}

static int find_ranks(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t *slots = pm_array(tree->num_planes + 1u, sizeof(*slots));
	uint32_t *others = pm_array(tree->num_planes + 1u, sizeof(*others));
	int rc = 0;

	if (!slots || !others) {
		rc = no_memory(err);
		goto out;
	}
	for (uint32_t i = 0; i < tree->num_leaves; i++)
		rank_switch(plan, is_place, tree->leaves[i], slots, others);
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->level[sw] != 0)
			rank_switch(plan, is_place, sw, slots, others);
out:
	free(slots);
	free(others);
	return rc;
}

/* ---- LIDs ---- */

static int out_of_lids(uint32_t needed, struct pm_error *err)
{
	return pm_error_set(err, -ENOSPC, "the plan needs LIDs up to %u, there are %u",
			    needed, PM_MAX_LID);
}

static int add_run(struct pm_plan *plan, uint32_t start, uint32_t length, uint32_t plane,
		   struct pm_error *err)
{
	struct pm_run *runs;

	if (start + length - 1 > PM_MAX_LID)
		return out_of_lids(start + length - 1, err);
	runs = reallocarray(plan->runs, plan->num_runs + 1u, sizeof(*runs));
	if (!runs)
		return no_memory(err);
	runs[plan->num_runs++] = (struct pm_run){ (uint16_t)start, (uint16_t)length, plane };
	plan->runs = runs;
	return 0;
}

/* The places of one group in the order in which they get LIDs. */
struct group {
	uint32_t *places;	/* of leaves: by subtree */
	uint32_t num_places;
	uint32_t *fillers;	/* the rest: switches above the leaves, their slots */
	uint32_t num_fillers;
};

/* How many places from the i-th on belong to one pod (or else to one leaf). */
static uint32_t count_same(const struct pm_plan *plan, const struct group *group,
			   uint32_t i, bool pod)
{
	const struct pm_port *ports = plan->known->ports;
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
 * LIDs to leave free so that what follows does not straddle a block boundary;
 * 0 if it need not, cannot, or if the spare does not allow.
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

static void give_lids(struct pm_plan *plan, uint32_t place, uint32_t lid)
{
	plan->lid[place] = (uint16_t)lid;
	for (uint32_t k = 0; k < pm_plan_num_lids(plan, place); k++)
		plan->owner[lid + k] = place;
}

/* LIDs that the places from the i-th on need, one after the other from `at` on. */
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
 * Gives the LIDs of one run to the places of a group; the run is long enough.
 * Slots and leaves take no more blocks than they need. Gaps that these blocks
 * allow go to pods first, except for what leaves need where pods straddle: at
 * most one LID less than a leaf has, in every block.
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
				gap = gap_before(at, measure(plan, group, i, leaf_left, at),
						 spare);
		}
		spare -= gap;
		at = align(at + gap, pm_plan_num_lids(plan, group->places[i]));
		give_lids(plan, group->places[i], at);
		at += pm_plan_num_lids(plan, group->places[i]);
	}
}

/* Whether a place could have its LIDs here: aligned, and nobody's. */
static bool is_free(const struct pm_plan *plan, uint32_t lid, uint32_t num)
{
	if (lid == 0 || lid % num || lid + num - 1 > PM_MAX_LID)
		return false;
	for (uint32_t k = 0; k < num; k++)
		if (plan->owner[lid + k] != PM_NONE)
			return false;
	return true;
}

/*
 * The rest of a group gets free LIDs of the run from its end, so that the last
 * run ends with a switch. Who finds none is served by give_missing.
 */
static void fill_gaps(struct pm_plan *plan, const struct group *group, uint32_t start,
		      uint32_t length)
{
	for (uint32_t f = group->num_fillers; f-- > 0;) {
		uint32_t num = pm_plan_num_lids(plan, group->fillers[f]);
		uint32_t lid = start + length - num;

		while (lid > start && !is_free(plan, lid, num))
			lid--;
		if (is_free(plan, lid, num))
			give_lids(plan, group->fillers[f], lid);
	}
}

/*
 * Sorts the places into groups, one per plane and a last one for those without
 * a plane; groups[] has num_planes + 1 elements, pool[] one per port.
 */
static void collect_groups(const struct pm_plan *plan, const uint8_t *is_place,
			   struct group *groups, uint32_t *pool)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t planes = tree->num_planes;

	for (uint32_t i = 0; i < plan->known->num_ports; i++) {
		uint32_t p = plan->plane[i] == PM_NONE ? planes : plan->plane[i];

		if (!is_place[i])
			continue;
		if (tree->level[plan->known->ports[i].node] == 0)
			groups[p].num_places++;
		else
			groups[p].num_fillers++;
	}
	for (uint32_t p = 0; p <= planes; p++) {
		groups[p].places = pool;
		groups[p].fillers = pool + groups[p].num_places;
		pool += groups[p].num_places + groups[p].num_fillers;
		groups[p].num_places = groups[p].num_fillers = 0;
	}
	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		const struct pm_node *n = &plan->known->nodes[tree->leaves[l]];

		for (uint32_t k = 1; k <= n->num_ports + 1u; k++) {
			/* the leaf's own LID comes after its slots */
			uint32_t i = n->first_port + k % (n->num_ports + 1u);
			uint32_t p = plan->plane[i] == PM_NONE ? planes : plan->plane[i];

			if (is_place[i])
				groups[p].places[groups[p].num_places++] = i;
		}
	}
	for (uint32_t i = 0; i < plan->known->num_ports; i++) {
		uint32_t p = plan->plane[i] == PM_NONE ? planes : plan->plane[i];

		if (is_place[i] && tree->level[plan->known->ports[i].node] != 0)
			groups[p].fillers[groups[p].num_fillers++] = i;
	}
}

/* LIDs that a group needs when its run begins like this LID. */
static uint32_t group_length(const struct pm_plan *plan, const struct group *group,
			     uint32_t at)
{
	uint32_t length = measure(plan, group, 0, group->num_places, at);

	for (uint32_t i = 0; i < group->num_fillers; i++)
		length += 2 * pm_plan_num_lids(plan, group->fillers[i]) - 1;
	return length;
}

static int lay_out_grouped(struct pm_plan *plan, const uint8_t *is_place,
			   struct pm_error *err)
{
	uint32_t planes = plan->tree.num_planes, next = 0;
	struct group *groups = pm_array(planes + 1u, sizeof(*groups));
	uint32_t *pool = pm_array(plan->known->num_ports, sizeof(*pool));
	int rc = 0;

	if (!groups || !pool) {
		rc = no_memory(err);
		goto out;
	}
	collect_groups(plan, is_place, groups, pool);
	for (uint32_t p = 0; p <= planes && !rc; p++) {
		uint32_t needed = group_length(plan, &groups[p], next ? 0 : 1);
		uint32_t length;

		if (!needed)
			continue;
		length = run_length(needed + (next == 0));
		next = align(next, length < PM_LFT_BLOCK ? length : PM_LFT_BLOCK);
		rc = add_run(plan, next, length, p == planes ? PM_NONE : p, err);
		if (rc)
			break;
		fill_run(plan, &groups[p], next, length);
		fill_gaps(plan, &groups[p], next, length);
		next += length;
	}
out:
	free(groups);
	free(pool);
	return rc;
}

static int give_next_lid(struct pm_plan *plan, uint32_t place, uint32_t *next,
			 struct pm_error *err)
{
	uint32_t num = pm_plan_num_lids(plan, place);
	uint32_t lid = align(*next, num);

	if (lid + num - 1 > PM_MAX_LID)
		return out_of_lids(lid + num - 1, err);
	give_lids(plan, place, lid);
	*next = lid + num;
	return 0;
}

/* The k-th slot of a leaf, or PM_NONE. */
static uint32_t kth_slot(const struct pm_plan *plan, const uint8_t *is_place, uint32_t sw,
			 uint32_t k)
{
	const struct pm_node *n = &plan->known->nodes[sw];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (is_place[i] && k-- == 0)
			return i;
	return PM_NONE;
}

/* The paper's two orders: slots of the leaves first, then everything else. */
static int lay_out_paper(struct pm_plan *plan, const uint8_t *is_place,
			 struct pm_error *err)
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
			uint32_t place = kth_slot(plan, is_place, leaf,
						  leaf_major ? j : i);

			if (place != PM_NONE)
				rc = give_next_lid(plan, place, &next, err);
		}
	for (int leaves = 1; leaves >= 0; leaves--)
		for (uint32_t i = 0; i < plan->known->num_ports && !rc; i++)
			if (is_place[i] && !plan->lid[i] &&
			    (tree->level[plan->known->ports[i].node] == 0) == leaves)
				rc = give_next_lid(plan, i, &next, err);
	return rc;
}

/* What should stay together: a pod; where all leaves are one pod, a leaf. */
static uint32_t unit_of(const struct pm_plan *plan, uint32_t place)
{
	uint32_t sw = plan->known->ports[place].node;

	return plan->tree.top_level >= 2 ? plan->tree.pod[sw] : sw;
}

/* Free LIDs behind some of this place's unit, if there are; else in its runs; or 0. */
static uint32_t find_spare(const struct pm_plan *plan, uint32_t place)
{
	uint32_t num = pm_plan_num_lids(plan, place), found = 0;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];
		uint32_t end = (uint32_t)run->start + run->length;

		if (run->plane != plan->plane[place])
			continue;
		for (uint32_t lid = run->start; lid + num <= end; lid++) {
			if (!is_free(plan, lid, num))
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

/* Gives LIDs to places that have none; nobody else's changes. */
static int give_missing(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	uint32_t end = find_end(plan);
	int rc;

	for (uint32_t i = 0; i < plan->known->num_ports; i++) {
		uint32_t lid;

		if (!is_place[i] || plan->lid[i])
			continue;
		lid = plan->order == PM_GROUPED ? find_spare(plan, i) : 0;
		if (lid) {
			rc = give_next_lid(plan, i, &lid, err);
		} else if (plan->order == PM_GROUPED) {
			lid = (end + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK * PM_LFT_BLOCK;
			end = lid + PM_LFT_BLOCK;
			rc = add_run(plan, lid, PM_LFT_BLOCK, plan->plane[i], err);
			if (!rc)
				rc = give_next_lid(plan, i, &lid, err);
		} else {
			rc = give_next_lid(plan, i, &end, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}

/* The LID that the fabric's port at this place has, or 0. */
static uint16_t lid_at(const struct pm_fabric *fabric, const struct pm_fabric *known,
		       uint32_t place)
{
	const struct pm_port *p = &known->ports[place];
	uint32_t node = pm_fabric_find_guid(fabric, known->nodes[p->node].guid);
	uint32_t port, peer;

	if (node == PM_NONE || p->num > fabric->nodes[node].num_ports)
		return 0;
	port = fabric->nodes[node].first_port + p->num;
	if (p->num == 0)
		return fabric->ports[port].lid;
	peer = fabric->ports[port].peer;
	if (peer == PM_NONE || fabric->ports[peer].node < fabric->num_switches)
		return 0;
	return fabric->ports[peer].lid;
}

static void take_back(struct pm_plan *plan, uint32_t place)
{
	for (uint32_t k = 0; plan->lid[place] && k < pm_plan_num_lids(plan, place); k++)
		if (plan->owner[plan->lid[place] + k] == place)
			plan->owner[plan->lid[place] + k] = PM_NONE;
	plan->lid[place] = 0;
}

/* Gives a place the LIDs that its port has; those that had them are to get others. */
static void keep_place(struct pm_plan *plan, uint32_t place, uint32_t lid, uint8_t *kept)
{
	uint32_t num = pm_plan_num_lids(plan, place);

	if (lid % num || lid + num - 1 > PM_MAX_LID)
		return;
	for (uint32_t k = 0; k < num; k++)
		if (kept[lid + k])
			return;
	take_back(plan, place);
	for (uint32_t k = 0; k < num; k++) {
		if (plan->owner[lid + k] != PM_NONE)
			take_back(plan, plan->owner[lid + k]);
		kept[lid + k] = 1;
	}
	give_lids(plan, place, lid);
}

static void find_top(struct pm_plan *plan)
{
	plan->top_lid = 0;
	for (uint32_t lid = 0; lid <= PM_MAX_LID; lid++)
		if (plan->owner[lid] != PM_NONE)
			plan->top_lid = (uint16_t)lid;
}

/* ---- Is it a fat tree? ---- */

/* Marks in part[] which switches cables join, in whatever way. */
static void find_parts(const struct pm_fabric *known, uint32_t *part, uint32_t *queue)
{
	memset(part, 0xff, known->num_switches * sizeof(*part));
	for (uint32_t start = 0; start < known->num_switches; start++) {
		uint32_t head = 0, tail = 0;

		if (part[start] != PM_NONE)
			continue;
		part[start] = start;
		queue[tail++] = start;
		while (head < tail) {
			const struct pm_node *n = &known->nodes[queue[head++]];

			for (uint32_t i = n->first_port + 1;
			     i <= n->first_port + n->num_ports; i++) {
				uint32_t y = pm_fabric_peer_node(known, i);

				if (y == PM_NONE || part[y] != PM_NONE)
					continue;
				part[y] = start;
				queue[tail++] = y;
			}
		}
	}
}

static void count_apart(struct pm_plan *plan, const struct pm_reach *reach,
			const uint32_t *part)
{
	const struct pm_tree *tree = &plan->tree;

	plan->pairs = plan->pairs_apart = 0;
	for (uint32_t a = 0; a < tree->num_leaves; a++)
		for (uint32_t b = a + 1; b < tree->num_leaves; b++) {
			uint32_t x = tree->leaves[a], y = tree->leaves[b];

			if (part[x] != part[y])
				continue;
			plan->pairs++;
			if (pm_bits_test(pm_reach_updown(reach, x), y))
				continue;
			if (!plan->pairs_apart++) {
				plan->apart[0] = x;
				plan->apart[1] = y;
			}
		}
}

/* More than half of the pairs must be joined by up-then-down paths. */
static int check_tree(struct pm_plan *plan, struct pm_error *err)
{
	const struct pm_fabric *known = plan->known;
	uint32_t *part = pm_array(known->num_switches, sizeof(*part));
	uint32_t *queue = pm_array(known->num_switches, sizeof(*queue));
	struct pm_reach reach;
	int rc = pm_reach_init(&plan->tree, &reach, err);

	if (!rc && (!part || !queue))
		rc = no_memory(err);
	if (rc)
		goto out;
	pm_reach_compute(known, &plan->tree, NULL, &reach);
	find_parts(known, part, queue);
	count_apart(plan, &reach, part);
	if (plan->pairs_apart * 2 > plan->pairs)
		rc = pm_error_set(err, -ENOTSUP, "not a fat tree: no up-then-down path "
				  "joins %llu of %llu pairs of leaves, such as \"%s\" and "
				  "\"%s\" (%u cables between switches of one level)",
				  (unsigned long long)plan->pairs_apart,
				  (unsigned long long)plan->pairs,
				  pm_fabric_name(known, plan->apart[0]),
				  pm_fabric_name(known, plan->apart[1]),
				  plan->tree.num_side);
out:
	free(part);
	free(queue);
	pm_reach_free(&reach);
	return rc;
}

/* ---- Making and growing ---- */

static struct pm_plan *new_plan(enum pm_lid_order order, uint8_t lmc,
				struct pm_fabric *known)
{
	struct pm_plan *plan = calloc(1, sizeof(*plan));

	if (!plan) {
		pm_fabric_free(known);
		return NULL;
	}
	plan->order = order;
	plan->lmc = lmc;
	plan->known = known;
	if (!known)
		goto fail;
	plan->lid = pm_array(known->num_ports, sizeof(*plan->lid));
	plan->plane = pm_array(known->num_ports, sizeof(*plan->plane));
	plan->turn = pm_array(known->num_ports, 1);
	plan->rank = pm_array(known->num_ports, sizeof(*plan->rank));
	plan->owner = pm_array(PM_MAX_LID + 1u, sizeof(*plan->owner));
	if (!plan->lid || !plan->plane || !plan->turn || !plan->rank || !plan->owner)
		goto fail;
	memset(plan->plane, 0xff, known->num_ports * sizeof(*plan->plane));
	memset(plan->owner, 0xff, (PM_MAX_LID + 1u) * sizeof(*plan->owner));
	return plan;
fail:
	pm_plan_free(plan);
	return NULL;
}

void pm_plan_free(struct pm_plan *plan)
{
	if (!plan)
		return;
	pm_tree_free(&plan->tree);
	pm_fabric_free(plan->known);
	free(plan->lid);
	free(plan->plane);
	free(plan->turn);
	free(plan->rank);
	free(plan->owner);
	free(plan->runs);
	free(plan);
}

int pm_plan_make(const struct pm_fabric *fabric, const struct pm_plan_config *config,
		 struct pm_plan **result, struct pm_error *err)
{
	struct pm_plan *plan;
	uint8_t *is_place = NULL;
	int rc;

	if (config->lmc > PM_MAX_LMC)
		return pm_error_set(err, -EINVAL, "LMC is %u, at most %u is supported",
				    config->lmc, PM_MAX_LMC);
	plan = new_plan(config->order, config->lmc, pm_fabric_skeleton(fabric));
	if (!plan)
		return no_memory(err);
	is_place = pm_array(plan->known->num_ports, 1);
	rc = is_place ? pm_tree_make(plan->known, &plan->tree, err) : no_memory(err);
	if (!rc)
		rc = check_tree(plan, err);
	if (!rc)
		rc = find_places(plan, is_place, err);
	if (!rc)
		rc = deal_planes(plan, is_place, err);
	if (!rc)
		rc = find_ranks(plan, is_place, err);
	if (!rc)
		rc = config->order == PM_GROUPED ? lay_out_grouped(plan, is_place, err) :
			lay_out_paper(plan, is_place, err);
	if (!rc)
		rc = give_missing(plan, is_place, err);
	free(is_place);
	if (rc) {
		pm_plan_free(plan);
		return rc;
	}
	find_top(plan);
	*result = plan;
	return 0;
}

/* The port of `to` that is the same as this port of `from`, or PM_NONE. */
static uint32_t same_port(const struct pm_fabric *from, uint32_t port,
			  const struct pm_fabric *to)
{
	const struct pm_port *p = &from->ports[port];
	uint32_t node = pm_fabric_find_guid(to, from->nodes[p->node].guid);

	if (node == PM_NONE || node >= to->num_switches ||
	    p->num > to->nodes[node].num_ports)
		return PM_NONE;
	return to->nodes[node].first_port + p->num;
}

/* Takes planes, LIDs and runs over from an old plan. */
static int inherit(struct pm_plan *plan, const struct pm_plan *old, struct pm_error *err)
{
	uint32_t *renamed = pm_array(old->tree.num_planes, sizeof(*renamed));

	if (!renamed)
		return no_memory(err);
	memset(renamed, 0xff, old->tree.num_planes * sizeof(*renamed));
	for (uint32_t i = 0; i < old->known->num_ports; i++) {
		uint32_t port = same_port(old->known, i, plan->known);
		uint32_t p = old->tree.plane[i];

		if (port != PM_NONE && p != PM_NONE && renamed[p] == PM_NONE)
			renamed[p] = plan->tree.plane[port];
	}
	for (uint32_t i = 0; i < old->known->num_ports; i++) {
		uint32_t port = same_port(old->known, i, plan->known);

		if (port == PM_NONE || !old->lid[i])
			continue;
		give_lids(plan, port, old->lid[i]);
		plan->turn[port] = old->turn[i];
		if (old->plane[i] != PM_NONE)
			plan->plane[port] = renamed[old->plane[i]];
	}
	plan->runs = pm_copy(old->runs, old->num_runs, sizeof(*plan->runs));
	if (!plan->runs) {
		free(renamed);
		return no_memory(err);
	}
	plan->num_runs = old->num_runs;
	for (uint32_t r = 0; r < plan->num_runs; r++)
		if (plan->runs[r].plane != PM_NONE)
			plan->runs[r].plane = renamed[plan->runs[r].plane];
	free(renamed);
	return 0;
}

/* Copies what belongs to the places of a plan with the very same ports. */
static int copy_places(struct pm_plan *plan, const struct pm_plan *old,
		       struct pm_error *err)
{
	uint32_t num = old->known->num_ports;

	memcpy(plan->lid, old->lid, num * sizeof(*plan->lid));
	memcpy(plan->plane, old->plane, num * sizeof(*plan->plane));
	memcpy(plan->turn, old->turn, num);
	memcpy(plan->rank, old->rank, num * sizeof(*plan->rank));
	memcpy(plan->owner, old->owner, (PM_MAX_LID + 1u) * sizeof(*plan->owner));
	plan->top_lid = old->top_lid;
	plan->pairs = old->pairs;
	plan->pairs_apart = old->pairs_apart;
	memcpy(plan->apart, old->apart, sizeof(plan->apart));
	plan->num_runs = old->num_runs;
	plan->runs = pm_copy(old->runs, old->num_runs, sizeof(*plan->runs));
	return plan->runs ? 0 : no_memory(err);
}

/* Replaces the planned LIDs by those in use; the number of those that differed. */
static int keep_lids(struct pm_plan *plan, const struct pm_fabric *fabric,
		     uint32_t *differ, struct pm_error *err)
{
	uint8_t *kept = pm_array(PM_MAX_LID + 1u, 1);
	uint8_t *is_place = pm_array(plan->known->num_ports, 1);
	int rc = -ENOMEM;

	*differ = 0;
	if (!kept || !is_place)
		goto out;
	for (uint32_t i = 0; i < plan->known->num_ports; i++)
		is_place[i] = plan->lid[i] != 0;
	for (uint32_t i = 0; i < plan->known->num_ports; i++) {
		uint16_t lid = is_place[i] ? lid_at(fabric, plan->known, i) : 0;

		if (!lid)
			continue;
		*differ += lid != plan->lid[i];
		keep_place(plan, i, lid, kept);
	}
	rc = give_missing(plan, is_place, err);
out:
	free(kept);
	free(is_place);
	return rc == -ENOMEM ? no_memory(err) : rc;
}

int pm_plan_keep(const struct pm_plan *plan, const struct pm_fabric *fabric,
		 struct pm_plan **kept, uint32_t *differ, struct pm_error *err)
{
	struct pm_plan *copy = new_plan(plan->order, plan->lmc,
					pm_fabric_clone(plan->known));
	int rc;

	*kept = NULL;
	if (!copy)
		return no_memory(err);
	rc = pm_tree_make(copy->known, &copy->tree, err);
	if (!rc)
		rc = copy_places(copy, plan, err);
	if (!rc)
		rc = keep_lids(copy, fabric, differ, err);
	if (rc || !*differ) {
		pm_plan_free(copy);
		return rc;
	}
	find_top(copy);
	*kept = copy;
	return 0;
}

/*
 * The known switch whose place a new one has taken: every cable of the new switch
 * to a known one ends where the same port of the old switch ended, and the old one
 * is gone. PM_NONE if there is none.
 */
static uint32_t find_replaced(const struct pm_fabric *known, const struct pm_fabric *now,
			      uint32_t sw)
{
	const struct pm_node *n = &now->nodes[sw];
	uint32_t replaced = PM_NONE;

	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t far = now->ports[n->first_port + p].peer, there, was;

		if (far == PM_NONE || now->ports[far].node >= now->num_switches)
			continue;
		if (pm_fabric_find_guid(known, now->nodes[now->ports[far].node].guid) ==
		    PM_NONE)
			continue;	/* new itself */
		there = same_port(now, far, known);
		was = there == PM_NONE ? PM_NONE : known->ports[there].peer;
		if (was == PM_NONE || known->ports[was].num != p ||
		    (replaced != PM_NONE && known->ports[was].node != replaced))
			return PM_NONE;
		replaced = known->ports[was].node;
	}
	if (replaced == PM_NONE || known->nodes[replaced].num_ports != n->num_ports ||
	    pm_fabric_find_guid(now, known->nodes[replaced].guid) != PM_NONE)
		return PM_NONE;
	return replaced;
}

/*
 * Gives known switches that were replaced the GUIDs of those in their place.
 * Several rounds: of a whole new chassis, the switches next to the leaves are
 * recognised first, then those behind them.
 */
static int rename_replaced(struct pm_fabric *known, const struct pm_fabric *now,
			   bool *renamed, struct pm_error *err)
{
	bool again = true;

	*renamed = false;
	while (again) {
		again = false;
		for (uint32_t sw = 0; sw < now->num_switches; sw++) {
			uint64_t guid = now->nodes[sw].guid;
			uint32_t replaced;
			int rc;

			if (pm_fabric_find_guid(known, guid) != PM_NONE)
				continue;
			replaced = find_replaced(known, now, sw);
			if (replaced == PM_NONE)
				continue;
			rc = pm_fabric_rename(known, replaced, guid,
					      pm_fabric_name(now, sw), err);
			if (rc)
				return rc;
			*renamed = again = true;
		}
	}
	return 0;
}

/* A copy of the plan that knows replaced switches by their new GUIDs. */
static int rename_in_copy(const struct pm_plan *old, const struct pm_fabric *now,
			  struct pm_plan **copy, bool *renamed, struct pm_error *err)
{
	struct pm_plan *plan = new_plan(old->order, old->lmc, pm_fabric_clone(old->known));
	int rc;

	if (!plan)
		return no_memory(err);
	rc = rename_replaced(plan->known, now, renamed, err);
	if (!rc)
		rc = pm_tree_make(plan->known, &plan->tree, err);
	if (!rc)
		rc = copy_places(plan, old, err);
	if (rc)
		pm_plan_free(plan);
	else
		*copy = plan;
	return rc;
}

/* A plan for the union of an old one and the fabric. */
static int extend(const struct pm_plan *old, const struct pm_fabric *now,
		  struct pm_plan **extended, struct pm_error *err)
{
	struct pm_fabric *merged = NULL;
	struct pm_plan *plan = NULL;
	uint8_t *is_place = NULL;
	int rc = pm_fabric_merge(old->known, now, &merged, err);

	if (rc)
		return rc;
	plan = new_plan(old->order, old->lmc, merged);
	is_place = plan ? pm_array(plan->known->num_ports, 1) : NULL;
	rc = is_place ? pm_tree_make(plan->known, &plan->tree, err) : no_memory(err);
	if (!rc)
		rc = check_tree(plan, err);
	if (!rc)
		rc = inherit(plan, old, err);
	if (!rc)
		rc = find_places(plan, is_place, err);
	for (uint32_t i = 0; !rc && i < plan->known->num_ports; i++)
		is_place[i] |= plan->lid[i] != 0;
	if (!rc)
		rc = deal_planes(plan, is_place, err);
	if (!rc)
		rc = find_ranks(plan, is_place, err);
	if (!rc)
		rc = give_missing(plan, is_place, err);
	free(is_place);
	if (rc) {
		pm_plan_free(plan);
		return rc;
	}
	find_top(plan);
	*extended = plan;
	return 0;
}

int pm_plan_grow(const struct pm_plan *old, const struct pm_fabric *now,
		 struct pm_plan **grown, struct pm_error *err)
{
	uint8_t *alive = pm_array(old->known->num_ports, 1);
	struct pm_plan *renamed = NULL;
	bool any_renamed = false;
	int rc = 0;

	if (!alive)
		return no_memory(err);
	*grown = NULL;
	if (pm_plan_match(old, now, alive))
		goto out;
	rc = rename_in_copy(old, now, &renamed, &any_renamed, err);
	if (rc)
		goto out;
	if (any_renamed && pm_plan_match(renamed, now, alive)) {
		*grown = renamed;
		renamed = NULL;
	} else {
		rc = extend(renamed, now, grown, err);
	}
out:
	pm_plan_free(renamed);
	free(alive);
	return rc;
}

/* ---- Restoring ---- */

static int restore_place(struct pm_plan *plan, const struct pm_plan_place *place,
			 uint8_t *is_place, struct pm_error *err)
{
	const struct pm_fabric *known = plan->known;
	const struct pm_port *p;

	if (place->port >= known->num_ports)
		return pm_error_set(err, -EBADMSG, "place of LID %u: no such port",
				    place->lid);
	p = &known->ports[place->port];
	if (is_place[place->port] || (p->num && p->peer != PM_NONE))
		return pm_error_set(err, -EBADMSG, "LID %u: \"%s\"[%u] is no place or has "
				    "a LID already", place->lid,
				    pm_fabric_name(known, p->node), p->num);
	if (!is_free(plan, place->lid, pm_plan_num_lids(plan, place->port)))
		return pm_error_set(err, -EBADMSG, "LID %u is not free or out of range",
				    place->lid);
	if ((place->plane != PM_NONE && place->plane >= plan->tree.num_planes) ||
	    place->turn >= 1u << plan->lmc)
		return pm_error_set(err, -EBADMSG, "LID %u: no such plane", place->lid);
	is_place[place->port] = 1;
	plan->plane[place->port] = place->plane;
	plan->turn[place->port] = place->turn;
	give_lids(plan, place->port, place->lid);
	return 0;
}

static int restore_all(struct pm_plan *plan, const struct pm_plan_place *places,
		       uint32_t num_places, const struct pm_run *runs, uint32_t num_runs,
		       uint8_t *is_place, struct pm_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < num_places && !rc; i++)
		rc = restore_place(plan, &places[i], is_place, err);
	for (uint32_t i = 0; i < num_runs && !rc; i++) {
		if ((runs[i].plane != PM_NONE && runs[i].plane >= plan->tree.num_planes) ||
		    !runs[i].length)
			rc = pm_error_set(err, -EBADMSG, "run at LID %u: no such plane, or "
					  "empty", runs[i].start);
		else
			rc = add_run(plan, runs[i].start, runs[i].length, runs[i].plane,
				     err) ? -EBADMSG : 0;
	}
	return rc;
}

int pm_plan_restore(const struct pm_plan_config *config, struct pm_fabric *skeleton,
		    const struct pm_plan_place *places, uint32_t num_places,
		    const struct pm_run *runs, uint32_t num_runs,
		    struct pm_plan **result, struct pm_error *err)
{
	struct pm_plan *plan = new_plan(config->order, config->lmc, skeleton);
	uint8_t *is_place = plan ? pm_array(plan->known->num_ports, 1) : NULL;
	int rc;

	rc = is_place ? pm_tree_make(plan->known, &plan->tree, err) : no_memory(err);
	if (!rc)
		rc = check_tree(plan, err);
	if (!rc)
		rc = restore_all(plan, places, num_places, runs, num_runs, is_place, err);
	if (!rc)
		rc = find_ranks(plan, is_place, err);
	free(is_place);
	if (rc) {
		pm_plan_free(plan);
		return rc == -ENOENT || rc == -ENOTSUP ? -EBADMSG : rc;
	}
	find_top(plan);
	*result = plan;
	return 0;
}

/* ---- A fabric against the plan ---- */

/* Whether the plan knows what the fabric has at this port; marks cables alive. */
static bool match_port(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t port, uint32_t known_port, const uint32_t *known_of,
		       uint8_t *alive)
{
	const struct pm_fabric *known = plan->known;
	uint32_t peer = now->ports[port].peer, far, known_far;

	if (peer == PM_NONE)
		return true;
	far = now->ports[peer].node;
	if (far >= now->num_switches) {
		alive[known_port] = 1;
		return plan->lid[known_port] != 0;
	}
	if (known_of[far] == PM_NONE ||
	    now->ports[peer].num > known->nodes[known_of[far]].num_ports)
		return false;
	known_far = known->nodes[known_of[far]].first_port + now->ports[peer].num;
	if (known->ports[known_port].peer != known_far)
		return false;
	alive[known_port] = 1;
	return true;
}

bool pm_plan_match(const struct pm_plan *plan, const struct pm_fabric *now,
		   uint8_t *alive)
{
	const struct pm_fabric *known = plan->known;
	uint32_t *known_of = pm_array(now->num_switches, sizeof(*known_of));
	bool known_all = known_of != NULL;

	memset(alive, 0, known->num_ports);
	if (!known_of)
		return false;
	for (uint32_t i = 0; i < now->num_switches; i++)
		known_of[i] = pm_fabric_find_guid(known, now->nodes[i].guid);
	for (uint32_t i = 0; i < now->num_switches && known_all; i++) {
		const struct pm_node *n = &now->nodes[i];

		if (known_of[i] == PM_NONE ||
		    n->num_ports != known->nodes[known_of[i]].num_ports) {
			known_all = false;
			break;
		}
		for (uint32_t p = 1; p <= n->num_ports && known_all; p++)
			known_all = match_port(plan, now, n->first_port + p,
					       known->nodes[known_of[i]].first_port + p,
					       known_of, alive);
	}
	free(known_of);
	return known_all;
}

/* Whether the plan does not know this switch, or knows one of its cables otherwise. */
static bool is_stranger(const struct pm_plan *plan, const struct pm_fabric *now, uint32_t sw)
{
	const struct pm_fabric *known = plan->known;
	const struct pm_node *n = &now->nodes[sw];
	uint32_t there = pm_fabric_find_guid(known, n->guid);

	if (there == PM_NONE || known->nodes[there].num_ports != n->num_ports)
		return true;
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t far = now->ports[n->first_port + p].peer;
		uint32_t known_far = known->ports[known->nodes[there].first_port + p].peer;

		if (far != PM_NONE && known_far != PM_NONE &&
		    (now->ports[far].node >= now->num_switches ||
		     same_port(now, far, known) != known_far))
			return true;
	}
	return false;
}

bool pm_plan_fits(const struct pm_plan *plan, const struct pm_fabric *now)
{
	uint32_t strangers = 0, present = 0;

	for (uint32_t sw = 0; sw < now->num_switches; sw++) {
		strangers += is_stranger(plan, now, sw);
		present += pm_fabric_find_guid(plan->known, now->nodes[sw].guid) != PM_NONE;
	}
	return present * 2 >= plan->known->num_switches &&
		strangers * 10 <= now->num_switches;
}

uint32_t pm_plan_place(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t port)
{
	uint32_t place = port;

	if (now->ports[port].node >= now->num_switches)
		place = now->ports[port].peer;
	if (place == PM_NONE || now->ports[place].node >= now->num_switches)
		return PM_NONE;
	place = same_port(now, place, plan->known);
	return place != PM_NONE && plan->lid[place] ? place : PM_NONE;
}
