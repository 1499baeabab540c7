/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names links, switches and hosts by their ends, and matches these with an operand. */
#include "ends.h"

#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *cli_ends_name(const json_t *thing)
{
	int length = pm_json_ends_print(thing, NULL, 0);
	char *name = pm_xarray((size_t)length + 1, 1);

	pm_json_ends_print(thing, name, (size_t)length + 1);
	return name;
}

static bool matches(const char *operand, const char *text)
{
	return !strcmp(operand, text) || !fnmatch(operand, text, 0);
}

/* Whether an operand is this port of the switch of this name; "": it has no name. */
static bool is_named(const char *operand, const char *name, json_int_t port,
		     bool by_switch)
{
	char *colon, *bracket;
	bool named;

	if (!*name)
		return false;
	if ((!port || by_switch) && matches(operand, name))
		return true;
	if (!port)
		return false;
	colon = cli_text_make("%s:%" JSON_INTEGER_FORMAT, name, port);
	bracket = cli_text_make("%s[%" JSON_INTEGER_FORMAT "]", name, port);
	named = matches(operand, colon) || !strcmp(operand, bracket);
	free(colon);
	free(bracket);
	return named;
}

bool cli_ends_are_meant(const json_t *thing, const char *operand, bool by_switch)
{
	static const char *const names[] = {"name", "label", "guid"};
	char *name = cli_ends_name(thing);
	const char *host = cli_json_text(thing, "host");
	bool meant = !strcmp(name, operand) || (*host && matches(operand, host));
	const json_t *end;
	size_t i;

	free(name);
	json_array_foreach(json_object_get(thing, "ends"), i, end) {
		bool whole = by_switch || json_is_true(json_object_get(end, "host"));

		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			meant = meant || is_named(operand, cli_json_text(end, names[j]),
						  cli_json_number(end, "port"), whole);
	}
	return meant;
}
