/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin's judgement of another engine's tables, for a ring of switches with a host
 * each. The test replaces OpenSM's log, and frees the copies.
 */
#include "unit.h"

#include "engine/engine_check.h"

#include "engine/clock.h"
#include "io/log.h"

#include <portmajor/check/check.h>

#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>

#define RING 4
#define PAIRS (RING * (RING - 1))
#define LONG_MS 60e3 /* more than any test takes */
#define NEXT 2	     /* ports of a switch; port 1 is its host's */
#define BEFORE 3
#define FIRST_LID 11

static atomic_int lines, frees, judged;
static atomic_bool hold; /* no judgement ends while this is set */

int __real_pm_check_pairs(const struct pm_check *check, struct pm_check_pairs *pairs,
			  struct pm_error *err);
int __wrap_pm_check_pairs(const struct pm_check *check, struct pm_check_pairs *pairs,
			  struct pm_error *err);

int __wrap_pm_check_pairs(const struct pm_check *check, struct pm_check_pairs *pairs,
			  struct pm_error *err)
{
	judged++;
	while (hold)
		sched_yield();
	return __real_pm_check_pairs(check, pairs, err);
}

void log_line(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	(void)log;
	(void)format;
	assert_int_equal(level, OSM_LOG_ERROR);
	lines++;
}

void engine_tables_free(struct engine_tables *tables)
{
	if (!tables)
		return;
	frees++;
	for (uint32_t i = 0; i < tables->fabric->num_switches; i++)
		free((void *)(uintptr_t)tables->table[i]);
	free(tables->table);
	free(tables->top);
	pm_fabric_free(tables->fabric);
	free(tables);
}

static uint32_t add_node(struct pm_fabric *fabric, enum pm_node_type type, uint64_t guid,
			 const char *name)
{
	uint32_t node;

	assert_int_equal(pm_fabric_add_node(fabric, type, guid, type == PM_SWITCH ? 3 : 1,
					    name, &node, NULL),
			 0);
	return node;
}

/* A ring, without its last cable if it is open. */
static struct pm_fabric *make_ring(bool open)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t sw[RING], host[RING];
	char name[16];

	assert_non_null(fabric);
	for (uint32_t i = 0; i < RING; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		sw[i] = add_node(fabric, PM_SWITCH, 0x100 + i, name);
		snprintf(name, sizeof(name), "h%u", i);
		host[i] = add_node(fabric, PM_CA, 0x200 + i, name);
	}
	for (uint32_t i = 0; i < RING; i++) {
		assert_int_equal(pm_fabric_link(fabric, sw[i], 1, host[i], 1, NULL), 0);
		if (!open || i + 1 < RING)
			assert_int_equal(pm_fabric_link(fabric, sw[i], NEXT,
							sw[(i + 1) % RING], BEFORE, NULL),
					 0);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	for (uint32_t i = 0; i < RING; i++) {
		uint32_t node = pm_fabric_find_guid(fabric, 0x200 + i);

		fabric->ports[fabric->nodes[node].first_port + 1].lid =
			(uint16_t)(FIRST_LID + i);
	}
	return fabric;
}

/* Packets go on in the ring for up to `reach` switches, and back for farther ones. */
static struct engine_tables *make_tables(const char *engine, uint32_t reach, bool open)
{
	struct engine_tables *tables = calloc(1, sizeof(*tables));

	assert_non_null(tables);
	snprintf(tables->engine, sizeof(tables->engine), "%s", engine);
	tables->fabric = make_ring(open);
	tables->table = calloc(RING, sizeof(*tables->table));
	tables->top = calloc(RING, sizeof(*tables->top));
	assert_non_null(tables->table);
	assert_non_null(tables->top);
	for (uint32_t i = 0; i < RING; i++) {
		uint8_t *table = malloc(FIRST_LID + RING);

		assert_non_null(table);
		memset(table, PM_LFT_KEEP, FIRST_LID + RING);
		for (uint32_t to = 0; to < RING; to++) {
			uint32_t far = (to + RING - i) % RING;

			table[FIRST_LID + to] = !far ? 1 : far <= reach ? NEXT : BEFORE;
		}
		tables->table[i] = table;
		tables->top[i] = FIRST_LID + RING - 1;
	}
	return tables;
}

static struct engine_verdict judge(struct engine_tables *tables)
{
	struct engine_verdict verdict;

	assert_int_equal(engine_check_judge(tables, &verdict), 0);
	engine_tables_free(tables);
	return verdict;
}

static void test_credit_loop(void **state)
{
	struct engine_verdict found = judge(make_tables("minhop", RING - 1, false));

	assert_int_equal(found.connected, PAIRS);
	assert_int_equal(found.reachable, PAIRS);
	assert_string_equal(found.cut, "");
	assert_non_null(strstr(found.credit_loop, "minhop can deadlock, by a credit loop "
						  "(r"));
	assert_non_null(strstr(found.credit_loop, "[2], ..): set routing_engine "
						  "portmajor,nue"));
	(void)state;
}

