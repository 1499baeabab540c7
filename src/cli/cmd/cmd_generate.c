/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor generate: writes netlists of fat trees and other topologies. */
#include "commands.h"
#include "json.h"
#include "failure_options.h"

#include <portmajor/base/nearest.h>
#include <portmajor/base/print.h>
#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/generate.h>
#include <portmajor/memory/xalloc.h>
#include <portmajor/netlist/netlist.h>

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

/* Reads "4,4,2" into at most max numbers; returns how many, or 0 if malformed. */
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

/* Reads numbers argv[0..count) into values[]; false if one is no number. */
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

static bool parse_director(char **argv, struct pm_generate *config)
{
	config->kind = PM_GENERATE_DIRECTOR;
	return parse_numbers(argv, 1, &config->director.leaves);
}

static bool parse_two_level(char **argv, struct pm_generate *config)
{
	unsigned int n[4];

	if (!parse_numbers(argv, 4, n))
		return false;
	config->kind = PM_GENERATE_TWO_LEVEL;
	config->two_level = (struct pm_generate_two_level){
		.leaves = n[0], .spines = n[1], .hosts = n[2], .parallel = n[3]};
	return true;
}

static bool parse_xgft(char **argv, struct pm_generate *config)
{
	unsigned int height;

	if (!parse_numbers(argv, 1, &height) || height > PM_GENERATE_MAX_HEIGHT)
		return false;
	config->kind = PM_GENERATE_XGFT;
	config->xgft.height = height;
	return parse_list(argv[1], config->xgft.children, height) == height &&
	       parse_list(argv[2], config->xgft.parents, height) == height;
}

static bool parse_line_boards(char **argv, struct pm_generate *config)
{
	unsigned int n[5];

	if (!parse_numbers(argv, 5, n))
		return false;
	config->kind = PM_GENERATE_LINE_BOARDS;
	config->line_boards = (struct pm_generate_line_boards){.lines = n[0],
							       .spines = n[1],
							       .edges = n[2],
							       .hosts = n[3],
							       .uplinks = n[4]};
	return true;
}

static bool parse_islands(char **argv, struct pm_generate *config)
{
	struct pm_generate_islands *islands = &config->islands;
	unsigned int n[3];

	config->kind = PM_GENERATE_ISLANDS;
	if (!parse_numbers(argv, 1, &islands->cores) ||
	    !parse_numbers(argv + 1, 1, &islands->uplinks))
		return false;
	for (argv += 2; *argv; argv++) {
		if (islands->num_islands == PM_GENERATE_MAX_ISLANDS ||
		    parse_list(*argv, n, 3) != 3)
			return false;
		islands->island[islands->num_islands++] = (struct pm_generate_island){
			.leaves = n[0], .spines = n[1], .hosts = n[2]};
	}
	return true;
}

static bool parse_torus(char **argv, struct pm_generate *config)
{
	struct pm_generate_torus *torus = &config->torus;

	config->kind = PM_GENERATE_TORUS;
	torus->dimensions = parse_list(argv[0], torus->sides, PM_GENERATE_MAX_HEIGHT);
	return torus->dimensions && parse_numbers(argv + 1, 1, &torus->hosts);
}

static bool parse_mesh(char **argv, struct pm_generate *config)
{
	config->torus.open = true;
	return parse_torus(argv, config);
}

static bool parse_dragonfly(char **argv, struct pm_generate *config)
{
	unsigned int n[4];

	if (!parse_numbers(argv, 4, n))
		return false;
	config->kind = PM_GENERATE_DRAGONFLY;
	config->dragonfly = (struct pm_generate_dragonfly){
		.groups = n[0], .leaves = n[1], .spines = n[2], .hosts = n[3]};
	return true;
}

static const struct kind {
	const char *name, *numbers; /* the name's operands */
	int low, high;		    /* the number of operands */
	bool (*parse)(char **argv, struct pm_generate *config);
} kinds[] = {
	{"director", "LEAVES", 1, 1, parse_director},
	{"two-level", "LEAVES SPINES HOSTS PARALLEL", 4, 4, parse_two_level},
	{"xgft", "HEIGHT M1,..,Mh W1,..,Wh", 3, 3, parse_xgft},
	{"line-boards", "LINES SPINES EDGES HOSTS UPLINKS", 5, 5, parse_line_boards},
	{"islands", "CORES UPLINKS LEAVES,SPINES,HOSTS...", 3,
	 2 + PM_GENERATE_MAX_ISLANDS, parse_islands},
	{"torus", "SIDE,.. HOSTS", 2, 2, parse_torus},
	{"mesh", "SIDE,.. HOSTS", 2, 2, parse_mesh},
	{"dragonfly", "GROUPS LEAVES SPINES HOSTS", 4, 4, parse_dragonfly},
};

