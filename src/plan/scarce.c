/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LIDs where they are scarce: runs without spare LIDs, so that planes share blocks.
 *
 * A fabric fits if its places have no more LIDs than there are. With LMC, aligned slots
 * come first, plane by plane, and the switches get what is left: the LIDs below the first
 * slot, and those above the last. Without LMC a run has its plane's switches behind its
 * slots.
 */
#include "plan_parts.h"

#include <errno.h>
#include <stdio.h>

/* Gives a place the next LIDs; there are enough. */
static void give_next(struct pm_plan *plan, uint32_t place, uint32_t *next)
{
	plan_give_lids(plan, place, *next);
	*next += pm_plan_num_lids(plan, place);
}

static bool is_of(const struct pm_plan *plan, const uint8_t *is_place, uint32_t place,
		  uint32_t plane)
{
	return is_place[place] && plan->plane[place] == plane && !plan->lid[place];
}

/* Slots of leaves in subtree order, then all others. */
static void give_slots(struct pm_plan *plan, const uint8_t *is_place, uint32_t plane,
		       uint32_t *next)
{
	const struct pm_fabric *topology = plan->topology;

	for (uint32_t l = 0; l < plan->tree.num_leaves; l++)
		pm_for_each_port(i, topology, plan->tree.leaves[l])
			if (is_of(plan, is_place, i, plane))
				give_next(plan, i, next);
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].num && is_of(plan, is_place, i, plane))
			give_next(plan, i, next);
}

static void give_switches(struct pm_plan *plan, const uint8_t *is_place, uint32_t plane,
			  uint32_t *next)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (!plan->topology->ports[i].num && is_of(plan, is_place, i, plane))
			give_next(plan, i, next);
}

/* Gives switches the LIDs below the first slot, and then those from *next on. */
static void give_rest(struct pm_plan *plan, const uint8_t *is_place, uint32_t *next)
{
	uint32_t low = 1;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (is_place[i] && !plan->lid[i])
			give_next(plan, i, low >> plan->lmc ? next : &low);
}

static int add_run(struct pm_plan *plan, uint32_t start, uint32_t end, uint32_t plane,
		   struct pm_error *err)
{
	return end > start ? plan_add_run(plan, start, end - start, plane, err) : 0;
}

int plan_lay_out_scarce(struct pm_plan *plan, const uint8_t *is_place, uint32_t last,
			struct pm_error *err)
{
	uint32_t planes = plan->tree.num_planes, next = 1u << plan->lmc, start;
	int rc;

	if (!plan_has_room(plan, is_place))
		return plan_out_of_lids(plan, is_place, err);
	rc = add_run(plan, 1, next, PM_NONE, err);
	for (uint32_t n = 0; n <= planes && !rc; n++) {
		uint32_t p = plan_nth_plane(plan, n, last);

		p = p == planes ? PM_NONE : p;
		start = next;
		give_slots(plan, is_place, p, &next);
		if (!plan->lmc)
			give_switches(plan, is_place, p, &next);
		rc = add_run(plan, start, next, p, err);
	}
	start = next;
	give_rest(plan, is_place, &next);
	return rc ? rc : add_run(plan, start, next, PM_NONE, err);
}
