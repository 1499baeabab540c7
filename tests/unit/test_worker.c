/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rounds come when they are requested or due, and a round that hangs delays no other
 * thread.
 */
#include "unit.h"

#include "engine/worker.h"

#include "engine/clock.h"

#include <float.h>
#include <sched.h>
#include <stdatomic.h>

#define LONG_MS 60e3 /* more than any test takes */

struct work {
	struct worker *worker;
	atomic_int rounds, lasts, entered;
	atomic_bool hold; /* a round does not end while this is set */
	_Atomic double due_in_ms;
};

static double go_round(void *context, bool last)
{
	struct work *work = context;
	double in_ms = work->due_in_ms;

	work->lasts += last;
	work->rounds++;
	while (work->hold)
		sched_yield();
	worker_enter(work->worker);
	work->entered++;
	worker_leave(work->worker);
	return in_ms < DBL_MAX ? clock_ms() + in_ms : DBL_MAX;
}

/* Leaves it to the caller, or to a worker that is left behind, to free it. */
static struct work *start(void)
{
	struct work *work = calloc(1, sizeof(*work));

	assert_non_null(work);
	work->due_in_ms = DBL_MAX;
	work->worker = worker_start("test", go_round, work);
	assert_non_null(work->worker);
	return work;
}

static void await(const atomic_int *count, int number)
{
	double start_ms = clock_ms();

	while (*count < number) {
		assert_true(clock_ms() < start_ms + LONG_MS);
		sched_yield();
	}
}

static void end_work(struct work *work)
{
	assert_true(worker_stop(work->worker, clock_ms() + LONG_MS));
	assert_int_equal(work->lasts, 1);
	assert_int_equal(work->entered, work->rounds);
	worker_poke(work->worker); /* that no thread follows */
	worker_free(work->worker);
	assert_int_equal(work->lasts, 1);
	free(work);
}

static void test_poked(void **state)
{
	struct work *work = start();

	assert_int_equal(work->rounds, 0);
	for (int i = 1; i <= 100; i++) {
		worker_poke(work->worker);
		await(&work->rounds, i);
	}
	assert_int_equal(work->rounds, 100);
	end_work(work);
}

/* One in the middle of a round is for the next. */
static void test_poked_in_a_round(void **state)
{
	struct work *work = start();

	work->hold = true;
	worker_poke(work->worker);
	await(&work->rounds, 1);
	for (int i = 0; i < 10; i++)
		worker_poke(work->worker);
	assert_int_equal(work->rounds, 1);
	work->hold = false;
	await(&work->rounds, 2);
	end_work(work);
}

static void test_due(void **state)
{
	struct work *work = start();

	work->due_in_ms = 1;
	worker_poke(work->worker);
	await(&work->rounds, 20);
	end_work(work);
}

static void test_never_poked(void **state)
{
	struct work *work = start();

	worker_end(work->worker);
	await(&work->lasts, 1);
	end_work(work);
	worker_end(NULL);
	assert_true(worker_stop(NULL, 0));
	worker_free(NULL);
}

/* Its uses of OpenSM's memory are over for good. */
static void test_left_behind(void **state)
{
	struct work *work = start();
	double before;

	work->hold = true;
	worker_poke(work->worker);
	await(&work->rounds, 1);
	before = clock_ms();
	assert_false(worker_stop(work->worker, before + 20));
	assert_true(clock_ms() >= before + 20);
	assert_true(clock_ms() < before + LONG_MS);
	assert_int_equal(work->entered, 0);
	work->hold = false;
	for (int i = 0; i < 1000; i++)
		sched_yield();
	assert_int_equal(work->entered, 0);
	assert_int_equal(work->rounds, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_poked),
		cmocka_unit_test(test_poked_in_a_round),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_never_poked),
		cmocka_unit_test(test_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
