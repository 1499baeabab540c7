/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mcast_quiet.h"

#include "../tables.h"

#include <opensm/osm_mcast_mgr.h>

#define NO_BLOCK -1

static osm_switch_t *first_switch(const osm_subn_t *subn)
{
	return (osm_switch_t *)cl_qmap_head(&subn->sw_guid_tbl);
}

static bool is_end(const osm_subn_t *subn, const osm_switch_t *sw)
{
	return &sw->map_item == cl_qmap_end(&subn->sw_guid_tbl);
}

#define FOR_EACH_SWITCH(sw, subn)                                                        \
	for (osm_switch_t *sw = first_switch(subn); !is_end(subn, sw);                   \
	     sw = (osm_switch_t *)cl_qmap_next(&sw->map_item))

/* ---- Whose multicast is ---- */

static bool has_top(const osm_switch_t *sw)
{
	const osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

	return port0 &&
	       (port0->port_info.capability_mask & IB_PORT_CAP_HAS_MCAST_FDB_TOP);
}

bool mcast_quiet_is_possible(const struct mcast_quiet *quiet, const char **reason)
{
	const osm_subn_t *subn = &quiet->osm->subn;

	*reason = NULL;
	if (!quiet->engine)
		*reason = "there is no routing engine of ours";
	else if (subn->opt.disable_multicast)
		*reason = "disable_multicast";
	else if (subn->opt.use_mfttop)
		FOR_EACH_SWITCH(sw, subn)
	if (has_top(sw))
		*reason = "use_mfttop, and switches that have it";
	return !*reason;
}

void mcast_quiet_take(struct mcast_quiet *quiet)
{
	quiet->engine->mcast_build_stree = quiet->build;
}

bool mcast_quiet_is_ours(const struct mcast_quiet *quiet)
{
	return quiet->engine && quiet->engine->mcast_build_stree;
}

/* MLIDs that OpenSM has made room for in a record, in whole blocks. */
static uint32_t depth_of(const osm_switch_t *sw)
{
	return sw->mcast_tbl.p_mask_tbl ? sw->mcast_tbl.mft_depth : 0;
}

/* OpenSM's run sends blocks below this. */
static void set_end(struct mcast_quiet *quiet, uint32_t blocks)
{
	quiet->hushed = false;
	FOR_EACH_SWITCH(sw, &quiet->osm->subn)
	{
		uint32_t room = depth_of(sw) / PM_MFT_BLOCK;

		sw->mcast_tbl.max_block_in_use =
			(int16_t)((blocks < room ? blocks : room) - 1);
	}
}

void mcast_quiet_leave(struct mcast_quiet *quiet)
{
	if (!mcast_quiet_is_ours(quiet))
		return;
	quiet->engine->mcast_build_stree = NULL;
	set_end(quiet, PM_MFT_BLOCKS);
}

/* ---- In a run of OpenSM's ---- */

static void hush(struct mcast_quiet *quiet)
{
	FOR_EACH_SWITCH(sw, &quiet->osm->subn)
	sw->mcast_tbl.max_block_in_use = NO_BLOCK;
	quiet->hushed = true;
}

bool mcast_quiet_collect(struct mcast_quiet *quiet, osm_mgrp_box_t *box)
{
	quiet->calls++;
	osm_purge_mtree(&quiet->osm->sm, box); /* another engine's */
	if (!quiet->hushed)
		hush(quiet);
	return !atomic_exchange(&quiet->due, true);
}

bool mcast_quiet_is_missed(const struct mcast_quiet *quiet)
{
	return !quiet->hushed && quiet->calls &&
	       !quiet->osm->sm.mlids_req[quiet->request];
}

/* ---- Records ---- */

static void show_block(osm_switch_t *sw, const struct pm_mfts *tables, uint32_t known,
		       uint32_t block)
{
	uint32_t positions = pm_mfts_num_positions(tables, known);

	if ((block + 1) * PM_MFT_BLOCK > depth_of(sw))
		return;
	for (uint32_t p = 0; p < positions && p <= IB_MCAST_POSITION_MAX; p++) {
		const uint16_t *masks = pm_mfts_block(tables, known, block, p);

		for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
			(*sw->mcast_tbl.p_mask_tbl)[block * PM_MFT_BLOCK + i][p] =
				cl_hton16(masks[i]);
	}
}

static void show_switches(struct mcast_quiet *quiet, const struct pm_plan *plan,
			  const struct pm_mfts *tables, uint32_t block)
{
	for (uint32_t i = 0; i < plan->known->num_switches; i++) {
		osm_switch_t *sw = tables_switch(&quiet->osm->subn, plan, i);

		if (sw)
			show_block(sw, tables, i, block);
	}
}

/* The index of the first MLID with a group of the partition configuration. */
static bool find_request(const osm_subn_t *subn, uint32_t *request)
{
	for (uint32_t i = 0; i + PM_MLID_FIRST <= subn->max_mcast_lid_ho; i++) {
		const osm_mgrp_box_t *box = subn->mboxes[i];
		const cl_qlist_t *list = box ? &box->mgrp_list : NULL;

		if (!box)
			continue;
		for (cl_list_item_t *item = cl_qlist_head(list);
		     item != cl_qlist_end(list); item = cl_qlist_next(item)) {
			const osm_mgrp_t *mgrp = cl_item_obj(item, mgrp, list_item);

			if (!mgrp->well_known)
				continue;
			*request = i;
			return true;
		}
	}
	return false;
}

static void leave_request(struct mcast_quiet *quiet)
{
	osm_sm_t *sm = &quiet->osm->sm;

	sm->mlids_req[quiet->request] = 1;
	if (sm->mlids_req_max < quiet->request)
		sm->mlids_req_max = quiet->request;
}

/* All blocks are in the records. */
static void let_see(struct mcast_quiet *quiet, uint32_t blocks)
{
	if (!find_request(&quiet->osm->subn, &quiet->request))
		return;
	leave_request(quiet);
	set_end(quiet, blocks);
}

bool mcast_quiet_show(struct mcast_quiet *quiet, const struct pm_plan *plan,
		      const struct pm_mfts *tables, uint32_t calls)
{
	uint32_t blocks = pm_mfts_num_blocks(tables);
	bool valid = true;

	for (uint32_t block = 0; valid && block <= blocks; block++) {
		CL_PLOCK_EXCL_ACQUIRE(&quiet->osm->lock);
		valid = quiet->calls == calls && mcast_quiet_is_ours(quiet);
		if (valid && block < blocks)
			show_switches(quiet, plan, tables, block);
		else if (valid)
			let_see(quiet, blocks);
		CL_PLOCK_RELEASE(&quiet->osm->lock);
	}
	return valid;
}
