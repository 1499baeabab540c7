/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts and applies the LFT blocks in which two tables differ. */
#include <portmajor/route/delta.h>

#include <string.h>

/* Counts entries of a block that differ; compilers make vector code of this loop. */
static uint32_t count_entries(const uint8_t *installed, const uint8_t *wanted)
{
	uint8_t count = 0;

	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		count = (uint8_t)(count + ((wanted[i] != PM_LFT_KEEP) &
					   (wanted[i] != installed[i])));
	return count;
}

void pm_delta_add(struct pm_delta *delta, const uint8_t *installed, const uint8_t *wanted,
		  uint32_t length)
{
	uint64_t blocks = 0, entries = 0;

	for (uint32_t at = 0; at < length; at += PM_LFT_BLOCK) {
		uint32_t count = count_entries(installed + at, wanted + at);

		blocks += count != 0;
		entries += count;
	}
	delta->blocks += blocks;
	delta->entries += entries;
	delta->least += (entries + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
	delta->switches += blocks != 0;
}

/* Applies a block; `result` is a third array, so that this becomes vector code, too. */
static void apply_block(uint8_t *result, const uint8_t *installed, const uint8_t *wanted)
{
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++) {
		uint8_t before = installed[i], after = wanted[i];

		result[i] = after == PM_LFT_KEEP ? before : after;
	}
}

void pm_delta_apply(uint8_t *result, const uint8_t *installed, const uint8_t *wanted,
		    uint32_t length)
{
	uint8_t block[PM_LFT_BLOCK];

	for (uint32_t at = 0; at < length; at += PM_LFT_BLOCK) {
		apply_block(block, installed + at, wanted + at);
		memcpy(result + at, block, PM_LFT_BLOCK);
	}
}
