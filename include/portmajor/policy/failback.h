/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which engine routes. Ours fails over to OpenSM's next one where the usable links are no
 * tree any more, and fails back when they have been one again for a while.
 *
 *     3/4 ---------.            .-.          .--------------------   share that is served
 *                   \           | |         /
 *     1/2 - - - - - -\- - - - - - -\- - - -/- - - - - - - - - -
 *                     '--------'    '-----'
 *         we route    |the next engine     | hold        | we route
 *
 * It fails over when less than half is served (reachable.h), and fails back when three
 * quarters have been served for a hold without a break. Each failover doubles the hold,
 * up to a longest one; after as long as that in our hands the next hold is the first one
 * again. So whatever a fabric does, it changes hands a bounded number of times: with
 * holds of 60 to 3600 s there are 6 failovers in any hour at most.
 *
 * A sight in which less than half of the pairs are joined that were so at most is
 * blurred: answers are lost more likely than cables. Only when it stays so for the first
 * hold is it believed, and there is a failover.
 *
 * docs/design.md has the reasons for the marks.
 */
#ifndef PORTMAJOR_FAILBACK_H
#define PORTMAJOR_FAILBACK_H

#include <portmajor/plan/reachable.h>

/* The engine that routes. Written by failback.c alone. */
struct pm_failback {
	uint32_t first_ms, longest_ms; /* holds */
	uint32_t hold_ms;	       /* the last one, 0: none, or forgotten */
	bool failed_over;	       /* the next engine routes */
	bool well;		       /* it does, but three quarters are served again */
	uint64_t since_ms;	       /* well, or else in our hands */
	uint64_t usual;		       /* pairs joined at most, in our hands */
	bool blurred;		       /* far fewer were joined, too few served .. */
	uint64_t blurred_ms;	       /* .. and since when */
};

/* In our hands. longest_ms is not below first_ms, that not 0. */
void pm_failback_init(struct pm_failback *failback, uint32_t first_ms,
		      uint32_t longest_ms);

/*
 * Decides, for each routing run: failback->failed_over says whether to leave it to the
 * next engine. now_ms is that of a clock that never goes backward. Returns the ms until
 * the fabric changes hands if nothing happens, for which a run must be asked for then, or
 * UINT64_MAX. To be called only while there is an engine to fail over to. O(1).
 */
uint64_t pm_failback_observe(struct pm_failback *failback,
			     const struct pm_reachable *reachable, uint64_t now_ms);

/* Ends a hold: the next pm_failback_observe takes a fabric that is well served back. */
void pm_failback_clear(struct pm_failback *failback);

#endif
