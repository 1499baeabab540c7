/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that come into being whole or not at all. */
#ifndef PORTMAJOR_CLI_OUTFILE_H
#define PORTMAJOR_CLI_OUTFILE_H

#include <portmajor/base/print.h>

/*
 * Has `print` print to a temporary file beside path, which then replaces path in one
 * step. A path that is no regular file, such as a pipe, a link or /dev/stdout, is written
 * to instead. An exit status: EXIT_INPUT, with a message, if anything fails; a file is as
 * before then.
 */
int cli_outfile_write(const char *path, pm_print *print, const void *arg);

#endif
