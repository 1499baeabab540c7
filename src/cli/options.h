/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a subcommand: how they are read. */
#ifndef PORTMAJOR_CLI_OPTIONS_H
#define PORTMAJOR_CLI_OPTIONS_H

#include "fabric.h"
#include "output.h"

#include <getopt.h>

/* Short and long options that every subcommand has: -h, -q and --json. */
#define CLI_OUTPUT_SHORT "hq"
#define CLI_OUTPUT_LONG                                                                  \
	{"json", no_argument, NULL, 'J'}, {"quiet", no_argument, NULL, 'q'},             \
	{                                                                                \
		"help", no_argument, NULL, 'h'                                           \
	}

/* A subcommand's options, for getopt_long. */
struct cli_options {
	const char *usage;
	const char *short_options;
	const struct option *long_options;
	/* Where those above go, or NULL: it has none of them. */
	struct cli_fabric *fabric;
	struct cli_output *output; /* where -q and --json go */
	/* Deals with another one: an exit status, or -1: there is no such option. NULL:
	 * there is none. */
	int (*take)(int option, void *request);
	int least, most; /* operands */
};

/*
 * Reads them up to the first operand, argv[optind], and counts the operands; an exit
 * status, or -1 to go on.
 */
int cli_options_read(int argc, char **argv, const struct cli_options *options,
		     void *request);

/*
 * What to do with an option that a subcommand does not know: prints its usage, to
 * stdout for -h. An exit status.
 */
int cli_usage(int option, const char *usage);

/* Reads an unsigned number; false if it is none or not in the range. */
bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value);

#endif
