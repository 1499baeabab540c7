/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory over datagrams: times by hand, losses and their times, and that all is
 * requested again.
 */
#include "unit.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/dsm.h>

#define US 1000000 /* picoseconds */
#define DATA (PM_DSM_PACKET - PM_DSM_HEADER)

/* A link of 8 Gb/s: a byte in 1,000 ps. */
static const struct pm_dsm_config usual = {
	.nodes = 2,
	.delay = 23 * US,
	.touch = 1 * US,
	.latency = 2 * US,
	.timeout = 100000 * (uint64_t)US,
	.mbps = 8000,
	.posted = 8,
	.tries = 100,
	.small = 32,
	.page = 4096,
};

static struct pm_dsm_result invalidate(struct pm_dsm_config config)
{
	struct pm_dsm_result result = {0};

	assert_int_equal(pm_dsm_invalidate(&config, &result, NULL), 0);
	return result;
}

static struct pm_dsm_result update(struct pm_dsm_config config, uint32_t pages)
{
	struct pm_dsm_result result = {0};

	assert_int_equal(pm_dsm_update(&config, pages, &result, NULL), 0);
	return result;
}

static struct pm_dsm_result exchange(struct pm_dsm_config config, uint32_t pages)
{
	struct pm_dsm_result result = {0};

	assert_int_equal(pm_dsm_exchange(&config, pages, &result, NULL), 0);
	return result;
}

/* A message of 0 bytes has a packet, too. */
static uint64_t packets_of(uint64_t bytes)
{
	return bytes ? (bytes + DATA - 1) / DATA : 1;
}

static void test_packets(void **state)
{
	struct pm_dsm_config config = usual;

	assert_int_equal(DATA, 2042);
	config.posted = 100;
	for (config.page = 0; config.page < 3 * 2042 + 2; config.page++) {
		struct pm_dsm_result found = update(config, 1);
		uint64_t packets = packets_of(config.page);

		assert_int_equal(found.messages, 2);
		assert_int_equal(found.packets, 1 + packets);
		assert_int_equal(found.headers, 6 * (1 + packets));
		assert_int_equal(found.bytes, 32 + config.page + 6 * (1 + packets));
	}
}

/* The times of one message of one packet, and of three. */
static void test_times(void **state)
{
	const uint64_t way = 2 * (23 + 1) * US + 2 * US;
	struct pm_dsm_config config = usual;

	assert_int_equal(invalidate(config).last, 2 * (way + 38 * 1000));
	config.page = 100;
	assert_int_equal(update(config, 1).last, way + 38 * 1000 + way + 106 * 1000);
	/* The second one waits for the link, and the last, which is short, for the
	 * processor behind it. */
	config.page = 4096;
	assert_int_equal(update(config, 1).last,
			 way + 38 * 1000 + way + 2 * 2048 * 1000 + 1 * US);
	/*
	 * Three readers: the last answer is behind 2 questions and 2 answers, or
	 * packets.
	 */
	config.nodes = 4;
	assert_int_equal(invalidate(config).last, 2 * (way + 38 * 1000) + 2 * US);
	/* Two questions come at a time and have one link. */
	config.nodes = 3;
	config.touch = config.page = 0;
	assert_int_equal(update(config, 1).first, 2 * (way - 2 * US) + (38 + 6) * 1000);
	assert_int_equal(update(config, 1).last,
			 2 * (way - 2 * US) + (38 + 38 + 6) * 1000);
	config.nodes = 1;
	assert_int_equal(invalidate(config).last, 0);
	assert_int_equal(exchange(config, 4).packets, 0);
}

/*
 * Work that is done beside others' takes the same time for any number of nodes; work on
 * the processor does not.
 */
static void test_costs(void **state)
{
	struct pm_dsm_config slow = usual, busy = usual, quick = usual;

	slow.delay += 25 * US;
	busy.touch += 25 * US;
	for (uint32_t nodes = 2; nodes <= 16; nodes++) {
		quick.nodes = slow.nodes = busy.nodes = nodes;
		quick.posted = slow.posted = busy.posted = 64;
		assert_int_equal(invalidate(slow).last - invalidate(quick).last,
				 100 * US);
		assert_int_equal(update(slow, 1).first - update(quick, 1).first,
				 100 * US);
		assert_int_equal(update(slow, 1).last - update(quick, 1).last, 100 * US);
		if (nodes > 2)
			assert_true(invalidate(busy).last - invalidate(quick).last >
				    100 * US);
	}
}

/*
 * A burst with a receive for each packet is not lost; one more packet is, if the
 * receiver has not begun to read.
 */
static void test_bursts(void **state)
{
	struct pm_dsm_config config = usual;

	config.page = DATA;
	for (config.posted = 1; config.posted <= 10; config.posted++) {
		for (uint32_t burst = 1; burst <= config.posted; burst++) {
			assert_int_equal(update(config, burst).lost, 0);
			assert_int_equal(update(config, burst).repeats, 0);
		}
		assert_int_equal(update(config, config.posted + 1).lost, 1);
		assert_int_equal(update(config, config.posted + 1).repeats, 1);
		assert_int_equal(update(config, config.posted + 1).unanswered, 0);
	}
	config.posted = 64;
	assert_int_equal(update(config, 64).lost, 0);
}

static void test_acknowledgements_are_lost(void **state)
{
	struct pm_dsm_config config = usual;
	struct pm_dsm_result found;

	config.nodes = 12;
	config.posted = 11;
	found = invalidate(config);
	assert_int_equal(found.lost, 0);
	config.posted = 3;
	found = invalidate(config);
	assert_true(found.lost > 0);
	assert_int_equal(found.repeats, found.lost);
	assert_int_equal(found.unanswered, 0);
	assert_true(found.last > config.timeout);
}

