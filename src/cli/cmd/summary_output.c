/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints results of a sweep over failures as text, CSV and JSON, and reads the JSON. */
#include "summary_output.h"

#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/base/escape.h>
#include <portmajor/base/print.h>
#include <portmajor/json/rows.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define VERSION 3 /* of the schema */

double settings_ms(const struct settings *settings, uint64_t blocks)
{
	uint64_t rounds =
		blocks / settings->wire_smps + (blocks % settings->wire_smps != 0);

	return (double)rounds * settings->mad_us / 1000;
}

/* ---- Names ---- */

/* The printed name of an array's item; NULL: no name, or no such item. */
static const char *name_text(const json_t *failed, size_t i)
{
	return cli_json_label(json_array_get(failed, i));
}

/* Whether this is a list of host names, or null. */
static bool is_cut_off(const json_t *cut_off)
{
	json_t *name;
	size_t i;

	json_array_foreach(cut_off, i, name)
		if (!json_is_string(name))
			return false;
	return json_is_array(cut_off) || json_is_null(cut_off);
}

int names_add(struct names *names, json_t *failed, json_t *cut_off)
{
	size_t num = json_array_size(failed);
	json_t *both;

	if (failed && cut_off) {
		bool good = num >= 1 && num <= 2 && is_cut_off(cut_off);

		for (size_t i = 0; i < num && good; i++)
			good = name_text(failed, i);
		if (!good) {
			json_decref(failed);
			json_decref(cut_off);
			return -EINVAL;
		}
	}
	both = json_pack("{s:o, s:o}", "failed", failed, "cut_off", cut_off);
	if (!both)
		pm_no_memory();
	pm_xgrow(&names->list, &names->room, names->num + 1, sizeof(*names->list));
	names->list[names->num++] = both;
	return 0;
}

void names_free(struct names *names)
{
	for (uint32_t i = 0; i < names->num; i++)
		json_decref(names->list[i]);
	free(names->list);
	*names = (struct names){0};
}

/* ---- Writing ---- */

static json_t *bins_json(const struct pm_histogram *h)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < h->num; i++)
		list = pm_json_append(list,
				      json_pack("[I, I]", (json_int_t)h->bin[i].value,
						(json_int_t)h->bin[i].count));
	return list;
}

/* Whether a metric was found for each failure: loads and shifts only if requested. */
static bool is_found(const struct settings *settings, enum pm_metric metric)
{
	switch (metric) {
	case PM_METRIC_LOAD:
		return !json_is_false(json_object_get(settings->json, "loads"));
	case PM_METRIC_SHIFT:
		return cli_json_number(settings->json, "shifts");
	default:
		return true;
	}
}

#define STATISTICS(member) PM_JSON_ROW(struct pm_statistics, member)

static const struct pm_json_row statistics_rows[] = {
	{"sum", STATISTICS(sum)},
	{"minimum", STATISTICS(minimum)},
	{"median", STATISTICS(median)},
	{"p90", STATISTICS(p90)},
	{"p99", STATISTICS(p99)},
	{"maximum", STATISTICS(maximum)},
	{0},
};

static json_t *metric_json(const struct pm_failure_summary *summary,
			   enum pm_metric metric)
{
	struct pm_statistics s = pm_failure_summary_statistics(summary, metric);

	return cli_json_join(
		pm_json_rows(statistics_rows, &s),
		json_pack("{s:o}", "histogram", bins_json(&summary->histogram[metric])));
}

static json_t *metrics_json(const struct pm_failure_summary *summary,
			    const struct settings *settings)
{
	json_t *object = json_object();

	for (unsigned int m = 0; m < PM_METRICS; m++)
		object = cli_json_join(object,
				       json_pack("{s:o}", pm_metric_name(m),
						 summary->count && is_found(settings, m)
							 ? metric_json(summary, m)
							 : json_null()));
	return object;
}

