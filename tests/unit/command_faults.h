/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A command, linked into a test, with each of its allocations failing: see the .c file.
 */
#ifndef COMMAND_FAULTS_H
#define COMMAND_FAULTS_H

#include <stddef.h>

struct command_row {
	const char *name, *args;
	const char *file;   /* that is written, or NULL */
	const char *before; /* what is in it when the command begins; NULL: not there */
};

struct command_tests {
	const struct command_row *rows;
	size_t num;
	/* Makes what the rows read, in the working folder; 0, or -1. */
	int (*make_files)(void);
};

/* Runs the rows that arguments name, or all of them; how many failed. */
int command_tests_run(const struct command_tests *all, int argc, char **argv);

/* Makes a file of a text, of what the command prints, and of what portmajor prints. */
void write_file(const char *path, const char *text);
void make_file(const char *path, const char *args);
void make_file_by_portmajor(const char *path, const char *args);

/* The linker makes calls of main calls of this one. */
int __wrap_main(int argc, char **argv);

#endif
