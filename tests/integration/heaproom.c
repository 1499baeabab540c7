/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded into ibdmchk: room behind each block of the heap. ibdmchk counts the ports
 * of a switch that lead to a host equally well in an array of 50, and writes behind
 * that if a switch has 65 ports.
 */
#include <stddef.h>
#include <stdint.h>

#define ROOM 1024 /* for 254 ports */

void *__libc_malloc(size_t size);
void *malloc(size_t size);

void *malloc(size_t size)
{
	return size > SIZE_MAX - ROOM ? NULL : __libc_malloc(size + ROOM);
}
