/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values of JSON documents: texts, GUIDs, ends of links, lists and objects. Each function
 * returns a new value, or NULL without memory. Jansson passes NULL on, so a caller need
 * check only the whole document. In commands the allocator ends the process instead.
 */
#ifndef PORTMAJOR_JSON_VALUES_H
#define PORTMAJOR_JSON_VALUES_H

#include <portmajor/fabric/fabric.h>

#include <jansson.h>

#include <stddef.h>
#include <stdint.h>

/* A string; bytes that are not UTF-8 become U+FFFD. NULL: null. */
json_t *pm_json_text(const char *text);

/* The same; "": null. */
json_t *pm_json_filled(const char *text);

/* A GUID, as "0x" and 16 hexadecimal digits: JSON's numbers do not hold 64 bits. */
json_t *pm_json_guid(uint64_t guid);

/*
 * Appends a value to a list; takes over both, and frees the list without memory. Either
 * may be NULL: then the result is NULL.
 */
json_t *pm_json_append(json_t *list, json_t *value);

/*
 * Adds the member `label` to an object, unless it equals the name; takes over the object.
 */
json_t *pm_json_label(json_t *object, const char *name, const char *label);

/*
 * A port of a switch: guid, name (null where the topology, which may be NULL, does not
 * have the switch), label, port; 0 is the switch itself.
 */
json_t *pm_json_end(const struct pm_fabric *topology, uint64_t guid, unsigned int port);

/*
 * Prints the name of an object with `ends` (docs/json.md): `leaf5[20]-s1-line0[6]`,
 * `leaf5[20]` or `leaf5`, by labels or, where there are none, names or GUIDs. Truncates
 * the text to size, and returns the full length as snprintf does.
 */
int pm_json_ends_print(const json_t *thing, char *text, size_t size);

/*
 * The same for a missing part and a change of the plugin's state (docs/json.md): `leaf9`,
 * `leaf5[20]-s1-line0[6]`, `s1-fab0 (drained)`, `host h7-18 at leaf7[18]`; `leaf7[18]
 * leads to s2-line0[8], was h7-18`, `h3-3 from leaf3[3] to leaf4[4]`, `s6-fab0, GUID 0x..
 * is now 0x..`.
 */
int pm_json_missing_print(const json_t *part, char *text, size_t size);
int pm_json_change_print(const json_t *change, char *text, size_t size);

/*
 * Prints the errors of an element of `port_errors` (docs/json.md) into the text, and
 * returns it: `57 symbol errors, 1 link down`.
 */
#define PM_JSON_ERRORS 160
const char *pm_json_errors_print(const json_t *port, char text[PM_JSON_ERRORS]);

/*
 * Parses a text; NULL: it is no JSON, has a member twice or, if error->text is "", there
 * is no memory. Parses it twice: where it cannot grow its buffer, jansson 2.14 loses a
 * byte of a string, or takes it for an invalid token, and goes on.
 */
json_t *pm_json_parse(const char *text, size_t length, json_error_t *error);

struct pm_json_member {
	const char *name;
	json_t *value;
};

/*
 * An object with these members; takes over their values. A member without a name ends
 * them.
 */
json_t *pm_json_object(const struct pm_json_member *members);

#endif
