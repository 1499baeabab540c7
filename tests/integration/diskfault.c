/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A disk that fails at a chosen moment, or is slow; preloaded into opensm by
 * test_diskfault.py.
 *
 *     DISKFAULT_UNDER=FOLDER  only files below this one count
 *     DISKFAULT_NAME=NAME     and only those with this name, or this and ".new"; *: all
 * of FOLDER/portmajor.*, but on a full disk not the reserve, whose blocks are there
 *     DISKFAULT_AT=N          from the N-th of their open (to write), write, fsync,
 *                             rename, and unlink on, and of what is done to their folder
 *                             between rename and the next open,
 *     DISKFAULT_HOW=ERRNO     each fails with this, or 0: the process is killed there
 *     DISKFAULT_ROOM=FILE     until this file is there
 *     DISKFAULT_LOG=FILE      gets a line for each that counts: its number, call and path
 *     DISKFAULT_TOUCHED=FILE  gets a line for each call of these, and of stat, access and
 *                             open to read, for any file below the folder: the name of
 *                             the thread, the call and the path
 *     DISKFAULT_SLOW=FILE     while this file is there, each fsync of what is called
 *                             FOLDER/portmajor.* takes 8 s (OpenSM waits for those of its
 *                             own files); a line `begin` and a line `end` for each in ..
 *     DISKFAULT_SYNCS=FILE    .. this file
 *     DISKFAULT_CALLS=NAMES   instead of fsync, these: names of calls here, separated by
 *                             commas; scandir of FOLDER counts as well
 *     DISKFAULT_HANG=1        and each takes until FILE is gone
 *     DISKFAULT_DISK=full     what statvfs says
 *
 * A write that fails writes its first half before, as on a disk that gets full.
 */
#include <dirent.h>
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
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_FDS 1024
#define SLOW_S 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static char *paths[MAX_FDS]; /* of an open file that counts */
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

/* Whether it is a file or a folder of the plugin's. */
static bool is_ours(const char *path)
{
	char ours[512];

	snprintf(ours, sizeof(ours), "%s/portmajor.", option("DISKFAULT_UNDER"));
	return !strncmp(path, ours, strlen(ours));
}

static bool is_spare(const char *path)
{
	size_t length = strlen(path), suffix = strlen(".reserve");

	return length > suffix && !strcmp(path + length - suffix, ".reserve");
}

/* Whether a path is below the folder and its last part is the name that counts. */
static bool counts(const char *path)
{
	const char *under = option("DISKFAULT_UNDER"), *name = option("DISKFAULT_NAME");
	const char *last = strrchr(path, '/');
	size_t length = strlen(name);

	if (!*under || strncmp(path, under, strlen(under)) != 0 || !last)
		return false;
	if (!strcmp(name, "*"))
		return is_ours(path) &&
		       (atoi(option("DISKFAULT_HOW")) != ENOSPC || !is_spare(path));
	last++;
	return !strncmp(last, name, length) &&
	       (!last[length] || !strcmp(last + length, ".new"));
}

/* Adds a line to a file. */
static void add_line(const char *file, const char *format, ...)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND,
			      0644);
	char line[512];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (fd < 0 || syscall(SYS_write, fd, line, length) != length)
		abort();
	syscall(SYS_close, fd);
}

static void note(const char *call, const char *path)
{
	add_line(option("DISKFAULT_LOG"), "%lu %s %s\n", count, call, path);
}

/* Notes the call of a thread. */
static void touch(const char *call, const char *path)
{
	const char *under = option("DISKFAULT_UNDER"),
		   *file = option("DISKFAULT_TOUCHED");
	char name[16] = "";

	if (!*file || strncmp(path, under, strlen(under)) != 0)
		return;
	prctl(PR_GET_NAME, name);
	add_line(file, "%s %s %s\n", name, call, path);
}

