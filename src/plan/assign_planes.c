/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Assigns each place a plane, and a rank in it. lids.c then gives LIDs in the order of
 * planes and ranks (drawing in plan.h).
 *
 * On a new leaf with n planes the compute ports take the planes in port order, in full
 * rounds: the i-th of them, from 0, takes the leaf's plane number i mod n (with LMC,
 * thin_choice leaves fewer planes). The other slots follow in this order: compute ports
 * that fill no whole round, or come to a leaf in use; I/O ports; service ports;
 * aggregation nodes; empty slots, which count as compute. Each takes the plane with the
 * fewest slots of its kind on the leaf; of equal ones, that with the fewest in the
 * fabric. But aggregation nodes at the leaves of one pod share a plane, if their leaf has
 * it.
 *
 * A switch's own LID takes the plane, of those that lead to it, with the fewest switches
 * (with LMC, leaves' LIDs: assign_leaf_late). Ranks count the slots of a plane in subtree
 * order.
 */
#include "plan_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>

/* Marks in is_place[] the ports that are places; see plan.h. */
int plan_find_places(const struct pm_plan *plan, uint8_t *is_place, struct pm_error *err)
{
	const struct pm_fabric *topology = plan->topology;
	/* usual[ports][number]: a leaf with so many ports has a host there */
	uint8_t(*usual)[PM_MAX_PORTS + 1] = pm_array(PM_MAX_PORTS + 1, sizeof(*usual));

	if (!usual)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		const struct pm_port *port = &topology->ports[i];

		if (port->host && pm_tree_is_leaf(&plan->tree, port->node))
			usual[topology->nodes[port->node].num_ports][port->num] = 1;
	}
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		const struct pm_port *port = &topology->ports[i];

		is_place[i] = port->num == 0 || port->host ||
			      (port->peer == PM_NONE &&
			       pm_tree_is_leaf(&plan->tree, port->node) &&
			       usual[topology->nodes[port->node].num_ports][port->num]);
	}
	free(usual);
	return 0;
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

bool plan_leads_to(const struct pm_plan *plan, uint32_t plane, uint32_t sw)
{
	const struct pm_tree *tree = &plan->tree;

	if (tree->level[sw] == PM_NO_LEVEL)
		return false;
	if (tree->level[sw] > tree->leaf_level)
		return pm_tree_is_native(tree, plane, sw);
	if (tree->edge_planes)
		return pm_bits_test(tree->edge_planes + (size_t)sw * tree->plane_words,
				    plane);
	pm_for_each_port(i, plan->topology, sw)
		if (tree->plane[i] == plane)
			return true;
	return false;
}

/* Walks over the planes that lead to a switch, in no order: the next one, or PM_NONE. */
static uint32_t walk_planes(const struct pm_plan *plan, uint32_t sw, uint32_t *at)
{
	const struct pm_tree *tree = &plan->tree;
	const struct pm_node *n = &plan->topology->nodes[sw];

	if (tree->level[sw] == PM_NO_LEVEL)
		return PM_NONE;
	if (tree->level[sw] != tree->leaf_level) {
		while (*at < tree->num_planes)
			if (plan_leads_to(plan, (*at)++, sw))
				return *at - 1;
		return PM_NONE;
	}
	while (*at <= n->num_ports) {
		uint32_t plane = tree->plane[n->first_port + (*at)++];

		if (plane != PM_NONE)
			return plane;
	}
	return PM_NONE;
}

#define FOR_EACH_PLANE(p, plan, sw)                                                      \
	for (uint32_t at_ = 0, p; (p = walk_planes(plan, sw, &at_)) != PM_NONE;)

/* The next plane after this one, cyclically, of those that lead to a switch. */
static uint32_t next_plane(const struct pm_plan *plan, uint32_t sw, uint32_t plane)
{
	uint32_t first = plane, next = PM_NONE;

	FOR_EACH_PLANE(other, plan, sw) {
		if (other < first)
			first = other;
		if (other > plane && other < next)
			next = other;
	}
	return next != PM_NONE ? next : first;
}

/* Counts the planes that lead to a switch; *below: those before this plane. */
static uint32_t count_planes(const struct pm_plan *plan, uint32_t sw, uint32_t plane,
			     uint32_t *below)
{
	uint32_t count = 0;

	*below = 0;
	FOR_EACH_PLANE(other, plan, sw) {
		*below += other < plane;
		count++;
	}
	return count;
}

