/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of each test program: runs only the cases whose function PM_CASE names, a pattern
 * with * and ?. */
#include "unit.h"

__attribute__((constructor)) static void choose_cases(void)
{
	const char *pattern = getenv("PM_CASE");

	if (pattern)
		cmocka_set_test_filter(pattern);
}