/* Whether a call is one of the slow ones. */
static bool is_named(const char *call)
{
	const char *names = option("DISKFAULT_CALLS");
	size_t length = strlen(call);

	if (!*names)
		return !strcmp(call, "fsync");
	while (strncmp(names, call, length) != 0 ||
	       (names[length] && names[length] != ',')) {
		names = strchr(names, ',');
		if (!names)
			return false;
		names++;
	}
	return true;
}

static bool is_slow(void)
{
	const char *file = option("DISKFAULT_SLOW");

	return *file && !syscall(SYS_faccessat, AT_FDCWD, file, F_OK);
}

/* As long as a signal does not end the process. */
static void be_slow(const char *call)
{
	bool hangs = *option("DISKFAULT_HANG");
	struct timespec left = {hangs ? 0 : SLOW_S, hangs ? 10000000 : 0};

	add_line(option("DISKFAULT_SYNCS"), "begin %s\n", call);
	do {
		struct timespec turn = left;

		while (nanosleep(&turn, &turn))
			;
	} while (hangs && is_slow());
	add_line(option("DISKFAULT_SYNCS"), "end %s\n", call);
}

/* A call with a path. */
static void slow_path(const char *call, const char *path)
{
	if (is_named(call) && is_slow() && is_ours(path))
		be_slow(call);
}

/* A call with a file that is open. */
static void slow_fd(const char *call, int fd)
{
	char link[32], path[512];
	ssize_t length;

	if (!is_named(call) || !is_slow())
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	slow_path(call, path);
}

/* Counts a call; whether it fails. */
static bool fails(const char *call, const char *path)
{
	unsigned long at = strtoul(option("DISKFAULT_AT"), NULL, 10);
	int how = atoi(option("DISKFAULT_HOW"));

	count++;
	note(call, path);
	if (!at || count < at || !REAL(access)(option("DISKFAULT_ROOM"), F_OK))
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
	touch("open", path);
	slow_path("open", path);
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

	slow_fd("write", fd);
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

	slow_fd("fsync", fd);
	pthread_mutex_lock(&lock);
	failed = fd_counts(fd) && fails("fsync", paths[fd]);
	pthread_mutex_unlock(&lock);
	return failed ? -1 : REAL(fsync)(fd);
}

int rename(const char *from, const char *to)
{
	int rc;

	touch("rename", to);
	slow_path("rename", to);
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

/* An operation on a missing file cannot fail for want of room. */
int unlink(const char *path)
{
	touch("unlink", path);
	slow_path("unlink", path);
	if (counts(path) && !REAL(access)(path, F_OK) && check("unlink", path))
		return -1;
	return REAL(unlink)(path);
}

int access(const char *path, int mode)
{
	touch("access", path);
	slow_path("access", path);
	return REAL(access)(path, mode);
}

int stat(const char *path, struct stat *found)
{
	touch("stat", path);
	slow_path("stat", path);
	return REAL(stat)(path, found);
}

int lstat(const char *path, struct stat *found)
{
	touch("lstat", path);
	slow_path("lstat", path);
	return REAL(lstat)(path, found);
}

int statvfs(const char *path, struct statvfs *disk)
{
	int rc = REAL(statvfs)(path, disk);

	if (!strcmp(option("DISKFAULT_DISK"), "full"))
		disk->f_bfree = disk->f_bavail = 0;
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	touch("mkdir", path);
	slow_path("mkdir", path);
	return REAL(mkdir)(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	touch("fopen", path);
	return REAL(fopen)(path, mode);
}

ssize_t read(int fd, void *data, size_t length)
{
	slow_fd("read", fd);
	return REAL(read)(fd, data, length);
}

int flock(int fd, int operation)
{
	slow_fd("flock", fd);
	return REAL(flock)(fd, operation);
}

int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
	    int (*compare)(const struct dirent **, const struct dirent **))
{
	const char *under = option("DISKFAULT_UNDER");

	touch("scandir", path);
	if (is_named("scandir") && !strncmp(path, under, strlen(under)) && is_slow())
		be_slow("scandir");
	return REAL(scandir)(path, list, filter, compare);
}
