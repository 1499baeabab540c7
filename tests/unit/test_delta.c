/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"
#include "unit.h"

#define SIZE 256

/* Entries that change, by LID, and the result. */
static const struct {
	const char *name;
	unsigned int num, change[6];
	unsigned int keep; /* number of the wanted KEEPs among them */
	struct pm_delta expected;
} rows[] = {
	{"nothing", 0, {0}, 0, {0, 0, 0, 0}},
	{"the first", 1, {0}, 0, {1, 1, 1, 1}},
	{"the last", 1, {255}, 0, {1, 1, 1, 1}},
	{"both sides of a boundary", 2, {63, 64}, 0, {2, 2, 1, 1}},
	{"one block", 3, {64, 100, 127}, 0, {1, 3, 1, 1}},
	{"all blocks", 4, {1, 65, 129, 193}, 0, {4, 4, 1, 1}},
	{"only KEEP", 2, {5, 70}, 2, {0, 0, 0, 0}},
	{"KEEP and another", 2, {5, 70}, 1, {1, 1, 1, 1}},
};

static void test_rows(void **state)
{
	for_each_row(row, rows) {
		uint8_t installed[SIZE], wanted[SIZE], result[SIZE];
		struct pm_delta delta = {0};

		memset(installed, 7, SIZE);
		memset(wanted, 7, SIZE);
		for (unsigned int k = 0; k < row->num; k++)
			wanted[row->change[k]] = k < row->keep ? PM_LFT_KEEP : 9;
		pm_delta_add(&delta, installed, wanted, SIZE);
		if (memcmp(&delta, &row->expected, sizeof(delta)))
			fail_msg("%s: %llu blocks, %llu entries, least %llu", row->name,
				 (unsigned long long)delta.blocks,
				 (unsigned long long)delta.entries,
				 (unsigned long long)delta.least);
		pm_delta_apply(result, installed, wanted, SIZE);
		for (unsigned int lid = 0; lid < SIZE; lid++)
			assert_int_equal(result[lid],
					 wanted[lid] == PM_LFT_KEEP ? 7 : wanted[lid]);
		pm_delta_apply(installed, installed, wanted, SIZE);
		assert_memory_equal(installed, result, SIZE);
	}
}

/* A whole block of 64 must not wrap; installed KEEP differs from a wanted port. */
static void test_full(void **state)
{
	uint8_t installed[SIZE], wanted[SIZE];
	struct pm_delta delta = {0};

	memset(installed, PM_LFT_KEEP, SIZE);
	memset(wanted, 3, SIZE);
	pm_delta_add(&delta, installed, wanted, SIZE);
	pm_delta_add(&delta, installed, wanted, 64);
	pm_delta_add(&delta, wanted, wanted, SIZE);
	pm_delta_add(&delta, installed, wanted, 0);
	assert_int_equal(delta.blocks, 5);
	assert_int_equal(delta.entries, 320);
	assert_int_equal(delta.least, 5);
	assert_int_equal(delta.switches, 2);
}

static void test_least(void **state)
{
	static const struct {
		unsigned int entries, least;
	} counts[] = {
		{1, 1}, {63, 1}, {64, 1}, {65, 2}, {128, 2}, {129, 3},
	};

	for_each_row(row, counts) {
		uint8_t installed[SIZE] = {0}, wanted[SIZE] = {0};
		struct pm_delta delta = {0};

		memset(wanted + 20, 1, row->entries);
		pm_delta_add(&delta, installed, wanted, SIZE);
		assert_int_equal(delta.entries, row->entries);
		assert_int_equal(delta.least, row->least);
	}
}

/* Blocks in which the entry of an end port's slot changed: what the paper counts. */
static uint64_t count_slot_blocks(const struct world *world)
{
	const struct pm_plan *plan = world->plan;
	uint64_t blocks = 0;

	for (uint32_t sw = 0; sw < world->num_switches; sw++) {
		const uint8_t *now = pm_routes_table(world->routes, sw);
		const uint8_t *before = world->first + (size_t)sw * world->stride;
		uint32_t last = PM_NONE;

		if (plan->tree.level[sw] != 0)
			continue;
		for (uint32_t lid = 1; lid <= plan->top_lid; lid++) {
			uint32_t place = plan->owner[lid];

			if (place == PM_NONE || !plan->topology->ports[place].num ||
			    now[lid] == PM_LFT_KEEP || now[lid] == before[lid] ||
			    last == lid / PM_LFT_BLOCK)
				continue;
			last = lid / PM_LFT_BLOCK;
			blocks++;
		}
	}
	return blocks;
}

/* The paper's numbers for the failure of a chassis. */
static void test_paper(void **state)
{
	static const struct {
		unsigned int leaves;
		enum pm_lid_order order;
		uint64_t slot_blocks;
	} paper[] = {
		{324, PM_LEAF_MAJOR, 29484}, {324, PM_PORT_MAJOR, 1944},
		{324, PM_GROUPED, 1944},     {648, PM_LEAF_MAJOR, 117936},
		{648, PM_PORT_MAJOR, 7128},  {648, PM_GROUPED, 7128},
	};

	for_each_row(row, paper) {
		struct world world;
		uint64_t blocks;

		world_make(&world, world_director(row->leaves), row->order);
		world_fail(&world, "s0-*");
		blocks = count_slot_blocks(&world);
		if (blocks != row->slot_blocks)
			fail_msg("%u leaves, %s: %llu blocks, not %llu", row->leaves,
				 pm_lid_order_name(row->order),
				 (unsigned long long)blocks,
				 (unsigned long long)row->slot_blocks);
		world_free(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
