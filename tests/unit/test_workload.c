/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Patterns, times and lists of messages. */
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/fabric.h>
#include <portmajor/lab/workload.h>

#include <math.h>

#define HOSTS 24

static struct pm_workload *make(const struct pm_workload_config *config)
{
	struct pm_workload *workload = NULL;
	struct pm_error err = {""};

	if (pm_workload_new(config, &workload, &err))
		fail_msg("%s", err.text);
	return workload;
}

static struct pm_workload_config usual(enum pm_pattern pattern)
{
	return (struct pm_workload_config){
		.pattern = pattern,
		.num_hosts = HOSTS,
		.blocks = 10,
		.load = PM_LOAD_FULL / 2,
		.shift = 5,
		.node = 3,
		.share = PM_LOAD_FULL / 4,
		.senders = 7,
		.seed = 1,
	};
}

/* Takes `num` messages of a host and counts their destinations. */
static void count_places(struct pm_workload *workload, uint32_t host, uint32_t num,
			 uint32_t *count)
{
	struct pm_message m;

	memset(count, 0, HOSTS * sizeof(*count));
	for (uint32_t i = 0; i < num; i++) {
		if (pm_workload_time(workload, host) == PM_NEVER)
			return;
		pm_workload_take(workload, host, &m);
		assert_true(m.to < HOSTS && m.to != host && m.blocks == 10);
		count[m.to]++;
	}
}

static void test_fixed(void **state)
{
	static const uint32_t reversed[16] = {0, 8, 4, 12, 2, 10, 6, 14,
					      1, 9, 5, 13, 3, 11, 7, 15};
	struct pm_workload_config config = usual(PM_SHIFT);
	struct pm_workload *workload = make(&config);
	uint32_t count[HOSTS];

	for (uint32_t h = 0; h < HOSTS; h++) {
		count_places(workload, h, 9, count);
		assert_int_equal(count[(h + 5) % HOSTS], 9);
	}
	assert_int_equal(pm_workload_senders(workload), HOSTS);
	pm_workload_free(workload);
	config.pattern = PM_BIT_REVERSE;
	workload = make(&config);
	for (uint32_t h = 0; h < HOSTS; h++) {
		count_places(workload, h, 9, count);
		for (uint32_t to = 0; to < HOSTS; to++)
			assert_int_equal(count[to],
					 h < 16 && reversed[h] == to && to != h ? 9 : 0);
	}
	assert_int_equal(pm_workload_senders(workload), 12);
	pm_workload_free(workload);
	config.pattern = PM_INCAST;
	workload = make(&config);
	for (uint32_t h = 0; h < HOSTS; h++) {
		count_places(workload, h, 9, count);
		assert_int_equal(count[3], h > 3 && h <= 10 ? 9 : 0);
	}
	assert_int_equal(pm_workload_senders(workload), 7);
	pm_workload_free(workload);
}

static void test_permutation(void **state)
{
	struct pm_workload_config config = usual(PM_PERMUTATION);
	uint32_t first[HOSTS] = {0}, differ = 0;

	for (config.seed = 1; config.seed < 20; config.seed++) {
		struct pm_workload *workload = make(&config);
		uint32_t got[HOSTS] = {0};

		for (uint32_t h = 0; h < HOSTS; h++) {
			struct pm_message m;

			pm_workload_take(workload, h, &m);
			assert_int_not_equal(m.to, h);
			got[m.to]++;
			if (config.seed == 1)
				first[h] = m.to;
			differ += first[h] != m.to;
		}
		for (uint32_t h = 0; h < HOSTS; h++)
			assert_int_equal(got[h], 1);
		pm_workload_free(workload);
	}
	assert_true(differ > 10 * HOSTS);
}

/* Within five standard deviations of what is expected. */
static void assert_share(uint32_t count, uint32_t of, double share)
{
	double mean = of * share, deviation = sqrt(of * share * (1 - share));

	if (fabs(count - mean) > 5 * deviation + 1e-9)
		fail_msg("%u of %u, not a share of %f", count, of, share);
}

