/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Printing into memory. */
#ifndef PORTMAJOR_PRINT_H
#define PORTMAJOR_PRINT_H

#include <stddef.h>
#include <stdio.h>

/* Prints to a stream; the caller checks its errors. 0, or -errno of another failure. */
typedef int pm_print(FILE *out, const void *arg);

/*
 * Calls print to print into memory; the caller frees *text, which ends with a NUL behind
 * *length bytes. -ENOMEM, or print's error: *text and *length are untouched. (glibc's
 * open_memstream drops text without an error when memory runs out.)
 */
int pm_text_print(pm_print *print, const void *arg, char **text, size_t *length);

#endif
