/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares another engine's tables with ours, and counts the blocks that ours need. */
#include "shadow.h"

#include "osm/lft_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void shadow_forget(struct shadow *shadow)
{
	free(shadow->tables);
	*shadow = (struct shadow){0};
}

/* Makes room for our tables; the first time they are unknown. */
static int make_shadow_room(struct shadow *shadow, uint32_t switches, uint32_t stride,
			    struct pm_error *err)
{
	if (shadow->tables && shadow->switches == switches && shadow->stride == stride)
		return 0;
	shadow_forget(shadow);
	shadow->tables = malloc((size_t)switches * stride + 1);
	if (!shadow->tables)
		return pm_error_no_memory(err);
	memset(shadow->tables, PM_LFT_KEEP, (size_t)switches * stride);
	shadow->switches = switches;
	shadow->stride = stride;
	return 0;
}

int shadow_compute(struct shadow *shadow, const osm_subn_t *subn,
		   const struct pm_plan *plan, const struct pm_routes *routes,
		   struct shadow_result *result, struct pm_error *err)
{
	uint32_t stride = pm_routes_stride(routes), num = plan->topology->num_switches;
	int rc;

	*result = (struct shadow_result){.has_event = shadow->tables != NULL};
	rc = make_shadow_room(shadow, num, stride, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < num; i++) {
		const osm_switch_t *sw = lft_records_switch(subn, plan, i);
		const uint8_t *table = pm_routes_table(routes, i);
		uint8_t *before = shadow->tables + (size_t)i * stride;
		uint32_t blocks = sw && sw->lft ? lft_records_blocks(routes, sw) : 0;

		if (blocks) {
			pm_delta_add(&result->take_over, sw->lft, table,
				     blocks * PM_LFT_BLOCK);
			pm_delta_add(&result->event, before, table,
				     blocks * PM_LFT_BLOCK);
		}
		result->full += blocks;
		pm_delta_apply(before, before, table, stride);
	}
	return 0;
}
