/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds switches that cannot carry other switches' traffic, by their own attributes, so
 * that a bad switch harms only itself.
 *
 * A switch with a table too small for the plan's LIDs drops packets to higher LIDs, so it
 * is excluded from all paths. Switches of the lowest level are not excluded: no other
 * switch's path leads through them, and they serve the LIDs that fit.
 */
#ifndef PORTMAJOR_LFT_CAPACITY_H
#define PORTMAJOR_LFT_CAPACITY_H

#include <portmajor/plan/plan.h>

#include <stddef.h>

/* A switch's attributes. */
struct pm_lft_capacity {
	uint64_t guid;
	uint16_t max_lid;   /* highest LID that fits in its table */
	uint16_t odd_ports; /* ports in no valid state, which count as down */
};

/* Room for the text of pm_lft_capacity_judge. */
#define PM_LFT_CAPACITY_TEXT 1024

/*
 * The highest LID that fits in the tables of half of the switches or more: the limit of a
 * plan. 0xffff without switches. Sorts them by capacity.
 */
uint16_t pm_lft_capacity_max_lid(struct pm_lft_capacity *switches, uint32_t num);

/*
 * The smallest LFT capacity among the switches that can hold top_lid. 0xffff without such
 * switches.
 */
uint16_t pm_lft_capacity_limit(const struct pm_lft_capacity *switches, uint32_t num,
			       uint16_t top_lid);

/*
 * Sets unfit[switch of plan->topology] to 1 for switches to exclude from all paths, else
 * to 0. Writes one line without a newline on at most 8 bad switches and their faults,
 * truncated to size; "" if none is bad. A switch that is not in the plan is bad.
 * O(switches log switches).
 */
void pm_lft_capacity_judge(const struct pm_plan *plan,
			   const struct pm_lft_capacity *switches, uint32_t num,
			   uint8_t *unfit, char *text, size_t size);

#endif
