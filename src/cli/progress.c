/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bar of progress on a terminal. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR "##################################################"
#define WIDTH ((int)sizeof(BAR) - 1)

void cli_progress_begin(struct cli_progress *progress, bool quiet)
{
	progress->shown = !quiet && isatty(STDERR_FILENO);
	progress->now = -1;
}

void cli_progress_show(struct cli_progress *progress, uint64_t done, uint64_t whole,
		       uint64_t number, uint64_t count)
{
	int now = (int)(done * (uint64_t)WIDTH / whole);

	if (!progress->shown || now == progress->now)
		return;
	progress->now = now;
	fprintf(stderr, "\r[%.*s%*s] %llu of %llu", now, BAR, WIDTH - now, "",
		(unsigned long long)number, (unsigned long long)count);
	fflush(stderr);
}

void cli_progress_end(const struct cli_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
