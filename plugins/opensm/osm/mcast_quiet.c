/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps OpenSM from sending MFT blocks, and gives multicast back to it. */
#include "mcast_quiet.h"

#include "lft_records.h"

#include <opensm/osm_file_ids.h>
#include <opensm/osm_mcast_mgr.h>

#include <string.h>

#define NO_BLOCK -1

/* ---- The engine of multicast ---- */

bool mcast_quiet_is_possible(const struct mcast_quiet *quiet, const char **reason)
{
	*reason = NULL;
	if (!quiet->engine)
		*reason = "routing_engine does not name portmajor";
	else if (quiet->osm->subn.opt.disable_multicast)
		*reason = "disable_multicast";
	return !*reason;
}

void mcast_quiet_take(struct mcast_quiet *quiet)
{
	quiet->engine->mcast_build_stree = quiet->build;
	quiet->ours = true;
}

bool mcast_quiet_is_ours(const struct mcast_quiet *quiet)
{
	return quiet->ours;
}

/* The MLIDs for which a record has room, in whole blocks. */
static uint32_t depth_of(const osm_switch_t *sw)
{
	return sw->mcast_tbl.p_mask_tbl ? sw->mcast_tbl.mft_depth : 0;
}

/* Has OpenSM's runs send blocks below this one. */
static void set_end(struct mcast_quiet *quiet, uint32_t blocks)
{
	quiet->hushed = false;
	if (quiet->tops)
		quiet->osm->subn.opt.use_mfttop = TRUE;
	FOR_EACH_SWITCH(sw, &quiet->osm->subn) {
		uint32_t room = depth_of(sw) / PM_MFT_BLOCK;

		sw->mcast_tbl.max_block_in_use =
			(int16_t)((blocks < room ? blocks : room) - 1);
	}
}

/* Has OpenSM's next run, whatever its reason, make the trees of all groups. */
static void ask_for_all(struct mcast_quiet *quiet)
{
	const osm_subn_t *subn = &quiet->osm->subn;
	osm_sm_t *sm = &quiet->osm->sm;

	for (uint32_t i = 0; i + PM_MLID_FIRST <= subn->max_mcast_lid_ho; i++) {
		if (!subn->mboxes[i])
			continue;
		sm->mlids_req[i] = 1;
		if (sm->mlids_req_max < i)
			sm->mlids_req_max = i;
	}
}

void mcast_quiet_leave(struct mcast_quiet *quiet)
{
	if (!quiet->ours)
		return;
	quiet->engine->mcast_build_stree = NULL;
	quiet->ours = false;
	ask_for_all(quiet);
	set_end(quiet, PM_MFT_BLOCKS);
}

/* ---- In a run of OpenSM's ---- */

/* Keeps OpenSM from sending blocks; called again after the option was read again. */
static void hush(struct mcast_quiet *quiet)
{
	osm_subn_opt_t *opt = &quiet->osm->subn.opt;

	FOR_EACH_SWITCH(sw, &quiet->osm->subn)
		sw->mcast_tbl.max_block_in_use = NO_BLOCK;
	quiet->tops = opt->use_mfttop || (quiet->hushed && quiet->tops);
	opt->use_mfttop = FALSE;
	quiet->hushed = true;
}

bool mcast_quiet_collect(struct mcast_quiet *quiet, osm_mgrp_box_t *box)
{
	quiet->calls++;
	osm_purge_mtree(&quiet->osm->sm, box); /* made by another engine */
	if (!quiet->hushed || quiet->osm->subn.opt.use_mfttop)
		hush(quiet);
	return !atomic_exchange(&quiet->due, true);
}

bool mcast_quiet_is_missed(const struct mcast_quiet *quiet)
{
	return !quiet->hushed && quiet->calls &&
	       !quiet->osm->sm.mlids_req[quiet->request];
}

/* ---- MulticastFDBTop ---- */

static bool has_top(const osm_physp_t *port0)
{
	return port0 &&
	       (port0->port_info.capability_mask & IB_PORT_CAP_HAS_MCAST_FDB_TOP);
}

static void set_top(struct mcast_quiet *quiet, const osm_switch_t *sw,
		    const osm_physp_t *port0, ib_net16_t top)
{
	ib_switch_info_t info = sw->switch_info;
	osm_madw_context_t context = {
		.si_context = {.node_guid = osm_node_get_node_guid(sw->p_node),
			       .set_method = TRUE},
	};

	info.mcast_top = top;
	ib_switch_info_clear_state_change(&info); /* a 1 would clear PortStateChange */
	(void)osm_req_set(&quiet->osm->sm, lft_records_route(sw), (uint8_t *)&info,
			  sizeof(info), IB_MAD_ATTR_SWITCH_INFO, 0, FALSE,
			  ib_port_info_get_m_key(&port0->port_info), 0,
			  CL_DISP_MSGID_NONE, &context);
}

