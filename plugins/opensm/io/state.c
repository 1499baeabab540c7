/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes notes for the published state, and hands its document to the writer. */
#include "state_parts.h"

#include "engine/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_CHANGE "no change" /* as view_log has it */

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
	struct state_facts known = *facts;

	plan = plan ? pm_plan_share(plan) : NULL;
	pthread_mutex_lock(&state->mutex);
	/* A transition has ended since the sweep took its drains. */
	if (facts->transitions && state->drains > facts->view->drains.number)
		known.unset = NULL;
	hand_over(state, state_make_document(state, &known));
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

void state_renew(struct state *state, const struct view *view, const char *drains_unread,
		 const struct unset *unset)
{
	pthread_mutex_lock(&state->mutex);
	state->drains = view->drains.number;
	if (state->latest)
		renew(state, state_make_news(state, view, drains_unread, unset));
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

void state_renew_missing(struct state *state, const struct pm_plan *plan,
			 const struct pm_missing *missing)
{
	pthread_mutex_lock(&state->mutex);
	if (state->latest && state->plan == plan)
		renew(state,
		      json_pack("{s:o, s:n}", "missing",
				missing_describe(plan->topology, &plan->tree, missing),
				"absent"));
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
	/*
	 * What failed or returned is an event of its own, and so is that a switch does
	 * not answer: a run without blocks, or a further try, adds nothing.
	 */
	if (run->acked || run->lids_assigned ||
	    (written->sent && strcmp(run->change, NO_CHANGE) != 0))
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
	events_note(state->events,
		    repaired->gave_up || repaired->acked < repaired->sent ? EVENT_WARNING
									  : EVENT_INFO,
		    "repair",
		    "%s; LFT blocks sent %" PRIu64 ", acked %" PRIu64
		    ", restoring %" PRIu64 ", %.1f ms%s%s",
		    repaired->change, repaired->sent, repaired->acked,
		    repaired->restoring, repaired->milliseconds,
		    repaired->gave_up ? "; left to the sweep: " : "",
		    repaired->gave_up ? repaired->gave_up : "");
}

void state_note_came(struct state *state, const struct repaired *repaired)
{
	struct blocks *blocks = &state->totals.repairs;

	pthread_mutex_lock(&state->mutex);
	blocks->sent += repaired->sent;
	blocks->acked += repaired->acked;
	blocks->least += repaired->least;
	pthread_mutex_unlock(&state->mutex);
}

/* Counts hosts' returns, of those that are noted by their ports. */
static void count_returns(struct state *state, const struct returned *returned)
{
	time_t now = time(NULL);

	for (uint32_t i = 0; i < returned->hosts && i < RETURNS_HOSTS; i++)
		host_flaps_note(&state->host_flaps, &returned->host_ends[i], now);
	for (uint32_t i = 0; i < returned->deferred && i < RETURNS_HOSTS; i++)
		host_flaps_defer(&state->host_flaps, &returned->deferred_ends[i]);
}

static void add_left(struct left *left, const struct returned *returned)
{
	size_t used = strlen(left->names);

	if (!left->why)
		left->why = returned->why;
	if (!strstr(left->names, returned->left_links))
		snprintf(left->names + used, sizeof(left->names) - used, "%s%s",
			 used ? ", " : "", returned->left_links);
}

void state_note_return(struct state *state, const struct returned *returned)
{
	count_returns(state, returned);
	pthread_mutex_lock(&state->mutex);
	state->totals.returned.hosts += returned->hosts;
	state->totals.returned.cables += returned->cables;
	state->totals.returned.left += returned->left;
	state->totals.returned.deferred += returned->deferred;
	state->totals.repairs.sent += returned->blocks;
	state->totals.repairs.acked += returned->acked;
	state->totals.repairs.least += returned->blocks; /* whole tables */
	if (returned->left)
		add_left(&state->left, returned);
	pthread_mutex_unlock(&state->mutex);
	if (returned->number)
		events_note(state->events, EVENT_INFO, "return",
			    "hosts %u, cables %u, %.1f ms; in service: %s",
			    returned->hosts, returned->cables, returned->milliseconds,
			    returned->links);
	if (returned->deferred)
		events_note(state->events, EVENT_WARNING, "return",
			    "flaps, and is served once a second: %s",
			    returned->deferred_links);
}

/* The time of day that was, or will be, at this time of clock_ms; 0: none. */
static time_t time_of(double ms)
{
	return ms > 0 ? time(NULL) + (time_t)lround((ms - clock_ms()) / 1e3) : 0;
}

void state_note_wait(struct state *state, const struct throttle_wait *wait)
{
	pthread_mutex_lock(&state->mutex);
	state->totals.traps_taken = wait->traps_ever;
	state->last.sweep_since = time_of(wait->since);
	state->last.sweep_until = time_of(wait->until);
	state->last.sweep_traps = wait->traps;
	if (state->latest)
		renew(state, json_pack("{s:o, s:o}", "sweep", state_make_sweep(state),
				       "since_start",
				       pm_json_rows(state_total_rows, &state->totals)));
	pthread_mutex_unlock(&state->mutex);
	worker_poke(state->writer);
}

void state_note_own_port(struct state *state, bool down)
{
	atomic_store(&state->own_port_down, down);
}

void state_note_transition(struct state *state, uint64_t number,
			   const struct transition_result *done)
{
	pthread_mutex_lock(&state->mutex);
	state->last.transition = *done;
	state->last.transition_number = number;
	state->last.transition_time = time(NULL);
	add_up(&state->totals.transitions, done->sent, done->acked, done->delta.least);
	pthread_mutex_unlock(&state->mutex);
	events_note(state->events, EVENT_INFO, "transition",
		    "%s; LFT blocks sent %" PRIu64 ", acked %" PRIu64, done->change,
		    done->sent, done->acked);
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
	/*
	 * If there is no other engine, nothing more is reported. If another one routed
	 * last, its tables are in force until the next report.
	 */
	state->routed = true;
	if (state->active)
		state->engine[0] = '\0';
	state->active = false;
	pthread_mutex_unlock(&state->mutex);
}

void state_note_engine(struct state *state, const char *name, bool ours,
		       const char *why_not)
{
	struct left left;

	pthread_mutex_lock(&state->mutex);
	left = state->left;
	state->left = (struct left){.why = NULL};
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
	if (left.why)
		events_note(state->events, EVENT_WARNING, "return",
			    "left to OpenSM's sweep: %s; %s", left.names, left.why);
}

void state_note_verdict(struct state *state, const struct engine_verdict *verdict)
{
	pthread_mutex_lock(&state->mutex);
	if (!state->active)
		state->verdict = *verdict;
	if (state->latest)
		renew(state,
		      json_pack("{s:o}", "engine_tables", state_make_verdict(state)));
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
	state->reserve_used = true; /* perhaps by the last process */
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
	pthread_mutex_init(&state->host_flaps.mutex, NULL);
	state_set(state, config);
	return state;
}

void state_set(struct state *state, const struct pm_config *config)
{
	atomic_store(&state->port_error_limit, config->port_error_limit);
	host_flaps_set(&state->host_flaps, &config->flap);
}

void state_stop(struct state *state)
{
	if (!state)
		return;
	json_decref(state->topology);
	json_decref(state->document);
	json_decref(state->latest);
	json_decref(state->previous);
	json_decref(state->inherited);
	json_decref(state->tables_read);
	missing_forget(&state->missing);
	places_forget(&state->places);
	pm_plan_free((struct pm_plan *)(uintptr_t)state->plan);
	port_errors_free(&state->port_errors);
	host_flaps_free(&state->host_flaps);
	pthread_mutex_destroy(&state->host_flaps.mutex);
	pthread_mutex_destroy(&state->port_errors.mutex);
	pthread_mutex_destroy(&state->activity.lock);
	pthread_mutex_destroy(&state->mutex);
	free(state->prometheus);
	free(state);
}
