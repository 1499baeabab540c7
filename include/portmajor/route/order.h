/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of LFT blocks after a failure: the blocks that most paths between hosts need
 * go first.
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
	uint64_t paths;	 /* over these entries */
	uint8_t level;	 /* of the switch */
};

/*
 * Compares 64 entries of a switch, 0 for unknown ones, with its table of the last update.
 * False: equal. Else fills all of `block` but `paths`.
 */
bool pm_order_compare(const struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *held, struct pm_order_block *block);

/* Blocks that wait for others; all zero: no block waits. The caller frees it. */
struct pm_order_waits {
	uint32_t *first;  /* [num + 1] block i waits for before[first[i]] .. */
	uint32_t *before; /* .. to before[first[i + 1] - 1] */
	uint32_t forced;  /* cycles that were broken, see pm_order_sort */
};

/*
 * Counts the paths between hosts over each block's new entries, by the tables of the last
 * update, which was for usable[port], and sorts by that number, then by level, highest
 * first, switch and block. Two constraints come first. Where a switch's entry turns from
 * down to up, each switch that may still send down to that switch gets its block earlier.
 * So no packet goes down and then up that did not before, and there is neither a loop nor
 * a credit loop. Where a LID has detours, which may lead in any direction, the next
 * switch with a changed entry on its packets' path gets its block earlier. Cycles of such
 * constraints are broken. -ENOMEM: the order is arbitrary. Cost: of each changed entry
 * O(1) on leaves, above O(ports of the switches below that send to it); of each that
 * turns O(ports of the switch).
 */
int pm_order_sort(const struct pm_routes *routes, const uint8_t *usable,
		  struct pm_order_block *blocks, uint32_t num,
		  struct pm_order_waits *waits);

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
