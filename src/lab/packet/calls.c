/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a workload's messages from calls of collective operations. */
#include <portmajor/lab/calls.h>

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>

#define BLOCK 64

/* State of a process while the list is made. */
struct process {
	uint32_t first, last; /* list, in next[], of what its next message waits for */
};

struct builder {
	const struct pm_calls_config *config;
	const struct pm_schedule *schedule;
	struct pm_calls *calls;
	struct pm_pool pool;
	struct process *processes;
	uint32_t *next; /* [2 x message + (0: for its sender, 1: for its receiver)] */
	uint32_t job;
	uint32_t num_before;
};

/* Whether each process sends its share to all others, and not one process everything. */
static bool is_shared(enum pm_collective algorithm)
{
	return algorithm == PM_COLLECTIVE_RING || algorithm == PM_COLLECTIVE_DOUBLING;
}

/* The blocks that one process has at the beginning. */
static uint64_t share(enum pm_collective algorithm, uint32_t processes, uint64_t bytes)
{
	uint64_t unit = (uint64_t)BLOCK * (is_shared(algorithm) ? processes : 1);

	return bytes / unit + (bytes % unit != 0);
}

uint64_t pm_calls_bytes(enum pm_collective algorithm, uint32_t processes, uint64_t bytes)
{
	return share(algorithm, processes, bytes) * BLOCK *
	       (is_shared(algorithm) ? processes : 1);
}

/* ---- The list ---- */

/*
 * Adds a message to those that a process waits for; end: 0 for a sent one, 1 for a
 * received one.
 */
static void wait_for(struct builder *builder, uint32_t p, uint32_t message, uint32_t end)
{
	struct process *process = &builder->processes[p];
	uint32_t at = 2 * message + end;

	builder->next[at] = PM_NONE;
	if (process->first == PM_NONE)
		process->first = at;
	else
		builder->next[process->last] = at;
	process->last = at;
}

/* Stores what a process's next message waits for; returns how many. */
static uint32_t store_before(struct builder *builder, struct process *process)
{
	uint32_t from = builder->num_before;

	for (uint32_t at = process->first; at != PM_NONE; at = builder->next[at])
		builder->calls->before[builder->num_before++] = at / 2;
	process->first = PM_NONE;
	return builder->num_before - from;
}

static void add_message(struct builder *builder,
			const struct pm_schedule_message *message, uint32_t index)
{
	const struct pm_calls_config *config = builder->config;
	const uint32_t *hosts = config->hosts + (size_t)builder->job * config->stride;
	struct process *process = &builder->processes[message->from];
	uint64_t blocks = share(config->algorithm, config->processes, config->bytes);
	uint32_t num_before = store_before(builder, process);

	builder->calls->list[index] = (struct pm_workload_message){
		.from = hosts[message->from],
		.to = hosts[message->to],
		.blocks =
			(uint32_t)(is_shared(config->algorithm) ? blocks * message->blocks
								: blocks),
		.num_before = num_before,
		.before = builder->calls->before + builder->num_before - num_before,
	};
	wait_for(builder, message->from, index, 0);
}

/*
 * Adds the messages of a call, from `base` in the list on. A process sends one message in
 * a step, or none.
 */
static void add_call(struct builder *builder, uint32_t base)
{
	const struct pm_schedule *schedule = builder->schedule;

	for (uint32_t first = 0, end; first < schedule->num; first = end) {
		uint32_t step = schedule->messages[first].step;

		for (end = first;
		     end < schedule->num && schedule->messages[end].step == step; end++)
			add_message(builder, &schedule->messages[end], base + end);
		for (uint32_t m = first; m < end; m++)
			wait_for(builder, schedule->messages[m].to, base + m, 1);
	}
}

static void add_job(struct builder *builder)
{
	uint32_t calls = builder->config->calls, per_call = builder->schedule->num;

	for (uint32_t p = 0; p < builder->config->processes; p++)
		builder->processes[p] = (struct process){.first = PM_NONE};
	for (uint32_t call = 0; call < calls; call++)
		add_call(builder, (builder->job * calls + call) * per_call);
}

static int check_calls(const struct pm_calls_config *config,
		       const struct pm_schedule *schedule, struct pm_error *err)
{
	uint64_t most = share(config->algorithm, config->processes, config->bytes);

	if (schedule->num > PM_CALLS_MAX_MESSAGES / config->jobs / config->calls)
		return pm_error_set(
			err, -EINVAL,
			"%u calls of %u jobs, of %u messages each: more than %u in all",
			config->calls, config->jobs, schedule->num,
			PM_CALLS_MAX_MESSAGES);
	if (config->algorithm == PM_COLLECTIVE_DOUBLING)
		most *= config->processes / 2; /* in the last step */
	if (most > PM_MESSAGE_MAX)
		return pm_error_set(err, -EINVAL, "a message has more than %u blocks",
				    PM_MESSAGE_MAX);
	return 0;
}

static void make_calls(struct builder *builder)
{
	const struct pm_calls_config *config = builder->config;
	struct pm_calls *calls = builder->calls;

	calls->per_call = builder->schedule->num;
	calls->num = config->jobs * config->calls * calls->per_call;
	calls->list = pm_xarray(calls->num, sizeof(*calls->list));
	calls->before = pm_xarray(2 * (size_t)calls->num, sizeof(*calls->before));
	builder->processes = pm_pool_xarray(&builder->pool, config->processes,
					    sizeof(*builder->processes));
	builder->next = pm_pool_xarray(&builder->pool, 2 * (size_t)calls->num,
				       sizeof(*builder->next));
	for (builder->job = 0; builder->job < config->jobs; builder->job++)
		add_job(builder);
}

int pm_calls_make(const struct pm_calls_config *config, struct pm_calls **result,
		  struct pm_error *err)
{
	struct pm_schedule *schedule = pm_schedule_make(
		config->algorithm, config->processes, config->bytes, false);
	struct builder builder = {.config = config, .schedule = schedule};
	int rc = check_calls(config, schedule, err);

	if (!rc) {
		*result = builder.calls = pm_xarray(1, sizeof(*builder.calls));
		make_calls(&builder);
	}
	pm_schedule_free(schedule);
	pm_pool_free(&builder.pool);
	return rc;
}

void pm_calls_free(struct pm_calls *calls)
{
	if (calls) {
		free(calls->list);
		free(calls->before);
	}
	free(calls);
}
