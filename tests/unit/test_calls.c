/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collective operations as messages, and their times without contention. */
#include "world.h"
#include "unit.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/calls.h>
#include <portmajor/lab/packet.h>

#include <math.h>

#define WIRE 7
#define CROSSING 11
#define CALLS 3
#define BLOCK 64
#define BATCH 1000000 /* ticks: all there are */

static struct pm_calls *make(const struct pm_calls_config *config)
{
	struct pm_calls *calls;
	struct pm_error err = {""};

	if (pm_calls_make(config, &calls, &err))
		fail_msg("%s", err.text);
	return calls;
}

/* Numbers, all equally likely. */
static void count_up(uint32_t *hosts, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		hosts[i] = num - 1 - i;
}

/* ---- The list ---- */

/*
 * Whether a message is part of an earlier step of a process than another one of the
 * schedule.
 */
static bool comes_before(const struct pm_schedule *schedule, uint32_t before, uint32_t m,
			 uint32_t process)
{
	const struct pm_schedule_message *first =
		&schedule->messages[before % schedule->num];
	const struct pm_schedule_message *second = &schedule->messages[m % schedule->num];

	if (first->from != process && first->to != process)
		return false;
	return before / schedule->num < m / schedule->num ||
	       (before / schedule->num == m / schedule->num &&
		first->step < second->step);
}

/* A message may start only when all before it have arrived; some message always may. */
static void play(const struct pm_calls *calls, const struct pm_schedule *schedule,
		 uint64_t seed)
{
	bool *through = calloc(calls->num, sizeof(*through));
	uint32_t *ready = calloc(calls->num, sizeof(*ready));

	assert_true(through && ready);
	for (uint32_t done = 0; done < calls->num; done++) {
		uint32_t num = 0, m;

		for (m = 0; m < calls->num; m++) {
			bool may_go = !through[m];

			for (uint32_t k = 0; k < calls->list[m].num_before; k++)
				may_go &= through[calls->list[m].before[k]];
			if (may_go)
				ready[num++] = m;
		}
		assert_int_not_equal(num, 0);
		m = ready[pm_random_below(&seed, num)];
		for (uint32_t other = 0; other < calls->num; other++)
			if (comes_before(schedule, other, m,
					 schedule->messages[m % schedule->num].from))
				assert_true(through[other]);
		through[m] = true;
	}
	free(through);
	free(ready);
}

static void test_order(void **state)
{
	static const uint32_t sizes[] = {2, 4, 8};
	uint32_t hosts[8];

	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (size_t i = 0; i < LENGTH(sizes); i++) {
			struct pm_calls_config config = {
				.algorithm = (enum pm_collective)a,
				.processes = sizes[i],
				.bytes = 1000,
				.calls = CALLS,
				.hosts = hosts,
				.stride = sizes[i],
				.jobs = 1,
			};
			struct pm_schedule *schedule;
			struct pm_calls *calls;

			if (pm_collective_check(config.algorithm, sizes[i], NULL))
				continue;
			count_up(hosts, sizes[i]);
			calls = make(&config);
			schedule =
				pm_schedule_make(config.algorithm, sizes[i], 1000, false);
			assert_int_equal(calls->per_call, schedule->num);
			assert_int_equal(calls->num, CALLS * schedule->num);
			for (uint64_t seed = 0; seed < 4; seed++)
				play(calls, schedule, seed);
			pm_schedule_free(schedule);
			pm_calls_free(calls);
		}
}

/* The data of each process at the end of a call, in blocks of the data at first. */
static void test_bytes(void **state)
{
	static const uint64_t bytes[] = {1, 64, 65, 512, 4097};
	uint32_t hosts[8];

	count_up(hosts, 8);
	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (size_t i = 0; i < LENGTH(bytes); i++) {
			struct pm_calls_config config = {
				(enum pm_collective)a, 8, bytes[i], 2, hosts, 8, 1};
			struct pm_calls *calls = make(&config);
			uint64_t whole = pm_calls_bytes(config.algorithm, 8, bytes[i]);
			uint64_t got[8] = {0};
			bool shared =
				a == PM_COLLECTIVE_RING || a == PM_COLLECTIVE_DOUBLING;

			assert_true(whole >= bytes[i] &&
				    whole < bytes[i] + (shared ? 8 * BLOCK : BLOCK));
			for (uint32_t m = 0; m < calls->num; m++)
				got[calls->list[m].to] +=
					(uint64_t)calls->list[m].blocks * BLOCK;
			for (uint32_t h = 0; h < 8; h++)
				if (shared)
					assert_int_equal(got[h], 2 * (whole - whole / 8));
				else
					assert_int_equal(got[h], h == 7 ? 0 : 2 * whole);
			pm_calls_free(calls);
		}
}

