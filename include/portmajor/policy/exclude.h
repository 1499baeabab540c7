/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Excludes links from use without cutting a path; for the core's own use. */
#ifndef PORTMAJOR_EXCLUDE_H
#define PORTMAJOR_EXCLUDE_H

#include <portmajor/plan/plan.h>

/* A link that is in use. */
struct pm_exclusion {
	uint32_t port; /* of plan->topology, either end */
	bool needed;   /* result: left in */
};

/*
 * Excludes links from usable[port], at both ends, in the order of the list. Leaves in
 * needed links: those without which fewer pairs of switches with end ports would have an
 * up-then-down path. The list has each link once. -ENOMEM: usable is untouched. Cost:
 * nothing without links; else two pm_reach_compute, and for each link left in,
 * pm_reach_fail of at most 4 times the links between it and the last one left in, in 2 x
 * log2(these) steps.
 */
int pm_exclude(const struct pm_plan *plan, uint8_t *usable, struct pm_exclusion *list,
	       uint32_t num, struct pm_error *err);

#endif
