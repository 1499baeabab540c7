/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the state, its metrics and events, on the writer's thread. */
#include "state_parts.h"

#include "event_changes.h"
#include "log.h"
#include "members.h"
#include "port_errors.h"
#include "slow_hosts.h"
#include "reserve_file.h"
#include "engine/clock.h"

#include <portmajor/base/print.h>
#include <portmajor/base/replace.h>
#include <portmajor/base/trusted.h>

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFRESH_S 60
#define ROUND_MS 1000			/* between updates of OpenSM's state */
#define RETRY_MS 5000			/* between tries to write */
#define ENGINE_MS 10000			/* for OpenSM to try its other engines */
#define MAX_PREVIOUS ((off_t)256 << 20) /* bytes of the last process's state */

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

/* Describes where packets wait, likewise. */
static json_t *make_port_waits(struct state *state, const struct known_hosts *hosts)
{
	const struct pm_plan *plan = state_plan(state);
	json_t *described = port_waits_describe(
		&state->port_errors, plan ? plan->topology : NULL, hosts, time(NULL));

	pm_plan_free((struct pm_plan *)(uintptr_t)plan);
	return described;
}

/*
 * Adds the file of the plan, and whether it is saved. In shadow mode none is written,
 * though one of a former process may be there. file NULL: no memory.
 */
static int describe_file(json_t *document, const char *file, bool saved)
{
	json_t *plan = json_object_get(document, "plan");
	bool none = json_is_object(json_object_get(document, "shadow")) && file &&
		    access(file, F_OK);

	if (!json_is_object(plan))
		return 0;
	return json_object_update_new(
		plan, json_pack("{s:o, s:b}", "file",
				file ? pm_json_text(none ? NULL : file) : NULL, "saved",
				saved));
}

/* Counts returns of hosts that were missing. */
static void count_returned(struct state *state, const json_t *before, const json_t *now)
{
	json_t *index = json_object(), *part;
	char key[MEMBERS_KEY];
	size_t i;

	json_array_foreach(now, i, part) {
		if (make_key(part, key))
			json_object_set_new(index, key, json_null());
	}
	json_array_foreach(before, i, part) {
		const json_t *ends = json_object_get(part, "ends");
		size_t last = json_array_size(ends) - 1;
		struct pm_request_part at;

		if (!strcmp(text_of(part, "kind"), "host") && make_key(part, key) &&
		    !json_object_get(index, key) &&
		    pm_request_part_read(json_array_get(ends, last), &at))
			host_flaps_note_once(&state->host_flaps,
					     &(struct pm_damping_end){at.guid, at.num},
					     number_of(part, "since"), time(NULL));
	}
	json_decref(index);
}

/* Adds which parts are missing, and which are at other places. -ENOMEM. */
static int complete_parts(struct state *state, json_t *document,
			  const struct known_hosts *hosts)
{
	const struct pm_plan *plan = state_plan(state);
	const struct missing_facts facts = {
		.drawing = {.drawing = state->places.drawing,
			    .now = state->now,
			    .plan = plan,
			    .partial = state->places.partial},
		.hosts = hosts,
		.requests = state->requests,
		.now = time(NULL),
	};
	json_t *before = json_incref(json_object_get(state->missing.last, "parts"));
	int rc = missing_complete(&state->missing, document, &facts);

	if (!rc)
		count_returned(state, before,
			       json_object_get(state->missing.last, "parts"));
	json_decref(before);
	rc |= json_object_set_new(document, "degraded_hosts",
				  slow_hosts_describe(state->now));
	rc |= json_object_set_new(document, "flapping_hosts",
				  host_flaps_describe(&state->host_flaps,
						      plan ? plan->topology : NULL, hosts,
						      facts.now));
	pm_plan_free((struct pm_plan *)(uintptr_t)plan);
	if (!rc && state->missing.raw && facts.drawing.drawing && facts.drawing.now)
		state->places.partial = false;
	return rc | json_object_set_new(document, "changed",
					places_describe(&state->places, state->requests));
}

