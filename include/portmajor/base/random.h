/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers, the same in every run: splitmix64 (Steele, Lea and Flood, 2014). The
 * state is a number; any seed will do.
 */
#ifndef PORTMAJOR_RANDOM_H
#define PORTMAJOR_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t pm_random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* 0 up to count - 1, count not 0; biased by less than count / 2^64. */
static inline uint64_t pm_random_below(uint64_t *state, uint64_t count)
{
	return pm_random_next(state) % count;
}

/*
 * An exponential variate, by comparisons alone (von Neumann, 1951): draws uniform numbers
 * as long as they fall. If their number is odd, the first one is the fraction; else the
 * whole part is one more, and new numbers are drawn. Integers, so that it is the same on
 * every machine.
 */
static inline uint64_t pm_random_exponential(uint64_t *state, uint64_t mean)
{
	for (uint64_t whole = 0;; whole++) {
		uint64_t first = pm_random_next(state), last = first, next;
		uint32_t fraction = (uint32_t)(first >> 32); /* / 2^32 */
		bool odd = true;

		while ((next = pm_random_next(state)) < last) {
			last = next;
			odd = !odd;
		}
		if (odd)
			return whole * mean + (mean >> 32) * fraction +
			       ((mean & UINT32_MAX) * fraction >> 32);
	}
}

#endif
