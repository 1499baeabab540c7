/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of names as Slurm writes and reads them: leaf0,node[001-018,020]. */
#ifndef PORTMAJOR_CLI_HOSTLIST_H
#define PORTMAJOR_CLI_HOSTLIST_H

#include <stdint.h>
#include <stdio.h>

/*
 * Prints names, and sorts the array for it. Names that differ only by the number at their
 * end are printed together. Numbers keep their digits, so that 8, 9, 10 and 08, 09, 10
 * are ranges. Repeated names are printed once. Names must have no comma, bracket or
 * blank. O(num log num).
 */
void cli_hostlist_print(FILE *out, const char **names, uint32_t num);

#endif
