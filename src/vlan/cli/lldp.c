/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads neighbours from lldpctl's JSON. */
#include "lldp.h"

#include "output.h"

#include <portmajor/memory/xalloc.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char *path, const char *interface, const char *what)
{
	return interface ? cli_fail(EXIT_INPUT, "%s: interface \"%s\": %s", path,
				    interface, what)
			 : cli_fail(EXIT_INPUT, "%s: not of `lldpctl -f json`: %s", path,
				    what);
}

/* The value of an id, {"type": .., "value": ..}; NULL: this is none. */
static const char *id_value(const json_t *object)
{
	return json_string_value(json_object_get(json_object_get(object, "id"), "value"));
}

static bool is_address(const json_t *object)
{
	const char *type =
		json_string_value(json_object_get(json_object_get(object, "id"), "type"));

	return type && !strcmp(type, "mac");
}

/* A chassis is a member of its name, if it has one. */
static bool take_chassis(json_t *chassis, struct lldp_neighbour *neighbour)
{
	void *first = json_object_iter(chassis);

	neighbour->id = id_value(chassis);
	if (neighbour->id || !first)
		return neighbour->id != NULL;
	neighbour->name = json_object_iter_key(first);
	neighbour->id = id_value(json_object_iter_value(first));
	return neighbour->id && json_object_size(chassis) == 1;
}

static bool take_port(const json_t *port, struct lldp_neighbour *neighbour)
{
	const char *descr = json_string_value(json_object_get(port, "descr"));

	neighbour->port = id_value(port);
	if (!neighbour->port)
		return false;
	if (is_address(port))
		neighbour->port = descr ? descr : "";
	return true;
}

static int take_interface(const char *path, const char *interface, json_t *value,
			  struct lldp *lldp)
{
	struct lldp_neighbour neighbour = {.interface = interface};

	if (!take_chassis(json_object_get(value, "chassis"), &neighbour))
		return refuse(path, interface, "no chassis with an id");
	if (!take_port(json_object_get(value, "port"), &neighbour))
		return refuse(path, interface, "no port with an id");
	pm_xgrow(&lldp->list, &lldp->room, lldp->num + 1, sizeof(*lldp->list));
	lldp->list[lldp->num++] = neighbour;
	return EXIT_FINE;
}

static int take_interfaces(const char *path, json_t *object, struct lldp *lldp)
{
	int status = EXIT_FINE;
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return refuse(path, NULL, "an interface that is no object");
	json_object_foreach(object, key, value) {
		if (!status)
			status = take_interface(path, key, value, lldp);
	}
	return status;
}

static int take_root(const char *path, struct lldp *lldp)
{
	const json_t *top = json_object_get(lldp->root, "lldp");
	json_t *interfaces = json_object_get(top, "interface"), *value;
	int status = EXIT_FINE;
	size_t i;

	if (!json_is_object(top))
		return refuse(path, NULL, "no object \"lldp\"");
	if (!interfaces)
		return EXIT_FINE;
	if (!json_is_array(interfaces))
		return take_interfaces(path, interfaces, lldp);
	json_array_foreach(interfaces, i, value) {
		if (!status)
			status = take_interfaces(path, value, lldp);
	}
	return status;
}

int lldp_read(const char *path, struct lldp *lldp)
{
	json_error_t error;
	int status;

	*lldp = (struct lldp){
		.root = json_load_file(path, JSON_REJECT_DUPLICATES, &error)};
	if (!lldp->root)
		return error.line < 0 ? cli_fail(EXIT_INPUT, "%s", error.text)
				      : cli_fail(EXIT_INPUT, "%s:%d: %s", path,
						 error.line, error.text);
	status = take_root(path, lldp);
	if (status)
		lldp_free(lldp);
	return status;
}

void lldp_free(struct lldp *lldp)
{
	json_decref(lldp->root);
	free(lldp->list);
	*lldp = (struct lldp){0};
}
