/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab collective: finds the times of collective operations on circuits. */
#include "lab_commands.h"
#include "collective_events.h"
#include "text.h"
#include "write.h"

#include <portmajor/lab/circuits.h>

#include <stdio.h>
#include <string.h>

/* ---- Computing ---- */

/* An algorithm's cost by equations and as played; NULL: *status has the reason. */
static json_t *cost_json(const struct collective_request *request,
			 enum pm_collective algorithm, uint32_t bytes,
			 struct circuit_rule rule, int *status)
{
	const struct pm_circuit_costs costs = collective_costs(request, rule);
	struct pm_circuits_result result = {0};
	uint32_t ports = rule.kept ? rule.ports : 1;

	*status = collective_simulate(request, algorithm, bytes, rule, &result);
	lab_steps_next(request->steps);
	if (*status)
		return NULL;
	return json_pack(
		"{s:I, s:f, s:f, s:I, s:I}", "ports", (json_int_t)rule.ports, "equation",
		pm_collective_seconds(algorithm, request->processes, bytes, ports,
				      &costs),
		"simulated", result.seconds, "circuits", (json_int_t)result.setups,
		"most_circuits", (json_int_t)result.peak);
}

static int describe_size(const struct collective_request *request,
			 enum pm_collective algorithm, uint32_t bytes, json_t *rows)
{
	json_t *row = json_pack("{s:I, s:n, s:[]}", "bytes", (json_int_t)bytes, "naive",
				"proposed");
	int status = EXIT_FINE;

	for (uint32_t i = 0; !status && i < collective_num_rules(request); i++) {
		struct circuit_rule rule = collective_rule(request, i);
		json_t *cost = cost_json(request, algorithm, bytes, rule, &status);

		if (rule.kept && !rule.ideal)
			json_array_append_new(json_object_get(row, rule.name), cost);
		else
			json_object_set_new(row, rule.name, cost);
	}
	json_array_append_new(rows, row);
	return status;
}

static json_t *setups_json(const struct collective_request *request,
			   enum pm_collective algorithm)
{
	json_t *kept = json_array();

	for (uint32_t i = 0; i < request->ports.num; i++)
		kept = pm_json_append(kept, json_integer(pm_collective_setups(
						    algorithm, request->processes,
						    request->ports.values[i])));
	return json_pack(
		"{s:I, s:o}", "naive",
		(json_int_t)pm_collective_setups(algorithm, request->processes, 1),
		"proposed", kept);
}

static int describe_algorithm(const struct collective_request *request,
			      enum pm_collective algorithm, json_t *list)
{
	json_t *rows = json_array();
	int status = EXIT_FINE;

	for (uint32_t i = 0; !status && i < request->sizes.num; i++)
		status =
			describe_size(request, algorithm, request->sizes.values[i], rows);
	json_array_append_new(list,
			      json_pack("{s:s, s:o, s:o}", "algorithm",
					pm_collective_name(algorithm), "setups",
					setups_json(request, algorithm), "sizes", rows));
	return status;
}

static json_t *settings_json(const struct collective_request *request)
{
	return json_pack(
		"{s:I, s:o, s:I, s:I, s:I, s:I}", "processes",
		(json_int_t)request->processes, "ports", cli_list_json(&request->ports),
		"latency_ns", (json_int_t)request->latency_ns, "mbps",
		(json_int_t)request->mbps, "setup_us", (json_int_t)request->setup_us,
		"circuits", (json_int_t)request->circuits);
}

/* ---- Text ---- */

static void print_costs(const json_t *row, const char *source)
{
	const json_t *proposed = json_object_get(row, "proposed"), *cost;
	char text[40];
	size_t i;

	snprintf(text, sizeof(text), " {11%%%%%%%%%%%%%s}", source);
	cli_text_print(json_object_get(row, "naive"), text);
	json_array_foreach(proposed, i, cost)
		cli_text_print(cost, text);
	cli_text_print(json_object_get(row, "ideal"), text);
	putchar('\n');
}

static void print_algorithm(const json_t *algorithm)
{
	const json_t *row, *cost;
	size_t i;

	cli_text_print(algorithm,
		       "\n{algorithm}: {setups.naive} set-ups one after the other");
	json_array_foreach(
		json_object_get(json_object_get(algorithm, "setups"), "proposed"), i, row)
		printf("%s%" JSON_INTEGER_FORMAT,
		       i ? ", " : "; proposed: ", json_integer_value(row));
	printf("\n%10s %-9s %11s", "bytes", "seconds", "naive");
	row = json_array_get(json_object_get(algorithm, "sizes"), 0);
	json_array_foreach(json_object_get(row, "proposed"), i, cost)
		cli_text_print(cost, " {5ports} ports");
	printf(" %11s\n", "ideal");
	json_array_foreach(json_object_get(algorithm, "sizes"), i, row) {
		cli_text_print(row, "{10bytes} equation ");
		print_costs(row, "equation");
		printf("%10s simulated", "");
		print_costs(row, "simulated");
	}
}

static void print_collective(const json_t *object)
{
	const json_t *rank = json_object_get(object, "rank"), *algorithm;
	size_t i;

	cli_text_print(
		object,
		"{settings.processes} processes, {settings.mbps} Mb/s, "
		"{settings.latency_ns} ns, {settings.setup_us} us for a circuit\n");
	if (rank)
		collective_events_print(rank);
	json_array_foreach(json_object_get(object, "algorithms"), i, algorithm)
		print_algorithm(algorithm);
}

