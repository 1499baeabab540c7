/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/change_text.h>

/* Two leaves with five and one end ports below two spines. */
#define DRAWING                                                                          \
	"l0/7 l1/7 s0/4 s1/4 l0:1=a l0:2=b l0:3=c l0:4=d l0:5=e l1:1=f "                 \
	"l0:6=s0:1 l0:7=s1:1 l1:6=s0:2 l1:7=s1:2"

static const struct {
	const char *before, *after; /* what is away */
	const char *text;
} rows[] = {
	{"", "", "no change"},
	{"s0 a", "s0 a", "no change"},
	{"", "a", "failed: 1 host (l0[1])"},
	{"", "a c", "failed: 2 hosts (l0[1], l0[3])"},
	{"", "a b c d e", "failed: 5 hosts (l0[1], l0[2], l0[3], ..)"},
	{"", "a b c", "failed: 3 hosts (l0[1], l0[2], l0[3])"},
	{"a", "", "came: 1 host (l0[1])"},
	{"", "l0:6", "failed: 1 cable (l0[6]-s0[1])"},
	{"", "s0", "failed: 1 switch (s0)"},
	{"", "s0 s1", "failed: 4 switches (l0, l1, s0, ..)"},
	{"s0", "", "came: 1 switch (s0)"},
	{"", "l0", "failed: 1 switch (l0)"},
	{"", "l1:6 l1:7", "failed: 1 switch (l1)"},
	{"s0", "s1", "failed: 1 switch (s1); came: 1 switch (s0)"},
	{"a l0:6", "f",
	 "failed: 1 host (l1[1]); came: 1 cable (l0[6]-s0[1]), 1 host (l0[1])"},
	{"", "s0 l0:7 a", "failed: 2 switches (l0, s0)"},
	{"", "s0 a", "failed: 1 switch (s0), 1 host (l0[1])"},
};

static uint8_t *marks_without(const struct world *world, const char *failure)
{
	struct pm_fabric *now = world_without(world, failure);
	uint8_t *marks = calloc(world->plan->topology->num_ports, 1);

	assert_non_null(marks);
	assert_true(pm_plan_match(world->plan, now, marks));
	pm_fabric_free(now);
	return marks;
}

static void test_texts(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for_each_row(row, rows) {
		uint8_t *before = marks_without(&world, row->before);
		uint8_t *after = marks_without(&world, row->after);
		char text[256] = "untouched";

		pm_change_describe(world.plan, before, after, text, sizeof(text));
		if (strcmp(text, row->text))
			fail_msg("\"%s\" to \"%s\": \"%s\", not \"%s\"", row->before,
				 row->after, text, row->text);
		free(before);
		free(after);
	}
	world_free(&world);
}

/* Absent and drained parts, before and after. */
static const struct {
	const char *away[2], *drained[2];
	const char *text;
} uses[] = {
	{{"", ""}, {"", "l0:6"}, "drained: 1 cable (l0[6]-s0[1])"},
	{{"", ""}, {"l0:6", ""}, "undrained: 1 cable (l0[6]-s0[1])"},
	{{"", ""}, {"l0:6", "l0:6"}, "no change"},
	{{"", ""}, {"s0", "s1"}, "drained: 1 switch (s1); undrained: 1 switch (s0)"},
	{{"", "a"}, {"", "s0"}, "failed: 1 host (l0[1]); drained: 1 switch (s0)"},
	{{"", "l0:6"}, {"l0:6", "l0:6"}, "failed: 1 cable (l0[6]-s0[1])"},
	{{"l0:6", ""}, {"l0:6", "l0:6"}, "came: 1 cable (l0[6]-s0[1])"},
};

static void test_drained(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(uses); i++) {
		uint8_t *marks[4];
		char text[256];

		for (int k = 0; k < 2; k++) {
			marks[k] = marks_without(&world, uses[i].away[k]);
			marks[2 + k] = marks_without(&world, uses[i].drained[k]);
			for (uint32_t p = 0; p < world.plan->topology->num_ports; p++)
				marks[2 + k][p] = marks[k][p] && !marks[2 + k][p];
		}
		pm_change_describe_use(world.plan,
				       &(struct pm_change_use){.discovered = marks[0],
							       .drained = marks[2]},
				       &(struct pm_change_use){.discovered = marks[1],
							       .drained = marks[3]},
				       text, sizeof(text));
		if (strcmp(text, uses[i].text))
			fail_msg("%zu: \"%s\", not \"%s\"", i, text, uses[i].text);
		for (int k = 0; k < 4; k++)
			free(marks[k]);
	}
	world_free(&world);
}

