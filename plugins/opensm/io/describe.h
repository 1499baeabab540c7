/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of the state's document (state.h): texts, lists, and ends of links. Each returns
 * a new object, or NULL without memory; jansson propagates that, so callers check the
 * whole document.
 */
#ifndef PORTMAJOR_DESCRIBE_H
#define PORTMAJOR_DESCRIBE_H

#include <jansson.h>

#include <portmajor/fabric/fabric.h>

/* A string; bytes that are not ASCII, as names may have, become question marks where the
 * text is not UTF-8. NULL: null. */
json_t *describe_text(const char *text);

/* The same; "": null. */
json_t *describe_filled(const char *text);

/* 0x and 16 digits. */
json_t *describe_guid(uint64_t guid);

/* Appends a value, which it takes over; NULL without memory, and the list is freed. */
json_t *describe_append(json_t *list, json_t *value);

/* Adds `label` to an object, which it takes over, if it is not the name. */
json_t *describe_label(json_t *object, const char *name, const char *label);

/* A port of a switch: guid, name (null if the skeleton, which may be NULL, does not know
 * the switch), label, port; 0 is the switch itself. */
json_t *describe_end(const struct pm_fabric *topology, uint64_t guid, unsigned int port);

/* A member of an object. */
struct describe_member {
	const char *name;
	json_t *value;
};

/* An object with members; takes over their values. */
json_t *describe_object(const struct describe_member *members, size_t num);

#endif
