/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One Set of an LFT block, as OpenSM's structures are to show it. */
#include "lft_set.h"

#include <string.h>

bool lft_set_is_free(const struct lft_sender *sender, const osm_switch_t *sw,
		     uint32_t number)
{
	size_t at = (size_t)number * ASK_DATA;

	if (atomic_load(&sender->routing) && sw->new_lft &&
	    memcmp(sw->lft + at, sw->new_lft + at, ASK_DATA) != 0)
		return false;
	return !ask_is_out(sender->ask, osm_node_get_node_guid(sw->p_node), number);
}

void lft_set_make(uint32_t number, const uint8_t *entries, struct ask_smp *smp)
{
	size_t at = (size_t)number * ASK_DATA;

	smp->kind = ASK_SET_BLOCK;
	smp->modifier = number;
	memcpy(smp->data, entries, ASK_DATA);
	memset(smp->sw->lft + at, 0, ASK_DATA);
	if (smp->sw->new_lft)
		memcpy(smp->sw->new_lft + at, entries, ASK_DATA);
}
