/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The published state from inside: what its files share.
 *
 *     state.c            notes of events, handing over, begin and end
 *     state_document.c   the document
 *     state_metrics.c    metrics of the document
 *     finding_metrics.c  metrics of what `portmajor status` finds in it
 *     state_write.c      the writer's rounds
 */
#ifndef PORTMAJOR_STATE_PARTS_H
#define PORTMAJOR_STATE_PARTS_H

#include "managers.h"
#include "mastership.h"
#include "missing_kept.h"
#include "places.h"
#include "state.h"

#include <jansson.h>

#include <portmajor/json/rows.h>
#include <portmajor/json/values.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define STATE_CHANGE_TEXT 512 /* bytes of a change in words */

/* Counts since OpenSM started. */
struct totals {
	uint64_t fallbacks;
	struct blocks {
		uint64_t times, sent, acked, least;
	} runs, repairs, transitions;
	uint64_t repair_restoring;
	struct {
		uint64_t hosts, cables, left, deferred;
	} returned;	       /* as in struct returned */
	uint64_t traps_taken;  /* as in struct throttle_wait: traps_ever */
	uint64_t stale, loops; /* as in struct state_run */
	double milliseconds;   /* computing time of runs */
};

/*
 * The last run, repair and so on; number 0: none. Structures and not JSON, since storing
 * must not fail; the texts that they point to are beside them.
 */
struct last {
	struct state_run run;
	struct lft_records_written written;
	struct repaired repair;
	struct transition_result transition;
	uint64_t transition_number;
	struct state_shadow shadow; /* 0: not in shadow mode */
	struct shadow_result found;
	bool would_route;
	char run_change[STATE_CHANGE_TEXT], shadow_change[STATE_CHANGE_TEXT];
	time_t run_time, repair_time, transition_time, shadow_time;
	time_t sweep_since, sweep_until; /* of a sweep that waits, or 0 */
	uint64_t sweep_traps;
};

/* Links that came back and were left to OpenSM, until it has routed: one event. */
struct left {
	const char *why; /* of the first; NULL: there are none */
	char names[RETURNS_TEXT];
};

struct state {
	/* of the sweeper's thread: */
	time_t started;
	/* under the mutex: */
	struct last last;
	struct totals totals;
	struct left left;
	uint32_t out_of_plan; /* in the last run */
	char engine[64];      /* of OpenSM's last engine; "": none */
	bool routed;	      /* whether any engine is known to have routed */
	bool active;	      /* the last engine was ours */
	bool declined;	      /* OpenSM called us, and we declined */
	struct pm_error why;
	struct engine_verdict verdict; /* engine "": none */

	osm_opensm_t *osm;

	struct store *store;
	struct worker *writer;
	struct events *events;
	char *prometheus; /* as configured */

	/* of the writer: */
	json_t *topology;		    /* the newest document, NULL: none yet */
	bool news;			    /* it was not written yet */
	double due;			    /* clock_ms to write it again */
	struct pm_error failed;		    /* last error in writing, as logged; or "" */
	struct pm_error logged;		    /* the store's error logged last */
	struct pm_error untold;		    /* last error in writing events, or "" */
	const struct pm_requests *requests; /* in this round */
	const struct pm_fabric *now;	    /* in this round, or NULL */
	uint64_t followed; /* number of the requests in force when last written */
	uint64_t times;	   /* that `previous` was replaced in this process */
	bool reserve_used; /* the state's reserve has content */
	bool unsaved;	   /* as last noted as an event */
	struct mastership mastership;
	struct managers managers;
	struct missing_kept missing;
	struct places places;
	double engine_due; /* clock_ms to tell that no engine routes; DBL_MAX: it was
			    * told; 0: one does */
	bool rested;	   /* OpenSM did not sweep when the state was last written */
	bool begun;	   /* `missing` has the data of the last process */
	json_t *inherited; /* the state of the former master, until it is used; or NULL */
	json_t *previous;  /* the last document compared for events, or NULL */
	json_t *tables_read; /* as last noted, or NULL */

	pthread_mutex_t mutex;	    /* also of the members above the writer's */
	json_t *document;	    /* to be written, or NULL */
	bool rebalancing;	    /* as last noted */
	json_t *latest;		    /* a copy of the last document, or NULL */
	uint64_t drains;	    /* number of those that state_renew had last */
	const struct pm_plan *plan; /* of the last document, shared, or NULL */

	struct activity activity;	/* of any thread */
	struct port_errors port_errors; /* of any thread */
	struct host_flaps host_flaps;	/* of any thread */
	_Atomic uint32_t port_error_limit;
	atomic_bool own_port_down;
};

/* ---- state_document.c; with the mutex held ---- */

/* Rows of members, with metrics: of struct last and of struct totals. */
extern const struct pm_json_row state_run_rows[], state_total_rows[];

/* A member of a document, or of an object in it (NULL: none); borrowed, or NULL. */
const json_t *state_member(const json_t *document, const char *object,
			   const char *member);

/* The whole document; NULL without memory. */
json_t *state_make_document(const struct state *state, const struct state_facts *facts);

/* The members that state_renew replaces; NULL without memory. */
json_t *state_make_news(const struct state *state, const struct view *view,
			const char *drains_unread, const struct unset *unset);

/* The member on another engine's tables. */
json_t *state_make_verdict(const struct state *state);
json_t *state_make_sweep(const struct state *state);

/* ---- state_metrics.c ---- */

/* Prints the metrics of a document (arg); 0. */
int state_print_metrics(FILE *out, const void *document);

/* ---- finding_metrics.c ---- */

/* Slow links between switches that are not drained. */
json_int_t finding_count_degraded(const json_t *document);

/* Prints the numbers of findings. */
void finding_print_metrics(FILE *out, const json_t *document, const char *labels);

#endif
