/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sparse store of multicast tables. Each block has a row with one cell per position of
 * each switch. A cell has the index of its 32 masks, ENTRY_NONE without entries, or
 * ENTRY_UNKNOWN. Rows are in the order of blocks, so that tables grow at their end.
 */
#include "mft_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>

static const struct masks empty, unknown = {{
					 [0 ... PM_MFT_BLOCK - 1] = 0xffff,
				 }};

/* ---- Life ---- */

struct pm_mfts *pm_mfts_new(const struct pm_fabric *topology)
{
	struct pm_mfts *mfts = pm_array(1, sizeof(*mfts));
	uint32_t num = topology->num_switches;

	if (!mfts)
		return NULL;
	mfts->num_switches = num;
	mfts->first = pm_array(num + 1, sizeof(*mfts->first));
	if (!mfts->first) {
		free(mfts);
		return NULL;
	}
	for (uint32_t sw = 0; sw < num; sw++)
		mfts->first[sw + 1] = mfts->first[sw] +
				      topology->nodes[sw].num_ports / PM_MFT_POSITION + 1;
	return mfts;
}

struct pm_mfts *pm_mfts_clone(const struct pm_mfts *mfts)
{
	struct pm_mfts *copy = pm_array(1, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *mfts;
	copy->cells_room = mfts->num_blocks * mfts->first[mfts->num_switches];
	copy->masks_room = mfts->num_masks;
	copy->first = pm_copy(mfts->first, mfts->num_switches + 1, sizeof(*copy->first));
	copy->cells = pm_copy(mfts->cells, copy->cells_room, sizeof(*copy->cells));
	copy->masks = pm_copy(mfts->masks, mfts->num_masks, sizeof(*copy->masks));
	if (copy->first && copy->cells && copy->masks)
		return copy;
	pm_mfts_free(copy);
	return NULL;
}

void pm_mfts_free(struct pm_mfts *mfts)
{
	if (!mfts)
		return;
	free(mfts->first);
	free(mfts->cells);
	free(mfts->masks);
	free(mfts);
}

/* ---- Reading ---- */

uint32_t pm_mfts_num_switches(const struct pm_mfts *mfts)
{
	return mfts->num_switches;
}

uint32_t pm_mfts_num_blocks(const struct pm_mfts *mfts)
{
	return mfts->num_blocks;
}

uint32_t pm_mfts_num_positions(const struct pm_mfts *mfts, uint32_t sw)
{
	return mfts->first[sw + 1] - mfts->first[sw];
}

const struct masks *mft_masks(const struct pm_mfts *mfts, uint32_t cell)
{
	if (cell == ENTRY_NONE)
		return &empty;
	return cell == ENTRY_UNKNOWN ? &unknown : &mfts->masks[cell - 1];
}

const uint16_t *pm_mfts_block(const struct pm_mfts *mfts, uint32_t sw, uint32_t block,
			      uint32_t position)
{
	return mft_masks(mfts, mft_read_cell(mfts, sw, block, position))->mask;
}

uint16_t pm_mfts_mask(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid,
		      uint32_t position)
{
	uint32_t index = mlid - PM_MLID_FIRST;

	return pm_mfts_block(mfts, sw, index / PM_MFT_BLOCK,
			     position)[index % PM_MFT_BLOCK];
}

bool pm_mfts_has_port(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid,
		      unsigned int port)
{
	return pm_mfts_mask(mfts, sw, mlid, port / PM_MFT_POSITION) >>
		       (port % PM_MFT_POSITION) &
	       1;
}

bool pm_mfts_has_entries(const struct pm_mfts *mfts, uint32_t sw, uint32_t block)
{
	for (uint32_t p = 0; p < pm_mfts_num_positions(mfts, sw); p++)
		if (mft_read_cell(mfts, sw, block, p) != ENTRY_NONE)
			return true;
	return false;
}

bool pm_mfts_is_known(const struct pm_mfts *mfts, uint32_t sw, uint32_t block,
		      uint32_t position)
{
	return mft_read_cell(mfts, sw, block, position) != ENTRY_UNKNOWN;
}

/* ---- Writing ---- */

int mft_reserve(struct pm_mfts *mfts, uint32_t blocks, uint32_t more)
{
	uint32_t width = mfts->first[mfts->num_switches];

	if (more > UINT32_MAX - 1 - mfts->num_masks ||
	    pm_grow(&mfts->masks, &mfts->masks_room, mfts->num_masks + more,
		    sizeof(*mfts->masks)))
		return -ENOMEM;
	if (blocks <= mfts->num_blocks)
		return 0;
	if (pm_grow(&mfts->cells, &mfts->cells_room, blocks * width,
		    sizeof(*mfts->cells)))
		return -ENOMEM;
	memset(mfts->cells + (size_t)mfts->num_blocks * width, 0,
	       (size_t)(blocks - mfts->num_blocks) * width * sizeof(*mfts->cells));
	mfts->num_blocks = blocks;
	return 0;
}

/* The masks of a cell, for writing; room has been reserved. */
static struct masks *take_masks(struct pm_mfts *mfts, uint32_t *cell)
{
	if (*cell == ENTRY_NONE || *cell == ENTRY_UNKNOWN) {
		mfts->masks[mfts->num_masks] = empty;
		*cell = ++mfts->num_masks;
	}
	return &mfts->masks[*cell - 1];
}

void mft_add_port(struct pm_mfts *mfts, uint32_t sw, uint32_t index, unsigned int port)
{
	uint32_t *cell = mft_cell(mfts, sw, index / PM_MFT_BLOCK, port / PM_MFT_POSITION);
	uint16_t *mask = &take_masks(mfts, cell)->mask[index % PM_MFT_BLOCK];

	*mask = (uint16_t)(*mask | 1u << port % PM_MFT_POSITION);
}

int pm_mfts_set_block(struct pm_mfts *mfts, uint32_t sw, uint32_t block,
		      uint32_t position, const uint16_t masks[PM_MFT_BLOCK])
{
	struct masks copy;
	uint32_t *cell;

	memcpy(copy.mask, masks, sizeof(copy)); /* masks may be in these tables */
	if (mft_reserve(mfts, block + 1, 1))
		return -ENOMEM;
	cell = mft_cell(mfts, sw, block, position);
	if (!memcmp(&copy, &empty, sizeof(copy)) &&
	    (*cell == ENTRY_NONE || *cell == ENTRY_UNKNOWN))
		*cell = ENTRY_NONE;
	else
		*take_masks(mfts, cell) = copy;
	return 0;
}

int pm_mfts_set_mask(struct pm_mfts *mfts, uint32_t sw, uint16_t mlid, uint32_t position,
		     uint16_t mask)
{
	uint32_t index = mlid - (uint32_t)PM_MLID_FIRST;

	if (mft_reserve(mfts, index / PM_MFT_BLOCK + 1, 1))
		return -ENOMEM;
	take_masks(mfts, mft_cell(mfts, sw, index / PM_MFT_BLOCK, position))
		->mask[index % PM_MFT_BLOCK] = mask;
	return 0;
}

void pm_mfts_clear(struct pm_mfts *mfts, uint32_t sw)
{
	for (uint32_t block = 0; block < mfts->num_blocks; block++)
		for (uint32_t i = 0; i < pm_mfts_num_positions(mfts, sw); i++) {
			uint32_t *cell = mft_cell(mfts, sw, block, i);

			if (*cell == ENTRY_UNKNOWN)
				*cell = ENTRY_NONE;
			if (*cell != ENTRY_NONE)
				mfts->masks[*cell - 1] = empty;
		}
}

int pm_mfts_forget(struct pm_mfts *mfts, uint32_t sw, uint32_t blocks)
{
	if (mft_reserve(mfts, blocks, 0))
		return -ENOMEM;
	/* The former masks stay unused; this is rare. */
	for (uint32_t block = 0; block < blocks; block++)
		for (uint32_t i = 0; i < pm_mfts_num_positions(mfts, sw); i++)
			*mft_cell(mfts, sw, block, i) = ENTRY_UNKNOWN;
	return 0;
}

void pm_mfts_forget_block(struct pm_mfts *mfts, uint32_t sw, uint32_t block,
			  uint32_t position)
{
	if (block < mfts->num_blocks)
		*mft_cell(mfts, sw, block, position) = ENTRY_UNKNOWN;
}

/* ---- Another skeleton ---- */

/* Copies a switch's entries. Room has been reserved. */
static void move_switch(const struct pm_mfts *mfts, uint32_t from, struct pm_mfts *moved,
			uint32_t to)
{
	for (uint32_t block = 0; block < mfts->num_blocks; block++)
		for (uint32_t p = 0; p < pm_mfts_num_positions(mfts, from); p++) {
			uint32_t old = *mft_cell(mfts, from, block, p);
			uint32_t *cell = mft_cell(moved, to, block, p);

			if (old == ENTRY_NONE || old == ENTRY_UNKNOWN)
				*cell = old;
			else
				*take_masks(moved, cell) = *mft_masks(mfts, old);
		}
}

int pm_mfts_move(const struct pm_mfts *mfts, const struct pm_fabric *from,
		 const struct pm_fabric *to, struct pm_mfts **moved)
{
	struct pm_mfts *made = pm_mfts_new(to);

	if (!made || mft_reserve(made, mfts->num_blocks, mfts->num_masks)) {
		pm_mfts_free(made);
		return -ENOMEM;
	}
	for (uint32_t sw = 0; sw < to->num_switches; sw++) {
		uint32_t old = pm_fabric_find_guid(from, to->nodes[sw].guid);

		if (old != PM_NONE && old < from->num_switches &&
		    from->nodes[old].num_ports == to->nodes[sw].num_ports)
			move_switch(mfts, old, made, sw);
	}
	*moved = made;
	return 0;
}

/* ---- Delta ---- */

static uint32_t count_entries(const struct masks *a, const struct masks *b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
		count += a->mask[i] != b->mask[i];
	return count;
}

static int add_cell(struct pm_mft_delta *delta, struct pm_mft_cell cell)
{
	if (pm_grow(&delta->cells, &delta->room, delta->num + 1, sizeof(cell)))
		return -ENOMEM;
	delta->cells[delta->num++] = cell;
	return 0;
}

static int compare_switch(const struct pm_mfts *installed, const struct pm_mfts *wanted,
			  uint32_t sw, uint32_t block, struct pm_mft_delta *delta)
{
	for (uint32_t p = 0; p < pm_mfts_num_positions(installed, sw); p++) {
		uint32_t old = mft_read_cell(installed, sw, block, p);
		uint32_t new = mft_read_cell(wanted, sw, block, p);
		uint32_t count;

		if (old == ENTRY_NONE && new == ENTRY_NONE)
			continue;
		count = count_entries(mft_masks(installed, old), mft_masks(wanted, new));
		delta->entries += count;
		if ((count || old == ENTRY_UNKNOWN) &&
		    add_cell(delta,
			     (struct pm_mft_cell){sw, (uint16_t)block, (uint8_t)p}))
			return -ENOMEM;
	}
	return 0;
}

int pm_mft_delta_find(const struct pm_mfts *installed, const struct pm_mfts *wanted,
		      uint32_t first, uint32_t end, const uint8_t *reachable,
		      struct pm_mft_delta *delta)
{
	uint32_t most = installed->num_blocks > wanted->num_blocks ? installed->num_blocks
								   : wanted->num_blocks;

