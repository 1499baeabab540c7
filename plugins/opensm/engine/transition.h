/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transition changes tables from the links in use before a drain, or its end, to those
 * after it, while all of them are up, without losing a packet (docs/design.md, *Drains*).
 * With `from`, `to` and `both` for the tables with the links in use before, after, and
 * before or after:
 *
 *     UNUSED    entries of `both` that no packet uses before
 *     WIDEN     `both`, from the leaves up
 *     NARROW    `to` without detours, from the top down
 *     DETOURS   `to`, in the steps of ahead.h and then all of it
 *
 * A level begins when the one before is acknowledged.
 *
 * A failure interrupts it. Each block in the switches is then that of the stage's
 * beginning or end; the repair changes it to the same tables without the failed parts
 * (transition_mix), and the transition goes on afterwards.
 *
 * On one thread at a time.
 */
#ifndef PORTMAJOR_TRANSITION_H
#define PORTMAJOR_TRANSITION_H

#include "../osm/lft_set.h"
#include "view.h"

#include <portmajor/route/delta.h>

enum transition_stage {
	TRANSITION_NONE, /* none is running */
	TRANSITION_UNUSED,
	TRANSITION_WIDEN,
	TRANSITION_NARROW,
	TRANSITION_DETOURS,
};

#define MOVED_CHANGE_TEXT 512

/* Result. */
struct moved {
	char change[MOVED_CHANGE_TEXT]; /* of links in use, as text */
	uint64_t sent, acked;		/* blocks */
	struct pm_delta delta;
	uint32_t interruptions;
	double milliseconds;
	const char *gave_up; /* why a part is left to the sweep, or NULL */
};

/* All zero at first. */
struct transition {
	enum transition_stage stage;
	uint8_t *from;	/* [port] in use before */
	uint8_t *moved; /* [switch * blocks + block] is that of the stage's end */
	double start_ms;
	struct moved done; /* so far */
};

struct transition_subject {
	struct lft_sender *sender;
	struct view *view; /* with the new links in use, and all discovered ones */
	/* Whether it has to pause, or end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* Begins one: the switches hold tables for view->usable. -ENOMEM: not begun. */
int transition_begin(struct transition *transition, const struct view *view);

/*
 * Continues it, with no lock held. True: it is over, with the result in transition->done;
 * false: it was interrupted. Only at the end the view's tables are those of its links in
 * use.
 */
bool transition_run(struct transition *transition,
		    const struct transition_subject *subject);

/*
 * Changes the view's tables from those of its links in use to the switches' while the
 * transition is interrupted. No change without one. -ENOMEM.
 */
int transition_mix(const struct transition *transition, struct view *view);

/* Forgets it. */
void transition_end(struct transition *transition);

#endif
