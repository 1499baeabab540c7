/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan in force, and its changes. No OpenSM, no lock, no file: all on the sweeper
 * thread.
 *
 *                planning_load            planning_adopt
 *     EMPTY ------------------> LOADED ------------------> SETTLED
 *       |  ^                      |                          ^  |
 *       |  '-- planning_forget ---'                          |  '-> planning_adopt
 *       '-------------------- planning_adopt ----------------'
 *
 * EMPTY: no plan. LOADED: a plan from disk, not yet compared with the fabric. SETTLED:
 * the plan in force agrees with the LIDs in use.
 *
 * There are two plans: the base has the planned LIDs, the plan in force the LIDs that
 * ports have or get, and tables are made of it. They are the same plan if no LID in use
 * differs from the planned one. Else the configuration decides on the plan in force:
 *
 *   migrate no    it stays, and grows beside the base: no LID changes
 *   migrate yes   each sweep makes it anew of the base and the LIDs of active ports:
 *                 a port that comes up gets its planned LID
 *
 * A change is first proposed, which may fail, and then adopted, which cannot: modules
 * with arrays by the plan's ports prepare in between.
 */
#ifndef PORTMAJOR_PLANNING_H
#define PORTMAJOR_PLANNING_H

#include <portmajor/plan/lid_history.h>
#include <portmajor/plan/plan.h>

enum planning_phase { PLANNING_EMPTY, PLANNING_LOADED, PLANNING_SETTLED };

/* All zero at first. */
struct planning {
	enum planning_phase phase;
	struct pm_plan *base; /* with the planned LIDs */
	struct pm_plan *plan; /* in force, NULL until it is SETTLED; may be the base */
	struct pm_plan *last; /* in force when OpenSM ended; until it is SETTLED */
	/* [port of plan->topology] LID by the base, of places; NULL: the plan is the base
	 */
	uint16_t *planned;
	bool unsaved;	      /* the files differ from the plans */
	uint32_t out_of_plan; /* see planning_count */
};

/* The input of a plan. */
struct planning_request {
	const struct pm_fabric *fabric; /* as it is now */
	struct pm_plan_config config;	/* of a plan made anew */
	uint16_t max_lid;		/* highest that fits in half of the switches */
	bool migrate;			/* see config.h */
	bool keep;			/* LIDs in use are kept; with migrate always */
	struct pm_lid_history *history; /* of LIDs before, or NULL; not with migrate */
};

/* A proposed change. */
struct planning_change {
	struct pm_plan *base, *plan;   /* NULL: stays */
	uint16_t *planned;	       /* as above, for the new plan in force */
	struct pm_lid_restore restore; /* result of LID history */
};

/* Takes over plans from disk; last may be NULL. Phase LOADED. */
void planning_load(struct planning *planning, struct pm_plan *base, struct pm_plan *last);

/* Forgets all plans. Phase EMPTY. */
void planning_forget(struct planning *planning);

/*
 * Makes the plans if there are none, or grows them by new parts of the fabric. Errors as
 * pm_plan_make, -ENOSPC also if the plan needs LIDs above max_lid; the plan in force
 * stays then. The caller adopts or discards *change.
 */
int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err);

/* Puts it in force, and frees the replaced plans. Phase SETTLED. */
void planning_adopt(struct planning *planning, struct planning_change *change);
void planning_discard(const struct planning *planning, struct planning_change *change);

/*
 * Counts present ports that have, or get, another LID than planned, into out_of_plan:
 * discovered[port of plan->topology] from pm_plan_match. A switch is present if any port
 * of it is discovered. O(1) where the plan is the base, else O(ports).
 */
void planning_count(struct planning *planning, const uint8_t *discovered);

/* pm_plan_set_adopted for both plans. */
void planning_set_adopted(struct planning *planning, bool adopted);

#endif