static void test_jobs(void **state)
{
	static const uint32_t hosts[] = {0, 2, 4, 6, 9, 1, 3, 5, 7, 9};
	struct pm_calls_config config = {PM_COLLECTIVE_RING, 4, 256, 2, hosts, 5, 2};
	struct pm_calls *calls = make(&config);

	assert_int_equal(calls->num, 2 * 2 * 12);
	for (uint32_t m = 0; m < calls->num; m++) {
		uint32_t job = m / (2 * calls->per_call);

		assert_int_equal(calls->list[m].from % 2, job);
		assert_int_equal(calls->list[m].to % 2, job);
		for (uint32_t k = 0; k < calls->list[m].num_before; k++)
			assert_int_equal(calls->list[m].before[k] / (2 * calls->per_call),
					 job);
	}
	pm_calls_free(calls);
}

static void test_bad(void **state)
{
	static const uint32_t hosts[4096];
	struct pm_calls *calls;
	struct pm_error err;

#define BAD(algorithm, processes, bytes, number)                                         \
	do {                                                                             \
		struct pm_calls_config config = {algorithm, processes, bytes, number,    \
						 hosts,	    4096,      1};               \
		err.text[0] = '\0';                                                      \
		assert_int_equal(pm_calls_make(&config, &calls, &err), -EINVAL);         \
		assert_true(err.text[0]);                                                \
	} while (0)
	BAD(PM_COLLECTIVE_RING, 4096, 1, 3);
	BAD(PM_COLLECTIVE_LINEAR, 2, 1, PM_CALLS_MAX_MESSAGES + 1);
	BAD(PM_COLLECTIVE_BINOMIAL, 2, (uint64_t)PM_MESSAGE_MAX * BLOCK + 1, 1);
	BAD(PM_COLLECTIVE_DOUBLING, 4, (uint64_t)PM_MESSAGE_MAX * BLOCK * 2 + 1, 1);
}

/* ---- On a fabric ---- */

struct lab {
	struct world world;
	struct pm_packet_host *hosts;
	uint32_t num_hosts;
};

static void begin(struct lab *lab, unsigned int height, unsigned int arity)
{
	struct pm_generate config = {.kind = PM_GENERATE_XGFT,
				     .xgft = {.height = height}};
	const struct pm_fabric *fabric;

	for (unsigned int i = 0; i < height; i++) {
		config.xgft.children[i] = arity;
		config.xgft.parents[i] = i ? arity : 1;
	}
	*lab = (struct lab){0};
	world_make(&lab->world, world_generate(&config), PM_GROUPED);
	fabric = lab->world.fabric;
	lab->hosts = calloc(fabric->num_ports, sizeof(*lab->hosts));
	assert_non_null(lab->hosts);
	lab->num_hosts = pm_packet_list_hosts(fabric, lab->hosts);
}

static void end(struct lab *lab)
{
	free(lab->hosts);
	world_free(&lab->world);
}

