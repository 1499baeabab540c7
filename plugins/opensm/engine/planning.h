/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan in force, and its changes. Uses no OpenSM, lock or file; all on the sweeper
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
 * There are two plans. The base has the planned LIDs. The plan in force has the LIDs that
 * ports have or get, and tables are computed from it. They are the same plan if no LID in
 * use differs from the planned one. Else the configuration decides on the plan in force:
 *
 *   migrate no    it stays, and grows beside the base: no LID changes
 *   migrate yes   each sweep makes it anew of the base and the LIDs of active ports:
 *                 a port that comes up gets its planned LID
 *
 * A change is first proposed, which may fail, and then adopted, which cannot fail. In
 * between, modules with arrays by the plan's ports prepare for it.
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
	struct pm_plan *plan; /* the plan in force, NULL until SETTLED; may be the base */
	struct pm_plan *last; /* the plan in force when OpenSM ended; until SETTLED */
	/* [port of plan->topology] LID of a place by the base; NULL: plan is the base */
	uint16_t *planned;
	bool unsaved;	      /* the files differ from the plans */
	uint32_t out_of_plan; /* see planning_count */
};

/* The input of a plan. */
struct planning_request {
	const struct pm_fabric *fabric; /* as it is now */
	struct pm_plan_config config;	/* of a plan made anew */
	uint16_t max_lid; /* highest LID that fits in half of the switches */
	bool migrate;	  /* see config.h */
	bool keep;	  /* keep LIDs in use; with migrate they always are */
	struct pm_lid_history *history; /* of earlier LIDs, or NULL; not with migrate */
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
 * pm_plan_make, -ENOSPC also if the plan needs LIDs above max_lid; after an error the
 * plan in force stays. The caller adopts or discards *change.
 */
int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err);

/* Puts a change in force, and frees the replaced plans. Phase SETTLED. */
void planning_adopt(struct planning *planning, struct planning_change *change);
void planning_discard(const struct planning *planning, struct planning_change *change);

/*
 * Sets out_of_plan to the number of present ports that have, or get, another LID than
 * planned. discovered[port of plan->topology] is from pm_plan_match. A switch is present
 * if any of its ports is discovered. O(1) where the plan is the base, else O(ports).
 */
void planning_count(struct planning *planning, const uint8_t *discovered);

/* pm_plan_set_adopted for both plans. */
void planning_set_adopted(struct planning *planning, bool adopted);

#endif
