/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor traffic with the packet engine. */
#include "cli.h"
#include "json.h"
#include "packet_scene.h"
#include "progress.h"
#include "text.h"
#include "traffic.h"
#include "traffic_shard.h"

#include <portmajor/hash.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LOADS 100
#define PIECES 50 /* of a run, between two looks at how far it is */
#define CIRCLE 64 /* ports of one that are named */
#define MAX_SEEDS 1000

struct request {
	struct cli_fabric fabric;
	const char *lfts;
	struct cli_lost lost;
	struct repair_config repair;
	struct cli_shard shard; /* 0 of 0: all */
	struct cli_output output;
	bool timing, poisson, in_line, reliable;
	const char *pattern_argument; /* behind the colon, or NULL */
	enum pm_pattern pattern;
	uint32_t loads[MAX_LOADS], num_loads;
	uint32_t messages; /* of each host in a closed loop; 0: an open one */
	uint32_t bytes, mtu, buffer, reads, gbps, batches, seed, seeds, hoq, timeout,
		retries;
	/* In picoseconds. */
	uint64_t wire, crossing, warmup, time, window, at, repair_at, smp;
};

/* ---- Options ---- */

static int take_pattern(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;
	char *colon = strchr(argument, ':');

	(void)option;
	if (colon)
		*colon = '\0';
	request->pattern_argument = colon ? colon + 1 : NULL;
	return pm_pattern_parse(argument, &request->pattern)
		       ? cli_fail(EXIT_USAGE, "--pattern: no pattern \"%s\"", argument)
		       : EXIT_FINE;
}

/* A part of a list of loads, a number from 0.0001 to 1 or FROM..TO/STEP. */
static int take_some_loads(struct request *request, char *text)
{
	char *end;
	double from = strtod(text, &end), last = from, step = 1;

	if (end != text && !strncmp(end, "..", 2)) {
		last = strtod(end + 2, &end);
		if (*end == '/')
			step = strtod(end + 1, &end);
	}
	if (end == text || *end || !(from >= 0.0001 && last <= 1 && last >= from) ||
	    !(step >= 0.0001))
		return cli_fail(EXIT_USAGE,
				"--load %s: not a number from 0.0001 to 1, nor "
				"FROM..TO/STEP",
				text);
	for (uint32_t i = 0; from + i * step <= last + step / 1000; i++) {
		if (request->num_loads == MAX_LOADS)
			return cli_fail(EXIT_USAGE, "--load: more than %d", MAX_LOADS);
		request->loads[request->num_loads++] =
			(uint32_t)lround((from + i * step) * PM_LOAD_FULL);
	}
	return EXIT_FINE;
}

static int take_loads(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;
	int status = EXIT_FINE;
	char *part;

	(void)option;
	request->num_loads = 0;
	while ((part = strsep(&argument, ",")) && !status)
		status = take_some_loads(request, part);
	return status;
}

