/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The common parts of commands' JSON documents. */
#include "json.h"

#include "output.h"

#include <portmajor/base/escape.h>
#include <portmajor/base/textfile.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FILE ((size_t)256 << 20)

static void *take_memory(size_t size)
{
	void *block = malloc(size);

	if (!block)
		pm_no_memory();
	return block;
}

void cli_json_begin(void)
{
	json_set_alloc_funcs(take_memory, free);
}

json_t *cli_json_read(const char *path, struct pm_error *err)
{
	char *text;
	json_error_t error;
	json_t *root;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, err);

	if (rc == -ENOMEM)
		pm_no_memory();
	if (rc)
		return NULL;
	root = json_loads(text, 0, &error);
	free(text);
	if (!root)
		pm_error_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	return root;
}

json_t *cli_json_load(const char *path)
{
	struct pm_error err;

	return cli_json_read(path, &err);
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

/* Prints characters that a terminal would obey in JSON's own way; only texts have them.
 */
static void put_character(uint32_t character)
{
	if (character > 0xffff)
		printf("\\u%04x\\u%04x", (unsigned int)(0xd7c0 + (character >> 10)),
		       (unsigned int)(0xdc00 | (character & 0x3ff)));
	else
		printf("\\u%04x", (unsigned int)character);
}

/* Prints a piece of JSON, which ends with a whole character. */
static int put_json(const char *text, size_t length, void *data)
{
	const char *end = text + length;

	(void)data;
	while (text < end) {
		const char *begin = text, *hidden;
		uint32_t character = ' ';

		for (hidden = text; hidden < end; hidden = text) {
			character = pm_utf8_take(&text);
			if (character >= 0x7f && pm_is_hidden(character))
				break;
		}
		fwrite(begin, 1, (size_t)(hidden - begin), stdout);
		if (hidden < end)
			put_character(character);
	}
	return ferror(stdout) ? -1 : 0;
}

static int print(json_t *object, size_t flags)
{
	int status = EXIT_FINE;

	if (!object)
		return cli_fail(EXIT_INPUT, "out of memory");
	if (json_dump_callback(object, put_json, NULL, flags | JSON_PRESERVE_ORDER))
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
