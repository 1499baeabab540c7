/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Early repair: locates the failure behind a trap with a few Gets, and sends the changed
 * blocks, in any phase of OpenSM. OpenSM notes the answers in its record of the switch
 * (lft), so its next routing run has nothing to send. The repairer (repairer.h) runs it.
 * A repair ends within a bounded time. A link in INIT carries no packet: it is down.
 *
 *     trap of a switch of the plan that no return explains, then 4 ms without another one
 *     up to 8 rounds, while traps come or blocks stay unanswered:
 *         locate the failure (portmajor/policy/locate.h)
 *         tables for the links in use (view.h)
 *         blocks in order, or in steps (portmajor/route/order.h, steps.h)
 */
#ifndef PORTMAJOR_REPAIR_H
#define PORTMAJOR_REPAIR_H

#include "osm/lft_set.h"
#include "osm/link_records.h"
#include "view.h"

/* Opaque: received traps. */
struct repair;

/* The input of a repair. */
struct repair_subject {
	struct lft_sender *sender;
	struct view *view; /* with the switches' routes */
	const struct link_records *records;
	/*
	 * Time without progress after which the repair gives up. Time-outs, waits for the
	 * wire, and for the end of a burst of traps, do not count.
	 */
	uint32_t budget_ms;
	uint32_t wait_ms;      /* time to wait for the first trap */
	bool sweeping;	       /* OpenSM's SMPs are on the wire, too */
	bool resend;	       /* send postponed blocks, even without a trap */
	const uint8_t *before; /* [port] discovered at the last report, or NULL: now */
	/* Whether to end. On this thread, with or without osm->lock. */
	bool (*is_halted)(void *context);
	/*
	 * Called before any block is sent, when the view's tables are those for its links
	 * in use. Changes them to the tables that the switches are to have, also during a
	 * transition (transition_mix), and notes view->discovered, without the failed
	 * parts. -ENOMEM; -ECANCELED: the repair has to end.
	 */
	int (*take_over)(void *context);
	/*
	 * Notes links, gone[port] of the view's plan, that are down and were not up in
	 * the view: a running sweep may have seen them up. gone is borrowed.
	 */
	void (*note_gone)(void *context, const uint8_t *gone);
	/* Notes a port that counts as down, but waits in INIT for service (returns.h). */
	void (*note_init)(void *context, uint32_t port);
	void *context;
};

/* Time for the first trap, which is reported shortly after the sweep was requested. */
#define REPAIR_FIRST_TRAP_MS 20

#define REPAIR_CHANGE_TEXT 512

/* Result. */
struct repaired {
	uint32_t number; /* counts repairs that found a failure or sent a block, from 1
			    since OpenSM's start; 0: this one did neither. The metric
			    counts those with links_down only */
	char change[REPAIR_CHANGE_TEXT];
	uint32_t traps, queries, unanswered, links_down;
	uint32_t rounds;      /* rounds that found a failure; above 1: found in parts */
	uint64_t sent, acked; /* blocks */
	uint64_t restoring;   /* of these: up to the last that restores a path between
				 hosts, see pm_order_restoring */
	uint64_t least;	      /* for the changed entries, see struct pm_delta */
	uint32_t postponed;   /* blocks that were out already, or wait for such blocks */
	uint64_t switches;
	uint32_t unordered;  /* cycles that were broken, see pm_order_sort */
	double first_set_ms; /* from the first trap to the first Set */
	double milliseconds; /* to the last answer, including retries */
	bool halted;	     /* it had to end */
	uint32_t silences;   /* SMPs without an answer */
	bool came;	     /* it was for cables that are back in service */
	const char *gave_up; /* why a part is left to the sweep, or NULL */
};

/* NULL without memory. */
struct repair *repair_start(void);
void repair_stop(struct repair *repair);

/*
 * From now on only traps of LIDs of this plan's switches count; NULL: those of all LIDs.
 * So a host that sends traps delays no repair. The plan is not kept. O(number of LIDs).
 */
void repair_set_plan(struct repair *repair, const struct pm_plan *plan);

/*
 * OSM_EVENT_ID_TRAP: on any thread, with osm->lock held or not. Returns whether it is a
 * trap that counts.
 */
bool repair_note_trap(struct repair *repair, const ib_mad_notice_attr_t *notice);

/* Whether this LID is of a switch of the plan; false without one. On any thread. */
bool repair_has_switch(struct repair *repair, uint16_t lid);

/* The number of traps that no repair has taken. On any thread. */
uint32_t repair_count_traps(struct repair *repair);

/* Drops the first num of these traps. */
void repair_skip(struct repair *repair, uint32_t num);

/*
 * A trap of one switch was received, and may come within REPAIR_EXPLAINED_MS, unless
 * OpenSM drops it.
 */
#define REPAIR_EXPLAINED_MS 100
void repair_expect(struct repair *repair, uint16_t lid);

/*
 * Drops num of these traps of one switch, as something else explains them; also those
 * that are expected, and with `coming` those that have not been received yet. The last
 * ones, `later` of those received, stay: they tell of something else.
 */
void repair_explain(struct repair *repair, uint16_t lid, uint32_t num, uint32_t later,
		    bool coming);

/*
 * Something else has found a port of this switch down that counts as up: as a trap of it,
 * unless one waits. Those that come from now on are not explained.
 */
void repair_doubt(struct repair *repair, uint16_t lid);

/*
 * Drops all these traps if are_covered returns true; traps neither come nor go meanwhile.
 */
void repair_skip_covered(struct repair *repair, bool (*are_covered)(const void *context),
			 const void *context);

/*
 * Whether traps were dropped since the last call, as there was no room; adds their number
 * to *dropped. Only a discovery finds their causes.
 */
bool repair_take_overflow(struct repair *repair, uint64_t *dropped);

/*
 * Repairs the failures behind traps; false: there were no traps. A repair that gives up
 * leaves its traps to the next repair, except those with a found failure. On one thread
 * at a time.
 */
bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done);

#endif
