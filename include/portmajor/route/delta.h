/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares a switch's table with the wanted one: each LFT block that differs takes one
 * SubnSet(LinearForwardingTable) MAD.
 *
 * Tables are arrays of `length` bytes, a multiple of 64, one port number per LID.
 * PM_LFT_KEEP in a wanted table matches any installed entry.
 */
#ifndef PORTMAJOR_DELTA_H
#define PORTMAJOR_DELTA_H

#include <portmajor/route/route.h>

struct pm_delta {
	uint64_t blocks;   /* that differ */
	uint64_t entries;  /* that differ */
	uint64_t least;	   /* blocks that could hold these entries: sum over switches of
			      ceil(entries / 64) */
	uint64_t switches; /* with at least one block that differs */
};

/* Adds one switch's differences to delta. O(length). */
void pm_delta_add(struct pm_delta *delta, const uint8_t *installed, const uint8_t *wanted,
		  uint32_t length);

/*
 * Writes the switch's table after the update into `result`, which may be `installed`: the
 * wanted entry, or the installed one where the wanted one is PM_LFT_KEEP.
 */
void pm_delta_apply(uint8_t *result, const uint8_t *installed, const uint8_t *wanted,
		    uint32_t length);

#endif
