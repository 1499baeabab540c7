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
 * What cannot be written is tried again, at each change and by store_retry. On the
 * sweeper thread but where it says otherwise, with no lock of OpenSM's held: a disk may
 * be slow.
 */
#ifndef PORTMAJOR_STORE_H
#define PORTMAJOR_STORE_H

#include "planning.h"
#include "say.h"

#include <portmajor/flap.h>

/* Opaque. */
struct store;

/* NULL without memory. */
struct store *store_start(osm_log_t *log);

/* The last one that may wait for a disk: writes what is still to be written. */
void store_stop(struct store *store);

/*
 * The port is known, which it is from the first sweep on: its folder is made and locked,
 * unless that was done already. True if it was done now.
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

/* Whether there is a plan in our folder. */
bool store_has_plan(struct store *store);

/* Whether another folder has a later plan for this fabric than ours; store_load takes it.
 */
bool store_has_later(struct store *store, const struct store_request *request);

/* Write the plans, and the holds, if they have changed. */
void store_save(struct store *store, struct planning *planning);
void store_save_holds(struct store *store, const struct pm_flaps *flaps, uint64_t now_ms);

/* Tries again to write what could not be. On state's thread. */
void store_retry(struct store *store);

/* Why the files are not those of the plans, or "". On any thread. */
void store_trouble(struct store *store, struct pm_error *why);

#endif
