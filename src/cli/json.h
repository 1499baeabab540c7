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

#include <portmajor/json/values.h>

/*
 * To be called before all else: where there is no memory for JSON, the program ends with
 * a message and EXIT_INPUT. So printed JSON is whole.
 */
void cli_json_begin(void);

/* A new object with the members above. */
json_t *cli_json_new(const char *command, int version);

/* The JSON in a file, or NULL if it cannot be read; ends the program without memory. */
json_t *cli_json_load(const char *path);

/*
 * How text calls what an object has a "name" of: its "label", which is there where the
 * name is not unique, or else that name; NULL: it has none.
 */
const char *cli_json_label(const json_t *object);

/*
 * Adds the members of an object to another one; takes over both and returns the first.
 * Either may be NULL for lack of memory: then it is NULL.
 */
json_t *cli_json_join(json_t *object, json_t *more);

/* An integer among an object's members; 0: there is none. */
json_int_t cli_json_number(const json_t *object, const char *member);

/* Prints and frees an object; NULL stands for lack of memory. An exit status. */
int cli_json_print(json_t *object);

/* The same in one line. */
int cli_json_print_line(json_t *object);

/* A member that is a text, borrowed from the object; "" if it is none. */
const char *cli_json_text(const json_t *object, const char *member);

#endif
