/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rebalancing: tables that were found in the switches and kept (pm_routes_adopt) go over
 * to the plan's, block by block, at a rate. Entries of both obey the same rules, in any
 * mixture, so no packet is lost and no LID loops, whatever the order, and a failure in
 * between is repaired as ever: the view's tables are those that the switches hold.
 *
 * On one thread at a time.
 */
#ifndef PORTMAJOR_BALANCE_H
#define PORTMAJOR_BALANCE_H

#include "../io/activity.h"
#include "../osm/lft_set.h"
#include "view.h"

/* All zero at first: nothing is known. */
struct balance {
	struct pm_routes *planned; /* of the view's plan, with nothing adopted */
	atomic_uchar *released;	   /* [switch * blocks + block] goes by the plan: was
				    * answered, or is on its way */
	uint32_t next;		   /* of these, all before it are */
	bool active;		   /* tables are going over */
	uint32_t rate;		   /* blocks per second */
	double since_ms;	   /* when it began */
	uint64_t sent;		   /* since then */
	uint64_t acked;
	const char *gave_up; /* why it has ended early, or cannot begin yet; or NULL */
	struct state_balance now;
};

struct balance_subject {
	struct lft_sender *sender;
	struct view *view; /* the switches hold its tables */
	/* Whether it has to pause, or end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	/* Whether the sweeper has taken what was released, and sends it. */
	bool (*is_halted)(void *context);
	void *context;
};

/* Makes the plan's tables for a balance that has none. -ENOMEM. Costs pm_routes_make. */
int balance_make(struct balance *balance, const struct view *view);

/*
 * Finds how far the view's tables are off the plan's, into balance->now; after
 * balance_make. O(size of the tables).
 */
void balance_measure(struct balance *balance, const struct view *view);

/*
 * Whether by the plan the fullest link carries less than by the view's tables, all hosts
 * to all others; after balance_measure. A plan that was made while parts were away may be
 * less even than what was found. As pm_routes_load_ratio, twice.
 */
int balance_helps(const struct balance *balance, const struct view *view,
		  bool (*stop)(void *context), void *context, bool *helps);

/* Begins to rebalance, after balance_measure, at so many blocks per second, above 0. */
void balance_begin(struct balance *balance, uint32_t rate);

/*
 * Sends what is due by now, with no lock held; *next_ms is when more is. False: there is
 * nothing left, or a block was not answered, and balance->active is false.
 */
bool balance_run(struct balance *balance, const struct balance_subject *subject,
		 double *next_ms);

/*
 * Makes what was released the plan's in the tables of another view of the same plan. On
 * any thread, also while balance_run goes on.
 */
void balance_apply(const struct balance *balance, struct view *view);

/* Forgets everything. */
void balance_forget(struct balance *balance);

#endif
