/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics in the text format of Prometheus, from objects of the state's document. */
#ifndef PORTMAJOR_PROMETHEUS_H
#define PORTMAJOR_PROMETHEUS_H

#include <portmajor/json/rows.h>

#include <stdio.h>

/* An object of the document, and the labels that its metrics have. */
struct prometheus_source {
	const char *labels; /* `port_guid="0x..."` */
	const json_t *object;
};

/* Begins a metric: a counter if its name ends in _total, else a gauge. */
void prometheus_print_head(FILE *out, const char *metric, const char *help);

/* Prints a value of a metric, unless it is neither number nor boolean. */
void prometheus_print_value(FILE *out, const char *metric, const char *labels,
			    const json_t *value);

/*
 * Prints the metrics of all rows, each with the values of all sources. Without sources
 * prints nothing. Of two files whose HELP of a metric differs, node_exporter drops one
 * file's values and reports no error: hence a HELP never has a value or a version, and is
 * not changed for a name that was released.
 */
void prometheus_print_rows(FILE *out, const struct pm_json_row *rows,
			   const struct prometheus_source *sources, size_t num);

#endif
