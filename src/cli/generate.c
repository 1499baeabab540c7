/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor generate: netlists of fat trees. */
#include "cli.h"

#include <portmajor/degrade.h>
#include <portmajor/generate.h>
#include <portmajor/netlist.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: portmajor generate [OPTION]... director LEAVES\n"
	"       portmajor generate [OPTION]... two-level LEAVES SPINES HOSTS PARALLEL\n"
	"       portmajor generate [OPTION]... xgft HEIGHT M1,..,Mh W1,..,Wh\n"
	"\n"
	"Writes an ibsim netlist to standard output.\n"
	"  director   LEAVES (36 to 648, in steps of 36) leaves of 18 hosts below 18\n"
	"             director chassis: 36 make 648 hosts, 324 5832, 648 11664\n"
	"  two-level  HOSTS per leaf, PARALLEL cables from each leaf to each spine\n"
	"  xgft       extended generalised fat tree with M children and W parents per\n"
	"             level, from the hosts upward (W1 is 1)\n"
	"  --degrade links=N,switches=N,hosts=N\n"
	"             leave out so many cables between switches, switches and hosts, "
	"drawn\n"
	"             at random; N is a number or, with %, a part of them all\n"
	"  --seed N   of the random numbers (default 1)\n"
	"  -h         this help\n";

/* "4,4,2" into at most max numbers; the number of them, or 0 if malformed. */
static unsigned int parse_list(char *text, unsigned int *list, unsigned int max)
{
	unsigned int count = 0;
	char *rest = text, *item;
	unsigned long value;

	while ((item = strsep(&rest, ","))) {
		if (count == max || !cli_number(item, 1, PM_MAX_NODES, &value))
			return 0;
		list[count++] = (unsigned int)value;
	}
	return count;
}

/* Numbers argv[0..count) into values[]; false if one is none. */
static bool parse_numbers(char **argv, int count, unsigned int *values)
{
	for (int i = 0; i < count; i++) {
		unsigned long value;

		if (!cli_number(argv[i], 0, PM_MAX_NODES, &value))
			return false;
		values[i] = (unsigned int)value;
	}
	return true;
}

static bool parse_kind(int argc, char **argv, struct pm_generate *config)
{
	unsigned int n[4];

	if (argc == 2 && !strcmp(argv[0], "director") && parse_numbers(argv + 1, 1, n)) {
		config->kind = PM_GENERATE_DIRECTOR;
		config->director.leaves = n[0];
		return true;
	}
	if (argc == 5 && !strcmp(argv[0], "two-level") && parse_numbers(argv + 1, 4, n)) {
		config->kind = PM_GENERATE_TWO_LEVEL;
		config->two_level = (struct pm_generate_two_level){
			.leaves = n[0], .spines = n[1], .hosts = n[2], .parallel = n[3]};
		return true;
	}
	if (argc == 4 && !strcmp(argv[0], "xgft") && parse_numbers(argv + 1, 1, n)) {
		config->kind = PM_GENERATE_XGFT;
		config->xgft.height = n[0];
		return n[0] <= PM_GENERATE_MAX_HEIGHT &&
		       parse_list(argv[2], config->xgft.children, n[0]) == n[0] &&
		       parse_list(argv[3], config->xgft.parents, n[0]) == n[0];
	}
	return false;
}

/* Writes the fabric without what is lost; an exit status. */
static int write_degraded(const struct pm_generate *config,
			  const struct pm_degrade *degrade)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {"out of memory"};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	int status = EXIT_FINE;

	if (!file)
		return cli_fail(EXIT_INPUT, "out of memory");
	if (pm_generate_write(config, file, &err))
		status = cli_fail(EXIT_USAGE, "%s", err.text);
	if (fclose(file) && !status)
		status = cli_fail(EXIT_INPUT, "out of memory");
	if (!status && pm_netlist_parse(text, length, "generated", &fabric, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	if (!status && pm_degrade_apply(degrade, fabric, &err))
		status = cli_fail(EXIT_USAGE, "--degrade: %s", err.text);
	if (!status)
		pm_netlist_write(fabric, stdout);
	pm_fabric_free(fabric);
	free(text);
	return status;
}

int cmd_generate(int argc, char **argv)
{
	static const struct option options[] = {
		{"degrade", required_argument, NULL, 'D'},
		{"seed", required_argument, NULL, 'S'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct pm_generate config = {0};
	struct pm_degrade degrade = {.seed = 1};
	struct pm_error err;
	bool degraded = false;
	unsigned long seed;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'D') {
			if (pm_degrade_parse(optarg, &degrade, &err))
				return cli_fail(EXIT_USAGE, "--degrade: %s", err.text);
			degraded = true;
		} else if (option == 'S') {
			if (!cli_number(optarg, 0, ULONG_MAX, &seed))
				return cli_fail(EXIT_USAGE, "--seed: a number");
			degrade.seed = seed;
		} else {
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? EXIT_FINE : EXIT_USAGE;
		}
	}
	if (!parse_kind(argc - optind, argv + optind, &config)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (degraded)
		return write_degraded(&config, &degrade);
	if (pm_generate_write(&config, stdout, &err))
		return cli_fail(EXIT_USAGE, "%s", err.text);
	return EXIT_FINE;
}
