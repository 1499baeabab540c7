/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics of the state's document, for Prometheus. */
#include "state_parts.h"

#include "prometheus.h"

#include <stdio.h>
#include <string.h>

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
	{"portmajor_plans_set_aside",
	 "Plan files that were not used, and are still in the folder", NULL, "set_aside"},
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
	{"portmajor_links_missing", "Links likewise, but for those of hosts", "missing",
	 "links"},
	{"portmajor_hosts_missing", "Hosts likewise", "missing", "hosts"},
	{"portmajor_missing_acknowledged", "Missing parts that are acknowledged",
	 "missing", "acknowledged"},
	{"portmajor_parts_changed",
	 "Cables and hosts at other places than drawn, and replaced switches and hosts, "
	 "until acknowledged",
	 "changed", "count"},
	{"portmajor_switches_unset",
	 "Switches that have not acknowledged the tables in force", "unset", "count"},
	{"portmajor_degraded_hosts", "Hosts' links that are slower than their neighbours",
	 "degraded_hosts", "count"},
	{"portmajor_flapping_hosts",
	 "Hosts whose links went down again and again in the last hour", "flapping_hosts",
	 "count"},
	{"portmajor_sweep_waiting_since_timestamp_seconds",
	 "When the first of these changes was reported", "sweep", "since"},
	{"portmajor_ports_with_errors",
	 "Ports with port_error_limit or more errors of a kind in the last hour",
	 "port_errors", "count"},
};

static void print_metric(FILE *out, const struct metric *metric, const json_t *document,
			 const char *labels)
{
	const json_t *value = state_member(document, metric->object, metric->member);

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
	{"portmajor_sm_no_master", "1 if OpenSM knows no master, or its port is down",
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
	{"portmajor_sweep_waiting",
	 "1 while OpenSM's next sweep waits, as all changes are known", "sweep", "since",
	 ""},
	{"portmajor_port_errors_known",
	 "1 if OpenSM's performance manager reads the counters of ports", NULL,
	 "port_errors", ""},
	{"portmajor_bad_switches", "1 if a switch is kept out or served in part", NULL,
	 "bad_switches", ""},
};

static void print_condition(FILE *out, const struct condition *is, const json_t *document,
			    const char *labels)
{
	const json_t *value = state_member(document, is->object, is->member);
	const char *text = json_string_value(value);
	bool runs = json_is_true(json_object_get(document, "running"));
	bool holds = is->text[0] ? runs && text && !strcmp(text, is->text)
				 : value && !json_is_null(value);
	prometheus_print_head(out, is->name, is->help);
	fprintf(out, "%s{%s} %d\n", is->name, labels, holds);
}

static void print_managers(FILE *out, const json_t *document, const char *labels)
{
	const char *own = json_string_value(json_object_get(document, "sm_state")),
		   *state;
	bool master = own && !strcmp(own, "master") &&
		      json_is_true(json_object_get(document, "running"));
	uint32_t standbys = 0, masters = 0, foreign = 0;
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(document, "managers"), i, one) {
		state = json_string_value(json_object_get(one, "sm_state"));
		standbys += master && state && !strcmp(state, "standby");
		masters += master && state && !strcmp(state, "master");
		foreign += json_is_true(json_object_get(one, "foreign"));
	}
	prometheus_print_head(out, "portmajor_sm_standbys",
			      "Standbys that this master knows");
	fprintf(out, "portmajor_sm_standbys{%s} %u\n", labels, standbys);
	prometheus_print_head(out, "portmajor_sm_other_masters",
			      "Other masters that this master knows");
	fprintf(out, "portmajor_sm_other_masters{%s} %u\n", labels, masters);
	prometheus_print_head(out, "portmajor_sm_foreign_master",
			      "1 if this standby's master has no plan here");
	fprintf(out, "portmajor_sm_foreign_master{%s} %u\n", labels, foreign);
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

/* Elements of a list of the document, by a word that they have; without acknowledged
 * ones. */
static const struct tally {
	const char *name, *help;
	const char *object, *list;  /* where the document has it */
	const char *member, *label; /* the word, and the metric's label for it */
	const char *words[4];
} tallies[] = {
	{"portmajor_missing_parts",
	 "Missing parts by kind, without hosts and links of missing switches, and "
	 "without acknowledged ones",
	 "missing",
	 "parts",
	 "kind",
	 "kind",
	 {"switch", "link", "host"}},
	{"portmajor_drained_parts",
	 "Drained switches and links, by state",
	 "drained",
	 "list",
	 "state",
	 "state",
	 {"out", "needed", "pending"}},
};

static void print_tally(FILE *out, const struct tally *tally, const json_t *document,
			const char *labels)
{
	const json_t *list = state_member(document, tally->object, tally->list), *one;
	size_t i;

	if (!json_is_array(list))
		return;
	prometheus_print_head(out, tally->name, tally->help);
	for (const char *const *word = tally->words; *word; word++) {
		uint32_t count = 0;

		json_array_foreach(list, i, one) {
			const char *has =
				json_string_value(json_object_get(one, tally->member));

			count += has && !strcmp(has, *word) &&
				 !json_is_true(json_object_get(one, "acknowledged"));
		}
		fprintf(out, "%s{%s,%s=\"%s\"} %u\n", tally->name, labels, tally->label,
			*word, count);
	}
}

static void print_build(FILE *out, const json_t *document, const char *labels)
{
	const char *opensm = json_string_value(json_object_get(document, "opensm"));
	const char *plugin = json_string_value(json_object_get(document, "plugin"));

	prometheus_print_head(out, "portmajor_build_info",
			      "1, with the versions of the plugin and of OpenSM");
	fprintf(out, "portmajor_build_info{%s,version=\"%s\",opensm=\"%s\"} 1\n", labels,
		plugin ? plugin : "", opensm ? opensm : "");
}

static void print_degraded(FILE *out, const json_t *document, const char *labels)
{
	if (!json_is_integer(state_member(document, "degraded_links", "count")))
		return;
	prometheus_print_head(out, "portmajor_degraded_links",
			      "Links between switches that are slower than their "
			      "neighbours and not drained");
	fprintf(out, "portmajor_degraded_links{%s} %" JSON_INTEGER_FORMAT "\n", labels,
		finding_count_degraded(document));
}

int state_print_metrics(FILE *out, const void *arg)
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
	prometheus_print_rows(out, state_run_rows, &run, 1);
	prometheus_print_rows(out, state_total_rows, &totals, 1);
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		print_condition(out, &conditions[i], document, labels);
	print_build(out, document, labels);
	print_managers(out, document, labels);
	for (size_t i = 0; i < sizeof(tallies) / sizeof(*tallies); i++)
		print_tally(out, &tallies[i], document, labels);
	print_flap_counts(out, document, labels);
	print_degraded(out, document, labels);
	finding_print_metrics(out, document, labels);
	activity_print_metrics(out, document, labels);
	return 0;
}
