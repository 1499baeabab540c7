/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads options by their rows, and prints help and completions from the same rows. */
#include "options.h"

#include "output.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 79       /* of help */
#define HELP_COLUMN 22 /* where the text about an option begins */
#define MAX_OPTIONS 80 /* of a subcommand */
#define FIRST_LONG 256 /* getopt_long's values for long options: above letters */
#define LIST_OPTIONS "--list-options"

/* An option, and the offset in the request of the structure that takes it. */
struct bound {
	const struct cli_option *option;
	size_t to;
};

/* All options of a subcommand, in getopt_long's form. */
struct options {
	struct bound list[MAX_OPTIONS];
	int num;
	char letters[2 * MAX_OPTIONS + 2]; /* begins with ":", see report_option */
	struct option names[MAX_OPTIONS + 1];
};

/* Options of every subcommand; no request has members for them. */
static const struct cli_option common[] = {
	{'h', "help", NULL, "Print help and exit with status 0.", .take = NULL},
	{'V', "version", NULL, "Print the version and exit with status 0.", .take = NULL},
	{0},
};

/* ---- The rows ---- */

static bool is_last_option(const struct cli_option *option)
{
	return !option->letter && !option->name && !option->include;
}

/* NOLINTNEXTLINE(misc-no-recursion): two deep, a fabric's options include its nodes' */
static void add_table(struct options *options, const struct cli_option *table, size_t to)
{
	for (; !is_last_option(table); table++) {
		assert(options->num < MAX_OPTIONS);
		if (table->include)
			add_table(options, table->include, to + table->to);
		else
			options->list[options->num++] =
				(struct bound){table, to + table->to};
	}
}

static void list_options(struct options *options, const struct cli_command *command)
{
	char *letter = options->letters;
	struct option *name = options->names;

	*options = (struct options){.num = 0};
	*letter++ = ':';
	add_table(options, command->options, 0);
	add_table(options, common, 0);
	for (int i = 0; i < options->num; i++) {
		const struct cli_option *option = options->list[i].option;

		if (option->name)
			*name++ = (struct option){option->name,
						  option->argument ? required_argument
								   : no_argument,
						  NULL, FIRST_LONG + i};
		if (!option->letter)
			continue;
		*letter++ = option->letter;
		if (option->argument)
			*letter++ = ':';
	}
}

/* The option that getopt_long has found; NULL: unknown, or without its argument. */
static const struct bound *find_option(const struct options *options, int found)
{
	if (found >= FIRST_LONG)
		return &options->list[found - FIRST_LONG];
	for (int i = 0; i < options->num; i++)
		if (options->list[i].option->letter == found)
			return &options->list[i];
	return NULL;
}

/* ---- Help ---- */

/* Prints lines of at most WIDTH columns; all but the first are indented. */
static void print_wrapped(FILE *out, const char *text, int indent)
{
	size_t room = (size_t)(WIDTH - indent);

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (length > room)
			for (length = room; length && text[length] != ' ';)
				length--;
		if (!length)
			length = strcspn(text, " \n");
		fprintf(out, "%.*s\n", (int)length, text);
		text += length;
		text += *text != '\0';
		if (*text && *text != '\n')
			fprintf(out, "%*s", indent, "");
	}
}

static void print_option(FILE *out, const struct cli_option *option)
{
	char letter[] = {option->letter ? '-' : ' ',
			 option->letter ? option->letter : ' ',
			 option->letter && option->name ? ',' : ' ', '\0'};
	int length = fprintf(out, "  %s%s%s%s%s", letter, option->name ? " --" : "",
			     option->name ? option->name : "",
			     option->argument && option->name ? " " : "",
			     option->argument ? option->argument : "");

	if (length > HELP_COLUMN - 2) {
		fputc('\n', out);
		length = 0;
	}
	fprintf(out, "%*s", HELP_COLUMN - length, "");
	print_wrapped(out, option->help, HELP_COLUMN);
}

static void print_synopsis(FILE *out, const struct cli_command *command)
{
	const char *title = "usage:";

	for (const char *line = command->synopsis; *line; title = "      ") {
		size_t length = strcspn(line, "\n");

		fprintf(out, "%s %s %.*s\n", title, cli_program, (int)length, line);
		line += length;
		line += *line != '\0';
	}
}

static void print_help(FILE *out, const struct cli_command *command)
{
	struct options options;

	list_options(&options, command);
	print_synopsis(out, command);
	fputc('\n', out);
	print_wrapped(out, command->about, 0);
	fputc('\n', out);
	for (int i = 0; i < options.num; i++)
		print_option(out, options.list[i].option);
}

int cli_command_misused(const struct cli_command *command, const char *reason)
{
	int length = (int)strcspn(command->synopsis, " ");

	if (reason)
		cli_fail(EXIT_USAGE, "%.*s: %s", length, command->synopsis, reason);
	print_synopsis(stderr, command);
	fprintf(stderr, "see %s %.*s -h\n", cli_program, length, command->synopsis);
	return EXIT_USAGE;
}

void cli_command_help(const struct cli_command *command)
{
	print_help(stdout, command);
}

bool cli_command_has(const struct cli_command *command, const char *name, size_t length)
{
	struct options options;

	list_options(&options, command);
	for (int k = 0; k < options.num; k++) {
		const char *other = options.list[k].option->name;

		if (other && strlen(other) == length && !strncmp(other, name, length))
			return true;
	}
	return false;
}

