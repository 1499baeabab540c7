/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps the state document, counters and Prometheus metrics, and writes them on the
 * writer's thread.
 */
#include "state.h"

#include "event_changes.h"
#include "events.h"
#include "mastership.h"
#include "missing_kept.h"
#include "log.h"
#include "port_errors.h"
#include "prometheus.h"
#include "spare_file.h"
#include "engine/clock.h"

#include <opensm/osm_version.h>

#include <jansson.h>

#include <portmajor/base/print.h>
#include <portmajor/base/replace.h>
#include <portmajor/base/trusted.h>
#include <portmajor/json/rows.h>
#include <portmajor/json/values.h>

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA_VERSION 2
#define REFRESH_S 60
#define LOOK_MS 1000	      /* between looks at OpenSM's state */
#define RETRY_MS 5000	      /* between tries to write */
#define MAX_DEGRADED 100      /* links in the list */
#define CHANGE_TEXT 512	      /* bytes of a change in words */
#define NO_CHANGE "no change" /* as view_log has it */

/* Counts since OpenSM started. */
struct totals {
	uint64_t fallbacks;
	struct blocks {
		uint64_t times, sent, acked, least;
	} runs, repairs, moves;
	uint64_t repair_restoring;
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
	struct moved move;
	uint64_t transition_number;
	struct state_shadow shadow; /* 0: not in shadow mode */
	struct shadow_result found;
	bool would_route;
	char run_change[CHANGE_TEXT], shadow_change[CHANGE_TEXT];
	time_t run_time, repair_time, transition_time, shadow_time;
};

struct state {
	/* of the sweeper's thread: */
	time_t started;
	/* under the mutex: */
	struct last last;
	struct totals totals;
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
	const struct pm_requests *requests; /* in this round */
	uint64_t followed; /* number of the requests in force when last written */
	uint64_t times;	   /* that `previous` was replaced in this process */
	bool spare_used;   /* the state's spare has content */
	bool unsaved;	   /* as last noted as an event */
	struct mastership mastership;
	struct missing_kept missing;
	bool begun;	  /* `missing` has the data of the last process */
	json_t *previous; /* the last document compared for events, or NULL */

	pthread_mutex_t mutex;	    /* also of the members above the writer's */
	json_t *document;	    /* to be written, or NULL */
	bool rebalancing;	    /* as last noted */
	json_t *latest;		    /* a copy of the last document, or NULL */
	const struct pm_plan *plan; /* of the last document, shared, or NULL */

	struct activity activity;	/* of any thread */
	struct port_errors port_errors; /* of any thread */
	_Atomic uint32_t port_error_limit;
};

/* ---- The document and metrics by rows ---- */

#define LAST(member) PM_JSON_ROW(struct last, member)
#define TOTAL(member) PM_JSON_ROW(struct totals, member)

static const struct pm_json_row run_rows[] = {
	{"number", LAST(run.number)},
	{"time", LAST(run_time), "portmajor_run_timestamp_seconds",
	 "When the last routing run ended"},
	{"change", LAST(run_change)},
	{"sent", LAST(written.sent), "portmajor_run_blocks_sent",
	 "LFT blocks sent in the last run"},
	{"acked", LAST(run.acked), "portmajor_run_blocks_acked",
	 "LFT blocks acknowledged in the last run"},
	{"least", LAST(written.delta.least), "portmajor_run_blocks_least",
	 "Fewest LFT blocks that could hold the entries changed in the last run"},
	{"full_load", LAST(written.full)},
	{"switches", LAST(written.switches)},
	{"whole_tables", LAST(written.whole)},
	{"entries", LAST(written.delta.entries)},
	{"lids_assigned", LAST(run.lids_assigned)},
	{"lids_moved", LAST(run.lids_moved)},
	{"lids_out_of_plan", LAST(run.out_of_plan)},
	{"stale_entries", LAST(run.stale)},
	{"looping_lids", LAST(run.loops)},
	{"milliseconds", LAST(run.milliseconds), "portmajor_run_compute_seconds",
	 "Time of computing in the last run"},
	{0},
};

static const struct pm_json_row repair_rows[] = {
	{"number", LAST(repair.number)},
	{"time", LAST(repair_time)},
	{"change", LAST(repair.change)},
	{"traps", LAST(repair.traps)},
	{"queries", LAST(repair.queries)},
	{"unanswered", LAST(repair.unanswered)},
	{"links_down", LAST(repair.links_down)},
	{"rounds", LAST(repair.rounds)},
	{"sent", LAST(repair.sent)},
	{"acked", LAST(repair.acked)},
	{"restoring", LAST(repair.restoring)},
	{"least", LAST(repair.least)},
	{"switches", LAST(repair.switches)},
	{"milliseconds", LAST(repair.milliseconds)},
	{"left_to_sweep", .type = PM_JSON_IS_SET,
	 .offset = offsetof(struct last, repair.gave_up)},
	{"gave_up", LAST(repair.gave_up)},
	{0},
};

static const struct pm_json_row transition_rows[] = {
	{"number", LAST(transition_number)},
	{"time", LAST(transition_time)},
	{"sent", LAST(move.sent)},
	{"acked", LAST(move.acked)},
	{"least", LAST(move.delta.least)},
	{"switches", LAST(move.delta.switches)},
	{"milliseconds", LAST(move.milliseconds)},
	{"left_to_sweep", .type = PM_JSON_IS_SET,
	 .offset = offsetof(struct last, move.gave_up)},
	{"gave_up", LAST(move.gave_up)},
	{0},
};

/* Members of a run that would have routed. */
static const struct pm_json_row found_rows[] = {
	{"take_over", LAST(found.take_over.blocks)},
	{"least", LAST(found.take_over.least)},
	{"full_load", LAST(found.full)},
	{"switches", LAST(found.take_over.switches)},
	{"entries", LAST(found.take_over.entries)},
	{"lids_out_of_plan", LAST(shadow.out_of_plan)},
	{"milliseconds", LAST(shadow.milliseconds)},
	{0},
};

