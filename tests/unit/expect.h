/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For random tests: a failure is reported with its seed. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include "unit.h"

/* Fails the running test if there is a text. */
static inline void expect_none(uint64_t seed, const char *where, const char *text)
{
	if (text)
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: %s: %s", (unsigned long long)seed,
			 where, text);
}

/* With the file's seed of the present round. */
#define EXPECT(condition) expect_none(seed, __func__, (condition) ? NULL : #condition)

#endif
