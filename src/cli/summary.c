/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "summary.h"

#include "json.h"

#include <stdlib.h>
#include <string.h>

static const char *const metric_names[METRICS] = {
	"blocks",    "bound",	     "switches", "entries",
	"pairs_cut", "switches_cut", "load",	 "shift",
};

const char *metric_name(enum metric metric)
{
	return metric_names[metric];
}

int metric_parse(const char *name, enum metric *metric)
{
	for (unsigned int m = 0; m < METRICS; m++)
		if (!strcmp(name, metric_names[m])) {
			*metric = (enum metric)m;
			return 0;
		}
	return -1;
}

double settings_ms(const struct settings *settings, uint64_t blocks)
{
	uint64_t rounds =
		blocks / settings->wire_smps + (blocks % settings->wire_smps != 0);

	return (double)rounds * settings->mad_us / 1000;
}

/* ---- Histograms ---- */

static struct bin *find_bin(const struct histogram *h, uint64_t value)
{
	uint32_t at = (uint32_t)((value * 0x9e3779b97f4a7c15u) >> 32) & (h->room - 1);

	while (h->bin[at].count && h->bin[at].value != value)
		at = (at + 1) & (h->room - 1);
	return &h->bin[at];
}

static int grow(struct histogram *h)
{
	struct histogram bigger = {.used = h->used, .room = h->room ? h->room * 2 : 64};

	bigger.bin = calloc(bigger.room, sizeof(*bigger.bin));
	if (!bigger.bin)
		return -1;
	for (uint32_t i = 0; i < h->room; i++)
		if (h->bin[i].count)
			*find_bin(&bigger, h->bin[i].value) = h->bin[i];
	free(h->bin);
	*h = bigger;
	return 0;
}

static int count_value(struct histogram *h, uint64_t value, uint64_t count)
{
	struct bin *bin;

	if (!count)
		return 0;
	if (h->used >= h->room / 2 && grow(h))
		return -1;
	bin = find_bin(h, value);
	h->used += !bin->count;
	bin->value = value;
	bin->count += count;
	return 0;
}

static int compare_bins(const void *a, const void *b)
{
	uint64_t x = ((const struct bin *)a)->value, y = ((const struct bin *)b)->value;

	return (x > y) - (x < y);
}

/* The bins in use by value; the caller frees them. */
static struct bin *sort_bins(const struct histogram *h)
{
	struct bin *sorted = calloc(h->used + 1u, sizeof(*sorted));
	uint32_t num = 0;

	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < h->room; i++)
		if (h->bin[i].count)
			sorted[num++] = h->bin[i];
	qsort(sorted, num, sizeof(*sorted), compare_bins);
	return sorted;
}

/* What is told of a histogram. */
struct statistics {
	uint64_t sum, least, median, p90, p99, most;
};

/* The least value that so many in a hundred do not exceed; bins are sorted. */
static uint64_t find_percentile(const struct bin *bins, uint32_t num, uint64_t count,
				unsigned int percent)
{
	/* count x percent / 100 rounded up, without overflow */
	uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < num; i++) {
		seen += bins[i].count;
		if (seen >= rank)
			return bins[i].value;
	}
	return 0;
}

static struct statistics find_statistics(const struct bin *bins, uint32_t num,
					 uint64_t count)
{
	struct statistics s = {0};

	for (uint32_t i = 0; i < num; i++)
		s.sum += bins[i].value * bins[i].count;
	s.least = num ? bins[0].value : 0;
	s.median = find_percentile(bins, num, count, 50);
	s.p90 = find_percentile(bins, num, count, 90);
	s.p99 = find_percentile(bins, num, count, 99);
	s.most = num ? bins[num - 1].value : 0;
	return s;
}

/* ---- Rows ---- */

