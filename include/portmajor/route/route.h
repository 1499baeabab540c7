/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables: which port for which LID, on every switch of a plan.
 *
 * Each switch has one preferred port per LID, that of the tree with nothing
 * missing. Where the preferred port cannot reach the place of a LID any more,
 * the entry moves to another port that can; all other entries stay. So the
 * tables depend on the plan and on what is alive, never on what happened
 * before, and coming back restores the first tables exactly.
 *
 * Entries for places that have no up-then-down path (nor a detour, see below) are
 * PM_LFT_KEEP: whatever the switch holds may stay, as no packet gets through one way
 * or the other.
 */
#ifndef PORTMAJOR_ROUTE_H
#define PORTMAJOR_ROUTE_H

#include <portmajor/fabric/reach.h>
#include <portmajor/plan/plan.h>

#include <stddef.h>

/* Opaque: tables of all switches of one plan. */
struct pm_routes;

/*
 * Tables for the plan with every cable alive. The plan is borrowed and must
 * outlive the result, which the caller frees. -ENOMEM.
 * Cost: 1 to 3 ns per entry; 21 M entries for 11,664 hosts. About ten times that
 * where leaves have unlike cables.
 */
int pm_routes_make(const struct pm_plan *plan, struct pm_routes **routes,
		   struct pm_error *err);
void pm_routes_free(struct pm_routes *routes);

/*
 * Makes tables that prefer what these do (pm_routes_adopt), of the same plan. Otherwise
 * as pm_routes_make, whose cost it has.
 */
int pm_routes_copy(const struct pm_routes *routes, struct pm_routes **copy,
		   struct pm_error *err);

/*
 * Places that every switch is to reach with which cables join it, if need be by
 * paths that turn up again: the subnet manager's, to which traps are sent, and with
 * `switches` (OpenSM's connect_roots) those of all switches. Such paths can be part
 * of a credit loop, so they are taken only where there is no up-then-down path.
 *
 * End ports above the leaves and all others reach each other, too, where an update is
 * given detours: by paths that turn up again at one leaf alone, and so are part of no
 * credit loop (src/route/beyond.c), else with `switches` by any path, or else not.
 */
struct pm_detours {
	uint32_t sm; /* place (port of plan->known), or PM_NONE */
	bool switches;
	const uint8_t *spare; /* [port] cables that may serve although they are not
			       * alive to hosts, or NULL; borrowed for one update */
};

/*
 * Makes the tables those of the plan with just the cables alive that are
 * marked in alive[port] (see pm_plan_match). detours may be NULL. Never fails.
 * Cost: that of finding what is reachable, and of the switches that an entry
 * moves on now or moved on before; with detours->switches also
 * O(cables) for each switch that some others have no up-then-down path to.
 */
void pm_routes_update(struct pm_routes *routes, const uint8_t *alive,
		      const struct pm_detours *detours);

/*
 * The load of the link with most of it, by the mean of those between the same levels in
 * its direction, by the tables as they are: all hosts at places that there[port] marks
 * send a flow to the base LID of each other one. *ratio is 0 if nothing flows. stop, if
 * not NULL, is asked after each leaf, and ends it: -ECANCELED. -ENOMEM.
 * Cost: O(leaves x hosts x path length).
 */
int pm_routes_load_ratio(const struct pm_routes *routes, const uint8_t *there,
			 bool (*stop)(void *context), void *context, double *ratio);

/* Likewise the flows on the link with most of them. */
int pm_routes_busiest(const struct pm_routes *routes, const uint8_t *there,
		      uint64_t *load);

/*
 * pm_routes_update for a whole tree that loses the cables at these ports of plan->known
 * and no others; ports without a cable to a switch and the same cable twice do no harm.
 * For one loss after the other: the last one is taken back first. -ENOMEM. Cost: that of
 * what the loss and the one before change; the first time, and after pm_routes_update,
 * that of one. With detours as there.
 */
int pm_routes_fail(struct pm_routes *routes, const uint32_t *ports, uint32_t num_ports,
		   const struct pm_detours *detours);

/* An entry and its ports. */
struct pm_routes_change {
	uint32_t sw;
	uint16_t lid;
	uint8_t before, after; /* or PM_LFT_KEEP */
};

/*
 * Entries in which the tables after the last pm_routes_fail are not the preferred ones,
 * each once, in no order; those of switches without any cable to others in the whole tree
 * are none. Valid until the next update.
 */
