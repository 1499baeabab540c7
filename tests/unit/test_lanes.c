/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Virtual lanes of the packet engine. */
#include "packet_world.h"

#include <errno.h>
#include <math.h>

/* ---- Weights ---- */

/* So many lanes, that of each service level its own, with one weight each in the low
 * table. */
static struct pm_packet_lanes make_lanes(uint32_t num, uint8_t weight)
{
	struct pm_packet_lanes lanes = {.num = num, .num_low = num};

	for (uint8_t i = 0; i < num; i++) {
		lanes.of_sl[i] = i;
		lanes.low[i] = (struct pm_packet_weight){i, weight};
	}
	return lanes;
}

/* Three hosts send to a fourth at full rate, each with its own service level. */
static void begin_three(struct lab *lab, const struct pm_packet_lanes *lanes)
{
	static const uint8_t sls[] = {0, 1, 2, 3};

	begin_star(lab);
	lab->workload.pattern = PM_INCAST;
	lab->workload.node = 3;
	lab->workload.senders = 3;
	lab->workload.load = PM_LOAD_FULL;
	lab->workload.sls = sls;
	lab->config.lanes = lanes;
	lab->config.warmup = 2000;
}

/* The blocks of each service level out of `turn`, to a turn or two. */
static void assert_shares(struct lab *lab, const uint32_t *shares)
{
	uint32_t ticks = lab->config.batch * lab->config.batches;
	uint32_t turn = shares[0] + shares[1] + shares[2];

	start_to_end(lab);
	for (uint32_t sl = 0; sl < 3; sl++) {
		double most = (double)ticks * shares[sl] / turn;
		double found = (double)lab->r.sls[sl].blocks;

		if (fabs(found - most) > shares[sl] + 64.0)
			fail_msg("service level %u: %.0f blocks of %u, not %.0f", sl,
				 found, ticks, most);
		assert_int_equal(lab->r.sls[sl].ticks, lab->r.sls[sl].blocks);
	}
	assert_int_equal(lab->r.sls[3].packets, 0);
	finish(lab);
}

static void test_weights(void **state)
{
	static const uint8_t weights[][3] = {
		{192, 64, 64}, {64, 64, 64}, {255, 128, 1}, {100, 10, 64}, {16, 48, 32},
	};
	static const uint32_t packets[] = {64, 16, 5};
	struct pm_packet_lanes lanes = make_lanes(3, 0);
	struct lab lab;

	begin_three(&lab, &lanes);
	for (size_t i = 0; i < LENGTH(weights); i++)
		for (size_t p = 0; p < LENGTH(packets); p++) {
			uint32_t size = packets[p], shares[3];

			/* The last packet of a turn is sent whole. */
			for (uint32_t l = 0; l < 3; l++) {
				lanes.low[l].weight = weights[i][l];
				shares[l] = (weights[i][l] + size - 1) / size * size;
			}
			lab.config.packet = lab.workload.blocks = size;
			lab.config.buffer = 8 * size;
			assert_shares(&lab, shares);
		}
	end(&lab);
}

/* An entry of each table, and several of a lane in one. */
static void test_high(void **state)
{
	struct pm_packet_lanes lanes = make_lanes(3, 64);
	struct lab lab;

	lanes.high[0] = (struct pm_packet_weight){0, 128};
	lanes.high[1] = (struct pm_packet_weight){1, 64};
	lanes.high[2] = (struct pm_packet_weight){0, 64};
	lanes.low[0] = (struct pm_packet_weight){0, 0};
	lanes.low[1] = lanes.low[0];
	lanes.num_high = 3;
	begin_three(&lab, &lanes);
	/* Of four packets of the high table three are of lane 0; a packet of the low one
	 * comes after the limit, or after each if that is 0. */
	assert_shares(&lab, (uint32_t[]){3 * 64, 64, 4 * 64});
	for (uint32_t limit = 1; limit < 20; limit += 3) {
		lanes.limit = limit;
		assert_shares(&lab, (uint32_t[]){3 * 64 * limit, 64 * limit, 4 * 64});
	}
	lanes.limit = PM_PACKET_NO_LIMIT;
	start_to_end(&lab);
	assert_int_equal(lab.r.sls[2].packets, 0);
	assert_true(lab.r.accepted * 3 > 0.999);
	finish(&lab);
	/* The rest of the high table is for the low one, whatever the limit. */
	lab.workload.load = PM_LOAD_FULL / 4;
	start_to_end(&lab);
	for (uint32_t sl = 0; sl < 3; sl++)
		assert_true(fabs((double)lab.r.sls[sl].blocks / 100000 - 0.25) < 0.01);
	finish(&lab);
	end(&lab);
}