/* Negative if a is worse than b; among equals the first one is. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct settings *settings = context;
	const struct row *a = left, *b = right;
	const enum metric order[] = {settings->by, METRIC_BLOCKS, METRIC_PAIRS_CUT};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a->value[order[i]] != b->value[order[i]])
			return a->value[order[i]] > b->value[order[i]] ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

void summary_finish(struct summary *summary, const struct settings *settings)
{
	/* glibc's qsort_r does not change what it is given here. */
	if (summary->num_rows)
		qsort_r(summary->row, summary->num_rows, sizeof(*summary->row),
			compare_rows, (void *)(uintptr_t)settings);
	while (summary->num_rows > settings->worst)
		json_decref(summary->row[--summary->num_rows].lost);
}

/* Room for one more row, if need be by striking off those that are not the worst. */
static int make_room(struct summary *summary, const struct settings *settings)
{
	uint32_t room;
	struct row *rows;

	if (summary->num_rows < summary->rows_room)
		return 0;
	if (summary->num_rows / 2 >= settings->worst && summary->num_rows) {
		summary_finish(summary, settings);
		return 0;
	}
	room = summary->rows_room ? summary->rows_room * 2 : 64;
	rows = reallocarray(summary->row, room, sizeof(*rows));
	if (!rows)
		return -1;
	summary->row = rows;
	summary->rows_room = room;
	return 0;
}

static int add_row(struct summary *summary, const struct settings *settings,
		   struct row *row)
{
	if (!settings->worst) {
		json_decref(row->lost);
		row->lost = NULL;
		return 0;
	}
	if (make_room(summary, settings))
		return -1;
	summary->row[summary->num_rows++] = *row;
	row->lost = NULL;
	return 0;
}

int summary_add(struct summary *summary, const struct settings *settings, struct row *row)
{
	summary->count++;
	for (unsigned int m = 0; m < METRICS; m++)
		if (count_value(&summary->histogram[m], row->value[m], 1))
			return -1;
	return add_row(summary, settings, row);
}

int summary_merge(struct summary *into, struct summary *from,
		  const struct settings *settings)
{
	into->count += from->count;
	for (unsigned int m = 0; m < METRICS; m++)
		for (uint32_t i = 0; i < from->histogram[m].room; i++)
			if (count_value(&into->histogram[m],
					from->histogram[m].bin[i].value,
					from->histogram[m].bin[i].count))
				return -1;
	for (uint32_t i = 0; i < from->num_rows; i++)
		if (add_row(into, settings, &from->row[i]))
			return -1;
	summary_free(from);
	return 0;
}

void summary_free(struct summary *summary)
{
	for (unsigned int m = 0; m < METRICS; m++)
		free(summary->histogram[m].bin);
	for (uint32_t i = 0; i < summary->num_rows; i++)
		json_decref(summary->row[i].lost);
	free(summary->row);
	memset(summary, 0, sizeof(*summary));
}

/* ---- Writing ---- */

static json_t *statistics_json(const struct statistics *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "sum", (json_int_t)s->sum,
			 "least", (json_int_t)s->least, "median", (json_int_t)s->median,
			 "p90", (json_int_t)s->p90, "p99", (json_int_t)s->p99, "most",
			 (json_int_t)s->most);
}

