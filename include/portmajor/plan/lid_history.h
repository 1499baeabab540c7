/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who had which LID before the plan was lost.
 *
 * A plan that is made anew knows what it sees. What is away then, a host, a leaf, a
 * chassis, left traces: in OpenSM's guid2lid, in the tables of switches that stayed, in
 * its own ports, which report a LID when they come. src/plan/lid_restore.c has the rules.
 *
 * Once, when a subnet manager begins:
 *
 *   pm_lid_history_make         with what guid2lid says, before anything is changed in it
 *   pm_plan_make, pm_plan_keep                 there is no plan: it was lost
 *   pm_lid_history_add_tables   what the switches hold, before anything is written to
 * them or pm_lid_history_trust        there is one, from a file: what it knows comes
 * first
 *
 * and in every sweep, as soon as the plan is known to cover the fabric:
 *
 *   pm_plan_keep or pm_plan_grow where needed, else the plan in force
 *   pm_plan_restore_lids
 *   pm_plan_find_origin, of a plan that grew: it compares the LIDs that were recalled
 *
 * Evidence is used up: a LID that a port has in use, or is to get by the plan that
 * pm_plan_restore_lids returns, belongs to its place from then on, as in any plan. All of
 * this is about the plan in force, whatever was planned at first. With `migrate`, ports
 * are to get planned LIDs, and LID history has no place.
 */
#ifndef PORTMAJOR_LID_HISTORY_H
#define PORTMAJOR_LID_HISTORY_H

#include <portmajor/plan/plan.h>

/* That this port, or this switch, has the LIDs low to high. */
struct pm_claim {
	uint64_t guid; /* of the port (end nodes), of the node (switches) */
	uint16_t low, high;
};

/* Opaque. */
struct pm_lid_history;

/*
 * Claims in any order, copied; those with GUID 0 or LIDs that are none are left out, and
 * of two for one GUID or LID, one. num may be 0. The caller frees the result. -ENOMEM.
 */
int pm_lid_history_make(const struct pm_claim *claims, uint32_t num,
			struct pm_lid_history **history, struct pm_error *err);
void pm_lid_history_free(struct pm_lid_history *history);

/*
 * What tables say of LIDs that no port has in use: held[switch of plan->known], as long
 * as the switches' tables are, be that longer than the plan's. Cost: that of following
 * each of these LIDs from each switch.
 */
int pm_lid_history_add_tables(struct pm_lid_history *history, const struct pm_plan *plan,
			      const struct pm_fabric *now, const struct pm_held *held,
			      struct pm_error *err);

/* Places of this plan that are or were in use keep their LIDs, whatever else is said. */
void pm_lid_history_trust(struct pm_lid_history *history, const struct pm_plan *plan);

#define PM_LID_RESTORE_NAMED 8
struct pm_lid_restore {
	/* In. */
	const struct pm_fabric *now; /* with the LIDs that ports report */
	uint16_t max_lid;	     /* highest that all switches have room for */
	/* Out. */
	uint32_t restored;   /* places that got a LID by LID history and had another */
	uint32_t given_away; /* ports that got one that is somebody else's */
	struct {
		uint16_t lid;
		uint64_t guid;	      /* whose it was by guid2lid, or 0 */
	} away[PM_LID_RESTORE_NAMED]; /* the first of these */
};

/*
 * A plan that differs from one that covers the fabric in LIDs, and planes, of places
 * whose port does not have its planned LID in use: these get by LID history what was
 * theirs, and who has none gets no LID that is somebody else's while there are others.
 * *recalled is NULL if nothing is to change; else the caller puts it in force, and frees
 * it. Asked again with what it gave, it changes and tells nothing. -ENOSPC: more LIDs
 * needed than max_lid; -ENOMEM. After an error the plan may be used as it is. Cost:
 * O(ports log nodes
 * + LIDs), and O(LIDs) more for each place that loses its LID.
 */
int pm_plan_restore_lids(const struct pm_plan *plan, struct pm_lid_history *history,
			 struct pm_lid_restore *restore, struct pm_plan **restored,
			 struct pm_error *err);

#endif
