/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that is freed together; for the core's own use.
 *
 *	struct pm_pool pool = {0};
 *	uint32_t *queue = pm_pool_array(&pool, num, sizeof(*queue));
 *	uint8_t *visited = pm_pool_array(&pool, num, 1);
 *	int rc = pm_pool_check(&pool, err);
 *
 *	if (!rc)
 *		...
 *	pm_pool_free(&pool);
 *
 * The pool remembers that memory ran out: one check, before the first use, is enough for
 * many arrays. Nothing is freed alone, and nothing moves. Each array is an allocation of
 * its own, so that sanitizers see its end and the kernel zeroes a large one.
 */
#ifndef PORTMAJOR_POOL_H
#define PORTMAJOR_POOL_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stddef.h>

struct pm_pool_piece;

/* Zeroed: empty. A copy refers to the same memory. */
struct pm_pool {
	struct pm_pool_piece *pieces; /* the last one first */
	bool failed;		      /* an allocation failed */
};

/* A zeroed array; a length of 0 gives a valid pointer too. NULL without memory. */
void *pm_pool_array(struct pm_pool *pool, size_t length, size_t size);

/* The same, not zeroed, in large pages if the bytes are many. */
void *pm_pool_bytes(struct pm_pool *pool, size_t size);

/* The same, copied from an array. */
void *pm_pool_copy(struct pm_pool *pool, const void *from, size_t length, size_t size);

/* Returns 0, or -ENOMEM with a message in err if any of the above has returned NULL. */
int pm_pool_check(const struct pm_pool *pool, struct pm_error *err);

/* Frees all of it; the pool is empty again, and nothing has failed. */
void pm_pool_free(struct pm_pool *pool);

#endif
