/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which switches are fit to carry other switches' traffic, by what they say of
 * themselves; so that a bad one harms itself alone.
 *
 * A switch whose table has no room for all LIDs of the plan would drop what goes through
 * it to the LIDs beyond: it is kept out of all paths. One of the lowest level is on
 * nobody else's path anyhow. It stays, for those of its hosts that its table has room
 * for.
 */
#ifndef PORTMAJOR_LFT_CAPACITY_H
#define PORTMAJOR_LFT_CAPACITY_H

#include <portmajor/plan/plan.h>

#include <stddef.h>

/* What a switch says of itself. */
struct pm_lft_capacity {
	uint64_t guid;
	uint16_t max_lid;   /* the highest that its table has room for */
	uint16_t odd_ports; /* that are in no state that there is: no cables */
};

/* Room for what pm_lft_capacity_judge writes. */
#define PM_LFT_CAPACITY_TEXT 1024

/*
 * The highest LID that half of the switches, or more, have room for: a plan may use LIDs
 * up to that. 0xffff if there are none. Sorts them by their room.
 */
uint16_t pm_lft_capacity_max_lid(struct pm_lft_capacity *switches, uint32_t num);

/*
 * The highest LID that all those switches have room for which have room for top_lid.
 * 0xffff if there are none.
 */
uint16_t pm_lft_capacity_limit(const struct pm_lft_capacity *switches, uint32_t num,
			       uint16_t top_lid);

/*
 * Sets unfit[switch of plan->known] to 1 for those that are to be kept out of all paths,
 * else to 0, and writes one line without a newline that names each bad switch and says
 * what is wrong with it, at most 8 of them; "" if none is bad. Truncated to size.
 * Those that the plan does not know are bad. O(switches log switches).
 */
void pm_lft_capacity_judge(const struct pm_plan *plan,
			   const struct pm_lft_capacity *switches, uint32_t num,
			   uint8_t *unfit, char *text, size_t size);

#endif
