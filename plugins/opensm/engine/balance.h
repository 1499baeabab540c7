/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rebalancing: replaces tables that were found in the switches and kept (pm_routes_adopt)
 * by the plan's, block by block, at a rate. Both obey the same rules, so no mixture of
 * them loses a packet or has a loop: blocks need no order. A failure in between is
 * repaired as usual, as the view has the switches' tables. OpenSM sends no block back, as
 * the sweeper takes over what was rebalanced.
 *
 * It begins at an operator's request or, with `rebalance auto`, when all links of a plan
 * that has grown since are usable and the fullest link would carry less. A block that is
 * not acknowledged ends it; then `auto` begins again after a minute. Of packets to a link
 * that has come up some would be lost before OpenSM activates it: so it waits for
 * SUBNET_UP.
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
	struct pm_routes *planned; /* by the view's plan, without adopted entries */
	atomic_uchar *as_planned;  /* [switch * blocks + block] marked: the plan's
				      block was sent or acknowledged */
	uint32_t next;		   /* all blocks before it are as planned */
	bool active;		   /* rebalancing */
	uint32_t rate;		   /* blocks per second */
	double since_ms;	   /* beginning of rebalancing */
	uint64_t sent;		   /* blocks since then */
	uint64_t acked;
	const char *gave_up; /* why it ended early or cannot begin, or NULL */
	struct state_balance now;
};

struct balance_subject {
	struct lft_sender *sender;
	struct view *view; /* with the switches' tables */
	/* Whether to pause, or end. On this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	/* Whether the sweeper has taken over the blocks chosen, and sends them. */
	bool (*is_halted)(void *context);
	void *context;
};

/* Makes balance->planned, if there is none. -ENOMEM. Costs pm_routes_make. */
int balance_make(struct balance *balance, const struct view *view);

/*
 * Counts the view's entries that differ from the plan's; the result is balance->now. Call
 * after balance_make. O(size of the tables).
 */
void balance_measure(struct balance *balance, const struct view *view);

/*
 * Whether the fullest link has a lower load by the plan's tables than by the view's, with
 * traffic of all hosts to all others. A plan made while parts were absent may be less
 * even. Call after balance_measure. Cost: pm_routes_load_ratio, twice.
 */
int balance_helps(const struct balance *balance, const struct view *view,
		  bool (*stop)(void *context), void *context, bool *helps);

/* Begins rebalancing, after balance_measure, at a rate above 0 blocks per second. */
void balance_begin(struct balance *balance, uint32_t rate);

/*
 * Sends the blocks that are due, with no lock held. *next_ms: when the next are due.
 * False: none are left, or a block was not acknowledged as it was set; balance->active is
 * false.
 */
bool balance_run(struct balance *balance, const struct balance_subject *subject,
		 double *next_ms);

/*
 * Puts the plan's entries of the marked blocks into the tables of another view of the
 * same plan. On any thread, also during balance_run.
 */
void balance_apply(const struct balance *balance, struct view *view);

/* Forgets everything. */
void balance_forget(struct balance *balance);

#endif
