/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab traffic --engine flit: wormhole switching with virtual channels. */
#include "json.h"
#include "lft_input.h"
#include "lists.h"
#include "progress_steps.h"
#include "planned_tables.h"
#include "traffic.h"
#include "traffic_flit.h"
#include "traffic_shard.h"

#include <portmajor/base/hash.h>
#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MILLION 1000000u
#define NOT_GIVEN UINT32_MAX

/* ---- The network ---- */

/* Reads "4x5" as numbers; returns how many, 0 for any other text. */
static uint32_t read_sizes(const char *text, uint32_t *sizes, uint32_t room)
{
	char copy[64], *rest = copy, *word;
	uint32_t num = 0;
	unsigned long value;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return 0;
	while ((word = strsep(&rest, "x"))) {
		if (num == room || !cli_number(word, 1, 65535, &value))
			return 0;
		sizes[num++] = (uint32_t)value;
	}
	return num;
}

static int build_net(const struct flit_request *request, struct pm_flit_net **net)
{
	const char *text = request->topology, *sizes = strchr(text, ':');
	size_t length = sizes ? (size_t)(sizes - text) : strlen(text);
	uint32_t size[PM_FLIT_MAX_DIMENSIONS] = {0}, num = 0;
	bool torus = length == 5 && !strncmp(text, "torus", length);
	struct pm_error err;
	int rc;

	if (sizes)
		num = read_sizes(sizes + 1, size, PM_FLIT_MAX_DIMENSIONS);
	if (request->ties != NOT_GIVEN && !torus)
		return cli_fail(EXIT_USAGE, "--ties is for a torus");
	if (torus && num)
		rc = pm_flit_net_torus(size, num, request->ties == 1, net, &err);
	else if (length == 4 && !strncmp(text, "mesh", length) && num == 2)
		rc = pm_flit_net_mesh(size[0], size[1], net, &err);
	else if (length == 5 && !strncmp(text, "chain", length) && num == 1)
		rc = pm_flit_net_chain(size[0], net, &err);
	else if (length == 4 && !strncmp(text, "tree", length) && num == 2)
		rc = pm_flit_net_tree(size[0], size[1], net, &err);
	else
		return cli_fail(EXIT_USAGE,
				"--topology %s: not torus:XxY, mesh:SWITCHESxNODES, "
				"chain:CABLES or tree:KxN",
				text);
	return rc ? cli_fail(EXIT_USAGE, "--topology %s: %s", text, err.text) : EXIT_FINE;
}

static int get_tables(const struct flit_request *request, struct pm_fabric *fabric,
		      struct pm_lfts **lfts)
{
	struct cli_tables tables = {0};
	struct pm_lft_lids lids;
	struct pm_error err;
	int status;

	if (request->lfts)
		return lft_input_read(request->lfts, fabric, lfts);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		fabric->ports[i].lid = 0;
	status = cli_tables_make(&tables, &request->fabric, fabric, PM_NONE);
	if (!status && pm_lfts_of_plan(tables.plan, tables.routes, fabric, lfts, &err))
		status = cli_refuse(&err);
	if (!status && pm_lfts_give_lids(*lfts, fabric, &lids, &err))
		status = cli_refuse(&err);
	cli_tables_free(&tables);
	return status;
}

static int load_net(const struct flit_request *request, struct pm_fabric **fabric,
		    struct pm_flit_net **net)
{
	struct pm_lfts *lfts = NULL;
	struct pm_error err;
	int status = cli_fabric_read(request->netlist, &request->fabric, fabric);

	if (!status)
		status = get_tables(request, *fabric, &lfts);
	if (!status && pm_flit_net_of_tables(*fabric, lfts, net, &err))
		status = cli_refuse(&err);
	pm_lfts_free(lfts);
	return status;
}

static int run_once(const struct flit_request *request, const struct pm_flit_net *net,
		    struct flit_run *run, json_t **runs)
{
	struct pm_flit_config config = request->config;
	struct pm_flit *flit = NULL;
	struct pm_error err;

