/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from the multicast tables that switches hold to those that are wanted, such that
 * no packet loops or arrives twice meanwhile, whichever Sets of a step arrive first.
 *
 * A switch relays a packet to all ports of its mask but the one it came by. A switch
 * that is in the old and in the new tree of a group joins them, and packets go round:
 *
 *	     A       B         old tree: root A. New tree: root B. If leaf0 and leaf1 have
 *	    / \     / \        both uplinks in their masks, A-leaf0-B-leaf1-A is a loop.
 *	   |   \   /   |       Step 0 clears A; a packet that comes there is dropped.
 *	   |    \ /    |       Step 1 sets B and, in any order, the leaves, each in one
 *	 leaf0   X   leaf1     Set if both uplinks are in one position.
 *
 * So entries that only lose ports go first (step 0), those that gain ports follow (step
 *1), and where a switch would still join both trees, its entry keeps in step 0 just the
 * ports that it has in both. Groups whose old and new entries together are no loop need
 *no order.
 *
 * Steps are those of a block of 32 MLIDs: a Set of step 1 waits for the answers to all
 * Sets of step 0 of its own block, and for nothing of other blocks.
 */
#ifndef PORTMAJOR_MFT_STEPS_H
#define PORTMAJOR_MFT_STEPS_H

#include <portmajor/multicast/mft.h>

/* All of it borrowed. */
struct pm_mft_input {
	const struct pm_fabric *known; /* of both tables */
	const struct pm_mfts *held;    /* what switches hold */
	const struct pm_mfts *wanted;  /* by pm_multicast_route */
	/* [port] The link passes packets, whether trees use it or not; NULL: all do. */
	const uint8_t *up;
	/* [switch] It can be sent to; NULL: all can. Others get no Set, and none of their
	 * links may be up. */
	const uint8_t *reachable;
	uint32_t first, end; /* blocks from first up to end, not included */
};

/* A Set of a block and position. */
struct pm_mft_set {
	uint32_t sw;
	uint16_t block;
	uint8_t position;
	uint8_t step; /* 0 or 1, within its block */
	uint16_t masks[PM_MFT_BLOCK];
};

/* All zero at first. */
struct pm_mft_steps {
	/* By block, then step; in a step switches without end ports first, then by switch
	 * and position. */
	struct pm_mft_set *sets;
	uint32_t num, room;
	uint32_t places;  /* that differ: num less those that have two Sets */
	uint32_t ordered; /* groups that need an order */
	uint32_t cleared; /* of these: groups with entries that keep what is in both */
	/* The most Sets of a block with such a group. Packets of a group may be lost from
	 * its first Set to its last, which is not more; of all others, and of groups that
	 * only gain or lose members or links, none is lost. */
	uint32_t longest;
};

/*
 * Finds the Sets. Each group's wanted entries are a tree. Where entries held are none, as
 * they are unknown or a switch comes back with those of before, packets may loop until
 * step 0 is over, and not in step 1. What *steps had is forgotten. -ENOMEM. Cost:
 * O(switches x positions) for each block, and for each group that gains and loses ports
 * O(ports in its masks).
 */
int pm_mft_steps_find(const struct pm_mft_input *input, struct pm_mft_steps *steps);
void pm_mft_steps_free(struct pm_mft_steps *steps);

#endif
