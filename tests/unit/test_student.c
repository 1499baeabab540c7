/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Student's t, in the table and behind it. */
#include "unit.h"

#include <portmajor/lab/student.h>

#include <math.h>
static void test_values(void **state)
{
	static const struct {
		uint32_t freedom;
		double t;
	} rows[] = {{1, 12.706},  {2, 4.303},	 {19, 2.093},  {20, 2.086},
		    {21, 2.080},  {30, 2.042},	 {31, 2.0395}, {40, 2.0211},
		    {63, 1.9983}, {120, 1.9799}, {999, 1.9623}};

	for (size_t i = 0; i < LENGTH(rows); i++)
		if (fabs(pm_student(rows[i].freedom) - rows[i].t) > rows[i].t / 500)
			fail_msg("%u: %.4f, not %.4f", rows[i].freedom,
				 pm_student(rows[i].freedom), rows[i].t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