	config.length = run->length;
	config.load = run->load;
	config.seed = run->seed;
	if (pm_flit_new(net, &config, &flit, &err))
		return cli_fail(EXIT_USAGE, "%s", err.text);
	pm_flit_run(flit, request->warm_up);
	pm_flit_measure(flit);
	pm_flit_run(flit, request->cycles);
	pm_flit_result(flit, &run->result);
	run->count = pm_flit_count(flit);
	run->deadlock = *pm_flit_deadlock(flit);
	*runs = pm_json_append(*runs, flit_run_json(net, run));
	pm_flit_free(flit);
	return EXIT_FINE;
}

static uint32_t count_runs(const struct flit_request *request)
{
	return request->lengths.num * request->loads.num * request->seeds;
}

/* Makes all runs, or the shard's; adds their CPU time. */
static int run_all(const struct flit_request *request, const struct pm_flit_net *net,
		   double *seconds, json_t **runs)
{
	struct lab_steps steps;
	int status = EXIT_FINE;

	lab_steps_begin(&steps, traffic_shard_count(&request->shard, count_runs(request)),
			request->output.quiet);
	for (uint32_t i = 0; i < count_runs(request) && !status; i++) {
		uint32_t point = i / request->seeds, loads = request->loads.num;
		struct flit_run run = {
			.length = request->lengths.value[point / loads],
			.load = request->loads.value[point % loads],
			.seed = request->first_seed + i % request->seeds,
		};
		clock_t begin = clock();

		if (!traffic_shard_has(&request->shard, i))
			continue;
		status = run_once(request, net, &run, runs);
		*seconds += (double)(clock() - begin) / CLOCKS_PER_SEC;
		lab_steps_next(&steps);
	}
	lab_steps_end(&steps);
	return status;
}

static json_t *speed_json(const json_t *runs, double seconds,
			  const struct flit_request *request)
{
	const json_t *run;
	json_int_t hops = 0;
	double all = (double)request->warm_up + request->cycles;
	size_t i;

	/* The warm-up's hops are not counted, but take time. */
	json_array_foreach(runs, i, run)
		hops += cli_json_number(run, "hops");
	return json_pack(
		"{s:I, s:f, s:f}", "hops", hops, "seconds", seconds, "millions",
		seconds > 0 ? (double)hops / 1e6 * all / request->cycles / seconds : 0);
}

/* A hash that distinguishes shards: of input that the settings lack, and of paths. */
static uint64_t find_fingerprint(const struct flit_request *request,
				 const struct pm_flit_net *net)
{
	uint64_t hash = PM_HASH_START;

	for (uint32_t i = 0; i < request->lengths.num; i++)
		hash = pm_hash_number(hash, request->lengths.value[i]);
	for (uint32_t i = 0; i < request->loads.num; i++)
		hash = pm_hash_number(hash, request->loads.value[i]);
	for (uint32_t i = 0; i < net->num_links; i++)
		hash = pm_hash_number(hash, (uint64_t)net->links[i].from << 32 |
						    net->links[i].to);
	for (uint32_t i = 0; i < net->num_switches + net->num_nodes; i++)
		hash = pm_hash(hash, net->names[i], strlen(net->names[i]) + 1);
	return pm_hash(hash, net->next_hop, (size_t)net->num_switches * net->num_nodes);
}

static int print_shard(const struct flit_request *request, const struct pm_flit_net *net,
		       json_t *runs)
{
	json_t *findings =
		flit_findings_json(runs, request->config.flow == PM_FLIT_SLACK);
	int status = json_array_size(findings) ? EXIT_FINDINGS : EXIT_FINE;

	json_decref(findings);
	return cli_json_print(traffic_shard_json(flit_settings_json(request, net),
						 &request->shard, count_runs(request),
						 find_fingerprint(request, net),
						 json_incref(runs)))
		       ? EXIT_INPUT
		       : status;
}

