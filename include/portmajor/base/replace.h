/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that are replaced in one step:
 *
 *     write PATH+SUFFIX    fsync it    rename it to PATH    fsync the folder
 *
 * A process that opens PATH meanwhile, or after a power cut, finds the whole old or new
 * file.
 */
#ifndef PORTMAJOR_REPLACE_H
#define PORTMAJOR_REPLACE_H

#include <portmajor/base/error.h>
#include <portmajor/base/print.h>

#include <stddef.h>

/*
 * Replaces or makes the file at path. No other process may write to PATH+SUFFIX at the
 * same time; a leftover of a killed process is removed. After a failure the file is as
 * before (the new one if only the folder could not be synced), and no PATH+SUFFIX is
 * left. -ENAMETOOLONG; -EISDIR, -EEXIST: path is a folder, or no file; other -errno. The
 * message names path.
 */
int pm_replace(const char *path, const char *suffix, const void *data, size_t length,
	       struct pm_error *err);

/* The same with what is printed: it is never in memory as a whole. Also print's error. */
int pm_replace_print(const char *path, const char *suffix, pm_print *print,
		     const void *arg, struct pm_error *err);

/*
 * The same with mode 0644, whatever the umask: for files that the plugin keeps or
 * follows. It refuses those that others may write (trusted.h).
 */
int pm_replace_public(const char *path, const char *suffix, const void *data,
		      size_t length, struct pm_error *err);

#endif
