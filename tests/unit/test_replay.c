/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recordings on the packet engine's clock, and losses between two Sets. */
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/lab/outage.h>
#include <portmajor/lab/replay.h>

/* ---- Times ---- */

#define SETS 8

/* Sets with these times of arriving, to block i. */
static struct pm_lft_trace make_sets(struct pm_lft_trace_set *set,
				     const uint64_t *arrived, uint32_t num)
{
	static uint8_t entries[SETS * 64];

	for (uint32_t i = 0; i < num; i++) {
		set[i] = (struct pm_lft_trace_set){
			.arrived = arrived[i], .sw = i + 10, .block = i};
		memset(entries + (size_t)i * 64, (int)i, 64);
	}
	return (struct pm_lft_trace){
		.set = set, .entries = entries, .num = num, .failed_at = 1000};
}

static struct pm_replay replay(const uint64_t *arrived, uint32_t num,
			       const struct pm_replay_config *config)
{
	struct pm_lft_trace_set set[SETS];
	struct pm_lft_trace trace = make_sets(set, arrived, num);
	struct pm_replay found;

	pm_replay_make(&trace, config, &found);
	for (uint32_t i = 0; i < found.num; i++) {
		const struct pm_packet_set *one = &found.list[i];

		assert_int_equal(one->sw, one->block + 10);
		assert_int_equal(one->entries[0], one->block);
		assert_int_equal(one->entries[63], one->block);
	}
	return found;
}

static void assert_set(const struct pm_replay *found, uint32_t i, uint32_t block,
		       uint32_t time)
{
	assert_int_equal(found->list[i].block, block);
	assert_int_equal(found->list[i].time, time);
}

/* The nearest tick of 2.56 ns, by time; two at one tick as they were sent; one that was
 * lost is nowhere; before the failure, and before the run. */
static void test_times(void **state)
{
	const uint64_t arrived[] = {1010, 1000, 1001, 1002, PM_LFT_TRACE_NEVER,
				    990,  1,	1010};
	const struct pm_replay_config config = {
		.tick = 2560000, .fail_at = 300, .end = 1000};
	struct pm_replay found = replay(arrived, SETS, &config);

	assert_int_equal(found.num, 7);
	assert_int_equal(found.late, 0);
	assert_set(&found, 0, 6, 0);
	assert_set(&found, 1, 5, 296);
	assert_set(&found, 2, 1, 300);
	assert_set(&found, 3, 2, 300);
	assert_set(&found, 4, 3, 301);
	assert_set(&found, 5, 0, 304);
	assert_set(&found, 6, 7, 304);
	free(found.list);
	free(found.returns);
}

/* At the end and later, also later than any run. */
static void test_late(void **state)
{
	const uint64_t arrived[] = {2000, 1019, 1020, UINT64_MAX / 4};
	const struct pm_replay_config config = {.tick = 1000000, .fail_at = 5, .end = 25};
	struct pm_replay found = replay(arrived, 4, &config);

	assert_int_equal(found.num, 1);
	assert_set(&found, 0, 1, 24);
	assert_int_equal(found.late, 3);
	assert_true(found.last == UINT64_MAX / 4 - 1000);
	free(found.list);
	free(found.returns);
}

/* A failure before the run: changes since then are in force. */
static void test_before(void **state)
{
	const uint64_t arrived[] = {1499, 1500, 1501, 999, 1024};
	const struct pm_replay_config config = {
		.tick = 1000000, .before = 500, .end = 25};
	struct pm_replay found = replay(arrived, 5, &config);

	assert_int_equal(found.num, 5);
	assert_set(&found, 0, 0, 0);
	assert_set(&found, 1, 1, 0);
	assert_set(&found, 2, 3, 0);
	assert_set(&found, 3, 4, 0);
	assert_set(&found, 4, 2, 1);
	free(found.list);
	free(found.returns);
}

