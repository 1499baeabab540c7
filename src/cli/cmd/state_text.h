/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of `portmajor status`. */
#ifndef PORTMAJOR_CLI_STATE_TEXT_H
#define PORTMAJOR_CLI_STATE_TEXT_H

#include "state_findings.h"

/* Prints the fabric, which is known by the GUID of OpenSM's port. */
void status_print_fabric(const struct state_file *state);

/* Prints all lines but those of the fabric and the findings. */
void status_print(const struct status *status);

/* Prints how far tables are from the plan's; balance: that of a state, or none. */
void status_print_balance(const json_t *balance);

/*
 * Prints a dated line for each finding that is new or changed (`finding`), or gone
 * (`over`), since the last call for this state. `shown` has the findings by path, and is
 * updated. Unless quiet, prints a line when no finding is left: `verdict`, `ok`. guid: of
 * the fabric, if there are several, or NULL.
 */
void status_print_changes(json_t *shown, const char *path, const char *guid,
			  const struct findings *findings, bool quiet);

/* Prints a line for each finding; without any, the verdict, unless quiet. */
void status_print_findings(const struct findings *findings, bool quiet);

#endif
