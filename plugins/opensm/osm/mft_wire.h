/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Synchronises the record of MFT blocks with the switches: sends the Sets of steps, and
 * reads unknown blocks. Only answers change the record: an unanswered Set leaves its
 * block unknown.
 *
 * A switch with an unanswered SMP gets no more in that call; others go on. Step 1 of a
 * block of MLIDs is left out unless all of its step 0 was answered, to keep steps safe
 * (mft_steps.h). After several such switches the call ends, as each costs a time-out.
 *
 * On one thread at a time, with no lock held; takes osm->lock shared.
 */
#ifndef PORTMAJOR_ENGINE_MFT_WIRE_H
#define PORTMAJOR_ENGINE_MFT_WIRE_H

#include "smp.h"

#include <portmajor/multicast/mft.h>
#include <portmajor/multicast/mft_steps.h>
#include <portmajor/plan/plan.h>

/* All of it borrowed. */
struct mft_wire {
	struct smp_sender *smps;
	osm_opensm_t *osm;
	const struct pm_plan *plan;
	struct pm_mfts *installed; /* the record, of plan->topology */
	const uint32_t *by; /* [node] search.h's result: directed routes over links in
			       use, as OpenSM's may have failed since; .. */
	uint8_t sm_port; /* .. from this port of the SM's node; 0: the node is a switch */
	uint8_t *silent; /* [switch] working memory */
	bool sweeping;	 /* OpenSM's SMPs are on the wire, too */
	bool idle;	 /* no hurry: few SMPs are out at a time */
	/* Whether to end. On this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* Results are added. */
struct mft_wire_done {
	uint64_t sent, acked;	   /* Sets */
	uint64_t queried, learned; /* Gets */
	bool interrupted;
	const char *gave_up; /* why some blocks are not as wanted, or NULL */
};

void mft_wire_send(const struct mft_wire *wire, const struct pm_mft_steps *steps,
		   struct mft_wire_done *done);

/* Blocks without an answer stay unknown, and nothing is given up. */
void mft_wire_read(const struct mft_wire *wire, const struct pm_mft_cell *cells,
		   uint32_t num, struct mft_wire_done *done);

#endif
