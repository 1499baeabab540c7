/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The merge command of a program: adds up the files of --shard and --json. */
#ifndef PORTMAJOR_CLI_MERGE_H
#define PORTMAJOR_CLI_MERGE_H

#include "output.h"

#include <jansson.h>

/* Functions get the caller's `whole` and return an exit status. */
struct cli_merge {
	const char *about;
	int (*add)(void *whole, json_t *object, const char *path); /* a shard, borrowed */
	int (*print)(void *whole, const struct cli_output *output);
};

/* Reads options and files, and prints the whole; an exit status. */
int cli_merge_run(const struct cli_merge *merge, void *whole, int argc, char **argv);

#endif
