/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transition: tables go over from the links in use before a drain, or its end, to those
 * in use after it, while all of them are up, so that every packet gets through at every
 * moment (docs/design.md, *Drains*, says why). With `from`, `to` and `both` for the
 * tables with the links in use before, after, and before or after:
 *
 *     UNUSED    entries of `both` that no packet uses before
 *     WIDEN     `both`, from the leaves up
 *     NARROW    `to` without detours, from the top down
 *     DETOURS   `to`, in the steps of ahead.h and then all of it
 *
 * A level is begun when the one before has been answered.
 *
 * A failure interrupts it. The switches then hold, block by block, what the stage begins
 * with or what it ends with; the repair changes each to the tables without what failed,
 * of the same kind (transition_mix), and the transition goes on afterwards.
 *
 * On one thread at a time.
 */
#ifndef PORTMAJOR_TRANSITION_H
#define PORTMAJOR_TRANSITION_H

#include "../osm/lft_set.h"
#include "view.h"

#include <portmajor/route/delta.h>

enum transition_stage {
	TRANSITION_NONE, /* none is under way */
	TRANSITION_UNUSED,
	TRANSITION_WIDEN,
	TRANSITION_NARROW,
	TRANSITION_DETOURS,
};

#define MOVED_CHANGE_TEXT 512

/* What was done. */
struct moved {
	char change[MOVED_CHANGE_TEXT]; /* of links in use, in words */
	uint64_t sent, acked;		/* blocks */
	struct pm_delta delta;
	uint32_t interruptions;
	double milliseconds;
	const char *gave_up; /* why something is left to the sweep, or NULL */
};

/* All zero at first. */
struct transition {
	enum transition_stage stage;
	uint8_t *from;	/* [port] in use before */
	uint8_t *moved; /* [switch * blocks + block] has the tables that the stage ends
			 * with */
	double start_ms;
	struct moved done; /* so far */
};

struct transition_subject {
	struct lft_sender *sender;
	struct view *view; /* with the links to be in use, and all that are seen */
	/* Whether it has to pause, or end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* Begins one: the switches hold tables for view->alive. -ENOMEM: none is begun. */
int transition_begin(struct transition *transition, const struct view *view);

/*
 * Goes on with it, with no lock held. True: it is over, with what came of it in
 * transition->done; false: it was interrupted. The view's tables are those of its links
 * in use only when it is over.
 */
bool transition_run(struct transition *transition,
		    const struct transition_subject *subject);

/*
 * Makes the view's tables, which are those of its links in use, those that the switches
 * are to hold while the transition is interrupted. Nothing to do without one. -ENOMEM.
 */
int transition_mix(const struct transition *transition, struct view *view);

/* Forgets it. */
void transition_end(struct transition *transition);

#endif
