/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocation for commands, which end when out of memory: with a message and exit status
 * 3, from any thread. Not for what the plugin uses; it is not linked with this.
 */
#ifndef PORTMAJOR_XALLOC_H
#define PORTMAJOR_XALLOC_H

#include <portmajor/base/alloc.h>
#include <portmajor/base/pool.h>

/* Prints "PROGRAM: out of memory" to stderr and ends the program. */
void pm_no_memory(void) __attribute__((noreturn));

/* As pm_array and pm_copy. */
void *pm_xarray(size_t length, size_t size);
void *pm_xcopy(const void *from, size_t length, size_t size);

/* Makes *(T **)array hold at least `need` elements. */
#define pm_xgrow(array, room, need, size)                                                \
	pm_xgrow_((void **)(array), (room), (need), (size))
static inline void pm_xgrow_(void **array, uint32_t *room, uint32_t need, size_t size)
{
	if (pm_grow_(array, room, need, size))
		pm_no_memory();
}

/* As pm_pool_array, pm_pool_bytes and pm_pool_copy. */
void *pm_pool_xarray(struct pm_pool *pool, size_t length, size_t size);
void *pm_pool_xbytes(struct pm_pool *pool, size_t size);
void *pm_pool_xcopy(struct pm_pool *pool, const void *from, size_t length, size_t size);

#endif
