/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts, GUIDs, ends of links, lists and objects as JSON. */
#include <portmajor/base/escape.h>
#include <portmajor/json/values.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *pm_json_text(const char *text)
{
	json_t *string;
	char *copy, *to;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	to = copy = malloc(strlen(text) * 3 + 1);
	if (!copy)
		return NULL;
	while (*text) {
		const char *from = text;

		if (pm_utf8_take(&text) == PM_NO_CHARACTER)
			to = stpcpy(to, "\xef\xbf\xbd");
		else
			while (from < text)
				*to++ = *from++;
	}
	*to = '\0';
	string = json_string(copy);
	free(copy);
	return string;
}

json_t *pm_json_parse(const char *text, size_t length, json_error_t *error)
{
	json_error_t first;
	json_t *one = json_loadb(text, length, JSON_REJECT_DUPLICATES, &first);
	json_t *other = json_loadb(text, length, JSON_REJECT_DUPLICATES, error);

	if (other && json_equal(one, other)) {
		json_decref(one);
		return other;
	}
	if (one || other)
		error->text[0] = '\0';
	json_decref(one);
	json_decref(other);
	return NULL;
}

json_t *pm_json_filled(const char *text)
{
	return pm_json_text(text[0] ? text : NULL);
}

json_t *pm_json_guid(uint64_t guid)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return json_string(text);
}

json_t *pm_json_append(json_t *list, json_t *value)
{
	if (!json_array_append_new(list, value))
		return list;
	json_decref(list);
	return NULL;
}

json_t *pm_json_label(json_t *object, const char *name, const char *label)
{
	if (!object || !strcmp(name, label) ||
	    !json_object_set_new(object, "label", pm_json_text(label)))
		return object;
	json_decref(object);
	return NULL;
}

json_t *pm_json_end(const struct pm_fabric *topology, uint64_t guid, unsigned int port)
{
	uint32_t sw = topology ? pm_fabric_find_guid(topology, guid) : PM_NONE;
	const char *name = sw == PM_NONE ? NULL : pm_fabric_name(topology, sw);
	json_t *object = json_pack("{s:o, s:o, s:i}", "guid", pm_json_guid(guid), "name",
				   pm_json_text(name), "port", (int)port);

	return name ? pm_json_label(object, name, pm_fabric_label(topology, sw)) : object;
}

/* The first member that is a text and not empty, or "?". */
static const char *end_name(const json_t *end)
{
	static const char *const members[] = {"label", "name", "guid"};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const char *name = json_string_value(json_object_get(end, members[i]));

		if (name && *name)
			return name;
	}
	return "?";
}

static int print_end(const json_t *end, const char *before, char *text, size_t size)
{
	json_int_t port = json_integer_value(json_object_get(end, "port"));

	return port ? snprintf(text, size, "%s%s[%" JSON_INTEGER_FORMAT "]", before,
			       end_name(end), port)
		    : snprintf(text, size, "%s%s", before, end_name(end));
}

int pm_json_ends_print(const json_t *thing, char *text, size_t size)
{
	const json_t *ends = json_object_get(thing, "ends");
	int length = print_end(json_array_get(ends, 0), "", text, size);
	size_t used = (size_t)length < size ? (size_t)length : size;

	if (json_array_size(ends) < 2)
		return length;
	return length + print_end(json_array_get(ends, 1), "-", used ? text + used : text,
				  size - used);
}

static const char *member_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

#define END_TEXT 160 /* bytes of an end's name in a sentence; the rest is cut */

/* A host's end by its name alone, any other with its port; of null, `nothing`. */
static const char *name_end(const json_t *end, char text[END_TEXT])
{
	if (!json_is_object(end))
		snprintf(text, END_TEXT, "nothing");
	else if (json_is_true(json_object_get(end, "host")))
		snprintf(text, END_TEXT, "%s", end_name(end));
	else
		print_end(end, "", text, END_TEXT);
	return text;
}

/* A switch or a link: by its ends, with what an operator has done before it was pulled.
 */
static int print_part(const json_t *part, char *text, size_t size)
{
	int length = pm_json_ends_print(part, text, size);
	size_t used = (size_t)length < size ? (size_t)length : size;

	if (!json_is_true(json_object_get(part, "drained")))
		return length;
	return length + snprintf(used ? text + used : text, size - used, " (drained)");
}

/* The ends of a host are its own, if it is known, and its leaf's, if it has a place. */
int pm_json_missing_print(const json_t *part, char *text, size_t size)
{
	const json_t *ends = json_object_get(part, "ends");
	const json_t *last = json_array_get(ends, json_array_size(ends) - 1);
	const char *host = member_text(part, "host");
	char end[END_TEXT];

	if (strcmp(member_text(part, "kind"), "host") != 0)
		return print_part(part, text, size);
	if (json_is_true(json_object_get(last, "host")))
		return snprintf(text, size, "host %s", host);
	return snprintf(text, size, "host %s%sat %s", host, *host ? " " : "",
			name_end(last, end));
}

/* "s6-fab0 (GUID 0x..)", or without a name "GUID 0x..". */
static const char *name_node(const json_t *end, char text[END_TEXT])
{
	const char *guid = member_text(end, "guid"), *name = end_name(end);

	if (strcmp(name, guid) != 0)
		snprintf(text, END_TEXT, "%.120s (GUID %s)", name, guid);
	else
		snprintf(text, END_TEXT, "GUID %s", guid);
	return text;
}

int pm_json_change_print(const json_t *change, char *text, size_t size)
{
	const json_t *ends = json_object_get(change, "ends");
	const json_t *was = json_object_get(change, "was");
	const char *kind = member_text(change, "kind");
	char a[END_TEXT], b[END_TEXT], c[END_TEXT];
	/* The end that had another neighbour. */
	size_t at = json_is_null(json_array_get(was, 0)) ? 1 : 0;

	if (!strcmp(kind, "moved"))
		return snprintf(text, size, "%s from %s to %s",
				name_end(json_array_get(ends, 0), a),
				name_end(json_array_get(was, 0), b),
				name_end(json_array_get(ends, 1), c));
	if (!strcmp(kind, "replaced"))
		return snprintf(text, size, "%s by %s",
				name_node(json_array_get(was, 0), a),
				name_node(json_array_get(ends, 0), b));
	return snprintf(text, size, "%s leads to %s, was %s",
			name_end(json_array_get(ends, at), a),
			name_end(json_array_get(ends, 1 - at), b),
			name_end(json_array_get(was, at), c));
}

const char *pm_json_errors_print(const json_t *port, char text[PM_JSON_ERRORS])
{
	static const struct {
		const char *member, *one, *more;
	} kinds[] = {
		{"symbol_errors", "symbol error", "symbol errors"},
		{"link_recoveries", "link recovery", "link recoveries"},
		{"link_downed", "link down", "link downs"},
		{"receive_errors", "receive error", "receive errors"},
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		json_int_t count =
			json_integer_value(json_object_get(port, kinds[i].member));

		if (count && used < PM_JSON_ERRORS)
			used += (size_t)snprintf(
				text + used, PM_JSON_ERRORS - used,
				"%s%" JSON_INTEGER_FORMAT " %s", used ? ", " : "", count,
				count == 1 ? kinds[i].one : kinds[i].more);
	}
	return text;
}

json_t *pm_json_object(const struct pm_json_member *members)
{
	json_t *object = json_object();
	int rc = 0;

	for (const struct pm_json_member *m = members; m->name; m++)
		rc |= json_object_set_new(object, m->name, m->value);
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}
