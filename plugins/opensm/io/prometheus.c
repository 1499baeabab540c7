/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints metrics in the text format of Prometheus. */
#include "prometheus.h"

#include <string.h>

void prometheus_print_head(FILE *out, const char *metric, const char *help)
{
	const char *end = strrchr(metric, '_');

	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric,
		end && !strcmp(end, "_total") ? "counter" : "gauge");
}

void prometheus_print_value(FILE *out, const char *metric, const char *labels,
			    const json_t *value)
{
	if (json_is_real(value))
		fprintf(out, "%s{%s} %.3f\n", metric, labels, json_real_value(value));
	else if (json_is_number(value) || json_is_boolean(value))
		fprintf(out, "%s{%s} %" JSON_INTEGER_FORMAT "\n", metric, labels,
			json_is_true(value) ? 1 : json_integer_value(value));
}

/* A member in milliseconds, by its name, is a metric in seconds, the base unit. */
static void print_row(FILE *out, const struct pm_json_row *row,
		      const struct prometheus_source *source)
{
	const json_t *value = json_object_get(source->object, row->name);

	if (json_is_real(value) &&
	    (strstr(row->name, "milliseconds") || strstr(row->name, "_ms")))
		fprintf(out, "%s{%s} %.6f\n", row->metric, source->labels,
			json_real_value(value) / 1e3);
	else
		prometheus_print_value(out, row->metric, source->labels, value);
}

void prometheus_print_rows(FILE *out, const struct pm_json_row *rows,
			   const struct prometheus_source *sources, size_t num)
{
	for (const struct pm_json_row *row = rows; row->name; row++) {
		if (!row->metric || !json_object_get(sources[0].object, row->name))
			continue;
		prometheus_print_head(out, row->metric, row->help);
		for (size_t i = 0; i < num; i++)
			print_row(out, row, &sources[i]);
	}
}
