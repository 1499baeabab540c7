/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages of an event list (goal.h) as messages between hosts. */
#ifndef PORTMAJOR_CLI_PACKET_TRACE_H
#define PORTMAJOR_CLI_PACKET_TRACE_H

#include "packet_request.h"

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

/*
 * Reads the request's file. Its ranks become the first hosts of lab->jobs. An exit
 * status. The caller frees *trace in any case.
 */
int packet_trace_begin(const struct packet_lab *lab, struct packet_trace **trace);
void packet_trace_free(struct packet_trace *trace);

void packet_trace_set(const struct packet_trace *trace,
		      struct pm_workload_config *workload);

#endif
