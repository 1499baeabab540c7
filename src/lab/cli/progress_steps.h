/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A progress bar for work in steps of about the same length. */
#ifndef PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H
#define PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H

#include "progress.h"

struct lab_steps {
	struct cli_progress bar;
	uint64_t done, all;
};

/* Draws a bar of `all` steps, 1 and up, unless quiet. */
void lab_steps_begin(struct lab_steps *steps, uint64_t all, bool quiet);

/* A step is done. `steps` is a struct lab_steps: libraries can call it. */
void lab_steps_next(void *steps);

void lab_steps_end(const struct lab_steps *steps);

#endif
