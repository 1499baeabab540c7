/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the plugin is doing: phase, repairs and waiting times, as metrics and JSON. */
#include "activity.h"

#include <string.h>

static const char *const phases[PHASES] = {
	[PHASE_IDLE] = "idle",
	[PHASE_DISCOVERY] = "discovery",
	[PHASE_MANAGEMENT] = "management",
	[PHASE_ROUTING] = "routing",
	[PHASE_LINKS] = "links",
};

const char *activity_phase_name(enum sweep_phase phase)
{
	return phases[phase];
}

/* ---- What happens ---- */

void activity_note_phase(struct activity *activity, enum sweep_phase phase)
{
	pthread_mutex_lock(&activity->lock);
	activity->phase = phase;
	activity->phase_known = true;
	pthread_mutex_unlock(&activity->lock);
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

static json_t *make_balance(const struct activity *now)
{
	const struct state_balance *balance = &now->balance;

	if (!now->balance_known)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:b, s:I}", "entries_off",
			 (json_int_t)balance->entries_off, "blocks_off",
			 (json_int_t)balance->blocks_off, "switches_off",
			 (json_int_t)balance->switches_off, "rebalancing",
			 balance->rebalancing, "blocks_left",
			 (json_int_t)balance->blocks_left);
}

static json_t *make_mft_change(const struct activity_mft_change *change)
{
	const struct state_multicast *what = &change->what;

	if (!change->time)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:i, s:f}", "time",
			 (json_int_t)change->time, "sent", (json_int_t)what->sent,
			 "acked", (json_int_t)what->acked, "bound",
			 (json_int_t)what->bound, "ordered", (int)what->ordered,
			 "milliseconds", what->milliseconds);
}

static json_t *make_multicast(const struct activity *now)
{
	const struct state_multicast *groups = &now->multicast;

	if (!now->multicast_known)
		return json_null();
	return json_pack("{s:s?, s:i, s:i, s:i, s:i, s:b, s:o}", "left_to_opensm",
			 groups->left, "groups", (int)groups->groups, "trees",
			 (int)groups->trees, "down_and_up", (int)groups->spanned,
			 "members_left_out", (int)groups->excluded, "incomplete",
			 groups->incomplete, "last_change",
			 make_mft_change(&now->mft_change));
}

/* Sums of MFT blocks. */
static int add_multicast(const struct activity *now, json_t *totals)
{
	const struct state_multicast *sums = &now->multicast;
	int rc = json_object_set_new(totals, "multicast_sent",
				     json_integer((json_int_t)sums->sent));

	rc |= json_object_set_new(totals, "multicast_acked",
				  json_integer((json_int_t)sums->acked));
	return rc | json_object_set_new(totals, "multicast_bound",
					json_integer((json_int_t)sums->bound));
}

static json_t *make_repairs(const struct activity *now)
{
	json_t *object = json_object();

	for (enum sweep_phase phase = 0; phase < PHASES; phase++) {
		const struct activity_repairs *of = &now->repairs[phase];
		json_t *one = json_pack(
			"{s:I, s:I, s:f, s:f, s:f, s:f}", "repairs",
			(json_int_t)of->repairs, "sent", (json_int_t)of->sent,
			"first_set_ms", of->first_set_ms, "first_set_ms_max",
			of->first_set_ms_max, "last_answer_ms", of->last_answer_ms,
			"last_answer_ms_max", of->last_answer_ms_max);

		if (json_object_set_new(object, phases[phase], one)) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
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
	rc |= json_object_set_new(totals, "traps_dropped",
				  json_integer((json_int_t)now.traps_dropped));
	rc |= add_multicast(&now, totals);
	return rc ? -1 : 0;
}

/* ---- Metrics ---- */

static const struct metric {
	const char *name, *type, *help, *member;
} metrics[] = {
	{"phase_repairs_total", "counter",
	 "Early repairs, by the phase of the first trap", "repairs"},
	{"phase_repairs_sent_total", "counter", "Of these, repairs with any LFT Set",
	 "sent"},
	{"phase_first_set_milliseconds_total", "counter",
	 "Time from the first trap to the first LFT Set, over these", "first_set_ms"},
	{"phase_first_set_milliseconds_max", "gauge", "The longest of them",
	 "first_set_ms_max"},
	{"phase_last_answer_milliseconds_total", "counter",
	 "Time from the first trap to the last answer, over these", "last_answer_ms"},
	{"phase_last_answer_milliseconds_max", "gauge", "The longest of them",
	 "last_answer_ms_max"},
};

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP portmajor_%s %s\n# TYPE portmajor_%s %s\n", name, help, name,
		type);
}

/* 1 for the phase that it is. */
static void print_phase(FILE *out, const char *now, const char *port_guid)
{
	print_head(out, "phase", "gauge", "1 for the phase of OpenSM's sweep");
	for (enum sweep_phase phase = 0; phase < PHASES; phase++)
		fprintf(out, "portmajor_phase{port_guid=\"%s\",phase=\"%s\"} %d\n",
			port_guid, phases[phase], !strcmp(now, phases[phase]));
}

void activity_print_metrics(FILE *out, const json_t *document, const char *port_guid)
{
	const char *now = json_string_value(json_object_get(document, "phase"));
	const json_t *repairs = json_object_get(document, "repairs_by_phase");

	if (now)
		print_phase(out, now, port_guid);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		print_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
		for (enum sweep_phase phase = 0; phase < PHASES; phase++) {
			const json_t *of = json_object_get(repairs, phases[phase]);
			const json_t *value = json_object_get(of, metrics[i].member);

			fprintf(out, "portmajor_%s{port_guid=\"%s\",phase=\"%s\"} %.*f\n",
				metrics[i].name, port_guid, phases[phase],
				json_is_real(value) ? 3 : 0, json_number_value(value));
		}
	}
}
