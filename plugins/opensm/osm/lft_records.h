/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Our tables in OpenSM's arrays. OpenSM sends a block of a switch when new_lft differs
 * from lft, its record of what the switch has acknowledged, or, in the presence of a mark
 * (need_update), always. The mark is set on each switch that reports a port state change:
 * on every neighbour of what was lost. It is taken back here where the switch surely
 * still has its table.
 *
 * Surely means, as seen in this sweep's discovery before OpenSM changed anything:
 * LinearFDBTop is what we last set, port 0 has its planned LID, and some other port is
 * past INIT. A switch that rebooted comes back with LinearFDBTop and LID 0 and all ports
 * at INIT, and only the subnet manager takes any of these away, after which it writes the
 * table.
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
	uint64_t key;	/* in OpenSM's table of switches */
	uint32_t known; /* its number in the plan, or PM_NONE */
	bool intact;
};

/* A switch with a lower LinearFDBTop than requested. */
struct lft_records_low {
	uint64_t key;
	uint16_t top, wanted;
	uint8_t times; /* in a row, counted up to some limit */
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
	struct lft_records_lows lows, next; /* at the last writing, and being made */
};

/* What is written, before OpenSM sends it. */
struct lft_records_written {
	struct pm_delta delta; /* what the tables differed by */
	uint64_t sent;	       /* blocks that OpenSM sends, with those of whole tables */
	uint64_t full;	       /* blocks of all tables */
	uint32_t switches;     /* that are sent a block */
	uint32_t whole;	       /* that are sent their whole table */
	uint32_t withheld; /* blocks that we send ourselves, as Sets for them are out */
	uint32_t max_block;
};

/* Blocks that we send: OpenSM must not. Borrowed. */
struct lft_records_withheld {
	const struct smp_block *blocks;
	uint32_t num;
	bool all; /* and whatever else differs but in tables that are written whole */
};

/* Notes intact tables; right after discovery only. Without memory none are. */
void lft_records_note_intact(struct lft_records *records, const osm_subn_t *subn,
			     const struct pm_plan *plan);

/* Forgets intact tables. */
void lft_records_outdate(struct lft_records *records);

/* Forgets everything. */
void lft_records_forget(struct lft_records *records);

/*
 * Writes new_lft of every switch, without the stale entries that were found for these
 * routes and records, and takes the mark back where the table is intact; that is
 * forgotten then. A switch that was not planned keeps what it has. A table without room
 * for all LIDs gets the blocks and LinearFDBTop that fit. A switch with a LinearFDBTop
 * that does not rise is sent what lies above it a few times, and then only what changes,
 * until it rises. Blocks that are withheld look as if they were there; where OpenSM has
 * no mark of its own for all switches (subn->need_update), it sends none of them.
 */
void lft_records_write(struct lft_records *records, osm_subn_t *subn,
		       const struct pm_plan *plan, const struct pm_routes *routes,
		       const struct pm_stale *stale,
		       const struct lft_records_withheld *withheld,
		       struct lft_records_written *written);

/*
 * What OpenSM knows of tables, held[switch of plan->known], borrowed until the lock is
 * released. With `discovered` switches that the last discovery did not find have none;
 * while one is under way it has found some only.
 */
void lft_records_held(const osm_subn_t *subn, const struct pm_plan *plan, bool discovered,
		      struct pm_held *held);

/* The directed route that OpenSM has to a switch, or NULL. */
const osm_dr_path_t *lft_records_route(const osm_switch_t *sw);

/* Blocks of our table that a switch's record has room for and OpenSM sends. */
uint32_t lft_records_blocks(const struct pm_routes *routes, const osm_switch_t *sw);

/*
 * How many blocks OpenSM has sent that were not acknowledged; `ours`, of which Sets of
 * ours are out by now, are not among them. O(size of the tables).
 */
uint64_t lft_records_missing(const osm_subn_t *subn,
			     const struct lft_records_written *written,
			     const struct lft_records_withheld *ours);

/*
 * What a switch should have: our entry, or the one it has where ours says so. A 0 it has
 * may be a block that was never acknowledged, and is not kept: it would make the switch
 * swallow packets.
 */
void lft_records_wanted(const uint8_t *held, const uint8_t *table, uint32_t length,
			uint8_t *wanted);

/* OpenSM's switch with this number in the plan, or NULL. */
osm_switch_t *lft_records_switch(const osm_subn_t *subn, const struct pm_plan *plan,
				 uint32_t known);

#endif
