/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stale entries: entries that a switch keeps for LIDs to which it has no path
 * (PM_LFT_KEEP). They cost no LFT block, and packets that meet them are dropped at a dead
 * port, or wherever delivery ends. That holds while every port leads where it led when
 * the entry was written, and ends when a cable is moved: the entry may then lead back.
 *
 * So an entry may be kept only if its port still leads where it led, and if following it,
 * over new and kept entries and over every link that is up, ends; what end ports send is
 * to end at no LID's port then, as that would be by a detour of before. All others become
 * PM_LFT_KEEP in the switch itself.
 */
#ifndef PORTMAJOR_STALE_H
#define PORTMAJOR_STALE_H

#include <portmajor/route/route.h>

/* What is wanted and what there is; all of it borrowed. */
struct pm_stale_input {
	const struct pm_routes *routes; /* wanted: tables of the last update */
	/* [switch] Its table; NULL: not known, and then whole tables are written. Entries
	 * of port 0 that are not the switch's own LIDs are not known either. */
	const struct pm_held *held;
	/* [port] The link is up, whether tables use it or not. */
	const uint8_t *up;
	/* [port] It leads elsewhere than when its switch's table was written, or may;
	 * NULL: none does. */
	const uint8_t *recabled;
};

/*
 * Marks the ports of plan->known that led elsewhere, or nowhere, as far as the plan
 * before knew; other marks stay. [port] O(ports log switches).
 */
void pm_stale_mark_recabled(const struct pm_plan *before, const struct pm_plan *plan,
			    uint8_t *recabled);

/* An entry. */
struct pm_stale_entry {
	uint32_t sw;
	uint16_t lid;
};

/* Entries that must not be kept. All zero at first. */
struct pm_stale {
	struct pm_stale_entry *entries; /* by switch, then LID */
	uint32_t num, room;
	uint32_t lids;	/* that were followed */
	uint32_t loops; /* LIDs of which packets would have looped */
	bool differ;	/* some entry that is known is not the one wanted */
};

/*
 * Finds the entries that must not be kept; what *stale had is forgotten. -ENOMEM.
 * Cost: comparing the tables held with those wanted; for each LID that some switch keeps
 * a port for, O(switches).
 */
int pm_stale_find(const struct pm_stale_input *input, struct pm_stale *stale);
void pm_stale_free(struct pm_stale *stale);

/* Those of one switch: *count from the result on. O(log entries). */
const struct pm_stale_entry *pm_stale_of(const struct pm_stale *stale, uint32_t sw,
					 uint32_t *count);

/*
 * What a switch is to hold for a LID: the entry wanted, or a kept one. PM_LFT_KEEP: it
 * has none, or drops the LID.
 */
uint8_t pm_stale_entry(const struct pm_stale_input *input, const struct pm_stale *stale,
		       uint32_t sw, uint32_t lid);

/* The switch that an entry leads to over a link that is up, or PM_NONE. */
uint32_t pm_stale_next(const struct pm_stale_input *input, uint32_t sw, uint8_t entry);

#endif