static json_t *row_json(const struct pm_row *row, const struct names *names,
			const struct settings *settings)
{
	const json_t *name = names->list[row->name];
	json_t *object = json_pack("{s:I, s:O, s:O}", "number", (json_int_t)row->number,
				   "failed", json_object_get(name, "failed"), "cut_off",
				   json_object_get(name, "cut_off"));

	for (unsigned int m = 0; m < PM_METRICS; m++)
		object = cli_json_join(
			object,
			json_pack("{s:o}", pm_metric_name(m),
				  is_found(settings, m)
					  ? json_integer((json_int_t)row->value[m])
					  : json_null()));
	return cli_json_join(
		object, json_pack("{s:f}", "ms",
				  settings_ms(settings, row->value[PM_METRIC_BLOCKS])));
}

static json_t *rows_json(const struct pm_failure_summary *summary,
			 const struct names *names, const struct settings *settings)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < summary->num_rows; i++)
		list = pm_json_append(list, row_json(&summary->row[i], names, settings));
	return list;
}

/* The object without its rows. */
static json_t *head_json(const struct pm_failure_summary *summary,
			 const struct settings *settings)
{
	return cli_json_join(cli_json_new("sweep", VERSION),
			     json_pack("{s:O, s:{s:I, s:I}, s:I, s:o}", "settings",
				       settings->json, "shard", "index",
				       (json_int_t)settings->shard, "of",
				       (json_int_t)settings->num_shards, "failures",
				       (json_int_t)summary->count, "metrics",
				       metrics_json(summary, settings)));
}

json_t *summary_json(const struct pm_failure_summary *summary, const struct names *names,
		     const struct settings *settings)
{
	return cli_json_join(
		head_json(summary, settings),
		json_pack("{s:o}", "worst", rows_json(summary, names, settings)));
}

static void print_head(const json_t *head)
{
	const json_t *metrics = json_object_get(head, "metrics");

	cli_text_print(head, "{failures} of {settings.total|failure|failures} of ");
	if (json_is_true(json_object_get(json_object_get(head, "settings"), "pairs")))
		fputs("pairs of ", stdout);
	cli_text_print(head, "{settings.failures_of}");
	if (cli_json_number(json_object_get(head, "shard"), "of") > 1)
		cli_text_print(head, ", shard {shard.index} of {shard.of}");
	printf("\n%-12s %14s %9s %9s %9s %9s %9s\n", "", "sum", "minimum", "median",
	       "90 %", "99 %", "maximum");
	for (unsigned int m = 0; m < PM_METRICS; m++) {
		const json_t *metric = json_object_get(metrics, pm_metric_name(m));

		printf("%-12s", pm_metric_name(m));
		if (json_is_null(metric))
			printf(" %14s\n", "-");
		else
			cli_text_print(
				metric,
				" {14sum} {9minimum} {9median} {9p90} {9p99} {9maximum}\n");
	}
}

static void put_name(const json_t *name)
{
	cli_text_put(json_string_value(name));
}

void cut_off_print(const json_t *cut_off)
{
	cli_text_first(cut_off, put_name);
}

static void print_summary_row(const json_t *row)
{
	const json_t *failed = json_object_get(row, "failed");
	const char *second = name_text(failed, 1);

	cli_text_print(
		row,
		"{9blocks} {9restoring} {9least} {9switches} {9entries} {10pairs_cut} "
		"{8load} {6shift} {10%ms}");
	fputs("  ", stdout);
	cli_text_put(name_text(failed, 0));
	if (second) {
		putchar(' ');
		cli_text_put(second);
	}
	if (json_array_size(json_object_get(row, "cut_off"))) {
		fputs(", cut off: ", stdout);
		cut_off_print(json_object_get(row, "cut_off"));
	}
	putchar('\n');
}

static int join_names(FILE *out, const void *arg)
{
	const json_t *name;
	size_t i;

	json_array_foreach((const json_t *)arg, i, name)
		fprintf(out, "%s%s", i ? ";" : "", json_string_value(name));
	return 0;
}

