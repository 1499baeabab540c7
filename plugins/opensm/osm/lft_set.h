/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Set(LinearForwardingTable) of ours: the rules that repair, transitions and the steps
 * before a routing run share.
 *
 *   - At most one Set for a switch and block is out, whoever sent it.
 *   - OpenSM's record of a block (lft) is zeroed when its Set is handed over, as OpenSM
 *     does; the answer fills it. A block that was not answered so differs from every
 *     table, and is sent again.
 *   - new_lft has what was last sent for each block, by OpenSM or by us. OpenSM complains
 *     at the end of a sweep where that is not what the record has. While it has Sets of
 *     its own out, between the engine's callback and UCAST_ROUTING_DONE, a block that
 * differs from the record is out.
 */
#ifndef PORTMAJOR_LFT_SET_H
#define PORTMAJOR_LFT_SET_H

#include "smp.h"

#include <stdatomic.h>

struct lft_sender {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	atomic_bool routing; /* OpenSM has Sets out; written with osm->lock exclusive or
			      * when all of them have been answered */
};

/*
 * Whether no Set for this block is out. The block lies in the switch's arrays, as in the
 * next function. With osm->lock held.
 */
bool lft_set_is_free(const struct lft_sender *sender, const osm_switch_t *sw,
		     uint32_t number);

/*
 * What a switch holds when all that is out has arrived: [lft_size], borrowed while
 * osm->lock is held. The record alone lacks what OpenSM has sent and was not answered.
 */
const uint8_t *lft_set_last(const struct lft_sender *sender, const osm_switch_t *sw);

/*
 * Makes *smp, of which route and sw are there already, the Set of this block with these
 * 64 entries, and notes in OpenSM's structures that it is out. With osm->lock held
 * exclusively; the SMP has to be sent.
 */
void lft_set_make(uint32_t number, const uint8_t *entries, struct smp_request *smp);

#endif
