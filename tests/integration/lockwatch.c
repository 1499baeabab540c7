/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded into opensm: the time that read-write locks are held, shared or
 * exclusively, by the function that has taken them, in all and at most in CPU time, and
 * the CPU time of its thread since it released one before. LOCKWATCH_FILE names a file of
 * LOCKWATCH_CALLERS times struct caller, zeros at first, which another process may read
 * and set to zero meanwhile; counts of that moment may be lost. A thread holds one such
 * lock at a time.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOCKWATCH_CALLERS 64
#define NAME 56

/* Native byte order, no padding. */
struct caller {
	char name[NAME]; /* a function, or FILE+0xOFFSET; once set it stays */
	_Atomic uint64_t count, wall_ns, cpu_ns, before_cpu_ns, longest_cpu_ns;
};

typedef int lock_fn(pthread_rwlock_t *lock);

static struct {
	lock_fn *lock, *share, *unlock;
	struct caller *callers;
	pthread_mutex_t naming;
	pthread_once_t once;
} watch = {.naming = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* The lock that this thread holds. */
static _Thread_local struct {
	pthread_rwlock_t *lock;
	void *caller;
	uint64_t wall_ns, cpu_ns; /* when it was taken */
	uint64_t released_cpu_ns; /* when the one before was released */
} held;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(98);
}

static void start(void)
{
	const char *path = getenv("LOCKWATCH_FILE");
	const size_t size = LOCKWATCH_CALLERS * sizeof(struct caller);
	void *map;
	int fd;

	watch.lock = (lock_fn *)dlsym(RTLD_NEXT, "pthread_rwlock_wrlock");
	watch.share = (lock_fn *)dlsym(RTLD_NEXT, "pthread_rwlock_rdlock");
	watch.unlock = (lock_fn *)dlsym(RTLD_NEXT, "pthread_rwlock_unlock");
	if (!path)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail("lockwatch: mmap");
	watch.callers = map;
	close(fd);
}

static void name_caller(void *address, char *name)
{
	Dl_info info;
	const char *base;

	if (!dladdr(address, &info)) {
		snprintf(name, NAME, "unknown");
	} else if (info.dli_sname) {
		snprintf(name, NAME, "%s", info.dli_sname);
	} else {
		base = strrchr(info.dli_fname, '/');
		snprintf(name, NAME, "%s+%#tx", base ? base + 1 : info.dli_fname,
			 (char *)address - (char *)info.dli_fbase);
	}
}

static void raise_to(_Atomic uint64_t *highest, uint64_t value)
{
	uint64_t before = *highest;

	while (before < value && !atomic_compare_exchange_weak(highest, &before, value))
		;
}

/* NULL: there are too many. */
static struct caller *find_caller(void *address)
{
	struct caller *found = NULL;
	char name[NAME] = "";

	name_caller(address, name);
	pthread_mutex_lock(&watch.naming);
	for (struct caller *c = watch.callers;
	     c < watch.callers + LOCKWATCH_CALLERS && !found; c++) {
		if (!c->name[0])
			memcpy(c->name, name, NAME);
		if (!strncmp(c->name, name, NAME))
			found = c;
	}
	pthread_mutex_unlock(&watch.naming);
	return found;
}

static int take(lock_fn *lock_it, pthread_rwlock_t *lock, void *caller)
{
	int rc = lock_it(lock);

	if (!rc) {
		held.lock = lock;
		held.caller = caller;
		held.wall_ns = now_ns(CLOCK_MONOTONIC);
		held.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	return rc;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	pthread_once(&watch.once, start);
	return take(watch.lock, lock, __builtin_return_address(0));
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	pthread_once(&watch.once, start);
	return take(watch.share, lock, __builtin_return_address(0));
}

static void count(void)
{
	const uint64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t wall = now_ns(CLOCK_MONOTONIC);
	struct caller *caller = find_caller(held.caller);

	if (!caller)
		return;
	caller->count++;
	caller->wall_ns += wall - held.wall_ns;
	caller->cpu_ns += cpu - held.cpu_ns;
	raise_to(&caller->longest_cpu_ns, cpu - held.cpu_ns);
	caller->before_cpu_ns += held.cpu_ns - held.released_cpu_ns;
	held.released_cpu_ns = cpu;
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	pthread_once(&watch.once, start);
	if (held.lock == lock && watch.callers) {
		held.lock = NULL;
		count();
	}
	return watch.unlock(lock);
}
