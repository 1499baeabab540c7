/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts, GUIDs, ends of links, lists and objects as JSON. */
#include <portmajor/json/values.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies one character, or U+FFFD for a byte that begins none; returns the next one. */
static const char *copy_character(const char *from, char **to)
{
	unsigned char lead = (unsigned char)*from;
	size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	/* jansson checks UTF-8. */
	if (strnlen(from, length) == length) {
		json_t *one = json_stringn(from, length);

		if (one) {
			json_decref(one);
			memcpy(*to, from, length);
			*to += length;
			return from + length;
		}
	}
	memcpy(*to, "\xef\xbf\xbd", 3);
	*to += 3;
	return from + 1;
}

json_t *pm_json_text(const char *text)
{
	json_t *string;
	char *copy, *at;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	at = copy = malloc(strlen(text) * 3 + 1);
	if (!copy)
		return NULL;
	while (*text)
		text = copy_character(text, &at);
	*at = '\0';
	string = json_string(copy);
	free(copy);
	return string;
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
