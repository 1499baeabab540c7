/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of the state's document and metrics by rows. */
#include "rows.h"

#include "describe.h"

#include <string.h>
#include <time.h>

static json_t *describe_row(const struct row *row, const void *structure)
{
	const void *at = (const char *)structure + row->offset;

	switch (row->type) {
	case ROW_U32:
		return json_integer(*(const uint32_t *)at);
	case ROW_U64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case ROW_TIME:
		return json_integer(*(const time_t *)at);
	case ROW_REAL:
		return json_real(*(const double *)at);
	case ROW_BOOL:
		return json_boolean(*(const bool *)at);
	case ROW_POINTED:
		return describe_text(*(const char *const *)at);
	case ROW_TEXT:
		return describe_text(at);
	case ROW_IS_SET:
		return json_boolean(*(const char *const *)at != NULL);
	}
	return NULL;
}

int rows_set(const struct row *rows, const void *structure, json_t *object)
{
	int rc = 0;

	for (const struct row *row = rows; row->name && !rc; row++)
		rc = json_object_set_new(object, row->name, describe_row(row, structure));
	return rc;
}

json_t *rows_describe(const struct row *rows, const void *structure)
{
	json_t *object = json_object();

	if (!rows_set(rows, structure, object))
		return object;
	json_decref(object);
	return NULL;
}

void rows_print_head(FILE *out, const char *metric, const char *help)
{
	const char *end = strrchr(metric, '_');

	fprintf(out, "# HELP portmajor_%s %s\n# TYPE portmajor_%s %s\n", metric, help,
		metric, end && !strcmp(end, "_total") ? "counter" : "gauge");
}

void rows_print_value(FILE *out, const char *metric, const char *labels,
		      const json_t *value)
{
	if (json_is_real(value))
		fprintf(out, "portmajor_%s{%s} %.3f\n", metric, labels,
			json_real_value(value));
	else if (json_is_number(value) || json_is_boolean(value))
		fprintf(out, "portmajor_%s{%s} %" JSON_INTEGER_FORMAT "\n", metric,
			labels, json_is_true(value) ? 1 : json_integer_value(value));
}

void rows_print_metrics(FILE *out, const struct row *rows,
			const struct row_source *sources, size_t num)
{
	for (const struct row *row = rows; row->name; row++) {
		if (!row->metric || !json_object_get(sources[0].object, row->name))
			continue;
		rows_print_head(out, row->metric, row->help);
		for (size_t i = 0; i < num; i++)
			rows_print_value(out, row->metric, sources[i].labels,
					 json_object_get(sources[i].object, row->name));
	}
}