/* ---- Options ---- */

static int take_algorithm(const struct cli_option *option, char *argument, void *to)
{
	if (!strcmp(argument, "all"))
		return EXIT_FINE;
	return pm_collective_parse(argument, to)
		       ? cli_fail(EXIT_USAGE,
				  "--algorithm: no algorithm \"%s\"; there are %s",
				  argument, option->values)
		       : EXIT_FINE;
}

#define MEMBER(member) CLI_MEMBER(struct collective_request, member)

static const struct cli_option options[] = {
	{'a', "algorithm", "NAME",
	 "The algorithm: linear, ring, recursive-doubling, binomial or all, the default.",
	 take_algorithm, offsetof(struct collective_request, algorithm),
	 .values = "linear|ring|recursive-doubling|binomial|all"},
	{'p', "processes", "N",
	 "A power of two; with linear any number from 2, with ring any even one "
	 "from 4. Default 32.",
	 MEMBER(processes), .high = UINT32_MAX},
	{'k', "ports", "LIST",
	 "Ports of a process, such as 2,3,4, the default, or 2..4. With one "
	 "port, proposed is naive.",
	 cli_take_list, offsetof(struct collective_request, ports), .low = 1,
	 .high = PM_CIRCUITS_MAX_PORTS},
	{'n', "bytes", "LIST",
	 "Sizes of the data, such as 1,1000,1M. Default 1..1000000: 1, 10, 100 "
	 "and so on. K is 1,024, M 1,048,576.",
	 cli_take_sizes, offsetof(struct collective_request, sizes), .high = 1000000000},
	{0, "latency-ns", "N", "Delay of a message in nanoseconds. Default 100000.",
	 MEMBER(latency_ns), .high = 1000000000},
	{0, "mbps", "N", "Rate of a circuit in megabits a second. Default 1000.",
	 MEMBER(mbps), .low = 1, .high = 10000000},
	{0, "setup-us", "N",
	 "Time to set up a circuit and to take it down, in microseconds. Default "
	 "10000.",
	 MEMBER(setup_us), .high = 100000000},
	{0, "circuits", "N",
	 "Largest number of circuits at a time in the whole network. Default 0: "
	 "any number. It has no effect on the equations and on ideal.",
	 MEMBER(circuits), .high = UINT32_MAX},
	{0, "events", "FILE",
	 "Instead of sizes, simulate the events of one rank of an MPI program: a "
	 "JSON list of {\"compute\": SECONDS} and {\"call\": \"Alltoall\", "
	 "\"bytes\": N}.",
	 MEMBER(events)},
	{0, "call-setups", "N",
	 "With --events: each call waits for N additional set-ups. Default 0.",
	 MEMBER(call_setups), .high = 1000},
	CLI_OUTPUT(struct collective_request, output, "Print nothing.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "collective [OPTION]...",
	.about = "Print the times of collective operations on a network that sets up a "
		 "circuit before a message: naive (each message has its own circuit), "
		 "proposed (the circuits of several steps are set up at once), and ideal "
		 "(circuits cost nothing); by the equations of Takizawa, Matsuoka and "
		 "Nakada, and by an event simulation.",
	.options = options,
};

static int check_processes(const struct collective_request *request)
{
	struct pm_error err;

	for (unsigned int i = 0; i < PM_NUM_COLLECTIVES; i++)
		if ((request->algorithm == PM_NUM_COLLECTIVES ||
		     request->algorithm == (enum pm_collective)i) &&
		    pm_collective_check((enum pm_collective)i, request->processes, &err))
			return cli_fail(EXIT_USAGE, "%s", err.text);
	return EXIT_FINE;
}

static int describe_algorithms(const struct collective_request *request, json_t *list)
{
	int status = check_processes(request);
	uint64_t algorithms =
		request->algorithm == PM_NUM_COLLECTIVES ? PM_NUM_COLLECTIVES : 1;

	lab_steps_begin(request->steps,
			algorithms * request->sizes.num * collective_num_rules(request),
			request->output.quiet);
	for (unsigned int i = 0; !status && i < PM_NUM_COLLECTIVES; i++)
		if (request->algorithm == PM_NUM_COLLECTIVES ||
		    request->algorithm == (enum pm_collective)i)
			status = describe_algorithm(request, (enum pm_collective)i, list);
	lab_steps_end(request->steps);
	return status;
}

int cmd_collective(int argc, char **argv)
{
	struct lab_steps steps;
	struct collective_request request = {
		.steps = &steps,
		.processes = 32,
		.latency_ns = 100000,
		.mbps = 1000,
		.setup_us = 10000,
		.algorithm = PM_NUM_COLLECTIVES,
		.ports = {{2, 3, 4}, 3},
		.sizes = {{1, 10, 100, 1000, 10000, 100000, 1000000}, 7},
	};
	int status = cli_command_read(&command, argc, argv, &request);
	json_t *object, *found;

	if (status >= 0)
		return status;
	if (request.call_setups && !request.events)
		return cli_fail(EXIT_USAGE, "--call-setups: for --events");
	if (request.events) {
		status = collective_events_play(&request, &found);
	} else {
		found = json_array();
		status = describe_algorithms(&request, found);
	}
	object =
		cli_json_join(cli_json_new("collective", 2),
			      json_pack("{s:o, s:o}", "settings", settings_json(&request),
					request.events ? "rank" : "algorithms", found));
	if (!status)
		return lab_write(object, &request.output, print_collective, EXIT_FINE);
	json_decref(object);
	return status;
}
