/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The dynamic linker looks for malloc in the program first, so all libraries, libc
 * among them, call these functions. They in turn call libc's, or the sanitizer's.
 */
#include "memfault.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef MEMFAULT_ASAN
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

#define EXPORT __attribute__((visibility("default")))

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *block, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);
void REAL(free)(void *block);

static atomic_uint_fast64_t count, nth;
static atomic_bool onwards;
static atomic_int_fast64_t live;
static _Thread_local bool spared;

void memfault_begin(const struct memfault *fault)
{
	count = 0;
	onwards = fault->onwards;
	nth = fault->nth;
}

uint64_t memfault_end(void)
{
	nth = 0;
	return count;
}

int64_t memfault_live(void)
{
	return live;
}

/* At the program's end no allocation fails: gcov needs memory to write its counts. */
static __attribute__((destructor)) void end_faults(void)
{
	nth = 0;
}

bool memfault_spare(bool spare)
{
	bool before = spared;

	spared = spare;
	return before;
}

static bool fails(void)
{
	uint64_t number, first = nth;

	if (spared)
		return false;
	number = ++count;
	if (!first || number < first || (number > first && !onwards))
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *block)
{
	live += block != NULL;
	return block;
}

EXPORT void *malloc(size_t size)
{
	return fails() ? NULL : counted(REAL(malloc)(size));
}

EXPORT void *calloc(size_t number, size_t size)
{
	return fails() ? NULL : counted(REAL(calloc)(number, size));
}

/* One to 0 bytes frees the block, and does not fail. */
EXPORT void *realloc(void *block, size_t size)
{
	void *moved;

	if ((size || !block) && fails())
		return NULL;
	moved = REAL(realloc)(block, size);
	live += (moved && !block) - (!moved && block && !size);
	return moved;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : counted(REAL(memalign)(alignment, size));
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	void *got = aligned_alloc(alignment, size);

	if (!got)
		return ENOMEM;
	*block = got;
	return 0;
}

EXPORT void free(void *block)
{
	live -= block != NULL;
	REAL(free)(block);
}

/* The sanitizer has these of its own, which would not call the functions here. */
EXPORT void *reallocarray(void *block, size_t number, size_t size)
{
	size_t whole;

	if (!__builtin_mul_overflow(number, size, &whole))
		return realloc(block, whole);
	errno = ENOMEM;
	return NULL;
}

EXPORT char *strndup(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *copy = malloc(length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

EXPORT char *strdup(const char *text)
{
	return strndup(text, strlen(text));
}
