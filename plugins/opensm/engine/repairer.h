/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The repairer: what changes tables beside OpenSM's own routing runs. A thread repairs
 * what traps tell of, in any phase of a sweep, follows drains, and routes multicast
 * groups that have changed, or lost links of their trees. It works on a view of its own,
 * a copy of the sweeper's, and takes nothing of OpenSM's over a release of its lock. All
 * LFT Sets of ours are sent by whoever has acquired it: the thread, or the sweeper for
 * the steps before a routing run, and for reading tables back.
 *
 * Its view is one of three:
 *
 *     void      there is none: nothing is sent, traps wait
 *     valid     the switches hold its tables
 *     halted    the sweeper is about to hand over another one: traps wait
 *
 *             commit                halt
 *     void ------------> valid ------------> halted
 *      ^  ^                |  ^                | |
 *      |  '----- void -----'  '---- commit ----' |
 *      '------------------ void -----------------'
 *
 * The view is handed over in the engine's callback, with osm->lock held exclusively, as
 * it is while a block is handed to OpenSM: no block of an older view follows. So what
 * OpenSM sends and what we send afterwards are of the same view, merged from what
 * discovery and what repairs have found. What was found failed in between is taken by the
 * sweeper before: at HEAVY_SWEEP_START, HEAVY_SWEEP_DONE and in the callback.
 */
#ifndef PORTMAJOR_REPAIRER_H
#define PORTMAJOR_REPAIRER_H

#include "repair.h"
#include "io/operator_files.h"
#include "balance.h"
#include "mcast.h"
#include "phase.h"
#include "transition.h"

#include <portmajor/policy/damping.h>

/* Opaque. */
struct repairer;

/* All of it borrowed until repairer_stop. */
struct repairer_config {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	struct repair *repair;		       /* with traps to take; NULL: no memory */
	struct operator_files *operator_files; /* with drains and requests to follow */
	struct mcast_quiet *quiet;	       /* with groups to route */
	bool rebalance_auto;		       /* see config.h */
	uint32_t rebalance_rate;
	struct pm_damping_config flap;
	uint32_t budget_ms;
	/* Are told of each, by whoever has it, without a lock; the view is borrowed. The
	 * phase is that in which the first trap came. */
	void (*log_repair)(void *context, const struct view *view, enum sweep_phase phase,
			   const struct repaired *done);
	void (*log_move)(void *context, const struct view *view, uint64_t number,
			 const struct moved *done);
	/* How far the tables are off the plan's, where they were found in the switches.
	 */
	void (*log_balance)(void *context, const struct balance *balance);
	void (*tell_dropped)(void *context, uint64_t traps);
	void (*log_groups)(void *context, const struct mcast_done *done);
	void *context;
};

/* Void, in PHASE_IDLE. NULL without memory. */
struct repairer *repairer_start(const struct repairer_config *config);

/* No more is sent; see worker_stop. False: nothing that it was given may be freed. */
bool repairer_stop(struct repairer *repairer, double until_ms);

/* It has stopped, and nobody wakes it any more. */
void repairer_free(struct repairer *repairer);

/* Operators want something: on any thread, osm->lock held or not. */
void repairer_wake(struct repairer *repairer);

/* A trap has come, and there is early repair; likewise. */
void repairer_note_trap(struct repairer *repairer, const ib_mad_notice_attr_t *notice);

/* ---- On the sweeper; with no lock held unless it says so ---- */

/* With osm->lock held exclusively for PHASE_ROUTING. */
void repairer_set_phase(struct repairer *repairer, enum sweep_phase phase);

/*
 * Gets ready to take over this view, perhaps of another plan, without touching the one in
 * use. -ENOMEM. O(ports), and for another plan what tables cost.
 */
int repairer_prepare(struct repairer *repairer, const struct view *view);

/*
 * Hands over the view, of which what failed was taken. False: it is void, as it was not
 * prepared for this plan, or there is no memory. O(ports). With osm->lock held
 * exclusively, or when nothing of ours can be out.
 */
bool repairer_commit(struct repairer *repairer, const struct view *view);

/* Sends no more, until the next commit; does not wait. With osm->lock held or not. */
void repairer_halt(struct repairer *repairer);
void repairer_void(struct repairer *repairer);
bool repairer_is_void(struct repairer *repairer);
bool repairer_is_valid(struct repairer *repairer);

/*
 * Blocks were withheld from OpenSM, as Sets for them were out: has those sent that differ
 * from the view's tables.
 */
void repairer_resend(struct repairer *repairer);

/*
 * Repairs what traps have told of before OpenSM goes on; waits wait_ms for the first
 * trap if none has come since PHASE_IDLE began. Ends within a bounded time (repair.h).
 */
void repairer_finish(struct repairer *repairer, uint32_t wait_ms);

/*
 * What is drained, by the repairer, to *drains; whether it differs from that. False, too,
 * where the repairer is void and follows none. With `wait`, no lock is held: waits for
 * the end of a transition, a bounded time; without it a transition under way is given up.
 * No other one begins before PHASE_LINKS, or, in idle, before the next commit.
 */
bool repairer_take_drains(struct repairer *repairer, struct pm_drains *drains, bool wait);

/*
 * Makes the tables of this view, of the plan that was handed over last, prefer what the
 * switches hold by now, or are being sent, where they are being rebalanced; *over is set
 * when all of them go by the plan, once. False: nothing is. With `wait`, no lock is held:
 * waits for the end of a round under way, a bounded time, so that nothing of it changes
 * any more; without it the repairer is halted. No other one begins before PHASE_IDLE.
 * O(size of the tables).
 */
bool repairer_take_balance(struct repairer *repairer, struct view *view, bool wait,
			   bool *over);

/*
 * Waits until nothing of ours is out but what was given up: the sweeper alone sends then,
 * until repairer_release.
 */
struct lft_sender *repairer_acquire(struct repairer *repairer);
void repairer_release(struct repairer *repairer);

/*
 * Routes OpenSM's multicast groups over the view that was handed over, before OpenSM
 * goes on; what is interrupted by traps is left to the thread. What the switches with
 * these GUIDs, or all, hold is not known.
 */
void repairer_route_groups(struct repairer *repairer, const struct mcast_doubt *doubt);

/* For what the sweeper sends: whether there are traps to be dealt with first. */
bool repairer_has_traps(void *repairer);

/*
 * Adds to failed[port] of the view's plan what was found failed since the last call.
 * False: nothing. With osm->lock held or not.
 */
bool repairer_take_failed(struct repairer *repairer, const struct view *view,
			  uint8_t *failed);

#endif
