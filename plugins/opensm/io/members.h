/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of the state document's objects. */
#ifndef PORTMAJOR_IO_MEMBERS_H
#define PORTMAJOR_IO_MEMBERS_H

#include <jansson.h>

#include <stdbool.h>
#include <stdio.h>

static inline const char *text_of(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

static inline json_int_t number_of(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

#define MEMBERS_KEY 48 /* bytes of make_key's text */

/* "GUID:PORT" of an object's first end, or of the object; false: it has none. */
static inline bool make_key(const json_t *object, char key[MEMBERS_KEY])
{
	const json_t *ends = json_object_get(object, "ends");
	const json_t *end = ends ? json_array_get(ends, 0) : object;
	const char *guid = text_of(end, "guid");

	return guid && snprintf(key, MEMBERS_KEY, "%s:%" JSON_INTEGER_FORMAT, guid,
				number_of(end, "port")) < MEMBERS_KEY;
}

#endif
