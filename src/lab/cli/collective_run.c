/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plays a collective operation on circuits, for the command and for a program's rank. */
#include "collective_events.h"

uint32_t collective_num_rules(const struct collective_request *request)
{
	return request->ports.num + 2;
}

struct circuit_rule collective_rule(const struct collective_request *request,
				    uint32_t number)
{
	if (!number)
		return (struct circuit_rule){"naive", 1, false, false};
	if (number <= request->ports.num)
		return (struct circuit_rule){
			"proposed", request->ports.values[number - 1], true, false};
	return (struct circuit_rule){"ideal", PM_CIRCUITS_MAX_PORTS, true, true};
}

struct pm_circuit_costs collective_costs(const struct collective_request *request,
					 struct circuit_rule rule)
{
	return (struct pm_circuit_costs){
		.alpha = request->latency_ns * 1e-9,
		.beta = 8e-6 / request->mbps,
		.gamma = rule.ideal ? 0 : request->setup_us * 1e-6,
	};
}

int collective_simulate(const struct collective_request *request,
			enum pm_collective algorithm, uint32_t bytes,
			struct circuit_rule rule, struct pm_circuits_result *result)
{
	const struct pm_circuits_config config = {
		.costs = collective_costs(request, rule),
		.ports = rule.ports,
		.kept = rule.kept,
		.circuits = rule.ideal ? 0 : request->circuits,
	};
	bool alternating = !rule.kept || rule.ports == 1;
	struct pm_schedule *schedule;
	struct pm_error err;
	int rc;

	if (algorithm == PM_COLLECTIVE_RING && !config.circuits) {
		rc = pm_circuits_run_ring(request->processes, bytes, alternating, &config,
					  result, &err);
	} else {
		schedule = pm_schedule_make(algorithm, request->processes, bytes,
					    alternating);
		rc = pm_circuits_run(schedule, &config, result, &err);
		pm_schedule_free(schedule);
	}
	return rc ? cli_fail(EXIT_USAGE, "%s", err.text) : EXIT_FINE;
}
