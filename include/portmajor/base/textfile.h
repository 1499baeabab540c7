/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole text files in memory, for the parsers. */
#ifndef PORTMAJOR_TEXTFILE_H
#define PORTMAJOR_TEXTFILE_H

#include <portmajor/base/error.h>

#include <stddef.h>

/* What parsers take, and those of tables: 40,960 hosts' are 10 GB as text. */
#define PM_TEXTFILE_MAX_BYTES ((size_t)1 << 30)
#define PM_TEXTFILE_MAX_TABLES ((size_t)1 << 36)

/* A file's name in messages: "-" is "<stdin>". */
const char *pm_textfile_name(const char *path);

/*
 * Reads a file, or standard input for "-". The caller frees *text, which ends with a NUL
 * that *length does not count. A longer one is cut, for the parser to refuse: a file or
 * pipe behind PM_TEXTFILE_MAX_TABLES, a device, which may never end, behind
 * PM_TEXTFILE_MAX_BYTES. -ENOMEM; any -errno of open(2) or read(2); -EINVAL: a named
 * FIFO, as nobody may ever write to it (a shell's <(..) is read). The message names the
 * file.
 */
int pm_textfile_read(const char *path, char **text, size_t *length, struct pm_error *err);

/*
 * The same for a configuration: "-" is a file's name. Also -EFBIG: more than max bytes;
 * -EINVAL: NULs in the text.
 */
int pm_textfile_read_string(const char *path, size_t max, char **text,
			    struct pm_error *err);

#endif
