/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the blocks that could loop in OpenSM's order, before OpenSM sends its own:
 * between discovery and the LID manager, in steps (steps.h). OpenSM notes the answers in
 * its record of each switch, and sends these blocks again only when it writes a whole
 * table. After a trap the rest is left to the repairer. After a block that is not
 * acknowledged another sweep is requested; if that happens again, the rest goes in
 * OpenSM's order.
 *
 * Exceptions, in OpenSM's order: switches that are new to it or whose whole table it
 * writes, as their links carry no packets yet (except between two that were cut off
 * together); LIDs above the old LinearFDBTop when that rises, as entries from before
 * OpenSM's start are unknown there; the first sweep as master or after another engine;
 * and a run without discovery.
 */
#ifndef PORTMAJOR_AHEAD_H
#define PORTMAJOR_AHEAD_H

#include "osm/lft_set.h"
#include "view.h"

#include <portmajor/route/delta.h>
#include <portmajor/route/steps.h>

struct ahead_subject {
	struct lft_sender *sender;
	const struct view *view; /* with the new tables */
	/* Whether to end. On this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* Result; all zero if no block needs an order. */
struct ahead {
	uint64_t sent, acked;  /* blocks */
	uint32_t lids, twice;  /* as in struct pm_steps */
	struct pm_delta delta; /* all differences before sending, sent here or not */
	const char *gave_up;   /* why a part is left to OpenSM's order, or NULL */
	bool interrupted;      /* a trap interrupted it */
	bool left;	       /* the rest is left to the repairer */
};

/*
 * Finds the blocks that need an order, writes them to *steps, which is all zero, and
 * counts them. `stale` was found with `input`. With osm->lock held, shared at least,
 * since before OpenSM's records were looked up for input.
 */
void ahead_find(const struct pm_stale_input *input, const struct pm_stale *stale,
		struct pm_steps *steps, struct ahead *done);

/* Sends and frees *steps. On the repairer's thread, with no lock held. */
void ahead_send(const struct ahead_subject *subject, struct pm_steps *steps,
		struct ahead *done);

#endif
