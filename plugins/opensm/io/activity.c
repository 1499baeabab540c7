/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the plugin's activity (phase, repairs and their times), as metrics and JSON. */
#include "activity.h"

#include "engine/clock.h"
#include "prometheus.h"

#include <portmajor/json/rows.h>
#include <portmajor/json/values.h>

#include <string.h>

static const char *const phases[PHASES] = {
	[PHASE_IDLE] = "idle",
	[PHASE_DISCOVERY] = "discovery",
	[PHASE_MANAGEMENT] = "management",
	[PHASE_ROUTING] = "routing",
	[PHASE_LINKS] = "links",
};

/* ---- Events ---- */

void activity_note_phase(struct activity *activity, enum sweep_phase phase)
{
	double now = clock_ms();

	pthread_mutex_lock(&activity->lock);
	if (phase == PHASE_DISCOVERY)
		activity->discovery_ms = now;
	else if (phase == PHASE_MANAGEMENT && activity->phase == PHASE_DISCOVERY &&
		 now - activity->discovery_ms > activity->longest_ms)
		activity->longest_ms = now - activity->discovery_ms;
	activity->phase = phase;
	activity->phase_known = true;
	pthread_mutex_unlock(&activity->lock);
}

bool activity_is_idle(struct activity *activity)
{
	bool idle;

	pthread_mutex_lock(&activity->lock);
	idle = activity->phase_known && activity->phase == PHASE_IDLE;
	pthread_mutex_unlock(&activity->lock);
	return idle;
}

double activity_longest_discovery(struct activity *activity)
{
	double longest_ms;

	pthread_mutex_lock(&activity->lock);
	longest_ms = activity->longest_ms;
	pthread_mutex_unlock(&activity->lock);
	return longest_ms;
}

void activity_note_balance(struct activity *activity, const struct state_balance *now)
{
	pthread_mutex_lock(&activity->lock);
	activity->balance = *now;
	activity->balance_known = true;
	pthread_mutex_unlock(&activity->lock);
}

static void add_up(double ms, double *sum, double *max)
{
	*sum += ms;
	if (ms > *max)
		*max = ms;
}

void activity_note_repair(struct activity *activity, const struct state_repair_time *took)
{
	struct activity_repairs *of = &activity->repairs[took->phase];

	pthread_mutex_lock(&activity->lock);
	of->repairs++;
	if (took->first_set_ms >= 0) {
		of->sent++;
		add_up(took->first_set_ms, &of->first_set_ms, &of->first_set_ms_max);
		add_up(took->last_answer_ms, &of->last_answer_ms,
		       &of->last_answer_ms_max);
	}
	pthread_mutex_unlock(&activity->lock);
}

void activity_note_traps_dropped(struct activity *activity, uint64_t more)
{
	pthread_mutex_lock(&activity->lock);
	activity->traps_dropped += more;
	pthread_mutex_unlock(&activity->lock);
}

void activity_note_multicast(struct activity *activity, const struct state_multicast *now)
{
	struct state_multicast *sums = &activity->multicast;

	pthread_mutex_lock(&activity->lock);
	activity->multicast_known = true;
	*sums = (struct state_multicast){
		.left = now->left,
		.groups = now->groups,
		.trees = now->trees,
		.spanned = now->spanned,
		.excluded = now->excluded,
		.incomplete = now->incomplete,
		.sent = sums->sent + now->sent,
		.acked = sums->acked + now->acked,
		.bound = sums->bound + now->bound,
	};
	if (now->sent)
		activity->mft_change = (struct activity_mft_change){time(NULL), *now};
	pthread_mutex_unlock(&activity->lock);
}

/* ---- The document ---- */

static const struct pm_json_row balance_rows[] = {
	{"entries_off", PM_JSON_ROW(struct state_balance, entries_off),
	 "portmajor_balance_entries_off", "LFT entries that are not the plan's"},
	{"blocks_off", PM_JSON_ROW(struct state_balance, blocks_off),
	 "portmajor_balance_blocks_off", "LFT blocks with such entries"},
	{"switches_off", PM_JSON_ROW(struct state_balance, switches_off),
	 "portmajor_balance_switches_off", "Switches with such entries"},
	{"rebalancing", PM_JSON_ROW(struct state_balance, rebalancing),
	 "portmajor_rebalancing", "1 while tables go over to the plan's"},
	{"blocks_left", PM_JSON_ROW(struct state_balance, blocks_left),
	 "portmajor_rebalance_blocks_left", "LFT blocks still to be sent then"},
	{0},
};

static const struct pm_json_row change_rows[] = {
	{"time", PM_JSON_ROW(struct activity_mft_change, time)},
	{"sent", PM_JSON_ROW(struct activity_mft_change, what.sent)},
	{"acked", PM_JSON_ROW(struct activity_mft_change, what.acked)},
	{"bound", PM_JSON_ROW(struct activity_mft_change, what.bound)},
	{"ordered", PM_JSON_ROW(struct activity_mft_change, what.ordered)},
	{"milliseconds", PM_JSON_ROW(struct activity_mft_change, what.milliseconds)},
	{0},
};

static const struct pm_json_row multicast_rows[] = {
	{"left_to_opensm", PM_JSON_ROW(struct state_multicast, left)},
	{"groups", PM_JSON_ROW(struct state_multicast, groups),
	 "portmajor_multicast_groups", "Multicast LIDs with a group"},
	{"trees", PM_JSON_ROW(struct state_multicast, trees), "portmajor_multicast_trees",
	 "Of these, those with a tree"},
	{"down_and_up", PM_JSON_ROW(struct state_multicast, spanned),
	 "portmajor_multicast_trees_down_and_up",
	 "Trees of groups that no switch reaches downwards"},
	{"members_left_out", PM_JSON_ROW(struct state_multicast, excluded),
	 "portmajor_multicast_members_left_out", "Members in no tree"},
	{"incomplete", PM_JSON_ROW(struct state_multicast, incomplete),
	 "portmajor_multicast_incomplete", "1 while MFT blocks are still to be sent"},
	{0},
};

