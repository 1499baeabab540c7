/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from the switches' multicast tables to the wanted ones, so that no packet loops
 * or arrives twice meanwhile, whichever Sets of a step arrive first.
 *
 * A switch relays a packet to all ports of its mask but the one it came by. A switch in
 * both the old and the new tree of a group connects them, and packets loop:
 *
 * 	     A       B         old tree: root A. New tree: root B. If leaf0 and leaf1 have
 * 	    / \     / \        both uplinks in their masks, A-leaf0-B-leaf1-A is a loop.
 * 	   |   \   /   |       Step 0 clears A; a packet that comes there is dropped.
 * 	   |    \ /    |       Step 1 sets B and, in any order, the leaves, each in one
 * 	 leaf0   X   leaf1     Set if both uplinks are in one position.
 *
 * So entries that only lose ports go first (step 0), those that gain ports follow (step
 * 1), and where a switch would still connect both trees, step 0 leaves it the ports of
 * both entries. Groups need no order if their old and new entries together have no loop.
 *
 * Steps are per block of 32 MLIDs: a Set of step 1 waits for the answers to all Sets of
 * step 0 of its block, and for no other block.
 */
#ifndef PORTMAJOR_MFT_STEPS_H
#define PORTMAJOR_MFT_STEPS_H

#include <portmajor/multicast/mft.h>

/* All of it borrowed. */
struct pm_mft_input {
	const struct pm_fabric *topology; /* of both tables */
	const struct pm_mfts *held;	  /* in the switches */
	const struct pm_mfts *wanted;	  /* by pm_multicast_route */
	/* [port] The link passes packets, used by trees or not; NULL: all do. */
	const uint8_t *up;
	/*
	 * [switch] In reach of Sets; NULL: all. Others get no Set, and none of their
	 * links may be up.
	 */
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
	uint32_t places;  /* that differ: num minus those with two Sets */
	uint32_t ordered; /* groups that need an order */
	uint32_t cleared; /* of these: groups with entries that keep the ports of both */
	/*
	 * The most Sets of a block with such a group, which may lose packets from the
	 * first of them to the last. All other groups lose none.
	 */
	uint32_t longest;
};

/*
 * Finds the Sets, in place of earlier ones. Each group's wanted entries are a tree. If
 * the held entries are none (unknown, or old ones of a returned switch), packets may loop
 * until step 0 is over. -ENOMEM. Cost: O(switches x positions) for each block, and for
 * each group that gains and loses ports O(ports in its masks).
 */
int pm_mft_steps_find(const struct pm_mft_input *input, struct pm_mft_steps *steps);
void pm_mft_steps_free(struct pm_mft_steps *steps);

#endif
