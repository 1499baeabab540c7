/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that is printed into memory. */
#ifndef PORTMAJOR_PRINT_H
#define PORTMAJOR_PRINT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Prints to a stream, of which it need not look at errors, and returns 0, or -errno of
 * anything else that failed.
 */
typedef int pm_print(FILE *out, const void *arg);

/*
 * Has `print` print into memory; the caller frees *text, which ends with a NUL behind
 * *length bytes. -ENOMEM, or what print returned: *text and *length are untouched.
 * (open_memstream of glibc leaves out what it has no memory for, and tells nobody.)
 */
int pm_text_print(pm_print *print, const void *arg, char **text, size_t *length);

#endif