static bool has_name(const struct cli_command *const *commands, int num, const char *name)
{
	for (int i = 0; i < num; i++)
		if (cli_command_has(commands[i], name, strlen(name)))
			return true;
	return false;
}

static bool has_letter(const struct cli_command *const *commands, int num, char letter)
{
	struct options options;

	for (int i = 0; i < num; i++) {
		list_options(&options, commands[i]);
		if (find_option(&options, letter))
			return true;
	}
	return false;
}

void cli_commands_list(const struct cli_command *const *commands, int num)
{
	struct options options;

	for (int i = 0; i < num; i++) {
		list_options(&options, commands[i]);
		for (int k = 0; k < options.num; k++) {
			const struct cli_option *option = options.list[k].option;
			const char *argument =
				option->values ? option->values : option->argument;
			const char *blank = argument ? " " : "";

			argument = argument ? argument : "";
			if (option->letter && !has_letter(commands, i, option->letter))
				printf("-%c%s%s\n", option->letter, blank, argument);
			if (option->name && !has_name(commands, i, option->name))
				printf("--%s%s%s\n", option->name, blank, argument);
		}
	}
}

/* ---- Reading ---- */

int cli_take_flag(const struct cli_option *option, char *argument, void *to)
{
	bool *flag = to;

	(void)option;
	(void)argument;
	*flag = true;
	return EXIT_FINE;
}

int cli_take_text(const struct cli_option *option, char *argument, void *to)
{
	const char **text = to;

	(void)option;
	*text = argument;
	return EXIT_FINE;
}

int cli_take_number(const struct cli_option *option, char *argument, void *to)
{
	unsigned long number;
	uint32_t *value = to;

	if (!cli_number(argument, option->low, option->high, &number))
		return cli_fail(EXIT_USAGE, "--%s %s: not a number from %u to %u",
				option->name, argument, option->low, option->high);
	*value = (uint32_t)number;
	return EXIT_FINE;
}

int cli_take_count(const struct cli_option *option, char *argument, void *to)
{
	if (strcmp(argument, "all"))
		return cli_take_number(option, argument, to);
	*(uint32_t *)to = option->high;
	return EXIT_FINE;
}

int cli_take_shard(const struct cli_option *option, char *argument, void *to)
{
	struct cli_option number = {.name = option->name, .low = 1, .high = INT32_MAX};
	char *slash = strchr(argument, '/');
	struct cli_shard *shard = to;
	int status;

	if (!slash)
		return cli_fail(EXIT_USAGE, "--%s %s: not I/N", option->name, argument);
	*slash = '\0';
	status = cli_take_number(&number, slash + 1, &shard->of);
	if (status)
		return status;
	number.high = shard->of;
	return cli_take_number(&number, argument, &shard->index);
}

/* Answers -h and -V. */
static int answer(const struct cli_command *command, char letter)
{
	if (letter == 'h')
		print_help(stdout, command);
	else
		cli_print_version();
	return EXIT_FINE;
}

/*
 * Reports an option that getopt_long did not take: ':' an argument is missing. Its own
 * messages would print the option as it is.
 */
static int report_option(const struct cli_command *command, int found, const char *word)
{
	char reason[120];

	if (!optopt)
		snprintf(reason, sizeof(reason),
			 "option \"%.60s\" is unknown or ambiguous", word);
	else if (optopt >= FIRST_LONG)
		snprintf(reason, sizeof(reason), "option \"%.60s\" %s", word,
			 found == ':' ? "needs an argument" : "takes no argument");
	else if (found == ':')
		snprintf(reason, sizeof(reason), "option -%c needs an argument", optopt);
	else
		snprintf(reason, sizeof(reason), "invalid option -%c", optopt);
	return cli_command_misused(command, reason);
}

/* Reports an operand too many. */
static int misused_by(const struct cli_command *command, const char *operand)
{
	char reason[120];

	snprintf(reason, sizeof(reason), "\"%.80s\" is one too many", operand);
	return cli_command_misused(command, reason);
}

int cli_command_read(const struct cli_command *command, int argc, char **argv,
		     void *request)
{
	struct options options;
	int found, status;

	list_options(&options, command);
	if (argc == 2 && !strcmp(argv[1], LIST_OPTIONS)) {
		cli_commands_list(&command, 1);
		return EXIT_FINE;
	}
	optind = 0; /* has getopt_long begin anew */
	opterr = 0;
	while ((found = getopt_long(argc, argv, options.letters, options.names, NULL)) !=
	       -1) {
		const struct bound *bound = find_option(&options, found);

		if (!bound)
			return report_option(command, found, argv[optind - 1]);
		if (!bound->option->take)
			return answer(command, bound->option->letter);
		status = bound->option->take(bound->option, optarg,
					     (char *)request + bound->to);
		if (status)
			return status;
	}
	if (argc - optind < command->min_operands)
		return cli_command_misused(command, "an operand is missing");
	if (argc - optind > command->max_operands)
		return misused_by(command, argv[optind + command->max_operands]);
	return -1;
}

bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 0);
	return !errno && end != text && !*end && !strchr(text, '-') && *value >= low &&
	       *value <= high;
}
