/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guesses of a plan as text, for notes and logs: the end ports taken for service
 * ports, and the switches taken for roots.
 */
#ifndef PORTMAJOR_GUESS_H
#define PORTMAJOR_GUESS_H

#include <portmajor/plan/plan.h>

#include <stddef.h>

#define PM_GUESS_TEXT 1536 /* enough for any text */

/*
 * Writes one line without a newline, such as
 *   roles guessed: 40 aggregation nodes; 2 end ports above the leaves are service ports
 *   (spine0[36], spine1[36]), `role compute` in portmajor.conf or cn_guid_file says
 *   otherwise; levels count from 18 switches without hosts (s0, s1, ..), root_guid_file
 *   says otherwise
 * Names at most three of a kind. `now` is the fabric with its roles (pm_roles_apply).
 * False, and an empty text, if nothing was guessed. O(ports).
 */
bool pm_guess_describe(const struct pm_plan *plan, const struct pm_fabric *now,
		       char *text, size_t size);

#endif
