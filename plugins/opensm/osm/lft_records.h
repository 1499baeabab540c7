/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Our tables in OpenSM's arrays. OpenSM sends a block of a switch when new_lft differs
 * from lft, its record of acknowledged blocks, or, with a mark (need_update), always.
 * OpenSM marks each switch that reports a port state change: every neighbour of a failed
 * part. The mark is removed here where the switch surely still has its table.
 *
 * Surely means, in this sweep's discovery before any Set: LinearFDBTop is ours, port 0
 * has its planned LID, and some other port is past INIT. A rebooted switch has
 * LinearFDBTop 0, LID 0 and all ports in INIT; only the subnet manager changes these, and
 * then it writes the table.
 *
 * All of it with osm->lock held: exclusively for lft_records_write, shared at least
 * otherwise.
 */
#ifndef PORTMAJOR_LFT_RECORDS_H
#define PORTMAJOR_LFT_RECORDS_H

#include "smp.h"

#include <portmajor/route/delta.h>
#include <portmajor/route/stale.h>

struct lft_records_noted {
	uint64_t key;  /* in OpenSM's table of switches */
	uint32_t node; /* its index in the plan, or PM_NONE */
	bool intact;
};

/* A switch with a lower LinearFDBTop than requested. */
struct lft_records_low {
	uint64_t key;
	uint16_t top, wanted;
	uint8_t times; /* in a row, up to a limit */
};

struct lft_records_lows {
	struct lft_records_low *list; /* in the order of their keys */
	uint32_t num, room;
};

/* Switches with intact tables. All zero at first. */
struct lft_records {
	struct lft_records_noted *noted; /* in the order of their keys */
	uint32_t num;			 /* 0: of none */
	uint32_t room;
	struct lft_records_lows lows,
		next; /* of the last writing, and of the present one */
};

/* The blocks written, before OpenSM sends them. */
struct lft_records_written {
	struct pm_delta delta; /* differences of tables */
	uint64_t sent;	       /* blocks that OpenSM sends, with those of whole tables */
	uint64_t full;	       /* blocks of all tables */
	uint32_t switches;     /* that get a block */
	uint32_t whole;	       /* that get their whole table */
	uint32_t withheld; /* blocks that we send ourselves, as Sets for them are out */
	uint32_t max_block;
};

/* Blocks that we send: OpenSM must not. Borrowed. */
struct lft_records_withheld {
	const struct smp_block *blocks;
	uint32_t num;
	bool all; /* all blocks but those of whole tables */
};

/* Notes intact tables; right after discovery only. Without memory none are. */
void lft_records_note_intact(struct lft_records *records, const osm_subn_t *subn,
			     const struct pm_plan *plan);

/* Forgets intact tables. */
void lft_records_outdate(struct lft_records *records);

/* Forgets everything. */
void lft_records_forget(struct lft_records *records);

/*
 * Writes new_lft of every switch, without the stale entries found for these routes and
 * records, removes the mark of intact tables, and forgets these. A switch that is not in
 * the plan keeps its table. A table without room for all LIDs gets the blocks and
 * LinearFDBTop that fit. A switch with a LinearFDBTop that does not rise gets the blocks
 * above it a few times, and then only changes, until it rises. Withheld blocks look
 * acknowledged; unless OpenSM writes all tables (subn->need_update), it sends none of
 * them.
 */
void lft_records_write(struct lft_records *records, osm_subn_t *subn,
		       const struct pm_plan *plan, const struct pm_routes *routes,
		       const struct pm_stale *stale,
		       const struct lft_records_withheld *withheld,
		       struct lft_records_written *written);

/*
 * OpenSM's records of tables, held[switch of plan->topology], borrowed until the lock is
 * released. With `discovered` switches that the last discovery did not find have none; a
 * running one has found only some.
 */
void lft_records_held(const osm_subn_t *subn, const struct pm_plan *plan, bool discovered,
		      struct pm_held *held);

/*
 * Whether OpenSM's record of a block is zeroed, which no block of a table is: its content
 * is not known. False beyond the record. With osm->lock held.
 */
bool lft_records_is_zeroed(const osm_switch_t *sw, uint32_t block);

/* The directed route that OpenSM has to a switch, or NULL. */
const osm_dr_path_t *lft_records_route(const osm_switch_t *sw);

/* Blocks of our table that fit in a switch's record and that OpenSM sends. */
uint32_t lft_records_blocks(const struct pm_routes *routes, const osm_switch_t *sw);

/*
 * OpenSM's unacknowledged blocks, without `ours`, for which our Sets are out by now.
 * O(size of the tables).
 */
uint64_t lft_records_missing(const osm_subn_t *subn,
			     const struct lft_records_written *written,
			     const struct lft_records_withheld *ours);

/*
 * A switch's wanted entries: ours, or the held one for PM_LFT_KEEP, unless it is 0: that
 * may be of a block that was never acknowledged, and would drop packets at the switch.
 */
void lft_records_wanted(const uint8_t *held, const uint8_t *table, uint32_t length,
			uint8_t *wanted);

/* OpenSM's switch with this index in the plan, or NULL. */
osm_switch_t *lft_records_switch(const osm_subn_t *subn, const struct pm_plan *plan,
				 uint32_t node);

#endif
