/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pools: the memory that they give, and that no failure is forgotten. */
#include "unit.h"

#include <portmajor/base/pool.h>

#include <unistd.h>

/* ---- Faults: the linker has these called instead (--wrap) ---- */

static struct {
	int at; /* the n-th call, from 1 on, fails; 0: none */
	int calls, pieces;
} memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t length, size_t size);
void *__wrap_calloc(size_t length, size_t size);
int __real_posix_memalign(void **piece, size_t alignment, size_t size);
int __wrap_posix_memalign(void **piece, size_t alignment, size_t size);
void __real_free(void *piece);
void __wrap_free(void *piece);

void *__wrap_malloc(size_t size)
{
	void *piece = ++memory.calls == memory.at ? NULL : __real_malloc(size);

	memory.pieces += piece != NULL;
	return piece;
}

void *__wrap_calloc(size_t length, size_t size)
{
	void *piece = ++memory.calls == memory.at ? NULL : __real_calloc(length, size);

	memory.pieces += piece != NULL;
	return piece;
}

int __wrap_posix_memalign(void **piece, size_t alignment, size_t size)
{
	int rc = ++memory.calls == memory.at
			 ? ENOMEM
			 : __real_posix_memalign(piece, alignment, size);

	memory.pieces += rc == 0;
	return rc;
}

void __wrap_free(void *piece)
{
	memory.pieces -= piece != NULL;
	__real_free(piece);
}

static int reset(void **state)
{
	memset(&memory, 0, sizeof(memory));
	return 0;
}

/* ---- Tests ---- */

static const uint8_t zeros[1000];

static void test_arrays(void **state)
{
	static const size_t lengths[] = {0, 1, 7, 8, 9, 1000};
	struct pm_pool pool = {0};
	uint8_t *array[6];

	for (size_t i = 0; i < 6; i++) {
		array[i] = pm_pool_array(&pool, lengths[i], 1);
		assert_non_null(array[i]);
		assert_int_equal((uintptr_t)array[i] % _Alignof(max_align_t), 0);
		assert_memory_equal(array[i], zeros, lengths[i]);
		memset(array[i], (int)i + 1, lengths[i]);
	}
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < lengths[i]; k++)
			assert_int_equal(array[i][k], i + 1);
	assert_int_equal(memory.pieces, 6);
	assert_int_equal(pm_pool_check(&pool, NULL), 0);
	pm_pool_free(&pool);
	assert_int_equal(memory.pieces, 0);
	pm_pool_free(&pool);
}

static void test_bytes_and_copies(void **state)
{
	static const uint32_t from[3] = {1, 2, 3};
	struct pm_pool pool = {0};
	uint8_t *bytes = pm_pool_bytes(&pool, 1000);
	uint32_t *copy = pm_pool_copy(&pool, from, 3, sizeof(*from));

	assert_non_null(bytes);
	memset(bytes, 0xff, 1000);
	assert_memory_equal(copy, from, sizeof(from));
	assert_non_null(pm_pool_copy(&pool, NULL, 0, 4));
	assert_non_null(pm_pool_bytes(&pool, 0));
	assert_int_equal(pm_pool_check(&pool, NULL), 0);
	pm_pool_free(&pool);
	assert_int_equal(memory.pieces, 0);
}

/* Whether the kernel was told to give this memory large pages, if it can. */
static bool has_advice(const void *piece)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	bool here = false, found = false;
	unsigned long start, end;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)piece >= start && (uintptr_t)piece < end;
		if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, " hg") != NULL;
	}
	fclose(maps);
	return found;
}

static void test_large_pages(void **state)
{
	size_t size = (size_t)9 << 20;
	struct pm_pool pool = {0};
	uint8_t *bytes = pm_pool_bytes(&pool, size);

	assert_non_null(bytes);
	bytes[0] = bytes[size - 1] = 1;
	/* No part of it is before the first large page. */
	assert_true((uintptr_t)bytes % ((size_t)2 << 20) <= sizeof(max_align_t));
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0)
		assert_true(has_advice(bytes + size / 2));
	pm_pool_free(&pool);
	assert_int_equal(memory.pieces, 0);
	memory.at = memory.calls + 1;
	assert_null(pm_pool_bytes(&pool, size));
	assert_int_equal(pm_pool_check(&pool, NULL), -ENOMEM);
	pm_pool_free(&pool);
}

/* Sizes that do not fit into a size_t, alone or with what the pool adds. */
static void test_too_much(void **state)
{
	static const struct {
		const char *name;
		size_t length, size;
	} rows[] = {
		{"the product", SIZE_MAX / 4 + 1, 4},
		{"the sum", SIZE_MAX, 1},
		{"all but the sum's last", SIZE_MAX - 1, 1},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_pool pool = {0};

		if (pm_pool_array(&pool, rows[i].length, rows[i].size) || !pool.failed)
			fail_msg("%s: an array", rows[i].name);
		pm_pool_free(&pool);
		if (pm_pool_copy(&pool, zeros, rows[i].length, rows[i].size) ||
		    !pool.failed)
			fail_msg("%s: a copy", rows[i].name);
		pm_pool_free(&pool);
		if (rows[i].size == 1 &&
		    (pm_pool_bytes(&pool, rows[i].length) || !pool.failed))
			fail_msg("%s: bytes", rows[i].name);
		pm_pool_free(&pool);
	}
	assert_int_equal(memory.calls, 0);
}

/*
 * Whichever fails, the failure is known after all of them, and the pool can be freed.
 */
static void test_failures(void **state)
{
	for (int at = 1; at <= 3; at++) {
		struct pm_pool pool = {0};
		struct pm_error err = {""};
		void *piece[3];

		memory.calls = 0;
		memory.at = at;
		piece[0] = pm_pool_array(&pool, 5, 8);
		piece[1] = pm_pool_bytes(&pool, 40);
		piece[2] = pm_pool_copy(&pool, zeros, 40, 1);
		for (int i = 0; i < 3; i++)
			assert_int_equal(piece[i] == NULL, i + 1 == at);
		assert_int_equal(pm_pool_check(&pool, &err), -ENOMEM);
		assert_string_not_equal(err.text, "");
		assert_int_equal(pm_pool_check(&pool, NULL), -ENOMEM);
		assert_int_equal(memory.pieces, 2);
		pm_pool_free(&pool);
		assert_int_equal(memory.pieces, 0);
		memory.at = 0;
		assert_non_null(pm_pool_array(&pool, 5, 8));
		assert_int_equal(pm_pool_check(&pool, NULL), 0);
		pm_pool_free(&pool);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_arrays, reset),
		cmocka_unit_test_setup(test_bytes_and_copies, reset),
		cmocka_unit_test_setup(test_large_pages, reset),
		cmocka_unit_test_setup(test_too_much, reset),
		cmocka_unit_test_setup(test_failures, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
