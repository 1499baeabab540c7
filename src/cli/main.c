/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The main function of the three programs: help, and the choice of a subcommand. */
#include "subcommands.h"

#include "json.h"
#include "output.h"

#include <portmajor/base/nearest.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_end(const struct cli_subcommand *row)
{
	return !row->name && !row->help;
}

static void print_usage(FILE *out)
{
	fprintf(out, "usage: %s COMMAND [OPTION]... [OPERAND]...\n", cli_program);
	for (const struct cli_subcommand *c = cli_subcommands; !is_end(c); c++)
		if (c->name)
			fprintf(out, "  %-11s %s\n", c->name, c->help);
		else
			fprintf(out, "%s\n", c->help);
	fprintf(out,
		"\n`%s COMMAND -h` has the options of one.\n"
		"Exit status: 0 fine, 1 %s, 2 usage, 3 input.\n",
		cli_program, cli_findings);
}

/* Names the nearest command; if none is near, prints all. */
static int fail_unknown(const char *name)
{
	struct pm_nearest nearest = {0};
	char hint[PM_NEAREST_HINT];

	for (const struct cli_subcommand *c = cli_subcommands; !is_end(c); c++)
		if (c->name)
			pm_nearest_offer(&nearest, name, c->name);
	if (!nearest.word)
		print_usage(stderr);
	return cli_fail(EXIT_USAGE, "no command \"%s\"%s", name,
			pm_nearest_hint(&nearest, hint));
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
		print_usage(stdout);
		return cli_finish(EXIT_FINE);
	}
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		cli_print_version();
		return cli_finish(EXIT_FINE);
	}
	cli_json_begin();
	for (const struct cli_subcommand *c = cli_subcommands; !is_end(c); c++)
		if (c->name && !strcmp(argv[1], c->name))
			return cli_finish(c->run(argc - 1, argv + 1));
	return fail_unknown(argv[1]);
}
