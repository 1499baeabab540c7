/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shows a progress bar of work in steps. */
#include "progress_steps.h"

void lab_steps_begin(struct lab_steps *steps, uint64_t all, bool quiet)
{
	*steps = (struct lab_steps){.all = all};
	cli_progress_begin(&steps->bar, quiet);
}

void lab_steps_next(void *to)
{
	struct lab_steps *steps = to;

	steps->done += steps->done < steps->all;
	cli_progress_show(&steps->bar, steps->done, steps->all, steps->done, steps->all);
}

void lab_steps_end(const struct lab_steps *steps)
{
	cli_progress_end(&steps->bar);
}
