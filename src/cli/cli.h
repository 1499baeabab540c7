/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the subcommands of portmajor share. */
#ifndef PORTMAJOR_CLI_H
#define PORTMAJOR_CLI_H

#include <portmajor/plan.h>

#include <getopt.h>

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FINDINGS = 1, /* it ran, and what it found is not in order */
	EXIT_USAGE = 2,	   /* wrong options or operands */
	EXIT_INPUT = 3,	   /* a file cannot be read or makes no sense; no memory */
};

int cmd_generate(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_whatif(int argc, char **argv);

/* Prints "portmajor: MESSAGE" to stderr and returns status. */
int cli_fail(enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads an unsigned number; false if it is none or not in the range. */
bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value);

/*
 * Flushes stdout; EXIT_INPUT with a message if something could not be written
 * (a full disk, a closed pipe), else status.
 */
int cli_finish(int status);

#endif
