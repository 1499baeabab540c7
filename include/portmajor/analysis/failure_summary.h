/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Summarises the cost of many failures: a histogram of each metric, and the worst
 * failures. Summaries of several threads or files can be added.
 */
#ifndef PORTMAJOR_FAILURE_SUMMARY_H
#define PORTMAJOR_FAILURE_SUMMARY_H

#include <stdint.h>

/* Of one failure, as in struct pm_whatif_result. */
enum pm_metric {
	PM_METRIC_BLOCKS,
	PM_METRIC_RESTORING,
	PM_METRIC_LEAST,
	PM_METRIC_SWITCHES, /* with a changed block */
	PM_METRIC_ENTRIES,
	PM_METRIC_PAIRS_CUT,
	PM_METRIC_SWITCHES_CUT,
	PM_METRIC_LOAD,	 /* 0 unless requested */
	PM_METRIC_SHIFT, /* likewise */
	PM_METRICS,
};

/* "blocks" and so on. */
const char *pm_metric_name(enum pm_metric metric);
/* -EINVAL: no such metric. */
int pm_metric_parse(const char *name, enum pm_metric *metric);

/* A failure. */
struct pm_row {
	uint64_t number; /* among all failures: the same in each part */
	uint64_t value[PM_METRICS];
	uint32_t name; /* the caller's own, carried along */
};

/*
 * The count of each value. Once sorted, each value is there once, in ascending order.
 * Zeroed: empty.
 */
struct pm_bin {
	uint64_t value, count;
};
struct pm_histogram {
	struct pm_bin *bin;
	uint32_t num, room;
};

/* Adds a value count times. -ENOMEM. O(log values) on average. */
int pm_histogram_add(struct pm_histogram *histogram, uint64_t value, uint64_t count);

struct pm_failure_summary {
	/*
	 * The caller sets the metric to sort by (ties: more blocks, then more pairs cut,
	 * then first) and the number of worst failures to keep, and zeroes the rest.
	 */
	enum pm_metric by;
	uint32_t worst;
	uint64_t count; /* of failures */
	struct pm_histogram histogram[PM_METRICS];
	struct pm_row *row; /* the worst; before finishing, others as well */
	uint32_t num_rows, rows_room;
};

/* Adds a failure; after -ENOMEM the summary can only be freed. */
int pm_failure_summary_add(struct pm_failure_summary *summary, const struct pm_row *row);

/* Adds a candidate for the worst, without counting it. -ENOMEM. */
int pm_failure_summary_add_row(struct pm_failure_summary *summary,
			       const struct pm_row *row);

/* Adds another part's summary; errors as pm_failure_summary_add. */
int pm_failure_summary_merge(struct pm_failure_summary *into,
			     const struct pm_failure_summary *from);

/* Sorts rows and histograms, and drops rows that are not among the worst. */
void pm_failure_summary_finish(struct pm_failure_summary *summary);

void pm_failure_summary_free(struct pm_failure_summary *summary);

/* Percentiles by the nearest rank. */
struct pm_statistics {
	uint64_t sum, minimum, median, p90, p99, maximum;
};

/* Of a finished summary; all 0 if it is empty. O(values). */
struct pm_statistics
pm_failure_summary_statistics(const struct pm_failure_summary *summary,
			      enum pm_metric metric);

#endif
