/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sentences on switches without the tables in force: `unset` of the plugin's state. */
#ifndef PORTMAJOR_CLI_UNSET_OUTPUT_H
#define PORTMAJOR_CLI_UNSET_OUTPUT_H

#include <jansson.h>

/*
 * `leaf25 does not answer LFT Sets (2 blocks)`, of the first few; NULL: there are none,
 * or none is known. The caller frees it.
 */
char *cli_unset_finding(const json_t *unset);

#endif
