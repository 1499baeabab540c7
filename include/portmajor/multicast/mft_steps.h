/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from the switches' multicast tables to the wanted ones, so that no packet loops
 * or arrives twice meanwhile, whichever Sets of a step arrive first.
 *
 * A switch relays a packet to all ports of its mask but the one it came by. Switches that
 * are in both the old and the new tree of a group connect the trees, so packets can loop:
 *
 * 	     A       B         old tree: root A. New tree: root B. If leaf0 and leaf1 have
 * 	    / \     / \        both uplinks in their masks, A-leaf0-B-leaf1-A is a loop.
 * 	   |   \   /   |       Step 0 clears A; a packet that comes there is dropped.
 * 	   |    \ /    |       Step 1 sets B and, in any order, the leaves, each in one
 * 	 leaf0   X   leaf1     Set if both uplinks are in one position.
 *
 * So entries that only lose ports go first (step 0), and those that gain ports follow
 * (step 1). Where a switch would still connect both trees, step 0 reduces its entry to
 * the ports that the old and the new entry share. Groups need no order if their old and
 * new entries together have no loop.
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
	const struct pm_mfts *installed;  /* in the switches */
	const struct pm_mfts *wanted;	  /* by pm_multicast_route */
	/* [port] Whether the link passes packets, used by trees or not; NULL: all do. */
	const uint8_t *up;
	/*
	 * [switch] Whether Sets reach it; NULL: all. The others get no Set, and none of
	 * their links may be up.
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
	uint32_t cells;	  /* (switch, block, position) that differ; some of them take two
			     Sets */
	uint32_t ordered; /* groups that need an order */
	uint32_t cleared; /* of these: groups with such reduced entries */
	/*
	 * The most Sets of a block with such a group, which may lose packets from the
	 * first of them to the last. All other groups lose none.
	 */
	uint32_t longest;
};

/*
 * Replaces *steps by the Sets from installed to wanted. Each group's wanted entries must
 * be a tree. If the installed entries are no tree (unknown, or old ones of a returned
 * switch), packets may loop until step 0 is over. -ENOMEM. Cost: O(switches x positions)
 * for each block, and for each group that gains and loses ports O(ports in its masks).
 */
int pm_mft_steps_find(const struct pm_mft_input *input, struct pm_mft_steps *steps);
void pm_mft_steps_free(struct pm_mft_steps *steps);

#endif