/* Without the cable between the last and the first there is a line, and no loop. */
static void test_line(void **state)
{
	struct engine_tables *tables = make_tables("updn", 0, true);
	struct engine_verdict found;

	for (uint32_t i = 0; i < RING; i++)
		for (uint32_t to = 0; to < RING; to++)
			((uint8_t *)(uintptr_t)tables->table[i])[FIRST_LID + to] =
				to == i	 ? 1
				: to > i ? NEXT
					 : BEFORE;
	found = judge(tables);
	assert_int_equal(found.reachable, PAIRS);
	assert_string_equal(found.cut, "");
	assert_string_equal(found.credit_loop, "");
	(void)state;
}

static void test_lanes(void **state)
{
	struct engine_tables *tables = make_tables("dfsssp", RING - 1, false);
	struct engine_verdict found;

	tables->lanes = true;
	found = judge(tables);
	assert_true(found.lanes);
	assert_int_equal(found.reachable, PAIRS);
	assert_string_equal(found.credit_loop, "");
	(void)state;
}

/*
 * All traffic goes on through the missing cable: only pairs in the ring's order are
 * left.
 */
static void test_cut(void **state)
{
	struct engine_verdict found = judge(make_tables("updn", RING - 1, true));

	assert_int_equal(found.connected, PAIRS);
	assert_int_equal(found.reachable, PAIRS / 2);
	assert_non_null(strstr(found.cut,
			       "updn cuts off 6 of 12 pairs of hosts that cables "
			       "join (r1 to h0, ..): set routing_engine "));
	found = judge(make_tables("nue", RING - 1, true));
	assert_null(strstr(found.cut, "portmajor,nue"));
	(void)state;
}

/* A switch without a table; hosts without a LID are no pairs. */
static void test_unknown(void **state)
{
	struct engine_tables *tables = make_tables("updn", RING / 2, false);
	struct engine_verdict found;

	free((void *)(uintptr_t)tables->table[0]);
	tables->table[0] = NULL;
	tables->top[0] = 0;
	for (uint32_t i = 0; i < tables->fabric->num_ports; i++)
		if (tables->fabric->ports[i].lid == FIRST_LID + 2)
			tables->fabric->ports[i].lid = 0;
	found = judge(tables);
	assert_int_equal(found.connected, 6);
	assert_int_equal(found.reachable, 1); /* 3 to 1 goes over 0 */
	(void)state;
}

struct heard {
	atomic_int verdicts;
	struct engine_verdict last;
};

static void note(void *context, const struct engine_verdict *verdict)
{
	struct heard *heard = context;

	heard->last = *verdict;
	heard->verdicts++;
}

static void await(const atomic_int *count, int number)
{
	double start_ms = clock_ms();

	while (*count < number) {
		assert_true(clock_ms() < start_ms + LONG_MS);
		sched_yield();
	}
}

/* One line for a text however often it is found, and no copy is kept. */
static void test_thread(void **state)
{
	static osm_opensm_t osm;
	struct heard heard = {.verdicts = 0};
	struct engine_check *check = engine_check_start(&osm, note, &heard);

	assert_non_null(check);
	lines = frees = 0;
	engine_check_put(check, NULL);
	for (int i = 1; i <= 3; i++) {
		engine_check_put(check, make_tables("minhop", RING - 1, false));
		await(&heard.verdicts, i);
	}
	assert_int_equal(lines, 1);
	engine_check_put(check, make_tables("updn", RING - 1, true));
	await(&heard.verdicts, 4);
	assert_string_equal(heard.last.engine, "updn");
	assert_int_equal(lines, 2);
	for (int i = 0; i < 50; i++)
		engine_check_put(check, make_tables("updn", RING - 1, true));
	assert_true(engine_check_stop(check, clock_ms() + LONG_MS));
	assert_int_equal(frees, 54);
	assert_int_equal(lines, 2);
	assert_true(engine_check_stop(NULL, 0));
	(void)state;
}

/*
 * OpenSM ends during a judgement: then the data of `note` may be freed, and the log is.
 */
static void test_left_behind(void **state)
{
	static osm_opensm_t osm;
	static struct heard heard;
	struct engine_check *check = engine_check_start(&osm, note, &heard);
	struct engine_tables *faultless = make_tables("dfsssp", RING - 1, false);

	assert_non_null(check);
	faultless->lanes = true;
	lines = judged = 0;
	hold = true;
	engine_check_put(check, faultless);
	await(&judged, 1);
	assert_false(engine_check_stop(check, clock_ms()));
	hold = false;
	for (double start_ms = clock_ms(); clock_ms() < start_ms + 100;)
		sched_yield();
	assert_int_equal(heard.verdicts, 0);
	assert_int_equal(lines, 0);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credit_loop), cmocka_unit_test(test_line),
		cmocka_unit_test(test_lanes),	    cmocka_unit_test(test_cut),
		cmocka_unit_test(test_unknown),	    cmocka_unit_test(test_thread),
		cmocka_unit_test(test_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