/* A weight guarantees its share, unless the high table has no limit. */
static void test_starvation(void **state)
{
	struct random random = {11};
	struct lab lab;

	for (uint32_t i = 0; i < 60; i++) {
		struct pm_packet_lanes lanes = make_lanes(3, 0);

		for (uint32_t l = 0; l < 3; l++)
			lanes.low[l].weight = (uint8_t)random_range(&random, 1, 255);
		lanes.num_high = random_below(&random, 4);
		for (uint32_t h = 0; h < lanes.num_high; h++)
			lanes.high[h] = (struct pm_packet_weight){
				(uint8_t)random_below(&random, 3),
				(uint8_t)random_below(&random, 256)};
		lanes.limit = random_below(&random, 20);
		begin_three(&lab, &lanes);
		lab.config.packet = lab.workload.blocks = random_range(&random, 1, 64);
		lab.config.reads = random_below(&random, 2);
		lab.config.in_line = random_chance(&random, 50);
		start_to_end(&lab);
		for (uint32_t sl = 0; sl < 3; sl++)
			assert_true(lab.r.sls[sl].packets > 3);
		assert_true(lab.r.accepted * 3 > 0.99);
		finish(&lab);
		end(&lab);
	}
}

/* ---- Lanes alone ---- */

/*
 * Two switches with two hosts each, and one path between them. Packets to the third
 * host are slow.
 */
static void begin_slow(struct lab *lab, uint16_t *ticks, uint16_t slow)
{
	const struct pm_fabric *fabric;
	uint32_t remote;

	begin_with(lab,
		   recipe_draw("s/3 t/3 m/2 s:1=a s:2=b t:1=c t:2=d s:3=m:1 t:3=m:2"));
	fabric = lab->world.fabric;
	remote = fabric->ports[lab->hosts[2].port].peer;
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ticks[i] = i == remote ? slow : 1;
	lab->config.ticks = ticks;
}

/* Each host sends at full rate to the opposite one. */
static void begin_across(struct lab *lab, uint16_t *ticks, uint16_t slow)
{
	begin_slow(lab, ticks, slow);
	lab->workload.pattern = PM_SHIFT;
	lab->workload.shift = 2;
	lab->workload.load = PM_LOAD_FULL;
}

/* The share of its cable that b gets to d while a sends at full rate to c. */
static double share_of_b(struct lab *lab)
{
	double share;

	start_to_end(lab);
	share = (double)lab->r.sls[1].blocks / lab->config.batch / lab->config.batches;
	finish(lab);
	return share;
}

static void test_victim(void **state)
{
	static const uint8_t sls[] = {0, 1, 2, 2};
	const struct pm_packet_lanes lanes = make_lanes(3, 64);
	uint16_t ticks[32];
	struct lab lab;

	begin_across(&lab, ticks, 40);
	lab.workload.sls = sls;
	/*
	 * In one lane b gets the rate of c; with a lane of its own the rate that a
	 * leaves.
	 */
	assert_true(fabs(share_of_b(&lab) - 1 / 40.0) < 0.003);
	lab.config.lanes = &lanes;
	assert_true(fabs(share_of_b(&lab) - (1 - 1 / 40.0)) < 0.003);
	lab.config.in_line = true;
	assert_true(fabs(share_of_b(&lab) - (1 - 1 / 40.0)) < 0.003);
	end(&lab);
}

