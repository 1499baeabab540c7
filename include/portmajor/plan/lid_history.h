/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LID history: the LIDs that ports had before the plan was lost.
 *
 * A new plan covers the present fabric. The LIDs of an absent part (a host, a leaf, a
 * chassis) are still in OpenSM's guid2lid, in the tables of other switches, and in its
 * own ports, which report them when they return. src/plan/lid_restore.c has the rules.
 *
 * Calls, once when a subnet manager begins:
 *
 *   pm_lid_history_make          from guid2lid, before it is changed
 *   pm_plan_make, pm_plan_keep   if the plan was lost
 *   pm_lid_history_add_tables    of the switches, before they are written
 *   or pm_lid_history_trust      if there is a plan file, which counts first
 *
 * and in every sweep, once the plan covers the fabric:
 *
 *   pm_plan_keep or pm_plan_grow where needed, else the plan in force
 *   pm_plan_restore_lids
 *   pm_plan_find_origin, of a grown plan: it compares the restored LIDs
 *
 * The history of a LID ends when a port uses it, or gets it by pm_plan_restore_lids: the
 * LID then belongs to its place, as in any plan. History concerns the plan in force. With
 * `migrate` ports get planned LIDs, and history is not used.
 */
#ifndef PORTMAJOR_LID_HISTORY_H
#define PORTMAJOR_LID_HISTORY_H

#include <portmajor/plan/plan.h>

/* A port, or a switch, and its LIDs, from low to high. */
struct pm_claim {
	uint64_t guid; /* of the port (end nodes), of the node (switches) */
	uint16_t low, high;
};

struct pm_lid_history;

/*
 * Copies claims, which are in any order. Leaves out those with GUID 0 or invalid LIDs,
 * and all claims but one for a GUID or LID. num may be 0. The caller frees the result.
 * -ENOMEM.
 */
int pm_lid_history_make(const struct pm_claim *claims, uint32_t num,
			struct pm_lid_history **history, struct pm_error *err);
void pm_lid_history_free(struct pm_lid_history *history);

/*
 * Adds the history in the tables installed[switch of plan->topology]: that of LIDs that
 * no port uses. Tables may be longer than the plan's. Cost: that of following each of
 * these LIDs from each switch.
 */
int pm_lid_history_add_tables(struct pm_lid_history *history, const struct pm_plan *plan,
			      const struct pm_fabric *now,
			      const struct pm_installed *installed, struct pm_error *err);

/* The LIDs of places of this plan that are or were in use override all other history. */
void pm_lid_history_trust(struct pm_lid_history *history, const struct pm_plan *plan);

#define PM_LID_RESTORE_NAMED 8
struct pm_lid_restore {
	/* In. */
	const struct pm_fabric *now; /* with the LIDs that ports report */
	uint16_t max_lid;	     /* highest LID that fits in all tables */
	/* Out. */
	uint32_t restored;   /* places that got another LID by history */
	uint32_t given_away; /* ports that got the LID of an absent port */
	struct {
		uint16_t lid;
		uint64_t guid;	      /* its owner by guid2lid, or 0 */
	} away[PM_LID_RESTORE_NAMED]; /* the first LIDs given away */
};

/*
 * Restores the LIDs and planes of places with a port that does not use its planned LID. A
 * place gets the LID that history has for it. A place without history gets a LID with
 * history only if no other LID is free. *restored is NULL if nothing changes; else the
 * caller puts it in force, and frees it. A second call with the result changes nothing.
 * -ENOSPC: more LIDs needed than max_lid; -ENOMEM. After an error the plan may be used as
 * it is. Cost: O(ports log nodes + LIDs), and O(LIDs) more for each place that gives up
 * its LID.
 */
int pm_plan_restore_lids(const struct pm_plan *plan, struct pm_lid_history *history,
			 struct pm_lid_restore *restore, struct pm_plan **restored,
			 struct pm_error *err);

#endif
