/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables in text files, as these programs write them:
 *
 *   opensm-lfts.dump   of OpenSM with log flag 0x40: `Unicast lids [0-70] of switch
 *                      Lid 2 guid 0x.. ('name'):`, lines `0x0001 001 # Channel
 *                      Adapter portguid 0x..: 'name'`, and `70 lids dumped`
 *   dump_fts           of infiniband-diags: alike, with ` : (` for ` # ` and a header of
 *                      its own; -n leaves out who has the LID, -a adds empty entries
 *   opensm.fdbs        `dump_ucast_routes: Switch 0x..`, then lines
 *                      `0x0001 : 001  : 02   : yes` or `0x0001 : UNREACHABLE`
 *
 * OpenSM loads the first two with `-R file -U FILE`.
 */
#ifndef PORTMAJOR_LFTFILE_H
#define PORTMAJOR_LFTFILE_H

#include <portmajor/plan.h>
#include <portmajor/route.h>

#include <stdio.h>

/* A switch and its table. */
struct pm_lft_switch {
	uint64_t guid;
	char *name;	 /* never NULL; "" if the file has none */
	uint8_t *table;	 /* [length] port by LID; PM_LFT_KEEP: no entry */
	uint32_t length; /* a multiple of 64 */
	uint32_t line;	 /* where it begins in the file, 0 if it is from none */
	uint16_t top;	 /* highest LID that has a line; below length */
	uint16_t lid;	 /* its own, 0 if the file does not say */
};

/* Who has a LID. */
struct pm_lft_owner {
	uint64_t guid; /* of the port; 0: nobody is known */
	uint32_t line; /* that says so first, 0 if it is from no file */
};

/* Read-only once made. */
struct pm_lfts {
	struct pm_lft_switch *switches; /* by GUID */
	uint32_t num_switches, room;
	struct pm_lft_owner *owner; /* [0..PM_MAX_LID] */
	uint32_t num_owned;	    /* LIDs of which the owner is known */
};

/* Whether a text begins like one of these files. */
bool pm_lfts_recognise(const char *text, size_t length);

/*
 * Reads tables from memory; text[] needs no NUL at its end. *lfts is for the caller to
 * free. -EINVAL: bad content, the message is "source:LINE: what is wrong"; a file that
 * stops within a table is bad too, as far as its format tells; -EFBIG; -ENOMEM.
 * Cost: O(length + LIDs).
 */
int pm_lfts_parse(const char *text, size_t length, const char *source,
		  struct pm_lfts **lfts, struct pm_error *err);

/* The same for a file; see pm_textfile_read. */
int pm_lfts_read(const char *path, struct pm_lfts **lfts, struct pm_error *err);

/*
 * The tables of a plan for the switches of a fabric that have a cable, and the LIDs of
 * its ports; the routes are updated for that fabric. The caller frees *lfts. -ENOMEM.
 */
int pm_lfts_of_plan(const struct pm_plan *plan, const struct pm_routes *routes,
		    const struct pm_fabric *fabric, struct pm_lfts **lfts,
		    struct pm_error *err);

void pm_lfts_free(struct pm_lfts *lfts);

/* The switch with this GUID, or NULL. O(log switches). */
const struct pm_lft_switch *pm_lfts_find(const struct pm_lfts *lfts, uint64_t guid);

/* The highest LID that somebody is known to have. */
uint16_t pm_lfts_top(const struct pm_lfts *lfts);

/*
 * Writes tables as OpenSM's dump has them; the fabric gives names and kinds of ports.
 * Entries for LIDs of which the owner is not known are left out: OpenSM takes what it
 * loads as it is, also beyond the end of the tables that it has room for. Errors of the
 * stream are for the caller to see.
 */
void pm_lfts_write(const struct pm_lfts *lfts, const struct pm_fabric *fabric,
		   FILE *file);

/* What came of pm_lfts_give_lids. */
struct pm_lft_lids {
	uint32_t given;		/* ports that got their LID from the file */
	uint32_t differ;	/* ports that had another one */
	uint32_t unknown;	/* port GUIDs that the fabric does not have */
	uint32_t first_differ;	/* a port of the fabric, or PM_NONE */
	uint16_t first_unknown; /* LID of the first of these */
};

/*
 * Gives the ports of a fabric the LIDs that the tables' file tells of, where the fabric
 * has none. -ENOMEM. O(ports log ports + LIDs).
 */
int pm_lfts_give_lids(const struct pm_lfts *lfts, struct pm_fabric *fabric,
		      struct pm_lft_lids *result, struct pm_error *err);

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
