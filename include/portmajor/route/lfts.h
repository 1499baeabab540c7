/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of switches and the owners of LIDs, from a plan or a file. */
#ifndef PORTMAJOR_LFTS_H
#define PORTMAJOR_LFTS_H

#include <portmajor/route/route.h>

/* A switch and its table. */
struct pm_lft_switch {
	uint64_t guid;
	char *name;	 /* never NULL; "" if the file has none */
	uint8_t *table;	 /* [length] port by LID; PM_LFT_KEEP: no entry */
	uint32_t length; /* a multiple of 64 */
	uint32_t line;	 /* first line in the file; 0: no file */
	uint16_t top;	 /* highest LID with an entry in the file or plan; below length */
	uint16_t lid;	 /* its own; 0: not in the file */
	uint16_t left_out; /* LID that dump_fts did not read; 0: none */
};

struct pm_lft_owner {
	uint64_t guid; /* of the port; 0: unknown */
	uint32_t line; /* the first line with the LID; 0: no file */
};

/* Read-only once made: by pm_lfts_of_plan, or pm_lfts_new, pm_lfts_add and then
 * pm_lfts_sort. */
struct pm_lfts {
	struct pm_lft_switch *switches; /* by GUID */
	uint32_t num_switches, room;
	struct pm_lft_owner *owner; /* [0..PM_MAX_LID] */
	uint32_t num_owned;	    /* LIDs with a known owner */
	bool whole; /* tables have all entries of the switches, also for LIDs without an
		       owner */
	uint16_t sm_lid; /* of the subnet manager, by the ports; 0: unknown */
};

/* No tables yet; NULL without memory. */
struct pm_lfts *pm_lfts_new(void);

/*
 * Adds a switch with an empty table for LIDs up to `top`; name[length] needs no NUL. The
 * result is valid until the next switch is added. NULL without memory.
 */
struct pm_lft_switch *pm_lfts_add(struct pm_lfts *lfts, uint64_t guid, const char *name,
				  size_t length, uint16_t top);

/* Makes room in a table for this LID, with empty entries. -ENOMEM. */
int pm_lft_grow(struct pm_lft_switch *sw, uint32_t lid);

/* Sorts by GUID, then line. */
void pm_lfts_sort(struct pm_lfts *lfts);

/*
 * The tables of a plan for the switches of a fabric that have a link, and the LIDs of
 * its ports; the routes are updated for that fabric. The caller frees *lfts. -ENOMEM.
 */
int pm_lfts_of_plan(const struct pm_plan *plan, const struct pm_routes *routes,
		    const struct pm_fabric *fabric, struct pm_lfts **lfts,
		    struct pm_error *err);

void pm_lfts_free(struct pm_lfts *lfts);

/* The switch with this GUID, or NULL. O(log switches). */
const struct pm_lft_switch *pm_lfts_find(const struct pm_lfts *lfts, uint64_t guid);

/* The highest LID with a known owner. */
uint16_t pm_lfts_top(const struct pm_lfts *lfts);

/*
 * The LID that dump_fts left out of all tables though the switches may have entries for
 * it: their LinearFDBTop, a multiple of 64. 0: none, or a table has an entry for it.
 * O(switches).
 */
uint16_t pm_lfts_left_out(const struct pm_lfts *lfts);

/* Result of pm_lfts_give_lids. */
struct pm_lft_lids {
	uint32_t given;		/* ports that got their LID from the file */
	uint32_t differ;	/* ports with another LID already */
	uint32_t unknown;	/* port GUIDs that the fabric does not have */
	uint32_t first_differ;	/* a port of the fabric, or PM_NONE */
	uint16_t first_unknown; /* LID of the first unknown port GUID */
	uint32_t left_out;	/* the port with the LID pm_lfts_left_out, or PM_NONE */
};

/*
 * Gives a fabric's ports without a LID those of the tables' file. Its last one with a
 * link gets the LID that the file leaves out. -ENOMEM. O(ports log ports + LIDs).
 */
int pm_lfts_give_lids(const struct pm_lfts *lfts, struct pm_fabric *fabric,
		      struct pm_lft_lids *result, struct pm_error *err);

#endif