/* Unused lanes change nothing, and neither does the lane that all use. */
static void test_unused(void **state)
{
	struct pm_packet_lanes lanes = make_lanes(4, 7);
	struct pm_packet_lanes one = make_lanes(1, 7);
	uint8_t sls[64];
	struct lab lab;

	for (uint32_t variant = 0; variant < 8; variant++) {
		uint64_t digest;

		begin_with(&lab, tree(2, 4));
		lab.workload.pattern = PM_UNIFORM;
		lab.workload.load = 900000;
		lab.config.reads = variant % 2;
		lab.config.in_line = variant / 2 % 2;
		lab.config.lifetime = variant / 4 ? 300 : 0;
		digest = run_digest(&lab);
		lab.config.lanes = &one;
		assert_int_equal(run_digest(&lab), digest);
		if (variant < 4) {
			lab.config.lanes = &lanes;
			assert_int_equal(run_digest(&lab), digest);
			memset(sls, 3, sizeof(sls));
			lab.workload.sls = sls;
			assert_int_equal(run_digest(&lab), digest);
			for (uint32_t h = 0; h < lab.num_hosts; h++)
				sls[h] = (uint8_t)(h % 4);
			assert_int_not_equal(run_digest(&lab), digest);
		}
		end(&lab);
	}
}

/* A head that waits for a lane's credits is dropped in time, though others go on. */
static void test_lifetime(void **state)
{
	static const uint8_t sls[] = {0, 1, 2, 2};
	const struct pm_packet_lanes lanes = make_lanes(3, 64);
	uint16_t ticks[32];
	struct lab lab;

	begin_across(&lab, ticks, 1000);
	lab.workload.sls = sls;
	lab.config.lanes = &lanes;
	lab.config.lifetime = 5000;
	start_to_end(&lab);
	/* The cable's turn of 5,000 ticks, for most of the time. */
	assert_in_range(lab.r.drops[PM_DROP_LIFETIME], 15, 30);
	assert_true(lab.r.sls[1].blocks > 97000);
	finish(&lab);
	end(&lab);
}

/* Ports of hosts have no lifetime: packets that wait there go on when there is room. */
static void test_host_lifetime(void **state)
{
	uint16_t ticks[32];
	struct lab lab;

	begin_slow(&lab, ticks, 100);
	lab.workload.pattern = PM_INCAST;
	lab.workload.node = 2;
	lab.workload.senders = 1; /* its neighbour */
	lab.workload.load = PM_LOAD_FULL;
	lab.config.buffer = 64;
	lab.config.lifetime = 500;
	start_to_end(&lab);
	assert_int_equal(lab.r.dropped, 0);
	assert_in_range(lab.r.delivered, 110000 / 6400 - 2, 110000 / 6400);
	finish(&lab);
	end(&lab);
}

#define MESSAGES 600

/* One packet of a host's own waits at its port, also while answers go by another lane. */
static void test_waiting(void **state)
{
	static const uint8_t sls[] = {0, 1, 0, 2};
	const struct pm_packet_lanes lanes = make_lanes(3, 64);
	struct pm_workload_message list[MESSAGES];
	uint16_t ticks[32];
	struct lab lab;

	begin_slow(&lab, ticks, 1000);
	for (uint32_t i = 0; i < MESSAGES; i++)
		list[i] = (struct pm_workload_message){i % 3 ? 3 : 1, i % 3 ? 1 : 2, 64,
						       0, NULL};
	lab.workload.pattern = PM_LIST;
	lab.workload.list = list;
	lab.workload.num_list = MESSAGES;
	lab.workload.sls = sls;
	lab.config.lanes = &lanes;
	lab.config.timeout = 1000000;
	lab.config.tries = 7;
	lab.config.warmup = 0;
	start(&lab);
	run_to(&lab, 20000);
	assert_true(lab.r.sls[2].messages > 200);
	/* Four in each of three inputs, that one, one that leaves; and some to b. */
	assert_in_range(lab.r.inside, 3 * 4 + 1, 3 * 4 + 2 + 8);
	finish(&lab);
	end(&lab);
}

/* Answers have the service level of their messages: here the only lane that sends. */
static void test_answers(void **state)
{
	static const uint8_t sls[] = {1, 2, 1, 2};
	struct pm_packet_lanes lanes = make_lanes(3, 64);
	struct lab lab;

	lanes.low[0].weight = 0;
	begin_star(&lab);
	lab.workload.pattern = PM_SHIFT;
	lab.workload.shift = 1;
	lab.workload.load = PM_LOAD_FULL / 2;
	lab.workload.messages = 100;
	lab.workload.sls = sls;
	lab.config.lanes = &lanes;
	lab.config.timeout = 5000;
	lab.config.tries = 7;
	lab.config.warmup = 0;
	start_to_end(&lab);
	assert_true(lab.r.over && pm_packet_is_idle(lab.packet));
	assert_int_equal(lab.r.pairs.timeouts, 0);
	assert_int_equal(lab.r.uncounted, 400);
	assert_int_equal(lab.r.sls[0].packets, 0);
	assert_int_equal(lab.r.sls[1].messages, 200);
	assert_int_equal(lab.r.sls[2].messages, 200);
	finish(&lab);
	end(&lab);
}

