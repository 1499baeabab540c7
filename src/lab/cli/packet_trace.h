/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages of an event list (goal.h) as those of hosts. */
#ifndef PORTMAJOR_CLI_PACKET_TRACE_H
#define PORTMAJOR_CLI_PACKET_TRACE_H

#include "traffic_packet.h"

#include <portmajor/lab/goal.h>

/* All by message; borrowed by a workload. */
struct packet_trace {
	struct pm_goal *goal;
	struct pm_workload_message *list;
	uint32_t *before;
	uint64_t *starts, *after; /* ticks */
	const uint64_t **delays;
	double bytes;
};

/* Reads the file of the request and makes its ranks the first hosts of the job, in the
 * order of lab->jobs; an exit status. To be freed in any case. */
int packet_trace_begin(const struct packet_lab *lab, struct packet_trace **trace);
void packet_trace_free(struct packet_trace *trace);

/* Has a workload do it. */
void packet_trace_set(const struct packet_trace *trace,
		      struct pm_workload_config *workload);

#endif
