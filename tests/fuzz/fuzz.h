/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What fuzz targets include: the function that they define, a check, and headers
 * of libc. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
	if (!holds)
		abort();
}

#endif
