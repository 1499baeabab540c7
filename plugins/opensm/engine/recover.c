/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads LFTs from the switches if the plan is lost. */
#include "recover.h"

#include "osm/lft_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 60 /* blocks in OpenSM's queue beside those on the wire */

/* LFTs being read. Get i is for block i % blocks of switch i / blocks. */
struct reading {
	const osm_subn_t *subn;
	const struct pm_plan *plan;
	struct recovered *result;
	uint32_t blocks;
	bool *missed; /* [switch] some block is unknown */
};

static enum smp_make make_query(void *context, uint32_t index, struct smp_request *smp)
{
	struct reading *r = context;
	uint32_t node = index / r->blocks, block = index % r->blocks;
	const osm_switch_t *sw = lft_records_switch(r->subn, r->plan, node);
	const osm_dr_path_t *route = sw ? lft_records_route(sw) : NULL;

	if (!route)
		r->missed[node] = true;
	if (!route || r->missed[node] ||
	    block > cl_ntoh16(sw->switch_info.lin_top) / PM_LFT_BLOCK)
		return SMP_OMIT;
	*smp = (struct smp_request){
		.kind = SMP_BLOCK, .sw = sw, .modifier = block, .route = *route};
	return SMP_SEND;
}

static bool take_block(void *context, const struct smp_answer *answer)
{
	struct reading *r = context;

	if (answer->outcome == SMP_ANSWERED)
		memcpy(r->result->tables + (size_t)answer->index * PM_LFT_BLOCK,
		       answer->data, PM_LFT_BLOCK);
	else
		r->missed[answer->index / r->blocks] = true;
	return true;
}

/* The number of blocks of the longest table. */
static uint32_t count_longest(osm_opensm_t *osm, const struct pm_plan *plan)
{
	uint32_t most = pm_plan_blocks(plan);

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < plan->topology->num_switches; i++) {
		const osm_switch_t *sw = lft_records_switch(&osm->subn, plan, i);
		uint32_t top = sw ? cl_ntoh16(sw->switch_info.lin_top) : 0;

		if (top <= PM_MAX_LID && top / PM_LFT_BLOCK + 1u > most)
			most = top / PM_LFT_BLOCK + 1u;
	}
	CL_PLOCK_RELEASE(&osm->lock);
	return most;
}

static int make_recovered(const struct pm_plan *plan, size_t bytes,
			  struct recovered *recovered)
{
	recovered->installed =
		calloc(plan->topology->num_switches + 1u, sizeof(*recovered->installed));
	if (bytes)
		recovered->tables = malloc(bytes);
	if (recovered->installed && (!bytes || recovered->tables))
		return 0;
	recover_free(recovered);
	return -ENOMEM;
}

int recover_read(struct smp_sender *smps, osm_opensm_t *osm, const struct pm_plan *plan,
		 struct recovered *recovered, struct pm_error *err)
{
	uint32_t num = plan->topology->num_switches, blocks = count_longest(osm, plan);
	uint32_t stride = blocks * PM_LFT_BLOCK;
	struct reading reading = {&osm->subn, plan, recovered, blocks,
				  calloc(num + 1u, sizeof(bool))};
	struct smp_count count = {0};

	if (!reading.missed || make_recovered(plan, (size_t)num * stride, recovered)) {
		free(reading.missed);
		return pm_error_no_memory(err);
	}
	memset(recovered->tables, OSM_NO_PATH, (size_t)num * stride);
	smp_run(smps,
		&(struct smp_batch){.num = num * blocks,
				    .ahead = AHEAD,
				    .total_ms = SMP_TOTAL_MS,
				    .context = &reading,
				    .make = make_query,
				    .take = take_block},
		&count);
	for (uint32_t sw = 0; sw < num; sw++)
		if (!reading.missed[sw])
			recovered->installed[sw] = (struct pm_installed){
				recovered->tables + (size_t)sw * stride, stride};
	free(reading.missed);
	return 0;
}

/* The number of entries in OpenSM's record of a switch; 0: there is no record. */
static uint32_t record_length(const osm_switch_t *sw)
{
	return sw && sw->lft ? sw->lft_size : 0;
}

int recover_record(const osm_subn_t *subn, const struct pm_plan *plan,
		   struct recovered *recovered, struct pm_error *err)
{
	size_t bytes = 0, at = 0;

	for (uint32_t i = 0; i < plan->topology->num_switches; i++)
		bytes += record_length(lft_records_switch(subn, plan, i));
	if (make_recovered(plan, bytes, recovered))
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < plan->topology->num_switches; i++) {
		const osm_switch_t *sw = lft_records_switch(subn, plan, i);
		uint32_t length = record_length(sw);

		if (!length)
			continue;
		memcpy(recovered->tables + at, sw->lft, length);
		recovered->installed[i] =
			(struct pm_installed){recovered->tables + at, length};
		at += length;
	}
	return 0;
}

void recover_free(struct recovered *recovered)
{
	free(recovered->installed);
	free(recovered->tables);
	*recovered = (struct recovered){0};
}
