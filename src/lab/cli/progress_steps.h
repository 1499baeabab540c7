/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A progress bar for work in steps of about the same length. */
#ifndef PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H
#define PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H

#include "progress.h"

struct lab_steps {
	struct cli_progress bar;
	uint64_t done, all;
};

/* Begins a bar of `all` steps, 1 and up; draws nothing if quiet. */
void lab_steps_begin(struct lab_steps *steps, uint64_t all, bool quiet);

/*
 * Notes that a step is done. `steps` is a struct lab_steps, so that libraries can call
 * it.
 */
void lab_steps_next(void *steps);

/* Erases the bar. */
void lab_steps_end(const struct lab_steps *steps);

#endif
