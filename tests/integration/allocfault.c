/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A machine without memory for libportmajor.so alone; preloaded into opensm by
 * test_allocfault.py.
 *
 *     ALLOCFAULT_WHILE=FILE  while this file is there, allocations that the plugin asks
 * for fail now and then ALLOCFAULT_EVERY=N     one in N on average ALLOCFAULT_SEED=S
 * which ones ALLOCFAULT_LOG=FILE    gets a byte for each that failed
 *
 * What libraries allocate for the plugin does not count.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's own, by their other names: dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t num, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_ulong count;

static unsigned long option(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : 0;
}

static bool is_plugin(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libportmajor");
}

static void note(void)
{
	const char *path = getenv("ALLOCFAULT_LOG");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
				     O_WRONLY | O_CREAT | O_APPEND, 0644)
		      : -1;

	if (fd >= 0 && syscall(SYS_write, fd, ".", 1) == 1)
		syscall(SYS_close, fd);
}

/* splitmix64 */
static uint64_t random_of(uint64_t number)
{
	uint64_t z = number * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static bool fails(const void *caller)
{
	const char *file = getenv("ALLOCFAULT_WHILE");
	unsigned long every = option("ALLOCFAULT_EVERY");
	int error = errno;
	bool now;

	if (!file || !every || !is_plugin(caller) || access(file, F_OK)) {
		errno = error;
		return false;
	}
	now = random_of(option("ALLOCFAULT_SEED") * 1000003 +
			atomic_fetch_add(&count, 1)) %
		      every ==
	      0;
	if (now)
		note();
	errno = now ? ENOMEM : error;
	return now;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t num, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(num, size);
}

void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t num, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(num, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}