/* Prints a list as one field, with semicolons. */
static void print_csv_list(const json_t *list)
{
	size_t length;
	char *text;

	if (pm_text_print(join_names, list, &text, &length))
		pm_no_memory();
	pm_put_csv(stdout, text);
	free(text);
}

static void print_csv_row(const json_t *row)
{
	const json_t *failed = json_object_get(row, "failed");
	const json_t *cut_off = json_object_get(row, "cut_off");

	pm_put_csv(stdout, name_text(failed, 0));
	putchar(',');
	pm_put_csv(stdout, json_array_size(failed) > 1 ? name_text(failed, 1) : "");
	for (unsigned int m = 0; m < PM_METRICS; m++) {
		const json_t *value = json_object_get(row, pm_metric_name(m));

		putchar(',');
		if (json_is_integer(value))
			printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	}
	printf(",%zu,", json_array_size(cut_off));
	print_csv_list(cut_off);
	putchar('\n');
}

void summary_print_csv(const struct pm_failure_summary *summary,
		       const struct names *names, const struct settings *settings)
{
	fputs("failed,and", stdout);
	for (unsigned int m = 0; m < PM_METRICS; m++)
		printf(",%s", pm_metric_name(m));
	puts(",hosts_cut_off,hosts");
	for (uint32_t i = 0; i < summary->num_rows; i++) {
		json_t *row = row_json(&summary->row[i], names, settings);

		print_csv_row(row);
		json_decref(row);
	}
}

/* Prints row by row, as there may be tens of thousands. */
void summary_print(const struct pm_failure_summary *summary, const struct names *names,
		   const struct settings *settings)
{
	json_t *head = head_json(summary, settings);

	print_head(head);
	if (summary->num_rows) {
		cli_text_print(head, "\nworst by {settings.by}\n");
		printf("%9s %9s %9s %9s %9s %10s %8s %6s %10s  %s\n", "blocks",
		       "restoring", "least", "switches", "entries", "pairs cut", "load",
		       "shift", "ms", "failed");
	}
	json_decref(head);
	for (uint32_t i = 0; i < summary->num_rows; i++) {
		json_t *row = row_json(&summary->row[i], names, settings);

		print_summary_row(row);
		json_decref(row);
	}
}

/* ---- Reading ---- */

static int bad_text(char text[SUMMARY_TEXT], const char *what)
{
	snprintf(text, SUMMARY_TEXT, "%s", what);
	return -1;
}

/* Reads a whole number from low to high, a member of the object; -1 with a text. */
static int get_number(const json_t *object, const char *name, uint64_t low, uint64_t high,
		      uint64_t *value, char text[SUMMARY_TEXT])
{
	json_t *number = json_object_get(object, name);

	if (json_is_integer(number) && json_integer_value(number) >= 0) {
		*value = (uint64_t)json_integer_value(number);
		if (*value >= low && *value <= high)
			return 0;
	}
	snprintf(text, SUMMARY_TEXT, "no good number \"%s\"", name);
	return -1;
}

static bool is_header_right(json_t *object)
{
	return !strcmp(cli_json_text(object, "schema"), "portmajor-sweep") &&
	       cli_json_number(object, "version") == VERSION;
}

