/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sweep.h"

#include "cli.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* What the threads share. */
struct work {
	const struct sweep *sweep;
	uint64_t count;	       /* of losses in this shard */
	_Atomic uint64_t next; /* the first that nobody has taken */
	_Atomic bool failed;
};

struct worker {
	struct work *work;
	struct pm_whatif *whatif; /* NULL: to be made */
	struct pm_ports ports;
	struct summary summary;
	struct pm_error err; /* why it failed */
	bool shows_progress;
	bool owns_whatif;
	pthread_t thread;
};

unsigned int sweep_processors(void)
{
	cpu_set_t set;
	int count;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	count = CPU_COUNT(&set);
	return count > 0 ? (unsigned int)count : 1;
}

static int try_one(struct worker *worker, uint64_t number)
{
	const struct sweep *sweep = worker->work->sweep;
	struct pm_whatif_result result;
	struct row row = {.number = number};

	worker->ports.num = 0;
	if (pm_losses_ports(sweep->losses, number, &worker->ports))
		return pm_error_set(&worker->err, -1, "out of memory");
	if (pm_whatif_lose(worker->whatif, worker->ports.list, worker->ports.num, &result,
			   &worker->err))
		return -1;
	row.value[METRIC_BLOCKS] = result.total.blocks;
	row.value[METRIC_BOUND] = result.total.bound;
	row.value[METRIC_SWITCHES] = result.total.switches;
	row.value[METRIC_ENTRIES] = result.total.entries;
	row.value[METRIC_PAIRS_CUT] = result.pairs_cut;
	row.value[METRIC_SWITCHES_CUT] = result.switches_cut;
	row.value[METRIC_LOAD] = result.load;
	row.value[METRIC_SHIFT] = result.shift;
	if (summary_add(&worker->summary, sweep->settings, &row))
		return pm_error_set(&worker->err, -1, "out of memory");
	return 0;
}

/* A bar of 50 characters, drawn anew when it grows. */
static void show_progress(uint64_t done, uint64_t count, int *shown)
{
	int now = count ? (int)((double)done / (double)count * 50) : 50;

	if (now == *shown)
		return;
	*shown = now;
	fprintf(stderr, "\r[%.*s%*s] %llu of %llu", now,
		"##################################################", 50 - now, "",
		(unsigned long long)done, (unsigned long long)count);
	fflush(stderr);
}

static void *work_on(void *argument)
{
	struct worker *worker = argument;
	struct work *work = worker->work;
	const struct sweep *sweep = work->sweep;
	int shown = -1;

	if (!worker->whatif &&
	    pm_whatif_new(sweep->fabric, sweep->config, &worker->whatif, &worker->err)) {
		atomic_store(&work->failed, true);
		return NULL;
	}
	for (;;) {
		uint64_t k = atomic_fetch_add(&work->next, 1);

		if (k >= work->count || atomic_load(&work->failed))
			return NULL;
		if (worker->shows_progress)
			show_progress(k, work->count, &shown);
		if (try_one(worker, k * sweep->settings->num_shards +
					    sweep->settings->shard - 1)) {
			atomic_store(&work->failed, true);
			return NULL;
		}
	}
}

/* Starts all but the first worker, and is that one. */
static void run_all(struct worker *workers, unsigned int num)
{
	unsigned int started = 1;

	/* A thread that cannot be started leaves its share to the others. */
	while (started < num && !pthread_create(&workers[started].thread, NULL, work_on,
						&workers[started]))
		started++;
	work_on(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Adds up what the workers found and frees what they had; an exit status. */
static int gather(const struct sweep *sweep, struct worker *workers, unsigned int num,
		  struct summary *summary)
{
	int status = EXIT_FINE;

	for (unsigned int i = 0; i < num; i++) {
		struct worker *w = &workers[i];

		if (w->err.text[0] && !status)
			status = cli_fail(EXIT_INPUT, "%s", w->err.text);
		if (!status && summary_merge(summary, &w->summary, sweep->settings))
			status = cli_fail(EXIT_INPUT, "out of memory");
		summary_free(&w->summary);
		free(w->ports.list);
		if (w->owns_whatif)
			pm_whatif_free(w->whatif);
	}
	return status;
}

static int name_rows(const struct sweep *sweep, struct summary *summary)
{
	for (uint32_t i = 0; i < summary->num_rows; i++) {
		struct row *row = &summary->row[i];

		row->lost = cli_losses_json(sweep->losses, row->number);
		if (!row->lost)
			return cli_fail(EXIT_INPUT, "out of memory");
	}
	return EXIT_FINE;
}

int sweep_run(const struct sweep *sweep, struct pm_whatif *first, struct summary *summary)
{
	uint64_t total = sweep->losses->count, shard = sweep->settings->shard - 1;
	uint64_t of = sweep->settings->num_shards;
	struct work work = {.sweep = sweep,
			    .count = total > shard ? (total - shard - 1) / of + 1 : 0};
	unsigned int num = sweep->threads;
	struct worker *workers;
	int status;

	if (num > work.count)
		num = work.count ? (unsigned int)work.count : 1;
	workers = calloc(num, sizeof(*workers));
	if (!workers)
		return cli_fail(EXIT_INPUT, "out of memory");
	for (unsigned int i = 0; i < num; i++) {
		workers[i].work = &work;
		workers[i].owns_whatif = i > 0;
	}
	workers[0].whatif = first;
	workers[0].shows_progress = sweep->progress;
	run_all(workers, num);
	if (sweep->progress)
		fputs("\r\033[K", stderr);
	status = gather(sweep, workers, num, summary);
	free(workers);
	if (!status) {
		summary_finish(summary, sweep->settings);
		status = name_rows(sweep, summary);
	}
	return status;
}
