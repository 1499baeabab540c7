/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole text files in memory, for the parsers. */
#ifndef PORTMAJOR_TEXTFILE_H
#define PORTMAJOR_TEXTFILE_H

#include <portmajor/base/error.h>

#include <stddef.h>

#define PM_TEXTFILE_MAX_BYTES ((size_t)1 << 30)

/* What messages call a file: "-" is "<stdin>". */
const char *pm_textfile_name(const char *path);

/*
 * Reads a file, or standard input for "-". *text is for the caller to free; there is a
 * NUL behind it, which is not counted. More than PM_TEXTFILE_MAX_BYTES are cut after one
 * byte too many, for the parser to refuse. -ENOMEM, any -errno of open(2) or read(2), or
 * -EINVAL for a FIFO of a file system, which may never say anything (a pipe, as a shell
 * makes for <(..), is read), with a message that names the file.
 */
int pm_textfile_read(const char *path, char **text, size_t *length, struct pm_error *err);

/*
 * The same for a file that configures: "-" is no standard input but a name, and it is a
 * string. Also -EFBIG: more than max bytes; -EINVAL: there are NULs in it.
 */
int pm_textfile_read_string(const char *path, size_t max, char **text,
			    struct pm_error *err);

#endif