/* rows of since_start */
static const struct pm_json_row total_rows[] = {
	{"traps_dropped", PM_JSON_ROW(struct activity, traps_dropped),
	 "portmajor_traps_dropped_total", "Traps of failures that there was no room for"},
	{"multicast_sent", PM_JSON_ROW(struct activity, multicast.sent),
	 "portmajor_multicast_blocks_sent_total", "MFT blocks sent"},
	{"multicast_acked", PM_JSON_ROW(struct activity, multicast.acked),
	 "portmajor_multicast_blocks_acked_total", "MFT blocks acknowledged"},
	{"multicast_bound", PM_JSON_ROW(struct activity, multicast.bound),
	 "portmajor_multicast_blocks_bound_total", "MFT blocks that differed"},
	{0},
};

static const struct pm_json_row repair_rows[] = {
	{"repairs", PM_JSON_ROW(struct activity_repairs, repairs),
	 "portmajor_phase_repairs_total",
	 "Early repairs, by the phase of the first trap"},
	{"sent", PM_JSON_ROW(struct activity_repairs, sent),
	 "portmajor_phase_repairs_sent_total", "Of these, repairs with any LFT Set"},
	{"first_set_ms", PM_JSON_ROW(struct activity_repairs, first_set_ms),
	 "portmajor_phase_first_set_seconds_total",
	 "Time from the first trap to the first LFT Set, over these"},
	{"first_set_ms_max", PM_JSON_ROW(struct activity_repairs, first_set_ms_max),
	 "portmajor_phase_first_set_seconds_max", "The longest of them"},
	{"last_answer_ms", PM_JSON_ROW(struct activity_repairs, last_answer_ms),
	 "portmajor_phase_last_answer_seconds_total",
	 "Time from the first trap to the last answer, over these"},
	{"last_answer_ms_max", PM_JSON_ROW(struct activity_repairs, last_answer_ms_max),
	 "portmajor_phase_last_answer_seconds_max", "The longest of them"},
	{0},
};

static json_t *make_balance(const struct activity *now)
{
	return now->balance_known ? pm_json_rows(balance_rows, &now->balance)
				  : json_null();
}

static json_t *make_multicast(const struct activity *now)
{
	json_t *groups, *change;

	if (!now->multicast_known)
		return json_null();
	groups = pm_json_rows(multicast_rows, &now->multicast);
	change = now->mft_change.time ? pm_json_rows(change_rows, &now->mft_change)
				      : json_null();
	if (!json_object_set_new(groups, "last_change", change))
		return groups;
	json_decref(groups);
	return NULL;
}

static json_t *make_repairs(const struct activity *now)
{
	struct pm_json_member members[PHASES + 1] = {{0}};

	for (enum sweep_phase phase = 0; phase < PHASES; phase++)
		members[phase] = (struct pm_json_member){
			phases[phase], pm_json_rows(repair_rows, &now->repairs[phase])};
	return pm_json_object(members);
}

int activity_describe(struct activity *activity, json_t *document)
{
	json_t *totals = json_object_get(document, "since_start");
	struct activity now;
	int rc;

	pthread_mutex_lock(&activity->lock);
	now = *activity;
	pthread_mutex_unlock(&activity->lock);
	rc = json_object_set_new(document, "phase",
				 now.phase_known ? json_string(phases[now.phase])
						 : json_null());
	rc |= json_object_set_new(document, "balance", make_balance(&now));
	rc |= json_object_set_new(document, "multicast", make_multicast(&now));
	rc |= json_object_set_new(document, "repairs_by_phase", make_repairs(&now));
	rc |= pm_json_rows_set(total_rows, &now, totals);
	return rc ? -1 : 0;
}

/* ---- Metrics ---- */

/* Prints 1 for the present phase, and 0 for others. */
static void print_phase(FILE *out, const char *now, const char *labels)
{
	prometheus_print_head(out, "portmajor_phase",
			      "1 for the phase of OpenSM's sweep");
	for (enum sweep_phase phase = 0; phase < PHASES; phase++)
		fprintf(out, "portmajor_phase{%s,phase=\"%s\"} %d\n", labels,
			phases[phase], !strcmp(now, phases[phase]));
}

static void print_repairs(FILE *out, const json_t *repairs, const char *labels)
{
	struct prometheus_source sources[PHASES];
	char of_phase[PHASES][96];

	for (enum sweep_phase phase = 0; phase < PHASES; phase++) {
		snprintf(of_phase[phase], sizeof(of_phase[phase]), "%s,phase=\"%s\"",
			 labels, phases[phase]);
		sources[phase] = (struct prometheus_source){
			of_phase[phase], json_object_get(repairs, phases[phase])};
	}
	prometheus_print_rows(out, repair_rows, sources, PHASES);
}

void activity_print_metrics(FILE *out, const json_t *document, const char *labels)
{
	static const struct {
		const struct pm_json_row *rows;
		const char *object;
	} parts[] = {{balance_rows, "balance"},
		     {multicast_rows, "multicast"},
		     {total_rows, "since_start"}};
	const char *now = json_string_value(json_object_get(document, "phase"));

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct prometheus_source source = {
			labels, json_object_get(document, parts[i].object)};

		prometheus_print_rows(out, parts[i].rows, &source, 1);
	}
	if (now)
		print_phase(out, now, labels);
	print_repairs(out, json_object_get(document, "repairs_by_phase"), labels);
}
