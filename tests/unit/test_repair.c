/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Repairs in which a switch takes no block, below an OpenSM of stubs (subnet.h). Each
 * upper switch has a cable to every top switch: m0-0, which loses its cable to l0-0,
 * sends up, and by then the top switches must not send down to it any more. All tests
 * also run with an end port at a top switch: then blocks that could loop are sent in
 * the steps of steps.h.
 */
#include "subnet.h"

#include "memfault.h"
#include "recipe.h"
#include "unit.h"

#include "engine/plugin.h"
#include "engine/repair.h"
#include "osm/lft_records.h"
#include "osm/lft_set.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define TOPS 3

static struct pm_fabric *fabric;
static struct recipe recipe;

static int set_up(void **state)
{
	const struct recipe_meshed shape = {
		.pods = 2, .leaves = 2, .middles = 2, .tops = TOPS, .hosts = 3};

	recipe_add_meshed(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	subnet_make_folder();
	return 0;
}

static int set_up_upper_end(void **state)
{
	int rc = set_up(state);

	pm_fabric_free(fabric);
	recipe_add_host(&recipe, 0, ++recipe.nodes[0].num_ports); /* t0 */
	fabric = recipe_build(&recipe, NULL);
	return rc;
}

static int tear_down(void **state)
{
	subnet_remove_folder();
	pm_fabric_free(fabric);
	recipe_free(&recipe);
	return 0;
}

/* A top switch that sends to a host below l0-0 through m0-0. */
static char top[16], host[16];

static void find_sender(void)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];
		uint32_t peer = fabric->ports[n->first_port + 1].peer;

		if (i < fabric->num_switches ||
		    strcmp(pm_fabric_name(fabric, fabric->ports[peer].node), "l0-0") != 0)
			continue;
		snprintf(host, sizeof(host), "%s", pm_fabric_name(fabric, i));
		for (int t = 0; t < TOPS; t++) {
			snprintf(top, sizeof(top), "t%d", t);
			if (subnet_entry(top, host) == 1)
				return;
		}
	}
	fail_msg("nobody");
}

static void end(void)
{
	subnet_unload();
	subnet_end();
	subnet_remove_files("*/*");
}

static void fail_link(void)
{
	subnet_set_link("m0-0", 1, false, true);
	subnet_begin_sweep();
}

static void test_all_answer(void **state)
{
	subnet_begin_routed(fabric);
	fail_link();
	assert_int_equal(subnet_unreachable(), 0);
	assert_int_equal(subnet_repaired("m0-0"), 1);
	subnet_sweep_well();
	assert_int_equal(subnet_repaired("m0-0"), 1);
	end();
}

/*
 * Another master has given the fabric over, which may have written any tables and LIDs:
 * OpenSM stays in its state where it has waited for that.
 */
