/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts structures to JSON objects and back, by tables of rows. */
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

/* Stores the number if the member is an integer. */
static void store_number(const struct pm_json_row *row, json_int_t number, void *at)
{
	switch (row->type) {
	case PM_JSON_U8:
		*(uint8_t *)at = (uint8_t)number;
		break;
	case PM_JSON_U16:
		*(uint16_t *)at = (uint16_t)number;
		break;
	case PM_JSON_U32:
		*(uint32_t *)at = (uint32_t)number;
		break;
	case PM_JSON_U64:
		*(uint64_t *)at = (uint64_t)number;
		break;
	case PM_JSON_INT:
		*(int *)at = (int)number;
		break;
	case PM_JSON_TIME:
		*(time_t *)at = (time_t)number;
		break;
	default:
		break;
	}
}

void pm_json_rows_get(const struct pm_json_row *rows, const json_t *object,
		      void *structure)
{
	for (const struct pm_json_row *row = rows; row->name; row++) {
		const json_t *value = json_object_get(object, row->name);
		void *at = (char *)structure + row->offset;

		if (row->type == PM_JSON_POINTED)
			*(const char **)at = json_string_value(value);
		else if (row->type == PM_JSON_BOOL)
			*(bool *)at = json_is_true(value);
		else if (row->type == PM_JSON_REAL)
			*(double *)at = json_number_value(value);
		else
			store_number(row, json_integer_value(value), at);
	}
}
