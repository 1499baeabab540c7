/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operators' requests in force (requests.h): the file `requests` in the store's folder,
 * and the socket `control` beside it (control.h), while the folder is open.
 *
 * The writer's thread reads the file when the folder is opened. In each round it takes
 * all requests that wait on the socket, applies them to a copy, in order, writes the file
 * once, and only then makes them known: drains and requests to rebalance to the repairer,
 * releases to the sweeper with a sweep, acknowledgements to the state. So what was
 * answered is in force after a restart. If the file cannot be written, all are refused.
 * Done releases and rebalancing leave the file.
 *
 * Each request that changes something has a number. The list of drains has that of its
 * last change, the state that of the list which its tables follow: so what the state says
 * of a former drain of the same part is not taken for an answer.
 *
 * A file that others could have written, or with an error, is not followed: requests are
 * refused until it is removed or mended, which is looked for in each round.
 *
 * A request to check tables is not kept: it goes to the check (table_check.h), whose
 * number it gets.
 *
 * In shadow mode requests are kept, and only acknowledgements are followed.
 */
#ifndef PORTMAJOR_KEPT_REQUESTS_H
#define PORTMAJOR_KEPT_REQUESTS_H

#include "control.h"
#include "events.h"
#include "operator_files.h"
#include "store.h"
#include "engine/table_check.h"

#include <portmajor/files/requests.h>

struct kept_requests;

/* All borrowed until kept_requests_stop; control may be NULL. NULL without memory. */
struct kept_requests *kept_requests_start(struct store *store, struct worker *writer,
					  struct control *control,
					  struct operator_files *files, bool shadow);

/* Has requests to check tables served; the check is borrowed. On main, at the start. */
void kept_requests_serve_checks(struct kept_requests *requests,
				struct table_check *check);

/* After the writer has ended. */
void kept_requests_stop(struct kept_requests *requests);

/* ---- On the writer's thread ---- */

/*
 * The first part of a round: reads the file, follows what waits, and writes the file.
 * `last`: OpenSM ends, and the socket goes. The log gets why the file is not followed.
 */
void kept_requests_write(struct kept_requests *requests,
			 const struct pm_request_facts *facts, struct events *events,
			 osm_log_t *log, bool last);

/* The second part, after the state: publishes it, NULL: as before, and completes. */
void kept_requests_publish(struct kept_requests *requests, const json_t *state);

/*
 * Takes over requests from another place (store_take_source), whose OpenSM was the master
 * of this fabric (pm_requests_inherit). On failure those here stay.
 */
void kept_requests_inherit(struct kept_requests *requests, const char *place);

/* What is in force, borrowed until the next round. */
const struct pm_requests *kept_requests_now(const struct kept_requests *requests);

/* ---- On any thread ---- */

/*
 * Sets a callback, on the writer's thread, for new drains or requests to rebalance; NULL:
 * none. The previous one is neither called nor running afterwards. On main.
 */
void kept_requests_on_change(struct kept_requests *requests,
			     void (*callback)(void *context), void *context);

/* Writes why the file is not followed, or "". */
void kept_requests_error(struct kept_requests *requests, struct pm_error *why);

/*
 * Replaces the drains in use by those in force. 1: they differ; 0: at most their numbers
 * do, and *now gets that of the whole; -ENOMEM.
 */
int kept_requests_take_drains(struct kept_requests *requests, struct pm_drains *now);

/* Whether there are others; *differ: not only by their numbers. */
bool kept_requests_has_drains(struct kept_requests *requests, const struct pm_drains *now,
			      bool *differ);

/*
 * Whether other drains are in force than these; true once for each change. It is for
 * requesting a sweep, which may not take them.
 */
bool kept_requests_claim_drains(struct kept_requests *requests,
				const struct pm_drains *now);

/*
 * Gives a copy of the releases that wait, which the caller frees. False: there are none,
 * or no memory. kept_requests_released ends those that were taken, when the holds are
 * handed to the store.
 */
bool kept_requests_take_releases(struct kept_requests *requests,
				 struct pm_request_parts *releases);
bool kept_requests_has_releases(struct kept_requests *requests);
void kept_requests_released(struct kept_requests *requests);

/*
 * Takes a request to rebalance; *rate: LFT blocks per second, 0: as configured. False:
 * there is none. kept_requests_rebalanced ends the one that was taken.
 */
bool kept_requests_take_rebalance(struct kept_requests *requests, uint32_t *rate);
void kept_requests_rebalanced(struct kept_requests *requests);

#endif
