/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mixtures of tables: while the LFT Sets of a recording arrive, some switches have new
 * entries and others old ones. What of that sends packets round and round, or lets them
 * wait for each other for ever, and which Set made and mended it.
 *
 * A loop: switches whose entries for a LID lead from one to the next and back to the
 * first, over cables that are not lost; of every LID that tables have entries for,
 * whether or not somebody has it or sends to it.
 *
 * A cycle: channels (cables between switches, in one direction) of which each depends on
 * the next, as a packet from a host to a LID of another one may hold it while it waits
 * for the next; the last depends on the first. Packets in one virtual lane that fill such
 * a cycle wait for ever. Hosts are those of outage.h. The Set that makes a cycle is the
 * one that brings the dependency by which it closes. As long as that dependency is in
 * some cycle, be it another one, it is the same; so at a time there are as many as
 * dependencies would have to go until there is no cycle, or a few more.
 *
 * Sets that arrive at one time count as one: what is there in between is not told.
 */
#ifndef PORTMAJOR_MIXTURE_H
#define PORTMAJOR_MIXTURE_H

#include <portmajor/lab/lft_trace.h>

/* What made or mended something, if it is no Set. */
#define PM_MIXTURE_FIRST UINT32_MAX	    /* it was there before all Sets */
#define PM_MIXTURE_LOSS (UINT32_MAX - 1)    /* the loss */
#define PM_MIXTURE_NOTHING (UINT32_MAX - 2) /* it is there in the end */

/* A loop or cycle. */
struct pm_mixture_ring {
	uint32_t made, mended; /* indexes of Sets, or one of those above */
	uint32_t lid;	       /* of a loop */
	uint32_t length;
	size_t first; /* at[first..first + length): switches of a loop, or of a cycle the
		       * ports that packets leave by, in the order of packets */
};

/* All of a kind. */
struct pm_mixture_rings {
	struct pm_mixture_ring *list; /* in the order in which they were made */
	uint32_t num, room;
	uint32_t most; /* at a time */
	uint64_t ns;   /* since the loss, in which there was one at least */
};

struct pm_mixture {
	struct pm_mixture_rings loops, cycles;
	uint32_t *at;
	uint32_t num_at, room_at;
};

/*
 * Follows a recording of this fabric. The caller frees *mixture with pm_mixture_free.
 * -ENOMEM. Cost: O(length x switches) at the beginning and twice that
 * at the loss; of a Set O(entries that differ x ports); of a new dependency the channels
 * between its ends in a topological order.
 */
int pm_mixture_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *sets,
		      struct pm_mixture *mixture, struct pm_error *err);
void pm_mixture_free(struct pm_mixture *mixture);

#endif
