/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of the packet engine. */
#include "lists.h"
#include "traffic.h"
#include "traffic_packet.h"

#include <portmajor/memory/xalloc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN UINT32_MAX

static int fail_choice(const struct cli_option *option, const char *what,
		       const char *argument)
{
	return cli_fail(EXIT_USAGE, "--%s: no %s \"%s\"; there are %s", option->name,
			what, argument, option->values);
}

static int fail_pattern(const char *argument)
{
	char names[256];
	size_t length = 0;

	for (unsigned int i = 0; i < PM_LIST && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? "|" : "",
					   pm_pattern_name((enum pm_pattern)i));
	return cli_fail(EXIT_USAGE, "--pattern: no pattern \"%s\"; there are %s",
			argument, names);
}

static int take_pattern(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;
	char *colon = strchr(argument, ':');

	(void)option;
	if (colon)
		*colon = '\0';
	request->pattern_argument = colon ? colon + 1 : NULL;
	return pm_pattern_parse(argument, &request->pattern) ? fail_pattern(argument)
							     : EXIT_FINE;
}

/*
 * Reads a number from 0.0001 to 1, or FROM..TO/STEP, where the default of STEP is FROM.
 */
static int take_some_loads(struct packet_request *request, char *text)
{
	char *end;
	double from = strtod(text, &end), last = from, step = from;

	if (end != text && !strncmp(end, "..", 2)) {
		last = strtod(end + 2, &end);
		if (*end == '/')
			step = strtod(end + 1, &end);
	}
	if (end == text || *end || !(from >= 0.0001 && last <= 1 && last >= from) ||
	    !(step >= 0.0001 && step <= 1))
		return cli_fail(
			EXIT_USAGE,
			"--load %s: not a number from 0.0001 to 1, nor FROM..TO/STEP",
			text);
	for (uint32_t i = 0; from + i * step <= last + step / 1000; i++) {
		if (request->num_loads == PACKET_MAX_LOADS)
			return cli_fail(EXIT_USAGE, "--load: more than %d",
					PACKET_MAX_LOADS);
		request->loads[request->num_loads++] =
			(uint32_t)lround((from + i * step) * PM_LOAD_FULL);
	}
	return EXIT_FINE;
}

static int take_loads(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;
	int status = EXIT_FINE;
	char *part;

	(void)option;
	request->num_loads = 0;
	while ((part = strsep(&argument, ",")) && !status)
		status = take_some_loads(request, part);
	return status;
}

int packet_take_time(const struct cli_option *option, char *argument, void *to)
{
	static const struct {
		const char *name;
		double ps;
	} units[] = {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
	uint64_t *time = to;
	char *end;
	double value = strtod(argument, &end);

	if (end != argument && !*end && value == 0) { /* as the help has defaults */
		*time = 0;
		return EXIT_FINE;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != argument && !strcmp(end, units[i].name) && value >= 0 &&
		    value * units[i].ps <= 1e13) {
			*time = (uint64_t)llround(value * units[i].ps);
			return EXIT_FINE;
		}
	return cli_fail(
		EXIT_USAGE,
		"--%s %s: not a time from 0 to 10 s, such as 2.5us (ns, us, ms, s)",
		option->name, argument);
}

static int take_at(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;

	request->before = argument[0] == '-';
	return packet_take_time(option, argument + request->before, &request->at);
}

static int take_bytes(const struct cli_option *option, char *argument, void *to)
{
	return cli_size(argument, 1, option->high, to)
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE,
				  "--%s %s: not 1 to %u bytes (K is 1,024, M 1,048,576)",
				  option->name, argument, option->high);
}

static int take_mtu(const struct cli_option *option, char *argument, void *to)
{
	unsigned long mtu;

	(void)option;
	if (!cli_number(argument, 256, 4096, &mtu) || (mtu & (mtu - 1)))
		return cli_fail(EXIT_USAGE, "--mtu %s: not 256, 512, 1024, 2048 or 4096",
				argument);
	*(uint32_t *)to = (uint32_t)mtu;
	return EXIT_FINE;
}

static int take_collective(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;

	request->collective = true;
	return pm_collective_parse(argument, &request->algorithm)
		       ? fail_choice(option, "algorithm", argument)
		       : EXIT_FINE;
}

