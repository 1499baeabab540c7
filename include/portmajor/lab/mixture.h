/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mixtures of tables: while the LFT Sets of a recording arrive, some switches have new
 * entries and others old ones. Finds the loops and credit cycles of these mixtures, and
 * the Sets that made and removed them.
 *
 * A loop: switches with entries for a LID that lead from each to the next, and from the
 * last to the first, over usable links. Every LID with entries counts, used or not.
 *
 * A cycle: channels (links between switches, in one direction), each of which depends on
 * the next, and the last on the first. A channel depends on another if a packet from a
 * host to a LID of another host may hold it while it waits for the other. Packets in one
 * virtual lane that fill such a cycle wait for ever. Hosts are those of outage.h. A cycle
 * is made by the Set that adds the dependency that closes it. As long as that dependency
 * is in any cycle, the cycle counts as the same. So the number of cycles is about the
 * number of dependencies to remove until no cycle is left.
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
	/* Index of a Set; the number of Sets + the index of a link in trace->active; or
	 * one of those above. */
	uint32_t made, removed;
	uint32_t lid; /* of a loop */
	uint32_t length;
	size_t first; /* at[first..first + length): switches of a loop, or of a cycle the
		       * ports that packets leave by, in the order of packets */
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
 * Follows a recording of this fabric. The caller frees *mixture with pm_mixture_free.
 * Cost: O(length x switches) at the beginning, and twice that at the failure and
 * for each link that returns; of a Set O(changed entries x ports); of a new dependency
 * the channels between its ends in a topological order.
 */
void pm_mixture_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		       struct pm_mixture *mixture);
void pm_mixture_free(struct pm_mixture *mixture);

#endif