static const struct pm_json_row shadow_rows[] = {
	{"number", LAST(shadow.number)},
	{"time", LAST(shadow_time)},
	{"would_route", LAST(would_route)},
	{"change", LAST(shadow_change)},
	{0},
};

static const struct pm_json_row total_rows[] = {
	{"fallbacks", TOTAL(fallbacks), "portmajor_fallbacks_total",
	 "Routing runs of other engines"},
	{"stale_entries", TOTAL(stale), "portmajor_stale_entries_total",
	 "Entries removed as their ports led elsewhere or they would have looped"},
	{"looping_lids", TOTAL(loops), "portmajor_looping_lids_total",
	 "LIDs that would have looped"},
	{"milliseconds", TOTAL(milliseconds), "portmajor_compute_seconds_total",
	 "Time of computing in runs"},
	{"runs", TOTAL(runs.times), "portmajor_runs_total", "Routing runs of portmajor"},
	{"sent", TOTAL(runs.sent), "portmajor_blocks_sent_total",
	 "LFT blocks sent in runs"},
	{"acked", TOTAL(runs.acked), "portmajor_blocks_acked_total",
	 "LFT blocks acknowledged in runs"},
	{"least", TOTAL(runs.least), "portmajor_blocks_least_total",
	 "Fewest LFT blocks that could hold the entries changed in runs"},
	{"repairs", TOTAL(repairs.times), "portmajor_repairs_total", "Early repairs"},
	{"repair_sent", TOTAL(repairs.sent), "portmajor_repair_blocks_sent_total",
	 "LFT blocks sent in early repairs"},
	{"repair_acked", TOTAL(repairs.acked), "portmajor_repair_blocks_acked_total",
	 "LFT blocks acknowledged in early repairs"},
	{"repair_restoring", TOTAL(repair_restoring),
	 "portmajor_repair_blocks_restoring_total",
	 "LFT blocks of early repairs until all paths between hosts were restored"},
	{"repair_least", TOTAL(repairs.least), "portmajor_repair_blocks_least_total",
	 "Fewest LFT blocks that could hold the entries changed in early repairs"},
	{"moves", TOTAL(moves.times), "portmajor_moves_total",
	 "Changes of what is drained"},
	{"move_sent", TOTAL(moves.sent), "portmajor_move_blocks_sent_total",
	 "LFT blocks sent for these"},
	{"move_acked", TOTAL(moves.acked), "portmajor_move_blocks_acked_total",
	 "LFT blocks acknowledged of these"},
	{"move_least", TOTAL(moves.least), "portmajor_move_blocks_least_total",
	 "Fewest LFT blocks that could hold the entries changed for these"},
	{0},
};

/* ---- Writing ---- */

/* Metrics that are no member of a structure. */
static const struct metric {
	const char *name, *help;
	const char *object, *member; /* where the document has it; object may be NULL */
} metrics[] = {
	{"portmajor_running", "1 while OpenSM runs", NULL, "running"},
	{"portmajor_written_timestamp_seconds", "When this was written", NULL, "time"},
	{"portmajor_engine_active",
	 "1 if portmajor routed last, 0 if OpenSM fell back to another engine", "engine",
	 "active"},
	{"portmajor_lids_out_of_plan", "Places with a LID other than planned", NULL,
	 "out_of_plan"},
	{"portmajor_switch_pairs_unreachable",
	 "Pairs of switches with end ports without a path", "unreachable", "pairs"},
	{"portmajor_host_pairs_connected", "Ordered pairs of hosts that cables connect",
	 "reachable", "connected"},
	{"portmajor_host_pairs_reachable",
	 "Of these, pairs that portmajor's tables serve", "reachable", "pairs"},
	{"portmajor_switches_missing",
	 "Switches that were there and are not, but for acknowledged ones", "missing",
	 "switches"},
	{"portmajor_links_missing", "Links likewise, with those of missing hosts",
	 "missing", "links"},
	{"portmajor_hosts_missing", "Hosts likewise", "missing", "hosts"},
	{"portmajor_missing_acknowledged", "Missing parts that are acknowledged",
	 "missing", "acknowledged"},
	{"portmajor_switches_unset",
	 "Switches that have not acknowledged the tables in force", "unset", "count"},
	{"portmajor_degraded_links",
	 "Links between switches that run below their neighbours'", "degraded_links",
	 "count"},
	{"portmajor_ports_with_errors",
	 "Ports with port_error_limit or more errors of a kind in the last hour",
	 "port_errors", "count"},
};

static const json_t *find_member(const json_t *document, const char *object,
				 const char *member)
{
	return json_object_get(object ? json_object_get(document, object) : document,
			       member);
}

static void print_metric(FILE *out, const struct metric *metric, const json_t *document,
			 const char *labels)
{
	const json_t *value = find_member(document, metric->object, metric->member);

	if (!json_is_number(value) && !json_is_boolean(value))
		return;
	prometheus_print_head(out, metric->name, metric->help);
	prometheus_print_value(out, metric->name, labels, value);
}

/*
 * Metrics that are 1 or 0: whether OpenSM runs and a member is this text, or, with "",
 * the member is not null.
 */
