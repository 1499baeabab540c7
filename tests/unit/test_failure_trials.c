/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/failure_trials.h>

/* Leaves with two cables and with three, so that failures differ. */
#define DRAWING                                                                          \
	"l0/8 l1/8 l2/8 l3/8 s0/8 s1/8 l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l3:1=f "       \
	"l0:4=s0:1 l0:5=s1:1 l1:4=s0:2 l1:5=s1:2 l2:4=s0:3 l2:5=s1:3 l3:4=s0:4 "         \
	"l3:5=s1:4 l3:6=s1:5"

struct bench {
	struct pm_fabric *fabric;
	struct pm_whatif_config config;
	struct pm_whatif *whatif;
	struct pm_failures failures;
	struct pm_failure_trials trials;
};

static void set_up(struct bench *b, enum pm_failure_kind kind, bool pairs)
{
	*b = (struct bench){.fabric = recipe_draw(DRAWING),
			    .config = {.plan.order = PM_GROUPED,
				       .sm = PM_NONE,
				       .loads = true,
				       .shifts = 2}};
	assert_int_equal(pm_whatif_new(b->fabric, &b->config, &b->whatif, NULL), 0);
	assert_int_equal(pm_failures_list(b->fabric, &pm_whatif_plan(b->whatif)->tree,
					  kind, pairs, &b->failures, NULL),
			 0);
	b->trials = (struct pm_failure_trials){.fabric = b->fabric,
					       .config = &b->config,
					       .failures = &b->failures,
					       .shard = 1,
					       .num_shards = 1,
					       .threads = 1};
}

static void tear_down(struct bench *b)
{
	pm_failures_free(&b->failures);
	pm_whatif_free(b->whatif);
	pm_fabric_free(b->fabric);
}

static struct pm_failure_summary run(struct bench *b, uint32_t worst)
{
	struct pm_failure_summary summary = {.by = PM_METRIC_ENTRIES, .worst = worst};
	struct pm_error err;

	if (pm_failure_trials_run(&b->trials, b->whatif, &summary, &err))
		fail_msg("%s", err.text);
	return summary;
}

static void assert_same(const struct pm_failure_summary *a,
			const struct pm_failure_summary *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->num_rows, b->num_rows);
	for (uint32_t i = 0; i < a->num_rows; i++)
		assert_memory_equal(&a->row[i], &b->row[i], sizeof(a->row[i]));
	for (unsigned int m = 0; m < PM_METRICS; m++) {
		const struct pm_histogram *x = &a->histogram[m], *y = &b->histogram[m];

		assert_int_equal(x->num, y->num);
		assert_memory_equal(x->bin, y->bin, x->num * sizeof(*x->bin));
	}
}

/* The row of a failure has the cost of that failure alone. */
static void test_rows(void **state)
{
	struct pm_failure_summary summary;
	struct bench b;

	set_up(&b, PM_FAIL_SWITCHES, true);
	summary = run(&b, 1000);
	assert_int_equal(summary.count, 15);
	assert_int_equal(summary.num_rows, 15);
	for (uint32_t i = 0; i < summary.num_rows; i++) {
		const uint64_t *v = summary.row[i].value;
		struct pm_whatif_result one;
		struct pm_ports ports = {0};

		assert_int_equal(
			pm_failures_ports(&b.failures, summary.row[i].number, &ports), 0);
		assert_int_equal(
			pm_whatif_fail(b.whatif, ports.list, ports.num, &one, NULL), 0);
		assert_int_equal(v[PM_METRIC_BLOCKS], one.total.blocks);
		assert_int_equal(v[PM_METRIC_LEAST], one.total.least);
		assert_int_equal(v[PM_METRIC_SWITCHES], one.total.switches);
		assert_int_equal(v[PM_METRIC_ENTRIES], one.total.entries);
		assert_int_equal(v[PM_METRIC_PAIRS_CUT], one.pairs_cut);
		assert_int_equal(v[PM_METRIC_SWITCHES_CUT], one.switches_cut);
		assert_int_equal(v[PM_METRIC_LOAD], one.load);
		assert_int_equal(v[PM_METRIC_SHIFT], one.shift);
		assert_true(!i || v[PM_METRIC_ENTRIES] <=
					  summary.row[i - 1].value[PM_METRIC_ENTRIES]);
		free(ports.list);
	}
	/* The costs differ, or the test would be weak. */
	for (unsigned int m = 0; m < PM_METRICS; m++)
		assert_true(m == PM_METRIC_SHIFT || summary.histogram[m].num > 1);
	pm_failure_summary_free(&summary);
	tear_down(&b);
}

/* Threads and shards make no difference, even where there are more than failures. */
static void test_threads_and_shards(void **state)
{
	struct pm_failure_summary whole, again;
	struct bench b;

	set_up(&b, PM_FAIL_LINKS, false);
	whole = run(&b, 4);
	assert_int_equal(whole.count, 9);
	assert_int_equal(whole.num_rows, 4);
	for (unsigned int threads = 2; threads <= 12; threads += 5) {
		b.trials.threads = threads;
		again = run(&b, 4);
		assert_same(&again, &whole);
		pm_failure_summary_free(&again);
	}
	for (uint32_t shards = 1; shards <= 12; shards++) {
		struct pm_failure_summary sum = {.by = PM_METRIC_ENTRIES, .worst = 4};

		b.trials.num_shards = shards;
		for (b.trials.shard = 1; b.trials.shard <= shards; b.trials.shard++) {
			again = run(&b, 4);
			assert_true(again.count == 9 / shards ||
				    again.count == 9 / shards + 1);
			assert_int_equal(pm_failure_summary_merge(&sum, &again), 0);
			pm_failure_summary_free(&again);
		}
		pm_failure_summary_finish(&sum);
		assert_same(&sum, &whole);
		pm_failure_summary_free(&sum);
	}
	pm_failure_summary_free(&whole);
	tear_down(&b);
}

static void note_progress(uint64_t done, uint64_t count, void *context)
{
	uint64_t *expected = context;

	assert_int_equal(count, 3);
	assert_int_equal(done, *expected);
	(*expected)++;
}

/* The calling thread reports each failure; results are added to earlier ones. */
static void test_progress(void **state)
{
	struct pm_failure_summary summary = {.worst = 10};
	struct bench b;
	uint64_t counted = 0;

	set_up(&b, PM_FAIL_HOSTS, false);
	b.trials.progress = note_progress;
	b.trials.context = &counted;
	b.trials.num_shards = 2;
	for (uint64_t i = 1; i <= 2; i++) {
		b.trials.shard = (uint32_t)i;
		counted = 0;
		assert_int_equal(
			pm_failure_trials_run(&b.trials, b.whatif, &summary, NULL), 0);
		assert_int_equal(counted, 3);
		assert_int_equal(summary.count, 3 * i);
		assert_int_equal(summary.num_rows, 3 * i);
	}
	pm_failure_summary_free(&summary);
	tear_down(&b);
}

/* A thread that cannot make tables: its error, and no result is added. */
static void test_failure(void **state)
{
	struct pm_failure_summary summary = {.worst = 10};
	struct pm_whatif_config bad;
	struct pm_error err = {""};
	struct bench b;

	set_up(&b, PM_FAIL_LINKS, true);
	bad = b.config;
	bad.plan.lmc = PM_MAX_LMC + 1;
	b.trials.config = &bad;
	b.trials.threads = 36;
	assert_int_equal(pm_failure_trials_run(&b.trials, b.whatif, &summary, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "LMC is 4"));
	assert_int_equal(summary.count, 0);
	assert_null(summary.row);
	tear_down(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_threads_and_shards),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
