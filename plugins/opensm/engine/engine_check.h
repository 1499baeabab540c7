/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges the tables of another engine, when OpenSM went on to one, or in shadow mode:
 * pairs of hosts that cables join and tables do not, and credit loops. It shares nothing
 * with routing (portmajor/check/check.h).
 *
 *     sweeper: put a copy ---> thread: judge ---> state, log
 *
 * Only the newest copy is judged: 10 ms of CPU time for 648 hosts, 90 ms for 5,832. With
 * several virtual lanes a credit loop is no proof of a deadlock, and is not looked for:
 * such engines choose a lane for each pair of hosts, and to ask for 34 million of them
 * under OpenSM's lock would take too long.
 */
#ifndef PORTMAJOR_ENGINE_CHECK_H
#define PORTMAJOR_ENGINE_CHECK_H

#include "osm/engine_tables.h"

#define ENGINE_CHECK_TEXT 700

struct engine_verdict {
	char engine[ENGINE_NAME_SIZE];
	bool lanes;	    /* several virtual lanes, so credit loops are not judged */
	uint64_t connected; /* as in struct pm_check_pairs */
	uint64_t reachable;
	/* What is wrong, with a remedy; "": nothing. */
	char cut[ENGINE_CHECK_TEXT], credit_loop[ENGINE_CHECK_TEXT];
};

struct engine_check;

/* Called on the thread, between worker_enter and worker_leave (worker.h). */
typedef void engine_check_note(void *context, const struct engine_verdict *verdict);

/* Starts the thread; NULL without memory. */
struct engine_check *engine_check_start(osm_opensm_t *osm, engine_check_note *note,
					void *context);

/* Hands a copy over, which may be NULL. On any thread; does not wait. */
void engine_check_put(struct engine_check *check, struct engine_tables *tables);

/*
 * Ends the thread, as worker_stop; `note` is not called any more. True: it has ended, and
 * check, which may be NULL, is freed. False: it still judges, and is left behind.
 */
bool engine_check_stop(struct engine_check *check, double until_ms);

/* -ENOMEM. O(switches x LIDs). */
int engine_check_judge(const struct engine_tables *tables,
		       struct engine_verdict *verdict);

#endif