static void test_random(void **state)
{
	struct pm_workload_config config = usual(PM_UNIFORM);
	struct pm_workload *workload = make(&config);
	uint32_t count[HOSTS];

	for (uint32_t h = 0; h < HOSTS; h++) {
		count_places(workload, h, 20000, count);
		for (uint32_t to = 0; to < HOSTS; to++)
			assert_share(count[to], 20000, to == h ? 0 : 1.0 / (HOSTS - 1));
	}
	pm_workload_free(workload);
	config.pattern = PM_HOT_SPOT;
	workload = make(&config);
	count_places(workload, 0, 20000, count);
	assert_share(count[3], 20000, 0.25 + 0.75 / (HOSTS - 1));
	assert_share(count[4], 20000, 0.75 / (HOSTS - 1));
	count_places(workload, 3, 20000, count);
	assert_share(count[4], 20000, 1.0 / (HOSTS - 1));
	pm_workload_free(workload);
	config.pattern = PM_ALL_TO_ALL;
	workload = make(&config);
	count_places(workload, 6, 2 * (HOSTS - 1), count);
	for (uint32_t to = 0; to < HOSTS; to++)
		assert_int_equal(count[to], to == 6 ? 0 : 2);
	pm_workload_free(workload);
}

/* Evenly spaced from a random time within the first interval on. */
static void test_even(void **state)
{
	struct pm_workload_config config = usual(PM_UNIFORM);
	uint16_t ticks[HOSTS];
	uint64_t phases = 0;
	struct pm_workload *workload;
	struct pm_message m;

	for (uint32_t h = 0; h < HOSTS; h++)
		ticks[h] = 3;
	config.ticks = ticks;
	config.load = 300000;
	workload = make(&config);
	for (uint32_t h = 0; h < HOSTS; h++) {
		uint64_t first = pm_workload_time(workload, h);

		assert_true(first < 100); /* 10 x 3 / 0.3 */
		phases |= (uint64_t)1 << first % 64;
		for (uint32_t i = 0; i < 1000; i++) {
			uint64_t time = pm_workload_time(workload, h);

			assert_in_range(time, first + i * 100 - 1, first + i * 100 + 1);
			pm_workload_take(workload, h, &m);
			assert_int_equal(m.time, time);
			assert_int_equal(m.id, PM_NONE);
		}
	}
	assert_true(__builtin_popcountll(phases) > 10);
	pm_workload_free(workload);
}

/* Mean, variance and the share that is longer than twice the mean. */
static void test_poisson(void **state)
{
	struct pm_workload_config config = usual(PM_UNIFORM);
	struct pm_workload *workload;
	double sum = 0, squares = 0;
	uint64_t last = 0;
	uint32_t num = 400000, longer = 0;
	struct pm_message m;

	config.poisson = true;
	config.blocks = 1000;
	workload = make(&config);
	for (uint32_t i = 0; i < num; i++) {
		double gap = (double)(pm_workload_time(workload, 0) - last) / 2000;

		last = pm_workload_time(workload, 0);
		sum += gap;
		squares += gap * gap;
		longer += gap > 2;
		pm_workload_take(workload, 0, &m);
	}
	assert_true(fabs(sum / num - 1) < 0.01);
	assert_true(fabs(squares / num - 2) < 0.04);
	assert_share(longer, num, exp(-2));
	pm_workload_free(workload);
}

static void test_closed(void **state)
{
	struct pm_workload_config config = usual(PM_SHIFT);
	struct pm_workload *workload;
	struct pm_message m;
	uint32_t woken[2];

	config.load = 0;
	config.messages = 2;
	workload = make(&config);
	assert_int_equal(pm_workload_left(workload), 2 * HOSTS);
	assert_int_equal(pm_workload_time(workload, 1), 0);
	pm_workload_take(workload, 1, &m);
	assert_int_equal(m.to, 6);
	assert_true(pm_workload_time(workload, 1) == PM_NEVER);
	assert_int_equal(pm_workload_got(workload, m.id, 9, 50, woken), 0);
	assert_int_equal(pm_workload_got(workload, m.id, 1, 60, woken), 1);
	assert_int_equal(woken[0], 1);
	assert_int_equal(pm_workload_time(workload, 1), 60);
	pm_workload_take(workload, 1, &m);
	assert_int_equal(pm_workload_left_of(workload, 1), 1);
	assert_int_equal(pm_workload_got(workload, m.id, 10, 90, woken), 1);
	assert_int_equal(pm_workload_left_of(workload, 1), 0);
	assert_true(pm_workload_time(workload, 1) == PM_NEVER);
	assert_int_equal(pm_workload_left(workload), 2 * HOSTS - 2);
	pm_workload_free(workload);
}

