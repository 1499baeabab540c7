/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outfile.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdlib.h>

/* As open(2) would have made it; mkstemp is stricter. */
static void set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, 0666 & ~mask))
		return; /* a file system without modes */
}

/* Prints and, where that can be, syncs; 0 or an errno. Closes fd. */
static int fill(int fd, void (*write)(FILE *file, const void *arg), const void *arg)
{
	FILE *file = fdopen(fd, "w");
	int error;

	if (!file) {
		error = errno;
		close(fd);
		return error;
	}
	errno = 0;
	write(file, arg);
	error = fflush(file) || ferror(file) ||
				(fsync(fd) && errno != EINVAL && errno != EROFS)
			? (errno ? errno : EIO)
			: 0;
	if (fclose(file) && !error)
		error = errno;
	return error;
}

/* Whether it is there and is no file: a pipe, /dev/null, a link such as /dev/stdout. */
static bool is_special(const char *path)
{
	struct stat there;

	return !lstat(path, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

/* Replaces or makes a file in one step; 0 or an errno. */
static int replace(const char *path, void (*write)(FILE *file, const void *arg),
		   const void *arg)
{
	char *temporary;
	int fd, error;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return ENOMEM;
	fd = mkstemp(temporary);
	if (fd < 0) {
		error = errno;
	} else {
		set_mode(fd);
		error = fill(fd, write, arg);
		if (!error && rename(temporary, path))
			error = errno;
		if (error)
			unlink(temporary);
	}
	free(temporary);
	return error;
}

int cli_outfile_write(const char *path, void (*write)(FILE *file, const void *arg),
		      const void *arg)
{
	int fd, error;

	if (is_special(path)) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		error = fd < 0 ? errno : fill(fd, write, arg);
	} else {
		error = replace(path, write, arg);
	}
	if (error)
		return cli_fail(EXIT_INPUT, "%s: %s", path, strerror(error));
	return EXIT_FINE;
}
