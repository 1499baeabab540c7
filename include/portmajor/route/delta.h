/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What has to be sent: the LFT blocks in which a table that a switch should
 * have differs from the one that it holds, each of them one
 * SubnSet(LinearForwardingTable) MAD.
 *
 * Tables are arrays of `length` bytes, a multiple of 64, one port number per
 * LID. PM_LFT_KEEP in a wanted table goes with anything held.
 */
#ifndef PORTMAJOR_DELTA_H
#define PORTMAJOR_DELTA_H

#include <portmajor/route/route.h>

struct pm_delta {
	uint64_t blocks;   /* that differ */
	uint64_t entries;  /* that differ */
	uint64_t bound;	   /* sum over switches of ceil(entries / 64): fewer blocks
			    * cannot do, however the LIDs were given */
	uint64_t switches; /* with at least one block that differs */
};

/* Adds one switch's differences to delta. O(length). */
void pm_delta_add(struct pm_delta *delta, const uint8_t *held, const uint8_t *wanted,
		  uint32_t length);

/*
 * Writes into result (which may be held) what the switch holds after the
 * update: wanted, except where that says PM_LFT_KEEP.
 */
void pm_delta_apply(uint8_t *result, const uint8_t *held, const uint8_t *wanted,
		    uint32_t length);

#endif
