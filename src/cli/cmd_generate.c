/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor generate: netlists of fat trees. */
#include "cli.h"
#include "json.h"
#include "losses.h"

#include <portmajor/degrade.h>
#include <portmajor/generate.h>
#include <portmajor/netlist.h>
#include <portmajor/print.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct pm_generate config;
	struct pm_degrade degrade;
	bool degraded;
	struct cli_output output;
};

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

/* What is to be printed, and why it was not. */
struct printing {
	const struct pm_generate *config;
	struct pm_error *err;
};

static int print_generated(FILE *file, const void *arg)
{
	const struct printing *printing = arg;

	return pm_generate_write(printing->config, file, printing->err);
}

/* Generates and reads what was generated; an exit status. */
static int make_fabric(const struct pm_generate *config, struct pm_fabric **fabric)
{
	struct pm_error err = {"out of memory"};
	const struct printing printing = {config, &err};
	char *text = NULL;
	size_t length = 0;
	int rc = pm_text_print(print_generated, &printing, &text, &length);
	int status = EXIT_FINE;

	if (rc)
		status =
			cli_fail(rc == -ENOMEM ? EXIT_INPUT : EXIT_USAGE, "%s", err.text);
	else if (pm_netlist_parse(text, length, "generated", fabric, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	free(text);
	return status;
}

/* What the fabric was generated with and has not any more. */
struct left_out {
	json_t *switches, *hosts, *links; /* lists */
};

/* Nodes, and cables between nodes that are still there. */
static void find_left_out(const struct pm_fabric *fabric,
			  const struct pm_fabric *degraded, struct left_out *left_out)
{
	*left_out = (struct left_out){json_array(), json_array(), json_array()};
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (pm_fabric_has_cable(fabric, i) && !pm_fabric_has_cable(degraded, i))
			json_array_append_new(i < fabric->num_switches
						      ? left_out->switches
						      : left_out->hosts,
					      cli_node_json(fabric, i));
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE && fabric->ports[i].peer > i &&
		    degraded->ports[i].peer == PM_NONE &&
		    pm_fabric_has_cable(degraded, fabric->ports[i].node) &&
		    pm_fabric_has_cable(degraded, pm_fabric_peer_node(fabric, i)))
			json_array_append_new(left_out->links, cli_link_json(fabric, i));
}

static int print_netlist(FILE *file, const void *arg)
{
	pm_netlist_write(arg, file);
	return 0;
}

/* Prints the object; takes over what is left out. An exit status. */
static int print_json(const struct request *request, const struct pm_fabric *fabric,
		      struct left_out *left_out)
{
	json_t *object, *more;
	char *text = NULL;
	size_t length = 0;

	if (pm_text_print(print_netlist, fabric, &text, &length))
		return cli_fail(EXIT_INPUT, "out of memory");
	object = cli_json_new("generate", 1);
	more = json_pack("{s:I, s:{s:o, s:o, s:o}, s:s#}", "seed",
			 (json_int_t)request->degrade.seed, "left_out", "switches",
			 left_out->switches, "hosts", left_out->hosts, "links",
			 left_out->links, "netlist", text, (int)length);
	*left_out = (struct left_out){NULL, NULL, NULL};
	free(text);
	json_object_update(object, more);
	json_decref(more);
	return cli_json_print(object);
}

static void tell_left_out(const struct left_out *left_out, uint64_t seed)
{
	fprintf(stderr,
		"portmajor: left out: %zu switches, %zu hosts, %zu other cables between "
		"switches (--seed %" PRIu64 ")\n",
		json_array_size(left_out->switches), json_array_size(left_out->hosts),
		json_array_size(left_out->links), seed);
}

/* Writes the fabric without what is to be left out; an exit status. */
static int write_fabric(const struct request *request)
{
	struct pm_fabric *fabric = NULL, *degraded = NULL;
	struct left_out left_out = {NULL, NULL, NULL};
	struct pm_error err;
	int status = make_fabric(&request->config, &fabric), rc;

	if (!status) {
		degraded = pm_fabric_clone(fabric);
		if (!degraded)
			status = cli_fail(EXIT_INPUT, "out of memory");
	}
	rc = status ? 0 : pm_degrade_apply(&request->degrade, degraded, &err);
	if (rc)
		status = cli_fail(rc == -ENOMEM ? EXIT_INPUT : EXIT_USAGE,
				  "--degrade: %s", err.text);
	if (!status) {
		find_left_out(fabric, degraded, &left_out);
		if (request->degraded && !request->output.quiet)
			tell_left_out(&left_out, request->degrade.seed);
		if (request->output.json)
			status = print_json(request, degraded, &left_out);
		else
			pm_netlist_write(degraded, stdout);
	}
	json_decref(left_out.switches);
	json_decref(left_out.hosts);
	json_decref(left_out.links);
	pm_fabric_free(degraded);
	pm_fabric_free(fabric);
	return status;
}

static int take_degrade(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;
	struct pm_error err;

	(void)option;
	request->degraded = true;
	return pm_degrade_parse(argument, &request->degrade, &err)
		       ? cli_fail(EXIT_USAGE, "--degrade: %s", err.text)
		       : EXIT_FINE;
}

static int take_seed(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;
	unsigned long seed;

	(void)option;
	if (!cli_number(argument, 0, INT64_MAX, &seed))
		return cli_fail(EXIT_USAGE, "--seed: a number");
	request->degrade.seed = seed;
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{0, "degrade", "links=N,switches=N,hosts=N",
	 "leave out so many cables between switches, switches and hosts, drawn at "
	 "random; "
	 "N is a number or, with %, a part of them all",
	 .take = take_degrade},
	{0, "seed", "N", "of the random numbers (default 1)", .take = take_seed},
	CLI_OUTPUT(struct request, output,
		   "do not tell on standard error what is left out",
		   "print one JSON object, with the netlist and what is left out"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "generate [OPTION]... director LEAVES\n"
		    "generate [OPTION]... two-level LEAVES SPINES HOSTS PARALLEL\n"
		    "generate [OPTION]... xgft HEIGHT M1,..,Mh W1,..,Wh",
	.about = "Writes an ibsim netlist to standard output.\n"
		 "  director   LEAVES (36 to 648, in steps of 36) leaves of 18 hosts "
		 "below\n"
		 "             18 director chassis: 36 make 648 hosts, 324 5832, 648 "
		 "11664\n"
		 "  two-level  HOSTS per leaf, PARALLEL cables from each leaf to each "
		 "spine\n"
		 "  xgft       extended generalised fat tree with M children and W "
		 "parents\n"
		 "             per level, from the hosts upward (W1 is 1)",
	.options = options,
	.min_operands = 2,
	.max_operands = 5,
};

int cmd_generate(int argc, char **argv)
{
	struct request request = {.degrade = {.seed = 1}};
	struct pm_error err;
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	if (!parse_kind(argc - optind, argv + optind, &request.config))
		return cli_command_misused(&command, "no fabric is named so");
	if (request.degraded || request.output.json)
		return write_fabric(&request);
	if (pm_generate_write(&request.config, stdout, &err))
		return cli_fail(EXIT_USAGE, "%s", err.text);
	return EXIT_FINE;
}
