/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Portmajor's tables in OpenSM's arrays. OpenSM sends a block of a switch when new_lft
 * differs from lft, its record of acknowledged blocks. If the switch has a mark
 * (need_update), OpenSM sends all blocks. It marks each switch that reports a port state
 * change: every neighbour of a failed part. This module removes the mark where the table
 * is intact: the switch surely still has it.
 *
 * Surely means, in this sweep's discovery before any Set: LinearFDBTop is the plan's,
 * port 0 has its planned LID, and some other port is past INIT. A rebooted switch has
 * LinearFDBTop 0, LID 0 and all ports in INIT; only the subnet manager changes these, and
 * then it writes the table.
 *
 * Call all functions with osm->lock held: exclusively for lft_records_write, else shared
 * at least.
 */
#ifndef PORTMAJOR_LFT_RECORDS_H
#define PORTMAJOR_LFT_RECORDS_H

#include "drained_tables.h"
#include "smp.h"

#include <portmajor/route/delta.h>
#include <portmajor/route/stale.h>

/* Each of OpenSM's switches in turn. */
#define FOR_EACH_SWITCH(sw, subn)                                                        \
	for (osm_switch_t *sw = (osm_switch_t *)cl_qmap_head(&(subn)->sw_guid_tbl);      \
	     &sw->map_item != cl_qmap_end(&(subn)->sw_guid_tbl);                         \
	     sw = (osm_switch_t *)cl_qmap_next(&sw->map_item))

struct lft_records_noted {
	uint64_t key;	 /* in OpenSM's table of switches */
	uint32_t node;	 /* its index in the plan, or PM_NONE */
	uint32_t length; /* entries of its arrays */
	bool intact;
	bool blank; /* it was reset, and nobody has set it since */
};

/* A switch with a lower LinearFDBTop than requested. */
struct lft_records_low {
	uint64_t key;
	uint16_t top, wanted;
	uint8_t times; /* writings in a row, up to a limit */
};

struct lft_records_lows {
	struct lft_records_low *list; /* in the order of their keys */
	uint32_t num, room;
};

/*
 * A table that takes the place of a switch's new_lft. OpenSM gets it without a copy while
 * its lock is held exclusively, and its own array is used for the next table.
 */
struct lft_records_prepared {
	uint8_t *table;	 /* NULL: there is none */
	uint32_t length; /* entries there is room for */
	uint32_t filled; /* entries of the switch's table; 0: not filled */
};

/* Switches with intact tables. All zero at first. */
struct lft_records {
	struct lft_records_noted *noted; /* in the order of their keys */
	uint32_t num;			 /* 0: none */
	uint32_t room;
	struct lft_records_lows lows, next; /* of the last writing; of the present one */
	struct lft_records_prepared *prepared; /* [switch of the plan] */
	uint32_t num_prepared;
	struct drained_tables drained;
};

/* The blocks written, before OpenSM sends them. */
struct lft_records_written {
	struct pm_delta delta; /* differences of tables */
	uint64_t sent;	       /* blocks that OpenSM sends, with those of whole tables */
	uint64_t full;	       /* blocks of all tables */
	uint32_t switches;     /* switches that get a block */
	uint32_t whole;	       /* switches that get their whole table */
	uint32_t withheld; /* blocks that the plugin sends, as Sets for them are out */
	uint32_t max_block;
	bool equal; /* all switches have their tables in OpenSM's record already */
};

/* [port of plan->topology]; borrowed. */
struct lft_records_drains {
	const uint8_t *excluded; /* links that drains exclude, see drained_tables.h */
	const uint8_t *up;	 /* links that are up; NULL: no drain is in force */
};

/* Blocks that the plugin sends, and OpenSM must not. Borrowed. */
struct lft_records_withheld {
	const struct smp_block *blocks;
	uint32_t num;
	bool all; /* all blocks but those of whole tables */
};

/*
 * Notes intact tables; right after discovery only. Without memory notes none. With
 * `drains` in force, also remembers the tables of switches that were not discovered.
 */