static const struct condition {
	const char *name, *help;
	const char *object, *member; /* as in struct metric */
	const char *text;
} conditions[] = {
	{"portmajor_sm_master", "1 while OpenSM is the master", NULL, "sm_state",
	 "master"},
	{"portmajor_sm_no_master", "1 if OpenSM neither is the master nor knows one",
	 NULL, "no_master", ""},
	{"portmajor_shadow_mode", "1 in shadow mode, once another engine has routed",
	 NULL, "shadow", ""},
	{"portmajor_unsaved", "1 if the plan or the holds could not be written", NULL,
	 "unsaved", ""},
	{"portmajor_config_unused", "1 if portmajor.conf has an error and is not used",
	 NULL, "config_error", ""},
	{"portmajor_drains_unread", "1 if the file of what is drained cannot be followed",
	 "drained", "error", ""},
	{"portmajor_engine_cuts_off",
	 "1 if the tables of another engine cut off hosts that cables connect",
	 "engine_tables", "cut", ""},
	{"portmajor_engine_credit_loop",
	 "1 if the tables of another engine have a credit loop", "engine_tables",
	 "credit_loop", ""},
	{"portmajor_bad_switches", "1 if a switch is kept out or served in part", NULL,
	 "bad_switches", ""},
};

static void print_condition(FILE *out, const struct condition *is, const json_t *document,
			    const char *labels)
{
	const json_t *value = find_member(document, is->object, is->member);
	const char *text = json_string_value(value);
	bool runs = json_is_true(json_object_get(document, "running"));
	bool holds = is->text[0] ? runs && text && !strcmp(text, is->text)
				 : value && !json_is_null(value);
	prometheus_print_head(out, is->name, is->help);
	fprintf(out, "%s{%s} %d\n", is->name, labels, holds);
}

static uint32_t count_damped(const json_t *document, enum pm_damping_state state)
{
	const char *name = pm_damping_state_name(state), *has;
	const json_t *flap;
	uint32_t count = 0;
	size_t i;

	json_array_foreach(json_object_get(document, "flapping"), i, flap) {
		has = json_string_value(json_object_get(flap, "state"));
		count += has && !strcmp(has, name);
	}
	return count;
}

static void print_flap_counts(FILE *out, const json_t *document, const char *labels)
{
	prometheus_print_head(out, "portmajor_flapping_links",
			      "Links that went down lately, by state");
	for (enum pm_damping_state s = PM_DAMPING_NOTED; s <= PM_DAMPING_WATCHED; s++)
		fprintf(out, "portmajor_flapping_links{%s,state=\"%s\"} %u\n", labels,
			pm_damping_state_name(s), count_damped(document, s));
}

static int print_metrics(FILE *out, const void *arg)
{
	const json_t *document = arg;
	const char *port = json_string_value(json_object_get(document, "port_guid"));
	struct prometheus_source run = {NULL, json_object_get(document, "run")};
	struct prometheus_source totals = {NULL,
					   json_object_get(document, "since_start")};
	char labels[64];

	snprintf(labels, sizeof(labels), "port_guid=\"%s\"", port);
	run.labels = totals.labels = labels;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		print_metric(out, &metrics[i], document, labels);
	prometheus_print_rows(out, run_rows, &run, 1);
	prometheus_print_rows(out, total_rows, &totals, 1);
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		print_condition(out, &conditions[i], document, labels);
	print_flap_counts(out, document, labels);
	activity_print_metrics(out, document, labels);
	return 0;
}

static int print_json(FILE *out, const void *arg)
{
	int rc = json_dumpf(
		arg, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));

	putc('\n', out);
	return rc ? -ENOMEM : 0; /* other errors cannot occur with memory */
}

/*
 * Replaces a file in one step; path NULL: out of memory. *length: bytes written. -errno.
 */
static int replace_file(const char *path, pm_print *print, const json_t *document,
			size_t *length, struct pm_error *err)
{
	char *text = NULL;
	int rc = path ? pm_text_print(print, document, &text, length) : -ENOMEM;

	rc = rc ? pm_error_no_memory(err)
		: pm_replace_public(path, ".new", text, *length, err);
	free(text);
	return rc;
}

/* Describes port errors, with the links of the last plan. */
static json_t *make_port_errors(struct state *state, const struct known_hosts *hosts)
{
	const struct pm_plan *plan = state_plan(state);
	json_t *described;

	described = port_errors_describe(&state->port_errors,
					 atomic_load(&state->port_error_limit),
					 plan ? plan->topology : NULL, hosts, time(NULL));
	pm_plan_free((struct pm_plan *)(uintptr_t)plan);
	return described;
}

/* Adds the members that only the writer knows; err: of writing metrics. -ENOMEM. */
static int complete(struct state *state, json_t *document,
		    const struct known_hosts *hosts, bool running,
		    const struct pm_error *err)
{
	struct pm_error trouble;
	json_t *plan = json_object_get(document, "plan");
	char *file = store_path(state->store, "plan");
	int rc;

	store_trouble(state->store, &trouble);
	state->logged = trouble;
	rc = json_object_update_new(
		document, json_pack("{s:I, s:b, s:o, s:o}", "time",
				    (json_int_t)time(NULL), "running", running,
				    "port_guid", pm_json_guid(store_guid(state->store)),
				    "port_errors", make_port_errors(state, hosts)));
	rc |= mastership_describe(&state->mastership, running, document);
	rc |= activity_describe(&state->activity, document);
	if (json_is_object(plan))
		rc |= json_object_update_new(plan,
					     json_pack("{s:o, s:b}", "file",
						       file ? pm_json_text(file) : NULL,
						       "saved", !trouble.text[0]));
	free(file);
	rc |= missing_complete(&state->missing, document, hosts, state->requests,
			       time(NULL));
	if (!trouble.text[0])
		trouble = *err;
	rc |= json_object_set_new(document, "unsaved", pm_json_filled(trouble.text));
	return rc ? -ENOMEM : 0;
}

