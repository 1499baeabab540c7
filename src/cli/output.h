/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command's exit status, and its output streams. A command's own functions that return
 * int return an exit status unless they say otherwise.
 */
#ifndef PORTMAJOR_CLI_OUTPUT_H
#define PORTMAJOR_CLI_OUTPUT_H

#include <portmajor/base/error.h>

#include <stdbool.h>

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FINDINGS = 1, /* it ran, and has findings */
	EXIT_USAGE = 2,	   /* wrong options or operands */
	EXIT_INPUT = 3,	   /* a file cannot be read, or is invalid; no memory */
};

/* The program's name, with which messages begin; defined beside its main. */
extern const char cli_program[];

/* Options for the output. */
struct cli_output {
	bool json;
	bool quiet; /* see the subcommand's help */
};

/*
 * Prints a line to stdout, made of text from outside: without what controls a terminal,
 * so the format has no newline. At most 8 KiB, and so are messages.
 */
void cli_print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "PROGRAM: MESSAGE" to stderr, one line, and returns status. */
int cli_fail(enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same with the error's message; EXIT_INPUT. */
int cli_refuse(const struct pm_error *err);

/* Prints "PROGRAM: MESSAGE" to stderr, when it is no failure. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "PROGRAM VERSION" to stdout. */
void cli_print_version(void);

/*
 * Flushes stdout; EXIT_INPUT with a message if something could not be written
 * (a full disk, a closed pipe), else status.
 */
int cli_finish(int status);

#endif