static int run_flit(const struct flit_request *request, const struct pm_flit_net *net)
{
	double seconds = 0;
	json_t *runs = json_array(), *object;
	/* The engine refuses a network in which a path is missing. */
	bool runnable = !net->no_path.pairs;
	int status = runnable ? run_all(request, net, &seconds, &runs) : EXIT_FINE;

	if (!status && request->shard.of && runnable) {
		status = print_shard(request, net, runs);
	} else if (!status) {
		object = flit_settings_json(request, net);
		if (request->speed)
			json_object_set_new(object, "speed",
					    speed_json(runs, seconds, request));
		status = traffic_flit_print(object, runs, &request->output);
	}
	json_decref(runs);
	return status;
}

/* ---- Options ---- */

/* Reads a number with up to six decimals, in units of 1 / unit. */
static bool read_decimal(const char *text, uint32_t unit, const char **end,
			 uint64_t *value)
{
	uint64_t number = 0;
	bool any = false;

	for (; *text >= '0' && *text <= '9' && number < UINT32_MAX; text++, any = true)
		number = number * 10 + (uint64_t)(*text - '0');
	number *= unit;
	if (*text == '.' && unit > 1 && text[1] != '.')
		for (text++; *text >= '0' && *text <= '9' && unit; text++, any = true) {
			unit /= 10;
			number += (uint64_t)(*text - '0') * unit;
		}
	*end = text;
	*value = number;
	return any;
}

/* Reads one item of a list: N, or FROM..TO/STEP, where the default of STEP is FROM. */
static bool read_range(const char *text, uint32_t unit, struct flit_list *list)
{
	uint64_t from, to, step;
	const char *at;

	if (!read_decimal(text, unit, &at, &from))
		return false;
	to = step = from;
	if (!strncmp(at, "..", 2) && !read_decimal(at + 2, unit, &at, &to))
		return false;
	if (*at == '/' && !read_decimal(at + 1, unit, &at, &step))
		return false;
	if (*at || to < from || to > UINT32_MAX || (to > from && !step))
		return false;
	do {
		if (list->num == FLIT_MAX_POINTS)
			return false;
		list->value[list->num++] = (uint32_t)from;
		from += step;
	} while (from <= to && step);
	return true;
}

static int take_list(const struct cli_option *option, char *argument, uint32_t unit,
		     struct flit_list *list)
{
	char *word;

	list->num = 0;
	while ((word = strsep(&argument, ","))) {
		uint32_t first = list->num;

		if (!read_range(word, unit, list))
			return cli_fail(EXIT_USAGE,
					"--%s: not numbers N or FROM..TO/STEP, with "
					"commas between, of up to %d in all: \"%s\"",
					option->name, FLIT_MAX_POINTS, word);
		for (uint32_t i = first; i < list->num; i++)
			if (list->value[i] < option->low || list->value[i] > option->high)
				return cli_fail(EXIT_USAGE, "--%s %s: not from %g to %g",
						option->name, word,
						(double)option->low / unit,
						(double)option->high / unit);
	}
	return EXIT_FINE;
}

static int take_loads(const struct cli_option *option, char *argument, void *to)
{
	return take_list(option, argument, MILLION, to);
}

static int take_lengths(const struct cli_option *option, char *argument, void *to)
{
	return take_list(option, argument, 1, to);
}

/* Reads a word of option->values into an enumeration in their order. */
static int take_word(const struct cli_option *option, char *argument, void *to)
{
	int index = cli_find_word(option->values, argument);

	*(unsigned int *)to = (unsigned int)index;
	return index < 0 ? cli_fail(EXIT_USAGE, "--%s %s: not one of %s", option->name,
				    argument, option->values)
			 : EXIT_FINE;
}