/* Finds the path of the metrics' file, which the caller frees. NULL: no memory. */
static char *find_prometheus(const struct state *state)
{
	const char *path = state->prometheus;
	struct stat there;
	char *file;

	if (!path[0])
		return store_path(state->store, "portmajor.prom");
	if (stat(path, &there) || !S_ISDIR(there.st_mode))
		return strdup(path);
	return asprintf(&file, "%s/portmajor.%016" PRIx64 ".prom", path,
			store_guid(state->store)) < 0
		       ? NULL
		       : file;
}

/* Logs an error once until it changes. */
static void log_trouble(struct state *state, const struct pm_error *why)
{
	if (why->text[0] && strcmp(why->text, state->failed.text) != 0) {
		worker_enter(state->writer);
		log_line(&state->osm->log, OSM_LOG_ERROR,
			 ": state not written: %s (retried; logged once)", why->text);
		worker_leave(state->writer);
	}
	state->failed = *why;
}

/* Writes the document into the spare of the state's file. */
static void write_spare(struct state *state, const json_t *document, const char *path)
{
	char *text = NULL;
	size_t length;

	state->spare_used = true;
	/* If this fails, too, `status` finds a full disk or an old state. */
	if (!pm_text_print(print_json, document, &text, &length))
		spare_file_write(path, text, length);
	free(text);
}

/*
 * Writes the state; on entry, err has the last file's error. If it cannot be written, its
 * spare gets it, with the reason.
 */
static void write_state(struct state *state, json_t *document,
			const struct known_hosts *hosts, bool running, const char *path,
			struct pm_error *err)
{
	size_t length;

	if (complete(state, document, hosts, running, err)) {
		pm_error_no_memory(err);
	} else if (!replace_file(path, print_json, document, &length, err)) {
		spare_file_keep(path, length, state->spare_used);
		state->spare_used = false;
	} else if (!complete(state, document, hosts, running, err)) {
		write_spare(state, document, path);
	}
}

/* Reads the missing parts from the last process's file. */
static void begin_missing(struct state *state, const char *file)
{
	json_error_t error;

	if (state->begun)
		return;
	if (!pm_trusted_file(file, NULL, NULL))
		state->previous = json_load_file(file, 0, &error);
	state->unsaved = json_is_string(json_object_get(state->previous, "unsaved"));
	missing_begin(&state->missing, state->previous, state->requests);
	state->begun = true;
}

/* Logs a failure of the operator's command, which is an event, too. */
static void log_command_trouble(struct state *state)
{
	struct pm_error why;

	events_command_trouble(state->events, &why);
	if (!why.text[0])
		return;
	worker_enter(state->writer);
	log_line(&state->osm->log, OSM_LOG_ERROR, ": event_command: %s", why.text);
	worker_leave(state->writer);
}

/* Appends pending events to their file. -errno, with err. */
static int write_events(struct state *state, struct pm_error *err)
{
	char *file = state->events ? store_path(state->store, "events") : NULL;
	int rc = 0;

	if (file) {
		rc = events_write(state->events, file, err);
		log_command_trouble(state);
	}
	free(file);
	return rc;
}

/* Notes the changes of the document as events, and writes all pending ones. */
static void tell_events(struct state *state, const json_t *document, struct pm_error *err)
{
	json_t *copy = json_deep_copy(document);

	if (copy) {
		event_changes_note(state->events, state->previous, document);
		json_decref(state->previous);
		state->previous = copy;
		state->times++;
	}
	write_events(state, err);
}

/*
 * Notes when files, of the store or here, cannot be written any more, and when they can.
 * The first event gets its time now, and is in its file when that can be written.
 */
static void note_unsaved(struct state *state, const struct pm_error *why)
{
	const char *text = state->logged.text[0] ? state->logged.text : why->text;

	if (text[0] && !state->unsaved)
		events_note(state->events, EVENT_ERROR, "files", "not saved: %s", text);
	else if (!text[0] && state->unsaved)
		events_note(state->events, EVENT_NOTICE, "files", "saved again");
	state->unsaved = text[0] != '\0';
}

/* Writes all files; false: the store is not open. */
static bool write_files(struct state *state, json_t *document,
			const struct known_hosts *hosts, bool running)
{
	char *file = store_path(state->store, "state");
	char *prometheus = file ? find_prometheus(state) : NULL;
	struct pm_error err = {""};
	size_t length;

	if (!file)
		return false;
	begin_missing(state, file);
	/* Metrics may be on another disk: they have how the last round went. */
	if (complete(state, document, hosts, running, &state->failed)) {
		pm_error_no_memory(&err);
		write_events(state, &(struct pm_error){""});
	} else {
		replace_file(prometheus, print_metrics, document, &length, &err);
		tell_events(state, document, &err);
	}
	/* The state comes last, to report how the others went. */
	write_state(state, document, hosts, running, file, &err);
	note_unsaved(state, &err);
	log_trouble(state, &err);
	free(file);
	free(prometheus);
	return true;
}

/* Whether there is anything to write. */
static bool has_news(struct state *state, bool last)
{
	struct pm_error trouble;

	store_trouble(state->store, &trouble);
	return state->news || last || clock_ms() >= state->due ||
	       strcmp(trouble.text, state->logged.text) != 0;
}

/* Whether OpenSM has another state, or has lost or found a master. */
static bool look_at_mastership(struct state *state)
{
	double longest_ms = activity_longest_discovery(&state->activity);
	bool changed;

	worker_enter(state->writer);
	changed = mastership_look(&state->mastership, state->osm, longest_ms);
	worker_leave(state->writer);
	return changed;
}

