/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocation with checked multiplication; for the core's own use. */
#ifndef PORTMAJOR_ALLOC_H
#define PORTMAJOR_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A zeroed array; a length of 0 gives a valid pointer too. */
static inline void *pm_array(size_t length, size_t size)
{
	return calloc(length ? length : 1, size);
}

static inline void *pm_copy(const void *from, size_t length, size_t size)
{
	void *to = pm_array(length, size);

	if (to && length)
		memcpy(to, from, length * size);
	return to;
}

/* Makes *(T **)array hold at least `need` elements; -1 without memory. */
static inline int pm_grow_(void **array, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t more = *room ? *room : 16;
	void *bigger;

	if (need <= *room)
		return 0;
	while (more < need)
		more = more > UINT32_MAX / 2 ? need : more * 2;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -1;
	*array = bigger;
	*room = more;
	return 0;
}
#define pm_grow(array, room, need, size)                                                 \
	pm_grow_((void **)(array), (room), (need), (size))

#endif
