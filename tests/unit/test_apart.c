/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "unit.h"

#include <portmajor/fabric/apart.h>

static const struct row {
	const char *name, *drawing;
	uint64_t pairs, count;
	const char *text;
} rows[] = {
	{"joined", "l0/3 l1/3 l0:1=a l1:1=b l0:2=l1:2", 1, 0, ""},
	{"two parts", "l0/3 l1/3 l0:1=a l0:2=b l1:1=c", 3, 2,
	 "no cables join 2 of 3 pairs of hosts, such as a and c"},
	{"a part without hosts", "l0/3 l1/3 s0/2 l0:1=a l1:1=b l0:2=l1:2", 1, 0, ""},
	{"three parts", "l0/2 l1/2 l2/2 l0:1=a l1:1=b l2:1=c", 3, 3,
	 "no cables join 3 of 3 pairs of hosts, such as a and b"},
	{"no hosts", "l0/2 l1/2 l0:1=l1:1", 0, 0, ""},
};

static void try_row(const struct row *row)
{
	struct pm_fabric *fabric = recipe_draw(row->drawing);
	struct pm_apart apart;
	char text[200];

	assert_int_equal(pm_apart_find(fabric, &apart, NULL), 0);
	if (apart.pairs != row->pairs || apart.count != row->count)
		fail_msg("%s: %llu of %llu", row->name, (unsigned long long)apart.count,
			 (unsigned long long)apart.pairs);
	assert_int_equal(pm_apart_describe(fabric, &apart, text, sizeof(text)),
			 row->count > 0);
	assert_string_equal(text, row->text);
	pm_fabric_free(fabric);
}

static void test_rows(void **state)
{
	for_each_row(row, rows)
		try_row(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
