/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of missing and changed parts in the plugin's state (docs/json.md). */
#ifndef PORTMAJOR_CLI_MISSING_OUTPUT_H
#define PORTMAJOR_CLI_MISSING_OUTPUT_H

#include <jansson.h>

/*
 * "missing: leaf9 (18 hosts), 18 links, since 2026-11-24 20:32:10; nodes h9-[1-18]", for
 * parts not acknowledged: those beside present ones by name, those behind them as
 * numbers. The caller frees it. NULL: nothing is missing, or it is not known.
 */
char *cli_missing_finding(const json_t *missing);

/* Missing hosts, not acknowledged, as a node list of Slurm's; the same. */
char *cli_missing_nodes(const json_t *missing);

/* Prints lines of `portmajor status`; nothing if missing parts are not known. */
void cli_missing_print(const json_t *missing);

/* "moved: h3-3 from leaf3[3] to leaf4[4]", for changes of a kind; likewise. */
char *cli_changed_finding(const json_t *changed, const char *kind);
void cli_changed_print(const json_t *changed);

/*
 * The name of a missing part: `leaf9`, `leaf5[20]-s1-line0[6]`, `host h0-5 at leaf0[5]`;
 * of a change: `h3-3 from leaf3[3] to leaf4[4]`. The caller frees it.
 */
char *cli_missing_name(const json_t *part);
char *cli_change_name(const json_t *change);

#endif
