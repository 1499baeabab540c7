/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packet engine beside the flit engine: the same tree, tables, cables and switches.
 * They share nothing but the fabric and the generator of random numbers.
 */
#include "world.h"
#include "unit.h"

#include <portmajor/lab/flit.h>
#include <portmajor/lab/packet.h>
#include <portmajor/route/lfts.h>

#include <math.h>

#define HOSTS 64
#define LONG 64 /* flits or blocks of a packet */
#define CABLE 20
#define CROSSING 39
#define CYCLES 40000

struct both {
	struct world world;
	struct pm_flit_net *net;
	struct pm_packet_host hosts[HOSTS];
	struct pm_flit_config flit;
	struct pm_packet_config packet;
	struct pm_workload_config workload;
};

static void configure(struct both *both)
{
	both->flit = (struct pm_flit_config){
		.flow = PM_FLIT_CREDIT,
		.cable = CABLE,
		.delay = CROSSING,
		.rule = PM_FLIT_ANY,
		.length = LONG,
		.buffer = 4 * LONG,
		.vcs = 1,
		.reads = 1,
		.seed = 1,
	};
	both->workload = (struct pm_workload_config){
		.num_hosts = HOSTS,
		.blocks = LONG,
		.seed = 1,
	};
	both->packet = (struct pm_packet_config){
		.fabric = both->world.fabric,
		.tables = both->world.first,
		.length = both->world.stride,
		.hosts = both->hosts,
		.num_hosts = HOSTS,
		.wire = CABLE,
		.crossing = CROSSING,
		.packet = LONG,
		.buffer = 64 * LONG,
		.reads = 1,
		.batches = 1,
	};
}

static void begin(struct both *both)
{
	static const struct pm_generate tree = {.kind = PM_GENERATE_XGFT,
						.xgft = {3, {4, 4, 4}, {1, 4, 4}}};
	struct pm_lfts *lfts = NULL;

	*both = (struct both){0};
	world_make(&both->world, world_generate(&tree), PM_GROUPED);
	assert_int_equal(pm_lfts_of_plan(both->world.plan, both->world.routes,
					 both->world.fabric, &lfts, NULL),
			 0);
	assert_int_equal(
		pm_flit_net_of_tables(both->world.fabric, lfts, &both->net, NULL), 0);
	pm_lfts_free(lfts);
	/* By switch and port, as the flit engine numbers its nodes. */
	assert_int_equal(both->net->num_nodes, HOSTS);
	assert_int_equal(pm_packet_list_hosts(both->world.fabric, both->hosts), HOSTS);
	configure(both);
}

/* Poisson arrivals, with so many VCs, all of which may be read at once. */
static void begin_poisson(struct both *both, uint32_t vcs)
{
	begin(both);
	both->flit.arrivals = PM_FLIT_POISSON;
	both->workload.poisson = true;
	both->flit.vcs = both->flit.reads = both->packet.reads = vcs;
}

static void end(struct both *both)
{
	pm_flit_net_free(both->net);
	world_free(&both->world);
}

static struct pm_flit_result run_flit(const struct both *both, uint32_t warmup,
				      uint32_t cycles)
{
	struct pm_flit_result result;
	struct pm_flit *flit = NULL;
	struct pm_error err = {""};

	if (pm_flit_new(both->net, &both->flit, &flit, &err))
		fail_msg("%s", err.text);
	pm_flit_run(flit, warmup);
	pm_flit_measure(flit);
	pm_flit_run(flit, cycles);
	pm_flit_result(flit, &result);
	assert_int_equal(pm_flit_deadlock(flit)->cycle, 0);
	pm_flit_free(flit);
	return result;
}

/* Arrays of the result are gone. */
static struct pm_packet_result run_packet(struct both *both, uint32_t warmup,
					  uint32_t ticks)
{
	struct pm_packet_result result;
	struct pm_packet *packet = NULL;
	struct pm_error err = {""};

	both->packet.warmup = warmup;
	both->packet.batch = ticks;
	if (pm_workload_new(&both->workload, &both->packet.workload, &err) ||
	    pm_packet_new(&both->packet, &packet, &err))
		fail_msg("%s", err.text);
	pm_packet_run(packet, warmup + ticks + 1);
	pm_packet_result(packet, &result);
	assert_int_equal(result.dropped, 0);
	pm_packet_free(packet);
	pm_workload_free(both->packet.workload);
	return result;
}