double state_write(struct state *state, const struct known_hosts *hosts,
		   const struct pm_requests *requests, bool last)
{
	double next = clock_ms() + LOOK_MS;
	bool failed;

	state->requests = requests;
	pthread_mutex_lock(&state->mutex);
	if (state->document) {
		json_decref(state->topology);
		state->topology = state->document;
		state->document = NULL;
		state->news = true;
	}
	pthread_mutex_unlock(&state->mutex);
	if (!state->topology)
		return DBL_MAX;
	state->news |= look_at_mastership(state);
	state->news |= state->followed != requests->number;
	if (has_news(state, last)) {
		state->followed = requests->number;
		failed = state->failed.text[0];
		state->news = !write_files(state, state->topology, hosts, !last);
		/* When the disk is back, metrics have that in one more round. */
		state->news |= failed && !state->failed.text[0];
		state->due =
			clock_ms() + (state->failed.text[0] ? RETRY_MS : REFRESH_S * 1e3);
	} else if (state->events && events_pending(state->events)) {
		write_events(state, &(struct pm_error){""});
	}
	return state->due < next ? state->due : next;
}

const json_t *state_written(const struct state *state, uint64_t *times)
{
	*times = state->times;
	return state->times ? state->previous : NULL;
}

const struct pm_plan *state_plan(struct state *state)
{
	const struct pm_plan *plan;

	pthread_mutex_lock(&state->mutex);
	plan = state->plan ? pm_plan_share(state->plan) : NULL;
	pthread_mutex_unlock(&state->mutex);
	return plan;
}

/* ---- The document ---- */

static json_t *make_end(const struct view *view, const struct pm_damping_end *end)
{
	return pm_json_end(view->plan ? view->plan->topology : NULL, end->guid, end->num);
}

static json_t *make_damping(const struct view *view)
{
	uint64_t now = (uint64_t)clock_ms();
	json_t *list = json_array();
	struct pm_damped_link link;
	uint32_t at = 0;

	while (view->damping && pm_damping_next(view->damping, now, &at, &link))
		list = pm_json_append(list,
				      json_pack("{s:[o, o], s:s, s:I, s:I, s:I}", "ends",
						make_end(view, &link.end[0]),
						make_end(view, &link.end[1]), "state",
						pm_damping_state_name(link.state),
						"downs", (json_int_t)link.downs,
						"hold_ms", (json_int_t)link.hold_ms,
						"left_ms", (json_int_t)link.left_ms));
	return list;
}

/* The drain of this switch or link in the document before, or NULL. */
static const json_t *find_drain(const struct state *state, const json_t *guid,
				unsigned int num)
{
	const json_t *list = find_member(state->latest, "drained", "list"), *drain;
	size_t i;

	json_array_foreach(list, i, drain) {
		if (json_equal(json_object_get(drain, "guid"), guid) &&
		    json_integer_value(json_object_get(drain, "port")) == num)
			return drain;
	}
	return NULL;
}

/* It is not out before all switches have acknowledged their tables. */
static json_t *make_drain(const struct state *state, const struct pm_drain *d,
			  bool settled)
{
	json_t *since = d->since ? json_integer((json_int_t)d->since) : json_null();
	json_t *guid = pm_json_guid(d->guid);
	const json_t *before = find_drain(state, guid, d->num);
	bool followed = settled || json_is_true(json_object_get(before, "followed"));
	const char *word = d->state == PM_DRAIN_OUT && !settled
				   ? "pending"
				   : pm_drain_state_name(d->state);
	json_t *drain = json_pack("{s:o, s:o, s:i, s:s, s:b, s:I, s:o, s:o, s:o}", "guid",
				  guid, "name", pm_json_text(d->name), "port",
				  (int)d->num, "state", word, "followed", followed,
				  "needed", (json_int_t)d->needed, "since", since, "by",
				  pm_json_text(d->by), "reason", pm_json_text(d->reason));

	return pm_json_label(drain, d->name, d->label);
}

/* A copy of a member of the document before; NULL: there is none. */
static json_t *keep_member(const struct state *state, const char *name)
{
	return json_deep_copy(json_object_get(state->latest, name));
}

/* Describes the drains that the tables in use were made for. */
static json_t *make_drains(const struct state *state, const struct state_facts *facts)
{
	const struct pm_drains *drains = &facts->view->drains;
	bool settled = facts->unset && facts->unset->settled;
	json_t *list, *kept = facts->unset ? NULL : keep_member(state, "drained");

	if (kept) {
		json_object_set_new(kept, "error", pm_json_filled(facts->drains_unread));
		return kept;
	}
	list = json_array();
	for (uint32_t i = 0; i < drains->num; i++)
		list = pm_json_append(list, make_drain(state, &drains->list[i], settled));
	return json_pack("{s:I, s:o, s:b, s:o}", "number", (json_int_t)drains->number,
			 "list", list, "settled", settled, "error",
			 pm_json_filled(facts->drains_unread));
}

/* Describes the switches without their tables; null: they were never known. */
static json_t *make_unset(const struct state *state, const struct state_facts *facts)
{
	const struct unset *unset = facts->unset;
	const struct pm_fabric *topology;
	json_t *list, *sw;

	if (!unset || !unset->known || !facts->view->plan) {
		list = keep_member(state, "unset");
		return list ? list : json_null();
	}
	topology = facts->view->plan->topology;
	list = json_array();
	for (uint32_t i = 0; i < unset->num; i++) {
		const struct unset_switch *found = &unset->list[i];

		sw = pm_json_end(topology, topology->nodes[found->node].guid, 0);
		json_object_set_new(sw, "blocks", json_integer(found->blocks));
		json_object_set_new(sw, "different", json_boolean(found->different));
		list = pm_json_append(list, sw);
	}
	return json_pack("{s:I, s:o}", "count", (json_int_t)unset->num, "list", list);
}

static struct pm_damping_end end_of(const struct pm_fabric *topology, uint32_t port)
{
	return (struct pm_damping_end){topology->nodes[topology->ports[port].node].guid,
				       topology->ports[port].num};
}

