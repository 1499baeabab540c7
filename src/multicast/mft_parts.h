/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The content of struct pm_mfts, for the folder's own use; see mft.c. */
#ifndef PORTMAJOR_MFT_PARTS_H
#define PORTMAJOR_MFT_PARTS_H

#include <portmajor/multicast/mft.h>

#include <stddef.h>

#define ENTRY_NONE 0u
#define ENTRY_UNKNOWN UINT32_MAX

/* The masks of a block and position. */
struct masks {
	uint16_t mask[PM_MFT_BLOCK];
};

struct pm_mfts {
	uint32_t num_switches, num_blocks;
	uint32_t *first; /* [switch + 1] first cell of the switch in a row */
	uint32_t *cells; /* [block][first[num_switches]] index of masks + 1, or one of the
			    above */
	struct masks *masks;
	uint32_t num_masks, cells_room, masks_room;
};

/* The cell of a block below num_blocks. */
static inline uint32_t *mft_cell(const struct pm_mfts *mfts, uint32_t sw, uint32_t block,
				 uint32_t position)
{
	return &mfts->cells[(size_t)block * mfts->first[mfts->num_switches] +
			    mfts->first[sw] + position];
}

/* The cell of any block; above the last block: ENTRY_NONE. */
static inline uint32_t mft_read_cell(const struct pm_mfts *mfts, uint32_t sw,
				     uint32_t block, uint32_t position)
{
	return block < mfts->num_blocks ? *mft_cell(mfts, sw, block, position)
					: ENTRY_NONE;
}

/* The masks of a cell. */
const struct masks *mft_masks(const struct pm_mfts *mfts, uint32_t cell);

/* Makes room for this many blocks, and for `more` more cells with masks. -ENOMEM. */
int mft_reserve(struct pm_mfts *mfts, uint32_t blocks, uint32_t more);

/* Adds a port to the mask of the MLID PM_MLID_FIRST + index. Room has been reserved. */
void mft_add_port(struct pm_mfts *mfts, uint32_t sw, uint32_t index, unsigned int port);

#endif
