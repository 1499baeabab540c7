/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rebalancing: replaces tables found in the switches and kept (pm_routes_adopt) by the
 * plan's, block by block, at a rate. Both obey the same rules, in any mixture, so no
 * packet is lost and no LID loops, in any order. A failure in between is repaired as
 * usual: the view has the switches' tables.
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
	struct pm_routes *planned; /* of the view's plan, without adopted entries */
	atomic_uchar *released; /* [switch * blocks + block] is the plan's: acknowledged
				 * or sent */
	uint32_t next;		/* all before it are */
	bool active;		/* rebalancing */
	uint32_t rate;		/* blocks per second */
	double since_ms;	/* its beginning */
	uint64_t sent;		/* since then */
	uint64_t acked;
	const char *gave_up; /* why it ended early or cannot begin, or NULL */
	struct state_balance now;
};

struct balance_subject {
	struct lft_sender *sender;
	struct view *view; /* the switches hold its tables */
	/* Whether it has to pause, or end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	/* Whether the sweeper has taken the released blocks, and sends them. */
	bool (*is_halted)(void *context);
	void *context;
};

/* Makes the plan's tables for a balance that has none. -ENOMEM. Costs pm_routes_make. */
int balance_make(struct balance *balance, const struct view *view);

/*
 * Counts the view's entries that differ from the plan's, into balance->now; after
 * balance_make. O(size of the tables).
 */
void balance_measure(struct balance *balance, const struct view *view);

/*
 * Whether the plan's tables load the fullest link less than the view's, all hosts to all
 * others; after balance_measure. A plan made while parts were absent may be less even.
 * Cost: pm_routes_load_ratio, twice.
 */
int balance_helps(const struct balance *balance, const struct view *view,
		  bool (*stop)(void *context), void *context, bool *helps);

/* Begins to rebalance, after balance_measure, at a rate above 0 blocks per second. */
void balance_begin(struct balance *balance, uint32_t rate);

/*
 * Sends the blocks that are due, with no lock held; *next_ms: when more are. False: none
 * are left, or a block was not acknowledged; balance->active is false.
 */
bool balance_run(struct balance *balance, const struct balance_subject *subject,
		 double *next_ms);

/*
 * Makes released blocks the plan's in the tables of another view of the same plan. On any
 * thread, also during balance_run.
 */
void balance_apply(const struct balance *balance, struct view *view);

/* Forgets everything. */
void balance_forget(struct balance *balance);

#endif
