/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In which order LFT blocks are sent after a loss: those first that most paths between
 * hosts wait for, so that what is cut off comes back soonest.
 */
#ifndef PORTMAJOR_ORDER_H
#define PORTMAJOR_ORDER_H

#include <portmajor/route/route.h>

/* A block that a switch is to get. */
struct pm_order_block {
	uint32_t sw, number;
	uint64_t differ; /* bit i: the entry of LID 64 x number + i will be another one */
	uint64_t turn;	 /* of these: it led down, or may have, and will lead up */
	uint64_t detour; /* of these: it was or will be by no up-then-down path; then of
			  * LIDs for which any is */
	uint64_t blank;	 /* it may have led anywhere, and will lead nowhere */
	uint64_t paths;	 /* that come by over these */
	uint8_t level;	 /* of the switch */
};

/*
 * Compares what a switch holds, 64 entries, with its table of the last update. An entry
 * that is not known is 0. False: it is what it should be. Else `block` has all but
 * `paths`.
 */
bool pm_order_compare(const struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *held, struct pm_order_block *block);

/* Which blocks wait for others; all zero if none does. To be freed. */
struct pm_order_waits {
	uint32_t *first;  /* [num + 1] for block i those from before[first[i]] .. */
	uint32_t *before; /* .. to before[first[i + 1] - 1] are to be there */
	uint32_t forced;  /* how often that could not be had, see pm_order_sort */
};

/*
 * Counts the paths from hosts to LIDs of others that come by over each block's new
 * entries, with the tables of the last update, which was for alive[port], and sorts by
 * that; the same number: by level, highest first, switch and block.
 * But where an entry turns from down to up, a switch that may still send down to that one
 * gets its block before. So no packet on the way there goes down and then up that did not
 * before: there is neither a loop nor a credit loop. And where some entries of a LID are
 * detours, which may lead in any direction, the next switch that its packets meet and
 * whose entry changes, too, gets its block before. Neither can be had where two
 * blocks would each have to go before the other. -ENOMEM, and the order is some other
 * one. Cost: of each entry that differs O(1) on leaves, above O(ports of the switches
 * below that send to it); of each that turns O(ports of the switch).
 */
int pm_order_sort(const struct pm_routes *routes, const uint8_t *alive,
		  struct pm_order_block *blocks, uint32_t num,
		  struct pm_order_waits *waits);

/* Whether a block waits for one that is marked in missing[block]. */
bool pm_order_is_behind(const struct pm_order_waits *waits, uint32_t block,
			const uint8_t *missing);

/*
 * Whether a block is not to be sent yet: one that goes before it, and could be placed
 * before it, is not marked in over[block].
 */
bool pm_order_is_early(const struct pm_order_waits *waits, uint32_t block,
		       const uint8_t *over);

void pm_order_free(struct pm_order_waits *waits);

#endif
