/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Early repair: what a trap tells of is found by a few questions and the blocks that
 * change are sent before OpenSM discovers the fabric anew. All of it happens on the
 * sweeper thread at HEAVY_SWEEP_START, or beside a sweep on a thread of its own
 * (beside.h), no lock held, and ends within a bounded time. Answers to blocks go to
 * OpenSM, which notes them in its record of the switch (lft): so the sweep that follows
 * finds nothing to send.
 */
#ifndef PORTMAJOR_REPAIR_H
#define PORTMAJOR_REPAIR_H

#include "ask.h"
#include "view.h"

/* Opaque: the traps that have come. */
struct repair;

/* What a repair works on. */
struct repair_subject {
	osm_opensm_t *osm;
	struct ask *ask;
	struct view *view;  /* with routes that the switches have */
	uint32_t budget_ms; /* that finding out what was lost may take */
	uint32_t wait_ms;   /* for the first trap */
	/*
	 * Of a repair beside a sweep; else NULL. Whether it has to end, on this thread
	 * with or without osm->lock; and view->seen without what was found lost, before
	 * any block is sent for it.
	 */
	bool (*is_halted)(void *context);
	void (*tell_seen)(void *context, const uint8_t *seen);
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
	uint64_t switches;
	uint32_t unordered;  /* forced, see pm_order_sort */
	double milliseconds; /* from the first trap to the last answer */
	const char *gave_up; /* why something is left to the sweep, or NULL */
};

/* NULL without memory. */
struct repair *repair_start(void);
void repair_stop(struct repair *repair);

/* OSM_EVENT_ID_TRAP: on any thread, with osm->lock held or not. */
void repair_note_trap(struct repair *repair, const ib_mad_notice_attr_t *notice);

/* Forgets the traps that have come. */
void repair_skip(struct repair *repair);

/* Repairs what traps tell of; false: there were none. On one thread at a time. */
bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done);

#endif
