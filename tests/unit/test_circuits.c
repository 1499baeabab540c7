/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event simulation of circuits gives the results of equations 1 to 8, and keeps its
 * own rules beyond them.
 */
#include "unit.h"

#include <portmajor/lab/circuits.h>

#include <math.h>

/* Table 1 of the paper. */
static const struct pm_circuit_costs paper = {1e-4, 8e-9, 1e-2};

static const uint64_t sizes[] = {1, 1000, 1000000};

static struct pm_schedule *make(enum pm_collective algorithm, uint32_t processes,
				uint64_t bytes, bool alternating)
{
	struct pm_schedule *schedule = NULL;

	schedule = pm_schedule_make(algorithm, processes, bytes, alternating);
	return schedule;
}

static struct pm_circuits_result play(const struct pm_schedule *schedule,
				      struct pm_circuits_config config)
{
	struct pm_circuits_result result = {0};
	struct pm_error err = {""};

	if (pm_circuits_run(schedule, &config, &result, &err))
		fail_msg("%s", err.text);
	/* each circuit comes up and each message goes through, once */
	assert_int_equal(result.events, result.setups + schedule->num);
	return result;
}

/* One comparison: with `kept`, equation 2, 4, 6 or 8; else 1, 3, 5 or 7. */
static void compare(const struct pm_schedule *schedule, enum pm_collective algorithm,
		    uint32_t ports, bool kept)
{
	uint32_t p = schedule->processes;
	struct pm_circuits_result found =
		play(schedule, (struct pm_circuits_config){
				       .costs = paper, .ports = ports, .kept = kept});
	double wanted = pm_collective_seconds(algorithm, p, schedule->bytes,
					      kept ? ports : 1, &paper);

	if (fabs(found.seconds - wanted) > 1e-9)
		fail_msg("%s, %u processes, %u ports, %llu bytes, %s: %.12f s, not %.12f",
			 pm_collective_name(algorithm), p, ports,
			 (unsigned long long)schedule->bytes, kept ? "kept" : "naive",
			 found.seconds, wanted);
	assert_true(found.ports <= ports);
}

/* Whether to compare all: rings of 512 and 1,024 processes have a million messages. */
static bool thorough;

static bool is_left_out(enum pm_collective algorithm, uint32_t processes, size_t size,
			uint32_t ports, bool kept)
{
	if (thorough || algorithm != PM_COLLECTIVE_RING || processes <= 256)
		return false;
	if (ports > 3 && ports < 10)
		return true;
	return ports % 3 != size || (!kept && ports % 3 != 1);
}

/* A size with all numbers of ports, both ways; returns the number of comparisons. */
static unsigned int compare_ports(enum pm_collective algorithm, uint32_t processes,
				  size_t size)
{
	struct pm_schedule *alternating = make(algorithm, processes, sizes[size], true);
	struct pm_schedule *at_once = make(algorithm, processes, sizes[size], false);
	unsigned int num = 0;

	for (uint32_t i = 0; i < 20; i++) {
		uint32_t ports = 1 + i / 2;
		bool kept = i % 2;

		if (is_left_out(algorithm, processes, size, ports, kept))
			continue;
		compare(kept && ports > 1 ? at_once : alternating, algorithm, ports,
			kept);
		num++;
	}
	pm_schedule_free(alternating);
	pm_schedule_free(at_once);
	return num;
}

static void test_equations(void **state)
{
	unsigned int comparisons = 0;

	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (uint32_t p = a == PM_COLLECTIVE_RING ? 4 : 2; p <= 1024; p *= 2)
			for (size_t size = 0; size < LENGTH(sizes); size++)
				comparisons +=
					compare_ports((enum pm_collective)a, p, size);
	print_message("%u comparisons\n", comparisons);
	assert_int_equal(comparisons, thorough ? 2340 : 2340 - 2 * (60 - 6));
}

