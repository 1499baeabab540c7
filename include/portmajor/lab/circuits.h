/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulates schedules of messages on a network of circuits, by events. Each process has
 * its own clock. Ports and circuits are limited.
 *
 * Steps form groups. A process that begins a group requests circuits to all its partners
 * there at once; a circuit is set up when both ends have begun. It is full duplex, uses a
 * port at each end, and is taken down after its last message of the group. Setup and
 * teardown together take gamma, counted before the first message.
 */
#ifndef PORTMAJOR_CIRCUITS_H
#define PORTMAJOR_CIRCUITS_H

#include <portmajor/lab/collective.h>

#define PM_CIRCUITS_MAX_PORTS 64

struct pm_circuits_config {
	struct pm_circuit_costs costs; /* at most 1,000 seconds for a message */
	uint32_t ports;		       /* of each process, 1 to PM_CIRCUITS_MAX_PORTS */
	/*
	 * Whether a group has as many steps as a process has ports for; else it has one
	 * step.
	 */
	bool kept;
	/*
	 * Most circuits at a time; 0: any number. Groups are made to fit. In a single
	 * step that does not fit, circuits are set up in the order of the schedule, so
	 * that none waits for ever.
	 */
	uint32_t circuits;
};

struct pm_circuits_result {
	double seconds;	 /* until all is done */
	uint64_t setups; /* circuits set up */
	uint32_t groups; /* of steps */
	uint32_t peak;	 /* most circuits at a time */
	uint32_t ports;	 /* most ports of a process in use at a time */
	uint64_t events;
};

/*
 * -EINVAL: a process has more partners in a step than ports, or a cost is out of range;
 * -ERANGE: more than 18,000 seconds (the clock counts femtoseconds in 64 bits).
 * O(messages x (ports + log processes)).
 */
int pm_circuits_run(const struct pm_schedule *schedule,
		    const struct pm_circuits_config *config,
		    struct pm_circuits_result *result, struct pm_error *err);

/*
 * The same for a ring of `processes` (pm_collective_check), with any number of circuits
 * at a time: simulates four of its processes, and multiplies the counts. O(processes).
 */
int pm_circuits_run_ring(uint32_t processes, uint64_t bytes, bool alternating,
			 const struct pm_circuits_config *config,
			 struct pm_circuits_result *result, struct pm_error *err);

#endif