/* The lower end of a link comes first, as everywhere else. */
static json_t *make_degraded_link(const struct view *view,
				  const struct pm_degraded_link *degraded)
{
	const struct pm_fabric *topology = view->plan->topology;
	const uint8_t *level = view->plan->tree.level;
	uint32_t a = degraded->port, b = topology->ports[a].peer;
	bool turned = level[topology->ports[b].node] < level[topology->ports[a].node];
	const struct pm_damping_end ends[] = {end_of(topology, turned ? b : a),
					      end_of(topology, turned ? a : b)};
	char link[PM_LINK_TEXT], usual[PM_LINK_TEXT];

	return json_pack("{s:[o, o], s:s, s:s}", "ends", make_end(view, &ends[0]),
			 make_end(view, &ends[1]), "link",
			 pm_link_print(degraded->link, link), "neighbours",
			 pm_link_print(degraded->usual, usual));
}

static json_t *make_degraded(const struct state_facts *facts)
{
	json_t *list;

	if (!facts->degraded_known)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < facts->num_degraded && i < MAX_DEGRADED; i++)
		list = pm_json_append(
			list, make_degraded_link(facts->view, &facts->degraded[i]));
	return json_pack("{s:I, s:o}", "count", (json_int_t)facts->num_degraded, "list",
			 list);
}

/* The writer adds the times and acknowledgements. */
static json_t *make_missing(const struct state_facts *facts)
{
	const struct pm_plan *plan = facts->view->plan;

	return facts->missing && plan
		       ? missing_describe(plan->topology, &plan->tree, facts->missing)
		       : json_null();
}

/* The writer adds the file, and whether it is saved. */
static json_t *make_plan(const struct state_facts *facts)
{
	const struct pm_plan *plan = facts->planning->plan;

	if (!plan)
		return json_null();
	return json_pack("{s:s, s:b, s:s, s:i, s:I, s:i}", "file", "", "saved", 1,
			 "lid_order", pm_lid_order_name(plan->order), "lmc", plan->lmc,
			 "switches", (json_int_t)plan->topology->num_switches, "top_lid",
			 plan->top_lid);
}

static json_t *make_engine(const struct state *state)
{
	return json_pack("{s:o, s:o, s:o}", "active",
			 state->routed ? json_boolean(state->active) : json_null(),
			 "used", pm_json_filled(state->engine), "reason",
			 pm_json_text(state->active ? NULL : state->why.text));
}

/* Describes the tables of another engine, while it routes. */
static json_t *make_verdict(const struct state *state)
{
	const struct engine_verdict *verdict = &state->verdict;

	/* Between declining and the other engine's tables, none is known to route. */
	if (state->active || !verdict->engine[0] ||
	    (state->engine[0] && strcmp(state->engine, verdict->engine) != 0))
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:b, s:o, s:o}", "engine", verdict->engine,
			 "connected", (json_int_t)verdict->connected, "pairs",
			 (json_int_t)verdict->reachable, "lanes", verdict->lanes, "cut",
			 pm_json_filled(verdict->cut), "credit_loop",
			 pm_json_filled(verdict->credit_loop));
}

static json_t *make_unreachable(const struct state_facts *facts)
{
	const struct pm_unreachable *unreachable = &facts->view->unreachable;

	return json_pack("{s:I, s:I, s:o}", "pairs", (json_int_t)unreachable->count,
			 "ends",
			 (json_int_t)(unreachable->service_cut + unreachable->sm_count),
			 "text", pm_json_filled(facts->unreachable));
}

static json_t *make_reachable(const struct state_facts *facts)
{
	const struct pm_reachable *reachable = &facts->view->reachable;
	bool returns = facts->failed_over && facts->failback_in_ms != UINT64_MAX;

	return json_pack(
		"{s:I, s:I, s:b, s:o}", "connected", (json_int_t)reachable->connected,
		"pairs", (json_int_t)reachable->pairs, "failed_over", facts->failed_over,
		"failback_in_ms",
		returns ? json_integer((json_int_t)facts->failback_in_ms) : json_null());
}

static json_t *make_run(const struct last *last)
{
	return last->run.number ? pm_json_rows(run_rows, last) : json_null();
}

static json_t *make_repair(const struct last *last)
{
	return last->repair.number ? pm_json_rows(repair_rows, last) : json_null();
}

static json_t *make_transition(const struct last *last)
{
	return last->transition_number ? pm_json_rows(transition_rows, last)
				       : json_null();
}

/* Describes the costs of tables that were not sent. */
static json_t *make_found(const struct last *last)
{
	const struct shadow_result *found = &last->found;
	json_t *object = pm_json_rows(found_rows, last);

	if (!json_object_set_new(object, "event",
				 found->has_event
					 ? json_integer((json_int_t)found->event.blocks)
					 : json_null()))
		return object;
	json_decref(object);
	return NULL;
}

/* Describes what the engine that routed has sent. */
static json_t *make_other(const struct state_shadow *shadow)
{
	if (!shadow->engine)
		return json_null();
	return json_pack("{s:o, s:I, s:I}", "engine", pm_json_text(shadow->engine),
			 "sent", (json_int_t)shadow->sent.sent, "acked",
			 (json_int_t)shadow->sent.acked);
}

static json_t *make_shadow(const struct last *last)
{
	json_t *shadow;

	if (!last->shadow.number)
		return json_null();
	shadow = pm_json_rows(shadow_rows, last);
	if (shadow && json_object_set_new(shadow, "other", make_other(&last->shadow))) {
		json_decref(shadow);
		return NULL;
	}
	if (!last->would_route || !json_object_update_new(shadow, make_found(last)))
		return shadow;
	json_decref(shadow);
	return NULL;
}

/* In which a process has this pid, as namespaces(7) identifies it; 0: unknown. */
static json_int_t find_pid_namespace(void)
{
	struct stat there;

	return stat("/proc/self/ns/pid", &there) ? 0 : (json_int_t)there.st_ino;
}

