/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin: its rooms, who comes into them on which thread, and under which lock.
 *
 *     plugin.c    loads and unloads, hands OpenSM's events on
 *     sweep.c     the moments of a sweep: what is done when
 *       planning  the plan in force                       no OpenSM
 *       view      seen, held back, unfit: to tables       no OpenSM
 *       repair    finds and mends losses                  asks
 *       move      goes over to other cables               asks
 *       recover   reads tables back                       asks
 *       ask       SMPs of our own, as many as the wire takes
 *       shadow    what would be sent in shadow mode
 *       snapshot, lids, tables    OpenSM's structures, by value
 *       state     what the world is told                  a thread of its own
 *       alarm     asks for a run when a hold ends         a thread of its own
 *       holds     flapping links: what the operator is told, and may clear
 *       drains    what operators want out of use          a thread of its own
 *       store     plans and holds on disk
 *       wait, say a clock and conditions; lines in the log
 *
 * Each includes only what stands below it, but for the two on top.
 *
 * Threads, and what they touch:
 *
 *   OpenSM's sweeper      all of struct plugin, planning, view, tables, and what the
 *                         others say is of the sweeper thread: no lock of ours; files
 *                         of the store, under the store's lock
 *   OpenSM's dispatcher   ask's slots, under ask's lock; OpenSM's handlers for answers
 *                         take osm->lock, never with ask's held
 *   OpenSM's receivers    repair's list of traps, under repair's lock; they hold
 *                         osm->lock, shared, meanwhile
 *   state's writer        the document handed over, under state's lock; files, the
 *                         store's under the store's lock
 *   alarm                 the moment when to ask for a run, under alarm's lock; sets
 *                         force_reroute and signals a sweep, as OpenSM's console does
 *   drains' watch         the file's stamp; sets force_heavy_sweep and signals a sweep
 *   OpenSM's main thread  creates and deletes the plugin, before and after all others
 *
 * Locks: osm->lock is taken before ours or without them, never after. No two of ours are
 * held together. With osm->lock held nothing waits, and no file is touched but
 * OpenSM's log.
 */
#ifndef PORTMAJOR_PLUGIN_H
#define PORTMAJOR_PLUGIN_H

#include "alarm.h"
#include "ask.h"
#include "drains.h"
#include "holds.h"
#include "lids.h"
#include "planning.h"
#include "repair.h"
#include "shadow.h"
#include "snapshot.h"
#include "state.h"
#include "store.h"
#include "tables.h"
#include "view.h"

#include <portmajor/config.h>
#include <portmajor/fitness.h>
#include <portmajor/roles.h>

#define PLUGIN_CHANGE_TEXT 512

/* A routing run that is not logged yet. */
struct plugin_run {
	bool pending;
	char change[PLUGIN_CHANGE_TEXT];
	struct tables_written written;
	double milliseconds; /* of computing, and how many of them under the lock */
	double locked_ms;
	bool recomputed; /* under the lock */
};

struct plugin {
	osm_opensm_t *osm;
	struct pm_config config;
	struct pm_error misread; /* why the configuration file is not used, or "" */
	struct pm_roles roles;	 /* of OpenSM's GUID files */
	struct pm_error unread;	 /* why these could not be read, last time */

	struct planning planning;
	struct pm_evidence *evidence; /* of LIDs before the first plan, or NULL */
	struct view view;
	struct tables tables;
	struct store *store;
	struct ask *ask;       /* NULL without memory: nothing is asked */
	struct repair *repair; /* NULL: no early repair */
	struct alarm *alarm;   /* NULL: no memory for it */
	struct drains *drains; /* NULL: no memory for it */
	struct state *state;   /* NULL: no memory for it */

	struct pm_fitness *switches; /* what those of the last sweep say */
	uint32_t num_switches;
	char unfit[PM_FITNESS_TEXT], unfit_told[PM_FITNESS_TEXT]; /* the bad ones */

	struct pm_error failure;	 /* why discovery came to nothing, or "" */
	struct pm_yield yield;		 /* who routes, by how much is served */
	uint64_t returns_in_ms;		 /* then, or UINT64_MAX */
	struct pm_flap_holds told;	 /* what was last logged of held links */
	struct snapshot_digest expected; /* what the tables were made for */
	double look_again;  /* wait_clock_ms when they change without an event */
	bool asked;	    /* OpenSM has called the engine */
	int honor_guid2lid; /* OpenSM's option to be restored, -1: none */
	char *apart;	    /* what was last logged of switches without a path */

	struct lids_given given; /* since the last log line */
	double milliseconds;	 /* of computing since then */
	uint64_t runs, moves;
	struct plugin_run run;
	struct shadow shadow; /* of our tables, in shadow mode */
};

#endif
