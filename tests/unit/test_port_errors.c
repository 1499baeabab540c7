/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errors of ports in the last hour, and the hosts that are known by name. */
#include "unit.h"

#include "io/port_errors.h"

#include <portmajor/json/values.h>

#include <search.h>

#define START 999999600 /* where a slice begins */
#define LEAF 0x10
#define SPINE 0x20
#define HOST 0x30

static const struct known_hosts nobody;

/* leaf:1 to spine:2, leaf:2 to the host. */
static struct pm_fabric *make_fabric(const char *host, unsigned int leaf_port)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t leaf, spine, end;

	assert_int_equal(
		pm_fabric_add_node(fabric, PM_SWITCH, LEAF, 4, "leaf", &leaf, NULL), 0);
	assert_int_equal(
		pm_fabric_add_node(fabric, PM_SWITCH, SPINE, 4, "spine", &spine, NULL),
		0);
	assert_int_equal(pm_fabric_add_node(fabric, PM_CA, HOST, 1, host, &end, NULL), 0);
	assert_int_equal(pm_fabric_link(fabric, leaf, 1, spine, 2, NULL), 0);
	assert_int_equal(pm_fabric_link(fabric, leaf, leaf_port, end, 1, NULL), 0);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static void note(struct port_errors *errors, uint64_t guid, uint8_t num, time_t interval,
		 uint64_t symbol, uint64_t downed, time_t now)
{
	const struct port_reading reading = {
		.guid = guid,
		.name = "named",
		.num = num,
		.interval_s = interval,
		.errors = {[PORT_ERROR_SYMBOL] = symbol, [PORT_ERROR_DOWNED] = downed},
	};

	port_errors_note(errors, &reading, START + now);
}

/* "COUNT: KIND ENDS SYMBOL/DOWNED, ..", or "null". */
static void check(struct port_errors *errors, uint32_t limit,
		  const struct pm_fabric *topology, const struct known_hosts *hosts,
		  time_t now, const char *wanted)
{
	json_t *found = port_errors_describe(errors, limit, topology, hosts, START + now);
	char text[512] = "null", ends[80];
	const json_t *port;
	size_t used = 0, i;

	if (!json_is_null(found))
		used = (size_t)snprintf(
			text, sizeof(text),
			"%d:", (int)json_integer_value(json_object_get(found, "count")));
	json_array_foreach(json_object_get(found, "list"), i, port) {
		pm_json_ends_print(port, ends, sizeof(ends));
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s %s %s %d/%d", i ? "," : "",
			json_string_value(json_object_get(port, "kind")), ends,
			(int)json_integer_value(json_object_get(port, "symbol_errors")),
			(int)json_integer_value(json_object_get(port, "link_downed")));
	}
	assert_string_equal(text, wanted);
	json_decref(found);
}

static void test_hour(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};

	check(&errors, 10, NULL, &nobody, 0, "null");
	/* The first reading is of an unknown time. */
	note(&errors, LEAF, 1, 0, 5000, 7, 0);
	check(&errors, 10, NULL, &nobody, 0, "0:");
	note(&errors, LEAF, 1, 60, 9, 1, 60);
	check(&errors, 10, NULL, &nobody, 60, "0:");
	note(&errors, LEAF, 1, 600, 2, 0, 660);
	check(&errors, 10, NULL, &nobody, 660, "1: host named[1] 11/1");
	check(&errors, 11, NULL, &nobody, 660, "1: host named[1] 11/1");
	check(&errors, 12, NULL, &nobody, 660, "0:");
	check(&errors, 0, NULL, &nobody, 660, "null");
	/* The first nine are forgotten with their slice, an hour after it began. */
	check(&errors, 1, NULL, &nobody, 3599, "1: host named[1] 11/1");
	check(&errors, 1, NULL, &nobody, 3600, "1: host named[1] 2/0");
	check(&errors, 1, NULL, &nobody, 4200, "0:");
	/* Long after, in the same slices. */
	note(&errors, LEAF, 1, 36000 - 660, 4, 0, 36000);
	check(&errors, 1, NULL, &nobody, 36000, "1: host named[1] 4/0");
	port_errors_free(&errors);
}

