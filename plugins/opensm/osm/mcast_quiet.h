/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps OpenSM's multicast manager from sending. That runs in each heavy sweep, and for
 * joins and leaves between sweeps. A run clears the due MLIDs in OpenSM's records of all
 * switches, calls the engine for those with groups, and then sends every block up to
 * max_block_in_use of every record, without comparing.
 *
 * While the plugin routes multicast, the engine's callback sets max_block_in_use of all
 * records to -1, so that nothing is sent, and notes that groups may have changed. The
 * thread that sends tables computes and sends differences. It shows the result in the
 * records, with the right max_block_in_use: the SA's answers and dumps use the records.
 *
 * A run for groups that have ended calls no engine, and would send every shown block. So
 * while records are shown, the plugin keeps a request pending for an existing group
 * (mlids_req, which any next run processes). It is a group of the partition
 * configuration, which ends only with that. Without such a group nothing is shown: the SA
 * has no multicast tables, and the plugin has to look for ended groups.
 *
 * With max_block_in_use -1 a run would set a switch's MulticastFDBTop so that its
 * multicast is off, unless use_mfttop is off. So use_mfttop is off while nothing is
 * shown, and the plugin raises the tops. They are never lowered, as entries above have no
 * group.
 *
 * OpenSM writes opensm.mcfdbs (log flag 0x40) within a run, when nothing is shown: the
 * plugin has it written again when records are shown.
 *
 * The alternative, opt.disable_multicast, gives no signal of joins, and the SA would deny
 * multicast to hosts.
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
	/*
	 * The plugin's engine in OpenSM's list, for the sweeper alone: OpenSM frees it
	 * before it deletes plugins. NULL before its setup.
	 */
	osm_routing_engine_t *engine;
	ib_api_status_t (*build)(void *context, osm_mgrp_box_t *box); /* its callback */
	/* Under osm->lock; written with it held exclusively. */
	bool ours;	  /* the plugin routes multicast: the engine has the callback */
	bool hushed;	  /* max_block_in_use of all records is -1 */
	uint32_t calls;	  /* of the engine so far */
	uint32_t request; /* index of the MLID of our request, while not hushed */
	bool tops;	  /* use_mfttop when it was last hushed */
	/* The engine was called since groups were last read; on any thread. */
	atomic_bool due;
};

/* Whether OpenSM's options allow it; if not, *reason is set. */
bool mcast_quiet_is_possible(const struct mcast_quiet *quiet, const char **reason);

/*
 * Have the plugin, or OpenSM, route multicast from the next run on. OpenSM's run then
 * makes the trees of all groups and sends all blocks. On the sweeper, with osm->lock held
 * exclusively.
 */
void mcast_quiet_take(struct mcast_quiet *quiet);
void mcast_quiet_leave(struct mcast_quiet *quiet);
bool mcast_quiet_is_ours(const struct mcast_quiet *quiet);

/*
 * The engine's callback for one MLID; returns whether it is the first since `due` was
 * cleared.
 */
bool mcast_quiet_collect(struct mcast_quiet *quiet, osm_mgrp_box_t *box);

/*
 * Whether a run since records were shown has not called the engine: it has sent all
 * blocks, without ended groups. With osm->lock held.
 */
bool mcast_quiet_is_missed(const struct mcast_quiet *quiet);

/*
 * Raises MulticastFDBTop, where switches have it, to this number of blocks; OpenSM
 * handles the answers. With osm->lock held, shared at least.
 */
void mcast_quiet_raise_tops(struct mcast_quiet *quiet, uint32_t blocks);

/*
 * The number of blocks of MLIDs that any switch forwards: up to its MulticastFDBCap, or
 * its MulticastFDBTop where that is set. With osm->lock held, shared at least.
 */
uint32_t mcast_quiet_blocks_passed(const struct mcast_quiet *quiet);

/* The blocks of records that may have entries, for one plan; all others are empty. */
struct mcast_shown {
	uint64_t *cells; /* bits: [block][switch] */
	/*
	 * False: all blocks may, as at first, with another plan and after trees of
	 * OpenSM's.
	 */
	bool valid;
};

/* The number of words in `cells`. */
size_t mcast_quiet_words(uint32_t num_switches);

/*
 * Shows tables of the plan's switches in OpenSM's records. False if the engine was called
 * more than `calls` times by now: do it again. Writes blocks that have entries or may
 * have had some. Takes osm->lock exclusively, for one block of 32 MLIDs at a time.
 */
bool mcast_quiet_show(struct mcast_quiet *quiet, const struct pm_plan *plan,
		      const struct pm_mfts *tables, uint32_t calls,
		      struct mcast_shown *shown);

#endif
