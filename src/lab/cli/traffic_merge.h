/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How `portmajor merge` makes a whole of the shards of `portmajor traffic`. */
#ifndef PORTMAJOR_CLI_TRAFFIC_MERGE_H
#define PORTMAJOR_CLI_TRAFFIC_MERGE_H

#include "output.h"

#include <jansson.h>

#include <stdint.h>

/* Zeroed: nothing yet. */
struct traffic_whole {
	json_t *head;	/* what all shards have in common */
	json_t *shards; /* runs by the shard's index */
	uint32_t of, total;
};

/* Whether an object is one of `portmajor traffic`. */
bool traffic_is_traffic(const json_t *object);

/* Adds a shard; an exit status. */
int traffic_whole_add(struct traffic_whole *whole, json_t *object, const char *path);

/* Prints what one run over all would have printed, and returns its exit status; another
 * one if a shard is missing. */
int traffic_whole_print(struct traffic_whole *whole, const struct cli_output *output);

void traffic_whole_free(struct traffic_whole *whole);

#endif
