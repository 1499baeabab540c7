/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The repairer changes tables between OpenSM's routing runs. In any phase of a sweep its
 * thread repairs failures, follows drains, and routes multicast groups that have changed
 * or have failed links in their trees. It works on its own view, a copy of the sweeper's,
 * and keeps none of OpenSM's pointers after it has released OpenSM's lock. It sends all
 * SMPs of the plugin, also those of errands that the sweeper waits for (repairer_do).
 *
 * Its work is a table of jobs (repairer_parts.h): each has its place in order of urgency,
 * the phases in which it may run, and the time of its next try.
 *
 * Its view is in one of three states:
 *
 *     void      there is no view: nothing is sent, traps wait
 *     valid     the switches hold its tables
 *     halted    the sweeper is about to hand over another view: traps wait
 *
 *             commit                halt
 *     void ------------> valid ------------> halted
 *      ^  ^                |  ^                | |
 *      |  '----- void -----'  '---- commit ----' |
 *      '------------------ void -----------------'
 *
 * The view is handed over in the engine's callback, with osm->lock held exclusively. That
 * lock is also held while a block is handed to OpenSM, so no block of an older view
 * follows. From then on OpenSM and the repairer send blocks of the same view, merged from
 * the results of discovery and of repairs. The sweeper takes over failures found by
 * repairs at HEAVY_SWEEP_START, at HEAVY_SWEEP_DONE and in the callback.
 */
#ifndef PORTMAJOR_REPAIRER_H
#define PORTMAJOR_REPAIRER_H

#include "repair.h"
#include "io/kept_requests.h"
#include "balance.h"
#include "mcast.h"
#include "phase.h"
#include "returns.h"
#include "table_check.h"
#include "throttle.h"
#include "transition.h"

#include <portmajor/policy/damping.h>

struct repairer;

/*
 * Pauses between tries of what a switch has not acknowledged, or not as it was set. They
 * begin with REPAIRER_RETRY_MS and double; after REPAIRER_RETRIES of them each is
 * REPAIRER_REST_MS.
 */
#define REPAIRER_RETRY_MS 50
#define REPAIRER_RETRIES 6
#define REPAIRER_REST_MS 60000

/*
 * Failures that last for so long are told before the next sweep, which may wait; shorter
 * ones are flaps.
 */
#define REPAIRER_TELL_MS 3000

/* The part of the configuration (config.h) that may change. */
struct repairer_settings {
	bool rebalance_auto;
	uint32_t rebalance_rate;
	struct pm_damping_config flap;
	uint32_t budget_ms;
	bool throttle_sweeps;
};

/* All of it borrowed until repairer_stop. */
struct repairer_config {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	struct repair *repair;		/* with the traps; NULL: no memory */
	struct returns *returns;	/* likewise */
	struct throttle *throttle;	/* NULL: OpenSM gets all traps */
	struct kept_requests *requests; /* with drains and rebalancing to follow */
	struct mcast_quiet *quiet;	/* with groups to route */
	struct table_check *check;	/* NULL: no memory */
	struct repairer_settings settings;
	/*
	 * Called for each repair, transition and so on, without a lock, on the
	 * repairer's thread. The phase is that of the first trap.
	 */
	void (*log_repair)(void *context, enum sweep_phase phase,
			   const struct repaired *done);
	void (*log_return)(void *context, const struct returned *done);
	void (*log_transition)(void *context, uint64_t number,
			       const struct transition_result *done);
	/* The distance of tables found in the switches from the plan's. */
	void (*log_balance)(void *context, const struct balance *balance);
	void (*log_dropped)(void *context, uint64_t traps);
	void (*log_groups)(void *context, const struct mcast_done *done);
	/* A check of tables has a result. */
	void (*note_check)(void *context);
	/* A sweep that waited is requested before its time. */
	void (*log_sweep)(void *context, const char *why, const char *ports);
	/* What is known of the sweep that waits has changed. first: it waits from now on.
	 */
	void (*note_wait)(void *context, const struct throttle_wait *wait, bool first);
	/*
	 * Called some time after a repair, a return or the loss of a host:
	 * discovered[port], less what has failed since then. What has returned since then
	 * was there.
	 */
	void (*note_missing)(void *context, const struct pm_plan *plan,
			     const uint8_t *discovered);
	/* Called once a second: whether the SM's own port is down. */
	void (*note_own)(void *context, bool down);
	/*
	 * Called after each repair and transition; the view is borrowed. settled: the
	 * switches should hold its tables, and no try for the rest is due. changed: it
	 * was logged.
	 */
	void (*note_tables)(void *context, const struct view *view, bool settled,
			    bool changed);
	void *context;
};

/* Starts void, in PHASE_IDLE. NULL without memory. */
struct repairer *repairer_start(const struct repairer_config *config);

/* Replaces the settings, for repairs and so on that begin from now on. On any thread. */
void repairer_set(struct repairer *repairer, const struct repairer_settings *settings);

