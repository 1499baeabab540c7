/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks that could let a LID's packets loop, were they sent in OpenSM's order, are sent
 * before it, between discovery and the LID manager, in steps (steps.h). OpenSM notes the
 * answers in its record of each switch, and does not send those blocks again, unless it
 * writes the whole table of a switch.
 */
#ifndef PORTMAJOR_AHEAD_H
#define PORTMAJOR_AHEAD_H

#include "osm/lft_set.h"
#include "view.h"

#include <portmajor/route/delta.h>
#include <portmajor/route/steps.h>

struct ahead_subject {
	struct lft_sender *sender;
	const struct view *view; /* with the tables to be */
	/* Whether it has to end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* What was done; all zero if nothing needed it. */
struct ahead {
	uint64_t sent, acked;  /* blocks */
	uint32_t lids, twice;  /* of steps.h */
	struct pm_delta delta; /* all that tables differed by before, sent here or not */
	const char *gave_up; /* why something of it is left to OpenSM's order, or NULL */
	bool interrupted;    /* by a trap: that is why */
	bool left;	     /* it is left to the repairer instead */
};

/*
 * Finds what needs an order, into *steps, which is all zero, and counts it; stale was
 * found with input. With osm->lock held, shared at least, since OpenSM's records, which
 * input has, were looked up: nothing of them is kept.
 */
void ahead_find(const struct pm_stale_input *input, const struct pm_stale *stale,
		struct pm_steps *steps, struct ahead *done);

/* Sends that, and frees *steps. On one thread at a time, with no lock held. */
void ahead_send(const struct ahead_subject *subject, struct pm_steps *steps,
		struct ahead *done);

#endif
