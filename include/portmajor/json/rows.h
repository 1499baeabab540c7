/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables that describe a structure as a JSON object. A row has a member's name, type and
 * offset; the compiler takes the type from the structure.
 */
#ifndef PORTMAJOR_JSON_ROWS_H
#define PORTMAJOR_JSON_ROWS_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum pm_json_type {
	PM_JSON_U8,
	PM_JSON_U16,
	PM_JSON_U32,
	PM_JSON_U64,
	PM_JSON_INT,
	PM_JSON_TIME, /* time_t */
	PM_JSON_REAL, /* double */
	PM_JSON_BOOL,
	PM_JSON_POINTED, /* const char *, NULL: null */
	PM_JSON_TEXT,	 /* char [] */
	PM_JSON_IS_SET,	 /* whether a pointer is not NULL */
};

/* Tables end with an empty row. */
struct pm_json_row {
	const char *name;
	enum pm_json_type type;
	size_t offset;
	/* The metric with this value; NULL: there is none. */
	const char *metric, *help;
};

/* clang-format off */
#define PM_JSON_ROW(structure, member)                                                   \
	.type = _Generic(((structure *)0)->member,                                             \
		 uint8_t: PM_JSON_U8,                                                    \
		 uint16_t: PM_JSON_U16,                                                  \
		 uint32_t: PM_JSON_U32,                                                  \
		 uint64_t: PM_JSON_U64,                                                  \
		 int: PM_JSON_INT,                                                       \
		 time_t: PM_JSON_TIME,                                                   \
		 double: PM_JSON_REAL,                                                   \
		 bool: PM_JSON_BOOL,                                                     \
		 const char *: PM_JSON_POINTED,                                          \
		 char *: PM_JSON_TEXT),                                                  \
	.offset = offsetof(structure, member)
/* clang-format on */

/* Sets the members of an object; -1: no memory, or no object. */
int pm_json_rows_set(const struct pm_json_row *rows, const void *structure,
		     json_t *object);

/* A new object with these members; NULL without memory. */
json_t *pm_json_rows(const struct pm_json_row *rows, const void *structure);

/*
 * The other way: sets the structure's members from those of an object. A member that is
 * missing or of another type is 0, false or NULL; a text is borrowed from the object.
 * Rows of PM_JSON_TEXT and PM_JSON_IS_SET are left alone.
 */
void pm_json_rows_get(const struct pm_json_row *rows, const json_t *object,
		      void *structure);

#endif
