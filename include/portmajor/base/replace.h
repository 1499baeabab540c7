/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that are replaced in one step:
 *
 *     write PATH+SUFFIX    fsync it    rename it to PATH    fsync the folder
 *
 * Whoever opens PATH meanwhile, or after a power cut, finds a whole file, the old one or
 * the new one.
 */
#ifndef PORTMAJOR_REPLACE_H
#define PORTMAJOR_REPLACE_H

#include <portmajor/base/error.h>

#include <stddef.h>

/*
 * Replaces or makes the file at path. Nobody else may write to path with this suffix at
 * the same time; what has that name, as a process that was killed may have left it, goes.
 * After a failure the file is as before (if only the folder could not be synced, it is
 * the new one), and nothing of that name is left. -ENAMETOOLONG; -EISDIR, -EEXIST: path
 * is there and is a folder, or another thing that is no file; other -errno. The message
 * names path.
 */
int pm_replace(const char *path, const char *suffix, const void *data, size_t length,
	       struct pm_error *err);

#endif
