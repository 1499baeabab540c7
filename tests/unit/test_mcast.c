/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast by the plugin, below an OpenSM of stubs with a manager that sends every
 * block of its records (subnet_mcast.h): the manager sends none, the plugin sends
 * differences, and packets of each group arrive once.
 */
#include "subnet_mcast.h"

#include "memfault.h"
#include "recipe.h"
#include "unit.h"

#include <opensm/osm_file_ids.h>

#define IPOIB 0xc000
#define PAIR 0xc001
#define HIGH 0xc041 /* in the third block */

/* As in repairer.c. */
#define RETRY_MS 100 /* and a little more */
#define COMPARE_MS 5000
#define REJOIN_MS 10000

static struct pm_fabric *fabric;
static const char *folder;

static int set_up(void **state)
{
	fabric = recipe_draw("l0/6 l1/6 l2/6 s0/4 s1/4 l0:1=a0 l0:2=b0 l1:1=a1 l1:2=b1 "
			     "l2:1=a2 l2:2=b2 l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2 "
			     "l2:3=s0:3 l2:4=s1:3 s0:4=x0 s1:4=x1");
	folder = subnet_make_folder();
	return 0;
}

static int tear_down(void **state)
{
	subnet_remove_folder();
	pm_fabric_free(fabric);
	return 0;
}

static int begin(void **state)
{
	subnet_remove_files("*/*");
	subnet_remove_files("*");
	subnet_begin(fabric);
	assert_true(subnet_load(NULL));
	subnet_sweep_well();
	subnet_mcast_sets_of_opensm();
	subnet_mcast_sets();
	return 0;
}

static int end(void **state)
{
	subnet_unload();
	subnet_end();
	return 0;
}

/* OpenSM sends no block of its own, the plugin's are right, and OpenSM shows them. */
static void check(void)
{
	static const uint16_t mlids[] = {IPOIB, PAIR, HIGH};

	assert_int_equal(subnet_mcast_sets_of_opensm(), 0);
	for (size_t i = 0; i < LENGTH(mlids); i++) {
		const char *fault = subnet_mcast_fault(mlids[i]);

		if (fault)
			fail_msg("0x%x: %s", mlids[i], fault);
	}
	assert_true(subnet_mcast_is_shown());
	assert_false(subnet_is_locked());
}

/* Joins and leaves, between sweeps. */
static void run(void)
{
	subnet_mcast_run(false);
	subnet_let_send();
}

static void follow(void)
{
	run();
	check();
}

static void join_two(const char *a, const char *b, uint16_t mlid)
{
	subnet_join(a, mlid, false);
	subnet_join(b, mlid, false);
}

static void leave_two(const char *a, const char *b, uint16_t mlid)
{
	subnet_leave(a, mlid);
	subnet_leave(b, mlid);
}

static void join_ipoib(void)
{
	subnet_join("a0", IPOIB, true);
	subnet_join("a1", IPOIB, true);
	subnet_join("b2", IPOIB, true);
}

static void test_joins(void **state)
{
	join_ipoib();
	follow();
	assert_true(subnet_mcast_sets() > 0);
	subnet_join("b0", IPOIB, true);
	follow();
	assert_int_equal(subnet_mcast_sets(), 1);
	subnet_leave("b0", IPOIB);
	follow();
	assert_int_equal(subnet_mcast_sets(), 1);
}

static void test_quiet(void **state)
{
	join_ipoib();
	subnet_sweep_well();
	check();
	assert_true(subnet_mcast_sets() > 0);
	for (int i = 0; i < 3; i++) {
		subnet_sweep_well();
		check();
		assert_int_equal(subnet_mcast_sets(), 0);
	}
}

/* A run without an existing group calls no engine. */
static void test_ended(void **state)
{
	join_ipoib();
	join_two("a0", "a1", HIGH);
	follow();
	leave_two("a0", "a1", HIGH);
	subnet_mcast_sets();
	follow();
	assert_int_equal(subnet_mcast_sets(), 2 + 1);
	join_two("a2", "b0", HIGH);
	follow();
}

