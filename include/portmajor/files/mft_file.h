/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast tables in text files, as these programs write them:
 *
 *   opensm.mcfdbs   of OpenSM with log flag 0x40: `Switch 0x..`, then lines
 *                   `0xC001 : 0x001  0x007`
 *   dump_fts -M     of infiniband-diags, once dump_mfts, read from the switches:
 *                   `Multicast mlids [0xc000-0xc3ff] of switch .. guid 0x.. (name):`,
 *                   two lines with ports' numbers, lines `0xc001    x   x` with two
 *                   columns for each port, and `1 valid mlids dumped`
 */
#ifndef PORTMAJOR_MFT_FILE_H
#define PORTMAJOR_MFT_FILE_H

#include <portmajor/base/error.h>
#include <portmajor/multicast/mft.h>

#include <stddef.h>

/*
 * Reads the tables of a fabric's switches from memory; text[] needs no NUL at its end.
 * Tables of other switches are empty. The caller frees *mfts. -EINVAL: bad content, a
 * switch or port that is not in the fabric, or a repeated entry, with "source:LINE:
 * fault"; -EFBIG; -ENOMEM. Cost: O(length + blocks x switches).
 */
int pm_mfts_parse(const char *text, size_t length, const char *source,
		  const struct pm_fabric *fabric, struct pm_mfts **mfts,
		  struct pm_error *err);

/* The same for a file; see pm_textfile_read. */
int pm_mfts_read(const char *path, const struct pm_fabric *fabric, struct pm_mfts **mfts,
		 struct pm_error *err);

#endif
