/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fabric's files: a folder in OpenSM's cache folder, named after the port that OpenSM
 * uses, with
 *
 *     plan         the base
 *     drifting     the plan in force, only while ports run with other LIDs or planes than
 *                  planned
 *     holds        links that went down lately
 *     state, ..    of other modules, see store_path
 *     lock         locked by the process that uses the folder
 *
 * The plan in use is the one in the plugin's own folder, or a later one for this fabric
 * in another folder: that of a replaced adapter, of another OpenSM on this machine that
 * was the master meanwhile, or a copy from another machine. If the own folder had no
 * plan, the other folder is removed, if unused, when the plan has been written to the own
 * one; plans and holds in it that were not used stay there. The folder of an OpenSM that
 * ran beside this one, as its former master, is left: `portmajor status` shows its end.
 *
 * The own folder is read even while another process has it locked, for example a former
 * OpenSM that hangs in a disk; it is written when the lock is free. Only the folder's
 * owner can open the lock, so no other user can hold it.
 *
 * No plan, drifting plan or holds in the own folder is replaced or removed unless this
 * process has read and used, or written, that very version of the file: any other is
 * renamed before. One function, clear() in store.c, sees to that at each write. A file
 * that is unreadable, damaged, for another LMC or fabric, or that others could have
 * written, is renamed to NAME.bad-TIME; one that was not read in time, or has changed
 * since, to NAME.late-TIME. If it cannot be renamed, nothing is written. The plan is then
 * made from the fabric and its LIDs.
 *
 * Only the writer thread (worker.h) touches files: all functions but store_write return
 * without waiting for a file. They are for the sweeper thread unless noted.
 *
 * Reading: store_poll requests it at the beginning of a sweep, after OpenSM's start or
 * standby; plans are read during its discovery. The sweeper waits for that, within bounds
 * (store_await_poll, sweep.h), and then chooses. If a disk takes longer, it gives up
 * (store_give_up), and the plan is made without a file.
 *
 * Writing: the sweeper hands over contents, and the newest of each file is written. LIDs
 * of a new plan wait for it 2 s at most (store_await_plan, sweep.h): an OpenSM killed in
 * between finds them in guid2lid and in the ports. Failed writes are retried at each
 * change and in each round.
 */
#ifndef PORTMAJOR_STORE_H
#define PORTMAJOR_STORE_H

#include "engine/planning.h"
#include "log.h"
#include "engine/worker.h"

#include <portmajor/policy/damping.h>

struct store;

/* The writer's rounds must call store_write. NULL without memory. */
struct store *store_start(osm_log_t *log, struct worker *writer);

/* After the writer has ended. */
void store_stop(struct store *store);

/*
 * Called at the beginning of a sweep, when the port is known. Has the writer make and
 * lock the port's folder, the first time, and after a failure or removal. Forgets earlier
 * readings. True: the first time.
 */
bool store_open(struct store *store, uint64_t port_guid);

/*
 * The path of a file in the folder; the caller frees it. NULL: it is not open, or no
 * memory. On any thread.
 */
char *store_path(struct store *store, const char *name);

/* The same of a file that is only read, once the folder is known, open or not. */
char *store_path_read(struct store *store, const char *name);

/*
 * How often the folder was opened; 0: it is not open. On any thread.
 */
uint64_t store_openings(struct store *store);

/* The port's GUID, 0: not known yet. On any thread. */
uint64_t store_guid(struct store *store);

struct store_request {
	const struct pm_fabric *fabric; /* as discovered */
	uint8_t lmc;
	struct pm_damping *damping; /* filled with the holds; NULL: not wanted */
	uint64_t now_ms;	    /* time of the damping's clock */
};

/* Has the writer read all plans soon. */
void store_poll(struct store *store);

/* Whether this reading is neither over nor given up; waits for it up to 10 ms. */
bool store_await_poll(struct store *store);

/* Gives up waiting, until the writer has read again. True: the reading is not over. */
bool store_give_up(struct store *store);

/*
 * Loads the plan for this fabric that was read last, if any, into planning, and the
 * holds. -EAGAIN: the reading is not over; -ENOMEM: nothing is loaded, and store_poll has
 * to be called again.
 */
int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err);

/*
 * The plans that were read last are not to be used, as LIDs are assigned anew: new ones
 * replace them.
 */
void store_discard(struct store *store);

/*
 * Whether the own folder had a plan when opened or found locked, or got one. Known after
 * the first reading.
 */
bool store_has_plan(struct store *store);

/*
 * Whether the last reading found a later plan for this fabric in another folder;
 * store_load takes it. False if unknown.
 */
bool store_has_later(struct store *store, const struct store_request *request);

/* This port's OpenSM is the master, beside this one: its folder will not be removed. On
 * the writer's thread. */
void store_note_master(struct store *store, uint64_t port_guid);

/*
 * What was renamed to NAME.bad-TIME or .late-TIME since the last call, and why; false:
 * nothing more. On the writer's thread.
 */
bool store_take_aside(struct store *store, struct pm_error *what);

/* How many such plans the folder has; 0: none, or it is not open. Likewise. */
uint32_t store_count_aside(struct store *store);

/* Whether the cache folder has a plan of this port. On the writer's thread. */
bool store_has_plan_of(const struct store *store, uint64_t port_guid);

/*
 * The folder, with a slash at its end, whose plan was taken over since the last call, or
 * NULL; the caller frees it. Its files stay until this is called. On the writer's thread.
 */
char *store_take_source(struct store *store);

/* Have the plans, and the holds, written after a change. They wait for no file. */
void store_save(struct store *store, struct planning *planning);
void store_save_holds(struct store *store, const struct pm_damping *damping,
		      uint64_t now_ms);

/* Whether all holds that were handed over are on disk. On any thread. */
bool store_holds_written(struct store *store);

/* Whether writing the last plans is neither over nor failed; waits up to 10 ms for it. */
bool store_await_plan(struct store *store);

/* A round of the writer, on its thread: writes pending files. */
void store_write(struct store *store);

/* Writes why the files differ from the plans, or "". On any thread. */
void store_trouble(struct store *store, struct pm_error *why);

#endif
