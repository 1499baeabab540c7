/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that operators write while OpenSM runs: a thread reads them into memory, so
 * that no sweep waits for a file.
 *
 *     portmajor.drained   in OpenSM's cache folder, written by `portmajor drain`
 *                         (drain_file.h): one for all fabrics, as a GUID is in one only
 *     GUID files          of OpenSM's options, see roles.h
 *     portmajor.conf      the configuration (config.h), if there is a file
 *     clear-holds         in the store's folder, written by `portmajor release`
 *                         (held_links.h); removed when read
 *     rebalance           in the store's folder, written by `portmajor rebalance`
 *                         (rebalance.h); removed when read
 *
 * The thread reads all files when the plugin is loaded and at each operator_files_poll,
 * and all but the GUID files and the configuration once a second. It wakes the repairer
 * for portmajor.drained and rebalance. Changes of the other files may be too late for a
 * running sweep: then operator_files_routed requests another sweep. Between sweeps the
 * thread requests it. Only the first sweep waits for the first reading, within bounds
 * (sweep.h).
 */
#ifndef PORTMAJOR_OPERATOR_FILES_H
#define PORTMAJOR_OPERATOR_FILES_H

#include "store.h"

#include <portmajor/files/config.h>
#include <portmajor/files/role_files.h>
#include <portmajor/files/drain_file.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

struct operator_files;

/*
 * The store is borrowed. config is the configuration as read, or the defaults; then
 * misread is the error. In shadow mode only the configuration and the GUID files are
 * read. NULL without memory.
 */
struct operator_files *operator_files_start(osm_opensm_t *osm, struct store *store,
					    const struct pm_config *config,
					    const struct pm_error *misread);

/* See worker_stop; false: the store must stay, too. */
bool operator_files_stop(struct operator_files *files, double until_ms);

/*
 * At the beginning of a sweep: has the thread read all files soon, and clear-holds from
 * then on if its path is not NULL. Takes over the path.
 */
void operator_files_poll(struct operator_files *files, char *clear_holds);

/* Whether the first reading is neither over nor given up; waits for it up to 10 ms. */
bool operator_files_await(struct operator_files *files);

/* Gives up waiting for the first reading. True: it is not over. */
bool operator_files_give_up(struct operator_files *files);

/* After routing with these roles. */
void operator_files_routed(struct operator_files *files, const struct pm_roles *roles);

/*
 * Sets a callback, on the reading thread, for new drains or requests to rebalance; NULL:
 * none. The previous one is neither called nor running afterwards. On main.
 */
void operator_files_on_request(struct operator_files *files,
			       void (*log_error)(void *context), void *context);

/*
 * Replace the data in use by the data read; return whether they differ. An unreadable
 * file is logged once and changes nothing.
 */
bool operator_files_take_drains(struct operator_files *files, struct pm_drains *now);
bool operator_files_take_roles(struct operator_files *files, struct pm_roles *now);

/*
 * Takes the configuration, if another one was read, or the error of the file, which
 * leaves *now alone. Returns whether there is either.
 */
bool operator_files_take_config(struct operator_files *files, struct pm_config *now,
				struct pm_error *misread);

/* Whether operator_files_take_drains would return true. */
bool operator_files_has_drains(struct operator_files *files, const struct pm_drains *now);

/*
 * The same, but true once for each change of the file. It is for requesting a sweep,
 * which may not take the drains.
 */
bool operator_files_claim_drains(struct operator_files *files,
				 const struct pm_drains *now);

/* The text of clear-holds, for the caller to free; NULL: no request. */
char *operator_files_take_clear_holds(struct operator_files *files);

/* A request to rebalance. */
struct rebalance_request {
	uint32_t rate; /* LFT blocks per second; 0: as configured */
};

/* Takes the newest request for rebalancing; false: none. On any thread. */
bool operator_files_take_rebalance(struct operator_files *files,
				   struct rebalance_request *request);

/* Writes why portmajor.drained is not followed, or "". */
void operator_files_drains_error(struct operator_files *files, struct pm_error *why);

#endif
