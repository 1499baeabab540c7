/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A command, linked into a test, with each of its allocations failing: see the .c file.
 */
#ifndef COMMAND_FAULTS_H
#define COMMAND_FAULTS_H

#include <stddef.h>

struct command_row {
	const char *name, *args;
	const char *file; /* that is written, or NULL */
	const char *
		before; /* its content when the command begins; NULL: it does not exist */
};

struct command_tests {
	const struct command_row *rows;
	size_t num;
	/* Makes the rows' input files, in the working folder; 0, or -1. */
	int (*make_files)(void);
};

/* Runs the rows that the arguments name, or all of them; returns how many failed. */
int command_tests_run(const struct command_tests *all, int argc, char **argv);

/* Makes a file of a text, of the command's output, and of portmajor's output. */
void write_file(const char *path, const char *text);
void make_file(const char *path, const char *args);
void make_file_by_portmajor(const char *path, const char *args);

/* The linker makes calls of main calls of this function. */
int __wrap_main(int argc, char **argv);

#endif
