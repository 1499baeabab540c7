/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs of the packet engine, and their times. */
#ifndef PORTMAJOR_CLI_PACKET_RUN_H
#define PORTMAJOR_CLI_PACKET_RUN_H

#include "packet_request.h"

/* Convert times to ticks, at most PM_PACKET_MAX_TICKS, and back. */
uint32_t packet_ticks(const struct packet_lab *lab, uint64_t ps);
double packet_us(const struct packet_lab *lab, double ticks);

/* The same, or null where it is not known. */
json_t *packet_us_json(const struct packet_lab *lab, bool known, double ticks);

/* The engine's configuration without the failure. */
struct pm_packet_config packet_run_healthy(const struct packet_lab *lab);

struct packet_run {
	struct pm_workload *workload;
	struct pm_packet *packet;
	struct pm_packet_result r;
	const struct pm_packet_deadlock *deadlocks; /* if requested */
	uint32_t num_deadlocks;
};

/*
 * Runs a workload, in place of that in `engine`, to the end, or until a closed loop or
 * list is done. Call packet_run_end in any case. An exit status.
 */
int packet_run_begin(struct packet_lab *lab, const struct pm_workload_config *workload,
		     const struct pm_packet_config *engine, struct packet_run *run);
void packet_run_end(struct packet_run *run);

#endif
