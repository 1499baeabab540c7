/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin: its rooms, who comes into them on which thread, and under which lock.
 *
 *     plugin.c    loads and unloads, hands OpenSM's events on
 *     sweep.c     the moments of a sweep: what is done when
 *     routing.c   from a fabric to tables
 *     tell.c      what the log says of it
 *       planning  the plan in force                       no OpenSM
 *       view      seen, held back, unfit: to tables       no OpenSM
 *       beside    repairs while OpenSM sweeps             a thread of its own
 *       repair    finds and mends losses                  asks
 *       move      goes over to other cables               asks
 *       ahead     sends what needs an order               asks
 *       recover   reads tables back                       asks
 *       ask       SMPs of our own, as many as the wire takes
 *       shadow    what would be sent in shadow mode
 *       glance    what OpenSM has: is it what it was?
 *       snapshot, lids, tables    OpenSM's structures, by value
 *       state     what the world is told                  on the writer's thread
 *       activity  phases, repairs by phase, balance        no OpenSM
 *       alarm     asks for a run when a hold ends         a thread of its own
 *       watch     the files that operators write          a thread of its own
 *       holds     flapping links: what the operator is told, and may clear
 *       store     plans and holds on disk                 on the writer's thread
 *       candidates  plans on disk that may be this fabric's    no OpenSM
 *       worker    a thread that may wait for files
 *       wait, say a clock and conditions; lines in the log
 *
 * Each includes only what stands below it; the four on top share struct plugin.
 *
 * Threads:
 *
 *   main          OpenSM's first: creates the plugin before OpenSM reports anything, and
 *                 deletes it when all threads of OpenSM that call us have ended
 *   sweeper       OpenSM's: the engine's callback and all events but traps
 *   dispatcher    OpenSM's, one for each processor: answers to SMPs, and traps
 *   writer      ours: reads plans and holds, and writes all files, for store and state
 *   watch's     ours: looks at the files that operators write
 *   alarm's     ours
 *   beside's    ours: repairs while OpenSM sweeps
 *
 * Nothing of ours on OpenSM's threads touches a file, but OpenSM's log, and main the
 * configuration when the plugin is loaded. The sweeper waits for what the others read or
 * write in three places, within bounds (sweep.c): for files to be read, when the first
 * discovery is over (5 s) or the first after standby (2 s); and with LIDs of a plan that
 * is new, for it to be on disk (2 s). Repairs never wait.
 *
 * Who touches what, where that is not the sweeper alone (and main, before and after):
 *
 *   datum                       written by            read by               lock
 *   ask: slots' done, outcome,  dispatcher, who asks  who asks (6)          ask's
 *     data
 *   ask: slots' index, out;     who asks (6)          who asks, dispatcher  ask's (1)
 *     out, batch
 *   repair: lids, num_lids,     who reports a trap,   who asks (6)          repair's
 *     first_trap, last_trap     who asks
 *   beside: open, busy, lost,   sweeper, beside's     sweeper, beside's     beside's
 *     done
 *   beside: halted              sweeper               beside's              none (7)
 *   beside: view, seen          sweeper, beside's     sweeper, beside's     none (6)
 *   plan that is lent           sweeper, before       sweeper, beside's     none
 *   state: document             sweeper, writer       writer                state's
 *   activity                    whoever notes it      writer                activity's
 *   state: what is in it        whoever has it: nothing is kept of what is handed over
 *   state: known .. told        writer                writer                none
 *   store: all below its lock   sweeper, writer       any                   store's
 *   store: lock (of the folder) writer                writer                none
 *   watch: all below its lock   sweeper, watch's      sweeper, watch's      watch's
 *   watch: stamps, what it told watch's               watch's               none
 *   worker: poked .. ended      any                   its thread, main      worker's
 *   worker: left                main                  its thread            its opensm
 *   alarm: due                  sweeper, alarm's      alarm's               alarm's
 *   leaving of alarm            main                  alarm's               alarm's
 *   plugin: repair, writer,     main                  any                   none (2)
 *     watch, store, state; ask,
 *     alarm, watch: osm, paths;
 *     store: log, cache
 *
 *   of OpenSM
 *   nodes, ports, switches,     dispatcher, sweeper   sweeper               osm->lock (3)
 *     lft, guid2lid
 *   subn.opt, engines           main, sweeper         sweeper               none
 *   subn.sm_state               dispatcher, sweeper   sweeper, writer       none (4)
 *   subn.force_reroute          alarm's, sweeper      sweeper               none (5)
 *   subn.force_heavy_sweep      watch's, sweeper      sweeper               none (5)
 *   osm_exit_flag               signal handlers       any                   none (4)
 *   log                         any                   any                   its own
 *
 *   (1) who asks reads batch, which nobody else writes, without
 *   (2) set by main before anything is reported, and never changed
 *   (3) what nobody else writes after discovery (sm_port_guid, max_ucast_lid_ho), the
 *       sweeper reads without
 *   (4) a word or less, read as OpenSM reads it
 *   (5) written before the signal that has the sweeper look, as OpenSM itself does
 *   (6) beside's thread while the gate is open and it is busy, else the sweeper, which
 *       shuts the gate and waits until it is not, with beside's lock
 *   (7) atomic
 *
 * Locks: osm->lock is taken before ours or without them, never after. No two of ours are
 * held together. None is held while a file is touched, but a worker's `opensm` while
 * OpenSM's log is, which main alone waits for; it stands around what our threads do with
 * OpenSM's memory, and a thread that hangs when OpenSM ends never passes it again. With
 * alarm's or that held the sweeper is signalled, under a lock of OpenSM's below which no
 * other is taken. With osm->lock held nothing waits, and no file is touched but OpenSM's
 * log.
 * tests/integration/test_threads.py looks for races.
 */
