/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab traffic: simulates what jobs experience, with one of several engines. */
#include "traffic.h"
#include "lab_commands.h"

#include <stdio.h>
#include <string.h>

static const struct {
	int (*run)(int argc, char **argv);
	const struct cli_command *command;
	const char *name, *help;
} engines[TRAFFIC_ENGINES] = {
	[TRAFFIC_CUTOFF] =
		{traffic_cutoff, &traffic_cutoff_command, "cutoff",
		 "NETLIST --fail WHAT: pairs of hosts cut off, from a failure to "
		 "the last LFT Set"},
	[TRAFFIC_PACKET] =
		{traffic_packet, &traffic_packet_command, "packet",
		 "NETLIST --pattern KIND: rates and latencies of packets, also "
		 "through a failure"},
	[TRAFFIC_FLIT] =
		{traffic_flit, &traffic_flit_command, "flit",
		 "--topology KIND, or NETLIST: wormhole switching, flit by flit"},
	[TRAFFIC_SHARE] =
		{traffic_share, &traffic_share_command, "share",
		 "NETLIST: bisection bandwidth by fair shares, also with planes "
		 "as VLANs"},
};

/*
 * The argument of an option that is spelled out, of the last one; "": none; NULL: no such
 * option.
 */
static const char *find_option(int argc, char **argv, const char *option)
{
	size_t length = strlen(option);
	const char *found = NULL;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], option, length) != 0)
			continue;
		if (argv[i][length] == '=')
			found = argv[i] + length + 1;
		else if (!argv[i][length])
			found = i + 1 < argc ? argv[i + 1] : "";
	}
	return found;
}

/* Counts the spelled-out options that a command has. */
static int count_known(int argc, char **argv, const struct cli_command *command)
{
	int known = 0;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strncmp(argv[i], "--", 2))
			known += cli_command_has(command, argv[i] + 2,
						 strcspn(argv[i] + 2, "="));
	return known;
}

/* The named engine, or the first one with most of the options; below 0: none. */
static int choose_engine(int argc, char **argv)
{
	const char *name = find_option(argc, argv, "--engine");
	int best = TRAFFIC_CUTOFF, most = 0;

	if (name)
		return traffic_find_engine(name);
	for (int i = 0; i < TRAFFIC_ENGINES; i++) {
		int known = count_known(argc, argv, engines[i].command);

		if (known > most) {
			most = known;
			best = i;
		}
	}
	return best;
}

static int print_engines(void)
{
	puts("usage: portmajor-lab traffic [--engine ENGINE] [OPTION]... [NETLIST]\n");
	for (int i = 0; i < TRAFFIC_ENGINES; i++)
		printf("  %-7s %s\n", engines[i].name, engines[i].help);
	for (int i = 0; i < TRAFFIC_ENGINES; i++) {
		putchar('\n');
		cli_command_help(engines[i].command);
	}
	return EXIT_FINE;
}

static int list_options(void)
{
	const struct cli_command *commands[TRAFFIC_ENGINES];

	for (int i = 0; i < TRAFFIC_ENGINES; i++)
		commands[i] = engines[i].command;
	cli_commands_list(commands, TRAFFIC_ENGINES);
	return EXIT_FINE;
}

int cmd_traffic(int argc, char **argv)
{
	int engine;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return print_engines();
	if (argc == 2 && !strcmp(argv[1], "--list-options"))
		return list_options();
	engine = choose_engine(argc, argv);
	return engine < 0 ? EXIT_USAGE : engines[engine].run(argc, argv);
}