/* Makes a document that shares nothing with the next one: another thread frees it. */
static json_t *make_document(const struct state *state, const struct state_facts *facts)
{
	const struct pm_json_member members[] = {
		{"schema", json_string("portmajor-state")},
		{"version", json_integer(SCHEMA_VERSION)},
		{"time", json_integer(0)},
		{"running", json_true()},
		{"sm_state", json_string("")},
		{"sm_since", json_integer(0)},
		{"no_master", json_null()},
		{"opensm", json_string(OSM_VERSION)},
		{"plugin", json_string(PORTMAJOR_VERSION)},
		{"pid", json_integer(getpid())},
		{"pid_namespace", json_integer(find_pid_namespace())},
		{"started", json_integer(state->started)},
		{"engine", make_engine(state)},
		{"engine_tables", make_verdict(state)},
		{"run", make_run(&state->last)},
		{"repair", make_repair(&state->last)},
		{"move", make_transition(&state->last)},
		{"shadow", make_shadow(&state->last)},
		{"phase", json_null()},
		{"balance", json_null()},
		{"multicast", json_null()},
		{"repairs_by_phase", json_null()},
		{"since_start", pm_json_rows(total_rows, &state->totals)},
		{"out_of_plan", json_integer(state->out_of_plan)},
		{"flapping", make_damping(facts->view)},
		{"degraded_links", make_degraded(facts)},
		{"port_errors", json_null()},
		{"missing", make_missing(facts)},
		{"drained", make_drains(state, facts)},
		{"unset", make_unset(state, facts)},
		{"unreachable", make_unreachable(facts)},
		{"reachable", make_reachable(facts)},
		{"bad_switches", pm_json_filled(facts->unfit)},
		{"config_error", pm_json_filled(facts->misread)},
		{"plan", make_plan(facts)},
		{"port_guid", json_string("")},
		{"unsaved", json_null()},
		{0},
	};

	return pm_json_object(members);
}

/* Hands a document over, unless it is NULL: the next one will do. With the mutex held. */
static void hand_over(struct state *state, json_t *document)
{
	json_t *copy = document ? json_deep_copy(document) : NULL;

	if (!copy) {
		json_decref(document);
		return;
	}
	json_decref(state->latest);
	state->latest = copy;
	json_decref(state->document);
	state->document = document;
}

void state_publish(struct state *state, const struct state_facts *facts)
{
	const struct pm_plan *before, *plan = facts->view->plan;

	plan = plan ? pm_plan_share(plan) : NULL;
	pthread_mutex_lock(&state->mutex);
	hand_over(state, make_document(state, facts));
	before = state->plan;
	state->plan = plan;
	pthread_mutex_unlock(&state->mutex);
	pm_plan_free((struct pm_plan *)(uintptr_t)before);
	worker_poke(state->writer);
}

/* Hands over the last document with other members, which it takes over. */
static void renew(struct state *state, json_t *news)
{
	json_t *document = news ? json_deep_copy(state->latest) : NULL;

	if (document && !json_object_update_recursive(document, news))
		hand_over(state, document);
	else
		json_decref(document);
	json_decref(news);
}

static json_t *make_news(const struct state *state, const struct view *view,
			 const char *drains_unread, const struct unset *unset)
{
	const struct state_facts facts = {
		.view = view, .drains_unread = drains_unread, .unset = unset};

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I}, s:{s:I, s:I}}",
			 "repair", make_repair(&state->last), "move",
			 make_transition(&state->last), "since_start",
			 pm_json_rows(total_rows, &state->totals), "flapping",
			 make_damping(view), "drained", make_drains(state, &facts),
			 "unset", make_unset(state, &facts), "unreachable", "pairs",
			 (json_int_t)view->unreachable.count, "reachable", "connected",
			 (json_int_t)view->reachable.connected, "pairs",
			 (json_int_t)view->reachable.pairs);
}