static json_t *bins_json(const struct bin *bins, uint32_t num)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < num; i++)
		if (json_array_append_new(array,
					  json_pack("[I, I]", (json_int_t)bins[i].value,
						    (json_int_t)bins[i].count))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *histogram_json(const struct histogram *h, uint64_t count)
{
	struct bin *bins = sort_bins(h);
	struct statistics s;
	json_t *object;

	if (!bins)
		return NULL;
	s = find_statistics(bins, h->used, count);
	object = statistics_json(&s);
	if (json_object_set_new(object, "histogram", bins_json(bins, h->used))) {
		json_decref(object);
		object = NULL;
	}
	free(bins);
	return object;
}

static json_t *row_json(const struct row *row, const struct settings *settings)
{
	json_t *object = json_pack("{s:I, s:O}", "number", (json_int_t)row->number,
				   "lost", row->lost);
	int bad = 0;

	for (unsigned int m = 0; m < METRICS; m++)
		bad |= json_object_set_new(object, metric_names[m],
					   json_integer((json_int_t)row->value[m]));
	bad |= json_object_set_new(
		object, "ms",
		json_real(settings_ms(settings, row->value[METRIC_BLOCKS])));
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *rows_json(const struct summary *summary, const struct settings *settings)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < summary->num_rows; i++)
		if (json_array_append_new(array, row_json(&summary->row[i], settings))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

json_t *summary_json(const struct summary *summary, const struct settings *settings)
{
	json_t *object = cli_json_new("sweep", 1), *metrics = json_object();
	int bad = !object || !metrics;

	for (unsigned int m = 0; !bad && m < METRICS; m++)
		bad = json_object_set_new(
			metrics, metric_names[m],
			histogram_json(&summary->histogram[m], summary->count));
	bad = bad || json_object_set(object, "settings", settings->json) ||
	      json_object_set_new(object, "shard",
				  json_pack("{s:I, s:I}", "index",
					    (json_int_t)settings->shard, "of",
					    (json_int_t)settings->num_shards)) ||
	      json_object_set_new(object, "failures",
				  json_integer((json_int_t)summary->count)) ||
	      json_object_set(object, "metrics", metrics) ||
	      json_object_set_new(object, "worst", rows_json(summary, settings));
	json_decref(metrics);
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

static void print_metric(const struct summary *summary, enum metric metric, FILE *out)
{
	const struct histogram *h = &summary->histogram[metric];
	struct bin *bins = sort_bins(h);
	struct statistics s;

	if (!bins)
		return;
	s = find_statistics(bins, h->used, summary->count);
	free(bins);
	fprintf(out, "%-12s %14llu %9llu %9llu %9llu %9llu %9llu\n", metric_names[metric],
		(unsigned long long)s.sum, (unsigned long long)s.least,
		(unsigned long long)s.median, (unsigned long long)s.p90,
		(unsigned long long)s.p99, (unsigned long long)s.most);
}

static void print_lost(const struct row *row, FILE *out)
{
	size_t i;
	json_t *one;

	json_array_foreach(row->lost, i, one)
		fprintf(out, "%s%s", i ? " " : "  ",
			json_string_value(json_object_get(one, "name")));
	fputc('\n', out);
}

void summary_print(const struct summary *summary, const struct settings *settings,
		   FILE *out)
{
	const char *kind =
		json_string_value(json_object_get(settings->json, "failures_of"));
	bool pairs = json_is_true(json_object_get(settings->json, "pairs"));

	fprintf(out, "%llu of %llu failures of %s%s", (unsigned long long)summary->count,
		(unsigned long long)settings->total, pairs ? "pairs of " : "", kind);
	if (settings->num_shards > 1)
		fprintf(out, ", shard %u of %u", settings->shard, settings->num_shards);
	fprintf(out, "\n%-12s %14s %9s %9s %9s %9s %9s\n", "", "sum", "least", "median",
		"90 %", "99 %", "most");
	for (unsigned int m = 0; m < METRICS; m++)
		print_metric(summary, (enum metric)m, out);
	if (!summary->num_rows)
		return;
	fprintf(out, "\nworst by %s\n%9s %9s %9s %9s %10s %8s %6s %10s  %s\n",
		metric_names[settings->by], "blocks", "bound", "switches", "entries",
		"pairs cut", "load", "shift", "ms", "lost");
	for (uint32_t i = 0; i < summary->num_rows; i++) {
		const struct row *row = &summary->row[i];
		const uint64_t *v = row->value;

		fprintf(out, "%9llu %9llu %9llu %9llu %10llu %8llu %6llu %10.1f",
			(unsigned long long)v[METRIC_BLOCKS],
			(unsigned long long)v[METRIC_BOUND],
			(unsigned long long)v[METRIC_SWITCHES],
			(unsigned long long)v[METRIC_ENTRIES],
			(unsigned long long)v[METRIC_PAIRS_CUT],
			(unsigned long long)v[METRIC_LOAD],
			(unsigned long long)v[METRIC_SHIFT],
			settings_ms(settings, v[METRIC_BLOCKS]));
		print_lost(row, out);
	}
}

/* ---- Reading ---- */

static int bad_text(char text[SUMMARY_TEXT], const char *what)
{
	snprintf(text, SUMMARY_TEXT, "%s", what);
	return -1;
}

/* A whole number from low to high, a member of the object; -1 with a text. */
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
	const char *schema = json_string_value(json_object_get(object, "schema"));

	return schema && !strcmp(schema, "portmajor-sweep") &&
	       json_integer_value(json_object_get(object, "version")) == 1;
}

int settings_read(struct settings *settings, json_t *object, char text[SUMMARY_TEXT])
{
	json_t *json = json_object_get(object, "settings");
	json_t *shard = json_object_get(object, "shard");
	const char *by = json_string_value(json_object_get(json, "by"));
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
	if (!by || metric_parse(by, &settings->by))
		return bad_text(text, "no good \"by\"");
	if (!json_is_string(json_object_get(json, "failures_of")))
		return bad_text(text, "no good \"failures_of\"");
	settings->worst = (uint32_t)worst;
	settings->mad_us = (uint32_t)mad_us;
	settings->wire_smps = (uint32_t)wire;
	settings->shard = (uint32_t)index;
	settings->num_shards = (uint32_t)of;
	settings->json = json_incref(json);
	return 0;
}

static int read_histogram(struct histogram *h, const json_t *array, uint64_t count,
			  char text[SUMMARY_TEXT])
{
	uint64_t seen = 0;
	size_t i;
	json_t *one;

	json_array_foreach(array, i, one)
	{
		json_int_t value = json_integer_value(json_array_get(one, 0));
		json_int_t times = json_integer_value(json_array_get(one, 1));

		if (json_array_size(one) != 2 || value < 0 || times <= 0 ||
		    (uint64_t)times > count - seen)
			return bad_text(text, "a histogram is damaged");
		seen += (uint64_t)times;
		if (count_value(h, (uint64_t)value, (uint64_t)times))
			return bad_text(text, "out of memory");
	}
	return seen == count ? 0 : bad_text(text, "a histogram is damaged");
}

/* The name of a loss: objects with a name each. */
static bool is_lost_right(const json_t *lost)
{
	size_t i;
	json_t *one;

	json_array_foreach(lost, i, one) if (!json_is_string(json_object_get(
						     one, "name"))) return false;
	return json_array_size(lost) > 0;
}

static int read_row(struct summary *summary, const struct settings *settings,
		    json_t *object, char text[SUMMARY_TEXT])
{
	struct row row = {.lost = json_object_get(object, "lost")};

	if (!is_lost_right(row.lost))
		return bad_text(text, "one of the worst has no good \"lost\"");
	if (get_number(object, "number", 0, INT64_MAX, &row.number, text))
		return -1;
	for (unsigned int m = 0; m < METRICS; m++)
		if (get_number(object, metric_names[m], 0, INT64_MAX, &row.value[m],
			       text))
			return -1;
	json_incref(row.lost);
	if (!add_row(summary, settings, &row))
		return 0;
	json_decref(row.lost);
	return bad_text(text, "out of memory");
}

int summary_read(struct summary *summary, const struct settings *settings, json_t *object,
		 char text[SUMMARY_TEXT])
{
	json_t *metrics = json_object_get(object, "metrics");
	json_t *worst = json_object_get(object, "worst");
	size_t i;
	json_t *one;

	memset(summary, 0, sizeof(*summary));
	if (get_number(object, "failures", 0, settings->total, &summary->count, text))
		return -1;
	for (unsigned int m = 0; m < METRICS; m++) {
		json_t *of = json_object_get(metrics, metric_names[m]);

		if (read_histogram(&summary->histogram[m],
				   json_object_get(of, "histogram"), summary->count,
				   text))
			return -1;
	}
	if (!json_is_array(worst))
		return bad_text(text, "no good \"worst\"");
	json_array_foreach(worst, i,
			   one) if (read_row(summary, settings, one, text)) return -1;
	return 0;
}
