/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab collective --events: the events of one rank, one after the other. */
#ifndef PORTMAJOR_LAB_CLI_COLLECTIVE_EVENTS_H
#define PORTMAJOR_LAB_CLI_COLLECTIVE_EVENTS_H

#include "lists.h"
#include "output.h"
#include "progress_steps.h"

#include <portmajor/lab/circuits.h>

#include <jansson.h>

struct collective_request {
	uint32_t processes, latency_ns, mbps, setup_us, circuits;
	enum pm_collective algorithm; /* PM_NUM_COLLECTIVES: all */
	struct cli_list ports, sizes;
	const char *events;   /* a file; NULL: none */
	uint32_t call_setups; /* additional setups that each call waits for */
	struct cli_output output;
	struct lab_steps *steps; /* of all operations */
};

/* A rule for circuits. */
struct circuit_rule {
	const char *name; /* "naive", "proposed" or "ideal" */
	uint32_t ports;
	bool kept, ideal;
};

/* The rules: naive, proposed with each number of ports, and ideal. */
uint32_t collective_num_rules(const struct collective_request *request);
struct circuit_rule collective_rule(const struct collective_request *request,
				    uint32_t number);

struct pm_circuit_costs collective_costs(const struct collective_request *request,
					 struct circuit_rule rule);

/* Simulates one operation by that rule; an exit status. */
int collective_simulate(const struct collective_request *request,
			enum pm_collective algorithm, uint32_t bytes,
			struct circuit_rule rule, struct pm_circuits_result *result);

/*
 * The first simulates the file of events by each rule, and describes the results in
 * *object; an exit status. The second prints the object as text.
 */
int collective_events_play(const struct collective_request *request, json_t **object);
void collective_events_print(const json_t *object);

#endif