/* Stops sending; see worker_stop. False: nothing in its configuration may be freed. */
bool repairer_stop(struct repairer *repairer, double until_ms);

/* Call after it has stopped, and when no thread wakes it any more. */
void repairer_free(struct repairer *repairer);

/* Notes a request by an operator. On any thread, with osm->lock held or not. */
void repairer_wake(struct repairer *repairer);

/* Notes a switch's port that OpenSM has set down. Likewise. */
void repairer_note_set_down(struct repairer *repairer, uint64_t guid, uint8_t num);

/* Notes a trap, with early repair enabled. On any thread, with osm->lock held or not. */
void repairer_note_trap(struct repairer *repairer, const ib_mad_notice_attr_t *notice);

/*
 * The same before OpenSM drops repeated ones. True: the plugin deals with the change, and
 * OpenSM need not begin a sweep (throttle.h).
 */
bool repairer_note_early_trap(struct repairer *repairer,
			      const ib_mad_notice_attr_t *notice);

/* ---- On the sweeper; with no lock held unless it says so ---- */

/* For PHASE_ROUTING with osm->lock held exclusively. */
void repairer_set_phase(struct repairer *repairer, enum sweep_phase phase);

/*
 * Prepares to take over this view, perhaps of another plan, without touching the present
 * view. -ENOMEM. O(ports), and for another plan the cost of tables.
 */
int repairer_prepare(struct repairer *repairer, const struct view *view);

/*
 * Hands over the view, after repairer_take_failed. False: the repairer is void, as it was
 * not prepared for this plan, or lacks memory. O(ports). With osm->lock held exclusively,
 * or when none of the plugin's SMPs can be out.
 */
bool repairer_commit(struct repairer *repairer, const struct view *view);

/* Stops sending until the next commit; does not wait. With osm->lock held or not. */
void repairer_halt(struct repairer *repairer);
void repairer_void(struct repairer *repairer);
bool repairer_is_void(struct repairer *repairer);
bool repairer_is_valid(struct repairer *repairer);

/*
 * Sends blocks that were withheld from OpenSM, as Sets for them were out, and that differ
 * from the view's tables.
 */
void repairer_resend(struct repairer *repairer);

/*
 * Repairs reported failures before OpenSM goes on. Waits wait_ms for the first trap if no
 * trap has come since PHASE_IDLE began. Ends within a bounded time (repair.h).
 */
void repairer_finish(struct repairer *repairer, uint32_t wait_ms);

/*
 * Waits until no PortInfo Set of the plugin is out for a port of OpenSM's record, which
 * OpenSM may set now, and has the record follow those that were sent. After
 * repairer_set_phase; for a bounded time.
 */
void repairer_end_returns(struct repairer *repairer);

/* The latter alone; with osm->lock held exclusively. `links`: see returns_settle. */
void repairer_settle_returns(struct repairer *repairer, bool links);

/*
 * Copies the repairer's drains to *drains; returns whether they differ, apart from their
 * numbers. False also if the repairer is void. With `wait`, and no lock held, waits for
 * the end of a transition, for a bounded time. Without it a running transition is given
 * up. No other transition begins before PHASE_LINKS or, in PHASE_IDLE, before the next
 * commit.
 */
bool repairer_take_drains(struct repairer *repairer, struct pm_drains *drains, bool wait);

/*
 * Makes the tables of this view, of the plan handed over last, prefer the plan's entries
 * in rebalanced blocks, sent or acknowledged. Sets *over, once, when all blocks are the
 * plan's. False: no blocks were rebalanced. With `wait`, and no lock held, waits for the
 * end of a running round of rebalancing, for a bounded time. Without it the repairer is
 * halted. No other round begins before PHASE_IDLE. O(size of the tables).
 */
bool repairer_take_balance(struct repairer *repairer, struct view *view, bool wait,
			   bool *over);

/*
 * Has the thread do work of the sweeper's, as soon as the piece of another job that it is
 * at has ended, and waits for the end of that work. With no lock held.
 */
void repairer_do(struct repairer *repairer, void (*run)(void *context), void *context);

/* For such work. */
struct lft_sender *repairer_sender(struct repairer *repairer);

/*
 * Routes OpenSM's multicast groups over the committed view, before OpenSM goes on. If
 * traps interrupt it, the repairer's thread does the rest. Tables of switches in `doubt`
 * become unknown.
 */
void repairer_route_groups(struct repairer *repairer, const struct mcast_doubt *doubt);

/* Whether traps wait: they come before blocks that the sweeper sends. */
bool repairer_has_traps(void *repairer);

/* Whether repairer_take_failed would return true. Likewise. */
bool repairer_has_failed(struct repairer *repairer);

/*
 * Writes failures and returns found since the last call to `failed` and `downs` of the
 * view. False: none. With osm->lock held or not.
 */
bool repairer_take_failed(struct repairer *repairer, struct view *view);

#endif