int packet_take_placement(const struct cli_option *option, char *argument, void *to)
{
	int index = cli_find_word(option->values, argument);

	*(bool *)to = index == 1;
	return index < 0 ? fail_choice(option, "way", argument) : EXIT_FINE;
}

static int take_repair(const struct cli_option *option, char *argument, void *to)
{
	int index = cli_find_word(option->values, argument);

	*(enum repair *)to = (enum repair)index;
	return index < 0 ? fail_choice(option, "way", argument) : EXIT_FINE;
}

static int take_transport(const struct cli_option *option, char *argument, void *to)
{
	int index = cli_find_word(option->values, argument);

	*(bool *)to = index == 1;
	return index < 0 ? fail_choice(option, "transport", argument) : EXIT_FINE;
}

#define MEMBER(member) CLI_MEMBER(struct packet_request, member)
#define TIME(member)                                                                     \
	.take = packet_take_time, .to = offsetof(struct packet_request, member)

const struct cli_option packet_network_options[] = {
	{0, "mtu", "BYTES", "Largest packet: 256 to 4096 (default) bytes.", take_mtu,
	 offsetof(struct packet_request, mtu), .values = "256|512|1024|2048|4096"},
	{0, "gbps", "N",
	 "Rate of every link, in gigabits a second. Default: each cable's in the "
	 "netlist, or 200.",
	 MEMBER(gbps), .low = 1, .high = 3200},
	{0, "wire", "TIME", "Time from one end of a cable to the other. Default 50ns.",
	 TIME(wire)},
	{0, "crossing", "TIME",
	 "Time from a switch's input to its output. Default 100ns.", TIME(crossing)},
	{0, "buffer", "N",
	 "Blocks of 64 bytes in each input, for each lane. Default 256.", MEMBER(buffer),
	 .low = 1, .high = INT16_MAX},
	{0, "vls", "N",
	 "Virtual lanes, each with a buffer of its own: 1 (default), 2, 4, 8 or "
	 "15.",
	 packet_take_vls, offsetof(struct packet_request, vls), .values = "1|2|4|8|15"},
	{0, "sl", "LIST",
	 "Service levels of packets, assigned cyclically to the hosts, or to the "
	 "jobs if there are several. Default 0.",
	 .take = packet_take_sls},
	{0, "sl2vl", "LIST",
	 "The lane of each service level, as OpenSM's qos_sl2vl. Default "
	 "0,1,2,...,14,7. Missing lanes are mapped to existing ones, as in "
	 "OpenSM.",
	 .take = packet_take_sl2vl},
	{0, "vlarb-high", "LIST",
	 "Weights of lanes that go first, VL:WEIGHT in blocks of 64 bytes with "
	 "commas between, as OpenSM's qos_vlarb_high. Default 0:4.",
	 .take = packet_take_high},
	{0, "vlarb-low", "LIST",
	 "Weights of the other lanes, as qos_vlarb_low. Default "
	 "1:4,2:4,...,14:4.",
	 .take = packet_take_low},
	{0, "high-limit", "N",
	 "Blocks of 4096 bytes that lanes of --vlarb-high may send before a "
	 "packet of the other lanes, as qos_high_limit. Default 0: one packet; "
	 "255: no limit.",
	 MEMBER(lanes.limit), .high = PM_PACKET_NO_LIMIT},
	{0, "reads", "N",
	 "Number of packets that may leave an input at the same time. Default: "
	 "any number.",
	 MEMBER(reads), .low = 1, .high = PM_MAX_PORTS},
	{0, "in-line", NULL,
	 "No packet passes another packet of its input. Default: packets for "
	 "other outputs pass.",
	 MEMBER(in_line)},
	{0, "hoq-life", "N",
	 "Drop packets that are first in a queue for 4.096 us x 2^N. Default 18, "
	 "as OpenSM's; 20: never.",
	 MEMBER(hoq), .high = 20},
	{0, "timeout", "N",
	 "For reliable connections: time-out of an answer, 4.096 us x 2^N. "
	 "Default 14, 67 ms.",
	 MEMBER(timeout), .high = 20},
	{0, "retries", "N",
	 "For reliable connections: number of retries without an answer until a "
	 "connection breaks. Default 7.",
	 MEMBER(retries), .high = 7},
	{0},
};