/* Links return at the nearest tick, after the failure, if it is in the run. */
static void test_returns(void **state)
{
	struct pm_lft_trace_return active[] = {{1001, 7}, {1010, 8}, {1300, 9}};
	struct pm_lft_trace trace = {
		.failed_at = 1000, .active = active, .num_active = 3};
	struct pm_replay_config config = {.tick = 2560000, .fail_at = 300, .end = 400};
	struct pm_replay found;

	pm_replay_make(&trace, &config, &found);
	assert_int_equal(found.num_returns, 2);
	assert_int_equal(found.returns[0].time, 301);
	assert_int_equal(found.returns[0].port, 7);
	assert_int_equal(found.returns[1].time, 304);
	assert_int_equal(found.returns[1].port, 8);
	free(found.list);
	free(found.returns);
	config = (struct pm_replay_config){.tick = 1000000, .before = 20, .end = 400};
	pm_replay_make(&trace, &config, &found);
	assert_int_equal(found.num_returns, 3);
	assert_int_equal(found.returns[0].time, 1);
	assert_int_equal(found.returns[1].time, 1);
	assert_int_equal(found.returns[2].time, 280);
	free(found.list);
	free(found.returns);
}

/* ---- Lost between two Sets ---- */

#define BLOCKS 8
#define INTERVAL 128 /* ticks from one message of a host to the next */
#define HOSTS 72
#define ROUND ((HOSTS - 1) * INTERVAL) /* each pair has one message in this time */

/* Two hosts of each leaf: one that others reach by chassis 0, one by chassis 1. */
static void choose_hosts(const struct world *world, struct pm_lft_trace *trace,
			 struct pm_packet_host *hosts)
{
	const struct pm_fabric *fabric = world->fabric;
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t leaf = pm_fabric_peer_node(fabric, i), other = leaf ? 0 : 1;
		uint8_t by;

		if (fabric->ports[i].node < fabric->num_switches || leaf == PM_NONE)
			continue;
		by = trace->tables[(size_t)other * trace->length + trace->lid[i]];
		if (by == 19 || by == 20) {
			assert_true(num < HOSTS);
			hosts[num++] = (struct pm_packet_host){i, trace->lid[i]};
		} else {
			trace->lid[i] = 0;
		}
	}
	assert_int_equal(num, HOSTS);
}

/* Dead paths so many ns after the failure. */
static uint64_t dead_at(const struct pm_outage *outage, uint64_t ns)
{
	uint32_t i = outage->num_points;

	while (i > 1 && outage->curve[i - 1].ns > ns)
		i--;
	return outage->curve[i - 1].dead;
}

/*
 * Each host sends to all others in turn, at a load of 1/16, again and again. Tables
 * change each two rounds. So in the second one of them each pair has a packet at the
 * end of its path, and all observations repeat with each round: one packet is dropped
 * for each dead pair.
 */
static uint32_t compare_windows(const struct pm_packet_result *r,
				const struct pm_outage *outage)
{
	uint32_t differences = 0;

	assert_int_equal(r->windows[1].packets, outage->pairs);
	assert_int_equal(r->windows[1].dropped, 0);
	for (uint32_t i = 3; i < r->num_windows; i += 2) {
		uint64_t dead = dead_at(outage, (uint64_t)(i - 2) * ROUND);

		if (r->windows[i].dropped != dead)
			fail_msg("window %u: %llu packets dropped, %llu pairs dead", i,
				 (unsigned long long)r->windows[i].dropped,
				 (unsigned long long)dead);
		assert_int_equal(r->windows[i].packets, outage->pairs - dead);
		differences +=
			i > 3 && r->windows[i].dropped != r->windows[i - 2].dropped;
	}
	return differences;
}

static void run_sets(const struct world *world, const struct pm_lft_trace *trace,
		     const struct pm_packet_host *hosts, const struct pm_outage *outage,
		     uint32_t *differences)
{
	const struct pm_replay_config times = {
		.tick = 1000000, .fail_at = 2 * ROUND, .end = PM_PACKET_MAX_TICKS};
	struct pm_workload_config load = {.pattern = PM_ALL_TO_ALL,
					  .num_hosts = HOSTS,
					  .blocks = BLOCKS,
					  .load = PM_LOAD_FULL * BLOCKS / INTERVAL,
					  .seed = 1};
	struct pm_packet_config config = {.fabric = world->fabric,
					  .tables = trace->tables,
					  .length = trace->length,
					  .hosts = hosts,
					  .num_hosts = HOSTS,
					  .wire = 7,
					  .crossing = 11,
					  .packet = BLOCKS,
					  .buffer = 64,
					  .failed = trace->failed,
					  .num_failed = trace->num_failed,
					  .fail_at = times.fail_at,
					  .batch = ROUND,
					  .batches = 1,
					  .window = ROUND};
	struct pm_replay found;
	struct pm_packet *packet;
	struct pm_packet_result r;

	pm_replay_make(trace, &times, &found);
	assert_int_equal(found.num, trace->num);
	config.sets = found.list;
	config.num_sets = found.num;
	config.returns = found.returns;
	config.num_returns = found.num_returns;
	config.reset = trace->reset;
	config.num_reset = trace->num_reset;
	config.warmup = (trace->num + trace->num_active + 2) * 2 * ROUND;
	assert_int_equal(pm_workload_new(&load, &config.workload, NULL), 0);
	assert_int_equal(pm_packet_new(&config, &packet, NULL), 0);
	pm_packet_run(packet, config.warmup + 1);
	pm_packet_result(packet, &r);
	*differences = compare_windows(&r, outage);
	pm_packet_free(packet);
	pm_workload_free(config.workload);
	free(found.list);
	free(found.returns);
}

