/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A progress bar of work in steps that take about as long as each other. */
#ifndef PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H
#define PORTMAJOR_LAB_CLI_PROGRESS_STEPS_H

#include "progress.h"

struct lab_steps {
	struct cli_progress bar;
	uint64_t done, all;
};

/* Of so many steps, 1 and up; nothing is drawn if quiet. */
void lab_steps_begin(struct lab_steps *steps, uint64_t all, bool quiet);

/* One more is done: a struct lab_steps, in a form that libraries can call. */
void lab_steps_next(void *steps);

/* Wipes the bar away. */
void lab_steps_end(const struct lab_steps *steps);

#endif