/* Numbers of the paper's text and of its figures. */
static void test_paper(void **state)
{
	static const struct {
		enum pm_collective algorithm;
		uint32_t ports, setups;
		double at_1, at_1m; /* seconds */
	} rows[] = {
		{PM_COLLECTIVE_LINEAR, 1, 31, 0.313100, 0.561100},
		{PM_COLLECTIVE_LINEAR, 2, 16, 0.163100, 0.411100},
		{PM_COLLECTIVE_LINEAR, 4, 8, 0.083100, 0.331100},
		{PM_COLLECTIVE_RING, 1, 62, 0.626200, 0.641700},
		{PM_COLLECTIVE_RING, 2, 1, 0.013100, 0.020850},
		{PM_COLLECTIVE_DOUBLING, 1, 5, 0.050500, 0.058250},
		{PM_COLLECTIVE_DOUBLING, 2, 3, 0.030500, 0.038250},
		{PM_COLLECTIVE_BINOMIAL, 1, 5, 0.050500, 0.090500},
		{PM_COLLECTIVE_BINOMIAL, 3, 2, 0.020500, 0.060500},
	};

	for_each_row(row, rows) {
		enum pm_collective a = row->algorithm;
		uint32_t k = row->ports;

		assert_int_equal(pm_collective_setups(a, 32, k), row->setups);
		assert_true(fabs(pm_collective_seconds(a, 32, 1, k, &paper) - row->at_1) <
			    1e-6);
		assert_true(fabs(pm_collective_seconds(a, 32, 1000000, k, &paper) -
				 row->at_1m) < 1e-6);
	}
}

/* Proposed is never slower than naive, nor are more ports slower than fewer. */
static void test_order(void **state)
{
	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (uint32_t p = 4; p <= PM_COLLECTIVE_MAX; p *= 2)
			for (uint64_t n = 0; n <= 1000000000; n = n ? 10 * n : 1)
				for (uint32_t k = 2; k <= 12; k++)
					assert_true(pm_collective_seconds(a, p, n, k,
									  &paper) <=
						    pm_collective_seconds(a, p, n, k - 1,
									  &paper));
}

/* ---- Schedules ---- */

/* What a process has at the end, in blocks of bytes / processes: those of all. */
static void test_all_arrives(void **state)
{
	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (uint32_t p = 4; p <= 64; p *= 2)
			for (unsigned int alternating = 0; alternating < 2;
			     alternating++) {
				struct pm_schedule *s =
					make((enum pm_collective)a, p, 100, alternating);
				uint64_t got[64] = {0};
				bool to_all = a == PM_COLLECTIVE_LINEAR ||
					      a == PM_COLLECTIVE_BINOMIAL;

				for (uint32_t m = 0; m < s->num; m++) {
					const struct pm_schedule_message *one =
						&s->messages[m];

					assert_true(one->from != one->to);
					assert_true(one->step < s->steps);
					assert_true(!m || one->step >= one[-1].step);
					/* it can only send blocks that it has */
					assert_true(!to_all || !one->from ||
						    got[one->from]);
					got[one->to] += one->blocks;
				}
				for (uint32_t i = 0; i < p; i++) {
					uint32_t wanted = to_all ? i ? p : 0 : p - 1;

					assert_int_equal(got[i], wanted);
				}
				pm_schedule_free(s);
			}
}

static void test_sizes(void **state)
{
	const struct pm_schedule s = {.processes = 32, .parts = 32, .bytes = 1000};
	const struct pm_schedule_message one = {0, 0, 1, 1};

	assert_true(pm_schedule_size(&s, &one) == 31.25);
}

