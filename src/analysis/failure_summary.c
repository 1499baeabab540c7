/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Summarises many failures: histograms and the worst cases. */
#include <portmajor/analysis/failure_summary.h>

#include <portmajor/base/alloc.h>

#include <errno.h>

static const char *const metric_names[PM_METRICS] = {
	"blocks",    "restoring",    "least", "switches", "entries",
	"pairs_cut", "switches_cut", "load",  "shift",
};

const char *pm_metric_name(enum pm_metric metric)
{
	return metric_names[metric];
}

int pm_metric_parse(const char *name, enum pm_metric *metric)
{
	for (unsigned int m = 0; m < PM_METRICS; m++)
		if (!strcmp(name, metric_names[m])) {
			*metric = (enum pm_metric)m;
			return 0;
		}
	return -EINVAL;
}

/* ---- Histograms ---- */

static int compare_bins(const void *a, const void *b)
{
	uint64_t x = ((const struct pm_bin *)a)->value;
	uint64_t y = ((const struct pm_bin *)b)->value;

	return (x > y) - (x < y);
}

/* Sorts the bins, and merges bins of the same value. */
static void sort_bins(struct pm_histogram *h)
{
	uint32_t kept = 0;

	if (h->num)
		qsort(h->bin, h->num, sizeof(*h->bin), compare_bins);
	for (uint32_t i = 0; i < h->num; i++)
		if (kept && h->bin[kept - 1].value == h->bin[i].value)
			h->bin[kept - 1].count += h->bin[i].count;
		else
			h->bin[kept++] = h->bin[i];
	h->num = kept;
}

int pm_histogram_add(struct pm_histogram *h, uint64_t value, uint64_t count)
{
	/* Sorting may make room; unless half is free then, more is allocated. */
	if (h->num == h->room) {
		sort_bins(h);
		if (h->num >= h->room / 2 &&
		    pm_grow(&h->bin, &h->room, h->room + 1, sizeof(*h->bin)))
			return -ENOMEM;
	}
	h->bin[h->num++] = (struct pm_bin){value, count};
	return 0;
}

/* The least value that at least so many percent do not exceed. */
static uint64_t find_percentile(const struct pm_histogram *h, uint64_t count,
				unsigned int percent)
{
	/* count x percent / 100 rounded up, without overflow */
	uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
	uint64_t counted = 0;

	for (uint32_t i = 0; i < h->num; i++) {
		counted += h->bin[i].count;
		if (counted >= rank)
			return h->bin[i].value;
	}
	return 0;
}

struct pm_statistics
pm_failure_summary_statistics(const struct pm_failure_summary *summary,
			      enum pm_metric metric)
{
	const struct pm_histogram *h = &summary->histogram[metric];
	struct pm_statistics s = {0};

	if (!h->num)
		return s;
	for (uint32_t i = 0; i < h->num; i++)
		s.sum += h->bin[i].value * h->bin[i].count;
	s.minimum = h->bin[0].value;
	s.median = find_percentile(h, summary->count, 50);
	s.p90 = find_percentile(h, summary->count, 90);
	s.p99 = find_percentile(h, summary->count, 99);
	s.maximum = h->bin[h->num - 1].value;
	return s;
}

/* ---- Rows ---- */

/* Negative if a is worse than b; of equal ones the first counts as worse. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct pm_failure_summary *summary = context;
	const struct pm_row *a = left, *b = right;
	const enum pm_metric order[] = {summary->by, PM_METRIC_BLOCKS,
					PM_METRIC_PAIRS_CUT};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a->value[order[i]] != b->value[order[i]])
			return a->value[order[i]] > b->value[order[i]] ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static void keep_worst(struct pm_failure_summary *summary)
{
	if (summary->num_rows)
		qsort_r(summary->row, summary->num_rows, sizeof(*summary->row),
			compare_rows, summary);
	if (summary->num_rows > summary->worst)
		summary->num_rows = summary->worst;
}

int pm_failure_summary_add_row(struct pm_failure_summary *summary,
			       const struct pm_row *row)
{
	if (!summary->worst)
		return 0;
	/* Dropping all rows but the worst makes room, if these are at most half. */
	if (summary->num_rows == summary->rows_room &&
	    summary->num_rows / 2 >= summary->worst)
		keep_worst(summary);
	if (pm_grow(&summary->row, &summary->rows_room, summary->num_rows + 1,
		    sizeof(*summary->row)))
		return -ENOMEM;
	summary->row[summary->num_rows++] = *row;
	return 0;
}

/* ---- Both ---- */

int pm_failure_summary_add(struct pm_failure_summary *summary, const struct pm_row *row)
{
	summary->count++;
	for (unsigned int m = 0; m < PM_METRICS; m++)
		if (pm_histogram_add(&summary->histogram[m], row->value[m], 1))
			return -ENOMEM;
	return pm_failure_summary_add_row(summary, row);
}

int pm_failure_summary_merge(struct pm_failure_summary *into,
			     const struct pm_failure_summary *from)
{
	into->count += from->count;
	for (unsigned int m = 0; m < PM_METRICS; m++) {
		const struct pm_histogram *h = &from->histogram[m];

		for (uint32_t i = 0; i < h->num; i++)
			if (pm_histogram_add(&into->histogram[m], h->bin[i].value,
					     h->bin[i].count))
				return -ENOMEM;
	}
	for (uint32_t i = 0; i < from->num_rows; i++)
		if (pm_failure_summary_add_row(into, &from->row[i]))
			return -ENOMEM;
	return 0;
}

void pm_failure_summary_finish(struct pm_failure_summary *summary)
{
	for (unsigned int m = 0; m < PM_METRICS; m++)
		sort_bins(&summary->histogram[m]);
	keep_worst(summary);
}

void pm_failure_summary_free(struct pm_failure_summary *summary)
{
	for (unsigned int m = 0; m < PM_METRICS; m++)
		free(summary->histogram[m].bin);
	free(summary->row);
	*summary =
		(struct pm_failure_summary){.by = summary->by, .worst = summary->worst};
}
