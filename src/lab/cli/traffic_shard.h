/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shards of the runs of `portmajor-lab traffic`, one for each load and seed, and means.
 */
#ifndef PORTMAJOR_CLI_TRAFFIC_SHARD_H
#define PORTMAJOR_CLI_TRAFFIC_SHARD_H

#include "options.h"
#include "output.h"

#include <jansson.h>

/* Whether a run, counted from 0, belongs to the shard; with shard->of 0 all do. */
bool traffic_shard_has(const struct cli_shard *shard, uint32_t run);

/* The number of runs in the shard, of `total`. */
uint32_t traffic_shard_count(const struct cli_shard *shard, uint32_t total);

/*
 * Adds the shard's runs, in their order, to the engine's object; takes over both. All
 * shards of a whole have the same fingerprint.
 */
json_t *traffic_shard_json(json_t *object, const struct cli_shard *shard, uint32_t total,
			   uint64_t fingerprint, json_t *runs);

/* Checks that --shard comes with --json; an exit status. */
int traffic_shard_check(const struct cli_shard *shard, const struct cli_output *output);

/* Mean of a number over all runs, and half its 95% confidence interval. */
struct traffic_estimate {
	double mean, half;
	bool known; /* `half` is known: with two runs or more */
};

/* Of a member or, unless inner is NULL, of that member's member. */
struct traffic_estimate traffic_estimate(const json_t *runs, const char *member,
					 const char *inner);

/* Half of the interval, or null. */
json_t *traffic_half_json(struct traffic_estimate estimate);

/* Runs `from` to `from` + num - 1 of a list. */
json_t *traffic_some(const json_t *runs, size_t from, size_t num);

#endif
