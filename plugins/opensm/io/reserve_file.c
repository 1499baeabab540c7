/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps room for a file's content, and writes into it. */
#include "reserve_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096

/* Opens the reserve of a file, for all to read, and finds its size. -errno. */
static int open_reserve(const char *path, int flags, off_t *size)
{
	char reserve[PATH_MAX];
	struct stat file;
	int fd;

	if (snprintf(reserve, sizeof(reserve), "%s.reserve", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(reserve, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &file) || !S_ISREG(file.st_mode) || fchmod(fd, 0644)) {
		close(fd);
		return -EINVAL;
	}
	*size = file.st_size;
	return fd;
}

static int write_at(int fd, const char *text, size_t length, off_t at)
{
	while (length) {
		ssize_t done = pwrite(fd, text, length, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		text += done;
		length -= (size_t)done;
		at += done;
	}
	return 0;
}

/* Writes newlines from a place to another one. */
static int blank(int fd, off_t from, off_t to)
{
	char newlines[BLOCK];
	int rc = 0;

	memset(newlines, '\n', sizeof(newlines));
	while (!rc && from < to) {
		off_t most = to - from < BLOCK ? to - from : BLOCK;

		rc = write_at(fd, newlines, (size_t)most, from);
		from += most;
	}
	return rc;
}

void reserve_file_keep(const char *path, size_t length, bool used)
{
	off_t wanted = ((off_t)length / BLOCK + 1) * 2 * BLOCK, size;
	int fd = open_reserve(path, O_CREAT, &size);

	if (fd < 0)
		return;
	if (used)
		blank(fd, 0, size > wanted ? size : wanted);
	else
		blank(fd, size, wanted);
	close(fd);
}

int reserve_file_write(const char *path, const char *text, size_t length)
{
	off_t size;
	int fd = open_reserve(path, 0, &size), rc;

	if (fd < 0)
		return fd;
	rc = (off_t)length > size ? -ENOSPC : write_at(fd, text, length, 0);
	if (!rc)
		rc = blank(fd, (off_t)length, size);
	if (!rc && fdatasync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}
