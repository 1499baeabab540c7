/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Effects of drains on a fabric: the load of the busiest link and the uplinks that leaves
 * and levels keep, before and after. They are computed from the plan and the present
 * parts and rates, without OpenSM.
 */
#ifndef PORTMAJOR_CLI_DRAIN_EFFECT_H
#define PORTMAJOR_CLI_DRAIN_EFFECT_H

#include "present.h"

#include <portmajor/policy/drain.h>

#include <jansson.h>

/* Uplinks of a leaf, or of all switches of a level. */
struct drain_uplinks {
	uint32_t of_what;  /* PM_NONE: none has fewer uplinks in use than before */
	uint32_t kept, of; /* in use afterwards, and present */
};

struct drain_effect {
	/*
	 * Flows on the busiest link when every host sends to each other one, scaled by
	 * pm_link_weigh: without any drain, with the earlier drains, and afterwards.
	 */
	uint64_t load_undrained, load_before, load_after;
	/* That keep the smallest share, among those with fewer uplinks than before: */
	struct drain_uplinks leaf;  /* a switch */
	struct drain_uplinks level; /* from 1 on: above the leaves */
};

/*
 * Compares drains with earlier ones; both get the states that they would have. -ENOMEM.
 * Cost: two or three times that of all tables and of following all flows.
 */
int drain_effect_find(const struct present *present, struct pm_drains *before,
		      struct pm_drains *after, struct drain_effect *effect,
		      struct pm_error *err);

/*
 * Why the new drains should not be: a leaf or a level keeps less than half of its
 * uplinks, or the busiest link carries more than 2.5 times the flows that it would carry
 * without any drain. NULL: they may be.
 */
const char *drain_effect_refusal(const struct drain_effect *effect);

/* "busiest link 306 -> 324 flows (+5.9%); leaves keep at least 17 of 18 uplinks (leaf0)";
 * the caller frees it. */
char *drain_effect_text(const struct pm_plan *plan, const struct drain_effect *effect);

/* The JSON object (docs/json.md). */
json_t *drain_effect_describe(const struct pm_plan *plan,
			      const struct drain_effect *effect);

#endif
