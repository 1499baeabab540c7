/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/policy/lft_capacity.h>

/* ---- Limits ---- */

static void test_limits(void **state)
{
	static const struct {
		const char *name;
		uint16_t rooms[5];
		uint32_t num;
		uint16_t max_lid, top_lid, limit;
	} rows[] = {
		{"no switch", {0}, 0, 0xffff, 70, 0xffff},
		{"one", {100}, 1, 100, 70, 100},
		{"one that is too small", {19}, 1, 19, 70, 0xffff},
		{"one of two", {49150, 19}, 2, 49150, 70, 49150},
		{"one of three", {200, 19, 100}, 3, 100, 70, 100},
		{"two of three", {19, 200, 18}, 3, 19, 70, 200},
		{"two of four", {19, 200, 100, 18}, 4, 100, 70, 100},
		{"room for just that", {70, 69, 200}, 3, 70, 70, 70},
		{"all the same", {80, 80, 80, 80, 80}, 5, 80, 70, 80},
	};

	for_each_row(row, rows) {
		struct pm_lft_capacity switches[5];

		for (uint32_t k = 0; k < row->num; k++)
			switches[k] = (struct pm_lft_capacity){k + 1, row->rooms[k], 0};
		print_message("%s\n", row->name);
		assert_int_equal(pm_lft_capacity_max_lid(switches, row->num),
				 row->max_lid);
		assert_int_equal(pm_lft_capacity_limit(switches, row->num, row->top_lid),
				 row->limit);
	}
}

/* ---- Judging ---- */

#define SWITCHES 16

/* 12 leaves with 2 hosts each below 4 spines, one of them with a host. */
static void make_world(struct world *world)
{
	char text[4096];
	size_t used = 0;

	for (unsigned int i = 0; i < SWITCHES; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u/16 ",
					 i < 12 ? "leaf" : "spine", i < 12 ? i : i - 12);
	for (unsigned int i = 0; i < 12; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"leaf%u:1=a%u leaf%u:2=b%u leaf%u:3=spine0:%u leaf%u:4=spine1:%u "
			"leaf%u:5=spine2:%u leaf%u:6=spine3:%u ",
			i, i, i, i, i, i + 1, i, i + 1, i, i + 1, i, i + 1);
	snprintf(text + used, sizeof(text) - used, "spine3:13=sm ");
	world_make(world, recipe_draw(text), PM_GROUPED);
}

struct judged {
	uint8_t unfit[SWITCHES];
	char text[PM_LFT_CAPACITY_TEXT];
};

/* Judges fit switches but for those that change() has changed. */
static void judge(const struct world *world,
		  void (*change)(const struct world *, struct pm_lft_capacity *),
		  struct judged *judged)
{
	struct pm_lft_capacity switches[SWITCHES];

	for (uint32_t i = 0; i < SWITCHES; i++)
		switches[i] = (struct pm_lft_capacity){
			world->plan->topology->nodes[i].guid, world->plan->top_lid, 0};
	change(world, switches);
	memset(judged->unfit, 7, sizeof(judged->unfit));
	pm_lft_capacity_judge(world->plan, switches, SWITCHES, judged->unfit,
			      judged->text, sizeof(judged->text));
}

static void all_well(const struct world *world, struct pm_lft_capacity *switches)
{
}

static void small_spine(const struct world *world, struct pm_lft_capacity *switches)
{
	switches[world_switch(world, "spine1")].max_lid--;
}

static void small_spine_with_host(const struct world *world,
				  struct pm_lft_capacity *switches)
{
	switches[world_switch(world, "spine3")].max_lid = 19;
}

static void small_leaf(const struct world *world, struct pm_lft_capacity *switches)
{
	switches[world_switch(world, "leaf2")].max_lid = 0;
}

static void odd_ports(const struct world *world, struct pm_lft_capacity *switches)
{
	switches[world_switch(world, "spine0")].odd_ports = 1;
	switches[world_switch(world, "spine1")].max_lid = 5;
	switches[world_switch(world, "spine1")].odd_ports = 2;
}

static void stranger(const struct world *world, struct pm_lft_capacity *switches)
{
	switches[world_switch(world, "leaf1")].guid = 0x77;
}

static void test_judge(void **state)
{
	/* unfit: which switch is, or NULL. */
	static const struct {
		const char *name;
		void (*change)(const struct world *, struct pm_lft_capacity *);
		const char *unfit, *text;
	} rows[] = {
		{"all well", all_well, NULL, ""},
		{"unknown", stranger, NULL,
		 "a switch (0x0000000000000077) does not fit into the plan and is left out"},
		{"one LID too few", small_spine, "spine1",
		 "spine1 (0x000000000020000d) has room for LIDs up to 62 of 63 and is "
		 "left out"},
		{"a spine with a host", small_spine_with_host, "spine3",
		 "spine3 (0x000000000020000f) has room for LIDs up to 19 of 63 and is "
		 "left out (1 service port)"},
		{"a leaf", small_leaf, NULL,
		 "leaf2 (0x0000000000200002) has room for LIDs up to 0 of 63 and serves "
		 "its hosts with those (2 hosts)"},
		{"odd ports", odd_ports, "spine1",
		 "spine0 (0x000000000020000c) has 1 port neither up nor down; spine1 "
		 "(0x000000000020000d) has room for LIDs up to 5 of 63 and is left out, "
		 "has 2 ports neither up nor down"},
	};
	struct world world;

	make_world(&world);
	for_each_row(row, rows) {
		struct judged judged;

		print_message("%s\n", row->name);
		judge(&world, row->change, &judged);
		assert_string_equal(judged.text, row->text);
		for (uint32_t sw = 0; sw < SWITCHES; sw++)
			assert_int_equal(judged.unfit[sw],
					 row->unfit &&
						 sw == world_switch(&world, row->unfit));
	}
	world_free(&world);
}

static void small_all(const struct world *world, struct pm_lft_capacity *switches)
{
	for (uint32_t i = 0; i < SWITCHES; i++)
		switches[i].max_lid = 1;
}

/* Eight are named; with less room the text ends earlier, and all are judged. */
static void test_names(void **state)
{
	struct judged judged;
	struct world world;
	struct pm_lft_capacity *switches;

	make_world(&world);
	judge(&world, small_all, &judged);
	assert_non_null(strstr(judged.text, "leaf7 "));
	assert_null(strstr(judged.text, "leaf8 "));
	assert_string_equal(judged.text + strlen(judged.text) - 4, "; ..");
	for (uint32_t sw = 0; sw < SWITCHES; sw++)
		assert_int_equal(judged.unfit[sw], sw >= world_switch(&world, "spine0"));

	switches = calloc(SWITCHES, sizeof(*switches));
	assert_non_null(switches);
	for (uint32_t i = 0; i < SWITCHES; i++)
		switches[i].guid = world.plan->topology->nodes[i].guid;
	for (size_t size = 1; size < sizeof(judged.text); size += 13) {
		char *text = malloc(size);

		assert_non_null(text);
		pm_lft_capacity_judge(world.plan, switches, SWITCHES, judged.unfit, text,
				      size);
		assert_true(strlen(text) < size);
		assert_int_equal(judged.unfit[SWITCHES - 1], 1);
		free(text);
	}
	free(switches);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