/* Instead of the repair, links return one after the other. */
static void bring_back(struct pm_lft_trace *trace)
{
	uint64_t ns = 0;

	trace->num = 0;
	trace->active = calloc(trace->num_failed, sizeof(*trace->active));
	assert_non_null(trace->active);
	for (uint32_t i = 0; i < trace->num_failed; i++) {
		ns += UINT64_C(2) * ROUND;
		trace->active[trace->num_active++] =
			(struct pm_lft_trace_return){ns, trace->failed[i]};
	}
}

/* The switch has lost its table, and gets it block by block when its links are back. */
static void reset(struct pm_lft_trace *trace, uint32_t sw, uint32_t room)
{
	uint64_t ns = trace->active[trace->num_active - 1].ns;

	assert_true(trace->length / 64 <= room);
	trace->reset = calloc(1, sizeof(*trace->reset));
	assert_non_null(trace->reset);
	trace->reset[trace->num_reset++] = sw;
	trace->num = trace->length / 64;
	for (uint32_t i = 0; i < trace->num; i++) {
		ns += UINT64_C(2) * ROUND;
		trace->set[i] = (struct pm_lft_trace_set){ns, ns, ns, sw, i};
	}
	memcpy(trace->entries, trace->tables + (size_t)sw * trace->length, trace->length);
}

enum after { REPAIRED, RETURNED, REBOOTED };

/*
 * The packet engine loses the share of packets that outage.h has as dead, after each Set
 * in the plugin's order, and after each link that returns.
 */
static void try_share(struct world *world, const char *failure, enum after after)
{
	const struct pm_lft_trace_config config = {
		.sm = PM_NONE, .mad_ns = UINT64_C(2) * ROUND, .wire_smps = 1};
	struct pm_packet_host hosts[HOSTS];
	struct pm_ports ports = {0};
	struct pm_outage outage;
	struct pm_lft_trace *trace;
	uint32_t differences, room;

	assert_int_equal(pm_failures_add(world->fabric, world->plan, "loss", failure,
					 &ports, NULL),
			 0);
	trace = pm_lft_trace_compute(world->fabric, world->plan, &config, ports.list,
				     ports.num);
	choose_hosts(world, trace, hosts);
	room = trace->num;
	if (after != REPAIRED)
		bring_back(trace);
	if (after == REBOOTED)
		reset(trace, pm_fabric_find_name(world->fabric, failure), room);
	pm_outage_follow(world->fabric, trace, &outage);
	assert_int_equal(outage.pairs, HOSTS * (HOSTS - 1));
	assert_true(outage.at_once > 0);
	run_sets(world, trace, hosts, &outage, &differences);
	printf("%s lost: of %llu pairs %llu are dead, then less after %u of %u Sets and "
	       "%u returns, %llu in the end; as many packets in each round\n",
	       failure, (unsigned long long)outage.pairs,
	       (unsigned long long)outage.at_once, differences, trace->num,
	       trace->num_active, (unsigned long long)outage.end);
	assert_int_equal(differences, outage.num_points - 1);
	free(outage.curve);
	free(ports.list);
	pm_lft_trace_free(trace);
}

static void test_share(void **state)
{
	struct world world;

	world_make(&world, world_director(36), PM_GROUPED);
	try_share(&world, "s0-*", REPAIRED);
	try_share(&world, "s0-fab0", REPAIRED);
	try_share(&world, "leaf5:19", REPAIRED);
	try_share(&world, "s0-line0", RETURNED);
	try_share(&world, "s0-line0", REBOOTED);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),  cmocka_unit_test(test_late),
		cmocka_unit_test(test_before), cmocka_unit_test(test_returns),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