static void work(double ms)
{
	struct subnet_sweep result;

	subnet_work(&result, ms);
}

/*
 * Without a group that stays OpenSM is shown nothing, sends nothing, and reports no
 * group that ends: the plugin looks for them.
 */
static void test_nothing_configured(void **state)
{
	join_two("a0", "a1", PAIR);
	run();
	assert_null(subnet_mcast_fault(PAIR));
	leave_two("a0", "a1", PAIR);
	run();
	assert_true(subnet_mcast_has_entries(PAIR));
	work(COMPARE_MS);
	assert_false(subnet_mcast_has_entries(PAIR));
	join_two("b0", "a1", PAIR);
	run();
	assert_null(subnet_mcast_fault(PAIR));
	assert_int_equal(subnet_mcast_sets_of_opensm(), 0);
}

/* A cable of the tree, mended before OpenSM discovers anything. */
static void test_repair(void **state)
{
	join_ipoib();
	follow();
	for (unsigned int port = 3; port <= 4; port++) {
		subnet_set_link("l0", port, false, true);
		subnet_begin_sweep();
		subnet_let_send();
		assert_null(subnet_mcast_fault(IPOIB));
		assert_true(subnet_mcast_is_shown());
		subnet_sweep_well();
		check();
		subnet_set_link("l0", port, true, true);
		subnet_sweep_well();
		check();
	}
}

static void send_trap(void)
{
	subnet_send_traps("l0", 1);
}

/* Blocks that a trap delays are in the bound of the run that sends them, once. */
static void test_interrupted(void **state)
{
	char rest[64];
	uint32_t sets;

	join_ipoib();
	subnet_mcast_on_set(send_trap);
	follow();
	sets = subnet_mcast_sets();
	assert_true(sets > 2);
	assert_int_equal(subnet_logged("MFT blocks sent 1, acked 1, bound 1,"), 1);
	snprintf(rest, sizeof(rest), "MFT blocks sent %u, acked %u, bound %u,", sets - 1,
		 sets - 1, sets - 1);
	assert_int_equal(subnet_logged(rest), 1);
	assert_int_equal(subnet_logged("MFT blocks sent"), 2);
}

/* Members at both spines, which no switch reaches downwards. */
static void test_spines(void **state)
{
	subnet_join("x0", IPOIB, true);
	subnet_join("x1", IPOIB, true);
	subnet_join("a2", IPOIB, true);
	follow();
}

static void test_silent(void **state)
{
	join_ipoib();
	subnet_mcast_refuse(1);
	run();
	for (int i = 0; i < 8 && subnet_mcast_fault(IPOIB); i++)
		subnet_sweep_well();
	check();
}

/* OpenSM would set the top to a value that passes no MLID. */
static void test_top(void **state)
{
	subnet_mcast_have_top();
	join_ipoib();
	follow();
	join_two("a0", "a1", HIGH);
	follow();
	subnet_sweep_well();
	check();
	assert_int_equal(subnet_mcast_turned_off(), 0);
	assert_true(subnet_opensm()->subn.opt.use_mfttop);
}

/*
 * Others get their tables in the same round in which one that does not answer gets its
 * Sets.
 */
static void test_silent_switch(void **state)
{
	static const char *const switches[] = {"l0", "l1", "l2", "s0", "s1"};

	for (size_t i = 0; i < LENGTH(switches); i++) {
		begin(state);
		subnet_mcast_silence(switches[i]);
		join_ipoib();
		join_two("a0", "b0", HIGH);
		run();
		/* Of the leaf alone. */
		if (i)
			assert_null(subnet_mcast_fault(HIGH));
		subnet_mcast_silence(NULL);
		work(RETRY_MS);
		check();
		end(state);
	}
}

