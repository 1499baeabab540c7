/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is kept of a fabric on disk: a folder in OpenSM's cache folder, named for the port
 * that OpenSM uses, and in it
 *
 *     plan         the base
 *     drifting     the plan in force, only while ports run with other LIDs or planes than
 *                  planned
 *     holds        links that went down lately
 *     state, ..    what others than this module write, see store_path
 *     lock         locked by the process that uses the folder
 *
 * The plan that is used is the one in our folder, or a later one in another folder if it
 * is a plan for the fabric that is seen: that of the adapter that was here before, of
 * another OpenSM on this machine that was the master meanwhile, one copied from another
 * machine, or portmajor.plan of versions that had no folders. If ours had none, and
 * nobody uses that folder, it goes when the plan has been written to ours.
 *
 * A file of ours that cannot be read, is damaged, or was made for another LMC or fabric
 * is never trusted nor lost: it gets another name, and the plan is made from the fabric
 * and the LIDs in it.
 *
 * Files are written by the writer's thread alone (worker.h): the sweeper hands over what
 * is to be in them, and the newest of each is written. LIDs of a new plan wait for it 2 s
 * at most (store_await_plan, sweep.c): killed in between, OpenSM has to find them again
 * in guid2lid and in the ports, as it does. What cannot be written is tried
 * again, at each change and in each round. Files are read on the sweeper thread, where
 * nothing can be repaired yet: when OpenSM has started, or comes out of standby. All of
 * it on that thread but where it says otherwise.
 */
#ifndef PORTMAJOR_STORE_H
#define PORTMAJOR_STORE_H

#include "planning.h"
#include "say.h"
#include "worker.h"

#include <portmajor/flap.h>

/* Opaque. */
struct store;

/* The writer's rounds are to call store_write. NULL without memory. */
struct store *store_start(osm_log_t *log, struct worker *writer);

/* The writer has ended. */
void store_stop(struct store *store);

/*
 * The port is known, which it is from the first sweep on. The first time its folder is
 * made and locked here; later the writer does it, if it could not be done or somebody
 * has removed it. True: it was the first time.
 */
bool store_open(struct store *store, uint64_t port_guid);

/*
 * The path of a file in the folder; the caller frees it. NULL: it is not open, or no
 * memory. On any thread.
 */
char *store_path(struct store *store, const char *name);

/* The path of a file beside the folders of all fabrics, as store_path. On any thread. */
char *store_path_beside(const struct store *store, const char *name);

/* The port's GUID, 0: not known yet. On any thread. */
uint64_t store_guid(struct store *store);

struct store_request {
	const struct pm_fabric *fabric; /* as it is seen */
	uint8_t lmc;
	struct pm_flaps *flaps; /* the holds go here; NULL: nobody wants them */
	uint64_t now_ms;	/* of their clock */
};

/*
 * Loads the plan, if there is one for this fabric, into planning; and the holds. -ENOMEM:
 * nothing is loaded, and good files are as they were.
 */
int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err);

/* Whether there was a plan in our folder when it was opened, or was written there. */
bool store_has_plan(struct store *store);

/* Whether another folder has a later plan for this fabric than ours; store_load takes it.
 */
bool store_has_later(struct store *store, const struct store_request *request);

/* Have the plans, and the holds, written if they have changed. Wait for no file. */
void store_save(struct store *store, struct planning *planning);
void store_save_holds(struct store *store, const struct pm_flaps *flaps, uint64_t now_ms);

/*
 * Whether the plans that were handed over last are still to be written, and that has not
 * failed; waits up to 10 ms for it.
 */
bool store_await_plan(struct store *store);

/* A round of the writer, on its thread: writes what is to be written. */
void store_write(struct store *store);

/* Why the files are not those of the plans, or "". On any thread. */
void store_trouble(struct store *store, struct pm_error *why);

#endif
