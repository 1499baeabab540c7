/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes schedules of collective operations, and computes their times by equations. */
#include <portmajor/lab/collective.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>

static const char *const names[] = {"linear", "ring", "recursive-doubling", "binomial"};

const char *pm_collective_name(enum pm_collective algorithm)
{
	return names[algorithm];
}

int pm_collective_parse(const char *name, enum pm_collective *algorithm)
{
	for (unsigned int i = 0; i < PM_NUM_COLLECTIVES; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*algorithm = (enum pm_collective)i;
		return 0;
	}
	return -EINVAL;
}

int pm_collective_check(enum pm_collective algorithm, uint32_t processes,
			struct pm_error *err)
{
	static const struct {
		uint32_t first;
		const char *what;
	} wanted[] = {
		[PM_COLLECTIVE_LINEAR] = {2, "a number"},
		[PM_COLLECTIVE_RING] = {4, "an even number"},
		[PM_COLLECTIVE_DOUBLING] = {2, "a power of two"},
		[PM_COLLECTIVE_BINOMIAL] = {2, "a power of two"},
	};
	bool fine = true;

	if (algorithm == PM_COLLECTIVE_RING)
		fine = processes % 2 == 0;
	else if (algorithm != PM_COLLECTIVE_LINEAR)
		fine = (processes & (processes - 1)) == 0;
	if (fine && processes >= wanted[algorithm].first &&
	    processes <= PM_COLLECTIVE_MAX)
		return 0;
	return pm_error_set(err, -EINVAL, "%s: %u processes: not %s from %u to %u",
			    names[algorithm], processes, wanted[algorithm].what,
			    wanted[algorithm].first, PM_COLLECTIVE_MAX);
}

/* ---- Equations ---- */

static uint32_t log2_of(uint32_t processes)
{
	return 31 - (uint32_t)__builtin_clz(processes);
}

static uint32_t divide_up(uint32_t dividend, uint32_t divisor)
{
	return dividend / divisor + (dividend % divisor != 0);
}

uint32_t pm_collective_setups(enum pm_collective algorithm, uint32_t processes,
			      uint32_t ports)
{
	if (algorithm == PM_COLLECTIVE_LINEAR)
		return divide_up(processes - 1, ports);
	if (algorithm == PM_COLLECTIVE_RING)
		return ports == 1 ? 2 * (processes - 1) : 1;
	return divide_up(log2_of(processes), ports);
}

double pm_collective_seconds(enum pm_collective algorithm, uint32_t processes,
			     uint64_t bytes, uint32_t ports,
			     const struct pm_circuit_costs *costs)
{
	double all = (double)bytes * costs->beta, share = all / processes;
	double others = processes - 1, steps = log2_of(processes), sending = 0;

	switch (algorithm) {
	case PM_COLLECTIVE_LINEAR:
		sending = others * (costs->alpha + all);
		break;
	case PM_COLLECTIVE_RING:
		sending = (ports == 1 ? 2 : 1) * others * (costs->alpha + share);
		break;
	case PM_COLLECTIVE_DOUBLING:
		sending = steps * costs->alpha + others * share;
		break;
	default: /* binomial */
		sending = steps * (costs->alpha + all);
	}
	return sending + pm_collective_setups(algorithm, processes, ports) * costs->gamma;
}

/* ---- Schedules ---- */

static void add_transfer(struct pm_schedule *schedule, uint32_t step, uint32_t from,
			 uint32_t to, uint32_t blocks)
{
	schedule->messages[schedule->num++] =
		(struct pm_schedule_message){step, from, to, blocks};
	schedule->steps = step + 1;
}

static void add_linear(struct pm_schedule *schedule)
{
	for (uint32_t to = 1; to < schedule->processes; to++)
		add_transfer(schedule, to - 1, 0, to, schedule->processes);
}

static void add_ring(struct pm_schedule *schedule, bool alternating)
{
	uint32_t num = schedule->processes, stride = alternating ? 2 : 1;

	for (uint32_t step = 0; step < (schedule->parts - 1) * stride; step++)
		for (uint32_t from = step % stride; from < num; from += stride)
			add_transfer(schedule, step, from, (from + 1) % num, 1);
}

static void add_doubling(struct pm_schedule *schedule)
{
	uint32_t num = schedule->processes;

	for (uint32_t step = 0; step < log2_of(num); step++)
		for (uint32_t from = 0; from < num; from++)
			add_transfer(schedule, step, from, from ^ 1U << step, 1U << step);
}

static void add_binomial(struct pm_schedule *schedule)
{
	uint32_t num = schedule->processes;

	for (uint32_t step = 0; step < log2_of(num); step++)
		for (uint32_t from = 0; from < 1U << step; from++)
			add_transfer(schedule, step, from, from + (1U << step), num);
}

/* Makes a schedule without messages. */
static struct pm_schedule *new_schedule(uint32_t processes, uint32_t parts,
					uint64_t bytes, size_t messages)
{
	struct pm_schedule *schedule = pm_xarray(1, sizeof(*schedule));

	*schedule = (struct pm_schedule){
		.processes = processes,
		.parts = parts,
		.bytes = bytes,
		.messages = pm_xarray(messages, sizeof(*schedule->messages)),
	};
	return schedule;
}

struct pm_schedule *pm_schedule_make_four(uint32_t processes, uint64_t bytes,
					  bool alternating)
{
	struct pm_schedule *schedule =
		new_schedule(4, processes, bytes, (size_t)4 * (processes - 1));

	add_ring(schedule, alternating);
	return schedule;
}

struct pm_schedule *pm_schedule_make(enum pm_collective algorithm, uint32_t processes,
				     uint64_t bytes, bool alternating)
{
	struct pm_schedule *schedule;
	size_t num = processes - 1;

	if (algorithm == PM_COLLECTIVE_RING)
		num *= processes;
	else if (algorithm == PM_COLLECTIVE_DOUBLING)
		num = (size_t)processes * log2_of(processes);
	schedule = new_schedule(processes, processes, bytes, num);
	switch (algorithm) {
	case PM_COLLECTIVE_LINEAR:
		add_linear(schedule);
		break;
	case PM_COLLECTIVE_RING:
		add_ring(schedule, alternating);
		break;
	case PM_COLLECTIVE_DOUBLING:
		add_doubling(schedule);
		break;
	default:
		add_binomial(schedule);
	}
	return schedule;
}

void pm_schedule_free(struct pm_schedule *schedule)
{
	if (schedule)
		free(schedule->messages);
	free(schedule);
}

double pm_schedule_size(const struct pm_schedule *schedule,
			const struct pm_schedule_message *message)
{
	return (double)schedule->bytes * message->blocks / schedule->parts;
}
