/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of LFT blocks after a failure. Two constraints come first, so that nothing
 * loops meanwhile:
 *
 *   turns     where a switch's entry for a LID turns from down to up, that switch waits
 *             for every switch above that may still send this LID down to it. So no
 *             packet goes down and then up that did not before: there is neither a loop
 *             nor a credit loop. An unknown entry may have led down
 *   detours   lead in any direction. So where a LID has one, a switch waits for the next
 *             switch with a changed entry on the new path
 *
 * Otherwise the blocks that most paths between hosts need go first, and those that none
 * needs last. Hosts are all end ports but aggregation nodes, so service hosts and the
 * subnet manager's too.
 */
#ifndef PORTMAJOR_ORDER_H
#define PORTMAJOR_ORDER_H

#include <portmajor/route/route.h>

/* A block to be sent. */
struct pm_order_block {
	uint32_t sw, number;
	uint64_t differ; /* bit i: the entry of LID 64 x number + i changes */
	uint64_t turn;	 /* of these: the entry will lead up, and led down, or may have */
	uint64_t detour; /* of these: the old or new path, here or elsewhere, is not
			    up-then-down */
	uint64_t blank;	 /* of these: the old path is unknown, and the new one leads
			    nowhere */
	uint64_t sound;	 /* of these: the installed port still leads to the LID's place */
	uint64_t paths;	 /* between hosts that these entries, but sound ones, restore */
	uint8_t level;	 /* of the switch */
};

/*
 * Compares 64 entries of a switch, 0 for unknown ones, with its table of the last update.
 * False: equal. Else fills all of `block` but `paths`.
 */
bool pm_order_compare(const struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *installed, struct pm_order_block *block);

/* Blocks that wait for others; all zero: no block waits. The caller frees it. */
struct pm_order_waits {
	uint32_t *first;  /* [num + 1] block i waits for before[first[i]] .. */
	uint32_t *before; /* .. to before[first[i + 1] - 1] */
	uint32_t forced;  /* cycles that were broken, see pm_order_sort */
};

/*
 * Sorts blocks by the two constraints, then by restored paths between hosts, most first;
 * then by level, highest first, switch and number. Paths are counted by the tables of the
 * last update, which was for usable[port]: those over a block's new entries for hosts,
 * without sound entries (those that still lead to the LID's place). Of a LID with a sound
 * entry in some block, each other entry counts as at least one path, as packets may still
 * come over the sound one.
 *
 * Cycles of constraints are broken and counted; early repair then sends the blocks that
 * could loop in steps (steps.h). -ENOMEM: the order is arbitrary. Cost: of each
 * changed entry O(1) on leaves; of each block above O(ports of the switches below that
 * send to its LIDs); of each entry that turns O(ports of the switch).
 */
int pm_order_sort(const struct pm_routes *routes, const uint8_t *usable,
		  struct pm_order_block *blocks, uint32_t num,
		  struct pm_order_waits *waits);

/*
 * Of sorted blocks: the number of those up to and including the last one that restores a
 * path between hosts. When the switches have these, all hosts' traffic has paths again,
 * where the new tables have one.
 */
uint32_t pm_order_restoring(const struct pm_order_block *blocks, uint32_t num);

/*
 * Adds the LIDs that hosts send through each switch, by the tables of the last update:
 * used[switch x blocks + block]. O(LIDs x (switches with hosts + path length)).
 */
void pm_order_find_used(const struct pm_routes *routes, uint64_t *used);

/*
 * The number of pm_order_restoring without sorting all blocks, which get an arbitrary
 * order and arbitrary numbers of paths; used[] is of the tables before. -ENOMEM. Cost: a
 * small part of that of pm_order_sort.
 */
int pm_order_count_restoring(const struct pm_routes *routes, const uint8_t *usable,
			     const uint64_t *used, struct pm_order_block *blocks,
			     uint32_t num, uint32_t *restoring);

/* Whether a block waits for one that is marked in missing[block]. */
bool pm_order_is_behind(const struct pm_order_waits *waits, uint32_t block,
			const uint8_t *missing);

/*
 * Whether a block must not be sent yet: a block that it waits for, and that the order has
 * before it, is not marked in over[block].
 */
bool pm_order_is_early(const struct pm_order_waits *waits, uint32_t block,
		       const uint8_t *over);

void pm_order_free(struct pm_order_waits *waits);

#endif
