/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that operators write while OpenSM runs: a thread looks at them and leaves in
 * memory what they say, so that no sweep waits for a file.
 *
 *     portmajor.drained   in OpenSM's cache folder, written by `portmajor drain`
 *                         (drain.h): one for all fabrics, as GUIDs are of one only
 *     GUID files          of OpenSM's options, see roles.h
 *     clear-holds         in the store's folder, written by `portmajor release`
 *                         (held_links.h); it goes when it was read
 *     rebalance           in the store's folder, written by `portmajor rebalance`
 *                         (rebalance.h); it goes when it was read
 *
 * It looks when the plugin is loaded, at each operator_files_look, and at all but the
 * GUID files once a second. portmajor.drained and rebalance are followed by the repairer,
 * which is told of them. Of the others, what is found in the middle of a sweep may be too
 * late for it: operator_files_routed then asks OpenSM for another sweep, as the thread
 * does for what it finds between sweeps. Only the first sweep waits, within bounds, for
 * the first look (sweep.c).
 */
#ifndef PORTMAJOR_OPERATOR_FILES_H
#define PORTMAJOR_OPERATOR_FILES_H

#include "store.h"

#include <portmajor/fabric/roles.h>
#include <portmajor/policy/drain.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

/* Opaque. */
struct operator_files;

/*
 * The rules and the store are borrowed. roles_only: nothing else is looked at. NULL
 * without memory.
 */
struct operator_files *operator_files_start(osm_opensm_t *osm, struct store *store,
					    const struct pm_role_rules *rules,
					    bool roles_only);

/* See worker_stop; false: the rules and the store must stay, too. */
bool operator_files_stop(struct operator_files *files, double until_ms);

/*
 * A sweep begins: has the thread look at all files soon, at clear-holds from then on
 * where its path is not NULL. It takes over the path.
 */
void operator_files_look(struct operator_files *files, char *clear_holds);

/* Whether the first look is not over, and nobody has given up; waits up to 10 ms. */
bool operator_files_await(struct operator_files *files);

/* Waits for it no longer. True: it is not over. */
bool operator_files_give_up(struct operator_files *files);

/* The sweep has routed, with these. */
void operator_files_routed(struct operator_files *files, const struct pm_roles *roles);

/*
 * Has this called, on the thread that reads, when there may be other drains, or a request
 * to rebalance; NULL: nothing. What was called before is not, nor under way, afterwards.
 * On main.
 */
void operator_files_on_request(struct operator_files *files,
			       void (*log_error)(void *context), void *context);

/*
 * Replace what is in use by what was read; whether it differs. What cannot be read is
 * logged once and changes nothing.
 */
bool operator_files_take_drains(struct operator_files *files, struct pm_drains *now);
bool operator_files_take_roles(struct operator_files *files, struct pm_roles *now);

/* Whether operator_files_take_drains would. */
bool operator_files_has_drains(struct operator_files *files, const struct pm_drains *now);

/*
 * The same, but once for each change of the file, however often that is read: for a sweep
 * that is asked for so that they are taken, as it may not take them.
 */
bool operator_files_claim_drains(struct operator_files *files,
				 const struct pm_drains *now);

/* The text of clear-holds, for the caller to free; NULL: nobody asks for it. */
char *operator_files_take_clear_holds(struct operator_files *files);

/* What an operator asks of rebalancing. */
struct rebalance_request {
	uint32_t rate; /* LFT blocks per second; 0: as configured */
};

/*
 * Takes the newest request for rebalancing that was not taken; whether there is one. On
 * any thread.
 */
bool operator_files_take_rebalance(struct operator_files *files,
				   struct rebalance_request *request);

/* Why portmajor.drained is not followed, or "". */
void operator_files_drains_error(struct operator_files *files, struct pm_error *why);

#endif
