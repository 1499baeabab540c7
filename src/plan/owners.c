/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* LIDs and the places that own them; runs; and whether LIDs suffice. */
#include "plan_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Owners ---- */

void plan_give_lids(struct pm_plan *plan, uint32_t place, uint32_t lid)
{
	plan->lid[place] = (uint16_t)lid;
	for (uint32_t k = 0; k < pm_plan_num_lids(plan, place); k++)
		plan->owner[lid + k] = place;
}

bool plan_is_free(const struct pm_plan *plan, uint32_t lid, uint32_t num)
{
	if (lid == 0 || lid % num || lid + num - 1 > PM_MAX_LID)
		return false;
	for (uint32_t k = 0; k < num; k++)
		if (plan->owner[lid + k] != PM_NONE)
			return false;
	return true;
}

void plan_take_back(struct pm_plan *plan, uint32_t place)
{
	for (uint32_t k = 0; plan->lid[place] && k < pm_plan_num_lids(plan, place); k++)
		if (plan->owner[plan->lid[place] + k] == place)
			plan->owner[plan->lid[place] + k] = PM_NONE;
	plan->lid[place] = 0;
}

bool plan_keep_place(struct pm_plan *plan, uint32_t place, uint32_t lid, uint8_t *kept)
{
	uint32_t num = pm_plan_num_lids(plan, place);

	if (lid % num || lid + num - 1 > PM_MAX_LID)
		return false;
	for (uint32_t k = 0; k < num; k++)
		if (kept[lid + k])
			return false;
	plan_take_back(plan, place);
	for (uint32_t k = 0; k < num; k++) {
		if (plan->owner[lid + k] != PM_NONE)
			plan_take_back(plan, plan->owner[lid + k]);
		kept[lid + k] = 1;
	}
	plan_give_lids(plan, place, lid);
	return true;
}

void plan_find_top(struct pm_plan *plan)
{
	plan->top_lid = 0;
	for (uint32_t lid = 0; lid <= PM_MAX_LID; lid++)
		if (plan->owner[lid] != PM_NONE)
			plan->top_lid = (uint16_t)lid;
	/* LinearFDBTop, see plan.h */
	if (plan->top_lid && plan->top_lid % PM_LFT_BLOCK == 0)
		plan->top_lid++;
}

/* ---- Runs ---- */

int plan_add_run(struct pm_plan *plan, uint32_t start, uint32_t length, uint32_t plane,
		 struct pm_error *err)
{
	struct pm_run *runs;

	if (start + length - 1 > PM_MAX_LID)
		return pm_error_set(err, -ENOSPC,
				    "the plan needs LIDs up to %u, there are %u",
				    start + length - 1, PM_MAX_LID);
	runs = reallocarray(plan->runs, plan->num_runs + 1u, sizeof(*runs));
	if (!runs)
		return pm_error_no_memory(err);
	runs[plan->num_runs++] =
		(struct pm_run){(uint16_t)start, (uint16_t)length, plane};
	plan->runs = runs;
	return 0;
}

uint32_t plan_nth_plane(const struct pm_plan *plan, uint32_t n, uint32_t last)
{
	if (n == plan->tree.num_planes)
		return last;
	return n < last ? n : n + 1;
}

/* ---- Orders ---- */

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

/* ---- The number of LIDs ---- */

/* The number of places, and of LIDs that they need with an LMC. */
struct need {
	uint32_t slots, switches;
};

static struct need count_places(const struct pm_plan *plan, const uint8_t *is_place)
{
	struct need need = {0, 0};

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		if (!is_place[i] && !plan->lid[i])
			continue;
		need.slots += plan->topology->ports[i].num != 0;
		need.switches += plan->topology->ports[i].num == 0;
	}
	return need;
}

static uint64_t count_lids(const struct need *need, uint32_t lmc)
{
	return ((uint64_t)need->slots << lmc) + need->switches;
}

bool plan_has_room(const struct pm_plan *plan, const uint8_t *is_place)
{
	struct need need = count_places(plan, is_place);

	return count_lids(&need, plan->lmc) <= PM_MAX_LID;
}

int plan_out_of_lids(const struct pm_plan *plan, const uint8_t *is_place,
		     struct pm_error *err)
{
	struct need need = count_places(plan, is_place);
	uint64_t lids = count_lids(&need, plan->lmc);
	uint32_t lmc = plan->lmc;
	char hint[64] = "";

	while (lmc && count_lids(&need, lmc) > PM_MAX_LID)
		lmc--;
	if (lids <= PM_MAX_LID)
		snprintf(hint, sizeof(hint), "; %s",
			 plan->order == PM_GROUPED ? "a new plan has room"
						   : "they fit with lid_order grouped");
	else if (count_lids(&need, lmc) <= PM_MAX_LID)
		snprintf(hint, sizeof(hint), "; they fit with LMC %u", lmc);
	return pm_error_set(err, -ENOSPC,
			    "%u places need %llu LIDs with LMC %u, there are %u: no room "
			    "with lid_order %s%s",
			    need.slots + need.switches, (unsigned long long)lids,
			    plan->lmc, PM_MAX_LID, pm_lid_order_name(plan->order), hint);
}
