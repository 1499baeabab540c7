/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the engine that routes. It fails over from portmajor to OpenSM's next engine
 * when the usable links are no tree any more, and back when they have been a tree for a
 * while. After an error OpenSM goes on to the next engine as well (sweep.h).
 *
 *     3/4 ---------.            .-.          .--------------------   reachable share
 *                   \           | |         /
 *     1/2 - - - - - -\- - - - - - -\- - - -/- - - - - - - - - -
 *                     '--------'    '-----'
 *         we route    |the next engine     | hold        | we route
 *
 * The short peak in the middle is shorter than the hold, so the next engine goes on.
 *
 * It fails over when less than half of the connected pairs are reachable (reachable.h:
 * hosts at different switches, connected over any path, reachable by going up and
 * then down), and fails back when three quarters have been for a hold without a break.
 * Each failover doubles the hold, up to the longest. Once portmajor has routed for the
 * longest hold's time, the next hold is the first again. So failovers are bounded: with
 * holds of 60 to 3600 s, by 6 in any hour.
 *
 * If too few pairs are reachable, and the links connect, over any path, less than half of
 * the most pairs that they connected while portmajor routed, then unanswered queries are
 * more likely than failed links. So it fails over only when both have lasted for the
 * first hold.
 *
 * Below a half the next engine connects the pairs that are cut off, but all others pay
 * for that: every table is written, early repair pauses, and balance and often freedom
 * from credit loops are lost. In a tree with holes the gain is small, so most pairs keep
 * their tables. The two cases are far apart: in a ring, a torus or a mesh of leaves the
 * share is 0; of 1,600 random trees with one in ten or one in five of the cables between
 * switches cut, none fell below a half, and 1,570 were at three quarters or above. The
 * second threshold is below 100%, as a hole may be permanent. As the thresholds differ, a
 * cable that changes the share by little does not cause all tables to be written each
 * time. No LID changes, as the LID manager gets the plan's LIDs with any engine.
 */
#ifndef PORTMAJOR_FAILBACK_H
#define PORTMAJOR_FAILBACK_H

#include <portmajor/plan/reachable.h>

/* The state; written by failback.c alone. */
struct pm_failback {
	uint32_t first_ms, longest_ms; /* holds */
	uint32_t hold_ms;	       /* the last hold; 0: none, or reset */
	bool failed_over;	       /* the next engine routes */
	bool recovered; /* three quarters are reachable again, the next engine routes */
	uint64_t since_ms; /* since when recovered, or since when portmajor routes */
	uint64_t usual;	   /* most connected pairs while portmajor routes */
	bool doubtful;	   /* far fewer pairs are connected, and too few reachable, .. */
	uint64_t doubtful_since_ms; /* .. since this time */
};

/* The state at the beginning: portmajor routes. 0 < first_ms <= longest_ms. */
void pm_failback_init(struct pm_failback *failback, uint32_t first_ms,
		      uint32_t longest_ms);

/*
 * Changes the times of holds from now on; a running hold ends after the new longest time
 * at most.
 */
void pm_failback_set_holds(struct pm_failback *failback, uint32_t first_ms,
			   uint32_t longest_ms);

/*
 * Decides, for each routing run, whether the next engine routes: failback->failed_over.
 * now_ms is of a monotonic clock. Returns the ms until the engine changes if nothing else
 * happens, or UINT64_MAX; the caller requests a routing run for then. Call it only while
 * there is another engine. O(1).
 */
uint64_t pm_failback_observe(struct pm_failback *failback,
			     const struct pm_reachable *reachable, uint64_t now_ms);

/*
 * Ends a hold: the next pm_failback_observe fails back if three quarters are reachable.
 */
void pm_failback_clear(struct pm_failback *failback);

#endif
