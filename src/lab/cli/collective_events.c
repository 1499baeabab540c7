/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plays the events of a rank of an MPI program, as Takizawa, Matsuoka and Nakada do. The
 * rank computes, or calls a collective operation, and each event begins when the last one
 * is over. All ranks come to a call at the same time. The file is a JSON list of
 *
 *   {"compute": SECONDS}
 *   {"call": FUNCTION, "bytes": N}
 */
#include "collective_events.h"
#include "json.h"
#include "text.h"

#include <string.h>

/* The algorithm of each MPI function, as in the paper. */
static const struct {
	const char *name;
	enum pm_collective algorithm;
} functions[] = {
	{"Allgather", PM_COLLECTIVE_RING},   {"Alltoall", PM_COLLECTIVE_DOUBLING},
	{"Barrier", PM_COLLECTIVE_DOUBLING}, {"Bcast", PM_COLLECTIVE_BINOMIAL},
	{"Reduce", PM_COLLECTIVE_BINOMIAL},  {"Scatter", PM_COLLECTIVE_LINEAR},
};

#define MAX_COMPUTE 1e6 /* seconds */

struct played {
	double seconds, computing;
	uint64_t calls, setups; /* one after the other */
};

static int find_function(const json_t *call, enum pm_collective *algorithm)
{
	const char *name = json_string_value(call);

	for (size_t i = 0; name && i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].name, name)) {
			*algorithm = functions[i].algorithm;
			return 0;
		}
	return -1;
}

static int play_call(const struct collective_request *request,
		     enum pm_collective algorithm, uint32_t bytes,
		     struct circuit_rule rule, struct played *played)
{
	struct pm_circuits_result result = {0};
	struct pm_error err;
	int status =
		pm_collective_check(algorithm, request->processes, &err)
			? cli_fail(EXIT_USAGE, "%s", err.text)
			: collective_simulate(request, algorithm, bytes, rule, &result);

	played->calls++;
	played->setups += result.groups + request->call_setups;
	played->seconds += result.seconds +
			   request->call_setups * collective_costs(request, rule).gamma;
	return status;
}

static int play_event(const struct collective_request *request, const json_t *event,
		      size_t number, struct circuit_rule rule, struct played *played)
{
	const json_t *compute = json_object_get(event, "compute");
	const json_t *bytes = json_object_get(event, "bytes");
	double seconds = json_number_value(compute);
	enum pm_collective algorithm;

	if (json_is_number(compute) && seconds >= 0 && seconds <= MAX_COMPUTE) {
		played->computing += seconds;
		played->seconds += seconds;
		return EXIT_FINE;
	}
	if (compute || find_function(json_object_get(event, "call"), &algorithm) ||
	    !json_is_integer(bytes) || json_integer_value(bytes) < 0 ||
	    json_integer_value(bytes) > 1000000000)
		return cli_fail(EXIT_INPUT,
				"%s: event %zu is neither {\"compute\": SECONDS} nor "
				"{\"call\": \"Alltoall\" or the like, \"bytes\": N}",
				request->events, number + 1);
	return play_call(request, algorithm, (uint32_t)json_integer_value(bytes), rule,
			 played);
}

/*
 * Plays the events by one rule, and adds its results to *rules.
 */
static int play_rule(const struct collective_request *request, const json_t *events,
		     struct circuit_rule rule, json_t **rules, struct played *played)
{
	const json_t *event;
	int status = EXIT_FINE;
	size_t i;

	*played = (struct played){0};
	json_array_foreach(events, i, event) {
		if (!status)
			status = play_event(request, event, i, rule, played);
		lab_steps_next(request->steps);
	}
	*rules = pm_json_append(*rules,
				json_pack("{s:s, s:I, s:f, s:I}", "circuits", rule.name,
					  "ports", (json_int_t)rule.ports, "seconds",
					  played->seconds, "setups",
					  (json_int_t)(rule.ideal ? 0 : played->setups)));
	return status;
}

int collective_events_play(const struct collective_request *request, json_t **object)
{
	json_t *events = cli_json_load(request->events), *rules = json_array();
	struct played played = {0};
	int status = json_is_array(events)
			     ? EXIT_FINE
			     : cli_fail(EXIT_INPUT, "%s: not a JSON list of events",
					request->events);

	lab_steps_begin(request->steps,
			collective_num_rules(request) * (json_array_size(events) + 1),
			request->output.quiet);
	for (uint32_t i = 0; !status && i < collective_num_rules(request); i++)
		status = play_rule(request, events, collective_rule(request, i), &rules,
				   &played);
	lab_steps_end(request->steps);
	*object = json_pack(
		"{s:o, s:I, s:I, s:f, s:I, s:o}", "file", pm_json_text(request->events),
		"events", (json_int_t)json_array_size(events), "calls",
		(json_int_t)played.calls, "computing", played.computing, "call_setups",
		(json_int_t)request->call_setups, "rules", rules);
	json_decref(events);
	return status;
}

void collective_events_print(const json_t *object)
{
	const json_t *rule;
	size_t i;

	cli_text_print(object, "\n{calls|call|calls}, {%%%computing} s of computing, "
			       "{call_setups} more set-ups in each call\n");
	json_array_foreach(json_object_get(object, "rules"), i, rule)
		cli_text_print(rule, "{circuits}, {ports|port|ports}: {%%%%%%seconds} s, "
				     "{setups} set-ups one after the other\n");
}