/*
 * A flit engine's packet has arrived in the cycle of its tail, a packet engine's when
 * its last block is in, one tick later: there is no other difference.
 */
static void test_zero_load(void **state)
{
	struct both both;

	begin(&both);
	both.flit.pattern = PM_FLIT_PAIR;
	both.flit.load = LONG * (PM_FLIT_FULL_LOAD / 500);
	both.workload.pattern = PM_LIST;
	both.workload.num_list = 1;
	for (uint32_t i = 0; i < HOSTS * HOSTS; i++) {
		struct pm_workload_message message = {i / HOSTS, i % HOSTS, LONG, 0,
						      NULL};
		struct pm_flit_result flit;
		struct pm_packet_result packet;

		if (message.from == message.to)
			continue;
		both.flit.from = message.from;
		both.flit.node = message.to;
		both.workload.list = &message;
		flit = run_flit(&both, 0, 1000);
		packet = run_packet(&both, 0, 1000);
		assert_in_range(flit.packets, 1, 3);
		assert_int_equal(flit.p50, flit.max);
		if (packet.done != flit.max + 1)
			fail_msg("%u to %u: %u ticks, and %u cycles and one",
				 message.from, message.to, packet.done, flit.max);
	}
	end(&both);
}

/* Mean latencies under load: the excess of the flit engine's, as a share. */
static double compare(struct both *both, uint32_t load)
{
	struct pm_flit_result flit;
	struct pm_packet_result packet;
	double share;

	both->flit.load = both->workload.load = load;
	flit = run_flit(both, CYCLES / 4, CYCLES);
	packet = run_packet(both, CYCLES / 4, CYCLES);
	share = (flit.mean + 1) / packet.mean - 1;
	printf("%2u read at once, load %.2f: flit engine %.2f + 1, packet engine %.2f: %+.2f%%\n",
	       both->flit.reads, load / 1e6, flit.mean, packet.mean, 100 * share);
	assert_false(flit.saturated || packet.unstable);
	assert_true(fabs(flit.accepted - load / 1e6) < 0.02);
	assert_true(fabs(packet.accepted - load / 1e6) < 0.02);
	return share;
}

/*
 * One VC, one read at once, and no overtaking: the same model, except for arbitration.
 */
static void test_one_vc(void **state)
{
	struct both both;

	begin_poisson(&both, 1);
	both.packet.in_line = true;
	both.packet.buffer = both.flit.buffer;
	for (uint32_t load = 50000; load <= 200000; load += 50000)
		assert_true(fabs(compare(&both, load)) < 0.03);
	assert_true(fabs(compare(&both, 400000)) < 0.3);
	end(&both);
}

/*
 * Packets of several VCs share a cable flit by flit, so that both end late, where in the
 * packet engine one goes after the other. So the flit engine's take longer, by more than
 * 3% from load 0.15 on: docs/lab-validation.md has the numbers.
 */
static void test_many_vcs(void **state)
{
	struct both both;

	begin_poisson(&both, 8);
	for (uint32_t load = 50000; load <= 400000; load += 50000) {
		double share = compare(&both, load);

		assert_true(share > -0.03 && share < (load > 100000 ? 0.3 : 0.03));
	}
	end(&both);
}

/* They do not share a cable if an output ends a packet before it begins another one. */
static void test_turns_by_packet(void **state)
{
	struct both both;

	begin_poisson(&both, 8);
	both.flit.arbitration = PM_FLIT_BY_PACKET;
	for (uint32_t load = 50000; load <= 400000; load += 50000)
		assert_true(fabs(compare(&both, load)) < 0.03);
	end(&both);
}

/* Packets of a flit cannot share: so many VCs make no difference then, and waits are a
 * good part of the time, as cables are short. */
static void test_single_flits(void **state)
{
	struct both both;

	begin_poisson(&both, 8);
	both.flit.cable = both.packet.wire = 1;
	both.flit.delay = both.packet.crossing = 0;
	both.flit.length = both.workload.blocks = both.packet.packet = 1;
	for (uint32_t load = 50000; load <= 400000; load *= 2)
		assert_true(fabs(compare(&both, load)) < 0.03);
	end(&both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_load),
		cmocka_unit_test(test_one_vc),
		cmocka_unit_test(test_many_vcs),
		cmocka_unit_test(test_turns_by_packet),
		cmocka_unit_test(test_single_flits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
