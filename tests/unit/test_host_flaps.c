/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hosts that flap, by the times of their links' returns. */
#include "unit.h"

#include "io/host_flaps.h"

static struct host_flaps flaps = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct known_host list[] = {{.leaf = 5, .leaf_port = 3, .name = "h3"}};
static const struct known_hosts hosts = {list, 1};

static void begin(uint32_t limit)
{
	const struct pm_damping_config config = {.limit = limit, .window_ms = 60000};

	host_flaps_free(&flaps);
	host_flaps_set(&flaps, &config);
}

static void note(unsigned int port, time_t now)
{
	host_flaps_note(&flaps, &(struct pm_damping_end){5, port}, now);
}

/* "COUNT: PORT HOST DOWNS FIRST-LAST, .." */
static void check(time_t now, const char *wanted)
{
	json_t *described = host_flaps_describe(&flaps, NULL, &hosts, now), *flap;
	char text[256];
	size_t used, i;

	used = (size_t)snprintf(
		text, sizeof(text),
		"%d:", (int)json_integer_value(json_object_get(described, "count")));
	json_array_foreach(json_object_get(described, "list"), i, flap) {
		const json_t *end = json_array_get(json_object_get(flap, "ends"), 0);
		const char *host = json_string_value(json_object_get(flap, "host"));

		used += (size_t)snprintf(
			text + used, sizeof(text) - used, " %d %s %d %d-%d",
			(int)json_integer_value(json_object_get(end, "port")),
			host ? host : "?",
			(int)json_integer_value(json_object_get(flap, "downs")),
			(int)json_integer_value(json_object_get(flap, "first")),
			(int)json_integer_value(json_object_get(flap, "last")));
	}
	assert_string_equal(text, wanted);
	json_decref(described);
}

static void test_limit(void **state)
{
	begin(3);
	for (int i = 0; i < 3; i++)
		note(3, 1000 + i);
	check(1003, "0:");
	note(3, 1059);
	check(1060, "1: 3 h3 4 1000-1059");
	note(4, 1100);
	check(1100, "1: 3 h3 4 1000-1059");
	check(1059 + HOST_FLAPS_S, "1: 3 h3 4 1000-1059");
	check(1060 + HOST_FLAPS_S, "0:");
	note(3, 1060 + HOST_FLAPS_S);
	check(1060 + HOST_FLAPS_S, "0:");
}

static void test_slowly(void **state)
{
	begin(3);
	for (int i = 0; i < 100; i++)
		note(4, 1000 + 20 * i); /* four of them take a minute */
	check(3000, "0:");
	note(4, 2999);
	check(3000, "1: 4 ? 101 1000-2999");
	note(3, 3000);
	host_flaps_defer(&flaps, &(struct pm_damping_end){5, 3});
	check(3000, "2: 3 h3 1 3000-3000 4 ? 101 1000-2999");
}

static void test_once(void **state)
{
	const struct pm_damping_end leaf = {5, 3};

	begin(1);
	note(3, 1010);
	host_flaps_note_once(&flaps, &leaf, 1010, 1020); /* that one */
	check(1020, "0:");
	host_flaps_note_once(&flaps, &leaf, 1011, 1020);
	check(1020, "1: 3 h3 2 1010-1020");
}

static void test_off(void **state)
{
	begin(0);
	for (int i = 0; i < 50; i++)
		note(3, 1000);
	check(1000, "0:");
	host_flaps_free(&flaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_slowly),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