/* A Set without an answer leaves that block unknown, and nothing else. */
static void test_one_block_unknown(void **state)
{
	join_ipoib();
	join_two("a0", "a1", HIGH);
	follow();
	subnet_mcast_sets();
	subnet_mcast_gets();
	subnet_mcast_refuse(1);
	subnet_join("b0", IPOIB, true);
	run();
	assert_int_equal(subnet_mcast_sets(), 0);
	work(RETRY_MS);
	check();
	assert_int_equal(subnet_mcast_gets(), 1);
	assert_int_equal(subnet_mcast_sets(), 1);
}

/* A sweep that has ended with errors is followed by others that write all LFTs. */
static void test_errors(void **state)
{
	join_ipoib();
	follow();
	subnet_mcast_sets();
	subnet_mcast_gets();
	subnet_opensm()->subn.need_update = 1;
	subnet_sweep_well();
	subnet_opensm()->subn.need_update = 0;
	check();
	assert_int_equal(subnet_mcast_sets(), 0);
	assert_int_equal(subnet_mcast_gets(), 0);
}

/* Another master; its record begins empty. */
static void restart(void)
{
	subnet_unload();
	subnet_opensm()->subn.first_time_master_sweep = TRUE;
	subnet_opensm()->subn.need_update = 1;
	subnet_mcast_sets();
	subnet_mcast_gets();
	assert_true(subnet_load(NULL));
	subnet_sweep_well();
	subnet_opensm()->subn.need_update = 0;
	subnet_mcast_sets_of_opensm();
}

/*
 * It reads the blocks that groups need, once, and sends no block that is right already.
 */
static void test_restart_whole(void **state)
{
	join_ipoib();
	follow();
	restart();
	assert_null(subnet_mcast_fault(IPOIB));
	assert_int_equal(subnet_mcast_sets(), 0);
	assert_int_equal(subnet_mcast_gets(), fabric->num_switches);
	subnet_sweep_well();
	check();
	assert_int_equal(subnet_mcast_gets(), 0);
}

/* A new master does not know the entries of other masters. */
static void test_restart(void **state)
{
	join_ipoib();
	join_two("a0", "b1", HIGH);
	follow();
	leave_two("a0", "b1", HIGH);
	restart();
	assert_null(subnet_mcast_fault(IPOIB));
	join_two("a1", "a2", HIGH);
	follow();
}

/* Where no group has a member any more it is found later. */
static void test_restart_above(void **state)
{
	join_ipoib();
	join_two("a0", "b1", HIGH);
	follow();
	leave_two("a0", "b1", HIGH);
	restart();
	assert_true(subnet_mcast_has_entries(HIGH));
	work(REJOIN_MS);
	assert_false(subnet_mcast_has_entries(HIGH));
	check();
	subnet_mcast_gets();
	subnet_sweep_well();
	work(REJOIN_MS);
	assert_int_equal(subnet_mcast_gets(), 0);
}

/*
 * Where this engine gives up and no other one routes, no event reports it: OpenSM makes
 * trees by itself from then on, and its records may have been hidden.
 */
static void test_declined(void **state)
{
	osm_opensm_t *osm = subnet_opensm();
	osm_routing_engine_t *engine = osm->routing_engine_used;
	int rc;

	join_two("a0", "b1", PAIR);
	run();
	subnet_set_link("l0", 3, false, false);
	memfault_begin(&(struct memfault){1, true});
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	engine->next = NULL;
	osm->routing_engine_used = NULL;
	osm->no_fallback_routing_engine = TRUE;
	assert_int_equal(engine->build_lid_matrices(engine->context), 0);
	rc = engine->ucast_build_fwd_tables(engine->context);
	CL_PLOCK_RELEASE(&osm->lock);
	memfault_end();
	assert_true(rc < 0);
	assert_true(subnet_has_hop_counts());
	assert_null(engine->mcast_build_stree);
	assert_true(osm->sm.mlids_req[PAIR - IPOIB]);
	subnet_mcast_run(false);
	assert_true(subnet_mcast_sets_of_opensm() >= fabric->num_switches);
	subnet_join("b0", IPOIB, true);
	subnet_sweep_well();
	subnet_mcast_sets_of_opensm();
	assert_null(subnet_mcast_fault(PAIR));
	subnet_sweep_well();
	check();
}

