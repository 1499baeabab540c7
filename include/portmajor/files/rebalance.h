/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request for rebalancing: tables are to go over to those of the plan. `portmajor
 * rebalance` writes it as the file `rebalance` into the plugin's folder of a fabric, and
 * the plugin removes it when it has read it. Blank lines, comments from # to the end of
 * a line, and at most one line
 *
 *     rate BLOCKS_PER_SECOND
 *
 * so that an empty file will do.
 */
#ifndef PORTMAJOR_REBALANCE_H
#define PORTMAJOR_REBALANCE_H

#include <portmajor/base/error.h>

#include <stdint.h>
#include <stdio.h>

#define PM_REBALANCE_RATE_MAX 1000000

struct pm_rebalance {
	uint32_t rate; /* LFT blocks per second, 1 to PM_REBALANCE_RATE_MAX; 0: none given
			*/
};

/*
 * Reads a request, which is untouched on failure. -ENOENT: there is none; -EINVAL: bad
 * line, with a message that begins with "path:LINE: ", or not a text; -EFBIG: more than
 * 1 MiB; -ENOMEM; -errno of opening or reading.
 */
int pm_rebalance_read(const char *path, struct pm_rebalance *request,
		      struct pm_error *err);

/* The same for text in memory, which source names in messages. */
int pm_rebalance_parse(const char *text, const char *source, struct pm_rebalance *request,
		       struct pm_error *err);

/* Writes the file's text; errors of the stream are for the caller to see. */
void pm_rebalance_print(const struct pm_rebalance *request, FILE *file);

#endif