int settings_read(struct settings *settings, json_t *object, char text[SUMMARY_TEXT])
{
	json_t *json = json_object_get(object, "settings");
	json_t *shard = json_object_get(object, "shard");
	const char *by = json_string_value(json_object_get(json, "by"));
	const char *kind = json_string_value(json_object_get(json, "failures_of"));
	enum pm_failure_kind ignored;
	uint64_t worst, mad_us, wire, index, of;

	memset(settings, 0, sizeof(*settings));
	if (!is_header_right(object))
		return bad_text(text, "not what portmajor whatif --all --json writes");
	if (get_number(json, "total", 0, INT64_MAX, &settings->total, text) ||
	    get_number(json, "worst", 0, UINT32_MAX, &worst, text) ||
	    get_number(json, "mad_us", 0, UINT32_MAX, &mad_us, text) ||
	    get_number(json, "max_wire_smps", 1, UINT32_MAX, &wire, text) ||
	    get_number(shard, "of", 1, UINT32_MAX, &of, text) ||
	    get_number(shard, "index", 1, of, &index, text))
		return -1;
	if (!by || pm_metric_parse(by, &settings->by))
		return bad_text(text, "no good \"by\"");
	if (!kind || pm_failure_kind_parse(kind, &ignored))
		return bad_text(text, "no good \"failures_of\"");
	settings->worst = (uint32_t)worst;
	settings->mad_us = (uint32_t)mad_us;
	settings->wire_smps = (uint32_t)wire;
	settings->shard = (uint32_t)index;
	settings->num_shards = (uint32_t)of;
	settings->json = json_incref(json);
	return 0;
}

static int read_histogram(struct pm_histogram *h, const json_t *array, uint64_t count,
			  char text[SUMMARY_TEXT])
{
	uint64_t counted = 0;
	size_t i;
	json_t *one;

	json_array_foreach(array, i, one) {
		json_int_t value = json_integer_value(json_array_get(one, 0));
		json_int_t times = json_integer_value(json_array_get(one, 1));

		if (json_array_size(one) != 2 || value < 0 || times <= 0 ||
		    (uint64_t)times > count - counted)
			return bad_text(text, "a histogram is damaged");
		counted += (uint64_t)times;
		if (pm_histogram_add(h, (uint64_t)value, (uint64_t)times))
			pm_no_memory();
	}
	return counted == count ? 0 : bad_text(text, "a histogram is damaged");
}

/* Reads a metric of a row; null: it was not found. */
static int read_value(json_t *object, enum pm_metric metric, uint64_t *value,
		      char text[SUMMARY_TEXT])
{
	const char *name = pm_metric_name(metric);

	*value = 0;
	return json_is_null(json_object_get(object, name))
		       ? 0
		       : get_number(object, name, 0, INT64_MAX, value, text);
}

static int read_row(struct pm_failure_summary *summary, struct names *names,
		    json_t *object, char text[SUMMARY_TEXT])
{
	struct pm_row row = {.name = names->num};
	json_t *failed = json_object_get(object, "failed");
	json_t *cut_off = json_object_get(object, "cut_off");

	if (!failed || names_add(names, json_incref(failed),
				 cut_off ? json_incref(cut_off) : json_null()))
		return bad_text(text, "one of the worst has no good \"failed\"");
	if (get_number(object, "number", 0, INT64_MAX, &row.number, text))
		return -1;
	for (unsigned int m = 0; m < PM_METRICS; m++)
		if (read_value(object, m, &row.value[m], text))
			return -1;
	if (pm_failure_summary_add_row(summary, &row))
		pm_no_memory();
	return 0;
}

int summary_read(struct pm_failure_summary *summary, struct names *names,
		 const struct settings *settings, json_t *object, char text[SUMMARY_TEXT])
{
	json_t *metrics = json_object_get(object, "metrics");
	json_t *worst = json_object_get(object, "worst");
	size_t i;
	json_t *one;

	*summary =
		(struct pm_failure_summary){.by = settings->by, .worst = settings->worst};
	if (get_number(object, "failures", 0, settings->total, &summary->count, text))
		return -1;
	for (unsigned int m = 0; m < PM_METRICS; m++) {
		json_t *of = json_object_get(metrics, pm_metric_name(m));

		if (json_is_null(of)) {
			if (summary->count &&
			    pm_histogram_add(&summary->histogram[m], 0, summary->count))
				pm_no_memory();
		} else if (read_histogram(&summary->histogram[m],
					  json_object_get(of, "histogram"),
					  summary->count, text)) {
			return -1;
		}
	}
	if (!json_is_array(worst))
		return bad_text(text, "no good \"worst\"");
	json_array_foreach(worst, i, one)
		if (read_row(summary, names, one, text))
			return -1;
	return 0;
}
