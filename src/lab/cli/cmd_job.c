/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab job: the cost of a failure to a job, with several engines' tables. */
#include "lab_commands.h"
#include "job.h"
#include "lists.h"
#include "text.h"
#include "traffic_packet.h"

#include <portmajor/memory/xalloc.h>

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FABRIC "director-36"
#define DEFAULT_BYTES 65536

static const struct cli_option options[] = {
	CLI_FAIL(struct job_request, packet.failed,
		 "The failed part, named as for portmajor-whatif(1). May be given "
		 "several times: all parts fail at once."),
	{0, "engine", "ENGINE",
	 "The engine of the tables: ours (portmajor, the default), another "
	 "engine with a recording of this failure on this fabric, or a file "
	 "written by scripts/record-sets.",
	 CLI_MEMBER(struct job_request, engine)},
	{0, "compare", "ENGINE...",
	 "Other engines, named in the same way: all words up to the next option. "
	 "May be given several times.",
	 .take = cli_take_failed, .to = offsetof(struct job_request, compare)},
	{0, "at", "TIME",
	 "The time of the failure since the beginning of the job: a number with "
	 "ns, us, ms or s. Default: half of the job's time without the failure, "
	 "with the engine that has the shortest time.",
	 .take = packet_take_time, .to = offsetof(struct job_request, packet.at)},
	{0, "repeat", "N", "Repeat the pattern N times, one after the other. Default 1.",
	 CLI_MEMBER(struct job_request, repeat), .low = 1, .high = 10000},
	{0, "processes", "N",
	 "Processes of a collective, each on its own host. Default: as many as "
	 "possible.",
	 CLI_MEMBER(struct job_request, packet.processes), .low = 1, .high = UINT32_MAX},
	{0, "placement", "HOW",
	 "The hosts of processes: in-order (default), by switch and port; or "
	 "random, by the seed.",
	 packet_take_placement, offsetof(struct job_request, packet.random),
	 .values = "in-order|random"},
	{0, "seed", "N", "Seed of the random numbers. Default 1.",
	 CLI_MEMBER(struct job_request, packet.seed), .high = UINT32_MAX},
	{0, "recordings", "FOLDER",
	 "The folder of the recordings. Default: that of the package.",
	 CLI_MEMBER(struct job_request, folder)},
	CLI_INCLUDE(struct job_request, packet, packet_network_options),
	CLI_OUTPUT(struct job_request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md); portmajor-report draws it."),
	CLI_INCLUDE(struct job_request, packet.fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "job [OPTION]... PATTERN[:BYTES] [NETLIST] --fail WHAT[:PORT]... "
		    "[--compare ENGINE...]",
	.about =
		"Print the cost of a failure for a job, with portmajor and other engines: "
		""
		"its "
		"time without and with the failure, its longest stall and its broken "
		"connections; packet by packet, over reliable connections. PATTERN is "
		"alltoall, permutation, shift:N, bit-reverse, linear, ring, "
		"recursive-doubling or binomial; or goal:FILE, the events of an MPI job. "
		"NETLIST is the fabric before the failure, or the name of a recorded one "
		"(default " DEFAULT_FABRIC
		"). Exit status 1 if with the first engine the job is "
		"not done, or connections break.",
	.options = options,
	.min_operands = 1,
	.max_operands = 2,
};

/* ---- Patterns ---- */

static int fail_pattern(const char *text)
{
	return cli_fail(EXIT_USAGE,
			"no pattern \"%s\"; there are alltoall, permutation, shift:N, "
			"bit-reverse, linear, ring, recursive-doubling and binomial, "
			"each with :BYTES, to %u (K and M will do), and goal:FILE",
			text, PM_MESSAGE_MAX * 64);
}

static bool parse_name(struct packet_request *packet, const char *name)
{
	if (!strcmp(name, "alltoall"))
		name = pm_pattern_name(PM_ALL_TO_ALL);
	if (!pm_collective_parse(name, &packet->algorithm)) {
		packet->collective = true;
		return true;
	}
	return !pm_pattern_parse(name, &packet->pattern) &&
	       (packet->pattern == PM_ALL_TO_ALL || packet->pattern == PM_PERMUTATION ||
		packet->pattern == PM_SHIFT || packet->pattern == PM_BIT_REVERSE);
}

/*
 * Reads NAME[:BYTES], of a shift NAME:N[:BYTES], and cuts the parts off.
 */
static int parse_pattern(struct packet_request *packet, char *text)
{
	char *whole, *name, *bytes;
	int status = EXIT_FINE;

	if (!strncmp(text, "goal:", 5)) {
		packet->trace = text + 5;
		return EXIT_FINE;
	}
	whole = cli_text_make("%s", text);
	name = strsep(&text, ":");
	packet->bytes = DEFAULT_BYTES;
	if (!parse_name(packet, name))
		status = fail_pattern(whole);
	if (!status && !packet->collective && packet->pattern == PM_SHIFT)
		packet->pattern_argument = strsep(&text, ":");
	bytes = strsep(&text, ":");
	if (!status &&
	    (text || (bytes && !cli_size(bytes, 1, PM_MESSAGE_MAX * 64, &packet->bytes))))
		status = fail_pattern(whole);
	free(whole);
	return status;
}

/* ---- Options ---- */

static int complete(struct job_request *request)
{
	struct packet_request *packet = &request->packet;
	uint64_t at = packet->at;
	int status;

	if (packet->processes && !packet->collective)
		return cli_fail(EXIT_USAGE, "--processes: %s is no collective",
				pm_pattern_name(packet->pattern));
	if (packet->trace && request->repeat > 1)
		return cli_fail(EXIT_USAGE, "--repeat: not of goal:FILE");
	if (!packet->collective && !packet->trace)
		packet->messages = packet->pattern == PM_ALL_TO_ALL ? (uint32_t)INT32_MAX
								    : request->repeat;
	packet->reliable = true;
	packet->at = PACKET_UNSET;
	packet->warmup = 0;
	status = packet_request_check(packet);
	packet->at = at;
	packet->calls = request->repeat;
	packet->time = PACKET_UNSET;
	packet->longest = UINT64_MAX;
	packet->output = request->output;
	return status;
}

/* --compare A B becomes --compare A --compare B. The caller frees the result. */
static char **spread_lists(int argc, char **argv, int *count)
{
	char **spread = pm_xarray(2 * (size_t)argc + 1, sizeof(*spread));
	static char option[] = "--compare";
	bool listed = false;

	*count = 0;
	for (int i = 0; i < argc; i++) {
		bool begins =
			!strcmp(argv[i], option) && i + 1 < argc && argv[i + 1][0] != '-';

		listed = begins || (listed && argv[i][0] != '-');
		if (begins)
			continue;
		if (listed)
			spread[(*count)++] = option;
		spread[(*count)++] = argv[i];
	}
	return spread;
}

/* Reads the request; returns an exit status, or -1 to go on. */
static int read_request(int argc, char **argv, struct job_request *request)
{
	int status = cli_command_read(&command, argc, argv, request);

	if (status >= 0)
		return status;
	if (!request->packet.failed.num)
		return cli_command_misused(&command, "nothing fails: --fail WHAT");
	status = parse_pattern(&request->packet, argv[optind]);
	if (!status)
		status = complete(request);
	return status ? status : -1;
}

static int run_job(int argc, char **argv)
{
	struct job_request request = {.engine = "ours", .repeat = 1};
	int status;

	packet_request_begin(&request.packet, argc);
	request.compare.list = pm_xarray((size_t)argc, sizeof(char *));
	status = read_request(argc, argv, &request);
	if (status < 0)
		status = job_run(&request,
				 optind + 1 < argc ? argv[optind + 1] : DEFAULT_FABRIC);
	free(request.compare.list);
	packet_request_free(&request.packet);
	return status;
}

int cmd_job(int argc, char **argv)
{
	int count, status;
	char **spread = spread_lists(argc, argv, &count);

	status = run_job(count, spread);
	free(spread);
	return status;
}