/* The end of each call. */
static void run(const struct lab *lab, const struct pm_calls_config *config,
		uint64_t *ends)
{
	struct pm_calls *calls = make(config);
	struct pm_workload_config workload = {
		.pattern = PM_LIST,
		.num_hosts = lab->num_hosts,
		.list = calls->list,
		.num_list = calls->num,
	};
	struct pm_packet_config engine = {
		.fabric = lab->world.fabric,
		.tables = lab->world.first,
		.length = lab->world.stride,
		.hosts = lab->hosts,
		.num_hosts = lab->num_hosts,
		.wire = WIRE,
		.crossing = CROSSING,
		.packet = 64,
		.buffer = 256,
		.batch = BATCH,
		.batches = 1,
	};
	struct pm_packet_result r;
	struct pm_packet *packet;

	assert_int_equal(pm_workload_new(&workload, &engine.workload, NULL), 0);
	assert_int_equal(pm_packet_new(&engine, &packet, NULL), 0);
	pm_packet_run(packet, BATCH);
	pm_packet_result(packet, &r);
	assert_int_equal(pm_workload_left(engine.workload), 0);
	assert_true(r.over && !r.dropped && pm_packet_is_idle(packet));
	assert_int_equal(r.measured, r.done);
	for (uint32_t m = 0; m < calls->num; m++) {
		uint64_t *end = &ends[m / calls->per_call];
		uint64_t time = pm_workload_arrived(engine.workload, m);

		*end = time > *end ? time : *end;
	}
	assert_int_equal(r.done, ends[config->jobs * config->calls - 1]);
	pm_packet_free(packet);
	pm_workload_free(engine.workload);
	pm_calls_free(calls);
}

/* Ticks, of which blocks take one each and messages `alpha` more. */
static uint64_t by_equation(const struct pm_calls_config *config, uint32_t alpha)
{
	const struct pm_circuit_costs costs = {alpha, 1.0 / BLOCK, 0};

	return (uint64_t)llround(pm_collective_seconds(
		config->algorithm, config->processes,
		pm_calls_bytes(config->algorithm, config->processes, config->bytes), 2,
		&costs));
}

/* One switch: all are equally far from each other, and there is no contention. */
static void test_switch(void **state)
{
	static const uint64_t bytes[] = {1, 4096, 100000};
	uint32_t hosts[16], num = 0;
	struct lab lab;

	begin(&lab, 1, 16);
	count_up(hosts, 16);
	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (uint32_t p = 2; p <= 16; p++)
			for (size_t i = 0; i < LENGTH(bytes); i++) {
				struct pm_calls_config config = {(enum pm_collective)a,
								 p,
								 bytes[i],
								 CALLS,
								 hosts,
								 16,
								 1};
				uint64_t ends[CALLS] = {0};

				if (pm_collective_check(config.algorithm, p, NULL))
					continue;
				run(&lab, &config, ends);
				for (uint32_t call = 0; call < CALLS; call++)
					assert_int_equal(
						ends[call],
						(call + 1) *
							by_equation(&config,
								    2 * WIRE + CROSSING));
				num++;
			}
	assert_int_equal(num, 3 * (15 + 7 + 4 + 4));
	end(&lab);
}

/*
 * A full tree, processes in their order: a step is a permutation without contention in
 * the tables of the tree, so that only the length of its paths determines its time.
 */
static void test_tree(void **state)
{
	uint32_t hosts[16], remote = 4 * WIRE + 3 * CROSSING, near = 2 * WIRE + CROSSING;
	struct lab lab;

	begin(&lab, 2, 4);
	for (uint32_t h = 0; h < 16; h++)
		hosts[h] = h;
	for (unsigned int a = PM_COLLECTIVE_DOUBLING; a <= PM_COLLECTIVE_BINOMIAL; a++) {
		struct pm_calls_config config = {
			(enum pm_collective)a, 16, 65536, CALLS, hosts, 16, 1};
		uint64_t ends[CALLS] = {0};
		uint32_t steps = 2; /* of 4 lead through 3 switches, the others one */

		run(&lab, &config, ends);
		for (uint32_t call = 0; call < CALLS; call++)
			assert_int_equal(ends[call],
					 (call + 1) * (by_equation(&config, near) +
						       steps * (remote - near)));
	}
	end(&lab);
}

/* Two jobs on halves of a switch do not influence each other. */
static void test_both(void **state)
{
	uint32_t hosts[16];
	struct pm_calls_config config = {
		PM_COLLECTIVE_DOUBLING, 8, 65536, CALLS, hosts, 8, 2};
	uint64_t ends[2 * CALLS] = {0};
	struct lab lab;

	begin(&lab, 1, 16);
	count_up(hosts, 16);
	run(&lab, &config, ends);
	for (uint32_t i = 0; i < 2 * CALLS; i++)
		assert_int_equal(ends[i],
				 (i % CALLS + 1) *
					 by_equation(&config, 2 * WIRE + CROSSING));
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_jobs),   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_switch), cmocka_unit_test(test_tree),
		cmocka_unit_test(test_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
