/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations that fail, in the program that this is linked into: its own, those of the
 * libraries that it uses, and those of libc itself (strdup, fopen, open_memstream,
 * qsort). Works with AddressSanitizer, too.
 */
#ifndef TESTS_MEMFAULT_H
#define TESTS_MEMFAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations fail, counted from memfault_begin on. */
struct memfault {
	uint64_t nth; /* 0: none, only count */
	bool onwards; /* and all behind it */
};

void memfault_begin(const struct memfault *fault);

/* No allocation fails any more; the number of those since memfault_begin. */
uint64_t memfault_end(void);

/*
 * Whether allocations of this thread, for example of a stub, are spared: they neither
 * count nor fail. Returns the value before.
 */
bool memfault_spare(bool spare);

/* Blocks that are allocated and not freed. Only differences mean anything. */
int64_t memfault_live(void);

#endif
