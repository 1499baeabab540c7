/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of commands. */
#include "cli.h"
#include "json.h"

#include <portmajor/base/nearest.h>

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"acknowledge", cmd_acknowledge, "note that parts are missing by intent"},
	{"check", cmd_check, "judge the tables that switches hold"},
	{"collective", cmd_collective,
	 "print what collective operations cost on circuits"},
	{"diff", cmd_diff, "compare two sets of tables, or two topologies"},
	{"drain", cmd_drain,
	 "take cables and switches out of hosts' paths before service"},
	{"dsm", cmd_dsm, "print what shared memory over datagrams costs, and loses"},
	{"generate", cmd_generate, "write the netlist of a fabric"},
	{"job", cmd_job, "print what a failure costs a job, with several engines"},
	{"lldp", cmd_lldp, "compare an Ethernet's cables with its netlist"},
	{"merge", cmd_merge, "add up the shards of whatif or traffic"},
	{"plan", cmd_plan, "print which LIDs a fabric's places get, plane by plane"},
	{"preflight", cmd_preflight, "check an OpenSM configuration before it is used"},
	{"rebalance", cmd_rebalance, "have tables go over to those of the plan"},
	{"release", cmd_release, "take links back into use that were kept out"},
	{"status", cmd_status, "tell whether the fabric is as it should be now"},
	{"table", cmd_table, "print a switch's table and loads before and after a loss"},
	{"traffic", cmd_traffic, "tell what jobs feel of traffic, and of a loss"},
	{"undrain", cmd_undrain, "take them back into hosts' paths"},
	{"whatif", cmd_whatif, "print what a loss would cost in LFT blocks"},
};

static void print_usage(FILE *out)
{
	fputs("usage: portmajor COMMAND [OPTION]... [OPERAND]...\n\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
	fputs("\n`portmajor COMMAND -h` tells more.\n"
	      "Exit status: 0 fine, 1 findings, 2 usage, 3 input.\n",
	      out);
}

/* Names the nearest command; where none is near, prints all of them. */
static int fail_unknown(const char *name)
{
	struct pm_nearest nearest = {0};
	char hint[PM_NEAREST_HINT];

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		pm_nearest_offer(&nearest, name, commands[i].name);
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
		puts("portmajor " PORTMAJOR_VERSION);
		return cli_finish(EXIT_FINE);
	}
	cli_json_begin();
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return cli_finish(commands[i].run(argc - 1, argv + 1));
	return fail_unknown(argv[1]);
}
