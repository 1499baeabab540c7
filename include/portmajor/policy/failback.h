/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the engine that routes: fails over from ours to OpenSM's next one when the
 * usable links are no tree any more, and back when they have been a tree for a while.
 *
 *     3/4 ---------.            .-.          .--------------------   reachable share
 *                   \           | |         /
 *     1/2 - - - - - -\- - - - - - -\- - - -/- - - - - - - - - -
 *                     '--------'    '-----'
 *         we route    |the next engine     | hold        | we route
 *
 * It fails over when less than half of the pairs are reachable (reachable.h), and fails
 * back when three quarters have been for a hold without a break. Each failover doubles
 * the hold, up to the longest one; after as long without a failover the next hold is the
 * first one again. This bounds failovers: with holds of 60 to 3600 s, to 6 in any hour.
 *
 * When links connect less than half of the most pairs so far, lost answers are more
 * likely than failed links. Then it fails over only if that lasts for the first hold.
 *
 * docs/design.md has the reasons for these thresholds.
 */
#ifndef PORTMAJOR_FAILBACK_H
#define PORTMAJOR_FAILBACK_H

#include <portmajor/plan/reachable.h>

/* The engine that routes. Written by failback.c alone. */
struct pm_failback {
	uint32_t first_ms, longest_ms; /* holds */
	uint32_t hold_ms;	       /* the last one; 0: none, or reset */
	bool failed_over;	       /* the next engine routes */
	bool well;	     /* it does, but three quarters are reachable again */
	uint64_t since_ms;   /* since well, or since we route */
	uint64_t usual;	     /* most pairs connected while we route */
	bool blurred;	     /* far fewer connected, too few reachable .. */
	uint64_t blurred_ms; /* .. and since when */
};

/* We route. 0 < first_ms <= longest_ms. */
void pm_failback_init(struct pm_failback *failback, uint32_t first_ms,
		      uint32_t longest_ms);

/* Other times, for holds from now on; a running one ends by the longest. */
void pm_failback_set_holds(struct pm_failback *failback, uint32_t first_ms,
			   uint32_t longest_ms);

/*
 * Decides, for each routing run, whether the next engine routes: failback->failed_over.
 * now_ms is of a monotonic clock. Returns the ms until the engine changes if nothing
 * happens (the caller requests a run for then), or UINT64_MAX. Call it only while there
 * is another engine. O(1).
 */
uint64_t pm_failback_observe(struct pm_failback *failback,
			     const struct pm_reachable *reachable, uint64_t now_ms);

/*
 * Ends a hold: the next pm_failback_observe fails back if three quarters are reachable.
 */
void pm_failback_clear(struct pm_failback *failback);

#endif
