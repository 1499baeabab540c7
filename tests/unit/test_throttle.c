/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time at which a sweep is due after changes, and the confirmed switches. */
#include "engine/throttle.h"

#include "unit.h"

#define LID 7

static struct throttle *throttle;

static int begin(void **state)
{
	throttle = throttle_start();
	return throttle ? 0 : -1;
}

static int end(void **state)
{
	throttle_stop(throttle);
	return 0;
}

/* A sweep of this length that ends at a time. */
static void sweep(double end, double length)
{
	throttle_begin_sweep(throttle, end - length);
	throttle_end_sweep(throttle, end);
}

/* A trap, after which the ports of the switch are read and are as they are known. */
static void report(double now)
{
	uint16_t lid;

	throttle_note_trap(throttle, LID, now);
	assert_int_equal(throttle_take(throttle, &lid, 1), 1);
	assert_int_equal(lid, LID);
	throttle_confirm(throttle, LID, true);
}

static void expect_due(double due)
{
	assert_float_equal(throttle_due(throttle), due, 1e-3);
}

static void test_none(void **state)
{
	expect_due(0);
	sweep(1e3, 1e3);
	expect_due(0);
	assert_false(throttle_has_trap(throttle));
}

/* One change long after the last sweep. */
static void test_start(void **state)
{
	sweep(1e3, 1e3);
	report(100e3);
	expect_due(100e3 + THROTTLE_START_MS);
	report(101e3);
	expect_due(100e3 + THROTTLE_START_MS);
	assert_int_equal(throttle_waits(throttle).traps, 2);
	sweep(104e3, 1e3);
	expect_due(0);
	assert_false(throttle_has_trap(throttle));
	assert_int_equal(throttle_waits(throttle).traps_ever, 2);
}

/* Changes that go on: pauses double up to the most, and begin anew after a quiet time. */
static void test_delay(void **state)
{
	double now = 1e3, pause = 10e3;

	sweep(now, 1e3);
	for (int i = 0; i < 6; i++) {
		report(now + 1e3);
		expect_due(now + pause);
		now = throttle_due(throttle) + 1e3;
		sweep(now, 1e3);
		pause = pause >= 30e3 ? THROTTLE_MOST_MS : 2 * pause;
	}
	assert_float_equal(pause, THROTTLE_MOST_MS, 0);
	now += 2 * THROTTLE_MOST_MS + 1e3;
	report(now);
	expect_due(now + THROTTLE_START_MS);
	sweep(now + 4e3, 1e3);
	report(now + 5e3);
	expect_due(now + 4e3 + THROTTLE_DELAY_MS);
}

/* No delay is shorter than the last sweep, nor longer than four of them. */
static void test_long_sweeps(void **state)
{
	sweep(50e3, 50e3);
	report(51e3);
	expect_due(100e3);
	sweep(150e3, 50e3);
	report(151e3);
	expect_due(250e3);
	for (double now = 300e3; now < 3000e3; now += 400e3) {
		sweep(now, 50e3);
		report(now + 1e3);
		assert_true(throttle_due(throttle) <= now + 200e3);
	}
	expect_due(2700e3 + 200e3);
}

/* A host that was dropped does not wait for the delay, but for the end of a sweep. */
static void test_dropped(void **state)
{
	sweep(1e3, 1e3);
	throttle_hasten(throttle, 2e3);
	throttle_hasten(throttle, 4e3);
	expect_due(2e3 + THROTTLE_DROPPED_MS);
	report(3e3);
	expect_due(2e3 + THROTTLE_DROPPED_MS);
	throttle_begin_sweep(throttle, 8e3);
	throttle_hasten(throttle, 11e3);
	throttle_hasten(throttle, 9e3);
	expect_due(8e3 + THROTTLE_MOST_MS);
	throttle_end_sweep(throttle, 20e3);
	expect_due(9e3 + THROTTLE_DROPPED_MS - THROTTLE_STEP_MS);
	/* Not always in the same time. */
	for (int step = 2; step <= 7; step++) {
		double now = 100e3 * step;

		sweep(now, 1e3);
		throttle_hasten(throttle, now);
		expect_due(now + THROTTLE_DROPPED_MS - step % 5 * THROTTLE_STEP_MS);
	}
}

static void test_request(void **state)
{
	report(1e3);
	assert_true(throttle_request(throttle, 2e3));
	assert_false(throttle_request(throttle, 3e3));
	expect_due(2e3 + THROTTLE_DELAY_MS); /* should it not begin */
	assert_true(throttle_request(throttle, 2e3 + THROTTLE_DELAY_MS));
	throttle_begin_sweep(throttle, 20e3);
	expect_due(0);
	report(21e3);
	assert_true(throttle_request(throttle, 21e3)); /* discovery begins anew */
	throttle_end_sweep(throttle, 22e3);
	expect_due(22e3 + 2 * THROTTLE_DELAY_MS);
	assert_true(throttle_request(throttle, 23e3));
}