static void test_list(void **state)
{
	static const uint32_t both[] = {0, 1}, own[] = {0};
	const struct pm_workload_message list[] = {{1, 0, 5, 0, NULL},
						   {2, 0, 6, 0, NULL},
						   {0, 3, 7, 2, both},
						   {1, 3, 8, 1, own}};
	struct pm_workload_config config = {
		.pattern = PM_LIST, .num_hosts = 4, .list = list, .num_list = 4};
	struct pm_workload *workload = make(&config);
	struct pm_message m;
	uint32_t woken[2];

	assert_int_equal(pm_workload_senders(workload), 3);
	assert_true(pm_workload_time(workload, 0) == PM_NEVER);
	assert_true(pm_workload_time(workload, 3) == PM_NEVER);
	pm_workload_take(workload, 1, &m);
	assert_true(m.to == 0 && m.blocks == 5 && m.id == 0);
	assert_true(pm_workload_time(workload, 1) == PM_NEVER);
	assert_int_equal(pm_workload_got(workload, 0, 5, 20, woken), 2);
	assert_true(woken[0] == 0 && woken[1] == 1);
	assert_int_equal(pm_workload_time(workload, 1), 20);
	pm_workload_take(workload, 1, &m);
	assert_true(m.to == 3 && m.blocks == 8 && m.id == 3);
	assert_true(pm_workload_time(workload, 0) == PM_NEVER);
	assert_int_equal(pm_workload_left_of(workload, 2), 1);
	assert_int_equal(pm_workload_got(workload, 1, 6, 30, woken), 2);
	assert_int_equal(pm_workload_left_of(workload, 2), 0);
	assert_int_equal(pm_workload_arrived(workload, 1), 30);
	assert_true(pm_workload_arrived(workload, 2) == PM_NEVER);
	assert_int_equal(pm_workload_time(workload, 0), 30);
	assert_int_equal(pm_workload_left(workload), 2);
	pm_workload_free(workload);
}

static void assert_stall(const struct pm_stall *stall, uint64_t from, uint64_t ticks,
			 uint32_t host, bool lasts)
{
	assert_int_equal(stall->from, from);
	assert_int_equal(stall->ticks, ticks);
	assert_int_equal(stall->host, host);
	assert_int_equal(stall->lasts, lasts);
}

/* Two hosts with a message of ten blocks to each other: by hand. */
static void test_progress(void **state)
{
	struct pm_workload_config config = usual(PM_SHIFT);
	struct pm_workload_progress p;
	struct pm_workload *workload;
	struct pm_message m[2];
	uint32_t woken[2];

	config.num_hosts = 2;
	config.shift = config.messages = 1;
	config.load = 0;
	workload = make(&config);
	pm_workload_progress(workload, 7, &p);
	assert_stall(&p.all, 0, 7, PM_NONE, true);
	assert_stall(&p.host, 0, 7, 0, true);
	assert_true(p.at[0] == PM_NEVER);
	for (uint32_t h = 0; h < 2; h++)
		pm_workload_take(workload, h, &m[h]);
	pm_workload_got(workload, m[0].id, 5, 10, woken);
	pm_workload_got(workload, m[1].id, 5, 14, woken);
	pm_workload_got(workload, m[0].id, 5, 40, woken);
	pm_workload_progress(workload, 60, &p);
	assert_stall(&p.all, 14, 26, PM_NONE, false);
	assert_stall(&p.host, 14, 46, 1, true);
	assert_true(p.at[0] == 10 && p.at[25] == 10 && p.at[26] == 14 && p.at[50] == 14);
	assert_true(p.at[75] == 40 && p.at[76] == PM_NEVER);
	pm_workload_progress(workload, 41, &p);
	assert_stall(&p.host, 10, 30, 0, false);
	pm_workload_got(workload, m[1].id, 5, 70, woken);
	pm_workload_progress(workload, 1000, &p);
	assert_stall(&p.all, 40, 30, PM_NONE, false);
	assert_stall(&p.host, 14, 56, 1, false);
	assert_int_equal(p.at[PM_PROGRESS_PARTS], 70);
	pm_workload_free(workload);
}

/* Of a list: a host that waits for others makes no progress. */
static void test_list_progress(void **state)
{
	static const uint32_t first[] = {0};
	const struct pm_workload_message list[] = {{0, 1, 5, 0, NULL},
						   {1, 0, 15, 1, first}};
	struct pm_workload_config config = {
		.pattern = PM_LIST, .num_hosts = 3, .list = list, .num_list = 2};
	struct pm_workload *workload = make(&config);
	struct pm_workload_progress p;
	uint32_t woken[2];

	pm_workload_got(workload, 0, 5, 20, woken);
	pm_workload_got(workload, 1, 15, 32, woken);
	pm_workload_progress(workload, 99, &p);
	assert_stall(&p.all, 0, 20, PM_NONE, false);
	assert_stall(&p.host, 0, 32, 1, false);
	assert_true(p.at[25] == 20 && p.at[26] == 32 && p.at[100] == 32);
	pm_workload_free(workload);
}