	delta->num = 0;
	delta->entries = 0;
	for (uint32_t block = first; block < end && block < most; block++)
		for (uint32_t sw = 0; sw < installed->num_switches; sw++)
			if ((!reachable || reachable[sw]) &&
			    compare_switch(installed, wanted, sw, block, delta))
				return -ENOMEM;
	return 0;
}

static int list_unknown(const struct pm_mfts *installed, uint32_t sw, uint32_t block,
			struct pm_mft_delta *delta)
{
	for (uint32_t p = 0; p < pm_mfts_num_positions(installed, sw); p++)
		if (*mft_cell(installed, sw, block, p) == ENTRY_UNKNOWN &&
		    add_cell(delta,
			     (struct pm_mft_cell){sw, (uint16_t)block, (uint8_t)p}))
			return -ENOMEM;
	return 0;
}

int pm_mft_unknown_find(const struct pm_mfts *installed, uint32_t first, uint32_t end,
			const uint8_t *reachable, struct pm_mft_delta *delta)
{
	delta->num = 0;
	delta->entries = 0;
	for (uint32_t block = first; block < end && block < installed->num_blocks;
	     block++)
		for (uint32_t sw = 0; sw < installed->num_switches; sw++)
			if ((!reachable || reachable[sw]) &&
			    list_unknown(installed, sw, block, delta))
				return -ENOMEM;
	return 0;
}

void pm_mft_delta_free(struct pm_mft_delta *delta)
{
	free(delta->cells);
	*delta = (struct pm_mft_delta){0};
}
