/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits without an end are found by ctest's time-out. */
#include "unit.h"

#include "engine/clock.h"

#define HOUR_MS 3.6e6

static void test_clock(void **state)
{
	double before = clock_ms();

	for (int i = 0; i < 1000; i++) {
		double now = clock_ms();

		assert_true(now >= before);
		before = now;
	}
}

static void test_until(void **state)
{
	struct clock_signal signal;
	double due = clock_ms() + 5;

	clock_signal_init(&signal);
	pthread_mutex_lock(&signal.lock);
	while (clock_ms() < due)
		clock_wait_until(&signal, due);
	clock_wait_until(&signal, due - 1000);
	clock_wait_briefly(&signal, HOUR_MS);
	pthread_mutex_unlock(&signal.lock);
	clock_signal_destroy(&signal);
}

struct door {
	struct clock_signal signal;
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

	clock_signal_init(&door.signal);
	pthread_mutex_lock(&door.signal.lock);
	assert_int_equal(pthread_create(&thread, NULL, open_door, &door), 0);
	while (!door.open)
		clock_wait_until(&door.signal, clock_ms() + HOUR_MS);
	pthread_mutex_unlock(&door.signal.lock);
	pthread_join(thread, NULL);
	clock_signal_destroy(&door.signal);
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
