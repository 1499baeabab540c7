/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocates memory, or ends the program. */
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdio.h>

#define STATUS 3 /* of a command that cannot read or make what it needs */

void pm_no_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	exit(STATUS);
}

static void *need(void *memory)
{
	if (!memory)
		pm_no_memory();
	return memory;
}

void *pm_xarray(size_t length, size_t size)
{
	return need(pm_array(length, size));
}

void *pm_xcopy(const void *from, size_t length, size_t size)
{
	return need(pm_copy(from, length, size));
}

void *pm_pool_xarray(struct pm_pool *pool, size_t length, size_t size)
{
	return need(pm_pool_array(pool, length, size));
}

void *pm_pool_xbytes(struct pm_pool *pool, size_t size)
{
	return need(pm_pool_bytes(pool, size));
}

void *pm_pool_xcopy(struct pm_pool *pool, const void *from, size_t length, size_t size)
{
	return need(pm_pool_copy(pool, from, length, size));
}