/* Reports an unknown kind, with the nearest one. */
static int fail_unknown(const char *name)
{
	struct pm_nearest nearest = {0};
	char hint[PM_NEAREST_HINT];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		pm_nearest_offer(&nearest, name, kinds[i].name);
	return cli_fail(EXIT_USAGE, "generate: no kind of fabric is named \"%s\"%s", name,
			nearest.word ? pm_nearest_hint(&nearest, hint)
				     : " (-h lists them)");
}

/* Reports too few or too many operands of a kind, and names them. */
static int fail_count(const struct kind *kind, int given)
{
	const char *noun = strchr(kind->numbers, ',') ? "operand" : "number";

	return cli_fail(EXIT_USAGE, "generate: %s needs %s%d %s%s: %s (%d given)",
			kind->name, kind->low < kind->high ? "at least " : "", kind->low,
			noun, kind->low == 1 ? "" : "s", kind->numbers, given);
}

/* Reads the kind and its operands. */
static int parse_kind(int argc, char **argv, struct pm_generate *config)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind *kind = &kinds[i];
		int given = argc - 1;

		if (strcmp(argv[0], kind->name) != 0)
			continue;
		if (given < kind->low || given > kind->high)
			return fail_count(kind, given);
		return kind->parse(argv + 1, config)
			       ? EXIT_FINE
			       : cli_fail(EXIT_USAGE,
					  "generate: %s needs %s: one of these is no "
					  "number or out of range",
					  kind->name, kind->numbers);
	}
	return fail_unknown(argv[0]);
}

/* The fabric to print, and the error if that fails. */
struct printing {
	const struct pm_generate *config;
	struct pm_error *err;
};

static int print_generated(FILE *file, const void *arg)
{
	const struct printing *printing = arg;

	return pm_generate_write(printing->config, file, printing->err);
}

/* Generates a fabric and reads it. */
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
		status = cli_refuse(&err);
	free(text);
	return status;
}

/* Parts that were generated and then removed. */
struct left_out {
	json_t *switches, *hosts, *links; /* lists */
};

/* Lists removed nodes, and removed cables between the other nodes. */
static void find_left_out(const struct pm_fabric *fabric,
			  const struct pm_fabric *degraded, struct left_out *left_out)
{
	*left_out = (struct left_out){json_array(), json_array(), json_array()};
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (pm_fabric_has_link(fabric, i) && !pm_fabric_has_link(degraded, i))
			json_array_append_new(i < fabric->num_switches
						      ? left_out->switches
						      : left_out->hosts,
					      cli_node_json(fabric, i));
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE && fabric->ports[i].peer > i &&
		    degraded->ports[i].peer == PM_NONE &&
		    pm_fabric_has_link(degraded, fabric->ports[i].node) &&
		    pm_fabric_has_link(degraded, pm_fabric_peer_node(fabric, i)))
			json_array_append_new(left_out->links, cli_link_json(fabric, i));
}

static int print_netlist(FILE *file, const void *arg)
{
	pm_netlist_write(arg, file);
	return 0;
}

/* Prints the object, and takes over the removed parts. */
static int print_json(const struct request *request, const struct pm_fabric *fabric,
		      struct left_out *left_out)
{
	json_t *object, *more;
	char *text = NULL;
	size_t length = 0;

