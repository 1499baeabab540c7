/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the state's document. */
#include "state_parts.h"

#include "port_errors.h"
#include "engine/clock.h"

#include <opensm/osm_version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA_VERSION 2
#define MAX_DEGRADED 100 /* links in the list */

#define LAST(member) PM_JSON_ROW(struct last, member)
#define TOTAL(member) PM_JSON_ROW(struct totals, member)

const struct pm_json_row state_run_rows[] = {
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
	{"lids_changed", LAST(run.lids_changed)},
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
	{"sent", LAST(transition.sent)},
	{"acked", LAST(transition.acked)},
	{"least", LAST(transition.delta.least)},
	{"switches", LAST(transition.delta.switches)},
	{"milliseconds", LAST(transition.milliseconds)},
	{"left_to_sweep", .type = PM_JSON_IS_SET,
	 .offset = offsetof(struct last, transition.gave_up)},
	{"gave_up", LAST(transition.gave_up)},
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

const struct pm_json_row state_total_rows[] = {
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
	{"repairs", TOTAL(repairs.times), "portmajor_repairs_total",
	 "Early repairs that found a link down"},
	{"repair_sent", TOTAL(repairs.sent), "portmajor_repair_blocks_sent_total",
	 "LFT blocks sent in early repairs and for returns"},
	{"repair_acked", TOTAL(repairs.acked), "portmajor_repair_blocks_acked_total",
	 "LFT blocks acknowledged of these"},
	{"repair_restoring", TOTAL(repair_restoring),
	 "portmajor_repair_blocks_restoring_total",
	 "LFT blocks of early repairs until all paths between hosts were restored"},
	{"repair_least", TOTAL(repairs.least), "portmajor_repair_blocks_least_total",
	 "Fewest LFT blocks that could hold the entries changed in repairs and returns"},
	{"returned_hosts", TOTAL(returned.hosts), "portmajor_returned_hosts_total",
	 "Links of hosts that came back and were brought into service"},
	{"returned_cables", TOTAL(returned.cables), "portmajor_returned_cables_total",
	 "Links between switches that came back and were brought into service"},
	{"returned_left", TOTAL(returned.left), "portmajor_returned_left_total",
	 "Links that came back and were left to OpenSM"},
	{"returned_deferred", TOTAL(returned.deferred),
	 "portmajor_returned_deferred_total",
	 "Returns of hosts served later, as they flap"},
	{"traps_taken", TOTAL(traps_taken), "portmajor_traps_taken_total",
	 "Traps of changes for which OpenSM's sweep could wait"},
	{"transitions", TOTAL(transitions.times), "portmajor_transitions_total",
	 "Changes of what is drained"},
	{"transition_sent", TOTAL(transitions.sent),
	 "portmajor_transition_blocks_sent_total", "LFT blocks sent for these"},
	{"transition_acked", TOTAL(transitions.acked),
	 "portmajor_transition_blocks_acked_total", "LFT blocks acknowledged of these"},
	{"transition_least", TOTAL(transitions.least),
	 "portmajor_transition_blocks_least_total",
	 "Fewest LFT blocks that could hold the entries changed for these"},
	{0},
};

const json_t *state_member(const json_t *document, const char *object, const char *member)
{
	return json_object_get(object ? json_object_get(document, object) : document,
			       member);
}

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
	const json_t *list = state_member(state->latest, "drained", "list"), *drain;
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
	json_t *until = d->until ? json_integer((json_int_t)d->until) : json_null();
	json_t *drain =
		json_pack("{s:o, s:o, s:i, s:s, s:b, s:I, s:o, s:o, s:o, s:o}", "guid",
			  guid, "name", pm_json_text(d->name), "port", (int)d->num,
			  "state", word, "followed", followed, "needed",
			  (json_int_t)d->needed, "since", since, "until", until, "by",
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

/* Describes the parts that the view lacks, before they are missing parts; or null. */
static json_t *make_absent(const struct view *view)
{
	const struct pm_fabric *topology = view->plan ? view->plan->topology : NULL;
	struct pm_missing absent;
	json_t *described;

	if (!topology || pm_missing_find(topology, view->discovered, &absent, NULL))
		return json_null();
	described = missing_describe(topology, &view->plan->tree, &absent);
	pm_missing_free(&absent);
	return described;
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
json_t *state_make_verdict(const struct state *state)
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
	return last->run.number ? pm_json_rows(state_run_rows, last) : json_null();
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

/* Describes the sweep that waits. */
static const struct pm_json_row sweep_rows[] = {
	{"since", LAST(sweep_since)},
	{"until", LAST(sweep_until)},
	{"traps", LAST(sweep_traps)},
	{0},
};

json_t *state_make_sweep(const struct state *state)
{
	return state->last.sweep_since ? pm_json_rows(sweep_rows, &state->last)
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

/*
 * Makes a document that shares nothing with the next one: another thread frees it. The
 * writer adds `degraded_hosts`, `changed` and `unsaved`.
 */
json_t *state_make_document(const struct state *state, const struct state_facts *facts)
{
	const struct pm_json_member members[] = {
		{"schema", json_string("portmajor-state")},
		{"version", json_integer(SCHEMA_VERSION)},
		{"time", json_integer(0)},
		{"running", json_true()},
		{"sm_state", json_string("")},
		{"sm_since", json_integer(0)},
		{"no_master", json_null()},
		{"no_master_since", json_integer(0)},
		{"managers", json_null()},
		{"opensm", json_string(OSM_VERSION)},
		{"plugin", json_string(PORTMAJOR_VERSION)},
		{"pid", json_integer(getpid())},
		{"pid_namespace", json_integer(find_pid_namespace())},
		{"started", json_integer(state->started)},
		{"engine", make_engine(state)},
		{"engine_tables", state_make_verdict(state)},
		{"run", make_run(&state->last)},
		{"repair", make_repair(&state->last)},
		{"transition", make_transition(&state->last)},
		{"shadow", make_shadow(&state->last)},
		{"phase", json_null()},
		{"balance", json_null()},
		{"multicast", json_null()},
		{"repairs_by_phase", json_null()},
		{"since_start", pm_json_rows(state_total_rows, &state->totals)},
		{"out_of_plan", json_integer(state->out_of_plan)},
		{"flapping", make_damping(facts->view)},
		{"flapping_hosts", json_null()},
		{"sweep", state_make_sweep(state)},
		{"degraded_links", make_degraded(facts)},
		{"port_errors", json_null()},
		{"missing", make_missing(facts)},
		{"absent", json_null()},
		{"drained", make_drains(state, facts)},
		{"unset", make_unset(state, facts)},
		{"unreachable", make_unreachable(facts)},
		{"reachable", make_reachable(facts)},
		{"bad_switches", pm_json_filled(facts->unfit)},
		{"config_error", pm_json_filled(facts->misread)},
		{"set_aside", json_integer(0)},
		{"plan", make_plan(facts)},
		{"port_guid", json_string("")},
		{0},
	};

	return pm_json_object(members);
}

json_t *state_make_news(const struct state *state, const struct view *view,
			const char *drains_unread, const struct unset *unset)
{
	const struct state_facts facts = {
		.view = view, .drains_unread = drains_unread, .unset = unset};

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I}, s:{s:I, s:I}}",
			 "repair", make_repair(&state->last), "transition",
			 make_transition(&state->last), "since_start",
			 pm_json_rows(state_total_rows, &state->totals), "flapping",
			 make_damping(view), "drained", make_drains(state, &facts),
			 "unset", make_unset(state, &facts), "absent", make_absent(view),
			 "unreachable", "pairs", (json_int_t)view->unreachable.count,
			 "reachable", "connected", (json_int_t)view->reachable.connected,
			 "pairs", (json_int_t)view->reachable.pairs);
}
