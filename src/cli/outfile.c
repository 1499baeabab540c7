/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outfile.h"

#include "cli.h"

#include <errno.h>
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

/* Prints and syncs; 0 or an errno. Closes fd. */
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
	error = fflush(file) || ferror(file) || fsync(fd) ? (errno ? errno : EIO) : 0;
	if (fclose(file) && !error)
		error = errno;
	return error;
}

int cli_outfile_write(const char *path, void (*write)(FILE *file, const void *arg),
		      const void *arg)
{
	char *temporary;
	int fd, error;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return cli_fail(EXIT_INPUT, "out of memory");
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
	if (error)
		return cli_fail(EXIT_INPUT, "%s: %s", path, strerror(error));
	return EXIT_FINE;
}
