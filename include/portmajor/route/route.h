/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables: a port for each LID, on every switch of a plan.
 *
 * Each switch has one preferred port per LID, that of the complete tree. An entry moves
 * to another port only where the preferred port does not lead to the LID's place. So the
 * tables depend on the plan and the usable links, not on history, and the return of all
 * links restores the first tables exactly.
 *
 * Entries for places without an up-then-down path, or a detour (see below), are
 * PM_LFT_KEEP: no entry would help, so that of the switch may stay.
 */
#ifndef PORTMAJOR_ROUTE_H
#define PORTMAJOR_ROUTE_H

#include <portmajor/fabric/reach.h>
#include <portmajor/plan/plan.h>
#include <portmajor/plan/reachable.h>

#include <stddef.h>

/* Opaque: tables of all switches of one plan. */
struct pm_routes;

/*
 * Makes the tables of the plan with every link usable. The plan is borrowed and must
 * outlive the result, which the caller frees. -ENOMEM. Cost: 1 to 3 ns per entry; 21 M
 * entries for 11,664 hosts. About ten times that where leaves have different numbers of
 * links.
 */
int pm_routes_make(const struct pm_plan *plan, struct pm_routes **routes,
		   struct pm_error *err);
void pm_routes_free(struct pm_routes *routes);

/*
 * Makes tables of the same plan that prefer the same entries (pm_routes_adopt). Otherwise
 * as pm_routes_make, at its cost.
 */
int pm_routes_copy(const struct pm_routes *routes, struct pm_routes **copy,
		   struct pm_error *err);

/*
 * Detours are paths that turn up again, where there is no up-then-down path. With detours
 * all switches reach the subnet manager, for traps, and with `switches` (OpenSM's
 * connect_roots) each other. Detours can be part of a credit loop.
 *
 * With detours, end ports above the leaves and all other end ports reach each other, too.
 * Their paths turn up again at one leaf alone, and so are part of no credit loop
 * (src/route/beyond.c); with `switches` they are any paths.
 */
struct pm_detours {
	uint32_t sm; /* place (port of plan->topology), or PM_NONE */
	bool switches;
	const uint8_t *extra; /* [port] links for detours alone, not for hosts; or
				 NULL; borrowed for one update */
};

/*
 * Computes the tables for the links in usable[port] (see pm_plan_match). detours may be
 * NULL. Never fails. Cost: that of pm_reach_compute_since, and of the switches with a
 * moved entry now or before; with detours->switches also O(links) for each switch to
 * which another switch has no up-then-down path.
 */
void pm_routes_update(struct pm_routes *routes, const uint8_t *usable,
		      const struct pm_detours *detours);

/* In integers, which all builds compare alike. The denominator is above 0. */
struct pm_ratio {
	uint64_t numerator, denominator;
};

/* Whether a ratio is below another one. Exact, however large. */
bool pm_ratio_is_below(struct pm_ratio ratio, struct pm_ratio other);

/*
 * Computes the highest load of a link, divided by the mean of the links between its
 * levels in its direction, when all hosts at places with there[port] set send a flow to
 * each other's base LID. *ratio is 0 without flows. `stop`, unless NULL, is called after
 * each leaf; when it returns true, the result is -ECANCELED. -ENOMEM. Cost: O(leaves x
 * hosts x path length).
 */
int pm_routes_load_ratio(const struct pm_routes *routes, const uint8_t *there,
			 bool (*stop)(void *context), void *context,
			 struct pm_ratio *ratio);

/*
 * Likewise computes the highest number of flows on a link, scaled by pm_link_weigh with
 * the widths and speeds in the plan's topology (pm_plan_note_links).
 */
int pm_routes_busiest(const struct pm_routes *routes, const uint8_t *there,
		      uint64_t *load);

/*
 * The result of pm_routes_update for a complete tree in which the links at these ports of
 * plan->topology have failed. Ports without a link to a switch, and repeated links, are
 * ignored. Each call undoes the failure of the call before. -ENOMEM. detours as for
 * pm_routes_update. Cost: that of the changes by this failure and the one before; that of
 * two updates for the first call, after pm_routes_update, and with other detours or extra
 * links; and that of all detours if the failure takes the subnet manager's paths, moves
 * the switch where paths turn up or makes one necessary, and always with
 * detours->switches.
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
 * The table of a switch with no link failed, and the detours of the last pm_routes_fail.
 * Valid until pm_routes_fail has other detours, or follows pm_routes_update.
 */
const uint8_t *pm_routes_table_before(const struct pm_routes *routes, uint32_t sw);

/*
 * Entries that differ from those of pm_routes_table_before after the last pm_routes_fail,
 * each once, in no order. Valid until the next update.
 */
const struct pm_routes_change *pm_routes_changes(const struct pm_routes *routes,
						 uint32_t *count);