/* Consecutive planes of a switch, by index among the planes that lead to it. */
struct bundle {
	uint32_t first, count;
	bool whole; /* a slot uses all of them */
};

/* The bundle of a plane (plan.h); planes are counted from 0 to `planes` - 1. */
static struct bundle find_bundle(const struct pm_plan *plan, uint32_t planes,
				 uint32_t index)
{
	uint32_t size = 1u << plan->lmc, in_whole = 0;

	if (planes >= 2 * size)
		in_whole = (planes / size - 1) * size;
	if (index < in_whole)
		return (struct bundle){index - index % size, size, true};
	return (struct bundle){in_whole, planes - in_whole, false};
}

uint32_t pm_plan_plane(const struct pm_plan *plan, uint32_t place, uint32_t k)
{
	uint32_t sw = plan->topology->ports[place].node;
	uint32_t plane = plan->plane[place], count, index;
	struct bundle bundle;

	k = (k + plan->base_plane[place]) % pm_plan_num_lids(plan, place);
	if (plane == PM_NONE || k == 0)
		return plane;
	count = count_planes(plan, sw, plane, &index);
	if (count == 0)
		return plane;
	bundle = find_bundle(plan, count, index);
	k = bundle.first + (index - bundle.first + k) % bundle.count;
	for (k = (k + count - index) % count; k > 0; k--)
		plane = next_plane(plan, sw, plane);
	return plane;
}

/* Only one in so many of a switch's planes is a slot's own plane. */
static uint32_t plane_step(uint32_t num_planes, unsigned int lmc)
{
	return num_planes ? common_divisor(num_planes, 1u << lmc) : 1;
}

/* Lists the planes that lead to a switch, in ascending order; returns their number. */
static uint32_t list_planes(const struct pm_plan *plan, uint32_t sw, uint32_t *list)
{
	uint32_t count = 0;

	FOR_EACH_PLANE(plane, plan, sw) {
		uint32_t at = count++;

		for (; at > 0 && list[at - 1] > plane; at--)
			list[at] = list[at - 1];
		list[at] = plane;
	}
	return count;
}

struct assignment {
	struct pm_plan *plan;
	const uint8_t *is_place;
	uint32_t *slots[PM_HOST_KINDS]; /* [kind][plane] slots assigned to it so far;
					 * empty ones count as compute */
	uint32_t *switches;		/* [plane] switches assigned to it so far */
	uint32_t *room;	     /* [plane] LIDs that its slots leave in their blocks */
	uint32_t *choice;    /* planes for the present switch .. */
	uint32_t num_choice; /* .. in ascending order */
	uint32_t step;	     /* with LMC, every step-th plane is a slot's own .. */
	uint32_t *own;	     /* [plane] .. or the first of its bundle, .. */
	uint8_t *base_plane; /* [plane] .. and base_plane at least this */
	uint32_t *together;  /* [pod] plane of its aggregation nodes, or PM_NONE */
	uint32_t *here[PM_HOST_KINDS]; /* [kind][plane] slots of the present switch */
};

static void find_choice(struct assignment *assign, uint32_t sw)
{
	assign->num_choice = list_planes(assign->plan, sw, assign->choice);
	assign->step = plane_step(assign->num_choice, assign->plan->lmc);
	for (uint32_t i = 0; i < assign->num_choice; i++)
		for (int kind = PM_COMPUTE; kind < PM_HOST_KINDS; kind++)
			assign->here[kind][assign->choice[i]] = 0;
}

/* Keeps only the planes that may be a slot's own (plan.h). */
static void thin_choice(struct assignment *assign)
{
	uint32_t planes = assign->num_choice;

	assign->num_choice /= assign->step;
	for (uint32_t i = 0; i < assign->num_choice; i++) {
		uint32_t index = i * assign->step, p = assign->choice[index];
		struct bundle bundle = find_bundle(assign->plan, planes, index);

		assign->own[p] = p;
		assign->base_plane[p] = 0;
		if (bundle.whole && bundle.first < index) {
			/* choice[i - before] is the bundle's first plane. */
			uint32_t before = (index - bundle.first) / assign->step;

			assign->own[p] = assign->choice[i - before];
			assign->base_plane[p] = (uint8_t)(index - bundle.first);
		}
		assign->choice[i] = p;
	}
}

