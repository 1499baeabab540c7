/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Effects of drains on a fabric: the load of the busiest link and the uplinks that leaves
 * keep, before and after. They are computed from the plan and its present parts, without
 * OpenSM.
 */
#ifndef PORTMAJOR_CLI_DRAIN_EFFECT_H
#define PORTMAJOR_CLI_DRAIN_EFFECT_H

#include <portmajor/policy/drain.h>

#include <jansson.h>

struct drain_effect {
	uint64_t load_before, load_after; /* flows on the busiest link when every host
					     sends to each other one */
	/*
	 * The leaf that keeps the smallest share of its uplinks, among leaves with fewer
	 * uplinks in use than before; PM_NONE: there is none.
	 */
	uint32_t leaf;
	uint32_t kept, of; /* its uplinks in use afterwards, and its present uplinks */
};

/*
 * Marks a plan's present parts in there[port of plan->topology]: all but those that a
 * state written by the plugin lists as missing (docs/json.md); state may be NULL.
 */
void drain_effect_there(const struct pm_plan *plan, const json_t *state, uint8_t *there);

/*
 * Compares drains with earlier ones; both get the states that they would have. there[port
 * of plan->topology] marks the present parts (pm_plan_match). -ENOMEM. Cost: twice that
 * of all tables and of following all flows.
 */
int drain_effect_find(const struct pm_plan *plan, const uint8_t *there,
		      struct pm_drains *before, struct pm_drains *after,
		      struct drain_effect *effect, struct pm_error *err);

/* Whether a leaf keeps less than half of its uplinks. */
bool drain_effect_is_harsh(const struct drain_effect *effect);

/* "busiest link 306 -> 324 flows (+5.9%); leaves keep at least 17 of 18 uplinks (leaf0)";
 * the caller frees it. */
char *drain_effect_text(const struct pm_plan *plan, const struct drain_effect *effect);

/* The JSON object (docs/json.md). */
json_t *drain_effect_describe(const struct pm_plan *plan,
			      const struct drain_effect *effect);

#endif