/* A sweep at these levels of OpenSM's log, and of osm_dump.c's; whether files have all.
 */
static bool sweep_dumps(osm_log_level_t level, osm_log_level_t of_dump)
{
	osm_opensm_t *osm = subnet_opensm();
	uint32_t before = subnet_dumps();

	osm->log.level = level;
	osm->log.per_mod_log_tbl[OSM_FILE_DUMP_C] = of_dump;
	subnet_sweep_well();
	assert_int_equal(subnet_dumps() > before, subnet_has_hop_counts());
	return subnet_has_hop_counts();
}

/* OpenSM computes hop counts only where it writes them into a file, and multicast tables
 * are written there, too. (Where it makes trees of its own, subnet_mcast_run checks that
 * it has hop counts.) */
static void test_dumped(void **state)
{
	osm_log_level_t level = subnet_opensm()->log.level;

	join_ipoib();
	assert_false(sweep_dumps(level, 0));
	assert_true(sweep_dumps(level | OSM_LOG_ROUTING, 0));
	assert_false(sweep_dumps(level, OSM_LOG_ERROR));
	assert_true(sweep_dumps(level, OSM_LOG_ROUTING));
	check();
}

/* Trees of OpenSM's own, of a group that has ended since, are in its records. */
static void test_disabled(void **state)
{
	osm_subn_opt_t *opt = &subnet_opensm()->subn.opt;

	join_ipoib();
	for (int i = 0; i < 3; i++)
		follow();
	opt->disable_multicast = TRUE;
	subnet_sweep_well();
	subnet_mcast_scribble("s0", PAIR);
	subnet_mcast_scribble("s1", PAIR);
	subnet_mcast_sets_of_opensm();
	opt->disable_multicast = FALSE;
	subnet_sweep_well();
	assert_false(subnet_mcast_has_entries(PAIR));
	check();
}

static void prepare_fault(void)
{
	join_ipoib();
	subnet_join("a0", HIGH, false);
	follow();
	subnet_join("b1", HIGH, false);
	subnet_join("b0", IPOIB, true);
	subnet_set_link("l0", 3, false, false);
}

#ifndef EVERY
#define EVERY 3 /* allocations of a sweep; a slow build may try fewer */
#endif

/* One of EVERY allocations of a sweep fails, alone or with all that follow. */
static void test_memory(void **state)
{
	struct subnet_sweep result;
	uint64_t num = 1;

	for (uint64_t nth = 1; nth <= num; nth += EVERY)
		for (int onwards = 0; onwards < 2; onwards++) {
			begin(state);
			prepare_fault();
			memfault_begin(&(struct memfault){nth, onwards});
			subnet_sweep(&result);
			num = memfault_end();
			assert_false(subnet_is_locked());
			subnet_mcast_sets_of_opensm(); /* perhaps it was left to that */
			subnet_sweep_well();
			check();
			end(state);
		}
	print_message("%u allocations\n", (unsigned int)num);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_declined),
		TEST(test_disabled),
		TEST(test_dumped),
		TEST(test_ended),
		TEST(test_errors),
		TEST(test_interrupted),
		TEST(test_joins),
		cmocka_unit_test(test_memory),
		TEST(test_nothing_configured),
		TEST(test_one_block_unknown),
		TEST(test_quiet),
		TEST(test_repair),
		TEST(test_restart),
		TEST(test_restart_above),
		TEST(test_restart_whole),
		TEST(test_silent),
		cmocka_unit_test(test_silent_switch),
		TEST(test_spines),
		TEST(test_top),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