/* The plane of choice[] that a slot was given, by its own plane and base_plane. */
static uint32_t find_assigned(const struct assignment *assign, uint32_t port)
{
	uint32_t plane = assign->plan->plane[port], base = assign->plan->base_plane[port];

	for (uint32_t i = 0; i < assign->num_choice; i++) {
		uint32_t p = assign->choice[i];

		if (assign->own[p] == plane &&
		    assign->base_plane[p] == base - base % assign->step)
			return p;
	}
	return plane;
}

/* The plane with the fewest slots here, then the fewest in all, then the first one. */
static uint32_t least_loaded(const struct assignment *assign, const uint32_t *here,
			     const uint32_t *overall)
{
	uint32_t best = PM_NONE;

	for (uint32_t i = 0; i < assign->num_choice; i++) {
		uint32_t p = assign->choice[i];

		if (best == PM_NONE || here[p] < here[best] ||
		    (here[p] == here[best] && overall[p] < overall[best]))
			best = p;
	}
	return best;
}

/* Counts a plane's aggregation nodes, or its other slots. */
static uint32_t count_assigned(const struct assignment *assign, uint32_t plane,
			       enum pm_host kind)
{
	uint32_t count = 0;

	if (kind == PM_AGGREGATION)
		return assign->slots[kind][plane];
	for (int k = PM_COMPUTE; k < PM_AGGREGATION; k++)
		count += assign->slots[k][plane];
	return count;
}

/* The kind that a slot counts as: empty ones count as compute. */
static enum pm_host kind_of(const struct pm_plan *plan, uint32_t port)
{
	uint8_t host = plan->topology->ports[port].host;

	return host == PM_NO_HOST ? PM_COMPUTE : (enum pm_host)host;
}

static void give_plane(struct assignment *assign, uint32_t port, uint32_t plane)
{
	enum pm_host kind = kind_of(assign->plan, port);

	if (plane == PM_NONE)
		return;
	if (assign->plan->plane[port] == PM_NONE) {
		assign->plan->base_plane[port] =
			(uint8_t)(assign->base_plane[plane] +
				  count_assigned(assign, plane, kind) % assign->step);
		assign->plan->plane[port] = assign->own[plane];
	}
	assign->slots[kind][plane]++;
	assign->here[kind][plane]++;
}

/* Counts a switch's slots of a kind that have no plane yet. */
static uint32_t count_fresh(const struct assignment *assign, uint32_t sw,
			    enum pm_host kind)
{
	uint32_t fresh = 0;

	pm_for_each_port(i, assign->plan->topology, sw)
		fresh += assign->is_place[i] && assign->plan->plane[i] == PM_NONE &&
			 assign->plan->topology->ports[i].host == kind;
	return fresh;
}

/*
 * Assigns slots of one kind. The first `in_rounds` take the planes in port order, in full
 * rounds, so that the same slot uses the same plane on every leaf. The others take the
 * least loaded plane.
 */
static void assign_kind(struct assignment *assign, uint32_t sw, enum pm_host host,
			uint32_t in_rounds)
{
	struct pm_plan *plan = assign->plan;
	uint32_t count = 0;

	pm_for_each_port(i, plan->topology, sw) {
		enum pm_host kind = kind_of(plan, i);

		if (!assign->is_place[i] || plan->plane[i] != PM_NONE ||
		    plan->topology->ports[i].host != host)
			continue;
		if (count < in_rounds)
			give_plane(assign, i,
				   assign->choice[count++ % assign->num_choice]);
		else
			give_plane(assign, i,
				   least_loaded(assign, assign->here[kind],
						assign->slots[kind]));
	}
}

/*
 * Assigns aggregation nodes. Those of a pod's leaves take one plane where they can: if
 * their LIDs find no place beside the leaves' slots, then only the failure of that plane
 * in the pod changes entries for them.
 */
