/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Digits, for parsers of text that has no NUL at its end. */
#ifndef PORTMAJOR_DIGIT_H
#define PORTMAJOR_DIGIT_H

#include <stdint.h>

/* The value of a digit, up to 'f' or 'F'; UINT32_MAX if it is none. */
static inline uint32_t pm_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (uint32_t)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (uint32_t)(c - 'A') + 10;
	return UINT32_MAX;
}

#endif
