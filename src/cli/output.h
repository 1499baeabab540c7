/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the command answers: its exit status, and what it prints on which stream. */
#ifndef PORTMAJOR_CLI_OUTPUT_H
#define PORTMAJOR_CLI_OUTPUT_H

#include <stdbool.h>

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FINDINGS = 1, /* it ran, and what it found is not in order */
	EXIT_USAGE = 2,	   /* wrong options or operands */
	EXIT_INPUT = 3,	   /* a file cannot be read or makes no sense; no memory */
};

/* The name of the program, with which messages begin; defined beside its main. */
extern const char cli_program[];

/* What is to be printed. */
struct cli_output {
	bool json;
	bool quiet; /* see the subcommand's help */
};

/* Prints "PROGRAM: MESSAGE" to stderr and returns status. */
int cli_fail(enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints "PROGRAM: MESSAGE" to stderr, of something that is no failure. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Ends the program with a message and EXIT_INPUT, from any thread: nothing is
 * half-written then, see outfile.h.
 */
void cli_no_memory(void) __attribute__((noreturn));

/* Prints "PROGRAM VERSION" to stdout. */
void cli_print_version(void);

/*
 * Flushes stdout; EXIT_INPUT with a message if something could not be written
 * (a full disk, a closed pipe), else status.
 */
int cli_finish(int status);

#endif