static const struct cli_option options[] = {
	TRAFFIC_ENGINE_ROW(TRAFFIC_PACKET),
	{0, "lfts", "FILE",
	 "Tables as OpenSM or dump_fts(8) wrote them. Default: those of the "
	 "plan.",
	 MEMBER(lfts)},
	{0, "sets", "FILE",
	 "A recording of LFT Sets: use its tables and LIDs, its failure at the "
	 "time of --at, and its Sets and the return of its cables at the "
	 "recorded times after the failure.",
	 MEMBER(sets)},
	{0, "compare", "FILE",
	 "Another recording; its runs follow those of the first. May be given "
	 "several times.",
	 .take = cli_take_failed, .to = offsetof(struct packet_request, compare)},
	{0, "pattern", "PATTERN",
	 "The destinations: uniform (default), permutation, shift:N, bit-reverse, "
	 "hot-spot:HOST[:SHARE] (default 0.1), incast:HOST[:SENDERS] (default "
	 "all others) or all-to-all; a host is a name.",
	 .take = take_pattern},
	{0, "load", "LIST",
	 "The load of hosts, as a share of their links' capacity: a list of "
	 "numbers and ranges FROM..TO/STEP, separated by commas; without STEP "
	 "the step is FROM. Default 0.5.",
	 .take = take_loads},
	{0, "poisson", NULL,
	 "Messages come at random times. Default: at equal intervals.", MEMBER(poisson)},
	{0, "messages", "N",
	 "In place of a load: each host sends N messages (all: as many as there "
	 "are other hosts), each when the previous one has arrived.",
	 .take = cli_take_count, .to = offsetof(struct packet_request, messages),
	 .low = 1, .high = INT32_MAX},
	{0, "collective", "NAME",
	 "In place of a load: a collective operation, linear, ring, "
	 "recursive-doubling or binomial, as in portmajor-lab-collective(1).",
	 .take = take_collective, .values = "linear|ring|recursive-doubling|binomial"},
	{0, "processes", "N",
	 "Number of processes of the collective, each on its own host. Default: "
	 "as many as a job's hosts allow.",
	 MEMBER(processes), .low = 1, .high = UINT32_MAX},
	{0, "repeat", "N",
	 "Calls of the collective, one after the other, with a time for each. "
	 "Default 1.",
	 MEMBER(calls), .low = 1, .high = 1000000},
	{0, "jobs", "N",
	 "Divide the hosts into N jobs of the same size, each with the pattern "
	 "or collective among its own hosts. Default 1.",
	 MEMBER(jobs), .low = 1, .high = 65536},
	{0, "placement", "HOW",
	 "The hosts of jobs and processes: in-order (default), by switch and "
	 "port, the first job the first ones; or random, by the seed.",
	 packet_take_placement, offsetof(struct packet_request, random),
	 .values = "in-order|random"},
	{0, "alone", NULL,
	 "Also run each job alone, and print how much the other jobs slow it "
	 "down: the whole job, or a message.",
	 MEMBER(alone)},
	{0, "bytes", "N",
	 "Bytes of a message, or bytes that a collective brings to each process, "
	 "also with K (1,024) or M (1,048,576). Default: a packet.",
	 take_bytes, offsetof(struct packet_request, bytes), .high = PM_MESSAGE_MAX * 64},
	{.include = packet_network_options},
	{0, "transport", "HOW",
	 "The transport: none (default): dropped packets are lost; or rc: reliable "
	 "connections "
	 "send them again.",
	 take_transport, offsetof(struct packet_request, reliable), .values = "none|rc"},
	CLI_FAIL(struct packet_request, failed,
		 "The part that fails at the time of --at, named as for "
		 "portmajor-whatif(1). May be given several times: all parts fail at "
		 "once."),
	{0, "at", "TIME",
	 "Time of the failure, since the beginning of the measurement. Default "
	 "0. -TIME: the failure was that long before the measurement, and the "
	 "Sets since then are in force.",
	 .take = take_at},
	{0, "return-after", "TIME",
	 "Time from the failure to the return of all cables; the tables do not "
	 "change then. Not with a recording that has when cables return. "
	 "Default: never.",
	 TIME(return_after)},
	{0, "repair", "HOW",
	 "The tables after the failure: none (default): no change; at-once: all "
	 "blocks at the same time; or order: one block after the other, as the "
	 "plugin sends them.",
	 take_repair, offsetof(struct packet_request, repair.kind),
	 .values = "none|at-once|order"},
	{0, "repair-after", "TIME",
	 "Time from the failure to the first block. Default 0.", TIME(repair_at)},
	{0, "smp", "TIME", "Time from sending a block to its answer. Default 265us.",
	 TIME(smp)},
	{0, "max-wire-smps", "N", "Blocks under way at a time. Default 4.",
	 MEMBER(repair.wire_smps), .low = 1, .high = INT32_MAX},
	{0, "warmup", "TIME",
	 "Time before the measurement. Default 50us; for a closed loop "
	 "(--messages) or collective 0.",
	 TIME(warmup)},
	{0, "time", "TIME",
	 "Time of the measurement; for a closed loop or collective the longest "
	 "time. Default 200us; for a collective 1 s.",
	 TIME(time)},
	{0, "batches", "N",
	 "Number of parts of that time, for confidence intervals. Default 20.",
	 MEMBER(batches), .low = 2, .high = PM_PACKET_BATCHES},
	{0, "window", "TIME",
	 "Also print a line for each window of this length in the measurement.",
	 TIME(window)},
	{0, "seed", "N", "Seed of the random numbers. Default 1.", MEMBER(seed),
	 .high = UINT32_MAX},
	{0, "seeds", "N",
	 "Run each load with this number of seeds, from --seed on. Default 1.",
	 MEMBER(seeds), .low = 1, .high = PACKET_MAX_SEEDS},
	{0, "shard", "I/N",
	 "Compute only part I of N parts of all loads and seeds, with --json; "
	 "see portmajor-lab-merge(1).",
	 .take = cli_take_shard, .to = offsetof(struct packet_request, shard)},
	{0, "timing", NULL, "Also print the CPU time, which differs from run to run.",
	 MEMBER(timing)},
	CLI_OUTPUT(struct packet_request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct packet_request, fabric, cli_fabric_options),
	{0},
};