/* Absent parts before and after, and cables that lead elsewhere after. */
static const struct {
	const char *away[2], *recabled, *text;
} recablings[] = {
	{{"", ""}, "", "no change"},
	{{"", ""}, "l0:6", "recabled: 1 cable (l0[6]-s0[1])"},
	{{"", ""}, "s0", "recabled: 1 switch (s0)"},
	{{"", "l0:6"}, "l0:6", "failed: 1 cable (l0[6]-s0[1])"},
	{{"l0:6", ""}, "l0:6", "came: 1 cable (l0[6]-s0[1])"},
	{{"", "a"}, "l0:6", "failed: 1 host (l0[1]); recabled: 1 cable (l0[6]-s0[1])"},
};

static void test_recabled(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(recablings); i++) {
		uint8_t *before = marks_without(&world, recablings[i].away[0]);
		uint8_t *after = marks_without(&world, recablings[i].away[1]);
		uint8_t *recabled = marks_without(&world, recablings[i].recabled);
		char text[256];

		for (uint32_t p = 0; p < world.plan->topology->num_ports; p++)
			recabled[p] = !recabled[p];
		pm_change_describe_use(world.plan,
				       &(struct pm_change_use){.discovered = before},
				       &(struct pm_change_use){.discovered = after,
							       .recabled = recabled},
				       text, sizeof(text));
		if (strcmp(text, recablings[i].text))
			fail_msg("%zu: \"%s\", not \"%s\"", i, text, recablings[i].text);
		free(before);
		free(after);
		free(recabled);
	}
	world_free(&world);
}

/* Every size gives the start of the text and a NUL, and writes no further. */
static void test_truncated(void **state)
{
	struct world world;
	uint8_t *before, *after;
	char whole[256];

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	before = marks_without(&world, "s0");
	after = marks_without(&world, "s1 a");
	pm_change_describe(world.plan, before, after, whole, sizeof(whole));
	for (size_t size = 0; size <= strlen(whole) + 2; size++) {
		char text[256];

		memset(text, 'x', sizeof(text));
		pm_change_describe(world.plan, before, after, text, size);
		for (size_t i = size; i < sizeof(text); i++)
			assert_int_equal(text[i], 'x');
		if (!size)
			continue;
		assert_int_equal(strlen(text),
				 size - 1 < strlen(whole) ? size - 1 : strlen(whole));
		assert_int_equal(strncmp(text, whole, size - 1), 0);
	}
	free(before);
	free(after);
	world_free(&world);
}

/* Adds side cables between l0 and l1, from port 3 on, to two leaves below a spine. */
static struct pm_fabric *with_side_links(unsigned int num)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	for (unsigned int i = 0; i < 2; i++) {
		char name[8];

		snprintf(name, sizeof(name), "l%u", i);
		recipe_add_node(&recipe, PM_SWITCH, 1 + i, 2 + num, 0, name);
	}
	recipe_add_node(&recipe, PM_SWITCH, 3, 2, 1, "s0");
	for (unsigned int i = 0; i < 2; i++) {
		recipe_add_host(&recipe, i, 1);
		recipe_add_link(&recipe, i, 2, 2, 1 + i);
	}
	for (unsigned int port = 3; port < 3 + num; port++)
		recipe_add_link(&recipe, 0, port, 1, port);
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	return fabric;
}

#define UNUSED ") and no hosts' traffic uses them"

