/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/failure_summary.h>

/* A row with all values `value`, but for the one that makes it worse. */
static struct pm_row make_row(uint64_t number, uint64_t value)
{
	struct pm_row row = {.number = number, .name = (uint32_t)number + 7};

	for (unsigned int m = 0; m < PM_METRICS; m++)
		row.value[m] = value;
	return row;
}

static void test_names(void **state)
{
	enum pm_metric metric;

	for (unsigned int m = 0; m < PM_METRICS; m++) {
		assert_int_equal(pm_metric_parse(pm_metric_name(m), &metric), 0);
		assert_int_equal(metric, m);
	}
	assert_string_equal(pm_metric_name(PM_METRIC_PAIRS_CUT), "pairs_cut");
	assert_int_equal(pm_metric_parse("block", &metric), -EINVAL);
}

static void test_nothing(void **state)
{
	static const struct pm_statistics none;
	struct pm_failure_summary summary = {.worst = 3};
	struct pm_statistics s;

	pm_failure_summary_finish(&summary);
	s = pm_failure_summary_statistics(&summary, PM_METRIC_BLOCKS);
	assert_memory_equal(&s, &none, sizeof(s));
	assert_int_equal(summary.num_rows, 0);
	pm_failure_summary_free(&summary);
}

/* ---- Statistics ---- */

static const struct {
	uint64_t count; /* values k * k + 7, k from 0 */
	struct pm_statistics s;
} percentiles[] = {
	{1, {7, 7, 7, 7, 7, 7}},
	{2, {15, 7, 7, 8, 8, 8}},
	{3, {26, 7, 8, 11, 11, 11}},
	{10, {355, 7, 23, 71, 88, 88}},
	{100, {329050, 7, 49 * 49 + 7, 89 * 89 + 7, 98 * 98 + 7, 99 * 99 + 7}},
	{101, {339057, 7, 50 * 50 + 7, 90 * 90 + 7, 99 * 99 + 7, 100 * 100 + 7}},
	{997, {329852465, 7, 498 * 498 + 7, 897 * 897 + 7, 987 * 987 + 7, 996 * 996 + 7}},
};

/* By nearest rank, whichever way round the values come, and in two parts. */
static void test_percentiles(void **state)
{
	for (size_t i = 0; i < LENGTH(percentiles); i++) {
		uint64_t n = percentiles[i].count;
		struct pm_failure_summary part[2] = {{0}, {0}};
		struct pm_statistics s;

		for (uint64_t k = n; k-- > 0;) {
			struct pm_row row = make_row(k, k * k + 7);

			assert_int_equal(pm_failure_summary_add(&part[k % 2], &row), 0);
		}
		assert_int_equal(pm_failure_summary_merge(&part[0], &part[1]), 0);
		pm_failure_summary_finish(&part[0]);
		s = pm_failure_summary_statistics(&part[0], PM_METRIC_SHIFT);
		if (part[0].count != n || memcmp(&s, &percentiles[i].s, sizeof(s)))
			fail_msg("%llu values: %llu, %llu %llu %llu %llu %llu",
				 (unsigned long long)n, (unsigned long long)s.sum,
				 (unsigned long long)s.minimum,
				 (unsigned long long)s.median, (unsigned long long)s.p90,
				 (unsigned long long)s.p99,
				 (unsigned long long)s.maximum);
		pm_failure_summary_free(&part[0]);
		pm_failure_summary_free(&part[1]);
	}
}

/* Few and many values, often and seldom, against a plain count. */
static void test_histograms(void **state)
{
	enum { VALUES = 300 };
	const uint64_t seed = 0x5eed;

	print_message("seed 0x%llx\n", (unsigned long long)seed);
	for (uint32_t values = 1; values <= VALUES; values += 13) {
		struct random random = {seed + values};
		struct pm_histogram *h;
		struct pm_failure_summary summary = {0};
		uint64_t count[VALUES] = {0};
		uint32_t kept = 0;

		h = &summary.histogram[PM_METRIC_LOAD];
		for (int i = 0; i < 2000; i++) {
			uint32_t value = random_below(&random, values);
			uint64_t times = random_range(&random, 1, 1000000);

			count[value] += times;
			assert_int_equal(pm_histogram_add(h, value, times), 0);
		}
		/* Room for the values that there are, not for each time they came. */
		assert_true(h->room <= 16 || h->room <= 4 * values);
		pm_failure_summary_finish(&summary);
		for (uint32_t v = 0; v < values; v++)
			if (count[v]) {
				assert_int_equal(h->bin[kept].value, v);
				assert_int_equal(h->bin[kept].count, count[v]);
				kept++;
			}
		assert_int_equal(h->num, kept);
		pm_failure_summary_free(&summary);
	}
}

/* ---- The worst ---- */

/* Among equals more blocks are worse, then more pairs cut, then the first one is. */
static void test_order(void **state)
{
	static const struct {
		uint64_t number, load, blocks, cut;
	} rows[] = {{7, 5, 1, 9}, {3, 5, 2, 0}, {5, 5, 2, 1}, {2, 5, 2, 1}, {9, 6, 0, 0}};
	static const uint64_t expected[] = {9, 2, 5, 3, 7};
	struct pm_failure_summary summary = {.by = PM_METRIC_LOAD, .worst = 9};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_row row = make_row(rows[i].number, 0);

		row.value[PM_METRIC_LOAD] = rows[i].load;
		row.value[PM_METRIC_BLOCKS] = rows[i].blocks;
		row.value[PM_METRIC_PAIRS_CUT] = rows[i].cut;
		assert_int_equal(pm_failure_summary_add_row(&summary, &row), 0);
	}
	pm_failure_summary_finish(&summary);
	assert_int_equal(summary.num_rows, LENGTH(expected));
	for (size_t i = 0; i < LENGTH(expected); i++) {
		assert_int_equal(summary.row[i].number, expected[i]);
		assert_int_equal(summary.row[i].name, expected[i] + 7);
	}
	assert_int_equal(summary.count, 0);
	pm_failure_summary_free(&summary);
}

/* However many are kept, and in however many parts, they are the first of them all. */
static void test_worst(void **state)
{
	static const uint32_t worst[] = {0,  1,	 2,  15,  16,	17,
					 63, 64, 65, 999, 1000, 5000};
	enum { NUM = 1000 };

	for (size_t i = 0; i < LENGTH(worst); i++)
		for (uint32_t parts = 1; parts <= 3; parts++) {
			struct pm_failure_summary sum = {.worst = worst[i]};
			struct pm_failure_summary part[3] = {sum, sum, sum};
			uint32_t expected = worst[i] < NUM ? worst[i] : NUM;

			/* 7919 and NUM have no common divisor: each value once. */
			for (uint64_t k = 0; k < NUM; k++) {
				struct pm_row row = make_row(k, k * 7919 % NUM);

				assert_int_equal(
					pm_failure_summary_add(&part[k % parts], &row),
					0);
			}
			for (uint32_t p = 0; p < parts; p++) {
				/* Room is for some times as many, not for all. */
				assert_true(part[p].rows_room <= 4 * worst[i] + 16);
				assert_int_equal(pm_failure_summary_merge(&sum, &part[p]),
						 0);
				pm_failure_summary_free(&part[p]);
			}
			pm_failure_summary_finish(&sum);
			assert_int_equal(sum.count, NUM);
			assert_int_equal(sum.num_rows, expected);
			for (uint32_t k = 0; k < expected; k++)
				assert_int_equal(sum.row[k].value[0], NUM - 1 - k);
			pm_failure_summary_free(&sum);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_percentiles), cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_order),	    cmocka_unit_test(test_worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
