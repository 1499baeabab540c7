/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocates memory that is freed together. */
#include <portmajor/base/pool.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
/* Smaller pieces gain little from large pages. */
#define LARGE (2 * LARGE_PAGE)

struct pm_pool_piece {
	struct pm_pool_piece *next;
	max_align_t data[]; /* aligned for any type, as malloc's memory is */
};

/*
 * Tables of all switches take thousands of small pages, and getting these from the kernel
 * takes longer than filling them. So the kernel is advised to use large pages; it need
 * not. The piece begins at a large page's boundary, as the kernel uses small pages before
 * that.
 */
static struct pm_pool_piece *allocate_large(size_t size)
{
	void *piece;

	if (posix_memalign(&piece, LARGE_PAGE, size))
		return NULL;
	madvise(piece, size, MADV_HUGEPAGE);
	return piece;
}

/* Links a piece into the pool; NULL records that memory ran out. */
static void *add_piece(struct pm_pool *pool, struct pm_pool_piece *piece)
{
	if (!piece) {
		pool->failed = true;
		return NULL;
	}
	piece->next = pool->pieces;
	pool->pieces = piece;
	return piece->data;
}

void *pm_pool_array(struct pm_pool *pool, size_t length, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(length, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(struct pm_pool_piece), &bytes))
		return add_piece(pool, NULL);
	return add_piece(pool, calloc(1, bytes));
}

void *pm_pool_bytes(struct pm_pool *pool, size_t size)
{
	struct pm_pool_piece *piece;

	if (__builtin_add_overflow(size, sizeof(struct pm_pool_piece), &size))
		return add_piece(pool, NULL);
	piece = size >= LARGE ? allocate_large(size) : malloc(size);
	return add_piece(pool, piece);
}

void *pm_pool_copy(struct pm_pool *pool, const void *from, size_t length, size_t size)
{
	void *to = pm_pool_array(pool, length, size);

	if (to && length)
		memcpy(to, from, length * size);
	return to;
}

int pm_pool_check(const struct pm_pool *pool, struct pm_error *err)
{
	return pool->failed ? pm_error_no_memory(err) : 0;
}

void pm_pool_free(struct pm_pool *pool)
{
	while (pool->pieces) {
		struct pm_pool_piece *piece = pool->pieces;

		pool->pieces = piece->next;
		free(piece);
	}
	pool->failed = false;
}
