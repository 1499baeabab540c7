/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The common parts of commands' JSON documents. */
#include "json.h"

#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void *take_memory(size_t size)
{
	void *block = malloc(size);

	if (!block)
		cli_no_memory();
	return block;
}

void cli_json_begin(void)
{
	json_set_alloc_funcs(take_memory, free);
}

json_t *cli_json_load(const char *path)
{
	json_t *root;

	errno = 0;
	root = json_load_file(path, 0, NULL);
	if (!root && errno == ENOMEM)
		cli_no_memory();
	return root;
}

json_t *cli_json_new(const char *command, int version)
{
	return json_pack("{s:s, s:s++, s:i}", "portmajor", PORTMAJOR_VERSION, "schema",
			 cli_program, "-", command, "version", version);
}

const char *cli_json_label(const json_t *object)
{
	const char *label = json_string_value(json_object_get(object, "label"));

	return label ? label : json_string_value(json_object_get(object, "name"));
}

json_t *cli_json_join(json_t *object, json_t *more)
{
	if (json_object_update(object, more)) {
		json_decref(object);
		object = NULL;
	}
	json_decref(more);
	return object;
}

json_int_t cli_json_number(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

static int print(json_t *object, size_t flags)
{
	int status = EXIT_FINE;

	if (!object)
		return cli_fail(EXIT_INPUT, "out of memory");
	if (json_dumpf(object, stdout, flags | JSON_PRESERVE_ORDER))
		status = cli_fail(EXIT_INPUT, "cannot write");
	else
		putchar('\n');
	json_decref(object);
	return status;
}

int cli_json_print(json_t *object)
{
	return print(object, JSON_INDENT(1));
}

int cli_json_print_line(json_t *object)
{
	return print(object, JSON_COMPACT);
}

const char *cli_json_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}
