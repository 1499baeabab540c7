/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON of every subcommand's --json: one object, with these first members:
 *
 *   "portmajor"  version of the program
 *   "schema"     "PROGRAM-COMMAND", as in docs/json.md
 *   "version"    of the schema, a number; goes up when a member changes its meaning
 *
 * Members come in the order in which they were set, so that output can be compared.
 */
#ifndef PORTMAJOR_CLI_JSON_H
#define PORTMAJOR_CLI_JSON_H

#include <jansson.h>

#include <stdint.h>

/*
 * To be called before all else: where there is no memory for JSON, the program ends with
 * a message and EXIT_INPUT. So printed JSON is whole.
 */
void cli_json_begin(void);

/* A new object with the members above. */
json_t *cli_json_new(const char *command, int version);

/* The JSON in a file, or NULL if it cannot be read; ends the program without memory. */
json_t *cli_json_load(const char *path);

/* A string; bytes that are not UTF-8 become U+FFFD. */
json_t *cli_json_string(const char *text);

/* A GUID, as "0x" and 16 hexadecimal digits: JSON's numbers do not hold 64 bits. */
json_t *cli_json_guid(uint64_t guid);

/*
 * How text calls what an object has a "name" of: its "label", which is there where the
 * name is not unique, or else that name; NULL: it has none.
 */
const char *cli_json_label(const json_t *object);

/*
 * Adds a value to a list, or the members of an object to another one; takes over both
 * and returns the first. Either may be NULL for lack of memory: then it is NULL.
 */
json_t *cli_json_append(json_t *list, json_t *value);
json_t *cli_json_join(json_t *object, json_t *more);

struct cli_json_member {
	const char *name;
	json_t *value;
};

/* An object with members; takes over their values. Behind the last: one without name.
 */
json_t *cli_json_object(const struct cli_json_member *members);

/* An integer among an object's members; 0: there is none. */
json_int_t cli_json_number(const json_t *object, const char *member);

/* Prints and frees an object; NULL stands for lack of memory. An exit status. */
int cli_json_print(json_t *object);

/* The same in one line. */
int cli_json_print_line(json_t *object);

/* A member that is a text, borrowed from the object; "" if it is none. */
const char *cli_json_text(const json_t *object, const char *member);

#endif
