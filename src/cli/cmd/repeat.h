/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks at files until interrupted. */
#ifndef PORTMAJOR_CLI_REPEAT_H
#define PORTMAJOR_CLI_REPEAT_H

#include <stdint.h>
#include <time.h>

struct cli_watch {
	/* Prints it; an exit status. Another look is due at *again, at the end of time
	 * else. */
	int (*look)(const void *request, time_t *again);
	/* A number that changes with the output. */
	uint64_t (*mark)(const void *request);
	const void *request;
};

/* Files as such a mark: also that one is not there. */
uint64_t cli_watch_file(uint64_t hash, const char *path);

/* Looks each second until SIGINT or SIGTERM, or nothing can be written any more; the
 * last exit status. */
int cli_watch_run(const struct cli_watch *watch);

#endif
