/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs of `portmajor-lab traffic`, one for each load and seed: in parts, which --shard
 * writes, and their common settings.
 */
#ifndef PORTMAJOR_CLI_TRAFFIC_SHARD_H
#define PORTMAJOR_CLI_TRAFFIC_SHARD_H

#include "options.h"
#include "output.h"

#include <jansson.h>

/* Whether a run, counted from 0, is to be done; all are if shard->of is 0. */
bool traffic_shard_has(const struct cli_shard *shard, uint32_t run);

/* How many are to be done of so many. */
uint32_t traffic_shard_count(const struct cli_shard *shard, uint32_t total);

/*
 * A shard: the object of the engine, without what comes of runs, and the shard's own runs
 * in their order; takes both. The fingerprint is the same for all shards of a whole.
 */
json_t *traffic_shard_json(json_t *object, const struct cli_shard *shard, uint32_t total,
			   uint64_t fingerprint, json_t *runs);

/* --shard goes with --json alone; an exit status. */
int traffic_shard_check(const struct cli_shard *shard, const struct cli_output *output);

/* Mean of a number in all runs of a list, and half of the interval that holds the true
 * one in 19 cases of 20. */
struct traffic_estimate {
	double mean, half;
	bool known; /* half is: of two runs and more */
};

/* Of a member, or of a member's member if that is not NULL. */
struct traffic_estimate traffic_estimate(const json_t *runs, const char *member,
					 const char *inner);

/* Half of the interval, or null. */
json_t *traffic_half_json(struct traffic_estimate estimate);

/* Runs from..from + num - 1 of a list. */
json_t *traffic_some(const json_t *runs, size_t from, size_t num);

#endif