/* A start, and the wait after a message. */
static void test_delays(void **state)
{
	static const uint32_t first[] = {0};
	static const uint64_t after[] = {7}, starts[] = {3, 30};
	static const uint64_t *const delays[] = {NULL, after};
	const struct pm_workload_message list[] = {{0, 1, 5, 0, NULL},
						   {1, 0, 15, 1, first}};
	struct pm_workload_config config = {.pattern = PM_LIST,
					    .num_hosts = 3,
					    .list = list,
					    .num_list = 2,
					    .starts = starts,
					    .delays = delays};
	static const struct {
		uint64_t arrives, begins;
	} rows[] = {{20, 30}, {23, 30}, {24, 31}};
	uint32_t woken[2];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_workload *workload = make(&config);

		assert_int_equal(pm_workload_time(workload, 0), 3);
		assert_true(pm_workload_time(workload, 1) == PM_NEVER);
		pm_workload_got(workload, 0, 5, rows[i].arrives, woken);
		assert_int_equal(pm_workload_time(workload, 1), rows[i].begins);
		pm_workload_free(workload);
	}
}

/* The destinations of each host's next messages. */
static void take_places(struct pm_workload *workload, uint32_t num, uint32_t (*to)[HOSTS])
{
	struct pm_message m;

	for (uint32_t h = 0; h < HOSTS; h++)
		for (uint32_t i = 0; i < num; i++) {
			to[i][h] = HOSTS;
			if (pm_workload_time(workload, h) == PM_NEVER)
				continue;
			pm_workload_take(workload, h, &m);
			to[i][h] = m.to;
		}
}

/*
 * Two jobs of 8 of 24 hosts, each from behind: the others are silent, and a job alone
 * behaves as beside another one.
 */
static void test_jobs(void **state)
{
	uint32_t members[16], both[9][HOSTS], alone[9][HOSTS];
	struct pm_workload *workload;

	for (uint32_t i = 0; i < 16; i++)
		members[i] = 23 - i;
	for (unsigned int pattern = 0; pattern < PM_LIST; pattern++) {
		struct pm_workload_config config = usual((enum pm_pattern)pattern);

		config.members = members;
		config.num_jobs = 2;
		config.job_hosts = 8;
		workload = make(&config);
		take_places(workload, 9, both);
		assert_int_equal(pm_workload_senders(workload),
				 pattern == PM_INCAST	     ? 14
				 : pattern == PM_BIT_REVERSE ? 8
							     : 16);
		pm_workload_free(workload);
		config.members += 8;
		config.num_jobs = 1;
		workload = make(&config);
		take_places(workload, 9, alone);
		pm_workload_free(workload);
		if (pattern == PM_PERMUTATION || pattern == PM_UNIFORM) {
			bool differ = false; /* from job to job */

			for (uint32_t h = 8; h < 16; h++)
				differ |= both[0][h] % 8 != both[0][h + 8] % 8;
			assert_true(differ);
		}
		for (uint32_t h = 0; h < HOSTS; h++)
			for (uint32_t i = 0; i < 9; i++) {
				uint32_t to = both[i][h];

				assert_int_equal(alone[i][h], h / 8 == 1 ? to : HOSTS);
				assert_true(to == HOSTS || (h >= 8 && to / 8 == h / 8));
				if (pattern == PM_SHIFT && h >= 8)
					assert_int_equal(to, h / 8 * 8 + (h + 3) % 8);
				if (pattern == PM_INCAST && to != HOSTS)
					assert_int_equal(to % 8, 4);
			}
	}
}

static void assert_bad(const struct pm_workload_config *config, const char *message)
{
	struct pm_workload *workload = NULL;
	struct pm_error err = {""};

	assert_int_equal(pm_workload_new(config, &workload, &err), -EINVAL);
	assert_null(workload);
	assert_string_equal(err.text, message);
}

#define BAD(message, pattern, ...)                                                       \
	do {                                                                             \
		struct pm_workload_config config = usual(pattern);                       \
		__VA_ARGS__;                                                             \
		assert_bad(&config, message);                                            \
	} while (0)

