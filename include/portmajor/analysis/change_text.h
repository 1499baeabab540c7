/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happened to a fabric, in words: which switches, cables and hosts went or
 * came between two moments.
 */
#ifndef PORTMAJOR_CHANGE_TEXT_H
#define PORTMAJOR_CHANGE_TEXT_H

#include <portmajor/route/route.h>

#include <stddef.h>

/*
 * Writes one line without a newline, such as
 *   lost 2 switches (s0-line0, s0-fab0), 1 cable (leaf3[20]-s1-line0[4]);
 *   came 1 host (leaf2[5])
 * or "no change". Names at most three of a kind. A switch counts as lost when
 * it had cables to switches and has none any more; its cables and hosts are not
 * named then. Truncated to size.
 */
void pm_change_describe(const struct pm_plan *plan, const uint8_t *before,
			const uint8_t *after, char *text, size_t size);

/* What is seen, and taken out of use by drains (drain.h), at two moments; [port]. */
struct pm_change_use {
	const uint8_t *seen, *drained;
};

/*
 * The same, and behind it what was drained and undrained of what was seen at both
 * moments: "drained 1 cable (leaf3[20]-s1-line0[4])". A switch counts as drained when
 * all its cables to switches are.
 */
void pm_change_describe_use(const struct pm_plan *plan,
			    const struct pm_change_use *before,
			    const struct pm_change_use *after, char *text, size_t size);

/* Room for what these write. OpenSM's log has lines of at most 4096 bytes. */
#define PM_CHANGE_TEXT 3072

/*
 * Writes one line without a newline on cables beside or across levels, which hosts'
 * traffic does not use. Names at most 32. Returns false if there is none.
 */
bool pm_change_oddities(const struct pm_plan *plan, char *text, size_t size);

/*
 * Writes one line without a newline on switches with hosts that no up-then-down path
 * joins, and on service ports that the tables do not serve. False if there are none.
 */
bool pm_change_unreachable(const struct pm_plan *plan,
			   const struct pm_unreachable *unreachable, char *text,
			   size_t size);

#endif
