/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts, lists and ends of links as JSON for the state's document. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *describe_text(const char *text)
{
	json_t *string;
	char *copy;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	copy = strdup(text);
	for (char *at = copy; at && *at; at++)
		if (*at & 0x80)
			*at = '?';
	string = copy ? json_string(copy) : NULL;
	free(copy);
	return string;
}

json_t *describe_filled(const char *text)
{
	return describe_text(text[0] ? text : NULL);
}

json_t *describe_guid(uint64_t guid)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return json_string(text);
}

json_t *describe_append(json_t *list, json_t *value)
{
	if (!json_array_append_new(list, value))
		return list;
	json_decref(list);
	return NULL;
}

json_t *describe_label(json_t *object, const char *name, const char *label)
{
	if (!object || !strcmp(name, label) ||
	    !json_object_set_new(object, "label", describe_text(label)))
		return object;
	json_decref(object);
	return NULL;
}

json_t *describe_end(const struct pm_fabric *topology, uint64_t guid, unsigned int port)
{
	uint32_t sw = topology ? pm_fabric_find_guid(topology, guid) : PM_NONE;
	const char *name = sw == PM_NONE ? NULL : pm_fabric_name(topology, sw);
	json_t *object = json_pack("{s:o, s:o, s:i}", "guid", describe_guid(guid), "name",
				   describe_text(name), "port", (int)port);

	return name ? describe_label(object, name, pm_fabric_label(topology, sw))
		    : object;
}

json_t *describe_object(const struct describe_member *members, size_t num)
{
	json_t *object = json_object();
	int rc = 0;

	for (size_t i = 0; i < num; i++)
		rc |= json_object_set_new(object, members[i].name, members[i].value);
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}
