/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slow reference: reachability and the path of every packet, from the fabric alone.
 * Shares no code and no idea with the core, except the definitions in its headers.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <portmajor/plan/plan.h>
#include <portmajor/route/route.h>

struct reference {
	const struct pm_fabric *now;
	uint32_t num;	 /* switches of it */
	uint8_t *level;	 /* [switch] */
	uint8_t *down;	 /* [from][to] a path that only goes down */
	uint8_t *updown; /* [from][to] a path up and then down */
};

/*
 * Checks the levels that a plan gave to switches of a whole fabric, the same switches:
 * where these count from the leaves, a switch with end ports and no neighbour with
 * twice as many is a leaf; and all switches connected with leaves have a level, and a
 * cable to a switch of the next level up or down. NULL if so.
 */
const char *reference_levels(const struct pm_fabric *whole, const struct pm_plan *plan);

/* Reachability in the fabric `now`, borrowed, with the levels of a plan. */
void reference_make(struct reference *reference, const struct pm_plan *plan,
		    const struct pm_fabric *now);
void reference_free(struct reference *reference);

/* Whether a packet for switch `to` may leave `from` through this port. */
bool reference_leads(const struct reference *reference, uint32_t from, unsigned int port,
		     uint32_t to);

/* Tables, each `stride` bytes, by switch of plan->topology. */
struct reference_tables {
	const struct pm_plan *plan;
	const uint8_t *entries;
	uint32_t stride;
	const struct pm_detours *detours; /* they were made with, or NULL */
};

/*
 * Follows every LID from every switch. NULL if every LID with an up-then-down path gets
 * to its place on such a path, and every LID with detours from all switches that cables
 * join to it; else the fault (in static memory). With `exact`, entries for LIDs without
 * a path and for LIDs that belong to no place must be PM_LFT_KEEP, too.
 */
const char *reference_walk(const struct reference *reference,
			   const struct reference_tables *tables, bool exact);

/* The number of (switch, LID of a port in `now`) pairs that a path joins. */
uint64_t reference_count_pairs(const struct reference *reference,
			       const struct pm_plan *plan, bool from_all);

/*
 * Checks a plan alone: LIDs owned once, all places known, runs that do not overlap and
 * begin at the right LIDs, planes that lead to their places, slots assigned evenly on
 * every leaf (unless grown). NULL if it is right.
 */
const char *reference_plan(const struct pm_plan *plan, bool grown);

#endif
