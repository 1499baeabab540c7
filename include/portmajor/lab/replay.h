/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An LFT trace for the packet engine: its Sets, and the links that return, on the clock
 * of a run (tables and LIDs: lft_trace.h).
 */
#ifndef PORTMAJOR_REPLAY_H
#define PORTMAJOR_REPLAY_H

#include <portmajor/lab/lft_trace.h>
#include <portmajor/lab/packet.h>

struct pm_replay_config {
	uint64_t tick;	  /* femtoseconds, 1 to 10^9 */
	uint32_t fail_at; /* tick of the failure; 0: not after the beginning */
	uint64_t before;  /* ns from the failure to tick 0, if it is before the run */
	uint32_t end;	  /* of the run; at most PM_PACKET_MAX_TICKS */
};

struct pm_replay {
	struct pm_packet_set *list; /* by time */
	uint32_t num;
	uint32_t late; /* Sets at the end of the run or later, not in the list */
	uint64_t last; /* ns from the failure to the last of these */
	struct pm_packet_return *returns; /* by time, those in the run */
	uint32_t num_returns;
};

/*
 * Puts each Set at the tick nearest to its arrival, several at one tick in the order of
 * sending. Sets from before the run are at tick 0; those that never arrived are left out.
 * Links return one tick after the failure or later. The caller frees replay->list and
 * replay->returns with free(). Cost: O(Sets x log Sets).
 */
void pm_replay_make(const struct pm_lft_trace *trace,
		    const struct pm_replay_config *config, struct pm_replay *replay);

#endif
