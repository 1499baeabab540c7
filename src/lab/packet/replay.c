/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts a trace of LFT Sets on the packet engine's clock. */
#include <portmajor/lab/replay.h>
#include <portmajor/memory/xalloc.h>

#define FS UINT64_C(1000000) /* per ns */

/* A Set in the run. */
struct timed_set {
	uint32_t time, set;
};

static int compare_sets_in_time(const void *a, const void *b)
{
	const struct timed_set *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->set < y->set ? -1 : x->set > y->set;
}

/* A time in ticks; PM_PACKET_MAX_TICKS if there are more. */
static uint64_t ticks_of(const struct pm_replay_config *config, uint64_t ns)
{
	if (ns > config->tick * PM_PACKET_MAX_TICKS / FS)
		return PM_PACKET_MAX_TICKS;
	return (ns * FS + config->tick / 2) / config->tick;
}

/* The tick of a time in the recording. */
static uint64_t find_tick(const struct pm_lft_trace *trace,
			  const struct pm_replay_config *config, uint64_t ns)
{
	uint64_t since, ticks;

	if (ns >= trace->failed_at) {
		since = ns - trace->failed_at;
		return since < config->before
			       ? 0
			       : config->fail_at +
					 ticks_of(config, since - config->before);
	}
	ticks = ticks_of(config, trace->failed_at - ns);
	return ticks < config->fail_at ? config->fail_at - ticks : 0;
}

static uint32_t list_in_time(const struct pm_lft_trace *trace,
			     const struct pm_replay_config *config,
			     struct timed_set *timed, struct pm_replay *replay)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < trace->num; i++) {
		uint64_t arrived = trace->set[i].arrived, tick;

		if (arrived == PM_LFT_TRACE_NEVER)
			continue;
		tick = find_tick(trace, config, arrived);
		if (tick < config->end) {
			timed[num++] = (struct timed_set){(uint32_t)tick, i};
			continue;
		}
		replay->late++;
		if (arrived > trace->failed_at + replay->last)
			replay->last = arrived - trace->failed_at;
	}
	qsort(timed, num, sizeof(*timed), compare_sets_in_time);
	return num;
}

static void list_returns(const struct pm_lft_trace *trace,
			 const struct pm_replay_config *config, struct pm_replay *replay)
{
	for (uint32_t i = 0; i < trace->num_active; i++) {
		uint64_t tick = find_tick(trace, config, trace->active[i].ns);

		if (tick <= config->fail_at)
			tick = config->fail_at + UINT64_C(1);
		if (tick < config->end)
			replay->returns[replay->num_returns++] =
				(struct pm_packet_return){(uint32_t)tick,
							  trace->active[i].port};
	}
}

void pm_replay_make(const struct pm_lft_trace *trace,
		    const struct pm_replay_config *config, struct pm_replay *replay)
{
	struct timed_set *timed = pm_xarray(trace->num, sizeof(*timed));

	*replay = (struct pm_replay){0};
	replay->num = list_in_time(trace, config, timed, replay);
	replay->list = pm_xarray(replay->num, sizeof(*replay->list));
	replay->returns = pm_xarray(trace->num_active, sizeof(*replay->returns));
	list_returns(trace, config, replay);
	for (uint32_t i = 0; i < replay->num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[timed[i].set];

		replay->list[i] = (struct pm_packet_set){
			.time = timed[i].time, .sw = set->sw, .block = set->block};
		memcpy(replay->list[i].entries,
		       trace->entries + (size_t)timed[i].set * PM_LFT_BLOCK,
		       PM_LFT_BLOCK);
	}
	free(timed);
}
