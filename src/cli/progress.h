/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bar of 50 characters on stderr, if that is a terminal. */
#ifndef PORTMAJOR_CLI_PROGRESS_H
#define PORTMAJOR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
	bool shown;
	int now; /* characters drawn; -1: none yet */
};

/* Draws nothing if quiet. */
void cli_progress_begin(struct cli_progress *progress, bool quiet);

/*
 * Shows the done part of the whole, and "number of count" beside it. Draws only when the
 * bar grows.
 */
void cli_progress_show(struct cli_progress *progress, uint64_t done, uint64_t whole,
		       uint64_t number, uint64_t count);

/* Erases the bar. */
void cli_progress_end(const struct cli_progress *progress);

#endif
