/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tries many failures in several threads. */
#include <portmajor/analysis/failure_trials.h>

#include <portmajor/base/alloc.h>

#include <pthread.h>
#include <stdatomic.h>

/* The threads' common data. */
struct work {
	const struct pm_failure_trials *trials;
	uint64_t count;	       /* of failures in this shard */
	_Atomic uint64_t next; /* the first one not yet tried */
	_Atomic bool failed;
};

struct worker {
	struct work *work;
	struct pm_whatif *whatif; /* NULL: to be made */
	struct pm_ports ports;
	struct pm_failure_summary summary;
	int rc; /* the error, with a message */
	struct pm_error err;
	bool is_caller; /* uses the caller's whatif */
	pthread_t thread;
};

static int try_one(struct worker *worker, uint64_t number)
{
	const struct pm_failure_trials *trials = worker->work->trials;
	struct pm_whatif_result result;
	struct pm_row row = {.number = number};
	int rc;

	worker->ports.num = 0;
	if (pm_failures_ports(trials->failures, number, &worker->ports))
		return pm_error_no_memory(&worker->err);
	rc = pm_whatif_fail(worker->whatif, worker->ports.list, worker->ports.num,
			    &result, &worker->err);
	if (rc)
		return rc;
	row.value[PM_METRIC_BLOCKS] = result.total.blocks;
	row.value[PM_METRIC_RESTORING] = result.restoring;
	row.value[PM_METRIC_LEAST] = result.total.least;
	row.value[PM_METRIC_SWITCHES] = result.total.switches;
	row.value[PM_METRIC_ENTRIES] = result.total.entries;
	row.value[PM_METRIC_PAIRS_CUT] = result.pairs_cut;
	row.value[PM_METRIC_SWITCHES_CUT] = result.switches_cut;
	row.value[PM_METRIC_LOAD] = result.load;
	row.value[PM_METRIC_SHIFT] = result.shift;
	return pm_failure_summary_add(&worker->summary, &row)
		       ? pm_error_no_memory(&worker->err)
		       : 0;
}

/* Takes one failure after another until none is left or a thread has failed. */
static int try_all(struct worker *worker)
{
	struct work *work = worker->work;
	const struct pm_failure_trials *trials = work->trials;
	int rc = 0;

	if (!worker->whatif)
		rc = pm_whatif_new(trials->fabric, trials->config, &worker->whatif,
				   &worker->err);
	while (!rc && !atomic_load(&work->failed)) {
		uint64_t k = atomic_fetch_add(&work->next, 1);

		if (k >= work->count)
			break;
		if (worker->is_caller && trials->progress)
			trials->progress(k, work->count, trials->context);
		rc = try_one(worker, k * trials->num_shards + trials->shard - 1);
	}
	return rc;
}

static void *work_on(void *argument)
{
	struct worker *worker = argument;

	worker->rc = try_all(worker);
	if (worker->rc)
		atomic_store(&worker->work->failed, true);
	return NULL;
}

/* Starts all workers except the first, and runs that one itself. */
static void run_all(struct worker *workers, unsigned int num)
{
	unsigned int started = 1;

	/* If a thread cannot start, the others do its share. */
	while (started < num && !pthread_create(&workers[started].thread, NULL, work_on,
						&workers[started]))
		started++;
	work_on(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Adds up the workers' results. */
static int gather(const struct worker *workers, unsigned int num,
		  struct pm_failure_summary *summary, struct pm_error *err)
{
	struct pm_failure_summary sum = {.by = summary->by, .worst = summary->worst};
	int rc = pm_failure_summary_merge(&sum, summary) ? pm_error_no_memory(err) : 0;

	for (unsigned int i = 0; i < num && !rc; i++) {
		if (workers[i].rc)
			rc = pm_error_set(err, workers[i].rc, "%s", workers[i].err.text);
		else if (pm_failure_summary_merge(&sum, &workers[i].summary))
			rc = pm_error_no_memory(err);
	}
	if (rc) {
		pm_failure_summary_free(&sum);
		return rc;
	}
	pm_failure_summary_finish(&sum);
	pm_failure_summary_free(summary);
	*summary = sum;
	return 0;
}

static void free_workers(struct worker *workers, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		pm_failure_summary_free(&workers[i].summary);
		free(workers[i].ports.list);
		if (!workers[i].is_caller)
			pm_whatif_free(workers[i].whatif);
	}
	free(workers);
}

int pm_failure_trials_run(const struct pm_failure_trials *trials, struct pm_whatif *first,
			  struct pm_failure_summary *summary, struct pm_error *err)
{
	uint64_t total = trials->failures->count, before = trials->shard - 1;
	struct work work = {
		.trials = trials,
		.count = total > before ? (total - before - 1) / trials->num_shards + 1
					: 0};
	unsigned int num = trials->threads;
	struct worker *workers;
	int rc;

	if (num > work.count)
		num = work.count ? (unsigned int)work.count : 1;
	workers = pm_array(num, sizeof(*workers));
	if (!workers)
		return pm_error_no_memory(err);
	for (unsigned int i = 0; i < num; i++) {
		workers[i].work = &work;
		workers[i].summary.by = summary->by;
		workers[i].summary.worst = summary->worst;
	}
	workers[0].whatif = first;
	workers[0].is_caller = true;
	run_all(workers, num);
	rc = gather(workers, num, summary, err);
	free_workers(workers, num);
	return rc;
}