static void assign_aggregation(struct assignment *assign, uint32_t sw)
{
	struct pm_plan *plan = assign->plan;
	uint32_t pod = plan->tree.pod[sw];
	uint32_t *together = pm_tree_is_leaf(&plan->tree, sw) && pod != PM_NONE
				     ? &assign->together[pod]
				     : NULL;

	pm_for_each_port(i, plan->topology, sw) {
		uint32_t plane;

		if (!assign->is_place[i] || plan->plane[i] != PM_NONE ||
		    plan->topology->ports[i].host != PM_AGGREGATION)
			continue;
		plane = least_loaded(assign, assign->here[PM_AGGREGATION],
				     assign->slots[PM_AGGREGATION]);
		for (uint32_t k = 0; together && k < assign->num_choice; k++)
			if (assign->choice[k] == *together)
				plane = *together;
		if (together && *together == PM_NONE)
			*together = plane;
		give_plane(assign, i, plane);
	}
}

/*
 * Assigns compute ports first, then I/O and service ports: each kind separately, so that
 * none spoils another's balance. Empty slots come last, as they must not take the share
 * of used ones.
 */
static void assign_slots(struct assignment *assign, uint32_t sw)
{
	struct pm_plan *plan = assign->plan;
	uint32_t fresh = count_fresh(assign, sw, PM_COMPUTE), in_rounds;
	bool used = false;

	pm_for_each_port(i, plan->topology, sw) {
		if (assign->is_place[i] && plan->plane[i] != PM_NONE) {
			give_plane(assign, i, find_assigned(assign, i));
			used = true;
		}
	}
	in_rounds = used || !assign->num_choice ? 0 : fresh - fresh % assign->num_choice;
	assign_kind(assign, sw, PM_COMPUTE, in_rounds);
	assign_kind(assign, sw, PM_IO, 0);
	assign_kind(assign, sw, PM_SERVICE, 0);
	assign_aggregation(assign, sw);
	assign_kind(assign, sw, PM_NO_HOST, 0);
}

static void assign_switch(struct assignment *assign, uint32_t sw)
{
	uint32_t port = assign->plan->topology->nodes[sw].first_port;
	uint32_t plane = assign->plan->plane[port];

	if (plane == PM_NONE)
		plane = least_loaded(assign, assign->here[PM_COMPUTE], assign->switches);
	assign->plan->plane[port] = plane;
	if (plane != PM_NONE)
		assign->switches[plane]++;
}

static bool is_leaf_assigned_late(const struct assignment *assign, uint32_t sw)
{
	return assign->plan->lmc && pm_tree_is_leaf(&assign->plan->tree, sw);
}

static void assign_places(struct assignment *assign, uint32_t sw)
{
	find_choice(assign, sw);
	if (!is_leaf_assigned_late(assign, sw))
		assign_switch(assign, sw);
	thin_choice(assign);
	assign_slots(assign, sw);
}

static void find_room(struct assignment *assign)
{
	const struct pm_plan *plan = assign->plan;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (assign->is_place[i] && plan->plane[i] != PM_NONE &&
		    plan->topology->ports[i].host != PM_AGGREGATION &&
		    pm_tree_is_leaf(&plan->tree, plan->topology->ports[i].node))
			assign->room[plan->plane[i]] +=
				PM_LFT_BLOCK - pm_plan_num_lids(plan, i);
	for (uint32_t p = 0; p < plan->tree.num_planes; p++)
		assign->room[p] %= PM_LFT_BLOCK;
}

/*
 * With LMC, slots may fill their blocks, so that a leaf's own LID would take another
 * block. So the leaf gets a plane with room in its slots' blocks; if there is none, all
 * leaves share one plane.
 */
static void assign_leaf_late(struct assignment *assign, uint32_t sw)
{
	uint32_t port = assign->plan->topology->nodes[sw].first_port, best = PM_NONE;

	if (assign->plan->plane[port] != PM_NONE)
		return;
	find_choice(assign, sw);
	thin_choice(assign);
	for (uint32_t i = 0; i < assign->num_choice; i++) {
		uint32_t p = assign->own[assign->choice[i]];

		if (assign->room[p] &&
		    (best == PM_NONE || assign->switches[p] < assign->switches[best]))
			best = p;
	}
	if (best == PM_NONE && assign->num_choice) {
		assign->plan->plane[port] =
			assign->own[assign->choice[assign->num_choice - 1]];
	} else if (best != PM_NONE) {
		assign->plan->plane[port] = best;
		assign->switches[best]++;
		assign->room[best]--;
	}
}

