/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A disk that fails at a chosen moment; preloaded into opensm by test_diskfault.py.
 *
 *     DISKFAULT_UNDER=FOLDER  only files below this one count
 *     DISKFAULT_NAME=NAME     and only those with this name, or this and ".new"
 *     DISKFAULT_AT=N          from the N-th of their open (to write), write, fsync,
 * rename, and unlink on, and of what is done to their folder between rename and the next
 * open, DISKFAULT_HOW=ERRNO     each fails with this, or 0: the process is killed there
 *     DISKFAULT_ROOM=FILE     until this file is there
 *     DISKFAULT_LOG=FILE      gets a line for each that counts: its number, call and path
 *
 * A write that fails writes its first half before, as on a disk that gets full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FDS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static char *paths[MAX_FDS]; /* of what is open and counts */
static bool renamed;	     /* the last call was a rename: the folder counts */
static unsigned long count;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static const char *option(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* Whether a path is below the folder and its last part is the name that counts. */
static bool counts(const char *path)
{
	const char *under = option("DISKFAULT_UNDER"), *name = option("DISKFAULT_NAME");
	const char *last = strrchr(path, '/');
	size_t length = strlen(name);

	if (!*under || strncmp(path, under, strlen(under)) != 0 || !last)
		return false;
	last++;
	return !strncmp(last, name, length) &&
	       (!last[length] || !strcmp(last + length, ".new"));
}

static void note(const char *call, const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, option("DISKFAULT_LOG"),
			      O_WRONLY | O_CREAT | O_APPEND, 0644);
	char line[512];
	int length = snprintf(line, sizeof(line), "%lu %s %s\n", count, call, path);

	if (fd < 0 || syscall(SYS_write, fd, line, length) != length)
		abort();
	syscall(SYS_close, fd);
}

/* Counts a call; whether it fails. */
static bool fails(const char *call, const char *path)
{
	unsigned long at = strtoul(option("DISKFAULT_AT"), NULL, 10);
	int how = atoi(option("DISKFAULT_HOW"));

	count++;
	note(call, path);
	if (!at || count < at || !access(option("DISKFAULT_ROOM"), F_OK))
		return false;
	if (!how)
		kill(getpid(), SIGKILL);
	errno = how;
	return true;
}

static bool check(const char *call, const char *path)
{
	bool failed;

	pthread_mutex_lock(&lock);
	failed = fails(call, path);
	pthread_mutex_unlock(&lock);
	return failed;
}

static bool fd_counts(int fd)
{
	return fd >= 0 && fd < MAX_FDS && paths[fd];
}

int open(const char *path, int flags, ...)
{
	bool folder = flags & O_DIRECTORY, writes = (flags & O_ACCMODE) != O_RDONLY;
	bool mine, failed = false;
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	pthread_mutex_lock(&lock);
	mine = folder ? renamed : writes && counts(path);
	if (mine) {
		renamed = false;
		failed = fails("open", path);
	}
	pthread_mutex_unlock(&lock); /* ibsim's library below may open and close itself */
	fd = failed ? -1 : REAL(open)(path, flags, mode);
	if (!mine || fd < 0 || fd >= MAX_FDS)
		return fd;
	pthread_mutex_lock(&lock);
	paths[fd] = strdup(path);
	pthread_mutex_unlock(&lock);
	return fd;
}

int close(int fd)
{
	pthread_mutex_lock(&lock);
	if (fd_counts(fd)) {
		free(paths[fd]);
		paths[fd] = NULL;
	}
	pthread_mutex_unlock(&lock);
	return REAL(close)(fd);
}

ssize_t write(int fd, const void *data, size_t length)
{
	bool failed;

	pthread_mutex_lock(&lock);
	failed = fd_counts(fd) && fails("write", paths[fd]);
	pthread_mutex_unlock(&lock);
	if (!failed)
		return REAL(write)(fd, data, length);
	if (REAL(write)(fd, data, length / 2) < 0)
		return -1;
	errno = atoi(option("DISKFAULT_HOW"));
	return -1;
}

int fsync(int fd)
{
	bool failed;

	pthread_mutex_lock(&lock);
	failed = fd_counts(fd) && fails("fsync", paths[fd]);
	pthread_mutex_unlock(&lock);
	return failed ? -1 : REAL(fsync)(fd);
}

int rename(const char *from, const char *to)
{
	int rc;

	if (!counts(to))
		return REAL(rename)(from, to);
	if (check("rename", to))
		return -1;
	rc = REAL(rename)(from, to);
	pthread_mutex_lock(&lock);
	renamed = !rc;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* One of what is not there is nothing that could fail for want of room. */
int unlink(const char *path)
{
	if (counts(path) && !access(path, F_OK) && check("unlink", path))
		return -1;
	return REAL(unlink)(path);
}
