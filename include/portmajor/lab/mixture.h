/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mixtures of tables: while the LFT Sets of a recording arrive, some switches have new
 * entries and others old ones. Finds their loops and credit cycles, and the Sets that
 * made and removed them.
 *
 * A loop: switches whose entries for a LID, used or not, lead from each to the next and
 * from the last to the first, over usable links.
 *
 * A cycle: channels (links between switches, in one direction), each of which depends on
 * the next, and the last on the first. A channel depends on another if a packet from a
 * host to a LID of another host (outage.h) may hold it while it waits for the other.
 * Packets of one virtual lane that fill a cycle wait for ever. A cycle is made by the Set
 * that adds the dependency that closes it, and counts as the same while that is in any
 * cycle. So there are about as many cycles as dependencies to remove until none is left.
 *
 * Sets that arrive at one time count as one.
 */
#ifndef PORTMAJOR_MIXTURE_H
#define PORTMAJOR_MIXTURE_H

#include <portmajor/lab/lft_trace.h>

/* Causes other than a Set. */
#define PM_MIXTURE_FIRST UINT32_MAX	    /* before all Sets */
#define PM_MIXTURE_FAILURE (UINT32_MAX - 1) /* the failure */
#define PM_MIXTURE_NOTHING (UINT32_MAX - 2) /* never removed */

/* A loop or cycle. */
struct pm_mixture_ring {
	uint32_t made, removed; /* indexes of Sets, or one of those above */
	uint32_t lid;		/* of a loop */
	uint32_t length;
	size_t first; /* at[first..first + length): switches, or ports that packets leave
		       * by, in the order of packets */
};

/* All of a kind. */
struct pm_mixture_rings {
	struct pm_mixture_ring *list; /* in the order of appearance */
	uint32_t num, room;
	uint32_t most; /* at a time */
	uint64_t ns;   /* with at least one, since the failure */
};

struct pm_mixture {
	struct pm_mixture_rings loops, cycles;
	uint32_t *at;
	uint32_t num_at, room_at;
};

/*
 * Follows a recording of this fabric. The caller frees *mixture. -ENOMEM. O(length x
 * switches) at first, twice that at the failure; for a Set O(changed entries x ports);
 * for a new dependency the channels between its ends in a topological order.
 */
int pm_mixture_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		      struct pm_mixture *mixture, struct pm_error *err);
void pm_mixture_free(struct pm_mixture *mixture);

#endif
