/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a subcommand: a row describes one. Help, reading and a shell's
 * completions come from the rows.
 */
#ifndef PORTMAJOR_CLI_OPTIONS_H
#define PORTMAJOR_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row; tables end with an empty one. */
struct cli_option {
	char letter;	      /* 0: has none */
	const char *name;     /* the long one; NULL: has none */
	const char *argument; /* its name in help; NULL: takes none */
	const char *help;
	/*
	 * Reads the argument, NULL where it takes none, into the member at `to` in the
	 * request. An exit status, with a message unless it is EXIT_FINE.
	 */
	int (*take)(const struct cli_option *option, char *argument, void *to);
	size_t to;
	uint32_t low, high; /* of a number */
	const char *values; /* all that the argument can be, separated by |; or NULL */
	/* Not NULL: the row stands for that table, with its request at `to`. */
	const struct cli_option *include;
};

/* An option goes to a member of the request; the member's type decides how it is read. */
/* clang-format off */
#define CLI_MEMBER(request, member)                                                      \
	.take = _Generic(((request *)0)->member,                                         \
			 bool: cli_take_flag,                                            \
			 const char *: cli_take_text,                                    \
			 uint32_t: cli_take_number),                                     \
	.to = offsetof(request, member)
/* clang-format on */

/* The options of a table that several subcommands have. */
#define CLI_INCLUDE(request, member, table)                                              \
	{                                                                                \
		.to = offsetof(request, member), .include = (table)                      \
	}

/* Rows for what goes to a struct cli_output. */
#define CLI_OUTPUT(request, member, quiet_help, json_help)                               \
	{'q', "quiet", NULL, quiet_help, CLI_MEMBER(request, member.quiet)},             \
	{                                                                                \
		0, "json", NULL, json_help, CLI_MEMBER(request, member.json)             \
	}

/* A text is that of argv. The message about a number out of range has the range. */
int cli_take_flag(const struct cli_option *option, char *argument, void *to);
int cli_take_text(const struct cli_option *option, char *argument, void *to);
int cli_take_number(const struct cli_option *option, char *argument, void *to);
/* Likewise; "all" is the highest one. */
int cli_take_count(const struct cli_option *option, char *argument, void *to);

/* A part of the work. */
struct cli_shard {
	uint32_t index, of; /* index: 1 to of */
};

/* "I/N", to one of these. */
int cli_take_shard(const struct cli_option *option, char *argument, void *to);

struct cli_command {
	const char *synopsis; /* lines that begin with the subcommand's name */
	const char *about;    /* what it does; lines are broken where they are too long */
	const struct cli_option *options;
	int min_operands, max_operands;
};

/*
 * Reads options up to the first operand, argv[optind], and counts the operands; an exit
 * status, or -1 to go on. -h, -V and --list-options, which are every subcommand's, are
 * done with then. The last prints a line for each option: "--NAME ARGUMENT", with all
 * values in place of the argument if they are known.
 */
int cli_command_read(const struct cli_command *command, int argc, char **argv,
		     void *request);

/* Whether it has an option of that long name, which is given with its length. */
bool cli_command_has(const struct cli_command *command, const char *name, size_t length);

/* Reports a usage error on stderr: the reason, unless it is NULL, and the synopsis.
 * EXIT_USAGE. */
int cli_command_misused(const struct cli_command *command, const char *reason);

/* Prints what -h prints. */
void cli_command_help(const struct cli_command *command);

/* Prints what --list-options prints of several commands: each option once, as the first
 * one has it. */
void cli_commands_list(const struct cli_command *const *commands, int num);

/* Reads an unsigned number; false if it is none or not in the range. */
bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value);

#endif
