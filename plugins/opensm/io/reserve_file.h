/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Room on the disk that a file's content gets when there is no other. A reserve is a file
 * NAME.reserve beside it, full of newlines, whose blocks are overwritten in place: this
 * needs no free block on a file system that does not copy on write. It is not replaced
 * in one step as other files are: readers ignore content that cannot be parsed, or that
 * is older than the file.
 */
#ifndef PORTMAJOR_IO_RESERVE_FILE_H
#define PORTMAJOR_IO_RESERVE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * After the file itself was written with this length: makes the reserve, with room for
 * twice that, unless it is there; used: and blanks it. A failure is one of the disk, and
 * the next write of the file reports it.
 */
void reserve_file_keep(const char *path, size_t length, bool used);

/* Writes content into the reserve. -errno: also if it has too little room. */
int reserve_file_write(const char *path, const char *text, size_t length);

#endif