/*
 * A discovery may take longer than a pause: it is not requested again and again in it.
 */
static void test_long_sweep(void **state)
{
	const double length = 50e3;

	sweep(60e3, length);
	throttle_begin_sweep(throttle, 100e3);
	report(101e3);
	expect_due(100e3 + 4 * length);
	assert_true(throttle_request(throttle, 100e3 + 4 * length));
	expect_due(100e3 + 8 * length);
	assert_false(throttle_request(throttle, 101e3 + 4 * length));
}

/* A switch whose ports are not read, or not as they are known, does not wait. */
static void test_doubt(void **state)
{
	uint16_t lids[2];

	sweep(1e3, 1e3);
	throttle_note_trap(throttle, LID, 2e3);
	expect_due(2e3 + THROTTLE_START_MS);
	assert_int_equal(throttle_take(throttle, lids, 2), 1);
	expect_due(2e3 + THROTTLE_START_MS);
	throttle_confirm(throttle, LID, false);
	assert_int_equal(throttle_count(throttle), 1);
	expect_due(2e3 + THROTTLE_START_MS);
	assert_true(throttle_hides(throttle, LID, 3e3));
	expect_due(2e3 + THROTTLE_START_MS);
	assert_int_equal(throttle_take(throttle, lids, 2), 1);
	throttle_note_trap(throttle, LID, 3e3); /* while it is read */
	throttle_confirm(throttle, LID, true);
	assert_int_equal(throttle_count(throttle), 1);
	assert_int_equal(throttle_take(throttle, lids, 2), 1);
	assert_true(throttle_hides(throttle, LID, 3e3)); /* likewise */
	throttle_confirm(throttle, LID, true);
	assert_int_equal(throttle_count(throttle), 1);
	assert_int_equal(throttle_take(throttle, lids, 2), 1);
	throttle_confirm(throttle, LID, true);
	expect_due(1e3 + THROTTLE_DELAY_MS);
}

/*
 * OpenSM sets a port down in each sweep, and its switch reports that: sweeps slow down.
 */
static void test_doubt_goes_on(void **state)
{
	double now = 100e3;

	for (int i = 0; i < THROTTLE_DOUBT_MOST; i++, now += 10) {
		throttle_note_trap(throttle, LID, now);
		assert_true(throttle_ask(throttle, now));
		assert_false(throttle_ask(throttle, now));
		sweep(now + 9, 5);
	}
	for (int i = 1; i < 4; i++) {
		throttle_note_trap(throttle, LID, now);
		assert_false(throttle_ask(throttle, now));
		expect_due(100e3 + 4 + i * THROTTLE_DOUBT_MS);
		now = throttle_due(throttle);
		assert_true(throttle_ask(throttle, now));
		sweep(now + 9, 9);
		now += 10;
	}
	for (int i = 0; i < 20; i++) { /* of an operator */
		throttle_note_trap(throttle, LID, now);
		sweep(now, 0);
	}
	throttle_note_trap(throttle, LID, now);
	expect_due(now + THROTTLE_DOUBT_MS);
	now += THROTTLE_DOUBT_MOST * THROTTLE_DOUBT_MS;
	throttle_note_trap(throttle, LID, now);
	assert_true(throttle_ask(throttle, now));
}

/* Ports whose bit a light sweep need not see are read again. */
static void test_light_sweep(void **state)
{
	uint16_t lid;

	assert_false(throttle_hides(throttle, LID, 1e3));
	report(1e3);
	assert_false(throttle_hides(throttle, LID + 1, 9e3));
	assert_true(throttle_hides(throttle, LID, 9e3));
	assert_true(throttle_hides(throttle, LID, 9e3));
	assert_int_equal(throttle_take(throttle, &lid, 1), 1);
	throttle_confirm(throttle, LID, true);
	assert_true(throttle_hides(throttle, LID, 19e3));
	throttle_begin_sweep(throttle, 20e3);
	assert_false(throttle_hides(throttle, LID, 21e3));
}

/* More than there is room for. */
static void test_many(void **state)
{
	uint16_t lids[4];

	for (uint16_t i = 0; i < 6; i++)
		throttle_note_trap(throttle, (uint16_t)(LID + i), 1e3);
	assert_int_equal(throttle_take(throttle, lids, LENGTH(lids)), 6);
	assert_int_equal(lids[3], LID + 3);
	assert_int_equal(throttle_take(throttle, lids, LENGTH(lids)), 2);
	assert_int_equal(throttle_count(throttle), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(none),	   TEST(start),	  TEST(delay),	       TEST(long_sweeps),
		TEST(dropped),	   TEST(request), TEST(long_sweep),    TEST(doubt),
		TEST(light_sweep), TEST(many),	  TEST(doubt_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
