/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast forwarding tables (MFTs) of all switches of a plan.
 *
 * An MFT has an entry for each multicast LID (MLID): the mask of the ports to which a
 * packet is relayed, except the port by which it came. One
 * SubnSet(MulticastForwardingTable) writes 32 MLIDs (a block) for 16 ports (a position):
 *
 * 	            position 0      position 1      position 2
 * 	            ports 0..15     ports 16..31    ports 32..36
 * 	block 0     0xc000..0xc01f  0xc000..0xc01f  0xc000..0xc01f
 * 	block 1     0xc020..0xc03f  ..
 *
 * The structure holds wanted tables, or a record of the switches' tables. Only blocks
 * with an entry take memory. Masks are in host byte order: bit i of position p is port 16
 * p + i.
 */
#ifndef PORTMAJOR_MFT_H
#define PORTMAJOR_MFT_H

#include <portmajor/fabric/fabric.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_MLID_FIRST 0xc000
#define PM_MLID_LAST 0xfffe
#define PM_MLIDS (PM_MLID_LAST - PM_MLID_FIRST + 1)
#define PM_MFT_BLOCK 32	   /* MLIDs of a block */
#define PM_MFT_POSITION 16 /* ports of a position */
#define PM_MFT_BLOCKS ((PM_MLIDS + PM_MFT_BLOCK - 1) / PM_MFT_BLOCK)

struct pm_mfts;

/*
 * Empty tables for the switches of a skeleton, which is not kept. The caller frees them;
 * NULL without memory.
 */
struct pm_mfts *pm_mfts_new(const struct pm_fabric *topology);
struct pm_mfts *pm_mfts_clone(const struct pm_mfts *mfts);
void pm_mfts_free(struct pm_mfts *mfts);

uint32_t pm_mfts_num_switches(const struct pm_mfts *mfts);

/* Blocks below this one may have entries or be unknown. */
uint32_t pm_mfts_num_blocks(const struct pm_mfts *mfts);

/* Positions of a switch: enough for port 0 up to its highest port. */
uint32_t pm_mfts_num_positions(const struct pm_mfts *mfts, uint32_t sw);

/*
 * The 32 masks of a block and position: zeros where there is no entry, all ones where it
 * is unknown (pm_mfts_forget). Valid until the next change of these tables. O(1).
 */
const uint16_t *pm_mfts_block(const struct pm_mfts *mfts, uint32_t sw, uint32_t block,
			      uint32_t position);

uint16_t pm_mfts_mask(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid,
		      uint32_t position);

/* Whether a port, 0 included, is in the mask of an MLID. */
bool pm_mfts_has_port(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid,
		      unsigned int port);

/*
 * False: no mask of a block of a switch has a port. True: some mask may have one.
 * O(positions).
 */
bool pm_mfts_has_entries(const struct pm_mfts *mfts, uint32_t sw, uint32_t block);

bool pm_mfts_is_known(const struct pm_mfts *mfts, uint32_t sw, uint32_t block,
		      uint32_t position);

/* Writes a block and position, which become known. block < PM_MFT_BLOCKS. -ENOMEM. */
int pm_mfts_set_block(struct pm_mfts *mfts, uint32_t sw, uint32_t block,
		      uint32_t position, const uint16_t masks[PM_MFT_BLOCK]);

/* Writes the mask of one MLID; other MLIDs of an unknown block become empty. -ENOMEM. */
int pm_mfts_set_mask(struct pm_mfts *mfts, uint32_t sw, uint16_t mlid, uint32_t position,
		     uint16_t mask);

/*
 * Makes the tables for another skeleton, such as a grown plan's. Switches are found by
 * GUID; new switches, and those with another number of ports, have empty tables. The
 * caller frees *moved. -ENOMEM. O(blocks x switches).
 */
int pm_mfts_move(const struct pm_mfts *mfts, const struct pm_fabric *from,
		 const struct pm_fabric *to, struct pm_mfts **moved);

/* Empties a switch's table, as its boot does. O(blocks). */
void pm_mfts_clear(struct pm_mfts *mfts, uint32_t sw);

/*
 * Makes the first `blocks` blocks of a switch unknown, as when another subnet manager may
 * have written them. An unknown block differs from any other until it is set. -ENOMEM.
 * O(blocks).
 */
int pm_mfts_forget(struct pm_mfts *mfts, uint32_t sw, uint32_t blocks);

/* The same for one block and position, below pm_mfts_num_blocks. */
void pm_mfts_forget_block(struct pm_mfts *mfts, uint32_t sw, uint32_t block,
			  uint32_t position);

/* A block and position of a switch: one Set. */
struct pm_mft_cell {
	uint32_t sw;
	uint16_t block;
	uint8_t position;
};

/* All zero at first. */
struct pm_mft_delta {
	struct pm_mft_cell *cells; /* by block, then switch, then position */
	uint32_t num, room;
	uint64_t entries; /* (switch, MLID) with different masks, by position */
};

/*
 * Replaces *delta by the differences between two sets of tables of a skeleton, in blocks
 * first to end - 1, at switches with reachable[switch] set (NULL: all). -ENOMEM. Cost:
 * O(switches x positions) for each block, and comparing blocks with entries.
 */
int pm_mft_delta_find(const struct pm_mfts *installed, const struct pm_mfts *wanted,
		      uint32_t first, uint32_t end, const uint8_t *reachable,
		      struct pm_mft_delta *delta);
void pm_mft_delta_free(struct pm_mft_delta *delta);

/* Likewise finds the unknown blocks and positions; `entries` is 0. -ENOMEM. */
int pm_mft_unknown_find(const struct pm_mfts *installed, uint32_t first, uint32_t end,
			const uint8_t *reachable, struct pm_mft_delta *delta);

#endif
