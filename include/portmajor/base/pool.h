/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that is freed together; for the core's own use.
 *
 *	struct pm_pool pool = {0};
 *	uint32_t *queue = pm_pool_array(&pool, num, sizeof(*queue));
 *	uint8_t *seen = pm_pool_array(&pool, num, 1);
 *	int rc = pm_pool_check(&pool, err);
 *
 *	if (!rc)
 *		...
 *	pm_pool_free(&pool);
 *
 * That memory ran out is remembered, so that many arrays take one check, which has to
 * come before the first of them is used. Nothing is freed on its own, and nothing moves.
 * Each piece is an allocation of the C library's: sanitizers see the end of every array,
 * and a large one comes zeroed from the kernel.
 */
#ifndef PORTMAJOR_POOL_H
#define PORTMAJOR_POOL_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stddef.h>

struct pm_pool_piece;

/* Zeroed: empty. Copied, the copy stands for the same memory. */
struct pm_pool {
	struct pm_pool_piece *pieces; /* the last one first */
	bool failed;		      /* something did not get its memory */
};

/* A zeroed array; a length of 0 gives a valid pointer too. NULL without memory. */
void *pm_pool_array(struct pm_pool *pool, size_t length, size_t size);

/* As many bytes, whatever is in them, in large pages if they are many; else the same. */
void *pm_pool_bytes(struct pm_pool *pool, size_t size);

/* A copy of an array; else the same. */
void *pm_pool_copy(struct pm_pool *pool, const void *from, size_t length, size_t size);

/* 0, or -ENOMEM, with a message in err, if any of the above has returned NULL. */
int pm_pool_check(const struct pm_pool *pool, struct pm_error *err);

/* Frees all of it; the pool is empty again, and nothing has failed. */
void pm_pool_free(struct pm_pool *pool);

#endif
