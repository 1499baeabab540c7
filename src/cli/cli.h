/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the subcommands of portmajor share. */
#ifndef PORTMAJOR_CLI_H
#define PORTMAJOR_CLI_H

#include <portmajor/plan.h>
#include <portmajor/roles.h>

#include <getopt.h>

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FINDINGS = 1, /* it ran, and what it found is not in order */
	EXIT_USAGE = 2,	   /* wrong options or operands */
	EXIT_INPUT = 3,	   /* a file cannot be read or makes no sense; no memory */
};

int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_drain(int argc, char **argv);
int cmd_undrain(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_table(int argc, char **argv);
int cmd_preflight(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_whatif(int argc, char **argv);

/* What subcommands that read a fabric have in common. Zeroed: the defaults. */
struct cli_fabric {
	struct pm_plan_config plan;
	struct pm_role_files files;
	const char *names; /* file for --node-name-map, or NULL */
	bool connect_roots;
	bool lmc_given; /* with -m, and not the default */
};

/* Short and long options of these, and the lines of help about them. */
#define CLI_FABRIC_SHORT "o:m:"
#define CLI_FABRIC_LONG                                                                  \
	{"root_guid_file", required_argument, NULL, 'A'},                                \
		{"cn_guid_file", required_argument, NULL, 'U'},                          \
		{"io_guid_file", required_argument, NULL, 'I'},                          \
		{"node-name-map", required_argument, NULL, 'N'},                         \
	{                                                                                \
		"connect_roots", no_argument, NULL, 'Z'                                  \
	}
#define CLI_FABRIC_HELP                                                                  \
	"  -o ORDER  lid_order: grouped (default), leaf-major or port-major\n"           \
	"  -m LMC    of end ports, 0 to 3 (default 0)\n"                                 \
	"  --root_guid_file FILE, --cn_guid_file FILE, --io_guid_file FILE,\n"           \
	"  --connect_roots\n"                                                            \
	"            as in opensm.conf\n"                                                \
	"  --node-name-map FILE\n"                                                       \
	"            names of nodes by GUID, as for infiniband-diags\n"

/* Deals with one of these options: an exit status, or -1 if it is another one. */
int cli_fabric_option(int option, struct cli_fabric *config);

/* Short and long options that every subcommand has: -h, -q and --json. */
#define CLI_OUTPUT_SHORT "hq"
#define CLI_OUTPUT_LONG                                                                  \
	{"json", no_argument, NULL, 'J'}, {"quiet", no_argument, NULL, 'q'},             \
	{                                                                                \
		"help", no_argument, NULL, 'h'                                           \
	}

/* What is to be printed. */
struct cli_output {
	bool json;
	bool quiet; /* see the subcommand's help */
};

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

/* Reads a netlist and the files that say what its nodes are; an exit status. */
int cli_fabric_read(const char *path, const struct cli_fabric *config,
		    struct pm_fabric **fabric);

/* The latter alone, for a fabric that was read already. */
int cli_fabric_describe(struct pm_fabric *fabric, const struct cli_fabric *config);

/*
 * What to do with an option that a subcommand does not know: prints its usage, to
 * stdout for -h. An exit status.
 */
int cli_usage(int option, const char *usage);

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