static void test_processes(void **state)
{
	static const struct {
		uint32_t processes;
		unsigned int fine; /* a bit for each algorithm */
	} rows[] = {{0, 0}, {1, 0},    {2, 13},	   {3, 1},    {4, 15},	{5, 1},
		    {6, 3}, {1000, 3}, {4096, 15}, {4097, 0}, {8192, 0}};
	enum pm_collective algorithm = PM_COLLECTIVE_RING;
	struct pm_error err;

	for_each_row(row, rows)
		for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
			assert_int_equal(pm_collective_check((enum pm_collective)a,
							     row->processes, &err),
					 row->fine & 1U << a ? 0 : -EINVAL);
	assert_int_equal(pm_collective_check(PM_COLLECTIVE_BINOMIAL, 3, &err), -EINVAL);
	assert_string_equal(err.text,
			    "binomial: 3 processes: not a power of two from 2 to 4096");
	assert_int_equal(pm_collective_parse("binomial", &algorithm), 0);
	assert_int_equal(algorithm, PM_COLLECTIVE_BINOMIAL);
	assert_int_equal(pm_collective_parse("binomi", &algorithm), -EINVAL);
}

/* ---- Circuits ---- */

/*
 * With fewer circuits than requested it ends all the same, and no sooner; a single one
 * does everything one after the other.
 */
static void test_few_circuits(void **state)
{
	for (unsigned int a = 0; a < PM_NUM_COLLECTIVES; a++)
		for (uint32_t p = 4; p <= 64; p *= 2)
			for (uint32_t ports = 1; ports <= 6; ports++) {
				struct pm_schedule *s =
					make((enum pm_collective)a, p, 1000, ports == 1);
				struct pm_circuits_config config = {
					.costs = paper, .ports = ports, .kept = true};
				double last = play(s, config).seconds;

				for (config.circuits = 2 * p; config.circuits;
				     config.circuits--) {
					struct pm_circuits_result found = play(s, config);

					assert_true(found.peak <= config.circuits);
					assert_true(found.ports <= ports);
					assert_true(found.seconds > last - 1e-9);
				}
				pm_schedule_free(s);
			}
}

static void test_one_circuit(void **state)
{
	struct pm_schedule *s = make(PM_COLLECTIVE_BINOMIAL, 16, 1000, false);
	struct pm_circuits_result found =
		play(s, (struct pm_circuits_config){
				.costs = paper, .ports = 2, .kept = true, .circuits = 1});

	assert_int_equal(found.setups, 15);
	assert_int_equal(found.peak, 1);
	assert_true(fabs(found.seconds - 15 * (1e-2 + 1e-4 + 8e-6)) < 1e-9);
	pm_schedule_free(s);
}

/* Circuits that a ring keeps: as many as processes; each set up once. */
static void test_kept_ring(void **state)
{
	struct pm_schedule *s = make(PM_COLLECTIVE_RING, 16, 1000, false);
	struct pm_circuits_result found = play(
		s, (struct pm_circuits_config){.costs = paper, .ports = 2, .kept = true});

	assert_int_equal(found.setups, 16);
	assert_int_equal(found.peak, 16);
	assert_int_equal(found.groups, 1);
	assert_int_equal(found.ports, 2);
	pm_schedule_free(s);
}

/* Messages that the algorithms do not have. */
static struct pm_circuits_result play_these(struct pm_schedule_message *messages,
					    uint32_t num, uint32_t ports, bool kept)
{
	const struct pm_schedule schedule = {.processes = 4,
					     .parts = 4,
					     .steps = messages[num - 1].step + 1,
					     .bytes = 4000000,
					     .num = num,
					     .messages = messages};

	return play(&schedule, (struct pm_circuits_config){
				       .costs = paper, .ports = ports, .kept = kept});
}

/* What comes before its receiver has come to that step is not waited for there. */
static void test_early(void **state)
{
	struct pm_schedule_message messages[] = {
		{0, 0, 1, 3}, {1, 2, 1, 1}, {2, 1, 0, 1}};
	double seconds = play_these(messages, LENGTH(messages), 2, true).seconds;

	assert_true(fabs(seconds - (1e-2 + 2e-4 + 4e6 * 8e-9)) < 1e-9);
}

