/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Linear forwarding tables (LFTs): which port a switch forwards each unicast LID to. */
#ifndef PORTMAJOR_LFT_H
#define PORTMAJOR_LFT_H

#include <stdint.h>

#define PM_LFT_BLOCK 64	  /* LIDs per block, which one MAD carries */
#define PM_LFT_KEEP 255	  /* no port: the switch drops packets to the LID */
#define PM_MAX_LID 0xbfff /* the highest unicast LID */

/* The present table of a switch. */
struct pm_installed {
	const uint8_t *table; /* [length], by LID; NULL: not known */
	uint32_t length;
};

/* The table's entry for a LID; PM_LFT_KEEP: not known. */
static inline uint8_t pm_installed_entry(const struct pm_installed *installed,
					 uint32_t lid)
{
	return installed->table && lid < installed->length ? installed->table[lid]
							   : PM_LFT_KEEP;
}

#endif