/* Adds the members that only the writer knows; err: of writing metrics. -ENOMEM. */
static int complete(struct state *state, json_t *document,
		    const struct known_hosts *hosts, bool running,
		    const struct pm_error *err)
{
	struct pm_error trouble;
	char *file = store_path(state->store, "plan");
	int rc;

	store_trouble(state->store, &trouble);
	state->logged = trouble;
	rc = json_object_update_new(
		document,
		json_pack("{s:I, s:b, s:I, s:o, s:o, s:o}", "time",
			  (json_int_t)time(NULL), "running", running, "set_aside",
			  (json_int_t)store_count_aside(state->store), "port_guid",
			  pm_json_guid(store_guid(state->store)), "port_errors",
			  make_port_errors(state, hosts), "port_waits",
			  make_port_waits(state, hosts)));
	rc |= mastership_describe(&state->mastership, running, document);
	rc |= json_object_set_new(document, "managers",
				  managers_describe(&state->managers));
	state->rested = activity_is_idle(&state->activity);
	rc |= activity_describe(&state->activity, document);
	rc |= describe_file(document, file, !trouble.text[0]);
	free(file);
	rc |= complete_parts(state, document, hosts);
	rc |= json_object_set_new(document, "tables_read",
				  state->tables_read ? json_incref(state->tables_read)
						     : json_null());
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

/* Writes the document into the reserve of the state's file. */
static void write_reserve(struct state *state, const json_t *document, const char *path)
{
	char *text = NULL;
	size_t length;

	state->reserve_used = true;
	/* If this fails, too, `status` finds a full disk or an old state. */
	if (!pm_text_print(print_json, document, &text, &length))
		reserve_file_write(path, text, length);
	free(text);
}

/*
 * Writes the state; on entry, err has the last file's error. If it cannot be written, its
 * reserve gets it, with the reason.
 */
static void write_state(struct state *state, json_t *document,
			const struct known_hosts *hosts, bool running, const char *path,
			struct pm_error *err)
{
	size_t length;

	if (complete(state, document, hosts, running, err)) {
		pm_error_no_memory(err);
	} else if (!replace_file(path, print_json, document, &length, err)) {
		reserve_file_keep(path, length, state->reserve_used);
		state->reserve_used = false;
	} else if (!complete(state, document, hosts, running, err)) {
		write_reserve(state, document, path);
	}
}

/* Reads the state of another process; NULL: there is none. */
static json_t *load_state(const char *file)
{
	json_error_t error;
	struct stat there;

	return !pm_trusted_file(file, &there, NULL) && there.st_size <= MAX_PREVIOUS
		       ? json_load_file(file, 0, &error)
		       : NULL;
}

void state_inherit(struct state *state, const char *place)
{
	char *file;

	if (asprintf(&file, "%sstate", place) < 0)
		return;
	json_decref(state->inherited);
	state->inherited = load_state(file);
	free(file);
	if (asprintf(&file, "%sdrawing.net", place) >= 0)
		places_inherit(&state->places, file,
			       state_member(state->inherited, "changed", "list"));
}

/* Has missing parts and slow links known as by the former master: they are no news. */
static void use_inherited(struct state *state)
{
	static const char *const members[] = {"missing", "degraded_links",
					      "degraded_hosts"};

	if (!json_is_object(state->inherited))
		return;
	missing_begin(&state->missing, state->inherited, state->requests);
	if (!state->previous)
		state->previous = json_object();
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(state->previous, members[i],
				json_object_get(state->inherited, members[i]));
	json_decref(state->inherited);
	state->inherited = NULL;
}

/*
 * Reads the missing parts from the last process's file. What it knew of hosts that flap
 * is gone with it: this process, which begins to count, does not call them steady.
 */
static void begin_missing(struct state *state, const char *file)
{
	if (state->begun)
		return;
	state->previous = load_state(file);
	json_object_del(state->previous, "flapping_hosts");
	state->unsaved = json_is_string(json_object_get(state->previous, "unsaved"));
	missing_begin(&state->missing, state->previous, state->requests);
	state->begun = true;
}

/* Compares the fabric with the drawing. */
static void update_places(struct state *state)
{
	const struct pm_plan *plan = state_plan(state);
	char *path = store_path(state->store, "drawing.net");
	const struct places_facts facts = {
		.now = state->now,
		.plan = plan,
		.requests = state->requests,
		.path = path,
		.previous = state->previous,
		.events = state->events,
		.time = time(NULL),
	};

	if (path)
		places_update(&state->places, &facts);
	free(path);
	pm_plan_free((struct pm_plan *)(uintptr_t)plan);
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

/*
 * Appends pending events to their file. Whether that went otherwise than the last time:
 * the state is to tell that.
 */
static bool write_events(struct state *state)
{
	char *file = state->events ? store_path(state->store, "events") : NULL;
	struct pm_error before = state->untold;

	if (file) {
		state->untold = (struct pm_error){""};
		events_write(state->events, file, &state->untold);
		log_command_trouble(state);
	}
	free(file);
	return strcmp(before.text, state->untold.text) != 0;
}

/* Whether these are the same drain, which `was` followed. */
static bool was_followed(const json_t *was, const json_t *drain)
{
	static const char *const members[] = {"guid", "port", "since"};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (!json_equal(json_object_get(was, members[i]),
				json_object_get(drain, members[i])))
			return false;
	return json_is_true(json_object_get(was, "followed"));
}

/*
 * A new process knows drains, holds, slow links and paths from the first run of an engine
 * on. What it finds as it was is no news then.
 */
static void keep_known(const json_t *before, json_t *now)
{
	static const char *const members[] = {
		"drained", "flapping",	  "degraded_links", "degraded_hosts",
		"unset",   "unreachable", "engine_tables",  "bad_switches"};

	if (!json_is_null(json_object_get(now, "run")) ||
	    !json_is_null(state_member(now, "engine", "used")))
		return;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		json_t *known = json_object_get(before, members[i]);

		if (known)
			json_object_set(now, members[i], known);
	}
}

/* Drains that were followed stay so. */
static void keep_followed(const json_t *before, json_t *now)
{
	const json_t *known = json_object_get(before, "drained"), *was;
	json_t *drain;
	size_t i, k;

	json_array_foreach(state_member(now, "drained", "list"), i, drain)
		json_array_foreach(json_object_get(known, "list"), k, was)
			if (was_followed(was, drain))
				json_object_set_new(drain, "followed", json_true());
}

/*
 * OpenSM tries its other engines when portmajor has declined. Until then no engine
 * routes, which is no event of its own if one of them does soon.
 */
static void await_engine(struct state *state, json_t *now)
{
	bool none = json_is_false(state_member(now, "engine", "active")) &&
		    json_is_null(state_member(now, "engine", "used")) &&
		    json_is_true(json_object_get(now, "running"));
	const json_t *told = event_changes_engine(state->previous);

	if (!none)
		state->engine_due = 0;
	else if (state->engine_due <= 0)
		state->engine_due = clock_ms() + ENGINE_MS;
	if (none && clock_ms() >= state->engine_due)
		state->engine_due = DBL_MAX;
	else if (none && state->engine_due < DBL_MAX)
		json_object_set_new(now, EVENT_CHANGES_ENGINE,
				    told ? json_deep_copy(told) : json_null());
}

/* Notes the changes of the document as events. */
static void note_document(struct state *state, const json_t *document)
{
	json_t *copy = json_deep_copy(document);

	if (!copy)
		return;
	keep_known(state->previous, copy);
	keep_followed(state->previous, copy);
	await_engine(state, copy);
	event_changes_note(state->events, state->previous, copy);
	json_decref(state->previous);
	state->previous = copy;
	state->times++;
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

/* Notes plans and holds that were not used: they may know parts that are absent. */
static void note_aside(struct state *state)
{
	struct pm_error what;

	while (store_take_aside(state->store, &what))
		events_note(state->events, EVENT_ERROR, "files", "%s", what.text);
}

/*
 * Writes all files; false: the store is not open, or the state is to be written again. An
 * operator's command may look at the state of which an event tells: that comes first.
 */
static bool write_files(struct state *state, json_t *document,
			const struct known_hosts *hosts, bool running)
{
	char *file = store_path(state->store, "state");
	char *prometheus = file ? find_prometheus(state) : NULL;
	struct pm_error err;
	size_t length;
	bool again;

	if (!file)
		return false;
	if (state->untold.text[0]) /* perhaps it can be written now */
		write_events(state);
	err = state->untold;
	note_aside(state);
	begin_missing(state, file);
	use_inherited(state);
	update_places(state);
	/* Metrics may be on another disk: they have how the last round went. */
	if (complete(state, document, hosts, running, &state->failed)) {
		pm_error_no_memory(&err);
	} else {
		replace_file(prometheus, state_print_metrics, document, &length, &err);
		note_document(state, document);
	}
	write_state(state, document, hosts, running, file, &err);
	note_unsaved(state, &err);
	again = write_events(state);
	log_trouble(state, err.text[0] ? &err : &state->untold);
	free(file);
	free(prometheus);
	return !again;
}

/* Whether there is anything to write. */
static bool has_news(struct state *state, bool last)
{
	struct pm_error trouble;

	store_trouble(state->store, &trouble);
	return state->news || last || clock_ms() >= state->due ||
	       (state->engine_due > 0 && clock_ms() >= state->engine_due) ||
	       strcmp(trouble.text, state->logged.text) != 0;
}

/*
 * Notes whether a standby's master is without a plan in the cache folder, some time after
 * it was found: it has no portmajor then, or plans are not copied between the machines.
 */
static bool judge_foreign(struct state *state)
{
	bool standby = state->mastership.state == IB_SMINFO_STATE_STANDBY;
	bool changed = false;

	for (uint32_t i = 0; i < state->managers.num; i++) {
		struct manager *one = &state->managers.list[i];
		bool foreign = standby && one->state == IB_SMINFO_STATE_MASTER &&
			       time(NULL) - one->since > MANAGERS_FOREIGN_S &&
			       !store_has_plan_of(state->store, one->guid);

		if (standby && one->state == IB_SMINFO_STATE_MASTER)
			store_note_master(state->store, one->guid);
		changed |= foreign != one->foreign;
		one->foreign = foreign;
	}
	return changed;
}

/*
 * Whether OpenSM has another state, has lost or found a master or other managers, or has
 * ended a sweep.
 */
static bool look_at_mastership(struct state *state)
{
	double longest_ms = activity_longest_discovery(&state->activity);
	bool resting = activity_is_idle(&state->activity), changed;

	worker_enter(state->writer);
	changed = mastership_update(&state->mastership, state->osm, longest_ms,
				    atomic_load(&state->own_port_down));
	changed |= managers_update(&state->managers, state->osm, resting);
	worker_leave(state->writer);
	/* OpenSM does not report that a discovery has ended in standby. */
	if (state->mastership.state == IB_SMINFO_STATE_STANDBY && !resting)
		activity_note_phase(&state->activity, PHASE_IDLE);
	changed |= judge_foreign(state);
	changed |= resting && !state->rested;
	return changed;
}

void state_note_tables_read(struct state *state, json_t *read)
{
	json_decref(state->tables_read);
	state->tables_read = read;
	state->news = true;
}

void state_take(struct state *state)
{
	pthread_mutex_lock(&state->mutex);
	if (state->document) {
		json_decref(state->topology);
		state->topology = state->document;
		state->document = NULL;
		state->news = true;
		missing_take(&state->missing, state->topology);
	}
	pthread_mutex_unlock(&state->mutex);
}

double state_write(struct state *state, const struct known_hosts *hosts,
		   const struct pm_fabric *now, const struct pm_requests *requests,
		   bool last)
{
	double next = clock_ms() + ROUND_MS;
	bool failed;

	state->requests = requests;
	state->news |= now != state->now;
	state->now = now;
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
		state->news = write_events(state);
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