static void test_bad(void **state)
{
	static const char load[] = "a load that is not 0.0001 to 1";
	enum pm_pattern pattern;

	BAD("traffic needs two hosts: there are 1", PM_UNIFORM, config.num_hosts = 1);
	BAD("messages of 0 blocks: not 1 to 1048576", PM_UNIFORM, config.blocks = 0);
	BAD("messages of 1048577 blocks: not 1 to 1048576", PM_UNIFORM,
	    config.blocks = PM_MESSAGE_MAX + 1);
	BAD(load, PM_UNIFORM, config.load = PM_LOAD_LEAST - 1);
	BAD(load, PM_UNIFORM, config.load = PM_LOAD_FULL + 1);
	BAD("a closed loop without end", PM_UNIFORM, config.load = 0);
	BAD("shift 0 of 24 hosts: not 1 to 23", PM_SHIFT, config.shift = 0);
	BAD("shift 24 of 24 hosts: not 1 to 23", PM_SHIFT, config.shift = HOSTS);
	BAD("no host 24: there are 24", PM_HOT_SPOT, config.node = HOSTS);
	BAD("no host 24: there are 24", PM_INCAST, config.node = HOSTS);
	BAD("a share above 1 for the hot spot", PM_HOT_SPOT,
	    config.share = PM_LOAD_FULL + 1);
	BAD("0 senders of 24 hosts: not 1 to 23", PM_INCAST, config.senders = 0);
	BAD("24 senders of 24 hosts: not 1 to 23", PM_INCAST, config.senders = HOSTS);
	assert_int_equal(pm_pattern_parse("list", &pattern), -EINVAL);
	assert_int_equal(pm_pattern_parse("hot-spot", &pattern), 0);
	assert_int_equal(pattern, PM_HOT_SPOT);
}

static void test_bad_jobs(void **state)
{
	static const uint32_t twice[] = {0, 1, 2, 1}, none[] = {0, HOSTS};

	BAD("host 1 is in two jobs, or not there", PM_UNIFORM, config.members = twice,
	    config.num_jobs = 2, config.job_hosts = 2);
	BAD("1 jobs of 1 hosts: there are 24", PM_UNIFORM, config.members = twice,
	    config.num_jobs = 1, config.job_hosts = 1);
	BAD("0 jobs of 2 hosts: there are 24", PM_UNIFORM, config.members = twice,
	    config.num_jobs = 0, config.job_hosts = 2);
	BAD("3 jobs of 9 hosts: there are 24", PM_UNIFORM, config.members = twice,
	    config.num_jobs = 3, config.job_hosts = 9);
	BAD("host 24 is in two jobs, or not there", PM_UNIFORM, config.members = none,
	    config.num_jobs = 1, config.job_hosts = 2);
	BAD("shift 5 of 5 hosts: not 1 to 4", PM_SHIFT, config.members = none,
	    config.num_jobs = 1, config.job_hosts = 5);
}

static void test_bad_lists(void **state)
{
	static const uint32_t others[] = {0}, later[] = {2};
	static const struct {
		const char *text;
		struct pm_workload_message list[2];
	} rows[] = {
		{"message 0: from host 0 to host 0, 1 blocks: out of range",
		 {{0, 0, 1, 0, NULL}, {0, 1, 1, 0, NULL}}},
		{"message 0: from host 0 to host 1, 0 blocks: out of range",
		 {{0, 1, 0, 0, NULL}, {0, 1, 1, 0, NULL}}},
		{"message 1: from host 0 to host 1, 1048577 blocks: out of range",
		 {{0, 1, 1, 0, NULL}, {0, 1, PM_MESSAGE_MAX + 1, 0, NULL}}},
		{"message 0: from host 0 to host 3, 1 blocks: out of range",
		 {{0, 3, 1, 0, NULL}, {0, 1, 1, 0, NULL}}},
		{"message 1: from host 3 to host 0, 1 blocks: out of range",
		 {{0, 1, 1, 0, NULL}, {3, 0, 1, 0, NULL}}},
		{"message 1 waits for one that is not host 2's",
		 {{0, 1, 1, 0, NULL}, {2, 1, 1, 1, others}}},
		{"message 0 waits for one that is not host 0's",
		 {{0, 1, 1, 1, later}, {2, 1, 1, 0, NULL}}},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		BAD(rows[i].text, PM_LIST, config.list = rows[i].list,
		    config.num_list = 2, config.num_hosts = 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed),	      cmocka_unit_test(test_permutation),
		cmocka_unit_test(test_random),	      cmocka_unit_test(test_even),
		cmocka_unit_test(test_poisson),	      cmocka_unit_test(test_closed),
		cmocka_unit_test(test_list),	      cmocka_unit_test(test_progress),
		cmocka_unit_test(test_list_progress), cmocka_unit_test(test_delays),
		cmocka_unit_test(test_jobs),	      cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_jobs),      cmocka_unit_test(test_bad_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
