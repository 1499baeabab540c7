/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of switches at drained links, by which a switch that lost its own gets the
 * entries that it had: those for LIDs to which only drained links lead. Tables of the
 * plan have none there (PM_LFT_KEEP), and OpenSM's record of a switch ends with a drop.
 * No hosts' path uses these entries; OpenSM and perfmgr reach drained switches by them.
 *
 * Call all functions with osm->lock held, drained_tables_note exclusively.
 */
#ifndef PORTMAJOR_DRAINED_TABLES_H
#define PORTMAJOR_DRAINED_TABLES_H

#include "smp.h"

#include <portmajor/fabric/lft.h>
#include <portmajor/plan/plan.h>

struct drained_table {
	uint64_t key; /* in OpenSM's table of switches */
	uint8_t *entries;
	uint32_t length;
};

/* All zero at first. */
struct drained_tables {
	struct drained_table *list;
	uint32_t num, room;
};

/*
 * After a table is written to new_lft: gives it entries that it had, that the plan's
 * table leaves open and that OpenSM's record, `installed`, lacks; and remembers it;
 * without a drained link, forgets it. An entry of the record that new_lft lacks was
 * removed, as it is stale. -ENOMEM is ignored: then the switch goes without. O(length +
 * remembered switches).
 */
void drained_tables_note(struct drained_tables *tables, uint64_t key, bool drained,
			 const uint8_t *table, const struct pm_installed *installed,
			 uint8_t *new_lft);

/*
 * Remembers the table[length] of a switch that OpenSM is about to drop, unless one is
 * remembered: drains may have been followed since tables were last written. -ENOMEM is
 * ignored.
 */
void drained_tables_keep(struct drained_tables *tables, uint64_t key,
			 const uint8_t *table, uint32_t length);

void drained_tables_forget(struct drained_tables *tables);

#endif
