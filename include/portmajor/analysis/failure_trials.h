/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tries many failures, on several threads. */
#ifndef PORTMAJOR_FAILURE_TRIALS_H
#define PORTMAJOR_FAILURE_TRIALS_H

#include <portmajor/analysis/failure_summary.h>
#include <portmajor/analysis/failures.h>
#include <portmajor/analysis/whatif.h>

struct pm_failure_trials {
	const struct pm_fabric *fabric;
	const struct pm_whatif_config *config;
	const struct pm_failures *failures;
	/* Failures with number mod num_shards = shard - 1; shard is 1 to num_shards. */
	uint32_t shard, num_shards;
	unsigned int threads; /* 1 and up; each has its own tables */
	/*
	 * If not NULL, pm_failure_trials_run calls it on its own thread, for each failure
	 * that this thread tries. done: failures that all threads have tried so far;
	 * count: failures of the shard.
	 */
	void (*progress)(uint64_t done, uint64_t count, void *context);
	void *context;
};

/*
 * Tries the shard's failures, adds them to the summary, and finishes it. The result does
 * not depend on the number of threads. `first` is a whatif of that fabric and
 * configuration, for the calling thread. After an error the summary is unchanged. Errors
 * as pm_whatif_new and pm_whatif_fail.
 */
int pm_failure_trials_run(const struct pm_failure_trials *trials, struct pm_whatif *first,
			  struct pm_failure_summary *summary, struct pm_error *err);

#endif