/* Each cable once, by its first end, and no more than 32. */
static void test_oddities(void **state)
{
	static const struct {
		unsigned int num;
		const char *begin, *end;
	} cases[] = {
		{0, "", ""},
		{1, "1 cable leads neither one level up nor down (l0[3]-l1[3]" UNUSED,
		 ""},
		{2,
		 "2 cables lead neither one level up nor down (l0[3]-l1[3], "
		 "l0[4]-l1[4]" UNUSED,
		 ""},
		{32, "32 cables lead ", "3]-l1[33], l0[34]-l1[34]" UNUSED},
		{33, "33 cables lead ", "3]-l1[33], l0[34]-l1[34], .." UNUSED},
	};

	for_each_row(row, cases) {
		char text[PM_CHANGE_TEXT] = "untouched";
		struct world world;
		size_t begin = strlen(row->begin), end = strlen(row->end);

		world_make(&world, with_side_links(row->num), PM_GROUPED);
		assert_int_equal(pm_change_oddities(world.plan, text, sizeof(text)),
				 row->num != 0);
		if (strlen(text) < begin + end ||
		    strncmp(text, row->begin, end ? begin : sizeof(text)) ||
		    strcmp(text + strlen(text) - end, row->end))
			fail_msg("%u: \"%s\"", row->num, text);
		strcpy(text, "xy");
		pm_change_oddities(world.plan, text, 0);
		assert_string_equal(text, "xy");
		pm_change_oddities(world.plan, text, 1);
		assert_string_equal(text, "");
		world_free(&world);
	}
}

#define UNREACHABLE_SERVICES                                                             \
	"no path free of credit loops joins 3 of 90 pairs with service ports, as from "  \
	"l0 to s0 (connect_roots joins them)"

/* The pairs by name, and no more than eight. */
static void test_unreachable(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} cases[] = {
		{0, ""},
		{1, "no up-then-down path joins 1 of 28 pairs of switches with end "
		    "ports: l0 and s0"},
		{2, "no up-then-down path joins 2 of 28 pairs of switches with end "
		    "ports: l0 and s0, l1 and s1"},
		{8, "no up-then-down path joins 8 of 28 pairs of switches with end "
		    "ports: l0 and s0, l1 and s1, l0 and s0, l1 and s1, l0 and s0, l1 "
		    "and s1, l0 and s0, l1 and s1"},
		{9, "no up-then-down path joins 9 of 28 pairs of switches with end "
		    "ports: l0 and s0, l1 and s1, l0 and s0, l1 and s1, l0 and s0, l1 "
		    "and s1, l0 and s0, l1 and s1, .."},
	};
	struct pm_unreachable unreachable = {.pairs = 28};
	char both[PM_CHANGE_TEXT];
	struct world world;

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for (uint32_t i = 0; i < PM_UNREACHABLE_NAMED; i++) {
		unreachable.pair[i][0] = i % 2;
		unreachable.pair[i][1] = 2 + i % 2;
	}
	for_each_row(row, cases) {
		char text[PM_CHANGE_TEXT] = "untouched";

		unreachable.count = row->count;
		assert_int_equal(pm_change_unreachable(world.plan, &unreachable, text,
						       sizeof(text)),
				 row->count != 0);
		assert_string_equal(text, row->text);
		strcpy(text, "xy");
		pm_change_unreachable(world.plan, &unreachable, text, 0);
		assert_string_equal(text, "xy");
		pm_change_unreachable(world.plan, &unreachable, text, 1);
		assert_string_equal(text, "");
	}
	unreachable.count = 1;
	unreachable.service_pairs = 90;
	unreachable.service_count = 3;
	unreachable.service[1] = 2;
	assert_true(pm_change_unreachable(world.plan, &unreachable, both, sizeof(both)));
	assert_string_equal(
		both, "no up-then-down path joins 1 of 28 pairs of switches with end "
		      "ports: l0 and s0; " UNREACHABLE_SERVICES);
	unreachable.count = 0;
	assert_true(pm_change_unreachable(world.plan, &unreachable, both, sizeof(both)));
	assert_string_equal(both, UNREACHABLE_SERVICES);
	unreachable.service_count = 0;
	unreachable.beyond = 2;
	unreachable.hub = 2;
	assert_true(pm_change_unreachable(world.plan, &unreachable, both, sizeof(both)));
	assert_string_equal(both,
			    "paths of 2 of 28 pairs of switches with end ports turn "
			    "up again at s0");
	assert_int_equal(pm_change_paths_cut(&unreachable), 0);
	world_free(&world);
}

/* A port whose cable the plan has elsewhere by now had no host. */
static void test_cable_elsewhere(void **state)
{
	struct world world;
	uint8_t *before, *after;
	char text[256];

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	before = marks_without(&world, "");
	after = marks_without(&world, "");
	before[world_port(world.plan->topology, "s0", 3)] = 1;
	pm_change_describe(world.plan, before, after, text, sizeof(text));
	assert_string_equal(text, "failed: 1 cable (s0[3])");
	free(before);
	free(after);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_drained),
		cmocka_unit_test(test_recabled),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_oddities),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_cable_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
