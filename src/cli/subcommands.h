/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program of several subcommands, as its main tells it: its help, and which one runs.
 */
#ifndef PORTMAJOR_CLI_SUBCOMMANDS_H
#define PORTMAJOR_CLI_SUBCOMMANDS_H

/* A row; tables end with an empty one. */
struct cli_subcommand {
	const char *name; /* NULL: the row is the title of those that follow */
	int (*run)(int argc, char **argv);
	const char *help; /* less than a line; or the title */
};

#define CLI_TITLE(text)                                                                  \
	{                                                                                \
		.help = (text)                                                           \
	}

struct cli_program {
	const struct cli_subcommand *commands;
	const char *findings; /* what exit status 1 stands for */
};

/* Answers -h and -V, or runs the subcommand that argv[1] names; an exit status, for main
 * to return. The program's name is cli_program, see output.h. */
int cli_program_run(const struct cli_program *program, int argc, char **argv);

#endif
