/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transition changes tables when an operator drains links, or ends a drain, while all
 * links are up, without losing a packet. In OpenSM's order packets would be lost: a
 * first-level switch without its path down to a leaf sends up to a spine that still sends
 * down to it. `from`, `to` and `both` are the tables for the links in use before, after,
 * and before or after. Its stages:
 *
 *     UNUSED    entries of `both` that no packet uses before
 *     WIDEN     `both`, from the leaves up
 *     NARROW    `to` without detours, from the top down
 *     DETOURS   `to`, in the steps of ahead.h and then all of it
 *
 * A level begins when the one before is acknowledged. So an entry that now leads down
 * leads to a switch with an entry that does already, and a switch gives up its path down
 * when no switch above leads down to it any more. Detours, which lead in any direction,
 * are last: until then packets may come to the switches that need them.
 *
 * If a block is not acknowledged as it was set, the transition ends and requests a
 * routing run for the rest. As long as a switch's record differs from the tables in force
 * (osm/unset.h) no drain is `out`, and a run is requested each minute.
 *
 * A failure interrupts it. Each block in the switches is then that of the stage's
 * beginning or end. The repair removes the failed parts from these blocks
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

#define TRANSITION_CHANGE_TEXT 512

/* Result. */
struct transition_result {
	char change[TRANSITION_CHANGE_TEXT]; /* the changed links, as text */
	uint64_t sent, acked;		     /* blocks */
	struct pm_delta delta;
	uint32_t interruptions;
	double milliseconds;
	const char *gave_up; /* why a part is left to the sweep, or NULL */
};

/* All zero at first. */
struct transition {
	enum transition_stage stage;
	uint8_t *from;	 /* [port] links in use before */
	uint8_t *at_end; /* [switch * blocks + block] block is that of the stage's end */
	double start_ms;
	struct transition_result done; /* so far */
};

struct transition_subject {
	struct lft_sender *sender;
	struct view *view; /* with the new links in use, and all discovered ones */
	/* Whether to pause, or end. On this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/*
 * Begins a transition; the switches hold the tables for view->usable. -ENOMEM: not begun.
 */
int transition_begin(struct transition *transition, const struct view *view);

/*
 * Continues it, with no lock held. True: it is over, with the result in transition->done,
 * and the view's tables are those for its links in use. False: it was interrupted.
 */
bool transition_run(struct transition *transition,
		    const struct transition_subject *subject);

/*
 * Changes the view's tables from those for its links in use to the switches' present
 * ones, while the transition is interrupted. Without a transition nothing changes.
 * -ENOMEM.
 */
int transition_mix(const struct transition *transition, struct view *view);

/* Forgets it. */
void transition_end(struct transition *transition);

#endif
