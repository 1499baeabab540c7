/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of several states are of one fabric. */
#ifndef PORTMAJOR_CLI_ONE_FABRIC_H
#define PORTMAJOR_CLI_ONE_FABRIC_H

#include "state_findings.h"

/*
 * Sets `master` of each status that was read (state.root): another one whose OpenSM runs
 * and is the master of the same fabric. Two are of one fabric if either names the other's
 * port among its subnet managers, or if the plan beside either state fits the other's.
 * Cost: parses plans, if there are several states and one of a running master.
 */
void one_fabric_find(struct status *list, size_t num);

#endif