static void test_readings(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};

	note(&errors, LEAF, 1, 0, 0, 0, 0);
	/* Cleared by another program: below the reading before. */
	note(&errors, LEAF, 1, 10, (uint64_t)-20, 3, 10);
	check(&errors, 1, NULL, &nobody, 10, "1: host named[1] 0/3");
	/* OpenSM had forgotten the node: a first reading again. */
	note(&errors, LEAF, 1, 0, 4000, 0, 100);
	check(&errors, 1, NULL, &nobody, 100, "1: host named[1] 0/3");
	/* A few seconds late, and early, go on. */
	note(&errors, LEAF, 1, 15, 5, 0, 110);
	note(&errors, LEAF, 1, 5, 6, 0, 120);
	check(&errors, 1, NULL, &nobody, 120, "1: host named[1] 11/3");
	note(&errors, LEAF, 1, 4, 100, 0, 130);
	note(&errors, LEAF, 1, 16, 100, 0, 140);
	check(&errors, 1, NULL, &nobody, 140, "1: host named[1] 11/3");
	/* Sums that would not fit stay. */
	note(&errors, LEAF, 1, 10, UINT32_MAX - 1, 0, 150);
	check(&errors, 1, NULL, &nobody, 150, "1: host named[1] 11/3");
	port_errors_free(&errors);
}

static void test_names(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct pm_fabric *fabric = make_fabric("h0", 2);
	struct pm_fabric *topology = pm_fabric_skeleton(fabric);
	struct known_hosts hosts = {0};

	assert_int_equal(known_hosts_learn(&hosts, fabric), 0);
	for (int at = 0; at <= 10; at += 10) {
		note(&errors, HOST, 1, 10, 7, 0, at);
		note(&errors, LEAF, 1, 10, 30, 0, at);
		note(&errors, LEAF, 2, 10, 3, 50, at);
		note(&errors, LEAF, 9, 10, 2, 0, at);
		note(&errors, SPINE, 2, 10, 30, 0, at);
		note(&errors, 0x99, 1, 10, 1, 0, at);
	}
	check(&errors, 1, topology, &hosts, 10,
	      "6: host leaf[2]-h0[1] 3/50, link leaf[1]-spine[2] 30/0, "
	      "link spine[2]-leaf[1] 30/0, host h0[1]-leaf[2] 7/0, link leaf[9] 2/0, "
	      "host named[1] 1/0");
	port_errors_free(&errors);
	known_hosts_free(&hosts);
	pm_fabric_free(topology);
	pm_fabric_free(fabric);
}

static void test_listed(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	json_t *found;

	for (uint64_t guid = 1; guid <= PORT_ERRORS_LISTED + 5; guid++) {
		note(&errors, guid, 1, 0, 0, 0, 0);
		note(&errors, guid, 1, 5, guid, 0, 5);
	}
	found = port_errors_describe(&errors, 1, NULL, &nobody, START + 5);
	assert_int_equal(json_integer_value(json_object_get(found, "count")),
			 PORT_ERRORS_LISTED + 5);
	assert_int_equal(json_array_size(json_object_get(found, "list")),
			 PORT_ERRORS_LISTED);
	json_decref(found);
	port_errors_free(&errors);
}

static int ports; /* counted by twalk, which passes no argument on */

static void count_port(const void *node, VISIT order, int depth)
{
	ports += order == postorder || order == leaf;
}

/* A node that changes its GUID at each reading, beside one that stays, for a day. */
static void test_gone(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	int most = 0;

	for (time_t now = 0; now < 24 * 3600; now += 60) {
		note(&errors, LEAF, 1, 60, 1, 0, now);
		note(&errors, 0x1000 + (uint64_t)now, 1, 0, 0, 0, now);
		ports = 0;
		twalk(errors.ports, count_port);
		most = ports > most ? ports : most;
	}
	/* Of an hour and a slice. */
	assert_in_range(most, 60, 75);
	check(&errors, 1, NULL, &nobody, 24 * 3600 - 60, "1: host named[1] 60/0");
	port_errors_free(&errors);
}

/* A port that is read less than once an hour is not forgotten. */
static void test_rarely(void **unused)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};

	for (time_t now = 0; now < 10 * 7200; now += 7200) {
		note(&errors, LEAF, 1, 7200, 1, 0, now);
		check(&errors, 1, NULL, &nobody, now,
		      now ? "1: host named[1] 1/0" : "0:");
	}
	port_errors_free(&errors);
}

static void learn(struct known_hosts *hosts, const char *name, unsigned int leaf_port)
{
	struct pm_fabric *fabric = make_fabric(name, leaf_port);

	assert_int_equal(known_hosts_learn(hosts, fabric), 0);
	pm_fabric_free(fabric);
}

