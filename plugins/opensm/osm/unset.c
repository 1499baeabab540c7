/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds switches whose records differ from the tables in force. */
#include "unset.h"

#include "lft_records.h"

#include <stdlib.h>
#include <string.h>

/* Whether a discovered link joins a switch of the plan to another one. */
static bool is_joined(const struct view *view, uint32_t node)
{
	const struct pm_fabric *topology = view->plan->topology;

	pm_for_each_port(i, topology, node)
		if (view->discovered[i] && topology->ports[i].peer != PM_NONE)
			return true;
	return false;
}

/* Counts the blocks of a switch that differ; *out: whether a Set of one is out. */
static struct unset_switch count_blocks(const struct view *view, const osm_switch_t *sw,
					uint32_t node, struct smp_sender *smps, bool *out)
{
	const uint8_t *table = pm_routes_table(view->routes, node);
	uint32_t blocks = lft_records_blocks(view->routes, sw);
	struct unset_switch found = {.node = node};
	uint8_t wanted[PM_LFT_BLOCK];

	/* Most tables have no difference, which takes half the time to see at once. */
	if (!memcmp(sw->lft, table, (size_t)blocks * PM_LFT_BLOCK))
		return found;
	for (uint32_t b = 0; b < blocks; b++) {
		size_t at = (size_t)b * PM_LFT_BLOCK;

		if (!memcmp(sw->lft + at, table + at, PM_LFT_BLOCK))
			continue;
		lft_records_wanted(sw->lft + at, table + at, PM_LFT_BLOCK, wanted);
		if (!memcmp(sw->lft + at, wanted, PM_LFT_BLOCK))
			continue;
		if (smp_is_out(smps, osm_node_get_node_guid(sw->p_node), b)) {
			*out = true;
			continue;
		}
		found.blocks++;
		found.different |= !lft_records_is_zeroed(sw, b);
	}
	return found;
}

void unset_find(osm_opensm_t *osm, struct smp_sender *smps, const struct view *view,
		struct unset *unset)
{
	uint32_t num = view->plan->topology->num_switches;
	bool out = false;

	*unset = (struct unset){.list = calloc(num + 1u, sizeof(*unset->list))};
	if (!unset->list)
		return;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < num; i++) {
		const osm_switch_t *sw = lft_records_switch(&osm->subn, view->plan, i);
		struct unset_switch found;

		if (!sw || !sw->lft || view->unfit[i] || !is_joined(view, i))
			continue;
		found = count_blocks(view, sw, i, smps, &out);
		if (found.blocks)
			unset->list[unset->num++] = found;
	}
	CL_PLOCK_RELEASE(&osm->lock);
	unset->known = true;
	unset->settled = !unset->num && !out;
}
