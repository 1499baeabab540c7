/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The view: the discovered parts of the plan's fabric, the links in use, and their
 * tables. Uses no OpenSM, lock or file; all on the sweeper thread.
 *
 *     discovered ---> unfit (lft_capacity.h), holds (damping.h), drains (drain.h)
 *                ---> usable ---> routes
 *
 * [port] means: per port of the plan's `topology`, as in pm_plan_match.
 */
#ifndef PORTMAJOR_VIEW_H
#define PORTMAJOR_VIEW_H

#include <portmajor/base/pool.h>
#include <portmajor/plan/reachable.h>
#include <portmajor/policy/damping.h>
#include <portmajor/policy/drain.h>
#include <portmajor/route/route.h>

/*
 * What the repairer found of a port: it failed, OpenSM has set it down, which is no flap,
 * or it is in service again; .._BEFORE: before the running discovery began.
 */
enum {
	VIEW_FAILED = 1,
	VIEW_FAILED_BEFORE,
	VIEW_SET_DOWN,
	VIEW_SET_DOWN_BEFORE,
	VIEW_BACK,
	VIEW_BACK_BEFORE
};

/* All zero at first. */
struct view {
	struct pm_pool pool;	    /* of the arrays */
	const struct pm_plan *plan; /* borrowed; NULL: none yet */
	struct pm_routes *routes;   /* tables of the plan; NULL: to be made */
	uint8_t *discovered;	    /* [port] up in the last observation */
	uint8_t *usable;	    /* [port] in use, without links on hold or drained */
	uint8_t *believed;   /* [port] discovered, or at least not known to be down */
	uint8_t *unfit;	     /* [switch] 1: none of its links is in use */
	uint8_t *drained;    /* [port] excluded by drains */
	uint8_t *drifting;   /* [port] with migrate: its place gets another LID when
			      * it comes up */
	uint8_t *recabled;   /* [port] may lead elsewhere than when tables were last
			      * written; see view_written */
	struct view_logged { /* at the last view_log */
		uint8_t *discovered, *drained;
		uint8_t *recabled; /* leads elsewhere than then */
	} logged;
	uint8_t *failed;   /* [port] found by the repairer, whatever the running discovery
			      saw; .._BEFORE until that is over; else 0 */
	uint8_t *downs;	   /* [port] times that the repairer found it failed, until
			      view_note_flaps */
	uint32_t serial;   /* differs for each plan */
	bool current;	   /* routes are those for `usable` and `detours`, .. */
	uint64_t until_ms; /* .. until a hold ends at this time of view_observation's
			      clock, or UINT64_MAX */
	struct pm_detours detours;
	struct pm_unreachable unreachable; /* of these routes */
	struct pm_reachable reachable;	   /* of pairs connected by links */
	struct pm_damping *damping;	   /* NULL: no damping */
	struct pm_damping_holds holds;
	struct pm_drains drains;
	bool followed; /* a transition has followed these, and logged them, since the last
		       update */
};

/* The state of links that a discovery or a repair has found. */
struct view_observation {
	const uint8_t *discovered; /* [port] */
	const uint8_t *stayed;	   /* [port] up since the last one, or NULL: unknown */
	const uint8_t *silent; /* [port] neither discovered nor known to be down: no flap;
				* or NULL: none */
	struct pm_detours detours;
	uint64_t now_ms; /* of a monotonic clock */
};

/*
 * Changes to another plan, and carries over the view of the previous plan, if any. Call
 * before freeing the previous plan. -ENOMEM: nothing was changed.
 */
int view_rebase(struct view *view, const struct pm_plan *plan, struct pm_error *err);

/*
 * Computes the tables for an observation; *changed: it differs from the last one.
 * -ENOMEM.
 */
int view_update(struct view *view, const struct view_observation *seen, bool *changed,
		struct pm_error *err);

/* Whether the same observation would change nothing. */
bool view_is_current(const struct view *view, uint64_t now_ms);

/* Notes that all switches get these tables: clears recabled[]. */
void view_written(struct view *view);

/* The number of ports of the plan; 0: there is none. */
uint32_t view_num_ports(const struct view *view);

/* Writes the change since the last call (pm_change_describe). */
void view_log(struct view *view, char *text, size_t size);

/*
 * Notes in `damping` that links failed `downs` times, before view_update, which notes how
 * they are now. -ENOMEM: some are not noted.
 */
int view_note_flaps(struct view *view, uint64_t now_ms);

/* Whether a port is up, of which a discovery or the last observation said `seen`. */
bool view_is_up(const struct view *view, uint32_t port, bool seen);

/* Forgets all but damping and drains; view_free forgets these, too. */
void view_forget(struct view *view);
void view_free(struct view *view);

#endif