/* Answers that are requested again come, as long as one fits. */
static void test_gives_up(void **state)
{
	struct pm_dsm_config config = usual;
	struct pm_dsm_result found;

	config.tries = 5;
	config.posted = 3;
	assert_int_equal(update(config, 1).unanswered, 0);
	config.posted = 2;
	found = update(config, 1);
	assert_int_equal(found.unanswered, 1);
	assert_int_equal(found.repeats, 4);
	assert_int_equal(found.lost, 5);
	assert_int_equal(found.last, 5 * config.timeout);
}

static void test_rdma(void **state)
{
	struct pm_dsm_config config = usual;
	struct pm_dsm_result found;

	config.rdma = true;
	config.posted = 1;
	found = update(config, PM_DSM_MAX_PAGES);
	assert_int_equal(found.lost, 0);
	assert_int_equal(found.packets, 1 + 2 * PM_DSM_MAX_PAGES);
	assert_int_equal(found.bytes, 32 + 6 + 4096 * PM_DSM_MAX_PAGES);
	/* The processor touches a page once, not each packet of it. */
	config.posted = 8;
	assert_int_equal(update(config, 1).last,
			 2 * (2 * (23 + 1) * US + 2 * US) + (38 + 4096) * 1000);
	config.touch = 5 * US;
	assert_int_equal(update(config, 1).last,
			 2 * (2 * (23 + 5) * US + 2 * US) + (38 + 4096) * 1000);
}

/*
 * The paper's: with two nodes all traffic uses one path, and receives are posted in
 * proportion to the nodes.
 */
static void test_two_nodes_slower_than_one(void **state)
{
	const uint64_t iteration = 150000 * (uint64_t)US;
	struct pm_dsm_config config = usual;
	uint64_t before = iteration, time[5];

	for (uint32_t nodes = 1; nodes <= 4; nodes++) {
		config.nodes = nodes;
		config.posted = 4 * nodes;
		time[nodes] = iteration / nodes + exchange(config, 4).last;
	}
	assert_true(time[2] > time[1]);
	assert_true(time[3] * 2 < time[1]);
	assert_true(time[4] * 3 < time[1]);
	for (uint32_t nodes = 2; nodes <= 4; nodes++) {
		config.nodes = nodes;
		config.rdma = true;
		config.posted = 2; /* for questions of two neighbours */
		time[nodes] = iteration / nodes + exchange(config, 4).last;
		assert_true(time[nodes] < before);
		before = time[nodes];
	}
}

/*
 * Whatever the numbers are: no packet with a receive is lost, all arrive in the end,
 * and results repeat.
 */
static void test_properties(void **state)
{
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 2000; i++) {
		struct pm_dsm_config config = usual;
		uint32_t pages = 1 + (uint32_t)pm_random_below(&seed, 8);
		struct pm_dsm_result found, again;
		uint64_t all;

		config.nodes = 2 + (uint32_t)pm_random_below(&seed, 5);
		config.delay = pm_random_below(&seed, 50 * US);
		config.touch = pm_random_below(&seed, 5 * US);
		config.latency = pm_random_below(&seed, 5 * US);
		config.page = (uint32_t)pm_random_below(&seed, 10000);
		config.posted = 5 + (uint32_t)pm_random_below(&seed, 40);
		config.tries = 1000;
		all = pages * packets_of(config.page) + config.nodes;
		found = update(config, pages);
		again = update(config, pages);
		assert_int_equal(found.last, again.last);
		assert_int_equal(found.packets, again.packets);
		assert_int_equal(found.lost, again.lost);
		assert_int_equal(found.unanswered, 0);
		assert_true(found.first <= found.last);
		assert_true(found.lost < found.packets);
		assert_int_equal(found.lost > 0, found.repeats > 0);
		if (all <= config.posted && found.lost)
			fail_msg("seed %u: %llu packets and %u receives", i,
				 (unsigned long long)all, config.posted);
	}
}

static void test_refused(void **state)
{
	static const struct {
		size_t member;
		uint32_t bad;
	} rows[] = {
		{offsetof(struct pm_dsm_config, nodes), 0},
		{offsetof(struct pm_dsm_config, nodes), PM_DSM_MAX_NODES + 1},
		{offsetof(struct pm_dsm_config, mbps), 0},
		{offsetof(struct pm_dsm_config, posted), 0},
		{offsetof(struct pm_dsm_config, tries), 0},
		{offsetof(struct pm_dsm_config, page), (1 << 20) + 1},
		{offsetof(struct pm_dsm_config, small), (1 << 20) + 1},
	};
	struct pm_dsm_config config;
	struct pm_dsm_result result;
	struct pm_error err;

	for_each_row(row, rows) {
		config = usual;
		*(uint32_t *)((char *)&config + row->member) = row->bad;
		assert_int_equal(pm_dsm_exchange(&config, 1, &result, &err), -EINVAL);
	}
	config = usual;
	assert_int_equal(pm_dsm_update(&config, 0, &result, &err), -EINVAL);
	assert_int_equal(pm_dsm_update(&config, 65, &result, &err), -EINVAL);
	config.delay = PM_DSM_MAX_TIME + 1;
	assert_int_equal(pm_dsm_invalidate(&config, &result, &err), -EINVAL);
	config.delay = 0;
	config.touch = PM_DSM_MAX_TIME;
	config.page = 1 << 20;
	config.posted = 100000;
	config.tries = 1;
	assert_int_equal(pm_dsm_update(&config, 10, &result, &err), -ERANGE);
	assert_int_equal(pm_dsm_update(&config, 64, &result, &err), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_acknowledgements_are_lost),
		cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_rdma),
		cmocka_unit_test(test_two_nodes_slower_than_one),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
