/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules of the plugin's Set(LinearForwardingTable), in repairs, transitions and the steps
 * before a routing run:
 *
 *   - At most one Set for a switch and block is out, OpenSM's or ours.
 *   - OpenSM's record of a block (lft) is zeroed when its Set is handed over, as OpenSM
 *     does; the answer fills it. So an unanswered block differs from every table, and
 *     is sent again.
 *   - new_lft has the last Set of each block, OpenSM's or ours. OpenSM logs an error at
 *     the end of a sweep where it differs from the record. While it has Sets of its own
 *     out, from the engine's callback to UCAST_ROUTING_DONE, a block that differs from
 *     the record is out.
 *   - Entries that are kept (PM_LFT_KEEP) are copied from the record when the Set is
 *     sent. If such a Set is lost while OpenSM writes whole tables, its switch lacks
 *     them: those for drained switches until the drain ends (test_drain.py Withheld).
 */
#ifndef PORTMAJOR_LFT_SET_H
#define PORTMAJOR_LFT_SET_H

#include "smp.h"

#include <portmajor/plan/plan.h>

#include <stdatomic.h>

struct lft_sender {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	atomic_bool routing; /* OpenSM has Sets out; written with osm->lock held
				exclusively, or when all of them have been answered */
};

/*
 * Addresses *smp to a switch of the plan, for a Set of this block. False: OpenSM has no
 * route to the switch, its record has no such block, or a Set for the block is out. With
 * osm->lock held.
 */
bool lft_set_address(const struct lft_sender *sender, const struct pm_plan *plan,
		     uint32_t node, uint32_t number, struct smp_request *smp);

/*
 * Whether no Set for this block is out. Here and below the block is within the switch's
 * arrays. With osm->lock held.
 */
bool lft_set_is_free(const struct lft_sender *sender, const osm_switch_t *sw,
		     uint32_t number);

/*
 * Fills *smp, which has route and sw, with the Set of this block's 64 entries, and notes
 * in OpenSM's structures that it is out. With osm->lock held exclusively. The caller has
 * to send the SMP.
 */
void lft_set_make(uint32_t number, const uint8_t *entries, struct smp_request *smp);

#endif
