/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks that could let a LID's packets loop, were they sent in OpenSM's order, are sent
 * before it, between discovery and the LID manager, in steps (steps.h). OpenSM notes the
 * answers in its record of each switch, and does not send those blocks again, unless it
 * writes the whole table of a switch.
 */
#ifndef PORTMAJOR_AHEAD_H
#define PORTMAJOR_AHEAD_H

#include "ask.h"
#include "view.h"

#include <portmajor/delta.h>
#include <portmajor/stale.h>

struct ahead_subject {
	osm_opensm_t *osm;
	struct ask *ask;
	const struct view *view;	    /* with tables for what was discovered */
	const struct pm_stale *stale;	    /* of these */
	const struct pm_stale_input *input; /* they were found with */
};

/* What was done; all zero if nothing needed it. */
struct ahead {
	uint64_t sent, acked;  /* blocks */
	uint32_t lids, twice;  /* of steps.h */
	struct pm_delta delta; /* all that tables differed by before, sent here or not */
	const char *gave_up; /* why something of it is left to OpenSM's order, or NULL */
};

/* On the sweeper thread, with no lock held. */
void ahead_run(const struct ahead_subject *subject, struct ahead *done);

#endif