static void test_known_hosts(void **unused)
{
	struct pm_fabric *empty = pm_fabric_new();
	struct known_hosts hosts = {0};

	assert_null(known_hosts_at(&hosts, LEAF, 2));
	learn(&hosts, "before", 2);
	learn(&hosts, "h0", 2);
	assert_int_equal(hosts.count, 1);
	assert_string_equal(known_hosts_at(&hosts, LEAF, 2)->name, "h0");
	/* One that is away keeps its place. */
	assert_int_equal(pm_fabric_seal(empty, NULL), 0);
	assert_int_equal(known_hosts_learn(&hosts, empty), 0);
	assert_string_equal(known_hosts_at(&hosts, LEAF, 2)->name, "h0");
	assert_int_equal(known_hosts_of(&hosts, HOST, 1)->leaf_port, 2);
	assert_null(known_hosts_of(&hosts, HOST, 2));
	assert_null(known_hosts_at(&hosts, SPINE, 2));
	/* One that has moved has one place alone. */
	learn(&hosts, "h0", 3);
	assert_null(known_hosts_at(&hosts, LEAF, 2));
	assert_string_equal(known_hosts_at(&hosts, LEAF, 3)->name, "h0");
	/* Another one at its port. */
	hosts.list[0].guid = 0x31;
	learn(&hosts, "new", 3);
	assert_int_equal(hosts.count, 1);
	assert_null(known_hosts_of(&hosts, 0x31, 1));
	known_hosts_free(&hosts);
	pm_fabric_free(empty);
}

static void note_wait(struct port_errors *errors, uint64_t guid, uint8_t num,
		      uint64_t wait, time_t now)
{
	const struct port_reading reading = {.guid = guid,
					     .name = "named",
					     .num = num,
					     .interval_s = 10,
					     .wait = wait};

	port_errors_note(errors, &reading, START + now);
}

/* The worst first, of the last two readings; a first one has no value. */
static void test_waits(void **state)
{
	struct port_errors errors = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct pm_fabric *fabric = make_fabric("host", 2);
	char ends[80];
	json_t *found = port_waits_describe(&errors, fabric, &nobody, START);

	assert_true(json_is_null(found));
	json_decref(found);
	for (uint8_t num = 1; num <= 2 * PORT_WAITS_LISTED; num++)
		note_wait(&errors, 0x40, num, 1000000, 0);
	note_wait(&errors, LEAF, 1, 1000000, 0);
	found = port_waits_describe(&errors, fabric, &nobody, START);
	assert_int_equal(json_array_size(found), 0);
	json_decref(found);
	for (uint8_t num = 1; num <= 2 * PORT_WAITS_LISTED; num++)
		note_wait(&errors, 0x40, num, 10u * num, 10);
	note_wait(&errors, LEAF, 1, 155, 10);
	found = port_waits_describe(&errors, fabric, &nobody, START + 10);
	assert_int_equal(json_array_size(found), PORT_WAITS_LISTED);
	for (size_t i = 0; i < PORT_WAITS_LISTED; i++) {
		const json_t *port = json_array_get(found, i);
		json_int_t wanted =
			2 * PORT_WAITS_LISTED - (json_int_t)(i > 5 ? i - 1 : i);

		assert_int_equal(json_integer_value(json_object_get(port, "ticks_per_s")),
				 wanted);
		pm_json_ends_print(port, ends, sizeof(ends));
		if (i == 5)
			assert_string_equal(ends, "leaf[1]-spine[2]");
	}
	json_decref(found);
	note_wait(&errors, LEAF, 1, 0, 20);	     /* no packet waits any more */
	note_wait(&errors, LEAF, 1, UINT64_MAX, 30); /* cleared by another program */
	for (uint8_t num = 1; num <= 2 * PORT_WAITS_LISTED; num++)
		note_wait(&errors, 0x40, num, 0, 30);
	found = port_waits_describe(&errors, fabric, &nobody, START + 30);
	assert_int_equal(json_array_size(found), 0);
	json_decref(found);
	port_errors_free(&errors);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hour),	    cmocka_unit_test(test_readings),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_listed),
		cmocka_unit_test(test_gone),	    cmocka_unit_test(test_rarely),
		cmocka_unit_test(test_known_hosts), cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
