/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The repairer changes tables beside OpenSM's routing runs. Its thread repairs failures,
 * in any phase of a sweep, follows drains, and routes multicast groups that have changed
 * or failed links of their trees. It works on its own view, a copy of the sweeper's, and
 * keeps none of OpenSM's pointers over a release of its lock. Only the thread that has
 * acquired it sends our LFT Sets: its own, or the sweeper for the steps before a routing
 * run, and to read tables.
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
 * it is while a block is handed to OpenSM: no block of an older view follows. So OpenSM
 * and the repairer then send blocks of the same view, merged from the results of
 * discovery and of repairs. The sweeper takes over failures found by repairs at
 * HEAVY_SWEEP_START, at HEAVY_SWEEP_DONE and in the callback.
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

struct repairer;

/* Of the configuration, see config.h; these may change. */
struct repairer_settings {
	bool rebalance_auto;
	uint32_t rebalance_rate;
	struct pm_damping_config flap;
	uint32_t budget_ms;
};

/* All of it borrowed until repairer_stop. */
struct repairer_config {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	struct repair *repair;		       /* with traps to take; NULL: no memory */
	struct operator_files *operator_files; /* with drains and requests to follow */
	struct mcast_quiet *quiet;	       /* with groups to route */
	struct repairer_settings settings;
	/*
	 * Called for each, without a lock, on the thread that has acquired the repairer;
	 * the view is borrowed. The phase is that of the first trap.
	 */
	void (*log_repair)(void *context, const struct view *view, enum sweep_phase phase,
			   const struct repaired *done);
	void (*log_transition)(void *context, const struct view *view, uint64_t number,
			       const struct moved *done);
	/* The distance of tables found in the switches from the plan's. */
	void (*log_balance)(void *context, const struct balance *balance);
	void (*log_dropped)(void *context, uint64_t traps);
	void (*log_groups)(void *context, const struct mcast_done *done);
	void *context;
};

/* Void, in PHASE_IDLE. NULL without memory. */
struct repairer *repairer_start(const struct repairer_config *config);

/* Sets them for what begins from now on. On any thread. */
void repairer_set(struct repairer *repairer, const struct repairer_settings *settings);

/* Stops sending; see worker_stop. False: none of its configuration may be freed. */
bool repairer_stop(struct repairer *repairer, double until_ms);

/* After it has stopped, and no thread wakes it any more. */
void repairer_free(struct repairer *repairer);

/* After a request by an operator: on any thread, osm->lock held or not. */
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
 * Hands over the view, after its failures were taken. False: it is void, as it was not
 * prepared for this plan, or without memory. O(ports). With osm->lock held exclusively,
 * or when no SMP of ours can be out.
 */
bool repairer_commit(struct repairer *repairer, const struct view *view);

/* Stops sending until the next commit; does not wait. With osm->lock held or not. */
void repairer_halt(struct repairer *repairer);
void repairer_void(struct repairer *repairer);
bool repairer_is_void(struct repairer *repairer);
bool repairer_is_valid(struct repairer *repairer);

/*
 * After blocks were withheld from OpenSM, as Sets for them were out: sends those that
 * differ from the view's tables.
 */
void repairer_resend(struct repairer *repairer);

/*
 * Repairs reported failures before OpenSM goes on; waits wait_ms for the first trap if
 * none has come since PHASE_IDLE began. Ends within a bounded time (repair.h).
 */
void repairer_finish(struct repairer *repairer, uint32_t wait_ms);

/*
 * Copies the repairer's drains to *drains; returns whether they differ. False also if the
 * repairer is void. With `wait`, no lock is held: waits for the end of a transition, a
 * bounded time; else a running transition is given up. No other begins before
 * PHASE_LINKS, or, in idle, before the next commit.
 */
bool repairer_take_drains(struct repairer *repairer, struct pm_drains *drains, bool wait);

/*
 * Makes the tables of this view, of the plan handed over last, prefer rebalanced blocks,
 * sent or acknowledged; sets *over once when all are the plan's. False: there are none.
 * With `wait`, no lock is held: waits for the end of a running round, a bounded time;
 * without it the repairer is halted. No other round begins before PHASE_IDLE. O(size of
 * the tables).
 */
bool repairer_take_balance(struct repairer *repairer, struct view *view, bool wait,
			   bool *over);

/*
 * Waits until none of our SMPs is out but given-up ones: only the sweeper sends then,
 * until repairer_release.
 */
struct lft_sender *repairer_acquire(struct repairer *repairer);
void repairer_release(struct repairer *repairer);

/*
 * Routes OpenSM's multicast groups over the committed view, before OpenSM goes on; if
 * traps interrupt it, the thread does the rest. Tables of the switches in doubt are
 * unknown.
 */
void repairer_route_groups(struct repairer *repairer, const struct mcast_doubt *doubt);

/* For blocks that the sweeper sends: whether traps come first. */
bool repairer_has_traps(void *repairer);

/*
 * Adds failures found since the last call to failed[port] of the view's plan. False:
 * none. With osm->lock held or not.
 */
bool repairer_take_failed(struct repairer *repairer, const struct view *view,
			  uint8_t *failed);

#endif