static void test_taken_over(void **state)
{
	subnet_begin_routed(fabric);
	subnet_opensm()->subn.coming_out_of_standby = TRUE;
	fail_link();
	assert_int_equal(subnet_repaired("m0-0"), 0);
	subnet_opensm()->subn.coming_out_of_standby = FALSE;
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/* The switch above m0-0 refuses so many blocks while the cable fails. */
static void fail_below_refusing(uint32_t num_blocks)
{
	subnet_begin_routed(fabric);
	find_sender();
	subnet_refuse_blocks(top, num_blocks);
	fail_link();
}

/* The one above keeps its old table: m0-0 must not send back up, for any LID. */
static void test_above_does_not_answer(void **state)
{
	fail_below_refusing(UINT32_MAX);
	assert_int_equal(subnet_repaired(top), 0);
	assert_int_equal(subnet_entry(top, host), 1);
	assert_int_equal(subnet_entry("m0-0", host), 1);
	assert_int_equal(subnet_repaired("m0-0"), 0);
	/* Blocks that wait for no other one are sent all the same. */
	assert_int_equal(subnet_repaired("l0-0"), 1);
	for (int t = 0; t < TOPS; t++) {
		char name[16];

		snprintf(name, sizeof(name), "t%d", t);
		assert_int_equal(subnet_repaired(name), strcmp(name, top) != 0);
	}
	subnet_refuse_blocks(top, 0);
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
	assert_int_equal(subnet_blocks_missing(), 0);
	end();
}

/* Alone at first: the next try sends that, and then the blocks that wait for it. */
static void test_above_answers_later(void **state)
{
	fail_below_refusing(1);
	assert_int_equal(subnet_repaired(top), 1);
	assert_int_equal(subnet_repaired("m0-0"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	subnet_sweep_well();
	assert_int_equal(subnet_blocks_missing(), 0);
	end();
}

/*
 * Neither end of a cable answers at first, or not the manager's own switch: the traps'
 * failures are searched for again, without a sweep.
 */
static void lose_in_silence(const char *a, unsigned int port, const char *b)
{
	struct subnet_sweep result;

	subnet_begin_routed(fabric);
	subnet_refuse_questions(a, UINT32_MAX);
	subnet_refuse_questions(b, UINT32_MAX);
	subnet_set_link(a, port, false, true);
	subnet_begin_sweep();
	assert_int_not_equal(subnet_unreachable(), 0);
	assert_int_equal(subnet_logged("left to the sweep: queries not answered"), 1);
	subnet_refuse_questions(a, 0);
	subnet_refuse_questions(b, 0);
	subnet_work(&result, 1000);
	assert_int_equal(subnet_unreachable(), 0);
	/* A repair that found no failure has no number. */
	assert_int_equal(subnet_logged("repair 1: failed: 1 cable"), 1);
	end();
}

static void test_ends_answer_later(void **state)
{
	lose_in_silence("m1-0", 1, "l1-0");
}

static void test_home_answers_later(void **state)
{
	lose_in_silence("m0-0", 1, "l0-0");
}

/* Without a sweep, and timed from the same trap: 0.0 ms would mean no time. */
static void test_above_is_tried_again(void **state)
{
	struct subnet_sweep result;
	fail_below_refusing(UINT32_MAX);
	assert_int_equal(subnet_repaired("m0-0"), 0);
	subnet_refuse_blocks(top, 0);
	subnet_work(&result, 200);
	assert_int_equal(subnet_repaired("m0-0"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	assert_int_equal(subnet_logged("repair 2: "), 1);
	assert_int_equal(subnet_logged("; 0.0 ms from the first trap"), 0);
	end();
}

/* Behind OpenSM's own, which are all acknowledged. */
static void test_above_answers_late(void **state)
{
	subnet_begin_routed(fabric);
	find_sender();
	subnet_delay_block(top);
	fail_link();
	assert_int_equal(subnet_repaired(top), 0);
	subnet_sweep_well();
	assert_int_equal(
		subnet_logged("; LFT blocks sent 1, acked 1, least 2, full load"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/* ---- Beside a discovery ---- */

static void lose_and_repair(void)
{
	subnet_set_link("m0-0", 1, false, true);
	subnet_let_send();
}

/*
 * A link that a discovery saw up before it failed stays failed, and another discovery
 * is requested, which clears that.
 */
static void test_seen_before(void **state)
{
	osm_subn_t *subn = &subnet_opensm()->subn;

	subnet_begin_routed(fabric);
	subn->opt.sweep_on_trap = TRUE;
	subn->force_heavy_sweep = FALSE;
	subnet_on_discovered(lose_and_repair);
	subnet_sweep_well();
	assert_int_equal(subnet_logged("repair 1: failed: 1 cable (l0-0[1]-m0-0[1])"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	assert_true(subn->force_heavy_sweep);
	subn->force_heavy_sweep = FALSE;
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
	assert_false(subn->force_heavy_sweep);
	end();
}

/* The top switch's table with the host on another port. */
static enum smp_make make_other(void *context, uint32_t index, struct smp_request *smp)
{
	const struct pm_node *n = &fabric->nodes[pm_fabric_find_name(fabric, top)];
	const osm_port_t *to = context;
	uint16_t lid = cl_ntoh16(to->lid);
	uint8_t entries[SMP_DATA];

	(void)index;
	assert_true(lid < SMP_DATA);
	smp->sw = osm_get_switch_by_guid(&subnet_opensm()->subn, cl_hton64(n->guid));
	memcpy(entries, smp->sw->lft, SMP_DATA);
	entries[lid]++;
	lft_set_make(0, entries, smp);
	return SMP_SEND;
}

static bool take_other(void *context, const struct smp_answer *answer)
{
	(void)context;
	assert_int_equal(answer->outcome, SMP_ANSWERED);
	return true;
}

/* As the rest of a repair, after the sweeper knew the failure, and found it mended. */
static void set_other(void)
{
	const struct pm_node *n = &fabric->nodes[pm_fabric_find_name(fabric, host)];
	ib_net64_t guid = cl_hton64(fabric->ports[n->first_port + 1].guid);
	struct smp_count count = {0};

	smp_run(subnet_plugin()->smps,
		&(struct smp_batch){
			.num = 1,
			.ahead = SMP_AHEAD,
			.total_ms = SMP_TOTAL_MS,
			.exclusive = true,
			.context = osm_get_port_by_guid(&subnet_opensm()->subn, guid),
			.make = make_other,
			.take = take_other},
		&count);
	assert_int_equal(subnet_entry(top, host), 2);
}

/*
 * At the end of a discovery all tables are those in the record. A block of the plugin's
 * that is answered before OpenSM routes changes one: it is written again.
 */
static void test_set_after_discovery(void **state)
{
	subnet_begin_routed(fabric);
	find_sender();
	subnet_on_assigned(set_other);
	subnet_sweep_well();
	assert_int_equal(subnet_entry(top, host), 1);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

static void send_trap_of_nothing(void)
{
	subnet_send_traps("l1-0", 1);
}

/*
 * A trap from before a discovery is dropped at its end: there is no search, and the
 * next repair is timed from the cable's traps, two pauses of 4 ms ago.
 */
static void test_dealt_with(void **state)
{
	osm_subn_t *subn = &subnet_opensm()->subn;
	struct subnet_sweep result;

	subnet_begin_routed(fabric);
	subn->opt.sweep_on_trap = TRUE;
	subn->force_heavy_sweep = FALSE;
	subnet_on_discovered(send_trap_of_nothing);
	subnet_sweep_well();
	subnet_work(&result, 10e3);
	assert_int_equal(subnet_logged("no failure found"), 0);
	fail_link();
	assert_int_equal(subnet_logged("; traps 2, "), 1);
	assert_int_equal(subnet_logged("; 8.0 ms from the first trap"), 1);
	end();
}

/* ---- A trap during the check whether traps are covered ---- */

static struct repair *repair_alone;
static atomic_bool reported;
static pthread_t reporter;

static void *report(void *context)
{
	static const ib_mad_notice_attr_t notice = {
		.generic_type = 0x80,
		.g_or_v.generic.trap_num = CL_HTON16(SM_LINK_STATE_CHANGED_TRAP),
	};

	repair_note_trap(repair_alone, &notice);
	reported = true;
	return context;
}

static bool report_meanwhile(const void *context)
{
	assert_int_equal(pthread_create(&reporter, NULL, report, NULL), 0);
	for (int i = 0; i < 1000000 && !reported; i++)
		sched_yield();
	return true;
}

/* It is newer than the discovery, and stays. */
static void test_trap_meanwhile(void **state)
{
	repair_alone = repair_start();
	assert_non_null(repair_alone);
	report(NULL);
	assert_int_equal(repair_count_traps(repair_alone), 1);
	reported = false;
	repair_skip_covered(repair_alone, report_meanwhile, NULL);
	pthread_join(reporter, NULL);
	assert_int_equal(repair_count_traps(repair_alone), 1);
	repair_stop(repair_alone);
}

/*
 * A returned link explains its own traps, whether they wait, were taken, or come later.
 */
static void test_explained(void **state)
{
	static const struct {
		uint32_t received, come, explained, later, left, next;
	} cases[] = {
		{1, 1, 1, 0, 0, 1}, /* it waits */
		{1, 0, 1, 0, 0, 0}, /* it is expected */
		{2, 2, 1, 1, 1, 1}, /* the later one stays */
		{2, 1, 1, 1, 0, 1}, /* likewise */
		{0, 0, 1, 0, 0, 1}, /* a repair has taken it */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct repair *repair = repair_alone = repair_start();

		assert_non_null(repair);
		for (uint32_t k = 0; k < cases[i].received; k++)
			repair_expect(repair, 0);
		for (uint32_t k = 0; k < cases[i].come; k++)
			report(NULL);
		repair_explain(repair, 0, cases[i].explained, cases[i].later, false);
		assert_int_equal(repair_count_traps(repair), cases[i].left);
		report(NULL);
		assert_int_equal(repair_count_traps(repair),
				 cases[i].left + cases[i].next);
		repair_stop(repair);
	}
}

/* A coming trap is dropped, unless another part was found down meanwhile. */
static void test_explained_before_it_comes(void **state)
{
	for (uint32_t doubted = 0; doubted < 2; doubted++) {
		struct repair *repair = repair_alone = repair_start();

		assert_non_null(repair);
		repair_explain(repair, 0, 1, 0, true);
		if (doubted) {
			repair_doubt(repair, 0);
			repair_doubt(repair, 0);
		}
		assert_int_equal(repair_count_traps(repair), doubted);
		report(NULL);
		assert_int_equal(repair_count_traps(repair), 2 * doubted);
		repair_stop(repair);
	}
}

/* ---- The time for locating ---- */

#define SLOW_MS 60 /* of four answers more than that, 200 ms */
#define OUT_OF_TIME "left to the sweep: out of time"

/* It begins anew with each cable that is found failed. */
static void test_slow_answers(void **state)
{
	subnet_begin_routed(fabric);
	subnet_set_answer_ms(SLOW_MS);
	for (unsigned int p = 1; p <= 4; p++)
		subnet_set_link("t1", p, false, true);
	subnet_begin_sweep();
	assert_int_equal(subnet_logged("links down 4, rounds 1"), 1);
	assert_int_equal(subnet_logged(OUT_OF_TIME), 0);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

static void test_slow_answers_in_vain(void **state)
{
	subnet_begin_routed(fabric);
	subnet_set_answer_ms(SLOW_MS);
	subnet_send_traps("m0-0", 1); /* which has five cables */
	subnet_begin_sweep();
	assert_int_equal(subnet_logged(OUT_OF_TIME), 1);
	end();
}

static int traps_to_come;

static void send_trap(void)
{
	if (traps_to_come > 0)
		subnet_send_traps("l1-1", 1);
	traps_to_come--;
}

/* A burst of traps that takes as long is no part of it. */
static void test_long_burst(void **state)
{
	subnet_begin_routed(fabric);
	traps_to_come = 100; /* one each 4 ms */
	subnet_on_wait(send_trap);
	fail_link();
	assert_true(traps_to_come <= 0);
	assert_int_equal(subnet_logged(OUT_OF_TIME), 0);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/* ---- Traps while blocks are sent ---- */

static uint32_t blocks; /* of a repair */

static void count_block(void)
{
	blocks++;
	assert_int_equal(subnet_loops(), 0);
}

static void lose_other(void)
{
	subnet_set_link("m1-0", 1, false, true);
}

static void lose_other_meanwhile(void)
{
	count_block();
	if (blocks == 1)
		lose_other();
}

static void send_one_trap(void)
{
	count_block();
	if (blocks == 1)
		subnet_send_traps("l1-1", 1);
}

static void send_each_trap(void)
{
	count_block();
	subnet_send_traps("l1-1", 1);
}

/*
 * The number of blocks of a repair, with one action before it, and another after each
 * block.
 */
static uint32_t count_repair(void (*before)(void), void (*after_block)(void))
{
	subnet_begin_routed(fabric);
	blocks = 0;
	if (before)
		before();
	subnet_on_block(after_block);
	fail_link();
	subnet_on_block(NULL);
	assert_int_equal(subnet_unreachable(), 0);
	return blocks;
}

/* Another failure interrupts it: at most the first block is sent twice. */
static void test_interrupted(void **state)
{
	uint32_t together = count_repair(lose_other, count_block);

	end();
	assert_in_range(count_repair(NULL, lose_other_meanwhile), together, together + 1);
	subnet_sweep_well();
	assert_int_equal(subnet_blocks_missing(), 0);
	end();
}

/*
 * Traps without a failure: the remaining blocks are sent all the same, however many
 * come.
 */
static void test_vain_traps(void **state)
{
	static void (*const after_block[])(void) = {send_one_trap, send_each_trap};
	uint32_t alone = count_repair(NULL, count_block);

	end();
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(count_repair(NULL, after_block[i]), alone);
		end();
	}
}

/* A top switch's cable returns to a fabric of which another part fails meanwhile. */
static void return_link(void)
{
	subnet_begin_routed(fabric);
	fail_link();
	subnet_sweep_well();
	blocks = 0;
	subnet_set_link("m0-0", 1, true, false);
	subnet_on_block(send_one_trap);
	subnet_sweep_well();
	subnet_on_block(NULL);
}

/*
 * Blocks that could loop in OpenSM's order are sent before, in steps. If a trap
 * interrupts that, the rest is not sent in another order.
 */
static void test_steps_interrupted(void **state)
{
	return_link();
	assert_int_equal(subnet_logged("left to the repairer: something failed"), 1);
	assert_int_equal(subnet_blocks_missing(), 0);
	assert_int_equal(subnet_unreachable(), 0);
	assert_true(blocks > 1);
	end();
}

/*
 * A switch that does not answer one of them leaves the rest to the repairer, and to
 * another sweep; in the next one to OpenSM.
 */
static void test_steps_not_answered(void **state)
{
	osm_subn_t *subn = &subnet_opensm()->subn;

	subnet_begin_routed(fabric);
	fail_link();
	subnet_sweep_well();
	subnet_set_link("m0-0", 1, true, false);
	subnet_refuse_blocks("t0", UINT32_MAX);
	subnet_refuse_blocks("t1", UINT32_MAX);
	subnet_refuse_blocks("t2", UINT32_MAX);
	subnet_refuse_blocks("m0-0", UINT32_MAX);
	for (int i = 0; i < 2; i++) {
		subn->force_heavy_sweep = FALSE;
		subnet_sweep_well();
		assert_int_equal(subn->force_heavy_sweep, i == 0);
		assert_int_equal(subnet_logged("left to the repairer"), 1);
	}
	assert_int_equal(subnet_blocks_missing(), 0);
	end();
}

/* ---- More traps than are remembered ---- */

#define REMEMBERED 8192
#define FORGOTTEN "traps dropped"

static void work(void)
{
	struct subnet_sweep result;

	subnet_work(&result, 0);
	assert_int_equal(result.errors, 0);
}

/*
 * No trap makes OpenSM sweep, and none of a cable's is remembered: a sweep is
 * requested, which finds it. No trap costs memory.
 */
static void check_overflow(uint32_t dropped)
{
	osm_subn_t *subn = &subnet_opensm()->subn;
	char text[80];

	subn->force_heavy_sweep = FALSE;
	memfault_begin(&(struct memfault){.nth = 0});
	subnet_send_traps("l1-0", REMEMBERED);
	subnet_set_link("m0-0", 1, false, true);
	subnet_send_traps("l1-1", dropped - 2);
	assert_int_equal(memfault_end(), 0);
	assert_false(subn->force_heavy_sweep);
	work();
	assert_true(subn->force_heavy_sweep);
	snprintf(text, sizeof(text), ": %u " FORGOTTEN, dropped);
	assert_int_equal(subnet_logged(text), 1);
	work();
	assert_int_equal(subnet_logged(text), 1);
	assert_int_not_equal(subnet_unreachable(), 0);
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
}

static void test_many_traps(void **state)
{
	subnet_begin_routed(fabric);
	subnet_opensm()->subn.opt.sweep_on_trap = FALSE;
	subnet_send_traps("l1-0", REMEMBERED);
	work();
	assert_int_equal(subnet_logged(FORGOTTEN), 0);
	check_overflow(1000);
	subnet_set_link("m0-0", 1, true, false);
	subnet_sweep_well();
	check_overflow(2 * REMEMBERED); /* each time anew */
	assert_int_equal(subnet_logged(FORGOTTEN), 2);
	end();
}

static void send_more_traps(void)
{
	subnet_send_traps("l1-1", 100);
}

/* The traps of a search that gave up, beside as many as are remembered. */
static void test_many_traps_left(void **state)
{
	osm_subn_t *subn = &subnet_opensm()->subn;

	subnet_begin_routed(fabric);
	subn->opt.sweep_on_trap = FALSE;
	subn->force_heavy_sweep = FALSE;
	subnet_refuse_questions("l1-0", UINT32_MAX);
	subnet_send_traps("l1-0", REMEMBERED);
	subnet_on_question(send_more_traps);
	work();
	assert_int_equal(subnet_logged("left to the sweep: queries not answered"), 1);
	assert_int_equal(subnet_logged(": 100 " FORGOTTEN), 1);
	assert_true(subn->force_heavy_sweep);
	end();
}

/*
 * A host sends traps all the time: more than are remembered before a cable fails, and one
 * in each wait and after each block. The repair waits and sends as if there were none.
 */
static void send_trap_of_host(void)
{
	subnet_send_traps(host, 1);
	traps_to_come--;
}

static void test_host_sends_traps(void **state)
{
	subnet_begin_routed(fabric);
	find_sender();
	subnet_send_traps(host, REMEMBERED + 1);
	traps_to_come = 100;
	subnet_on_wait(send_trap_of_host);
	subnet_on_block(send_trap_of_host);
	fail_link();
	assert_true(traps_to_come < 100);
	assert_int_equal(subnet_logged("repair 1: failed: 1 cable (l0-0[1]-m0-0[1])"), 1);
	assert_int_equal(subnet_logged("; traps 2, "), 1);
	assert_int_equal(subnet_logged("; 8.0 ms from the first trap"), 1);
	assert_int_equal(subnet_logged(FORGOTTEN), 0);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/*
 * A top switch that does not answer, and then fails: its table is unknown, and no block
 * has to wait for it.
 */
static void test_dead_holds_nobody_up(void **state)
{
	subnet_begin_routed(fabric);
	subnet_refuse_blocks("t1", UINT32_MAX);
	subnet_set_link("m1-0", 1, false, true);
	subnet_begin_sweep();
	assert_int_equal(subnet_repaired("t1"), 0);
	for (unsigned int p = 1; p <= 4; p++)
		subnet_set_link("t1", p, false, true);
	fail_link();
	assert_int_equal(subnet_repaired("m0-0"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/* ---- Another hub ---- */

/*
 * Two islands with the leaves in common. From ta to x packets go through a leaf, the
 * hub: l0, until b0 fails, and l1 then, when a1 must not send up to ta any more.
 */
static int set_up_islands(void **state)
{
	fabric = recipe_draw(
		"l0/5 l1/5 a0/3 a1/3 b0/3 b1/3 ta/3 tb/3 "
		"l0:1=a0:1 l0:2=b0:1 l1:1=a1:1 l1:2=b1:1 "
		"a0:2=ta:1 a1:2=ta:2 b0:2=tb:1 b1:2=tb:2 "
		"l0:3=h0 l0:4=h1 l0:5=h2 l1:3=h3 l1:4=h4 l1:5=h5 b1:3=x ta:3=y");
	subnet_make_folder();
	return 0;
}

static void lose_hub(void)
{
	subnet_begin_routed(fabric);
	assert_int_equal(subnet_entry("ta", "x"), 1);
	subnet_set_link("b0", 1, false, true);
	subnet_set_link("b0", 2, false, true);
}

static void test_hub_moves(void **state)
{
	lose_hub();
	subnet_begin_sweep();
	assert_int_equal(subnet_entry("ta", "x"), 2);
	assert_int_equal(subnet_unreachable(), 0);
	end();
}

/* In the middle of a discovery, which has not come to a1 yet. */
static void test_hub_moves_while_discovering(void **state)
{
	const osm_subn_t *subn = &subnet_opensm()->subn;
	uint32_t a1 = pm_fabric_find_name(fabric, "a1");

	lose_hub();
	osm_get_switch_by_guid(subn, cl_hton64(fabric->nodes[a1].guid))
		->p_node->discovery_count = 0;
	subnet_refuse_blocks("a1", UINT32_MAX);
	subnet_begin_sweep();
	assert_int_equal(subnet_entry("ta", "x"), 1);
	end();
}

/* A record may end before a block, or be none. */
static void test_zeroed(void **state)
{
	uint8_t lft[2 * PM_LFT_BLOCK] = {0};
	osm_switch_t sw = {.lft = lft, .lft_size = PM_LFT_BLOCK};

	assert_true(lft_records_is_zeroed(&sw, 0));
	assert_false(lft_records_is_zeroed(&sw, 1));
	lft[PM_LFT_BLOCK - 1] = 1;
	assert_false(lft_records_is_zeroed(&sw, 0));
	sw.lft = NULL;
	assert_false(lft_records_is_zeroed(&sw, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_all_answer),
		cmocka_unit_test(test_explained),
		cmocka_unit_test(test_explained_before_it_comes),
		cmocka_unit_test(test_taken_over),
		cmocka_unit_test(test_above_does_not_answer),
		cmocka_unit_test(test_above_answers_later),
		cmocka_unit_test(test_above_is_tried_again),
		cmocka_unit_test(test_above_answers_late),
		cmocka_unit_test(test_ends_answer_later),
		cmocka_unit_test(test_home_answers_later),
		cmocka_unit_test(test_seen_before),
		cmocka_unit_test(test_set_after_discovery),
		cmocka_unit_test(test_dealt_with),
		cmocka_unit_test(test_trap_meanwhile),
		cmocka_unit_test(test_slow_answers),
		cmocka_unit_test(test_slow_answers_in_vain),
		cmocka_unit_test(test_long_burst),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_vain_traps),
		cmocka_unit_test(test_steps_interrupted),
		cmocka_unit_test(test_steps_not_answered),
		cmocka_unit_test(test_many_traps),
		cmocka_unit_test(test_many_traps_left),
		cmocka_unit_test(test_host_sends_traps),
		cmocka_unit_test(test_dead_holds_nobody_up),
	};

	const struct CMUnitTest islands[] = {
		cmocka_unit_test(test_hub_moves),
		cmocka_unit_test(test_hub_moves_while_discovering),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down) +
	       cmocka_run_group_tests_name("with an upper end port", tests,
					   set_up_upper_end, tear_down) +
	       cmocka_run_group_tests(islands, set_up_islands, tear_down);
}
