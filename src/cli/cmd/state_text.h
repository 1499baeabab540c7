/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of `portmajor status`. */
#ifndef PORTMAJOR_CLI_STATE_TEXT_H
#define PORTMAJOR_CLI_STATE_TEXT_H

#include "state_findings.h"

/* Which fabric it is: the plugin knows it by a port's GUID. */
void status_print_fabric(const struct state_file *state);

/* All lines but the fabric's and findings. */
void status_print(const struct status *status);

/*
 * A dated line for each finding that is new or other (`finding`) or gone (`over`) since
 * the last time of this state: `shown` has its findings by path, and is brought up to
 * date. And, unless quiet, one if there are no more: `verdict`, `ok`. guid: of the
 * fabric, where there are several, or NULL.
 */
void status_print_changes(json_t *shown, const char *path, const char *guid,
			  const struct findings *findings, bool quiet);

/* One line each; if there are none, the verdict unless quiet. */
void status_print_findings(const struct findings *findings, bool quiet);

#endif
