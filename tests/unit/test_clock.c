/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits that do not end are found by ctest's time-out. */
#include "engine/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOUR_MS 3.6e6

static void test_clock(void **state)
{
	double before = wait_clock_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		double now = wait_clock_ms();

		assert_true(now >= before);
		before = now;
	}
}

static void test_until(void **state)
{
	struct wait_signal signal;
	double due = wait_clock_ms() + 5;

	(void)state;
	wait_signal_init(&signal);
	pthread_mutex_lock(&signal.lock);
	while (wait_clock_ms() < due)
		wait_until(&signal, due);
	wait_until(&signal, due - 1000);
	wait_briefly(&signal, HOUR_MS);
	pthread_mutex_unlock(&signal.lock);
	wait_signal_destroy(&signal);
}

struct door {
	struct wait_signal signal;
	bool open; /* under its lock */
};

static void *open_door(void *context)
{
	struct door *door = context;

	pthread_mutex_lock(&door->signal.lock);
	door->open = true;
	pthread_cond_signal(&door->signal.changed);
	pthread_mutex_unlock(&door->signal.lock);
	return NULL;
}

static void test_signal(void **state)
{
	struct door door = {.open = false};
	pthread_t thread;

	(void)state;
	wait_signal_init(&door.signal);
	pthread_mutex_lock(&door.signal.lock);
	assert_int_equal(pthread_create(&thread, NULL, open_door, &door), 0);
	while (!door.open)
		wait_until(&door.signal, wait_clock_ms() + HOUR_MS);
	pthread_mutex_unlock(&door.signal.lock);
	pthread_join(thread, NULL);
	wait_signal_destroy(&door.signal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_until),
		cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
