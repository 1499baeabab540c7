/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes files whole, or not at all. */
#ifndef PORTMAJOR_CLI_OUTFILE_H
#define PORTMAJOR_CLI_OUTFILE_H

#include <portmajor/base/print.h>

/*
 * Prints to a temporary file beside path, which then replaces path in one step. If path
 * is no regular file, but a pipe, a link or /dev/stdout, it is written to directly. An
 * exit status: EXIT_INPUT, with a message, if anything fails; then a file is as before.
 */
int cli_outfile_write(const char *path, pm_print *print, const void *arg);

#endif
