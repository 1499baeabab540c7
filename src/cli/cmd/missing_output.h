/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Missing parts in the state that the plugin writes (docs/json.md, `missing`), and their
 * text.
 */
#ifndef PORTMAJOR_CLI_MISSING_OUTPUT_H
#define PORTMAJOR_CLI_MISSING_OUTPUT_H

#include <jansson.h>

/*
 * "missing: leaf9 (18 hosts), 36 links, since 2026-11-24 20:32:10" of parts not
 * acknowledged, for the caller to free; NULL: nothing is missing, or unknown.
 */
char *cli_missing_finding(const json_t *missing);

/* Prints a line of `portmajor status`, or nothing if it is not known. */
void cli_missing_print(const json_t *missing);

/*
 * What a part is called: `leaf9`, `leaf5[20]-s1-line0[6]`, `host at leaf0[5]`. The caller
 * frees it.
 */
char *cli_missing_name(const json_t *part);

#endif
