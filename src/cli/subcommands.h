/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of a program, for the main of all three (main.c). */
#ifndef PORTMAJOR_CLI_SUBCOMMANDS_H
#define PORTMAJOR_CLI_SUBCOMMANDS_H

/* A row; tables end with an empty one. */
struct cli_subcommand {
	const char *name; /* NULL: the row is the title of the rows that follow */
	int (*run)(int argc, char **argv);
	const char *help; /* shorter than a line; or the title */
};

#define CLI_TITLE(text)                                                                  \
	{                                                                                \
		.help = (text)                                                           \
	}

/*
 * Defined by the program beside cli_program (output.h): the meaning of exit status 1, and
 * its subcommands.
 */
extern const char cli_findings[];
extern const struct cli_subcommand cli_subcommands[];

#endif