const struct pm_routes_change *pm_routes_changes(const struct pm_routes *routes,
						 uint32_t *count);

/* What that looked at: sets of reach.h and LIDs. For tests of its cost. */
uint64_t pm_routes_looked(const struct pm_routes *routes);

/*
 * Tables of a plan for a fabric of which parts may be missing: the three steps
 * pm_routes_make, pm_plan_match and pm_routes_update. `sm` is the port of the fabric
 * that detours lead to, or PM_NONE. The caller frees *routes. -ENOMEM.
 */
int pm_routes_make_for(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t sm, bool connect_roots, struct pm_routes **routes,
		       struct pm_error *err);

/*
 * Takes entries that switches hold already, held[switch], in place of the preferred ones
 * where they lead to their place by our rules, provided that all in all they are as
 * good as those of the last update, see src/route/adopt.c; then true, and the caller is
 * to call pm_routes_update once more. False, and nothing is changed, if they are not, or
 * the same. lenient: they may be a little worse, as the plan is not the one that the
 * LIDs in use came from. Where it may be that one, held entries that are worse are those
 * moved for a loss that is over. Cost: O(entries).
 */
bool pm_routes_adopt(struct pm_routes *routes, const struct pm_held *held, bool lenient);

/*
 * The table of a switch of plan->known: entries for LIDs 0 to
 * 64 x pm_plan_blocks - 1, each a port number or PM_LFT_KEEP. Valid until the
 * next update.
 */
const uint8_t *pm_routes_table(const struct pm_routes *routes, uint32_t sw);

/*
 * Prefers these in a block, 64 entries from LID 64 x number on, of a switch's table, from
 * the next update on: those that pm_routes_preferred has for tables of the same plan.
 */
void pm_routes_prefer(struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *entries);

/*
 * Makes a block, 64 entries from LID 64 x number on, of a switch's table these, until the
 * next update. For tables of two updates at a time: a transition that was interrupted.
 */
void pm_routes_put(struct pm_routes *routes, uint32_t sw, uint32_t number,
		   const uint8_t *entries);

/* The table of a switch with every cable alive and without detours. */
const uint8_t *pm_routes_preferred(const struct pm_routes *routes, uint32_t sw);

/* The switches whose tables may differ from that; in no order, until the next update. */
const uint32_t *pm_routes_moved(const struct pm_routes *routes, uint32_t *count);

/* The plan that they were made of, borrowed. */
const struct pm_plan *pm_routes_plan(const struct pm_routes *routes);

/* Entries of a table, a multiple of 64: the distance between two tables too. */
uint32_t pm_routes_stride(const struct pm_routes *routes);

/* What the tables cannot serve of the end ports that are alive now. */
#define PM_UNREACHABLE_NAMED 8
struct pm_unreachable {
	/* Pairs of switches with hosts. */
	uint64_t pairs;				/* that cables join, in whatever way */
	uint64_t count;				/* of these: no up-then-down path does */
	uint32_t pair[PM_UNREACHABLE_NAMED][2]; /* the first of those */
	/* Ordered pairs of end ports at different switches, not both of them hosts. */
	uint64_t service_pairs; /* that cables join */
	uint64_t service_count; /* of these: the tables do not */
	uint32_t service[2];	/* the switches of one, from and to */
};

/* Finds that. -ENOMEM. O(switches^2 + cables). */
int pm_routes_unreachable(const struct pm_routes *routes,
			  struct pm_unreachable *unreachable, struct pm_error *err);

/* What can be reached now; borrowed until the next update. */
const struct pm_reach *pm_routes_reach(const struct pm_routes *routes);

/*
 * What could be reached before the last pm_routes_fail, and the switches whose sets have
 * lost something by it; borrowed likewise.
 */
const struct pm_reach *pm_routes_reach_before(const struct pm_routes *routes);
const uint32_t *pm_routes_reach_less(const struct pm_routes *routes, uint32_t *count);

/*
 * Whether entries may lead down and up again to places of all kinds, over a hub that may
 * be another one after each update: some end ports are above the leaves.
 */
bool pm_routes_may_turn(const struct pm_routes *routes);

/* Whether an up-then-down path joins two switches now. O(1). */
bool pm_routes_reach_switch(const struct pm_routes *routes, uint32_t from, uint32_t to);

#endif