void lft_records_note_intact(struct lft_records *records, const osm_subn_t *subn,
			     const struct pm_plan *plan, bool drains);

/*
 * Prepares the tables of switches that the list has as equal, outside of any lock; NULL:
 * none, as routes have changed since. What cannot be prepared is copied later. Call it
 * for the routes and the list with which lft_records_write is called next.
 * O(size of the tables), and as much memory.
 */
void lft_records_prepare(struct lft_records *records, const struct pm_routes *routes,
			 const struct pm_stale *stale);

/* Forgets intact tables. */
void lft_records_outdate(struct lft_records *records);

/* Forgets everything. */
void lft_records_forget(struct lft_records *records);

/*
 * Writes new_lft of every switch, without the stale entries found for these routes and
 * records. Where these were equal, stale->equal, tables are copied and not compared: the
 * caller frees that list if a record may have changed since. Removes the mark of switches
 * with intact tables, and forgets these. A switch that is not in the plan keeps its
 * table. Blocks and LinearFDBTop end with the plan's highest LID; a table without room
 * for all LIDs gets those that fit. If a switch's LinearFDBTop does not rise as
 * requested, the blocks above it are sent a few times, and then only changed ones, until
 * it rises. Withheld blocks look acknowledged, so OpenSM sends none of them, unless it
 * writes all tables (subn->need_update). As it would send them to a marked switch, too,
 * the mark is replaced there by a record of zeros: the other blocks differ from it, and
 * are sent. If OpenSM writes all tables, switches of which it has none from before get
 * preferred entries for LIDs to which only drained links lead, unless packets would come
 * back by entries that others keep; and remembered tables (drained_tables.h) are
 * forgotten.
 */
void lft_records_write(struct lft_records *records, osm_subn_t *subn,
		       const struct pm_plan *plan, const struct pm_routes *routes,
		       const struct pm_stale *stale,
		       const struct lft_records_drains *drains,
		       const struct lft_records_withheld *withheld,
		       struct lft_records_written *written);

/*
 * Looks up OpenSM's records of tables: installed[switch of plan->topology], borrowed
 * until the lock is released. With `discovered`, switches that the last discovery did not
 * find have none; a running discovery has found only some switches.
 */
void lft_records_installed(const osm_subn_t *subn, const struct pm_plan *plan,
			   bool discovered, struct pm_installed *installed);

/*
 * Whether OpenSM's record of a block is all zeros, as no block of a table is: the block's
 * content is not known. False beyond the record.
 */
bool lft_records_is_zeroed(const osm_switch_t *sw, uint32_t block);

/* OpenSM's directed route to a switch, or NULL. */
const osm_dr_path_t *lft_records_route(const osm_switch_t *sw);

/*
 * The number of blocks of portmajor's table that fit in a switch's record, and that
 * OpenSM sends.
 */
uint32_t lft_records_blocks(const struct pm_routes *routes, const osm_switch_t *sw);

/* The number of blocks of each switch that OpenSM compares. */
uint32_t lft_records_most_blocks(const osm_subn_t *subn);

/*
 * The number of OpenSM's unacknowledged blocks, without `ours`: blocks with the plugin's
 * Sets out by now. O(size of the tables).
 */
uint64_t lft_records_missing(const osm_subn_t *subn,
			     const struct lft_records_written *written,
			     const struct lft_records_withheld *ours);

/*
 * Writes a switch's wanted entries: those of `table`, and for PM_LFT_KEEP the installed
 * ones. But an installed 0 becomes OSM_NO_PATH: it may be of a block that was never
 * acknowledged, and would lead packets to the switch itself.
 */
void lft_records_wanted(const uint8_t *installed, const uint8_t *table, uint32_t length,
			uint8_t *wanted);

/* OpenSM's switch with this index in the plan, or NULL. */
osm_switch_t *lft_records_switch(const osm_subn_t *subn, const struct pm_plan *plan,
				 uint32_t node);

#endif