/* Reads ROUTING:VC:CROSSBAR:CROSSING, and :CREDIT, in cycles. */
static int take_router(const struct cli_option *option, char *argument, void *to)
{
	struct pm_flit_stages *stages = to;
	uint32_t *const member[] = {&stages->routing, &stages->vc, &stages->crossbar,
				    &stages->crossing, &stages->credit};
	char copy[64], *rest = copy;
	unsigned long value = 0;
	size_t num = 0;
	bool good = snprintf(copy, sizeof(copy), "%s", argument) < (int)sizeof(copy);

	while (good && rest) {
		unsigned long low = num == 1 || num == 2;

		good = num < 5 &&
		       cli_number(strsep(&rest, ":"), low, PM_FLIT_MAX_STAGE, &value);
		if (good)
			*member[num++] = (uint32_t)value;
	}
	if (!good || num < 4)
		return cli_fail(EXIT_USAGE,
				"--%s %s: not ROUTING:VC:CROSSBAR:CROSSING[:CREDIT], "
				"cycles up to %d, of VC and CROSSBAR 1 and up",
				option->name, argument, PM_FLIT_MAX_STAGE);
	return EXIT_FINE;
}

/* Reads uniform, shift:N, hotspot:NODE[:PERCENT] or pair:FROM:TO. */
static int take_pattern(const struct cli_option *option, char *argument, void *to)
{
	struct flit_request *request = to;
	struct pm_flit_config *config = &request->config;
	char copy[64], *rest = copy, *name, *first, *second;
	unsigned long one = 0, other = 100;
	bool good;

	snprintf(copy, sizeof(copy), "%s", argument);
	name = strsep(&rest, ":");
	first = strsep(&rest, ":");
	second = strsep(&rest, ":");
	good = !rest && (!first || cli_number(first, 0, UINT32_MAX, &one)) &&
	       (!second || cli_number(second, 0, UINT32_MAX, &other));
	config->node = (uint32_t)one;
	config->share = (uint32_t)other;
	if (good && !strcmp(name, "uniform") && !first) {
		config->pattern = PM_FLIT_UNIFORM;
	} else if (good && !strcmp(name, "shift") && first && !second) {
		config->pattern = PM_FLIT_SHIFT;
	} else if (good && !strcmp(name, "hotspot") && first) {
		config->pattern = PM_FLIT_HOT_SPOT;
	} else if (good && !strcmp(name, "pair") && second) {
		config->pattern = PM_FLIT_PAIR;
		config->from = (uint32_t)one;
		config->node = (uint32_t)other;
	} else {
		return cli_fail(EXIT_USAGE,
				"--%s %s: not uniform, shift:N, "
				"hotspot:NODE[:PERCENT] or pair:FROM:TO",
				option->name, argument);
	}
	request->pattern = argument;
	return EXIT_FINE;
}

#define MEMBER(member) CLI_MEMBER(struct flit_request, member)
#define CONFIG(member) MEMBER(config.member)
#define WORD(member, words)                                                              \
	.take = take_word, .to = offsetof(struct flit_request, member), .values = (words)

