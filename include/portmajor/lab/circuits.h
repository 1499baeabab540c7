/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Schedules of messages on a network of circuits, played event by event: each process has
 * a clock of its own, its ports and all circuits are things that can run out.
 *
 * Steps are taken together in groups. A process that comes to a group asks for circuits
 * to all with whom it exchanges messages there; one is set up when both ends have come,
 * and all at once. It is full duplex, takes a port of each end, and is taken down behind
 * its last message of the group. Setting up and taking down takes gamma, which is counted
 * as a whole before the first message; that changes no sum.
 */
#ifndef PORTMAJOR_CIRCUITS_H
#define PORTMAJOR_CIRCUITS_H

#include <portmajor/lab/collective.h>

#define PM_CIRCUITS_MAX_PORTS 64

struct pm_circuits_config {
	struct pm_circuit_costs costs; /* at most 1,000 seconds for a message */
	uint32_t ports;		       /* of each process, 1 to PM_CIRCUITS_MAX_PORTS */
	/* A group is as many steps as the ports have circuits for; else one step. */
	bool kept;
	/*
	 * How many there can be at a time; 0: any number. Groups are made so that they
	 * fit; where a single step does not, its circuits wait for each other. All are
	 * set up in the order of the schedule then, so that none waits for ever.
	 */
	uint32_t circuits;
};

struct pm_circuits_result {
	double seconds;	 /* until all is done */
	uint64_t setups; /* circuits that were set up */
	uint32_t groups; /* of steps */
	uint32_t peak;	 /* most circuits at a time */
	uint32_t ports;	 /* most ports of a process in use at a time */
	uint64_t events;
};

/*
 * -EINVAL: a process has to do with more others in a step than it has ports, or a cost is
 * out of range; -ERANGE: it takes more than 18,000 seconds (the clock counts femtoseconds
 * in 64 bits); -ENOMEM. O(messages x (ports + log processes)).
 */
int pm_circuits_run(const struct pm_schedule *schedule,
		    const struct pm_circuits_config *config,
		    struct pm_circuits_result *result, struct pm_error *err);

#endif
