/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing, additional and swapped cables of two fabrics, as JSON (docs/json.md, `cables`)
 * and as text. */
#ifndef PORTMAJOR_CLI_CABLE_OUTPUT_H
#define PORTMAJOR_CLI_CABLE_OUTPUT_H

#include <portmajor/analysis/cable_diff.h>

#include <jansson.h>

/* Compares two fabrics, and describes what differs. */
json_t *cable_diff_describe(const struct pm_fabric *wanted,
			    const struct pm_fabric *found);

/* Whether anything differs. */
bool cable_diff_any(const json_t *cables);

/* A line for each difference; all of them, or the first of each kind. */
void cable_diff_print(const json_t *cables, bool all);

/*
 * "cables are not those of FILE: 1 missing (..), 2 swapped (..)", for the caller to free;
 * NULL: they are.
 */
char *cable_diff_finding(const json_t *cables, const char *file);

#endif
