/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events come by time, and those of one time as they were noted, beside a plain search.
 */
#include "unit.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/event_queue.h>

#define MANY 300

/* The place of the first one by time, and then by index, which goes up. */
static uint32_t find_first(const struct pm_event *list, uint32_t num)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < num; i++)
		if (list[i].time < list[first].time ||
		    (list[i].time == list[first].time &&
		     list[i].index < list[first].index))
			first = i;
	return first;
}

static void test_order(void **state)
{
	struct pm_event list[MANY], event;
	struct pm_event_queue events = {0};
	uint64_t random = 1, now = 0;
	uint32_t num = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		if (num < MANY && pm_random_below(&random, 2)) {
			uint64_t delay = pm_random_below(&random, 20);

			list[num++] = (struct pm_event){now + delay, 0, i % 3, i};
			pm_event_queue_add(&events, delay, i % 3, i);
		} else if (num) {
			uint32_t first = find_first(list, num);

			assert_true(pm_event_queue_take(&events, &event));
			assert_int_equal(event.index, list[first].index);
			assert_int_equal(event.kind, list[first].kind);
			assert_int_equal(event.time, list[first].time);
			now = events.now;
			assert_int_equal(now, event.time);
			list[first] = list[--num];
		} else {
			assert_false(pm_event_queue_take(&events, &event));
		}
		assert_int_equal(events.num, num);
	}
	pm_event_queue_free(&events);
}

static void test_end_of_time(void **state)
{
	struct pm_event_queue events = {0};
	struct pm_event event;

	pm_event_queue_add(&events, UINT64_MAX, 0, 1);
	assert_true(pm_event_queue_take(&events, &event));
	pm_event_queue_add(&events, 0, 0, 2);
	assert_false(events.out_of_range);
	pm_event_queue_add(&events, 1, 0, 3);
	assert_true(events.out_of_range);
	assert_false(pm_event_queue_take(&events, &event));
	pm_event_queue_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_end_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