const struct cli_command traffic_packet_command = {
	.synopsis = "traffic --engine packet [OPTION]... NETLIST",
	.about = "Print rates and latencies of packets with InfiniBand's credits, on a "
		 "healthy fabric or through a failure and the repair of the tables. "
		 "NETLIST is an ibsim, ibnetdiscover or opensm-subnet.lst file (- is "
		 "standard input). Exit status 1 if packets are lost without a failure "
		 "or wait for each other for ever, or if a closed loop or collective is "
		 "not done, or done within the warm-up.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

/* Refuses options that do not go with --collective or --jobs. */
static int check_jobs(const struct packet_request *request)
{
	if (request->collective &&
	    (request->pattern != PM_PATTERNS || request->num_loads || request->messages))
		return cli_fail(
			EXIT_USAGE,
			"--collective takes the place of --pattern, --load and --messages");
	if (request->messages && request->num_loads)
		return cli_fail(EXIT_USAGE, "--messages takes the place of --load");
	if (packet_request_closed(request) && request->poisson)
		return cli_fail(EXIT_USAGE, "--poisson goes with a load");
	if (!request->collective && (request->processes || request->calls))
		return cli_fail(EXIT_USAGE,
				"--processes and --repeat go with --collective");
	if (request->alone && request->jobs == 1)
		return cli_fail(EXIT_USAGE, "--alone: there is one job (--jobs)");
	return EXIT_FINE;
}

/* Refuses options that need another option. */
static int check_company(const struct packet_request *request)
{
	bool loses = request->failed.num || request->sets;
	enum repair kind = request->repair.kind;
	const char *reason = NULL;

	if (!request->reliable &&
	    (request->timeout != NOT_GIVEN || request->retries != NOT_GIVEN))
		reason = "--timeout and --retries go with --transport rc";
	else if (request->at != PACKET_UNSET && !loses)
		reason = "--at: nothing fails (--fail, --sets)";
	else if (request->return_after != PACKET_UNSET && !loses)
		reason = "--return-after: nothing fails (--fail, --sets)";
	else if (request->repair_at != PACKET_UNSET && kind == REPAIR_NONE)
		reason = "--repair-after goes with --repair at-once or order";
	else if (request->smp != PACKET_UNSET && kind != REPAIR_ORDER)
		reason = "--smp goes with --repair order";
	return reason ? cli_fail(EXIT_USAGE, "%s", reason) : EXIT_FINE;
}

static void set_defaults(struct packet_request *request)
{
	if (request->timeout == NOT_GIVEN)
		request->timeout = 14;
	if (request->retries == NOT_GIVEN)
		request->retries = 7;
	if (request->at == PACKET_UNSET)
		request->at = 0;
	if (request->repair_at == PACKET_UNSET)
		request->repair_at = 0;
	if (request->smp == PACKET_UNSET)
		request->smp = 265000000;
	if (request->pattern == PM_PATTERNS)
		request->pattern = PM_UNIFORM;
	if (!request->num_loads)
		request->loads[0] = PM_LOAD_FULL / 2;
	if (!request->num_loads || packet_request_closed(request))
		request->num_loads = 1;
	if (!request->bytes)
		request->bytes = request->mtu;
	if (!request->calls)
		request->calls = 1;
	if (request->warmup == PACKET_UNSET)
		request->warmup = packet_request_closed(request) ? 0 : 50000000;
	if (request->time == PACKET_UNSET && !request->collective)
		request->time = 200000000;
}

int packet_request_check(struct packet_request *request)
{
	if (check_jobs(request) || check_company(request))
		return EXIT_USAGE;
	set_defaults(request);
	if (request->repair.kind != REPAIR_NONE && (request->lfts || request->sets))
		return cli_fail(
			EXIT_USAGE,
			"--repair is of the plan's tables, not of those of a file");
	if (request->repair.kind != REPAIR_NONE && !request->failed.num)
		return cli_fail(EXIT_USAGE, "--repair: nothing fails (--fail)");
	if (request->compare.num && request->shard.of)
		return cli_fail(EXIT_USAGE, "--compare: not with --shard");
	if (request->sets && request->lfts)
		return cli_fail(EXIT_USAGE, "--lfts: --sets has tables, too");
	if (request->return_after != PACKET_UNSET && request->before)
		return cli_fail(
			EXIT_USAGE,
			"--return-after: not with a failure before the beginning (--at)");
	if (request->buffer < request->mtu / 64)
		return cli_fail(EXIT_USAGE, "--buffer %u: a packet has %u blocks",
				request->buffer, request->mtu / 64);
	if (packet_lanes_end(request))
		return EXIT_USAGE;
	return traffic_shard_check(&request->shard, &request->output);
}

void packet_request_begin(struct packet_request *request, int argc)
{
	*request = (struct packet_request){
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
		.compare.list = pm_xarray((size_t)argc, sizeof(char *)),
		.repair.wire_smps = 4,
		.pattern = PM_PATTERNS,
		.jobs = 1,
		.mtu = 4096,
		.buffer = 256,
		.batches = 20,
		.seed = 1,
		.seeds = 1,
		.hoq = 18,
		.timeout = NOT_GIVEN,
		.retries = NOT_GIVEN,
		.wire = 50000,
		.crossing = 100000,
		.warmup = PACKET_UNSET,
		.time = PACKET_UNSET,
		.longest = UINT64_C(1000000000000),
		.window = PACKET_UNSET,
		.at = PACKET_UNSET,
		.return_after = PACKET_UNSET,
		.repair_at = PACKET_UNSET,
		.smp = PACKET_UNSET,
	};
	packet_lanes_begin(request);
}

int packet_request_read(int argc, char **argv, struct packet_request *request)
{
	int status;

	packet_request_begin(request, argc);
	status = cli_command_read(&traffic_packet_command, argc, argv, request);
	if (status < 0 && packet_request_check(request))
		status = EXIT_USAGE;
	return status;
}

void packet_request_free(struct packet_request *request)
{
	free(request->failed.list);
	free(request->compare.list);
}
