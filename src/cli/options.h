/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a subcommand, described by rows. Help, reading and a shell's completions
 * use the rows.
 */
#ifndef PORTMAJOR_CLI_OPTIONS_H
#define PORTMAJOR_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row; tables end with an empty one. */
struct cli_option {
	char letter;	      /* 0: none */
	const char *name;     /* long name; NULL: none */
	const char *argument; /* the argument's name in help; NULL: takes none */
	const char *help;
	/*
	 * Reads the argument, NULL where it takes none, into the member at `to` in the
	 * request. An exit status, with a message unless it is EXIT_FINE.
	 */
	int (*take)(const struct cli_option *option, char *argument, void *to);
	size_t to;
	uint32_t low, high; /* of a number */
	const char *values; /* all values of the argument, separated by |; or NULL */
	/* If not NULL: the row includes that table, with its request at `to`. */
	const struct cli_option *include;
};

/* An option sets a member of the request, and is read by the member's type. */
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

/* Rows for a struct cli_output. */
#define CLI_OUTPUT(request, member, quiet_help, json_help)                               \
	{'q', "quiet", NULL, quiet_help, CLI_MEMBER(request, member.quiet)},             \
	{                                                                                \
		0, "json", NULL, json_help, CLI_MEMBER(request, member.json)             \
	}

/* A text is borrowed from argv. The message on a number out of range names the range. */
int cli_take_flag(const struct cli_option *option, char *argument, void *to);
int cli_take_text(const struct cli_option *option, char *argument, void *to);
int cli_take_number(const struct cli_option *option, char *argument, void *to);
/* The same as a number; "all" is the highest. */
int cli_take_count(const struct cli_option *option, char *argument, void *to);

/* A part of the work. */
struct cli_shard {
	uint32_t index, of; /* index: 1 to of */
};

/* Reads "I/N" into a struct cli_shard. */
int cli_take_shard(const struct cli_option *option, char *argument, void *to);

struct cli_command {
	const char *synopsis; /* lines that begin with the subcommand's name */
	const char *about;    /* description; long lines are wrapped */
	const struct cli_option *options;
	int min_operands, max_operands;
};

/*
 * Reads options up to the first operand, argv[optind], and counts the operands. An exit
 * status, or -1: go on. It follows -h, -V and --list-options, which every subcommand has;
 * after them it returns an exit status. --list-options prints a line for each option:
 * "--NAME ARGUMENT", with all values in place of the argument if they are known.
 */
int cli_command_read(const struct cli_command *command, int argc, char **argv,
		     void *request);

/* Whether the command has an option with this long name of `length` bytes. */
bool cli_command_has(const struct cli_command *command, const char *name, size_t length);

/* Reports a usage error on stderr: the reason, unless it is NULL, and the synopsis.
 * EXIT_USAGE. */
int cli_command_misused(const struct cli_command *command, const char *reason);

/* Prints the help of -h. */
void cli_command_help(const struct cli_command *command);

/*
 * Prints --list-options for several commands: each option once, as in the first command
 * that has it.
 */
void cli_commands_list(const struct cli_command *const *commands, int num);

/* Reads an unsigned number; false: it is none, or out of range. */
bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value);

#endif
