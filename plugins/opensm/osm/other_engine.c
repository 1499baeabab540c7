/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the LFT blocks that another engine sends, from OpenSM's records. */
#include "other_engine.h"

#include "lft_records.h"

#include <stdlib.h>
#include <string.h>

void other_engine_forget(struct other_engine *other)
{
	for (uint32_t i = 0; i < other->num; i++)
		free(other->list[i].lft);
	free(other->list);
	*other = (struct other_engine){0};
}

static bool keep_record(struct other_engine *other, const osm_subn_t *subn,
			const osm_switch_t *sw)
{
	struct other_engine_switch *kept = &other->list[other->num];

	*kept = (struct other_engine_switch){.key = cl_qmap_key(&sw->map_item),
					     .size = sw->lft ? sw->lft_size : 0,
					     .whole = sw->need_update ||
						      subn->need_update};
	kept->lft = malloc(kept->size + 1);
	if (!kept->lft)
		return false;
	if (kept->size)
		memcpy(kept->lft, sw->lft, kept->size);
	other->num++;
	return true;
}

void other_engine_begin(struct other_engine *other, const osm_subn_t *subn)
{
	other_engine_forget(other);
	other->list = calloc(cl_qmap_count(&subn->sw_guid_tbl) + 1, sizeof(*other->list));
	if (!other->list)
		return;
	FOR_EACH_SWITCH(sw, subn)
		if (!keep_record(other, subn, sw)) {
			other_engine_forget(other);
			return;
		}
}

/* Whether a block was sent. Beyond the end of a shorter record there was no path. */
static bool was_sent(const struct other_engine_switch *kept, const uint8_t *now,
		     uint32_t at)
{
	uint8_t before[PM_LFT_BLOCK];

	memset(before, OSM_NO_PATH, sizeof(before));
	if (at < kept->size)
		memcpy(before, kept->lft + at,
		       kept->size - at < PM_LFT_BLOCK ? kept->size - at : PM_LFT_BLOCK);
	return kept->whole || memcmp(before, now, PM_LFT_BLOCK) != 0;
}

static void count_switch(const struct other_engine_switch *kept, const osm_switch_t *sw,
			 uint32_t blocks, struct other_engine_sent *sent)
{
	for (uint32_t at = 0; sw->lft && sw->new_lft && at < blocks * PM_LFT_BLOCK &&
			      at + PM_LFT_BLOCK <= sw->lft_size;
	     at += PM_LFT_BLOCK) {
		if (!was_sent(kept, sw->new_lft + at, at))
			continue;
		sent->sent++;
		sent->acked += !memcmp(sw->lft + at, sw->new_lft + at, PM_LFT_BLOCK);
	}
}

bool other_engine_end(struct other_engine *other, const osm_subn_t *subn,
		      struct other_engine_sent *sent)
{
	const cl_qmap_t *map = &subn->sw_guid_tbl;
	uint32_t blocks = lft_records_most_blocks(subn);
	bool kept = other->num > 0;

	if (kept)
		*sent = (struct other_engine_sent){0};
	for (uint32_t i = 0; i < other->num; i++) {
		cl_map_item_t *item = cl_qmap_get(map, other->list[i].key);

		if (item != cl_qmap_end(map))
			count_switch(&other->list[i], (const osm_switch_t *)item, blocks,
				     sent);
	}
	other_engine_forget(other);
	return kept;
}
