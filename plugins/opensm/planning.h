/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan in force: which plan there is, and what comes next. No OpenSM, no lock, no
 * file: all of it on the sweeper thread.
 *
 *                planning_load            planning_adopt
 *     EMPTY ------------------> LOADED ------------------> SETTLED
 *       |  ^                      |                          ^  |
 *       |  '-- planning_forget ---'                          |  '-> planning_adopt
 *       '-------------------- planning_adopt ----------------'
 *
 * EMPTY: nothing is known. LOADED: there is a plan that was read from disk and has not
 * been compared with the fabric. SETTLED: the plan agrees with the LIDs in use.
 * What changes is proposed first, which may fail, and then adopted, which cannot: whoever
 * keeps arrays by the ports of the plan gets ready in between.
 */
#ifndef PORTMAJOR_PLANNING_H
#define PORTMAJOR_PLANNING_H

#include <portmajor/evidence.h>
#include <portmajor/plan.h>

enum planning_phase { PLANNING_EMPTY, PLANNING_LOADED, PLANNING_SETTLED };

/* All zero at first. */
struct planning {
	enum planning_phase phase;
	/*
	 * The plan that is kept on disk, and the plan in force, NULL until it is
	 * SETTLED: the same, or, with migrate, one with the LIDs of ports that still run
	 * with others.
	 */
	struct pm_plan *base, *plan;
	struct pm_plan *last; /* in force when OpenSM ended; until it is SETTLED */
	bool unsaved;	      /* the files are not those of the plans */
	uint32_t out_of_plan; /* places that keep a LID other than planned */
};

/* What a plan is wanted for. */
struct planning_request {
	const struct pm_fabric *fabric; /* as it is now */
	struct pm_plan_config config;	/* of a plan made anew */
	uint16_t max_lid;		/* for which half of the switches have room */
	bool migrate;			/* see config.h */
	bool keep;			/* LIDs in use are kept; with migrate always */
	struct pm_evidence *evidence;	/* of LIDs before, or NULL; not with migrate */
};

/* What is to come into force; plan is NULL if nothing changes. */
struct planning_change {
	struct pm_plan *base, *plan; /* base NULL: stays */
	uint32_t out_of_plan;
	struct pm_recall recall; /* what evidence did */
};

/* Plans that were read from disk are taken over; last may be NULL. Phase LOADED. */
void planning_load(struct planning *planning, struct pm_plan *base, struct pm_plan *last);

/* Forgets all plans. Phase EMPTY. */
void planning_forget(struct planning *planning);

/*
 * Makes the plan if there is none, or grows it where the fabric has what it does not know
 * of. Errors as pm_plan_make, -ENOSPC also where the plan needs LIDs above max_lid; the
 * plan in force stays then. The caller adopts or discards *change.
 */
int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err);

/* Puts it in force. Phase SETTLED. The plan before is freed. */
void planning_adopt(struct planning *planning, struct planning_change *change);
void planning_discard(const struct planning *planning, struct planning_change *change);

#endif
