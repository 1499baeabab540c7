/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes hosts' messages from event lists. */
#include "packet_trace.h"

#include <portmajor/memory/xalloc.h>

#define BLOCK 64

static uint64_t ticks_of(const struct packet_lab *lab, uint64_t ns)
{
	return (uint64_t)((double)ns * 1e6 / (double)lab->tick + 0.5);
}

static void allocate_trace(struct packet_trace *trace)
{
	const struct pm_goal *goal = trace->goal;

	trace->list = pm_xarray(goal->num, sizeof(*trace->list));
	trace->starts = pm_xarray(goal->num, sizeof(*trace->starts));
	trace->delays = pm_xarray(goal->num, sizeof(*trace->delays));
	trace->before = pm_xarray(goal->num_waits, sizeof(*trace->before));
	trace->after = pm_xarray(goal->num_waits, sizeof(*trace->after));
}

static void convert(const struct packet_lab *lab, struct packet_trace *trace)
{
	const struct pm_goal *goal = trace->goal;

	for (uint32_t i = 0; i < goal->num_waits; i++) {
		trace->before[i] = goal->waits[i].message;
		trace->after[i] = ticks_of(lab, goal->waits[i].ns);
	}
	for (uint32_t i = 0; i < goal->num; i++) {
		const struct pm_goal_message *m = &goal->list[i];

		trace->list[i] = (struct pm_workload_message){
			.from = lab->jobs.order[m->from],
			.to = lab->jobs.order[m->to],
			.blocks = m->bytes > BLOCK
					  ? (uint32_t)((m->bytes + BLOCK - 1) / BLOCK)
					  : 1,
			.num_before = m->num_waits,
			.before = trace->before + m->first_wait,
		};
		trace->starts[i] = ticks_of(lab, m->ns);
		trace->delays[i] = trace->after + m->first_wait;
		trace->bytes += (double)m->bytes;
	}
}

int packet_trace_begin(const struct packet_lab *lab, struct packet_trace **result)
{
	struct packet_trace *trace = pm_xarray(1, sizeof(*trace));
	struct pm_error err;

	*result = trace;
	if (pm_goal_read(lab->request->trace, &trace->goal, &err))
		return cli_refuse(&err);
	if (trace->goal->ranks > lab->jobs.hosts)
		return cli_fail(EXIT_INPUT, "%s has %u ranks; there are %u hosts",
				lab->request->trace, trace->goal->ranks, lab->jobs.hosts);
	allocate_trace(trace);
	convert(lab, trace);
	return EXIT_FINE;
}

void packet_trace_free(struct packet_trace *trace)
{
	if (!trace)
		return;
	pm_goal_free(trace->goal);
	free(trace->list);
	free(trace->before);
	free(trace->starts);
	free(trace->after);
	free(trace->delays);
	free(trace);
}

void packet_trace_set(const struct packet_trace *trace,
		      struct pm_workload_config *workload)
{
	workload->list = trace->list;
	workload->num_list = trace->goal->num;
	workload->starts = trace->starts;
	workload->delays = trace->delays;
}
