/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares two sets of tables. */
#ifndef PORTMAJOR_LFT_DIFF_H
#define PORTMAJOR_LFT_DIFF_H

#include <portmajor/route/lfts.h>

struct pm_lft_diff {
	uint32_t switches_gone, switches_new; /* with a table only before, only after */
	uint32_t switches;		      /* with different tables */
	uint64_t entries, blocks;	      /* of these */
	uint64_t least;			      /* sum over these of ceil(entries / 64) */
	uint64_t whole;			      /* blocks of the new switches' tables */
	uint32_t lids_other_owner;	      /* LIDs with another owner */
	uint32_t lids_gone, lids_new;	      /* with an owner on one side only */
};

/* Of one switch. */
struct pm_lft_change {
	uint32_t entries, blocks;
};

/*
 * Both compare tables; pm_lfts_compare also compares the LIDs' owners, if they are known
 * on both sides. An entry that only the old table has counts as different, unless `keep`
 * is set. The LID that dump_fts left out of a table does not count. O(entries).
 */
struct pm_lft_change pm_lft_compare(const struct pm_lft_switch *before,
				    const struct pm_lft_switch *after, bool keep);
struct pm_lft_diff pm_lfts_compare(const struct pm_lfts *before,
				   const struct pm_lfts *after, bool keep);

/* A port with other LIDs. */
struct pm_lft_reassigned {
	uint64_t guid;
	uint16_t before, after; /* lowest LIDs; 0: none */
};

/*
 * Lists by GUID the ports with different lowest LIDs, or with one on one side only; LIDs
 * without a known owner do not count. The caller frees *reassigned. -ENOMEM.
 */
int pm_lfts_find_reassigned(const struct pm_lfts *before, const struct pm_lfts *after,
			    struct pm_lft_reassigned **reassigned,
			    uint32_t *num_reassigned, struct pm_error *err);

#endif