	if (pm_text_print(print_netlist, fabric, &text, &length))
		pm_no_memory();
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

static void print_left_out(const struct left_out *left_out, uint64_t seed)
{
	size_t switches = json_array_size(left_out->switches);
	size_t hosts = json_array_size(left_out->hosts);
	size_t links = json_array_size(left_out->links);

	fprintf(stderr,
		"portmajor: left out: %zu switch%s, %zu host%s, %zu other cable%s "
		"between switches (--seed %" PRIu64 ")\n",
		switches, switches == 1 ? "" : "es", hosts, hosts == 1 ? "" : "s", links,
		links == 1 ? "" : "s", seed);
}

/* Writes the fabric without the removed parts. */
static int write_fabric(const struct request *request)
{
	struct pm_fabric *fabric = NULL, *degraded = NULL;
	struct left_out left_out = {NULL, NULL, NULL};
	struct pm_error err;
	int status = make_fabric(&request->config, &fabric), rc;

	if (status)
		return status;
	degraded = pm_fabric_clone(fabric);
	if (!degraded)
		pm_no_memory();
	rc = pm_degrade_apply(&request->degrade, degraded, &err);
	if (rc) {
		status = cli_fail(rc == -ENOMEM ? EXIT_INPUT : EXIT_USAGE,
				  "--degrade: %s", err.text);
	} else {
		find_left_out(fabric, degraded, &left_out);
		if (request->degraded && !request->output.quiet)
			print_left_out(&left_out, request->degrade.seed);
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

/* "storage=4:1"; pm_generate_write checks it. */
static int take_service(const struct cli_option *option, char *argument, void *to)
{
	struct pm_generate *config = &((struct request *)to)->config;
	struct pm_generate_service *service = &config->services[config->num_services];
	char *count = strchr(argument, '='), *level = strchr(argument, ':');
	unsigned long n[2];

	(void)option;
	if (config->num_services == PM_GENERATE_MAX_SERVICES)
		return cli_fail(EXIT_USAGE, "--service: at most %d of them",
				PM_GENERATE_MAX_SERVICES);
	if (count && level > count)
		*count++ = *level++ = '\0';
	else
		count = level = NULL;
	if (!count || strlen(argument) >= sizeof(service->name) ||
	    !cli_number(count, 1, PM_MAX_NODES, &n[0]) ||
	    !cli_number(level, 0, PM_GENERATE_MAX_HEIGHT - 1, &n[1]))
		return cli_fail(EXIT_USAGE, "--service: NAME=N:LEVEL, as storage=4:1");
	strcpy(service->name, argument);
	service->count = (unsigned int)n[0];
	service->level = (unsigned int)n[1];
	config->num_services++;
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{0, "aggregation-nodes", NULL,
	 "Add an aggregation node (SHARP) to each switch, on an additional last "
	 "port.",
	 CLI_MEMBER(struct request, config.aggregation)},
	{0, "service", "NAME=N:LEVEL",
	 "Add N end nodes NAME-1, NAME-2, .. to the switches of LEVEL in turn, "
	 "on additional ports; leaves are level 0. NAME has only lower-case "
	 "letters; router makes routers. May be given eight times.",
	 .take = take_service},
	{0, "host-ports", "N",
	 "Hosts have N ports, on the same port number of N leaves; with L leaves "
	 "these are L/N apart.",
	 CLI_MEMBER(struct request, config.host_ports), .low = 1, .high = PM_MAX_PORTS},
	{0, "rails", NULL, "Each of these ports is a separate adapter.",
	 CLI_MEMBER(struct request, config.rails)},
	{0, "split", NULL,
	 "The ports of leaves are split in two: a host has half a port, 2x HDR; "
	 "an uplink, 4x HDR, has the first of two port numbers.",
	 CLI_MEMBER(struct request, config.split)},
	{0, "degrade", "links=N,switches=N,hosts=N",
	 "Leave out N cables between switches, N switches or N hosts at random; "
	 "N is a number or, with %, a share of all.",
	 .take = take_degrade},
	{0, "seed", "N", "Seed of the random numbers. Default 1.", .take = take_seed},
	CLI_OUTPUT(struct request, output,
		   "Do not list left-out parts on standard error.",
		   "Print one JSON object (docs/json.md), with the netlist and the "
		   "left-out parts."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "generate [OPTION]... director LEAVES\n"
		    "generate [OPTION]... two-level LEAVES SPINES HOSTS PARALLEL\n"
		    "generate [OPTION]... xgft HEIGHT M1,..,Mh W1,..,Wh\n"
		    "generate [OPTION]... line-boards LINES SPINES EDGES HOSTS UPLINKS\n"
		    "generate [OPTION]... islands CORES UPLINKS LEAVES,SPINES,HOSTS...\n"
		    "generate [OPTION]... torus SIDE,.. HOSTS\n"
		    "generate [OPTION]... mesh SIDE,.. HOSTS\n"
		    "generate [OPTION]... dragonfly GROUPS LEAVES SPINES HOSTS",
	.about =
		"Write the netlist of a fabric, for ibsim and for portmajor, to standard "
		"output.\n"
		"  director   LEAVES (36 to 648, in steps of 36) leaves of 18 hosts "
		"below\n"
		"             18 director chassis: 36 make 648 hosts, 324 make 5,832,\n"
		"             648 make 11,664\n"
		"  two-level  HOSTS per leaf, PARALLEL cables from each leaf to each "
		"spine\n"
		"  xgft       an extended generalised fat tree with M children and W "
		"parents\n"
		"             per level, from the hosts upward (W1 is 1)\n"
		"  line-boards  a director of LINES line boards and SPINES spine boards "
		"below\n"
		"             which are EDGES switches of HOSTS hosts, each with "
		"UPLINKS\n"
		"             links, assigned in turn to the line boards\n"
		"  islands    CORES switches above islands of LEAVES and SPINES with "
		"HOSTS\n"
		"             per leaf; each spine has UPLINKS links to the cores\n"
		"  torus, mesh  no tree: 1 to 4 dimensions, HOSTS per switch\n"
		"  dragonfly  no tree: a Dragonfly+ of GROUPS",
	.options = options,
	.min_operands = 1,
	.max_operands = 3 + PM_GENERATE_MAX_ISLANDS,
};

int cmd_generate(int argc, char **argv)
{
	struct request request = {.degrade = {.seed = 1}};
	struct pm_error err;
	int status = cli_command_read(&command, argc, argv, &request), rc;

	if (status >= 0)
		return status;
	status = parse_kind(argc - optind, argv + optind, &request.config);
	if (status)
		return status;
	if (request.degraded || request.output.json)
		return write_fabric(&request);
	rc = pm_generate_write(&request.config, stdout, &err);
	if (rc)
		return cli_fail(rc == -ENOMEM ? EXIT_INPUT : EXIT_USAGE, "%s", err.text);
	return EXIT_FINE;
}
