/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets of small integers as arrays of 64-bit words; for the core's own use. */
#ifndef PORTMAJOR_BITS_H
#define PORTMAJOR_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t pm_bits_words(uint32_t num_bits)
{
	return num_bits / 64 + (num_bits % 64 != 0);
}

static inline void pm_bits_set(uint64_t *set, uint32_t bit)
{
	set[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static inline bool pm_bits_test(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

static inline void pm_bits_or(uint64_t *set, const uint64_t *other, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		set[i] |= other[i];
}

#endif
