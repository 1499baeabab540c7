/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures as JSON objects, by rows. */
#include <portmajor/json/rows.h>

#include <portmajor/json/values.h>

static json_t *row_value(const struct pm_json_row *row, const void *structure)
{
	const void *at = (const char *)structure + row->offset;

	switch (row->type) {
	case PM_JSON_U8:
		return json_integer(*(const uint8_t *)at);
	case PM_JSON_U16:
		return json_integer(*(const uint16_t *)at);
	case PM_JSON_U32:
		return json_integer(*(const uint32_t *)at);
	case PM_JSON_U64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case PM_JSON_INT:
		return json_integer(*(const int *)at);
	case PM_JSON_TIME:
		return json_integer(*(const time_t *)at);
	case PM_JSON_REAL:
		return json_real(*(const double *)at);
	case PM_JSON_BOOL:
		return json_boolean(*(const bool *)at);
	case PM_JSON_POINTED:
		return pm_json_text(*(const char *const *)at);
	case PM_JSON_TEXT:
		return pm_json_text(at);
	case PM_JSON_IS_SET:
		return json_boolean(*(const char *const *)at != NULL);
	}
	return NULL;
}

int pm_json_rows_set(const struct pm_json_row *rows, const void *structure,
		     json_t *object)
{
	int rc = 0;

	for (const struct pm_json_row *row = rows; row->name && !rc; row++)
		rc = json_object_set_new(object, row->name, row_value(row, structure));
	return rc;
}

json_t *pm_json_rows(const struct pm_json_row *rows, const void *structure)
{
	json_t *object = json_object();

	if (!pm_json_rows_set(rows, structure, object))
		return object;
	json_decref(object);
	return NULL;
}
