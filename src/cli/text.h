/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text about a result. A subcommand describes its result once, as the JSON object of
 * --json; its text prints members of that object.
 */
#ifndef PORTMAJOR_CLI_TEXT_H
#define PORTMAJOR_CLI_TEXT_H

#include <portmajor/base/print.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Prints `text` to stdout with members of an object in it:
 *
 *   {a.b}   b of a: text or an integer; else "?"
 *   {#a}    an integer, or how many are in a list; else 0
 *   {%a}    a number with one digit behind the point; else 0.0
 *   {%%a}   the same with two, and so on
 *   {~%%a}  the same with as many more as three significant digits need
 *   {@a}    seconds since 1970 as local time
 *   {8a}    a number at the right end of 8 columns; also {8#a}, {8%a}
 *   {a|switch|switches}  a number and what it is a number of: the first word for one
 *
 * A "-" is printed for null, which was not computed. Each name has at most 31 characters;
 * no brace stands for itself.
 */
void cli_text_print(const json_t *object, const char *text);

/* Prints text from a fabric, without characters that control a terminal. */
void cli_text_put(const char *text);

/* Writes seconds since 1970 as local time into the text, and returns it. */
#define CLI_TEXT_WHEN 32
const char *cli_text_when(json_int_t seconds, char text[CLI_TEXT_WHEN]);

/* Prints seconds since 1970 as local time. */
void cli_text_date(FILE *out, json_int_t seconds);

/* The number of things, and the names of the first: "s0, s1:4, ..". */
struct cli_names {
	char text[1024];
	uint32_t num;
	bool full; /* no more are named */
};

/* Adds a name; names is zeroed at first. port 0: not named. */
void cli_names_add(struct cli_names *names, const char *name, unsigned int port);

/* Prints the first few of a list with commas, each by `put`, and how many others there
 * are. */
void cli_text_first(const json_t *list, void (*put)(const json_t *));

/* Prints into memory, which the caller frees; ends the process without memory. */
__attribute__((format(printf, 1, 2))) char *cli_text_make(const char *format, ...);

/* The same by a function that does not fail, see pm_text_print. */
char *cli_text_make_by(pm_print *print, const void *arg);

#endif