/* A time with its unit, in picoseconds. */
static int take_time(const struct cli_option *option, char *argument, void *to)
{
	static const struct {
		const char *name;
		double ps;
	} units[] = {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
	uint64_t *time = to;
	char *end;
	double value = strtod(argument, &end);

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

/* Bytes, also with K or M. */
static int take_bytes(const struct cli_option *option, char *argument, void *to)
{
	uint32_t *bytes = to;
	char *end;
	unsigned long value = strtoul(argument, &end, 10);
	unsigned long unit = *end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1;

	if (end == argument || (*end && unit == 1) || (*end && end[1]) ||
	    strchr(argument, '-') || !value || value > option->high / unit)
		return cli_fail(EXIT_USAGE,
				"--%s %s: not 1 to %u bytes (K and M will do)",
				option->name, argument, option->high);
	*bytes = (uint32_t)(value * unit);
	return EXIT_FINE;
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

static int take_repair(const struct cli_option *option, char *argument, void *to)
{
	static const char *const names[] = {"none", "at-once", "order"};
	struct repair_config *repair = to;

	(void)option;
	for (unsigned int i = 0; i < 3; i++)
		if (!strcmp(argument, names[i])) {
			repair->kind = (enum repair)i;
			return EXIT_FINE;
		}
	return cli_fail(EXIT_USAGE, "--repair: no way \"%s\"", argument);
}

static int take_transport(const struct cli_option *option, char *argument, void *to)
{
	bool *reliable = to;

	(void)option;
	*reliable = !strcmp(argument, "rc");
	return *reliable || !strcmp(argument, "none")
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE, "--transport: no transport \"%s\"",
				  argument);
}

#define TIME(member) .take = take_time, .to = offsetof(struct request, member)

static const struct cli_option options[] = {
	TRAFFIC_ENGINE_ROW(TRAFFIC_PACKET),
	{0, "lfts", "FILE",
	 "tables as OpenSM or dump_fts wrote them (default: those of the plan)",
	 CLI_MEMBER(struct request, lfts)},
	{0, "pattern", "PATTERN",
	 "uniform (default), permutation, shift:N, bit-reverse, hot-spot:HOST[:SHARE] "
	 "(default 0.1), incast:HOST[:SENDERS] (default all others) or all-to-all; a "
	 "host is a name",
	 .take = take_pattern},
	{0, "load", "LIST",
	 "what hosts send, as a share of what their links carry: numbers and "
	 "FROM..TO/STEP with commas between (default 0.5)",
	 .take = take_loads},
	{0, "poisson", NULL, "messages come at random times (default: evenly)",
	 CLI_MEMBER(struct request, poisson)},
	{0, "messages", "N",
	 "in place of a load: each host sends N messages, each when the one before has "
	 "arrived; or all, as many as there are other hosts",
	 .take = cli_take_count, .to = offsetof(struct request, messages), .low = 1,
	 .high = INT32_MAX},
	{0, "bytes", "N", "of a message (default: a packet); K and M will do", take_bytes,
	 offsetof(struct request, bytes), .high = PM_MESSAGE_MAX * 64},
	{0, "mtu", "BYTES", "256 to 4096 (default)", take_mtu,
	 offsetof(struct request, mtu), .values = "256|512|1024|2048|4096"},
	{0, "gbps", "N", "of every link (default 200)", CLI_MEMBER(struct request, gbps),
	 .low = 1, .high = 3200},
	{0, "wire", "TIME", "from one end of a cable to the other (default 50ns)",
	 TIME(wire)},
	{0, "crossing", "TIME", "from a switch's input to its output (default 100ns)",
	 TIME(crossing)},
	{0, "buffer", "N", "of 64 bytes in each input (default 256)",
	 CLI_MEMBER(struct request, buffer), .low = 1, .high = INT16_MAX},
	{0, "reads", "N", "packets that may leave an input at once (default: any number)",
	 CLI_MEMBER(struct request, reads), .low = 1, .high = PM_MAX_PORTS},
	{0, "in-line", NULL,
	 "no packet passes another one of its input (default: only those for the same "
	 "output)",
	 CLI_MEMBER(struct request, in_line)},
	{0, "hoq-life", "N",
	 "packets that are first in a queue for 4.096 us x 2^N are dropped (default 18, "
	 "as OpenSM's; 20: never)",
	 CLI_MEMBER(struct request, hoq), .high = 20},
	{0, "transport", "HOW",
	 "none (default): what is lost is lost; or rc: reliable connections, that send "
	 "it "
	 "again",
	 take_transport, offsetof(struct request, reliable), .values = "none|rc"},
	{0, "timeout", "N", "rc: answers may take 4.096 us x 2^N (default 14, 67 ms)",
	 CLI_MEMBER(struct request, timeout), .high = 20},
	{0, "retries", "N", "rc: without an answer, until a pair is given up (default 7)",
	 CLI_MEMBER(struct request, retries), .high = 7},
	{'L', "lose", "WHAT[:PORT]", "lost at the time of --at; as for whatif",
	 .take = cli_take_lost, .to = offsetof(struct request, lost)},
	{0, "at", "TIME",
	 "when that is, from the beginning of what is measured (default 0)", TIME(at)},
	{0, "repair", "HOW",
	 "the tables after the loss: none (default), at-once, or order: one after the "
	 "other as the plugin sends them",
	 take_repair, offsetof(struct request, repair), .values = "none|at-once|order"},
	{0, "repair-after", "TIME",
	 "when the first block is sent, after the loss (default 0)", TIME(repair_at)},
	{0, "smp", "TIME", "from sending a block to its answer (default 265us)",
	 TIME(smp)},
	{0, "max-wire-smps", "N", "blocks under way at a time (default 4)",
	 CLI_MEMBER(struct request, repair.wire_smps), .low = 1, .high = INT32_MAX},
	{0, "warmup", "TIME", "before anything is measured (default 50us)", TIME(warmup)},
	{0, "time", "TIME", "that is measured; of a closed loop at most (default 200us)",
	 TIME(time)},
	{0, "batches", "N", "parts of that, for confidence (default 20)",
	 CLI_MEMBER(struct request, batches), .low = 2, .high = PM_PACKET_BATCHES},
	{0, "window", "TIME", "also tell what happened in every such time", TIME(window)},
	{0, "seed", "N", "of all that is random (default 1)",
	 CLI_MEMBER(struct request, seed), .high = UINT32_MAX},
	{0, "seeds", "N", "each load with so many seeds, from that on (default 1)",
	 CLI_MEMBER(struct request, seeds), .low = 1, .high = MAX_SEEDS},
	{0, "shard", "I/N",
	 "just the I-th of N parts of all loads and seeds: see portmajor merge",
	 .take = cli_take_shard, .to = offsetof(struct request, shard)},
	{0, "timing", NULL, "tell CPU time too, so that no two runs print the same",
	 CLI_MEMBER(struct request, timing)},
	CLI_OUTPUT(struct request, output, "no text and no progress bar",
		   "print JSON, see docs/json.md"),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

const struct cli_command traffic_packet_command = {
	.synopsis = "traffic --engine packet [OPTION]... NETLIST",
	.about = "Sends traffic over the tables of a fabric, an ibsim or ibnetdiscover "
		 "file "
		 "(- is standard input), packet by packet with InfiniBand's credits, and "
		 "tells rates and latencies; if asked to, through a loss and the repair "
		 "of "
		 "the tables. Exit status 1 if packets are lost without a loss, or wait "
		 "for "
		 "each other for ever.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- What is run ---- */

/* All for one run after the other. */
struct lab {
	const struct request *request;
	struct scene scene;
	struct pm_workload_config workload;
	struct pm_packet_config config;
	uint64_t tick; /* picoseconds */
	struct cli_progress progress;
	uint32_t done, count; /* runs */
};

static uint32_t to_ticks(const struct lab *lab, uint64_t ps)
{
	uint64_t ticks = (ps + lab->tick / 2) / lab->tick;

	return ticks < PM_PACKET_MAX_TICKS ? (uint32_t)ticks : PM_PACKET_MAX_TICKS;
}

static double to_us(const struct lab *lab, double ticks)
{
	return ticks * (double)lab->tick / 1e6;
}

/* HOST or HOST:NUMBER behind the pattern's name; an exit status. */
static int read_host(struct lab *lab, char **rest)
{
	const char *text = lab->request->pattern_argument;
	char *name = strdup(text ? text : ""), *colon;
	int status = EXIT_FINE;

	if (!name)
		return cli_fail(EXIT_INPUT, "out of memory");
	colon = strchr(name, ':');
	if (colon)
		*colon = '\0';
	lab->workload.node = scene_host(&lab->scene, name);
	if (lab->workload.node == PM_NONE)
		status = cli_fail(EXIT_USAGE, "--pattern %s: no host \"%s\"",
				  pm_pattern_name(lab->request->pattern), name);
	*rest = colon ? strdup(colon + 1) : NULL;
	if (colon && !*rest)
		status = cli_fail(EXIT_INPUT, "out of memory");
	free(name);
	return status;
}

/* What stands behind a host; an exit status. */
static int read_rest(struct lab *lab, const char *rest)
{
	unsigned long number;
	char *end;
	double share;

	if (lab->request->pattern == PM_INCAST) {
		lab->workload.senders = lab->scene.num_hosts - 1;
		if (rest && !cli_number(rest, 1, lab->workload.senders, &number))
			return cli_fail(EXIT_USAGE,
					"--pattern incast: not 1 to %u senders",
					lab->workload.senders);
		if (rest)
			lab->workload.senders = (uint32_t)number;
		return EXIT_FINE;
	}
	share = rest ? strtod(rest, &end) : 0.1;
	if (rest && (*end || end == rest || !(share >= 0 && share <= 1)))
		return cli_fail(EXIT_USAGE, "--pattern hot-spot: a share of 0 to 1");
	lab->workload.share = (uint32_t)lround(share * PM_LOAD_FULL);
	return EXIT_FINE;
}

static int configure_pattern(struct lab *lab)
{
	const struct request *request = lab->request;
	const char *argument = request->pattern_argument;
	unsigned long number;
	char *rest = NULL;
	int status;

	switch (request->pattern) {
	case PM_SHIFT:
		if (!argument ||
		    !cli_number(argument, 1, lab->scene.num_hosts - 1, &number))
			return cli_fail(EXIT_USAGE, "--pattern shift:N: N is 1 to %u",
					lab->scene.num_hosts - 1);
		lab->workload.shift = (uint32_t)number;
		return EXIT_FINE;
	case PM_HOT_SPOT:
	case PM_INCAST:
		status = read_host(lab, &rest);
		if (!status)
			status = read_rest(lab, rest);
		free(rest);
		return status;
	default:
		return argument ? cli_fail(EXIT_USAGE, "--pattern %s takes nothing else",
					   pm_pattern_name(request->pattern))
				: EXIT_FINE;
	}
}

static void configure_workload(struct lab *lab)
{
	const struct request *request = lab->request;
	uint32_t bytes = request->bytes ? request->bytes : request->mtu;

	lab->workload.pattern = request->pattern;
	lab->workload.num_hosts = lab->scene.num_hosts;
	lab->workload.blocks = (bytes + 63) / 64;
	lab->workload.poisson = request->poisson;
	lab->workload.messages = request->messages;
	lab->workload.seed = request->seed;
}

static void configure_engine(struct lab *lab)
{
	const struct request *request = lab->request;
	struct pm_packet_config *config = &lab->config;

	config->fabric = lab->scene.fabric;
	config->tables = lab->scene.lfts;
	config->length = lab->scene.length;
	config->hosts = lab->scene.hosts;
	config->num_hosts = lab->scene.num_hosts;
	config->wire = to_ticks(lab, request->wire);
	if (!config->wire)
		config->wire = 1;
	config->crossing = to_ticks(lab, request->crossing);
	config->packet = request->mtu / 64;
	config->buffer = request->buffer;
	config->reads = request->reads;
	config->in_line = request->in_line;
	if (request->hoq < 20)
		config->lifetime = to_ticks(lab, UINT64_C(4096000) << request->hoq);
	if (config->lifetime >= PM_PACKET_MAX_TICKS)
		config->lifetime = PM_PACKET_MAX_TICKS - 1;
	if (request->reliable)
		config->timeout = to_ticks(lab, UINT64_C(4096000) << request->timeout);
	if (config->timeout >= PM_PACKET_MAX_TICKS)
		config->timeout = PM_PACKET_MAX_TICKS - 1;
	config->tries = request->retries;
	config->lost = lab->scene.lost.list;
	config->num_lost = lab->scene.lost.num;
	config->sets = lab->scene.replay.list;
	config->num_sets = lab->scene.replay.num;
	config->warmup = to_ticks(lab, request->warmup);
	config->batches = request->batches;
	config->batch = to_ticks(lab, request->time / request->batches);
	config->window = to_ticks(lab, request->window);
	config->lose_at = config->warmup + to_ticks(lab, request->at);
}

/* ---- Describing ---- */

static json_t *settings_json(const struct lab *lab)
{
	const struct request *request = lab->request;
	const struct pm_packet_config *config = &lab->config;

	return json_pack(
		"{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:b, s:I, "
		"s:f, s:f, s:I, s:o, s:f, s:I, s:I}",
		"engine", "packet", "tables", request->lfts ? "file" : "plan", "pattern",
		pm_pattern_name(request->pattern), "poisson", request->poisson, "hosts",
		(json_int_t)lab->scene.num_hosts, "bytes",
		(json_int_t)lab->workload.blocks * 64, "mtu", (json_int_t)request->mtu,
		"gbps", (json_int_t)request->gbps, "wire_us", to_us(lab, config->wire),
		"crossing_us", to_us(lab, config->crossing), "buffer",
		(json_int_t)config->buffer, "reads", (json_int_t)config->reads, "in_line",
		config->in_line, "seed", (json_int_t)request->seed, "warmup_us",
		to_us(lab, config->warmup), "time_us",
		to_us(lab, (double)config->batch * config->batches), "batches",
		(json_int_t)config->batches, "lost", cli_lost_json(&request->lost),
		"lost_us", to_us(lab, (double)config->lose_at - config->warmup), "sets",
		(json_int_t)lab->scene.replay.num, "seeds", (json_int_t)request->seeds);
}

static json_t *drops_json(const struct lab *lab, const struct pm_packet_result *r)
{
	json_t *list = json_array();

	for (uint32_t node = 0; node < lab->scene.fabric->num_nodes; node++)
		for (unsigned int reason = 0; reason < PM_DROPS; reason++)
			if (r->drops_at[node][reason])
				list = cli_json_append(
					list,
					json_pack("{s:o, s:s, s:I}", "node",
						  cli_node_json(lab->scene.fabric, node),
						  "reason",
						  pm_packet_drop_name(
							  (enum pm_packet_drop)reason),
						  "packets",
						  (json_int_t)r->drops_at[node][reason]));
	return list;
}

/* What became of connections, or null. */
static json_t *pairs_json(const struct lab *lab, const struct pm_packet_pairs *p)
{
	if (!lab->request->reliable)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "used",
			 (json_int_t)p->pairs, "again", (json_int_t)p->again, "late",
			 (json_int_t)p->late, "broken", (json_int_t)p->broken, "timeouts",
			 (json_int_t)p->timeouts, "gaps", (json_int_t)p->gaps, "resent",
			 (json_int_t)p->resent, "refused", (json_int_t)p->refused);
}

/* How busy cables between switches were, each in both directions. */
static json_t *links_json(const struct lab *lab, const struct pm_packet_result *r)
{
	const struct pm_fabric *fabric = lab->scene.fabric;
	uint64_t sum = 0, most = 0, num = 0;
	double ticks = (double)r->num_batches * lab->config.batch;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(port, fabric, sw) {
			uint32_t far = pm_fabric_peer_node(fabric, port);

			if (far == PM_NONE || far >= fabric->num_switches)
				continue;
			sum += r->sent[port];
			num++;
			if (r->sent[port] > most)
				most = r->sent[port];
		}
	if (!num || ticks <= 0)
		return json_null();
	return json_pack("{s:f, s:f}", "max", (double)most / ticks, "mean",
			 (double)sum / (double)num / ticks);
}

static double mean_us(const struct lab *lab, const struct pm_packet_while *w)
{
	return w->messages ? to_us(lab, (double)w->latency / (double)w->messages) : 0;
}

static json_t *windows_json(const struct lab *lab, const struct pm_packet_result *r)
{
	json_t *list = json_array();
	double window = lab->config.window, sets = 0;

	for (uint32_t i = 0; i < r->num_windows; i++) {
		const struct pm_packet_while *w = &r->windows[i];
		double end = (i + 1) * window;

		while (sets < lab->scene.replay.num &&
		       lab->scene.replay.list[(uint32_t)sets].time <= end)
			sets++;
		list = cli_json_append(
			list,
			json_pack("{s:f, s:f, s:f, s:f, s:I, s:I}", "us",
				  to_us(lab, i * window - lab->config.warmup), "rate",
				  (double)w->blocks / window / lab->scene.num_hosts,
				  "mean_us", mean_us(lab, w), "max_us",
				  to_us(lab, (double)w->slowest), "dropped",
				  (json_int_t)w->dropped, "sets", (json_int_t)sets));
	}
	return list;
}

static json_t *latency_json(const struct lab *lab, const struct pm_packet_result *r)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "mean", to_us(lab, r->mean), "half",
			 to_us(lab, r->half), "p50", to_us(lab, (double)r->p50), "p99",
			 to_us(lab, (double)r->p99), "max",
			 to_us(lab, (double)r->slowest));
}

/* The circle in which packets wait for each other, or null. */
static json_t *circle_json(const struct lab *lab, const uint32_t *circle, int num)
{
	json_t *list = json_array();

	if (!num) {
		json_decref(list);
		return json_null();
	}
	for (int i = 0; i < num && i < CIRCLE; i++)
		list = cli_json_append(list, cli_link_json(lab->scene.fabric, circle[i]));
	return list;
}

static json_t *point_json(const struct lab *lab, uint32_t load,
			  const struct pm_packet_result *r)
{
	return json_pack(
		"{s:I, s:o, s:f, s:o, s:b, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, "
		"s:I, s:I, s:o}",
		"seed", (json_int_t)lab->workload.seed, "offered",
		load ? json_real(load / (double)PM_LOAD_FULL) : json_null(), "accepted",
		r->accepted, "latency_us", latency_json(lab, r), "unstable", r->unstable,
		"fairness", r->fairness, "links", links_json(lab, r), "packets",
		(json_int_t)r->created, "delivered", (json_int_t)r->delivered, "spare",
		(json_int_t)r->spare, "dropped", (json_int_t)r->dropped, "inside",
		(json_int_t)r->inside, "drops", drops_json(lab, r), "windows",
		windows_json(lab, r), "events", (json_int_t)r->events, "block_hops",
		(json_int_t)r->hops, "pairs", pairs_json(lab, &r->pairs));
}

/* ---- Running ---- */

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void show_progress(struct lab *lab, uint32_t piece)
{
	cli_progress_show(&lab->progress, (uint64_t)lab->done * PIECES + piece,
			  (uint64_t)lab->count * PIECES, lab->done + 1, lab->count);
}

/* Runs to the end, or until a closed loop is done; an exit status. */
static int run_through(struct lab *lab, struct pm_packet *packet,
		       struct pm_packet_result *r)
{
	const struct pm_packet_config *config = &lab->config;
	uint64_t end = config->warmup + (uint64_t)config->batch * config->batches + 1;
	struct pm_error err;

	for (uint32_t piece = 1; piece <= PIECES; piece++) {
		show_progress(lab, piece - 1);
		if (pm_packet_run(packet, (uint32_t)(end * piece / PIECES), &err))
			return cli_fail(EXIT_INPUT, "%s", err.text);
		if (lab->request->messages && !pm_workload_left(config->workload))
			break;
	}
	pm_packet_result(packet, r);
	return EXIT_FINE;
}

/* What is not in order. */
static json_t *findings_json(const struct lab *lab, const struct pm_packet_result *r,
			     const uint32_t *circle, int num)
{
	return json_pack("{s:b, s:o}", "loss", r->dropped && !lab->config.num_lost,
			 "deadlock", circle_json(lab, circle, num));
}

static json_t *done_json(const struct lab *lab, const struct pm_packet_result *r)
{
	uint64_t left = pm_workload_left(lab->config.workload);

	if (!lab->request->messages)
		return json_null();
	return json_pack("{s:o, s:I}", "us",
			 left ? json_null() : json_real(to_us(lab, r->done)), "left",
			 (json_int_t)left);
}

/* One load and seed; an exit status. */
static int run_point(struct lab *lab, uint32_t number, json_t *points)
{
	const struct request *request = lab->request;
	uint32_t load = request->messages ? 0 : request->loads[number / request->seeds];
	struct pm_packet *packet = NULL;
	struct pm_packet_result r;
	uint32_t circle[CIRCLE];
	struct pm_error err;
	double before = cpu_seconds();
	int status, num;
	json_t *object;

	lab->workload.load = load;
	lab->workload.seed = (uint64_t)request->seed + number % request->seeds;
	if (pm_workload_new(&lab->workload, &lab->config.workload, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	status = pm_packet_new(&lab->config, &packet, &err)
			 ? cli_fail(EXIT_INPUT, "%s", err.text)
			 : run_through(lab, packet, &r);
	if (!status) {
		num = pm_packet_stuck(packet, circle, CIRCLE, &err);
		if (num < 0)
			status = cli_fail(EXIT_INPUT, "%s", err.text);
	}
	if (!status) {
		object = cli_json_join(point_json(lab, load, &r),
				       json_pack("{s:o, s:o}", "done", done_json(lab, &r),
						 "findings",
						 findings_json(lab, &r, circle, num)));
		if (request->timing)
			json_object_set_new(object, "cpu_seconds",
					    json_real(cpu_seconds() - before));
		json_array_append_new(points, object);
	}
	pm_packet_free(packet);
	pm_workload_free(lab->config.workload);
	return status;
}

/* ---- Telling ---- */

static void print_circle(const json_t *circle)
{
	const json_t *link;
	size_t i;

	if (!json_is_array(circle))
		return;
	fputs("finding: deadlock, packets wait for each other:", stdout);
	json_array_foreach(circle, i, link) cli_text_print(link, " {name}");
	putchar('\n');
}

/* A line for each reason: how many, at how many nodes, and where most. */
static void print_drops(const json_t *list)
{
	for (unsigned int reason = 0; reason < PM_DROPS; reason++) {
		const char *name = pm_packet_drop_name((enum pm_packet_drop)reason);
		const json_t *row, *worst = NULL;
		json_int_t sum = 0, nodes = 0;
		size_t i;

		json_array_foreach(list, i, row)
		{
			if (strcmp(json_string_value(json_object_get(row, "reason")),
				   name))
				continue;
			sum += cli_json_number(row, "packets");
			nodes++;
			if (!worst || cli_json_number(row, "packets") >
					      cli_json_number(worst, "packets"))
				worst = row;
		}
		if (!worst)
			continue;
		printf("dropped %" JSON_INTEGER_FORMAT ": %s, at %" JSON_INTEGER_FORMAT
		       " nodes",
		       sum, name, nodes);
		cli_text_print(worst, ", most at {node.name}: {packets}\n");
	}
}

static void print_more(const json_t *point)
{
	const json_t *list, *row;
	size_t i;

	print_drops(json_object_get(point, "drops"));
	if (json_is_object(json_object_get(point, "pairs")))
		cli_text_print(point,
			       "{pairs.used} pairs of hosts: {pairs.again} sent "
			       "{pairs.resent} packets again, {pairs.late} were late, "
			       "{pairs.broken} are broken\n");
	list = json_object_get(point, "windows");
	if (json_array_size(list))
		printf("%10s %8s %10s %10s %8s %6s\n", "from us", "rate", "mean us",
		       "max us", "dropped", "Sets");
	json_array_foreach(list, i, row)
		cli_text_print(row, "{10%us} {8%%%rate} {10%%%mean_us} {10%%%max_us} "
				    "{8dropped} {6sets}\n");
	row = json_object_get(point, "findings");
	if (json_is_true(json_object_get(row, "loss")))
		puts("finding: packets were lost, and nothing had failed");
	print_circle(json_object_get(row, "deadlock"));
	if (json_is_number(json_object_get(json_object_get(point, "done"), "us")))
		cli_text_print(point, "done after {%%%done.us} us\n");
	else if (json_is_object(json_object_get(point, "done")))
		cli_text_print(point,
			       "not done: {done.left} messages have not arrived\n");
	if (json_object_get(point, "cpu_seconds"))
		cli_text_print(point, "{events} events, {block_hops} blocks over cables, "
				      "{%%%cpu_seconds} s CPU\n");
}

/* Over the seeds of a load. */
static void print_mean(const json_t *mean)
{
	if (json_is_number(json_object_get(mean, "offered")))
		cli_text_print(mean, "offered {%%%offered}");
	else
		fputs("closed loop", stdout);
	cli_text_print(mean, ", over seeds: accepted {%%%accepted} +- {%%%half}, latency "
			     "{%%%latency_us.mean} +- {%%%latency_us.half} us\n");
}

static void print_text(const json_t *object)
{
	const json_t *point;
	size_t i;

	cli_text_print(object, "{settings.pattern}, {settings.hosts} hosts, messages of "
			       "{settings.bytes} bytes, packets of {settings.mtu}, "
			       "{settings.gbps} Gb/s; latencies in us\n");
	printf("%8s %8s %9s %8s %9s %9s %9s %7s %7s %7s %8s\n", "offered", "accepted",
	       "mean", "+-", "p50", "p99", "max", "link", "mean", "Jain", "dropped");
	json_array_foreach(json_object_get(object, "points"), i, point)
	{
		cli_text_print(point,
			       "{8%%%offered} {8%%%accepted} {9%%%latency_us.mean} "
			       "{8%%%latency_us.half} {9%%%latency_us.p50} "
			       "{9%%%latency_us.p99} {9%%%latency_us.max} "
			       "{7%%%links.max} {7%%%links.mean} {7%%%fairness} "
			       "{8dropped}");
		puts(json_is_true(json_object_get(point, "unstable")) ? " unstable" : "");
		print_more(point);
	}
	json_array_foreach(json_object_get(object, "means"), i, point) print_mean(point);
}

/* Whether a point has what the text is made of; it may be of a file. */
static bool is_good(const json_t *point)
{
	const json_t *row, *list = json_object_get(point, "drops");
	bool good = json_is_object(json_object_get(point, "latency_us")) &&
		    json_is_object(json_object_get(point, "findings")) &&
		    json_is_number(json_object_get(point, "accepted"));
	size_t i;

	json_array_foreach(list, i, row) good &=
		json_is_string(json_object_get(row, "reason"));
	return good;
}

static bool has_findings(const json_t *points)
{
	const json_t *point, *findings;
	size_t i;

	json_array_foreach(points, i, point)
	{
		findings = json_object_get(point, "findings");
		if (json_is_true(json_object_get(findings, "loss")) ||
		    json_is_array(json_object_get(findings, "deadlock")))
			return true;
	}
	return false;
}

/* Over the seeds of each load. */
static json_t *means_json(const json_t *points, size_t seeds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(points); i += seeds) {
		json_t *some = traffic_some(points, i, seeds);
		struct traffic_estimate accepted =
			traffic_estimate(some, "accepted", NULL);
		struct traffic_estimate latency =
			traffic_estimate(some, "latency_us", "mean");
		json_t *offered = json_object_get(json_array_get(some, 0), "offered");

		list = cli_json_append(
			list,
			json_pack("{s:O?, s:f, s:o, s:{s:f, s:o}}", "offered", offered,
				  "accepted", accepted.mean, "half",
				  traffic_half_json(accepted), "latency_us", "mean",
				  latency.mean, "half", traffic_half_json(latency)));
		json_decref(some);
	}
	return list;
}

int traffic_packet_tell(json_t *object, const json_t *runs,
			const struct cli_output *output)
{
	json_int_t seeds = cli_json_number(json_object_get(object, "settings"), "seeds");
	json_t *points = json_array(), *run;
	bool good = seeds > 0 && seeds <= MAX_SEEDS &&
		    !(json_array_size(runs) % (size_t)seeds);
	int status = has_findings(runs) ? EXIT_FINDINGS : EXIT_FINE;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		good &= is_good(run);
		points = cli_json_append(points, json_incref(run));
	}
	object = cli_json_join(object, json_pack("{s:o}", "points", points));
	if (!good)
		status = cli_fail(EXIT_INPUT,
				  "runs are not as the packet engine tells them");
	else if (seeds > 1)
		json_object_set_new(object, "means", means_json(runs, (size_t)seeds));
	if (good && output->json)
		return cli_json_print(object) ? EXIT_INPUT : status;
	if (good && !output->quiet)
		print_text(object);
	json_decref(object);
	return status;
}

/* ---- The command ---- */

/* Tells shards of one whole from others: what settings do not say, tables and Sets. */
static uint64_t find_fingerprint(const struct lab *lab)
{
	const struct pm_packet_config *c = &lab->config;
	const struct pm_workload_config *w = &lab->workload;
	const uint32_t numbers[] = {w->messages, w->shift,    w->node,	  w->share,
				    w->senders,	 c->lifetime, c->timeout, c->tries,
				    c->window,	 c->lose_at};
	uint64_t hash = cli_fabric_fingerprint(c->fabric);

	hash = pm_hash(hash, c->tables, (size_t)c->fabric->num_switches * c->length);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		hash = pm_hash_number(hash, numbers[i]);
	for (uint32_t i = 0; i < lab->request->num_loads; i++)
		hash = pm_hash_number(hash, lab->request->loads[i]);
	for (uint32_t i = 0; i < c->num_sets; i++) {
		hash = pm_hash_number(hash, c->sets[i].time);
		hash = pm_hash_number(hash,
				      (uint64_t)c->sets[i].sw << 32 | c->sets[i].block);
		hash = pm_hash(hash, c->sets[i].entries, sizeof(c->sets[i].entries));
	}
	return hash;
}

static int tell_shard(const struct lab *lab, json_t *object, uint32_t total,
		      json_t *points)
{
	int status = has_findings(points) ? EXIT_FINDINGS : EXIT_FINE;

	object = traffic_shard_json(object, &lab->request->shard, total,
				    find_fingerprint(lab), json_incref(points));
	return cli_json_print(object) ? EXIT_INPUT : status;
}

static int run_points(struct lab *lab)
{
	const struct request *request = lab->request;
	uint32_t total = request->num_loads * request->seeds;
	json_t *points = json_array(), *object;
	int status = EXIT_FINE;

	lab->count = traffic_shard_count(&request->shard, total);
	cli_progress_begin(&lab->progress, request->output.quiet);
	for (uint32_t i = 0; i < total && !status; i++) {
		if (!traffic_shard_has(&request->shard, i))
			continue;
		status = run_point(lab, i, points);
		lab->done++;
	}
	cli_progress_end(&lab->progress);
	if (!status) {
		object =
			cli_json_join(cli_json_new("traffic", 1),
				      json_pack("{s:o}", "settings", settings_json(lab)));
		status = request->shard.of
				 ? tell_shard(lab, object, total, points)
				 : traffic_packet_tell(object, points, &request->output);
	}
	json_decref(points);
	return status;
}

static int run(struct request *request, const char *path)
{
	struct lab lab = {.request = request, .tick = 512000 / request->gbps};
	struct scene_config config = {
		.fabric = &request->fabric,
		.lfts = request->lfts,
		.lost = &request->lost,
		.repair = request->repair,
	};
	struct pm_replay_config times = {.tick = lab.tick * UINT64_C(1000)};
	int status;

	config.repair.after = request->repair_at / 1000;
	config.repair.smp = request->smp / 1000;
	status = scene_read(&lab.scene, path, &config);
	if (!status && lab.scene.num_hosts < 2)
		status = cli_fail(EXIT_INPUT, "%s: traffic needs two hosts", path);
	if (!status && request->messages == INT32_MAX)
		request->messages = lab.scene.num_hosts - 1;
	if (!status)
		status = configure_pattern(&lab);
	configure_workload(&lab);
	configure_engine(&lab);
	times.lose_at = lab.config.lose_at;
	times.end = lab.config.warmup + lab.config.batch * lab.config.batches;
	if (!status)
		status = scene_mend(&lab.scene, &config, &times);
	configure_engine(&lab);
	if (!status)
		status = run_points(&lab);
	scene_free(&lab.scene);
	return status;
}

/* Options that do not go together; an exit status. */
static int check_request(struct request *request)
{
	if (request->messages)
		request->num_loads = 1;
	if (request->repair.kind != REPAIR_NONE && !request->lost.num)
		return cli_fail(EXIT_USAGE, "--repair: nothing is lost (--lose)");
	if (request->repair.kind != REPAIR_NONE && request->lfts)
		return cli_fail(EXIT_USAGE, "--repair is of the plan's tables, not of "
					    "those of a file");
	if (request->buffer < request->mtu / 64)
		return cli_fail(EXIT_USAGE, "--buffer %u: a packet has %u blocks",
				request->buffer, request->mtu / 64);
	return traffic_shard_check(&request->shard, &request->output);
}

int traffic_packet(int argc, char **argv)
{
	struct request request = {
		.lost.list = calloc((size_t)argc, sizeof(char *)),
		.repair.wire_smps = 4,
		.pattern = PM_UNIFORM,
		.loads = {PM_LOAD_FULL / 2},
		.num_loads = 1,
		.mtu = 4096,
		.buffer = 256,
		.gbps = 200,
		.batches = 20,
		.seed = 1,
		.seeds = 1,
		.hoq = 18,
		.timeout = 14,
		.retries = 7,
		.wire = 50000,
		.crossing = 100000,
		.warmup = 50000000,
		.time = 200000000,
		.smp = 265000000,
	};
	int status;

	if (!request.lost.list)
		return cli_fail(EXIT_INPUT, "out of memory");
	status = cli_command_read(&traffic_packet_command, argc, argv, &request);
	if (status < 0) {
		status = check_request(&request);
		if (!status)
			status = run(&request, argv[optind]);
	}
	free(request.lost.list);
	return status;
}
