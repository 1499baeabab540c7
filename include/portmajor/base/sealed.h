/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text that ends with a line `end CHECKSUM`, of all bytes before that line (FNV-1a, 64
 * bits, 16 hexadecimal digits), to detect a truncated or damaged file.
 */
#ifndef PORTMAJOR_SEALED_H
#define PORTMAJOR_SEALED_H

#include <portmajor/base/print.h>

/* As pm_text_print, and adds the last line. */
int pm_sealed_print(pm_print *print, const void *arg, char **text, size_t *length);

/*
 * Returns where the last line begins; NULL: its checksum is wrong, or there are NULs
 * before it.
 */
const char *pm_sealed_end(const char *text, size_t length);

#endif
