/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"

#include <portmajor/change.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
	{"", "a", "lost 1 host (l0[1])"},
	{"", "a c", "lost 2 hosts (l0[1], l0[3])"},
	{"", "a b c d e", "lost 5 hosts (l0[1], l0[2], l0[3], ..)"},
	{"", "a b c", "lost 3 hosts (l0[1], l0[2], l0[3])"},
	{"a", "", "came 1 host (l0[1])"},
	{"", "l0:6", "lost 1 cable (l0[6]-s0[1])"},
	{"", "s0", "lost 1 switch (s0)"},
	{"", "s0 s1", "lost 4 switches (l0, l1, s0, ..)"},
	{"s0", "", "came 1 switch (s0)"},
	{"", "l0", "lost 1 switch (l0)"},
	{"", "l1:6 l1:7", "lost 1 switch (l1)"},
	{"s0", "s1", "lost 1 switch (s1); came 1 switch (s0)"},
	{"a l0:6", "f",
	 "lost 1 host (l1[1]); came 1 cable (l0[6]-s0[1]), 1 host (l0[1])"},
	{"", "s0 l0:7 a", "lost 2 switches (l0, s0)"},
	{"", "s0 a", "lost 1 switch (s0), 1 host (l0[1])"},
};

static uint8_t *marks_without(const struct world *world, const char *loss)
{
	struct pm_fabric *now = world_without(world, loss);
	uint8_t *marks = calloc(world->plan->known->num_ports, 1);

	assert_non_null(marks);
	assert_true(pm_plan_match(world->plan, now, marks));
	pm_fabric_free(now);
	return marks;
}

static void test_texts(void **state)
{
	struct world world;

	(void)state;
	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		uint8_t *before = marks_without(&world, rows[i].before);
		uint8_t *after = marks_without(&world, rows[i].after);
		char text[256] = "untouched";

		pm_change_describe(world.plan, before, after, text, sizeof(text));
		if (strcmp(text, rows[i].text))
			fail_msg("\"%s\" to \"%s\": \"%s\", not \"%s\"", rows[i].before,
				 rows[i].after, text, rows[i].text);
		free(before);
		free(after);
	}
	world_free(&world);
}

/* What is away and drained, before and after. */
static const struct {
	const char *away[2], *drained[2];
	const char *text;
} uses[] = {
	{{"", ""}, {"", "l0:6"}, "drained 1 cable (l0[6]-s0[1])"},
	{{"", ""}, {"l0:6", ""}, "undrained 1 cable (l0[6]-s0[1])"},
	{{"", ""}, {"l0:6", "l0:6"}, "no change"},
	{{"", ""}, {"s0", "s1"}, "drained 1 switch (s1); undrained 1 switch (s0)"},
	{{"", "a"}, {"", "s0"}, "lost 1 host (l0[1]); drained 1 switch (s0)"},
	{{"", "l0:6"}, {"l0:6", "l0:6"}, "lost 1 cable (l0[6]-s0[1])"},
	{{"l0:6", ""}, {"l0:6", "l0:6"}, "came 1 cable (l0[6]-s0[1])"},
};

static void test_drained(void **state)
{
	struct world world;

	(void)state;
	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(uses); i++) {
		uint8_t *marks[4];
		char text[256];

		for (int k = 0; k < 2; k++) {
			marks[k] = marks_without(&world, uses[i].away[k]);
			marks[2 + k] = marks_without(&world, uses[i].drained[k]);
			for (uint32_t p = 0; p < world.plan->known->num_ports; p++)
				marks[2 + k][p] = marks[k][p] && !marks[2 + k][p];
		}
		pm_change_describe_use(
			world.plan, &(struct pm_change_use){marks[0], marks[2]},
			&(struct pm_change_use){marks[1], marks[3]}, text, sizeof(text));
		if (strcmp(text, uses[i].text))
			fail_msg("%zu: \"%s\", not \"%s\"", i, text, uses[i].text);
		for (int k = 0; k < 4; k++)
			free(marks[k]);
	}
	world_free(&world);
}

/* Every size gives the start of the text and a NUL, and touches no more. */
static void test_truncated(void **state)
{
	struct world world;
	uint8_t *before, *after;
	char whole[256];

	(void)state;
	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	before = marks_without(&world, "s0");
	after = marks_without(&world, "s1 a");
	pm_change_describe(world.plan, before, after, whole, sizeof(whole));
	for (size_t size = 0; size <= strlen(whole) + 2; size++) {
		char text[256];

		memset(text, 'x', sizeof(text));
		pm_change_describe(world.plan, before, after, text, size);
		assert_int_equal(text[size], 'x');
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_drained),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