/* ---- Loops ---- */

#define ROUNDS 60

/*
 * Two hosts at each switch of a ring. Those of one lane send too far, those of the
 * other to the next switch.
 */
static void begin_ring_of_eight(struct lab *lab, struct pm_workload_message *list)
{
	begin_ring_of(lab,
		      "r0/4 r1/4 r2/4 r3/4 r0:1=a r1:1=b r2:1=c r3:1=d r0:4=e "
		      "r1:4=f r2:4=g r3:4=h r0:2=r1:3 r1:2=r2:3 r2:2=r3:3 r3:2=r0:3");
	assert_int_equal(lab->num_hosts, 8);
	for (uint32_t i = 0; i < 8 * ROUNDS; i++) {
		uint32_t from = i % 8;

		list[i] = (struct pm_workload_message){
			.from = from,
			.to = (from + (from % 2 ? 2 : 6)) % 8,
			.blocks = from % 2 ? 64 : 640,
		};
	}
	lab->workload.pattern = PM_LIST;
	lab->workload.list = list;
	lab->workload.num_list = 8 * ROUNDS;
	lab->config.warmup = 0;
}

static void test_deadlock(void **state)
{
	static const uint8_t sls[] = {0, 1, 0, 1, 0, 1, 0, 1};
	const struct pm_packet_lanes lanes = make_lanes(2, 64);
	struct pm_workload_message list[8 * ROUNDS];
	struct lab lab;
	uint32_t loop[8];

	begin_ring_of_eight(&lab, list);
	lab.workload.sls = sls;
	lab.config.lanes = &lanes;
	start(&lab);
	/* Found whether the other lane is busy or not. */
	for (uint32_t t = 2000; t < 3000; t += 10) {
		run_to(&lab, t);
		assert_int_equal(pm_packet_stuck(lab.packet, loop, 8), 4);
	}
	assert_true(lab.r.sls[1].packets > 50 && lab.r.sls[1].packets < 200);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pm_fabric_peer_node(lab.world.fabric, loop[i]),
				 lab.world.fabric->ports[loop[(i + 1) % 4]].node);
	run_to(&lab, end_of(&lab));
	assert_int_equal(lab.r.sls[1].messages, 4 * ROUNDS);
	assert_true(lab.r.over && !pm_packet_is_idle(lab.packet));
	finish(&lab);
	/* With one lane for all the others wait for ever, too. */
	lab.config.lanes = NULL;
	start_to_end(&lab);
	assert_int_equal(pm_packet_stuck(lab.packet, loop, 8), 4);
	assert_true(lab.r.sls[1].messages < 4 * ROUNDS);
	finish(&lab);
	end(&lab);
}

/* ---- All of it at random ---- */

static void draw_lanes(struct random *random, struct pm_packet_lanes *lanes)
{
	*lanes = make_lanes(random_range(random, 1, PM_PACKET_MAX_LANES), 1);
	for (uint32_t i = 0; i < PM_MAX_SLS; i++)
		lanes->of_sl[i] = (uint8_t)random_below(random, lanes->num);
	for (uint32_t i = 0; i < lanes->num; i++)
		lanes->low[i].weight = (uint8_t)random_range(random, 1, 255);
	lanes->num_high = random_below(random, PM_PACKET_WEIGHTS);
	for (uint32_t i = 0; i < lanes->num_high; i++)
		lanes->high[i] = (struct pm_packet_weight){
			(uint8_t)random_below(random, lanes->num),
			(uint8_t)random_below(random, 256)};
	lanes->limit = random_below(random, 20);
}

