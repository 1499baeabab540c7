/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a whole file, or nothing. */
#include "outfile.h"

#include "output.h"

#include <portmajor/base/replace.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Whether a path is something else than a file: a pipe, /dev/null, a link (/dev/stdout).
 */
static bool is_special(const char *path)
{
	struct stat there;

	return !lstat(path, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

/* Prints to a pipe, a link or a device. */
static int print_to(const char *path, pm_print *print, const void *arg)
{
	FILE *file = fopen(path, "we");
	int error = file ? 0 : errno;

	if (file) {
		error = -print(file, arg);
		errno = 0;
		if (!error && (fflush(file) || ferror(file)))
			error = errno ? errno : EIO;
		if (fclose(file) && !error)
			error = errno;
	}
	return error ? cli_fail(EXIT_INPUT, "%s: %s", path, strerror(error)) : EXIT_FINE;
}

/* Several commands may write the same file: each has a temporary one of its own. */
static int replace_output(const char *path, pm_print *print, const void *arg)
{
	struct pm_error err = {""};
	char suffix[32];

	snprintf(suffix, sizeof(suffix), ".new.%ld", (long)getpid());
	return pm_replace_print(path, suffix, print, arg, &err) ? cli_refuse(&err)
								: EXIT_FINE;
}

int cli_outfile_write(const char *path, pm_print *print, const void *arg)
{
	return is_special(path) ? print_to(path, print, arg)
				: replace_output(path, print, arg);
}
