/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Early repair: what a trap tells of is found by a few questions, and the blocks that
 * change are sent, whatever OpenSM is doing. Answers to blocks go to OpenSM, which notes
 * them in its record of the switch (lft): so its next routing run finds nothing to send.
 * engine/repairer.h says when, and with what view. It ends within a bounded time.
 */
#ifndef PORTMAJOR_REPAIR_H
#define PORTMAJOR_REPAIR_H

#include "osm/lft_set.h"
#include "view.h"

/* Opaque: the traps that have come. */
struct repair;

/* What a repair works on. */
struct repair_subject {
	struct lft_sender *sender;
	struct view *view; /* with routes that the switches have */
	uint32_t
		budget_ms; /* that finding out may take until something is found failed */
	uint32_t wait_ms;  /* for the first trap */
	bool urgent;	   /* SMPs of OpenSM's wait for the wire, and are passed */
	bool resend;	   /* even without a trap: blocks that were postponed */
	/* Whether it has to end; on this thread, with or without osm->lock. */
	bool (*is_halted)(void *context);
	/*
	 * The view's tables are those for its links in use: changes them to what the
	 * switches are to hold (transition_mix), and notes view->seen, which lacks what
	 * failed. Before any block is sent for it. -ENOMEM; -ECANCELED: it has to end.
	 */
	int (*take_over)(void *context);
	/* Links that were not up in the view are down: a sweep that is under way (urgent)
	 * may have seen them up. gone[port] of the view's plan, borrowed. */
	void (*note_gone)(void *context, const uint8_t *gone);
	void *context;
};

/* A trap is reported shortly after OpenSM was asked for the sweep. */
#define REPAIR_FIRST_TRAP_MS 20

#define REPAIR_CHANGE_TEXT 512

/* What was done. */
struct repaired {
	uint32_t number; /* from 1; 0: nothing was found lost */
	char change[REPAIR_CHANGE_TEXT];
	uint32_t traps, queries, unanswered, links_down;
	uint32_t looks; /* that found something; above 1 a burst was seen in parts */
	uint64_t sent, acked, bound; /* blocks */
	uint32_t postponed;	     /* blocks that were out already, or wait for such */
	uint64_t switches;
	uint32_t unordered;  /* forced, see pm_order_sort */
	double first_set_ms; /* from the first trap to the first Set */
	double milliseconds; /* to the last answer; of another try, too */
	bool halted;	     /* it had to end */
	uint32_t silences;   /* SMPs without an answer */
	const char *gave_up; /* why something is left to the sweep, or NULL */
};

/* NULL without memory. */
struct repair *repair_start(void);
void repair_stop(struct repair *repair);

/* OSM_EVENT_ID_TRAP: on any thread, with osm->lock held or not. */
void repair_note_trap(struct repair *repair, const ib_mad_notice_attr_t *notice);

/* How many traps have come that no repair has taken. On any thread. */
uint32_t repair_count_traps(struct repair *repair);

/* Forgets the first so many of them that are still there. */
void repair_skip(struct repair *repair, uint32_t num);

/* Forgets all of them if they are covered, which is asked while none comes or goes. */
void repair_skip_covered(struct repair *repair, bool (*are_covered)(const void *context),
			 const void *context);

/*
 * Whether more traps came than are remembered, since the last call; how many were not is
 * added to *dropped. Whatever they told of is found by a discovery alone.
 */
bool repair_take_overflow(struct repair *repair, uint64_t *dropped);

/*
 * Repairs what traps tell of; false: there were none. One that gives up leaves its traps
 * for the next, but for those of which it has found the failure. On one thread at a time.
 */
bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done);

#endif