/* Assigns leaves in subtree order, then the other switches by GUID. */
static void assign_all(struct assignment *assign)
{
	const struct pm_tree *tree = &assign->plan->tree;

	for (uint32_t i = 0; i < tree->num_leaves; i++) {
		assign_places(assign, tree->leaves[i]);
	}
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		if (!pm_tree_is_leaf(tree, sw))
			assign_places(assign, sw);
	}
	find_room(assign);
	for (uint32_t i = 0; i < tree->num_leaves; i++)
		if (is_leaf_assigned_late(assign, tree->leaves[i]))
			assign_leaf_late(assign, tree->leaves[i]);
}

int plan_assign_planes(struct pm_plan *plan, const uint8_t *is_place,
		       struct pm_error *err)
{
	uint32_t planes = plan->tree.num_planes;
	struct pm_pool pool = {0};
	struct assignment assign = {
		.plan = plan,
		.is_place = is_place,
		.switches = pm_pool_array(&pool, planes, sizeof(uint32_t)),
		.room = pm_pool_array(&pool, planes, sizeof(uint32_t)),
		.own = pm_pool_array(&pool, planes, sizeof(uint32_t)),
		.base_plane = pm_pool_array(&pool, planes, 1),
		.choice = pm_pool_array(&pool, planes, sizeof(uint32_t)),
		.together = pm_pool_array(&pool, plan->tree.num_pods, sizeof(uint32_t)),
	};
	int rc;

	for (int kind = PM_COMPUTE; kind < PM_HOST_KINDS; kind++) {
		assign.slots[kind] = pm_pool_array(&pool, planes, sizeof(uint32_t));
		assign.here[kind] = pm_pool_array(&pool, planes, sizeof(uint32_t));
	}
	rc = pm_pool_check(&pool, err);
	for (uint32_t pod = 0; !rc && pod < plan->tree.num_pods; pod++)
		assign.together[pod] = PM_NONE;
	if (!rc)
		assign_all(&assign);
	pm_pool_free(&pool);
	return rc;
}

/*
 * With LMC, so many consecutive slots share a rank: their LIDs that have the same plane
 * are counted one by one.
 */
static uint32_t count_sharing(const struct pm_plan *plan, uint32_t sw, uint32_t plane)
{
	uint32_t index, planes = count_planes(plan, sw, plane, &index);

	return find_bundle(plan, planes, index).whole ? 1u << plan->lmc
						      : plane_step(planes, plan->lmc);
}

/* The numbers of places ranked so far: [plane], the last one for those without. */
struct ranks {
	uint32_t *slots, *aggregation, *others;
};

static void rank_switch(struct pm_plan *plan, const uint8_t *is_place, uint32_t sw,
			const struct ranks *ranks)
{
	const struct pm_node *n = &plan->topology->nodes[sw];
	uint32_t none = plan->tree.num_planes;

	pm_for_each_port(i, plan->topology, sw) {
		uint32_t p = plan->plane[i];
		uint32_t *next = plan->topology->ports[i].host == PM_AGGREGATION
					 ? ranks->aggregation
					 : ranks->slots;

		if (is_place[i])
			plan->rank[i] = next[p == PM_NONE ? none : p]++ /
					count_sharing(plan, sw, p);
	}
	if (pm_tree_is_leaf(&plan->tree, sw)) {
		plan->rank[n->first_port] = plan->tree.leaf_index[sw];
	} else {
		uint32_t p = plan->plane[n->first_port];

		plan->rank[n->first_port] = ranks->others[p == PM_NONE ? none : p]++;
	}
}

int plan_find_ranks(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err)
{
	const struct pm_tree *tree = &plan->tree;
	struct pm_pool pool = {0};
	uint32_t num = tree->num_planes + 1u;
	struct ranks ranks = {
		.slots = pm_pool_array(&pool, num, sizeof(uint32_t)),
		.aggregation = pm_pool_array(&pool, num, sizeof(uint32_t)),
		.others = pm_pool_array(&pool, num, sizeof(uint32_t)),
	};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < tree->num_leaves; i++)
		rank_switch(plan, is_place, tree->leaves[i], &ranks);
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (!pm_tree_is_leaf(tree, sw))
			rank_switch(plan, is_place, sw, &ranks);
out:
	pm_pool_free(&pool);
	return rc;
}
