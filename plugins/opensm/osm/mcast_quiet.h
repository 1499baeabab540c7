/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's multicast manager, kept from sending: a run of it (in each heavy sweep, and
 * for joins and leaves between sweeps) clears the MLIDs that are due in its records of
 * all switches, calls the engine for those that have groups, and then sends every block
 * up to max_block_in_use of every record, compared with nothing.
 *
 * While multicast is ours, the engine's callback sets max_block_in_use of all records to
 * -1, so that nothing is sent, and notes that groups may have changed. Whoever sends
 * tables computes and sends what differs, and shows the result in the records, which SA's
 * answers and dumps are made from, with max_block_in_use as it has to be.
 *
 * A run for groups that have ended calls no engine, and would send every block that is
 * shown. So a request of our own for a group that exists is left whenever records are
 * shown (mlids_req, which the next run looks at, whatever it was begun for): a group of
 * the partition configuration, as such a group ends only with the configuration. Where
 * there is none, nothing is shown: SA then has no multicast tables to tell of, and groups
 * that end are to be looked for.
 *
 * Where a switch has MulticastFDBTop, a run would set it to that of -1, which turns its
 * multicast off, unless use_mfttop is off: so it is while nothing is shown, and tops are
 * raised by us. They are never lowered: entries above have no group.
 *
 * The alternative, opt.disable_multicast, would have us serve the requests of joins
 * without a signal, and SA deny multicast to hosts.
 */
#ifndef PORTMAJOR_MCAST_QUIET_H
#define PORTMAJOR_MCAST_QUIET_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/multicast/mft.h>
#include <portmajor/plan/plan.h>

#include <stdatomic.h>

/* All zero at first, but for osm, engine and build. */
struct mcast_quiet {
	osm_opensm_t *osm;
	/* Ours, in OpenSM's list, for the sweeper alone: OpenSM frees it before it
	 * deletes plugins. NULL before its setup. */
	osm_routing_engine_t *engine;
	ib_api_status_t (*build)(void *context, osm_mgrp_box_t *box); /* its callback */
	/* Under osm->lock; written with it held exclusively. */
	bool ours;	  /* the engine has a callback */
	bool hushed;	  /* max_block_in_use of all records is -1 */
	uint32_t calls;	  /* of the engine so far */
	uint32_t request; /* index of the MLID of our request, while not hushed */
	bool tops;	  /* use_mfttop when it was last hushed */
	/* The engine was called since groups were last read; on any thread. */
	atomic_bool due;
};

/* Whether OpenSM's options let us, or *reason why not. */
bool mcast_quiet_is_possible(const struct mcast_quiet *quiet, const char **reason);

/*
 * Multicast is ours, or OpenSM's, from the next run on, which then makes the trees of all
 * groups and sends all blocks. On the sweeper, with osm->lock held exclusively.
 */
void mcast_quiet_take(struct mcast_quiet *quiet);
void mcast_quiet_leave(struct mcast_quiet *quiet);
bool mcast_quiet_is_ours(const struct mcast_quiet *quiet);

/* The engine's callback for one MLID; whether it is the first since `due` was cleared. */
bool mcast_quiet_collect(struct mcast_quiet *quiet, osm_mgrp_box_t *box);

/*
 * Whether a run went by without calling the engine since records were shown: it has sent
 * all blocks, without the groups that have ended. With osm->lock held.
 */
bool mcast_quiet_is_missed(const struct mcast_quiet *quiet);

/*
 * Has switches that have a MulticastFDBTop pass MLIDs of so many blocks; their answers
 * are OpenSM's. With osm->lock held, shared at least.
 */
void mcast_quiet_raise_tops(struct mcast_quiet *quiet, uint32_t blocks);

/* Blocks of MLIDs of which some switch passes packets: up to its MulticastFDBCap, or its
 * MulticastFDBTop where that is set. With osm->lock held, shared at least. */
uint32_t mcast_quiet_blocks_passed(const struct mcast_quiet *quiet);

/* Where records may have entries, for one plan: in other places they are empty. */
struct mcast_shown {
	uint64_t *cells; /* bits: [block][switch] */
	/* False: anywhere, as at first, with another plan and after trees of OpenSM's. */
	bool valid;
};

/* Words of `cells`. */
size_t mcast_quiet_words(uint32_t num_switches);

/*
 * Shows tables of the plan's switches in OpenSM's records, unless the engine was called
 * more than `calls` times by now: false, and it has to be done again. Writes blocks that
 * have entries or may have had some. Takes osm->lock exclusively, for one block of 32
 * MLIDs at a time.
 */
bool mcast_quiet_show(struct mcast_quiet *quiet, const struct pm_plan *plan,
		      const struct pm_mfts *tables, uint32_t calls,
		      struct mcast_shown *shown);

#endif