static const struct cli_option options[] = {
	TRAFFIC_ENGINE_ROW(TRAFFIC_FLIT),
	{'t', "topology", "KIND",
	 "The network: torus:XxY (also of other dimensions; a node at each switch), "
	 "mesh:SWITCHESxNODES (all switches linked to each other), chain:CABLES "
	 "(two nodes) or tree:KxN, the K-ary N-tree. Default torus:4x4.",
	 MEMBER(topology)},
	{0, "lfts", "FILE",
	 "Tables for NETLIST as OpenSM or dump_fts writes them. Default: those "
	 "of its plan.",
	 MEMBER(lfts)},
	{0, "ties", "HOW",
	 "The direction in a torus if both are equally long: by parity of the "
	 "coordinates (default), or always up.",
	 WORD(ties, "parity|up")},
	{0, "flow", "CONTROL",
	 "Flow control: credit (default), or slack, by STOP and GO.",
	 WORD(config.flow, "credit|slack")},
	{0, "stop", "N", "With slack: a buffer sends STOP at N flits. Default 68.",
	 CONFIG(stop), .low = 1, .high = PM_FLIT_MAX_BUFFER},
	{0, "go", "N", "With slack: a buffer sends GO at N flits and less. Default 60.",
	 CONFIG(go), .high = PM_FLIT_MAX_BUFFER},
	{0, "cable", "N", "Cycles that a flit takes through a cable. Default 30.",
	 CONFIG(cable), .low = 1, .high = PM_FLIT_MAX_CABLE},
	{0, "delay", "N", "Cycles that a flit takes through a switch. Default 0.",
	 CONFIG(delay), .high = PM_FLIT_MAX_CABLE},
	{0, "buffer", "N", "Flits of a VC's buffer. Default 128.", CONFIG(buffer),
	 .low = 1, .high = PM_FLIT_MAX_BUFFER},
	{0, "vcs", "N", "VCs of each cable, 1 to 64. Default 16.", CONFIG(vcs), .low = 1,
	 .high = PM_FLIT_MAX_VCS},
	{0, "vc-rule", "RULE",
	 "The VC of a packet: hop (default for a torus), dateline, row, any "
	 "(default otherwise) or one.",
	 WORD(rule, "hop|dateline|any|one|row")},
	{0, "reads", "N", "Flits that a switch reads of an input in a cycle. Default 1.",
	 CONFIG(reads), .low = 1, .high = PM_MAX_PORTS},
	{0, "arbitration", "HOW",
	 "An output serves the next VC after each flit (default) or after each "
	 "packet.",
	 WORD(config.arbitration, "flit|packet")},
	{0, "router", "STAGES",
	 "Switches with stages, ROUTING:VC:CROSSBAR:CROSSING[:CREDIT], in "
	 "cycles. Default: none; a flit may pass in the cycle of its arrival.",
	 .take = take_router, .to = offsetof(struct flit_request, config.stages)},
	{0, "length", "LIST",
	 "Lengths of packets, in flits: a LIST as for --load. Default 64.",
	 .take = take_lengths, .to = offsetof(struct flit_request, lengths), .low = 1,
	 .high = PM_FLIT_MAX_LENGTH},
	{0, "load", "LIST",
	 "Flits per node and cycle, 0.001 to 1: numbers and ranges "
	 "FROM..TO/STEP, separated by commas; without STEP the step is FROM. "
	 "Default 0.1..1.0.",
	 .take = take_loads, .to = offsetof(struct flit_request, loads),
	 .low = PM_FLIT_MIN_LOAD, .high = PM_FLIT_FULL_LOAD},
	{0, "pattern", "PATTERN",
	 "The destinations: uniform (default), shift:N, hotspot:NODE[:PERCENT] (PERCENT "
	 "of all "
	 "packets, default 100) or pair:FROM:TO (no other node sends); nodes are "
	 "counted from 0.",
	 .take = take_pattern},
	{0, "arrivals", "HOW",
	 "Arrival of packets at nodes: at an interval (default) with a random "
	 "phase, or poisson.",
	 WORD(config.arrivals, "interval|poisson")},
	{0, "warm-up", "N", "Cycles before the measurement. Default 20000.",
	 MEMBER(warm_up), .high = PM_FLIT_MAX_CYCLES / 2},
	{0, "cycles", "N", "Cycles of the measurement. Default 60000.", MEMBER(cycles),
	 .low = 1, .high = PM_FLIT_MAX_CYCLES / 2},
	{0, "seed", "N", "The first seed. Default 1.", MEMBER(first_seed),
	 .high = INT32_MAX},
	{0, "seeds", "N", "Run each point with this number of seeds. Default 3.",
	 MEMBER(seeds), .low = 1, .high = FLIT_MAX_SEEDS},
	{0, "shard", "I/N",
	 "Compute only part I of N parts of all lengths, loads and seeds, with "
	 "--json; see portmajor-lab-merge(1).",
	 .take = cli_take_shard, .to = offsetof(struct flit_request, shard)},
	{0, "speed", NULL, "Also print flit-hops per second of CPU.", MEMBER(speed)},
	CLI_OUTPUT(struct flit_request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct flit_request, fabric, cli_fabric_options),
	{0},
};

