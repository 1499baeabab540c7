/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The view: what of the plan's fabric is seen, what of that is in use, and the tables for
 * it. No OpenSM, no lock, no file: all of it on the sweeper thread.
 *
 *     seen ----> unfit (lft_capacity.h), holds (damping.h), drains (drain.h) ----> alive
 * ----> routes
 *
 * [port] means: per port of the plan's `known`, as pm_plan_match has it.
 */
#ifndef PORTMAJOR_VIEW_H
#define PORTMAJOR_VIEW_H

#include <portmajor/plan/reachable.h>
#include <portmajor/policy/damping.h>
#include <portmajor/policy/drain.h>
#include <portmajor/route/route.h>

enum { VIEW_LOST = 1, VIEW_LOST_BEFORE };

/* All zero at first. */
struct view {
	const struct pm_plan *plan; /* borrowed; NULL: none yet */
	struct pm_routes *routes;   /* of it; NULL: to be made */
	uint8_t *seen;		    /* [port] alive when last looked at */
	uint8_t *alive;	     /* [port] in use: flapping and drained links are not */
	uint8_t *believed;   /* [port] seen, or not known to be down */
	uint8_t *unfit;	     /* [switch] 1: none of its cables is in use */
	uint8_t *drained;    /* [port] taken out by drains */
	uint8_t *recabled;   /* [port] leads elsewhere than when tables were last written,
			      * or no plan tells where; see view_written */
	struct view_logged { /* at the last view_tell */
		uint8_t *seen, *drained;
	} logged;
	uint8_t *lost;	   /* [port] found lost by a repair: not seen, whatever the
			    * discovery under way saw before (VIEW_LOST), or until the
			    * one under way is over (VIEW_LOST_BEFORE); else 0 */
	uint32_t serial;   /* another one for each plan */
	bool current;	   /* routes are those of alive and detours, .. */
	uint64_t until_ms; /* .. until a hold ends, then (view_sight's clock), or
			    * UINT64_MAX: none does */
	struct pm_detours detours;
	struct pm_unreachable unreachable; /* of these routes */
	struct pm_reachable reachable;	   /* of what cables join */
	struct pm_damping *flaps;	   /* NULL: flapping links are like others */
	struct pm_damping_holds holds;
	struct pm_drains drains;
};

/* What is seen now. */
struct view_sight {
	const uint8_t *seen;   /* [port] */
	const uint8_t *stayed; /* [port] what of it was up since the last look, or NULL:
				* that is not known */
	const uint8_t *silent; /* [port] what is not seen and not known to be down: no
				* flap; or NULL: nothing */
	struct pm_detours detours;
	uint64_t now_ms; /* of the clock that never goes back */
};

/*
 * Gets ready for another plan; what was seen of the one before, if there is one, is
 * carried over. Call before the plan before is freed. -ENOMEM: nothing was changed.
 */
int view_rebase(struct view *view, const struct pm_plan *plan, struct pm_error *err);

/*
 * Makes the tables those for what is seen; *changed tells whether anything differs from
 * the last look. -ENOMEM.
 */
int view_look(struct view *view, const struct view_sight *sight, bool *changed,
	      struct pm_error *err);

/* Whether a look at the same would change nothing. */
bool view_is_current(const struct view *view, uint64_t now_ms);

/* All switches are about to hold these tables, and nothing over cables of before. */
void view_written(struct view *view);

/* What differs from the last call, in words (pm_change_describe). */
void view_tell(struct view *view, char *text, size_t size);

/* Forgets all but flaps and drains; with view_free these, too. */
void view_forget(struct view *view);
void view_free(struct view *view);

#endif
