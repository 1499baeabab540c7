/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Repeats output while files change, until interrupted. */
#ifndef PORTMAJOR_CLI_REPEAT_H
#define PORTMAJOR_CLI_REPEAT_H

#include <stdint.h>
#include <time.h>

struct cli_watch {
	/*
	 * Prints the output; an exit status. *again: when to print next, even without a
	 * change; it is the end of time at first.
	 */
	int (*print)(const void *request, time_t *again);
	/* A number that changes with the output. */
	uint64_t (*mark)(const void *request);
	const void *request;
};

/* Continues a mark over the file at path, or over its absence. */
uint64_t cli_watch_file(uint64_t hash, const char *path);

/*
 * Calls mark each second, and print when it is due, until SIGINT or SIGTERM, or until
 * nothing can be written any more. Returns the last exit status.
 */
int cli_watch_run(const struct cli_watch *watch);

#endif
