/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The nearest word: each kind of typing error, ties, and words that are too far off. */
#include "unit.h"

#include <portmajor/base/nearest.h>

#include <limits.h>
static const struct row {
	const char *a, *b;
	unsigned int distance;
} rows[] = {
	{"", "", 0},
	{"", "abc", 3},
	{"drain", "drain", 0},
	{"DRAIN", "drain", 0},
	{"drian", "drain", 1},	/* swapped */
	{"drin", "drain", 1},	/* left out */
	{"drrain", "drain", 1}, /* too many */
	{"drail", "drain", 1},	/* another one */
	{"kitten", "sitting", 3},
	{"ca", "abc", 3}, /* a swapped pair is not edited again */
};

static void test_distance(void **state)
{
	char remote[65];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_int_equal(pm_edit_distance(rows[i].a, rows[i].b),
				 rows[i].distance);
		assert_int_equal(pm_edit_distance(rows[i].b, rows[i].a),
				 rows[i].distance);
	}
	memset(remote, 'x', sizeof(remote) - 1);
	remote[sizeof(remote) - 1] = '\0';
	assert_int_equal(pm_edit_distance(remote, "x"), UINT_MAX);
	assert_int_equal(pm_edit_distance(remote + 1, "x"), 62);
}

static const char *nearest(const char *mistyped)
{
	static const char *const known[] = {"drain", "undrain", "diff", "plan", "-x"};
	static char hint[PM_NEAREST_HINT];
	struct pm_nearest found = {0};

	for (size_t i = 0; i < LENGTH(known); i++)
		pm_nearest_offer(&found, mistyped, known[i]);
	return pm_nearest_hint(&found, hint);
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest("drian"), ": did you mean drain?");
	assert_string_equal(nearest("undrian"), ": did you mean undrain?");
	assert_string_equal(nearest("plant"), ": did you mean plan?");
	assert_string_equal(nearest("routes"), "");
	assert_string_equal(nearest("dxff"), ": did you mean diff?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
