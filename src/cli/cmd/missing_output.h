/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of missing parts in the plugin's state (docs/json.md, `missing`). */
#ifndef PORTMAJOR_CLI_MISSING_OUTPUT_H
#define PORTMAJOR_CLI_MISSING_OUTPUT_H

#include <jansson.h>

/*
 * "missing: leaf9 (18 hosts), 36 links, since 2026-11-24 20:32:10", for parts not
 * acknowledged; the caller frees it. NULL: nothing is missing, or it is not known.
 */
char *cli_missing_finding(const json_t *missing);

/* Prints a line of `portmajor status`; nothing if missing parts are not known. */
void cli_missing_print(const json_t *missing);

/*
 * A part's name: `leaf9`, `leaf5[20]-s1-line0[6]`, `host at leaf0[5]`. The caller frees
 * it.
 */
char *cli_missing_name(const json_t *part);

#endif