void mcast_quiet_raise_tops(struct mcast_quiet *quiet, uint32_t blocks)
{
	uint32_t top = PM_MLID_FIRST + blocks * PM_MFT_BLOCK - 1;

	top = top < PM_MLID_LAST ? top : PM_MLID_LAST;
	if (!quiet->tops && !quiet->osm->subn.opt.use_mfttop)
		return;
	FOR_EACH_SWITCH(sw, &quiet->osm->subn) {
		const osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

		if (has_top(port0) && cl_ntoh16(sw->switch_info.mcast_top) < top)
			set_top(quiet, sw, port0, cl_hton16((uint16_t)top));
	}
}

uint32_t mcast_quiet_blocks_passed(const struct mcast_quiet *quiet)
{
	uint32_t most = 0;

	FOR_EACH_SWITCH(sw, &quiet->osm->subn) {
		uint32_t top = cl_ntoh16(sw->switch_info.mcast_top);
		uint32_t mlids = osm_switch_get_mcast_fwd_tbl_size(sw);

		if (has_top(osm_node_get_physp_ptr(sw->p_node, 0)) && top &&
		    mlids > top + 1 - PM_MLID_FIRST)
			mlids = top + 1 - PM_MLID_FIRST;
		most = most > mlids ? most : mlids;
	}
	most = most < PM_MLIDS ? most : PM_MLIDS;
	return (most + PM_MFT_BLOCK - 1) / PM_MFT_BLOCK;
}

/* ---- Records ---- */

/* Writes a block to OpenSM's record; false: the record has no room for it. */
static bool show_block(osm_switch_t *sw, const struct pm_mfts *tables, uint32_t node,
		       uint32_t block)
{
	uint32_t positions = pm_mfts_num_positions(tables, node);

	if ((block + 1) * PM_MFT_BLOCK > depth_of(sw))
		return false;
	for (uint32_t p = 0; p < positions && p <= IB_MCAST_POSITION_MAX; p++) {
		const uint16_t *masks = pm_mfts_block(tables, node, block, p);

		for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
			(*sw->mcast_tbl.p_mask_tbl)[block * PM_MFT_BLOCK + i][p] =
				cl_hton16(masks[i]);
	}
	return true;
}

size_t mcast_quiet_words(uint32_t num_switches)
{
	return ((size_t)PM_MFT_BLOCKS * num_switches + 63) / 64;
}

/*
 * Leaves out blocks that are empty and were before: most, as most groups are small. If
 * OpenSM was not kept quiet, it has filled in records, and the last answers to its Sets
 * may come later: then all blocks are written, now and the next time.
 */
static void show_switches(struct mcast_quiet *quiet, const struct pm_plan *plan,
			  const struct pm_mfts *tables, uint32_t block,
			  struct mcast_shown *shown)
{
	uint32_t num = plan->topology->num_switches;

	for (uint32_t i = 0; i < num; i++) {
		size_t bit = (size_t)block * num + i;
		uint64_t *word = &shown->cells[bit / 64], mask = 1ull << bit % 64;
		bool any = pm_mfts_has_entries(tables, i, block);
		osm_switch_t *sw;

		if (!any && !(*word & mask))
			continue;
		sw = lft_records_switch(&quiet->osm->subn, plan, i);
		if (!sw || !show_block(sw, tables, i, block))
			continue;
		if (any)
			*word |= mask;
		else if (shown->valid)
			*word &= ~mask;
	}
}

/* Finds the index of the first MLID with a group of the partition configuration. */
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

/* Lets OpenSM use the records, which have all blocks now. */
static void let_see(struct mcast_quiet *quiet, uint32_t blocks)
{
	if (!find_request(&quiet->osm->subn, &quiet->request))
		return;
	leave_request(quiet);
	set_end(quiet, blocks);
}

/*
 * Writes OpenSM's file of multicast tables, since its run has just written it while the
 * records were hidden. Like OpenSM, only with the log's flag for routing, of all OpenSM
 * or of osm_dump.c alone (per_module_logging_file): no other file is touched.
 */
static void dump(struct mcast_quiet *quiet)
{
	if (!osm_log_is_active_v2(&quiet->osm->log, OSM_LOG_ROUTING, OSM_FILE_DUMP_C))
		return;
	CL_PLOCK_ACQUIRE(&quiet->osm->lock);
	osm_dump_mcast_routes(quiet->osm);
	CL_PLOCK_RELEASE(&quiet->osm->lock);
}

bool mcast_quiet_show(struct mcast_quiet *quiet, const struct pm_plan *plan,
		      const struct pm_mfts *tables, uint32_t calls,
		      struct mcast_shown *shown)
{
	uint32_t blocks = pm_mfts_num_blocks(tables);
	bool valid = true;

	if (!shown->valid)
		memset(shown->cells, 0xff,
		       mcast_quiet_words(plan->topology->num_switches) *
			       sizeof(*shown->cells));
	for (uint32_t block = 0; valid && block <= blocks; block++) {
		CL_PLOCK_EXCL_ACQUIRE(&quiet->osm->lock);
		valid = quiet->calls == calls && mcast_quiet_is_ours(quiet);
		if (valid && block < blocks)
			show_switches(quiet, plan, tables, block, shown);
		else if (valid)
			let_see(quiet, blocks);
		CL_PLOCK_RELEASE(&quiet->osm->lock);
	}
	shown->valid |= valid;
	if (valid)
		dump(quiet);
	return valid;
}
