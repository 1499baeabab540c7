/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes a change of a fabric: switches, links and hosts that failed or came. */
#ifndef PORTMAJOR_CHANGE_TEXT_H
#define PORTMAJOR_CHANGE_TEXT_H

#include <portmajor/route/route.h>

#include <stddef.h>

/*
 * Writes one line without a newline, such as
 *   failed: 2 switches (s0-line0, s0-fab0), 1 link (leaf3[20]-s1-line0[4]);
 *   came: 1 host (leaf2[5])
 * or "no change". Names at most three of a kind. A switch without any link to a switch
 * counts as failed; its links and hosts are then not named. Truncated to size.
 */
void pm_change_describe(const struct pm_plan *plan, const uint8_t *before,
			const uint8_t *after, char *text, size_t size);

/*
 * [port] The ports that are discovered, and those excluded by drains (drain.h), at one
 * moment; and those that lead elsewhere than at the moment before. The latter two may be
 * NULL.
 */
struct pm_change_use {
	const uint8_t *discovered, *drained, *recabled;
};

/*
 * The same, followed by the recabled, drained and undrained parts that were discovered at
 * both moments: "drained: 1 link (leaf3[20]-s1-line0[4])". A switch counts as drained, or
 * recabled, when all its links to switches are.
 */
void pm_change_describe_use(const struct pm_plan *plan,
			    const struct pm_change_use *before,
			    const struct pm_change_use *after, char *text, size_t size);

/* Room for these texts. OpenSM's log has lines of at most 4096 bytes. */
#define PM_CHANGE_TEXT 3072

/*
 * Writes one line without a newline on links that lead neither one level up nor down:
 * hosts' traffic does not use them. Names at most 32. False: there are none.
 */
bool pm_change_oddities(const struct pm_plan *plan, char *text, size_t size);

/*
 * Writes one line without a newline on pairs of switches with hosts that have no path, or
 * one over the hub, on unreachable service ports, and on the subnet manager's paths.
 * False: there are none.
 */
bool pm_change_unreachable(const struct pm_plan *plan,
			   const struct pm_unreachable *unreachable, char *text,
			   size_t size);

/*
 * What makes unreachable end ports a finding: pairs other than those with aggregation
 * nodes. 0: none.
 */
uint64_t pm_change_paths_cut(const struct pm_unreachable *unreachable);

#endif