void state_renew(struct state *state, const struct view *view, const char *drains_unread,
		 const struct unset *unset)
{
	pthread_mutex_lock(&state->mutex);
	if (state->latest)
		renew(state, make_news(state, view, drains_unread, unset));
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

void state_renew_unread(struct state *state, const char *drains_unread)
{
	pthread_mutex_lock(&state->mutex);
	if (state->latest)
		renew(state, json_pack("{s:{s:o}}", "drained", "error",
				       pm_json_filled(drains_unread)));
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

/* ---- Events ---- */

static void add_up(struct blocks *blocks, uint64_t sent, uint64_t acked, uint64_t least)
{
	blocks->times++;
	blocks->sent += sent;
	blocks->acked += acked;
	blocks->least += least;
}

void state_note_run(struct state *state, const struct state_run *run)
{
	const struct lft_records_written *written = run->written;
	struct last *last = &state->last;

	pthread_mutex_lock(&state->mutex);
	last->run = *run;
	last->written = *written;
	last->run_time = time(NULL);
	snprintf(last->run_change, sizeof(last->run_change), "%s", run->change);
	state->out_of_plan = run->out_of_plan;
	add_up(&state->totals.runs, written->sent, run->acked, written->delta.least);
	state->totals.stale += run->stale;
	state->totals.loops += run->loops;
	state->totals.milliseconds += run->milliseconds;
	pthread_mutex_unlock(&state->mutex);
	/* That a switch does not answer is an event of its own, and not each try. */
	if (run->acked || strcmp(run->change, NO_CHANGE) != 0)
		events_note(state->events,
			    run->acked < written->sent ? EVENT_WARNING : EVENT_INFO,
			    "run", "%s; LFT blocks sent %" PRIu64 ", acked %" PRIu64,
			    run->change, written->sent, run->acked);
}

void state_note_shadow(struct state *state, const struct state_shadow *shadow)
{
	struct last *last = &state->last;

	pthread_mutex_lock(&state->mutex);
	last->shadow = *shadow;
	last->would_route = shadow->found != NULL;
	if (shadow->found) {
		last->found = *shadow->found;
		state->out_of_plan = shadow->out_of_plan;
	}
	last->shadow_time = time(NULL);
	snprintf(last->shadow_change, sizeof(last->shadow_change), "%s", shadow->change);
	pthread_mutex_unlock(&state->mutex);
	if (strcmp(shadow->change, NO_CHANGE) != 0)
		events_note(state->events, EVENT_INFO, "shadow", "%s", shadow->change);
}

void state_note_repair(struct state *state, const struct repaired *repaired)
{
	pthread_mutex_lock(&state->mutex);
	state->last.repair = *repaired;
	state->last.repair_time = time(NULL);
	add_up(&state->totals.repairs, repaired->sent, repaired->acked, repaired->least);
	state->totals.repair_restoring += repaired->restoring;
	pthread_mutex_unlock(&state->mutex);
	events_note(state->events, EVENT_WARNING, "repair",
		    "%s; LFT blocks sent %" PRIu64 ", acked %" PRIu64
		    ", restoring %" PRIu64 ", %.1f ms%s%s",
		    repaired->change, repaired->sent, repaired->acked,
		    repaired->restoring, repaired->milliseconds,
		    repaired->gave_up ? "; left to the sweep: " : "",
		    repaired->gave_up ? repaired->gave_up : "");
}

void state_note_transition(struct state *state, uint64_t number,
			   const struct moved *moved)
{
	pthread_mutex_lock(&state->mutex);
	state->last.move = *moved;
	state->last.transition_number = number;
	state->last.transition_time = time(NULL);
	add_up(&state->totals.moves, moved->sent, moved->acked, moved->delta.least);
	pthread_mutex_unlock(&state->mutex);
	events_note(state->events, EVENT_NOTICE, "transition",
		    "%s; LFT blocks sent %" PRIu64 ", acked %" PRIu64, moved->change,
		    moved->sent, moved->acked);
}

void state_note_phase(struct state *state, enum sweep_phase phase)
{
	activity_note_phase(&state->activity, phase);
}

void state_note_repair_time(struct state *state, const struct state_repair_time *took)
{
	activity_note_repair(&state->activity, took);
}

void state_note_port_errors(struct state *state, const struct port_reading *reading)
{
	port_errors_note(&state->port_errors, reading, time(NULL));
}

void state_note_traps_dropped(struct state *state, uint64_t more)
{
	activity_note_traps_dropped(&state->activity, more);
	events_note(state->events, EVENT_WARNING, "traps",
		    "%" PRIu64 " dropped, as their queue is full: a sweep is requested",
		    more);
}

void state_note_multicast(struct state *state, const struct state_multicast *groups)
{
	activity_note_multicast(&state->activity, groups);
}

/* Called in each round of rebalancing; only its begin and end are written. */
void state_note_balance(struct state *state, const struct state_balance *balance)
{
	activity_note_balance(&state->activity, balance);
	pthread_mutex_lock(&state->mutex);
	if (state->latest && !(state->rebalancing && balance->rebalancing))
		renew(state, json_object());
	state->rebalancing = balance->rebalancing;
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

void state_note_declined(struct state *state, const struct pm_error *why)
{
	pthread_mutex_lock(&state->mutex);
	state->declined = true;
	state->why = *why;
	/* If there is no other engine, nothing more is reported. */
	state->routed = true;
	state->active = false;
	state->engine[0] = '\0';
	pthread_mutex_unlock(&state->mutex);
}

void state_note_engine(struct state *state, const char *name, bool ours,
		       const char *why_not)
{
	pthread_mutex_lock(&state->mutex);
	state->routed = true;
	state->active = ours;
	state->totals.fallbacks += !ours;
	snprintf(state->engine, sizeof(state->engine), "%s", name ? name : "");
	if (!ours && !state->declined)
		pm_error_set(&state->why, 0, "%s", why_not);
	state->declined = false;
	if (ours)
		state->verdict.engine[0] = '\0'; /* of another failover */
	pthread_mutex_unlock(&state->mutex);
}

void state_note_verdict(struct state *state, const struct engine_verdict *verdict)
{
	pthread_mutex_lock(&state->mutex);
	if (!state->active)
		state->verdict = *verdict;
	if (state->latest)
		renew(state, json_pack("{s:o}", "engine_tables", make_verdict(state)));
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

/* ---- Setting up ---- */

struct state *state_start(osm_opensm_t *osm, struct store *store, struct worker *writer,
			  struct events *events, const struct pm_config *config)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->osm = osm;
	state->spare_used = true; /* perhaps by the last process */
	state->started = time(NULL);
	state->store = store;
	state->writer = writer;
	state->events = events;
	state->prometheus = strdup(config->prometheus);
	if (!state->prometheus) {
		free(state);
		return NULL;
	}
	pthread_mutex_init(&state->mutex, NULL);
	pthread_mutex_init(&state->activity.lock, NULL);
	pthread_mutex_init(&state->port_errors.mutex, NULL);
	state_set(state, config);
	return state;
}

void state_set(struct state *state, const struct pm_config *config)
{
	atomic_store(&state->port_error_limit, config->port_error_limit);
}

void state_stop(struct state *state)
{
	if (!state)
		return;
	json_decref(state->topology);
	json_decref(state->document);
	json_decref(state->latest);
	json_decref(state->previous);
	missing_forget(&state->missing);
	pm_plan_free((struct pm_plan *)(uintptr_t)state->plan);
	port_errors_free(&state->port_errors);
	pthread_mutex_destroy(&state->port_errors.mutex);
	pthread_mutex_destroy(&state->activity.lock);
	pthread_mutex_destroy(&state->mutex);
	free(state->prometheus);
	free(state);
}
