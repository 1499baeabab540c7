/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the engine by the share of reachable pairs. */
#include <portmajor/policy/failback.h>

void pm_failback_init(struct pm_failback *failback, uint32_t first_ms,
		      uint32_t longest_ms)
{
	*failback = (struct pm_failback){.first_ms = first_ms, .longest_ms = longest_ms};
}

void pm_failback_set_holds(struct pm_failback *failback, uint32_t first_ms,
			   uint32_t longest_ms)
{
	failback->first_ms = first_ms;
	failback->longest_ms = longest_ms;
	if (failback->hold_ms > longest_ms)
		failback->hold_ms = longest_ms;
}

static void fail_over(struct pm_failback *failback, uint64_t now_ms)
{
	if (!failback->hold_ms || now_ms - failback->since_ms >= failback->longest_ms)
		failback->hold_ms = failback->first_ms;
	else if (failback->hold_ms > failback->longest_ms / 2)
		failback->hold_ms = failback->longest_ms;
	else
		failback->hold_ms *= 2;
	failback->failed_over = true;
}

static uint64_t observe_ours(struct pm_failback *failback,
			     const struct pm_reachable *reachable, uint64_t now_ms)
{
	if (pm_reachable_enough(reachable)) {
		if (reachable->connected > failback->usual)
			failback->usual = reachable->connected;
		failback->doubtful = false;
		return UINT64_MAX;
	}
	if (!failback->doubtful)
		failback->doubtful_since_ms = now_ms;
	failback->doubtful = reachable->connected < failback->usual / 2;
	if (failback->doubtful &&
	    now_ms - failback->doubtful_since_ms < failback->first_ms)
		return failback->doubtful_since_ms + failback->first_ms - now_ms;
	failback->doubtful = false;
	fail_over(failback, now_ms);
	return UINT64_MAX;
}

uint64_t pm_failback_observe(struct pm_failback *failback,
			     const struct pm_reachable *reachable, uint64_t now_ms)
{
	if (!failback->failed_over)
		return observe_ours(failback, reachable, now_ms);
	if (!pm_reachable_recovered(reachable)) {
		failback->recovered = false;
		return UINT64_MAX;
	}
	if (!failback->recovered)
		failback->since_ms = now_ms;
	failback->recovered = true;
	if (now_ms - failback->since_ms < failback->hold_ms)
		return failback->since_ms + failback->hold_ms - now_ms;
	failback->failed_over = failback->recovered = false;
	failback->since_ms = now_ms;
	return UINT64_MAX;
}

void pm_failback_clear(struct pm_failback *failback)
{
	failback->hold_ms = 0;
}