#ifndef PORTMAJOR_PLUGIN_H
#define PORTMAJOR_PLUGIN_H

#include "ahead.h"
#include "alarm.h"
#include "ask.h"
#include "glance.h"
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
#include "watch.h"
#include "worker.h"
#include "engine/repairer.h"

#include <portmajor/change.h>
#include <portmajor/config.h>
#include <portmajor/roles.h>

#define PLUGIN_CHANGE_TEXT 512

/* A routing run that is not logged yet. */
struct plugin_run {
	bool pending;
	char change[PLUGIN_CHANGE_TEXT];
	struct tables_written written;
	double milliseconds; /* of computing, and of them under the exclusive lock */
	double locked_ms;
	bool recomputed; /* under the lock */
	struct ahead ahead;
	uint32_t stale; /* entries taken out, see stale.h */
	uint32_t loops; /* LIDs that would have looped */
};

struct plugin {
	osm_opensm_t *osm;
	struct pm_config config;
	struct pm_error misread; /* why the configuration file is not used, or "" */
	struct pm_roles roles;	 /* of OpenSM's GUID files */

	struct planning planning;
	struct pm_evidence *evidence; /* of LIDs before the first plan, or NULL */
	struct view view;
	struct tables tables;
	struct pm_stale stale; /* entries to be taken out of the switches' tables */
	struct store *store;
	struct ask *ask;	   /* NULL without memory: nothing is asked */
	struct repair *repair;	   /* NULL: no early repair */
	struct repairer *repairer; /* NULL: nothing is sent but by OpenSM */
	struct alarm *alarm;	   /* NULL: no memory for it */
	struct worker *writer;
	struct watch *watch;
	struct state *state; /* NULL: no memory for it */

	bool discovered;      /* in this sweep, and nothing was routed since */
	struct ahead ahead;   /* what was sent since then */
	struct glance glance; /* what OpenSM has, and what the tables were made for */
	bool covered; /* plan and LIDs are those for what the glance has learnt, .. */
		      /* .. and were handed to OpenSM */
	bool again; /* what a repair found lost was seen: a later discovery has to tell */
	char unfit[PM_FITNESS_TEXT], unfit_told[PM_FITNESS_TEXT]; /* the bad ones */

	struct pm_error failure;    /* why discovery came to nothing, or "" */
	struct pm_yield yield;	    /* who routes, by how much is served */
	uint64_t returns_in_ms;	    /* then, or UINT64_MAX */
	struct pm_flap_holds told;  /* what was last logged of held links */
	double look_again;	    /* wait_clock_ms when they change without an event */
	bool asked;		    /* OpenSM has called the engine */
	int honor_guid2lid;	    /* OpenSM's option to be restored, -1: none */
	char apart[PM_CHANGE_TEXT]; /* last logged of switches without a path, or "" */

	struct lids_given given; /* since the last log line */
	double milliseconds;	 /* of computing since then */
	double locked_ms;	 /* of these under the exclusive lock */
	uint64_t runs;
	struct plugin_run run;
	struct shadow shadow; /* of our tables, in shadow mode */
};

#endif
