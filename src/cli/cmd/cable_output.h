/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing, additional and swapped cables of two fabrics, as JSON (docs/json.md, `cables`)
 * and as text. */
#ifndef PORTMAJOR_CLI_CABLE_OUTPUT_H
#define PORTMAJOR_CLI_CABLE_OUTPUT_H

#include <portmajor/analysis/cable_diff.h>

#include <jansson.h>

/* Compares two fabrics, and describes the differences. */
json_t *cable_diff_describe(const struct pm_fabric *wanted,
			    const struct pm_fabric *found);

/* Whether there is a difference. */
bool cable_diff_any(const json_t *cables);

/* Prints a line for each difference: of all, or of the first of each kind. */
void cable_diff_print(const json_t *cables, bool all);

/*
 * "cables are not those of FILE: 1 missing (..), 2 swapped (..)"; the caller frees it.
 * NULL: there is no difference.
 */
char *cable_diff_finding(const json_t *cables, const char *file);

#endif
