/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of `portmajor status`. */
#ifndef PORTMAJOR_CLI_STATE_TEXT_H
#define PORTMAJOR_CLI_STATE_TEXT_H

#include "state_findings.h"

/* Which fabric it is: the plugin knows it by a port's GUID. */
void status_print_fabric(const struct state_file *state);

/* All lines but the fabric's and findings. */
void status_print(const struct status *status);

/* One line each; if there are none, the verdict unless quiet. */
void status_print_findings(const struct findings *findings, bool quiet);

#endif
