/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables in text files, as these programs write them:
 *
 *   opensm-lfts.dump   of OpenSM with log flag 0x40: `Unicast lids [0-70] of switch
 *                      Lid 2 guid 0x.. ('name'):`, lines `0x0001 001 # Channel
 *                      Adapter portguid 0x..: 'name'`, and `70 lids dumped`
 *   dump_fts           of infiniband-diags: alike, with ` : (` for ` # ` and a header of
 *                      its own; -n leaves out owners of LIDs, -a adds empty entries.
 *                      It leaves out the last LID where that is a multiple of 64, and so
 *                      does ibroute, see pm_lfts_left_out
 *   opensm.fdbs        `dump_ucast_routes: Switch 0x..`, then lines
 *                      `0x0001 : 001  : 02   : yes` or `0x0001 : UNREACHABLE`
 *
 *   Dump               of ibsim's console: the simulated switches with all of their
 *                      tables, and the owners of LIDs
 *
 * OpenSM loads the first two with `-R file -U FILE`.
 */
#ifndef PORTMAJOR_LFT_FILE_H
#define PORTMAJOR_LFT_FILE_H

#include <portmajor/route/lfts.h>

#include <stdio.h>

/* Whether a text begins like one of these files. */
bool pm_lfts_recognise(const char *text, size_t length);

/*
 * Reads tables from memory; text[] needs no NUL at its end. The caller frees *lfts.
 * -EINVAL: bad content, with "source:LINE: fault"; also a file that ends within a table,
 * where the format shows it; -EFBIG; -ENOMEM. Cost: O(length + LIDs).
 */
int pm_lfts_parse(const char *text, size_t length, const char *source,
		  struct pm_lfts **lfts, struct pm_error *err);

/* The same for a file; see pm_textfile_read. */
int pm_lfts_read(const char *path, struct pm_lfts **lfts, struct pm_error *err);

/*
 * Writes tables in the format of OpenSM's dump, with names and kinds of ports from the
 * fabric. Leaves out entries for LIDs without a known owner, since OpenSM loads any
 * entry, even beyond the end of its tables. -ENOMEM. The caller checks the stream.
 */
int pm_lfts_write(const struct pm_lfts *lfts, const struct pm_fabric *fabric, FILE *file);

/*
 * Writes one table, table[length], in the same format without owners of LIDs, which
 * OpenSM does not load. The caller checks the stream.
 */
void pm_lfts_write_plain(uint64_t guid, uint16_t lid, const char *name,
			 const uint8_t *table, uint32_t length, FILE *file);

#endif
