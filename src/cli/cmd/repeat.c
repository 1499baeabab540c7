/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints a result again whenever it changes. */
#include "repeat.h"

#include <portmajor/base/hash.h>

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#define NEVER INT64_MAX

static volatile sig_atomic_t ended;

static void end_at_signal(int number)
{
	(void)number;
	ended = 1;
}

uint64_t cli_watch_file(uint64_t hash, const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return pm_hash_number(hash, 0);
	hash = pm_hash_number(hash, file.st_ino);
	hash = pm_hash_number(hash, (uint64_t)file.st_size);
	hash = pm_hash_number(hash, (uint64_t)file.st_mtim.tv_sec);
	return pm_hash_number(hash, (uint64_t)file.st_mtim.tv_nsec);
}

int cli_watch_run(const struct cli_watch *watch)
{
	const struct timespec second = {.tv_sec = 1};
	struct sigaction action = {.sa_handler = end_at_signal};
	uint64_t printed = 0;
	time_t again = 0; /* at once */
	int status = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!ended) {
		uint64_t mark = watch->mark(watch->request);

		if (mark != printed || time(NULL) >= again) {
			again = NEVER;
			status = watch->print(watch->request, &again);
			printed = mark;
			if (fflush(stdout))
				break;
		}
		nanosleep(&second, NULL); /* a signal ends this, too */
	}
	return status;
}