static void draw_config(struct random *random, struct lab *lab, uint16_t *ticks)
{
	lab->workload.load = random_range(random, 1, 10) * 100000;
	lab->workload.messages = 30;
	lab->workload.blocks = random_range(random, 1, 150);
	lab->config.packet = random_range(random, 1, 64);
	lab->config.buffer = lab->config.packet * random_range(random, 1, 4);
	lab->config.wire = random_range(random, 1, 40);
	lab->config.crossing = random_below(random, 40);
	lab->config.reads = random_below(random, 3);
	lab->config.in_line = random_chance(random, 50);
	lab->config.num_failed = random_below(random, 3);
	lab->config.fail_at = random_below(random, 4000);
	lab->config.lifetime = random_chance(random, 30) ? 2000 : 0;
	lab->config.timeout = random_chance(random, 50) ? 10000 : 0;
	lab->config.tries = 3;
	lab->config.batch = 1000000;
	for (uint32_t i = 0; i < lab->world.fabric->num_ports; i++)
		ticks[i] = (uint16_t)(random_chance(random, 80)
					      ? 3
					      : random_range(random, 1, 12));
	lab->config.ticks = ticks;
}

/* One random tree; the number of arrived packets, or 0 if there is none to send. */
static uint64_t conserve(uint64_t seed)
{
	struct random random = {seed};
	struct recipe recipe = {0};
	struct pm_packet_lanes lanes;
	struct lab lab = {0};
	uint16_t *ticks = NULL;
	uint8_t *sls = NULL;
	uint32_t failed[2];

	if (!world_make_random(&lab.world, &random, &recipe)) {
		recipe_free(&recipe);
		return 0;
	}
	lab.tables = lab.world.first;
	configure(&lab);
	if (lab.num_hosts >= 2) {
		ticks = calloc(lab.world.fabric->num_ports, sizeof(*ticks));
		sls = calloc(lab.num_hosts, 1);
		assert_true(ticks && sls);
		draw_config(&random, &lab, ticks);
		draw_lanes(&random, &lanes);
		for (uint32_t h = 0; h < lab.num_hosts; h++)
			sls[h] = (uint8_t)random_below(&random, PM_MAX_SLS);
		for (uint32_t i = 0; i < 2; i++)
			failed[i] = random_below(&random, lab.world.fabric->num_ports);
		lab.config.failed = failed;
		lab.config.lanes = &lanes;
		lab.workload.sls = sls;
		start_to_end(&lab);
		if (lab.r.created != lab.r.delivered + lab.r.uncounted + lab.r.dropped ||
		    !lab.r.over || lab.r.inside || !pm_packet_is_idle(lab.packet))
			fail_msg("seed %llu: something is left",
				 (unsigned long long)seed);
		finish(&lab);
	}
	free(ticks);
	free(sls);
	free(lab.hosts);
	world_free(&lab.world);
	recipe_free(&recipe);
	return lab.r.delivered;
}

static void test_conservation(void **state)
{
	uint64_t delivered = 0;

	for (uint64_t seed = 1; seed <= 150; seed++)
		delivered += conserve(seed);
	assert_true(delivered > 20000);
}

static void test_bad(void **state)
{
	struct pm_packet_lanes good = make_lanes(2, 1), lanes;
	struct pm_packet *packet;
	struct pm_error err;
	struct lab lab;

	begin_star(&lab);
#define BAD(...)                                                                         \
	do {                                                                             \
		struct pm_packet_config config = lab.config;                             \
		lanes = good;                                                            \
		config.lanes = &lanes;                                                   \
		__VA_ARGS__;                                                             \
		err.text[0] = '\0';                                                      \
		assert_int_equal(pm_packet_new(&config, &packet, &err), -EINVAL);        \
		assert_true(err.text[0]);                                                \
	} while (0)
	BAD(lanes.num = 0);
	BAD(lanes.num = PM_PACKET_MAX_LANES + 1);
	BAD(lanes.of_sl[9] = 2);
	BAD(lanes.low[1].lane = 2);
	BAD(lanes.num_high = PM_PACKET_WEIGHTS + 1);
	BAD(lanes.limit = 256);
	assert_true(pm_packet_is_served(&good, 1));
	good.low[1].weight = 0;
	assert_true(pm_packet_is_served(&good, 0) && !pm_packet_is_served(&good, 1));
	good.high[0] = (struct pm_packet_weight){1, 1};
	good.num_high = 1;
	assert_true(pm_packet_is_served(&good, 1));
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),	      cmocka_unit_test(test_high),
		cmocka_unit_test(test_starvation),    cmocka_unit_test(test_victim),
		cmocka_unit_test(test_unused),	      cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_host_lifetime), cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_answers),	      cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_conservation),  cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
