/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a Set of one LFT block, and records it in OpenSM's structures. */
#include "lft_set.h"

#include "lft_records.h"

#include <string.h>

bool lft_set_is_free(const struct lft_sender *sender, const osm_switch_t *sw,
		     uint32_t number)
{
	size_t at = (size_t)number * SMP_DATA;

	if (atomic_load(&sender->routing) && sw->new_lft &&
	    memcmp(sw->lft + at, sw->new_lft + at, SMP_DATA) != 0)
		return false;
	return !smp_is_out(sender->smps, osm_node_get_node_guid(sw->p_node), number);
}

bool lft_set_address(const struct lft_sender *sender, const struct pm_plan *plan,
		     uint32_t node, uint32_t number, struct smp_request *smp)
{
	const osm_switch_t *sw = lft_records_switch(&sender->osm->subn, plan, node);
	const osm_dr_path_t *route = sw ? lft_records_route(sw) : NULL;

	if (!route || (number + 1) * PM_LFT_BLOCK > sw->lft_size ||
	    !lft_set_is_free(sender, sw, number))
		return false;
	*smp = (struct smp_request){.sw = sw, .route = *route};
	return true;
}

void lft_set_make(uint32_t number, const uint8_t *entries, struct smp_request *smp)
{
	size_t at = (size_t)number * SMP_DATA;

	smp->kind = SMP_SET_BLOCK;
	smp->modifier = number;
	memcpy(smp->data, entries, SMP_DATA);
	memset(smp->sw->lft + at, 0, SMP_DATA);
	if (smp->sw->new_lft)
		memcpy(smp->sw->new_lft + at, entries, SMP_DATA);
}