/*
 * The reach sets and LIDs that the last pm_routes_fail examined, for tests of its cost.
 */
uint64_t pm_routes_examined(const struct pm_routes *routes);

/*
 * Tables of a plan for a fabric with parts missing: pm_routes_make, pm_plan_match and
 * pm_routes_update. `sm` is the fabric's port that detours lead to, or PM_NONE. The
 * caller frees *routes. -ENOMEM.
 */
int pm_routes_make_for(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t sm, bool connect_roots, struct pm_routes **routes,
		       struct pm_error *err);

/*
 * Prefers the entries in the switches, installed[switch], that follow the rules of these
 * tables, if altogether they are as good as those of the last update (src/route/adopt.c).
 * True: the caller calls pm_routes_update again. False: they are worse, or the same, and
 * nothing changes. With `lenient`, for LIDs in use that come from another plan, they may
 * be a little worse. Without it, worse entries count as left over from a failure. Cost:
 * O(entries).
 */
bool pm_routes_adopt(struct pm_routes *routes, const struct pm_installed *installed,
		     bool lenient);

/*
 * The table of a switch of plan->topology: a port number or PM_LFT_KEEP for LIDs 0 to 64
 * x pm_plan_blocks - 1. Valid until the next update.
 */
const uint8_t *pm_routes_table(const struct pm_routes *routes, uint32_t sw);

/*
 * Sets the preferred entries of a block (LIDs from 64 x number on) for the next updates.
 * They come from pm_routes_preferred of other tables of the same plan.
 */
void pm_routes_prefer(struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *entries);

/*
 * Sets the entries of a block of a switch's table until the next update. An interrupted
 * transition needs it, as its blocks are from two updates.
 */
void pm_routes_put(struct pm_routes *routes, uint32_t sw, uint32_t number,
		   const uint8_t *entries);

/* The table of a switch with every link usable and without detours. */
const uint8_t *pm_routes_preferred(const struct pm_routes *routes, uint32_t sw);

/* The plan of the tables, borrowed. */
const struct pm_plan *pm_routes_plan(const struct pm_routes *routes);

/*
 * The number of entries in a table, a multiple of 64; also the distance between two
 * tables.
 */
uint32_t pm_routes_stride(const struct pm_routes *routes);

/* Pairs of usable end ports that the tables do not connect. */
#define PM_UNREACHABLE_NAMED 8
struct pm_unreachable {
	/* Of pairs of switches with hosts: */
	uint64_t pairs; /* connected by links, over any path */
	uint64_t count; /* of these: without a path, up and then down or over the hub */
	uint32_t pair[PM_UNREACHABLE_NAMED][2]; /* the first of those */
	uint64_t beyond; /* with a path, but not up and then down */
	uint32_t hub;	 /* switch where these turn up again, or PM_NONE */
	/*
	 * Of ordered pairs of end ports at different switches, with at least one service
	 * port:
	 */
	uint64_t service_pairs; /* connected by links */
	uint64_t service_count; /* of these: not by the tables */
	uint32_t service[2];	/* the switches of one, from and to */
	uint64_t service_cut;	/* of these: without aggregation nodes */
	/*
	 * Switches with other end ports than aggregation nodes that the subnet manager of
	 * the last update has no path from, or none to; a switch that has neither counts
	 * twice.
	 */
	uint64_t sm_count;
	uint32_t sm[2]; /* the switches of the first such path, from and to */
};

/* Finds these pairs. -ENOMEM. O(switches^2 + links). */
int pm_routes_unreachable(const struct pm_routes *routes,
			  struct pm_unreachable *unreachable, struct pm_error *err);

/*
 * Counts pairs of hosts as pm_reachable_find does, and those with a path over the hub.
 * -ENOMEM.
 */
int pm_routes_reachable(const struct pm_routes *routes, const uint8_t *discovered,
			struct pm_reachable *reachable, struct pm_error *err);

/* The present reach sets; borrowed until the next update. */
const struct pm_reach *pm_routes_reach(const struct pm_routes *routes);

/*
 * The reach sets before the last pm_routes_fail, and the switches that reach less since;
 * borrowed likewise.
 */
const struct pm_reach *pm_routes_reach_before(const struct pm_routes *routes);
const uint32_t *pm_routes_reach_less(const struct pm_routes *routes, uint32_t *count);

/*
 * Whether an entry may lead down and up again, over a hub that each update chooses, as
 * some end ports are above the leaves, or have no up-then-down path to others. Also true
 * once an update has had a hub: switches may still have its entries.
 */
bool pm_routes_may_turn(const struct pm_routes *routes);

/* Whether there is an up-then-down path between two switches now. O(1). */
bool pm_routes_reach_switch(const struct pm_routes *routes, uint32_t from, uint32_t to);

#endif
