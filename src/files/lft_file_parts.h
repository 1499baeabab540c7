/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the readers of tables. Each format has a source file of its own and a row in
 * the table in lft_file.c. Its reader adds switches, entries and owners of LIDs, in any
 * order.
 */
#ifndef LFT_FILE_PARTS_H
#define LFT_FILE_PARTS_H

#include <portmajor/netlist/dump.h>

#include <portmajor/base/lexer.h>
#include <portmajor/files/lft_file.h>

#define LFT_NO_TABLE UINT32_MAX

struct lft_reader {
	struct pm_lexer lexer;
	struct pm_lfts *lfts;
	uint32_t current; /* switch of the table being read, or LFT_NO_TABLE */
	uint32_t entries; /* its lines with an entry */
	bool open;	  /* a table that ends with a count has not ended yet */
	uint16_t cut; /* its LID that dump_fts leaves out if no line has it; 0: none */
};

/* ---- Tables and owners: lft_file_tables.c ---- */

/* Functions return 0, -EINVAL with a message that names the line, or -ENOMEM. */

/* Begins the table of a switch; lid: its own, 0 if the file has none. */
int lft_begin(struct lft_reader *r, uint64_t guid, uint64_t lid, struct pm_text name);

/* Sets an entry of that table, which has room for it. */
int lft_set(struct lft_reader *r, uint32_t lid, uint8_t port);

/* Notes that the port with this GUID has the LID. */
int lft_own(struct lft_reader *r, uint32_t lid, uint64_t guid);

/* ---- Formats ---- */

int lft_opensm_read(struct lft_reader *r);
int lft_dump_read(struct lft_reader *r);

#endif
