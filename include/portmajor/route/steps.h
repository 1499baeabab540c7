/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from the switches' tables to the wanted ones, without loops meanwhile, whichever
 * blocks of a step arrive first.
 *
 * For most LIDs the graph of old and new entries together has no cycle: their blocks may
 * be sent in any order. For the others, an entry is sent when the next entries on its
 * packets' path have been acknowledged: a packet that meets a new entry then meets only
 * new ones, and a packet that meets none takes its old path. Where blocks would wait for
 * each other, their entries for such LIDs are first set to drop (PM_LFT_KEEP), and to the
 * wanted port in the next step: at most two Sets for a block.
 */
#ifndef PORTMAJOR_STEPS_H
#define PORTMAJOR_STEPS_H

#include <portmajor/route/stale.h>

/* A Set of a block. */
struct pm_steps_set {
	uint32_t sw, number, step;
	uint8_t entries[PM_LFT_BLOCK];
};

/* All zero at first. */
struct pm_steps {
	struct pm_steps_set *sets; /* by step */
	uint32_t num, room;
	uint32_t steps; /* each begins when the one before is acknowledged */
	uint32_t lids;	/* that could loop */
	uint32_t twice; /* blocks sent twice */
};

/*
 * Replaces *steps by the blocks that need an order. All other blocks may be sent at any
 * time. A switch with an unknown table has no blocks here: its table is written whole.
 * -ENOMEM. Cost: comparing the tables; for each LID with a changed entry, O(switches on
 * its packets' paths from there); of those that could loop, O(blocks log blocks).
 */
int pm_steps_make(const struct pm_stale_input *input, const struct pm_stale *stale,
		  struct pm_steps *steps);
void pm_steps_free(struct pm_steps *steps);

#endif
