/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How two sets of tables differ. */
#ifndef PORTMAJOR_LFT_DIFF_H
#define PORTMAJOR_LFT_DIFF_H

#include <portmajor/route/lfts.h>

/* What differs between two sets of tables. */
struct pm_lft_diff {
	uint32_t switches_gone, switches_new; /* without the other's tables */
	uint32_t switches;		      /* in both, with differences */
	uint64_t entries, blocks;	      /* of these */
	uint64_t bound;			      /* sum over these of ceil(entries / 64) */
	uint64_t whole;			      /* blocks of the new switches' tables */
	uint32_t lids_moved;		      /* LIDs with another owner */
	uint32_t lids_gone, lids_new;	      /* with an owner on one side only */
};

/* Of one switch. */
struct pm_lft_change {
	uint32_t entries, blocks;
};

/*
 * Compares tables; LIDs only if owners are known on both sides. Entries that the new one
 * does not have differ from those that the old one has, unless `keep`. O(entries).
 */
struct pm_lft_change pm_lft_compare(const struct pm_lft_switch *before,
				    const struct pm_lft_switch *after, bool keep);
struct pm_lft_diff pm_lfts_compare(const struct pm_lfts *before,
				   const struct pm_lfts *after, bool keep);

/* A port whose LIDs are not the same. */
struct pm_lft_move {
	uint64_t guid;
	uint16_t before, after; /* lowest LIDs; 0: none */
};

/*
 * Ports that have another lowest LID, or one only before or only after, by GUID; those
 * without a known owner do not count. The caller frees *moves. -ENOMEM.
 */
int pm_lfts_moves(const struct pm_lfts *before, const struct pm_lfts *after,
		  struct pm_lft_move **moves, uint32_t *num_moves, struct pm_error *err);

#endif
