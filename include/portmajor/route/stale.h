/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stale entries: a switch keeps its entry for a LID to which it has no path
 * (PM_LFT_KEEP). That costs no LFT block, and packets are dropped at a dead port, or
 * where the old path ends. But after a link was moved, such an entry can make a loop.
 *
 * So an entry may be kept only if its port still leads to the same place, and if the path
 * from there, over new and kept entries and every link that is up, has an end. For
 * packets of end ports the path must not end at a LID's port: it would be an old detour.
 * All other entries become PM_LFT_KEEP in the switch itself.
 */
#ifndef PORTMAJOR_STALE_H
#define PORTMAJOR_STALE_H

#include <portmajor/route/route.h>

/* Wanted and actual tables; all of it borrowed. */
struct pm_stale_input {
	const struct pm_routes *routes; /* wanted: tables of the last update */
	/*
	 * [switch] Its table; NULL: unknown, then the whole table is written. Entries
	 * with port 0 count as unknown, too, except those for the switch's own LIDs.
	 */
	const struct pm_installed *installed;
	/* [port] Whether the link is up, used by tables or not. */
	const uint8_t *up;
	/*
	 * [port] Whether the port may lead elsewhere than when its switch's table was
	 * written; NULL: none does.
	 */
	const uint8_t *recabled;
	/*
	 * Called after each switch's table was compared, with `context`: it may replace
	 * the tables in installed[]. NULL: it is not called.
	 */
	void (*compared)(void *context);
	void *context;
};

/*
 * Marks the ports of plan->topology that led elsewhere, or nowhere, in the previous plan;
 * other marks stay. [port] O(ports log switches).
 */
void pm_stale_mark_recabled(const struct pm_plan *before, const struct pm_plan *plan,
			    uint8_t *recabled);

/* The entry of a switch for a LID. */
struct pm_stale_entry {
	uint32_t sw;
	uint16_t lid;
};

/* Entries that must not be kept. All zero at first. */
struct pm_stale {
	struct pm_stale_entry *entries; /* by switch, then LID */
	uint32_t num, room;
	uint32_t lids;	/* LIDs followed */
	uint32_t loops; /* LIDs with packets that would have looped */
	bool differ;	/* a known entry differs from the wanted one */
	/* [switch] the installed table if it is the wanted one, in full length; else NULL
	 */
	const uint8_t **equal;
};

/*
 * Replaces *stale by the entries that must not be kept. -ENOMEM. Cost: comparing
 * installed and wanted tables; O(switches) for each LID with a kept entry.
 */
int pm_stale_find(const struct pm_stale_input *input, struct pm_stale *stale);
void pm_stale_free(struct pm_stale *stale);

/* Appends an entry; the list has to stay in its order. -ENOMEM. Amortised O(1). */
int pm_stale_add(struct pm_stale *stale, uint32_t sw, uint32_t lid);

/* Forgets which tables were equal: installed ones may have changed. */
void pm_stale_outdate(struct pm_stale *stale);

/* The entries of one switch, *count of them. O(log entries). */
const struct pm_stale_entry *pm_stale_of(const struct pm_stale *stale, uint32_t sw,
					 uint32_t *count);

/*
 * A switch's future entry for a LID: the wanted one, or a kept one. PM_LFT_KEEP: it has
 * none, or drops the LID.
 */
uint8_t pm_stale_entry(const struct pm_stale_input *input, const struct pm_stale *stale,
		       uint32_t sw, uint32_t lid);

/* The switch that an entry leads to over a link that is up, or PM_NONE. */
uint32_t pm_stale_next(const struct pm_stale_input *input, uint32_t sw, uint8_t entry);

#endif