const struct cli_command traffic_flit_command = {
	.synopsis = "traffic --engine flit [OPTION]... [NETLIST]",
	.about = "Print rates and latencies of wormhole switching with virtual channels "
		 "(VCs), flit by flit, in a built-in network, or in NETLIST with its "
		 "tables. NETLIST is an ibsim, ibnetdiscover or opensm-subnet.lst file "
		 "(- is standard input). Exit status 1 for a deadlock, flits lost in "
		 "spite of credits, or a pair of nodes without a path.",
	.options = options,
	.min_operands = 0,
	.max_operands = 1,
};

static int check_request(struct flit_request *request)
{
	struct pm_flit_config *config = &request->config;

	if (config->flow == PM_FLIT_CREDIT &&
	    (config->stop != NOT_GIVEN || config->go != NOT_GIVEN))
		return cli_fail(EXIT_USAGE, "--stop and --go are for --flow slack");
	if (config->stop == NOT_GIVEN)
		config->stop = 68;
	if (config->go == NOT_GIVEN)
		config->go = 60;
	if (request->netlist && request->topology)
		return cli_fail(EXIT_USAGE, "either NETLIST or --topology");
	if (request->netlist && request->ties != NOT_GIVEN)
		return cli_fail(EXIT_USAGE, "--ties is for a torus");
	if (request->lfts && !request->netlist)
		return cli_fail(EXIT_USAGE, "--lfts needs NETLIST");
	if (!request->netlist && !request->topology)
		request->topology = "torus:4x4";
	if ((uint64_t)request->lengths.num * request->loads.num * request->seeds >
	    UINT32_MAX)
		return cli_fail(EXIT_USAGE, "too many runs");
	if (request->shard.of && request->speed)
		return cli_fail(EXIT_USAGE, "either --speed or --shard");
	return traffic_shard_check(&request->shard, &request->output);
}

static int make_and_run(struct flit_request *request)
{
	struct pm_fabric *fabric = NULL;
	struct pm_flit_net *net = NULL;
	int status = check_request(request);

	if (!status)
		status = request->netlist ? load_net(request, &fabric, &net)
					  : build_net(request, &net);
	if (!status) {
		if (request->rule == NOT_GIVEN)
			request->rule = net->torus ? PM_FLIT_HOP : PM_FLIT_ANY;
		request->config.rule = (enum pm_flit_rule)request->rule;
		status = run_flit(request, net);
	}
	pm_flit_net_free(net);
	pm_fabric_free(fabric);
	return status;
}

int traffic_flit(int argc, char **argv)
{
	struct flit_request request = {
		.pattern = "uniform",
		.rule = NOT_GIVEN,
		.ties = NOT_GIVEN,
		.config = {.stop = NOT_GIVEN,
			   .go = NOT_GIVEN,
			   .cable = 30,
			   .buffer = 128,
			   .vcs = 16,
			   .reads = 1},
		.lengths = {pm_xarray(FLIT_MAX_POINTS, sizeof(uint32_t)), 1},
		.loads = {pm_xarray(FLIT_MAX_POINTS, sizeof(uint32_t)), 10},
		.warm_up = 20000,
		.cycles = 60000,
		.seeds = 3,
		.first_seed = 1,
	};
	int status;

	request.lengths.value[0] = 64;
	for (uint32_t i = 0; i < request.loads.num; i++)
		request.loads.value[i] = (i + 1) * PM_FLIT_FULL_LOAD / 10;
	status = cli_command_read(&traffic_flit_command, argc, argv, &request);
	request.netlist = argv[optind]; /* NULL after the last one */
	if (status < 0)
		status = make_and_run(&request);
	free(request.lengths.value);
	free(request.loads.value);
	return status;
}
