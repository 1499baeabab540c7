/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers for unit tests: cmocka, with the headers that it needs, and common headers of
 * libc.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka and stand-ins for other functions have parameters that a test may not need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* With a pointer to each row of an array, one after the other. */
#define for_each_row(row, rows)                                                          \
	for (const __typeof__(*(rows)) *row = (rows); row < (rows) + LENGTH(rows); row++)

#endif
