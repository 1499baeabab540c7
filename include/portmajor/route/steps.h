/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from the tables that switches hold to those that they are to hold, so that no
 * LID's packets loop meanwhile, whichever blocks of a step arrive first.
 *
 * Most LIDs cannot loop: old and new entries together, as one graph, have no cycle, and
 * their blocks may be sent in any order. For the others, an entry is sent when those that
 * its packets meet next have been answered. Packets that meet a new entry then meet new
 * ones alone, and those that meet old entries alone do what they did before. Where blocks
 * would have to wait for each other, their entries for such LIDs are first set to drop
 * (PM_LFT_KEEP), and to what is wanted in the next step: at most two Sets for a block.
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
	uint32_t steps; /* each begins when the one before has been answered */
	uint32_t lids;	/* that could have looped */
	uint32_t twice; /* blocks that are sent twice */
};

/*
 * Finds the blocks that need an order, and their steps; all others may be sent at any
 * time. Switches whose table is not known have none: they are written whole. What *steps
 * had is forgotten. -ENOMEM.
 * Cost: comparing the tables; for each LID with an entry that changes, O(switches that
 * its packets meet from there); of those that could loop, O(blocks log blocks).
 */
int pm_steps_make(const struct pm_stale_input *input, const struct pm_stale *stale,
		  struct pm_steps *steps);
void pm_steps_free(struct pm_steps *steps);

#endif
