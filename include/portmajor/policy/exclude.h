/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Taking cables out of use without losing a path; for the core's own use. */
#ifndef PORTMAJOR_EXCLUDE_H
#define PORTMAJOR_EXCLUDE_H

#include <portmajor/plan/plan.h>

/* A cable that is in use. */
struct pm_exclusion {
	uint32_t port; /* of plan->known, either end */
	bool needed;   /* result: left in */
};

/*
 * Takes cables out of alive[port], both ends, in their order, but leaves in each without
 * which an up-then-down path would join fewer pairs of switches with end ports. No cable
 * is listed twice. -ENOMEM: alive is untouched.
 * Cost: nothing for no cables; else twice finding what is reachable, and for each cable
 * left in the loss (pm_reach_fail) of at most 4 times the cables between it and the one
 * left in before, in 2 x log2(these) steps.
 */
int pm_exclude(const struct pm_plan *plan, uint8_t *alive, struct pm_exclusion *list,
	       uint32_t num, struct pm_error *err);

#endif
