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
 * Call it first. Without memory for JSON the program then ends with a message and
 * EXIT_INPUT, so that printed JSON is always whole.
 */
void cli_json_begin(void);

/* A new object with the members above. */
json_t *cli_json_new(const char *command, int version);

/*
 * The JSON in a file of at most 256 MiB, which is no named FIFO; NULL, with err: it
 * cannot be read. Ends the program without memory. cli_json_load does not tell why.
 */
json_t *cli_json_read(const char *path, struct pm_error *err);
json_t *cli_json_load(const char *path);

/*
 * The name for texts of an object with a "name": its "label", which it has if the name is
 * not unique, or else that name. NULL: it has none.
 */
const char *cli_json_label(const json_t *object);

/*
 * Adds the members of the second object to the first; takes over both, and returns the
 * first. Either may be NULL, without memory; then the result is NULL.
 */
json_t *cli_json_join(json_t *object, json_t *more);

/* A member that is an integer; 0: there is none. */
json_int_t cli_json_number(const json_t *object, const char *member);

/* Prints and frees an object; NULL: no memory. An exit status. */
int cli_json_print(json_t *object);

/* The same in one line. */
int cli_json_print_line(json_t *object);

/* A member that is a text, borrowed from the object; "": it is no text. */
const char *cli_json_text(const json_t *object, const char *member);

#endif
