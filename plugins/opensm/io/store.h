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
 * another OpenSM on this machine that was the master meanwhile, or one copied from
 * another machine. If ours had none, and nobody uses that folder, it goes when the plan
 * has been written to ours.
 *
 * A file of ours that cannot be read, is damaged, or was made for another LMC or fabric
 * is never trusted nor lost: it gets another name (.bad-TIME), and the plan is made from
 * the fabric and the LIDs in it.
 *
 * Files are touched by the writer thread alone (worker.h): all functions here but
 * store_write return without waiting for a file. They belong to the sweeper thread where
 * nothing else is said.
 *
 * Reading: store_look asks for it, when OpenSM has started or comes out of standby, at
 * the beginning of a sweep; plans are read during its discovery. The sweeper waits for
 * the end of that, within bounds (store_await_look, sweep.c), and chooses among what is
 * in memory then. If a disk takes longer, the sweeper gives up (store_give_up): the plan
 * is made without a file, and files that were there get another name (.late-TIME) before
 * that plan, or holds, are written in their place.
 *
 * Writing: the sweeper hands over what is to be in files, and the newest of each is
 * written. LIDs of a new plan wait for it 2 s at most (store_await_plan, sweep.c): killed
 * in between, OpenSM has to find them again in guid2lid and in the ports, as it does.
 * What cannot be written is tried again, at each change and in each round.
 */
#ifndef PORTMAJOR_STORE_H
#define PORTMAJOR_STORE_H

#include "engine/planning.h"
#include "log.h"
#include "engine/worker.h"

#include <portmajor/policy/damping.h>

/* Opaque. */
struct store;

/* The writer's rounds are to call store_write. NULL without memory. */
struct store *store_start(osm_log_t *log, struct worker *writer);

/* The writer has ended. */
void store_stop(struct store *store);

/*
 * A sweep begins, and the port is known. The writer makes and locks its folder, the first
 * time, and whenever that could not be done or somebody has removed it. What an earlier
 * look has found is forgotten. True: it was the first time.
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
	struct pm_damping *flaps; /* the holds go here; NULL: nobody wants them */
	uint64_t now_ms;	  /* of their clock */
};

/* Has the writer read all plans there are, soon. */
void store_look(struct store *store);

/* Whether that is not over, and nobody has given up; waits up to 10 ms for it. */
bool store_await_look(struct store *store);

/* Waits no longer, until the writer has read again. True: it is not over. */
bool store_give_up(struct store *store);

/*
 * Loads the plan, if the last look has found one for this fabric, into planning; and the
 * holds. -EAGAIN: the look is not over; -ENOMEM: nothing is loaded, good files are as
 * they were, and store_look has to be called again.
 */
int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err);

/*
 * Whether there was a plan in our folder when it was opened, or was written there. Known
 * after the first look.
 */
bool store_has_plan(struct store *store);

/*
 * Whether the last look has found a later plan for this fabric than ours in another
 * folder; store_load takes it. False if it is not known.
 */
bool store_has_later(struct store *store, const struct store_request *request);

/* Have the plans, and the holds, written if they have changed. Wait for no file. */
void store_save(struct store *store, struct planning *planning);
void store_save_holds(struct store *store, const struct pm_damping *flaps,
		      uint64_t now_ms);

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
