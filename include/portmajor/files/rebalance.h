/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request for rebalancing, that is for replacing tables by the plan's. `portmajor
 * rebalance` writes the file `rebalance` into the plugin's folder of a fabric; the plugin
 * reads and removes it. It has blank lines, comments from # to the end of a line, and at
 * most one line
 *
 *     rate BLOCKS_PER_SECOND
 *
 * An empty file will do.
 */
#ifndef PORTMAJOR_REBALANCE_H
#define PORTMAJOR_REBALANCE_H

#include <portmajor/base/error.h>

#include <stdint.h>
#include <stdio.h>

#define PM_REBALANCE_RATE_MAX 1000000

struct pm_rebalance {
	uint32_t rate; /* LFT blocks per second, 1 to PM_REBALANCE_RATE_MAX; 0: not given
			*/
};

/*
 * Reads a request; untouched on failure. -ENOENT: no file; -EINVAL: bad line, with
 * "path:LINE: ", or no text; -EFBIG: more than 1 MiB; -ENOMEM; -errno of opening or
 * reading.
 */
int pm_rebalance_read(const char *path, struct pm_rebalance *request,
		      struct pm_error *err);

/* The same for text in memory, called source in messages. */
int pm_rebalance_parse(const char *text, const char *source, struct pm_rebalance *request,
		       struct pm_error *err);

/* Writes the file's text; the caller checks the stream. */
void pm_rebalance_print(const struct pm_rebalance *request, FILE *file);

#endif