/* A circuit that comes up later than another one of that step carries its own message. */
static void test_one_after_the_other(void **state)
{
	struct pm_schedule_message messages[] = {
		{0, 2, 3, 1}, {1, 0, 1, 4}, {1, 0, 2, 1}};
	double seconds = play_these(messages, LENGTH(messages), 2, false).seconds;

	assert_true(fabs(seconds - (1e-2 + 1e-4 + 4e6 * 8e-9)) < 1e-9);
}

static void test_receiver_has_ports_too(void **state)
{
	struct pm_schedule_message messages[] = {{0, 1, 0, 1}, {0, 2, 0, 1}};
	const struct pm_schedule schedule = {4, 4, 1, 100, 2, messages};
	struct pm_circuits_config config = {.costs = paper, .ports = 1};
	struct pm_circuits_result result;

	assert_int_equal(pm_circuits_run(&schedule, &config, &result, NULL), -EINVAL);
	config.ports = 2;
	assert_int_equal(pm_circuits_run(&schedule, &config, &result, NULL), 0);
	assert_int_equal(result.ports, 2);
}

static void test_refused(void **state)
{
	struct pm_schedule *s = make(PM_COLLECTIVE_RING, 4, 1000000000, false);
	struct pm_circuits_config config = {.costs = paper, .ports = 1, .kept = true};
	struct pm_circuits_result result;
	struct pm_error err;

	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	assert_string_equal(err.text, "more than 1 ports are needed in a step");
	config.ports = 0;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	config.ports = PM_CIRCUITS_MAX_PORTS + 1;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	config.ports = 2;
	config.costs.beta = 2e-6;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	config.costs.beta = 0;
	config.costs.alpha = -1;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	config.costs.alpha = NAN;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -EINVAL);
	pm_schedule_free(s);
	s = make(PM_COLLECTIVE_LINEAR, 32, 1, false);
	config.costs.alpha = 1000;
	assert_int_equal(pm_circuits_run(s, &config, &result, &err), -ERANGE);
	pm_schedule_free(s);
}

/*
 * Four processes of a ring stand for all: whatever the costs, and with alternating or
 * without.
 */
static void test_ring_of_four(void **state)
{
	static const struct pm_circuit_costs costs[] = {
		{1e-4, 8e-9, 1e-2}, {0, 8e-9, 1e-6}, {1e-3, 0, 0}, {1e-6, 1e-7, 1e-3}};

	for (uint32_t processes = 4; processes <= 50; processes += 2)
		for (uint32_t i = 0; i < 4 * LENGTH(costs); i++) {
			struct pm_circuits_config config = {.costs = costs[i / 4],
							    .ports = 1 + (i & 1),
							    .kept = i & 2};
			bool alternating = !config.kept || config.ports == 1;
			struct pm_schedule *schedule =
				make(PM_COLLECTIVE_RING, processes, 1000003, alternating);
			struct pm_circuits_result all = play(schedule, config), four;

			assert_int_equal(pm_circuits_run_ring(processes, 1000003,
							      alternating, &config, &four,
							      NULL),
					 0);
			assert_true(all.seconds >= four.seconds &&
				    all.seconds <= four.seconds);
			assert_int_equal(all.setups, four.setups);
			assert_int_equal(all.groups, four.groups);
			assert_int_equal(all.peak, four.peak);
			assert_int_equal(all.ports, four.ports);
			assert_int_equal(all.events, four.events);
			pm_schedule_free(schedule);
		}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equations),
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_all_arrives),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_few_circuits),
		cmocka_unit_test(test_one_circuit),
		cmocka_unit_test(test_kept_ring),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_receiver_has_ports_too),
		cmocka_unit_test(test_ring_of_four),
		cmocka_unit_test(test_refused),
	};

	thorough = argc == 2 && !strcmp(argv[1], "all");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
