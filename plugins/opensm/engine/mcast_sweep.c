/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast in a sweep: decides on the engine, and collects groups. */
#include "mcast_sweep.h"

#include "io/log.h"
#include "osm/hop_counts.h"

#include <portmajor/base/alloc.h>

void groups_note_intact(struct plugin *plugin)
{
	struct mcast_doubt *doubt = &plugin->doubt;
	const struct lft_records *records = &plugin->lft_records;

	for (uint32_t i = 0; i < records->num; i++) {
		uint64_t guid = cl_ntoh64(records->noted[i].key);

		if (records->noted[i].intact)
			continue;
		if (records->noted[i].blank &&
		    !pm_grow(&doubt->blank, &doubt->blank_room, doubt->num_blank + 1u,
			     sizeof(*doubt->blank)))
			doubt->blank[doubt->num_blank++] = guid;
		else if (!pm_grow(&doubt->guids, &doubt->room, doubt->num + 1u,
				  sizeof(*doubt->guids)))
			doubt->guids[doubt->num++] = guid;
		else
			doubt->all = true;
	}
}

/* Decides on multicast for OpenSM's next run: NULL if it is ours, else the reason. */
static const char *decide(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	const char *reason = "the plugin does not route";

	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	if (plugin->repairer && repairer_is_valid(plugin->repairer) &&
	    mcast_quiet_is_possible(&plugin->quiet, &reason)) {
		/* Our record lacks blocks that OpenSM or another master sent before. */
		plugin->doubt.all |= osm->subn.first_time_master_sweep ||
				     osm->subn.coming_out_of_standby ||
				     !mcast_quiet_is_ours(&plugin->quiet);
		mcast_quiet_take(&plugin->quiet);
	} else {
		mcast_quiet_leave(&plugin->quiet);
		if (!osm->subn.opt.disable_multicast)
			hop_counts_complete(osm, plugin);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	return reason;
}

void groups_route(struct plugin *plugin)
{
	const char *reason = decide(plugin);

	if (reason != plugin->no_multicast && reason)
		log_line(&plugin->osm->log, OSM_LOG_INFO,
			 ": multicast is left to OpenSM: %s", reason);
	plugin->no_multicast = reason;
	if (reason && plugin->state)
		state_note_multicast(plugin->state,
				     &(struct state_multicast){.left = reason});
	/* While OpenSM has multicast, there is no record: all are doubted later. */
	if (!reason)
		repairer_route_groups(plugin->repairer, &plugin->doubt);
	plugin->doubt.num = plugin->doubt.num_blank = 0;
	plugin->doubt.all = false;
}

void groups_collect(struct plugin *plugin, osm_mgrp_box_t *box)
{
	if (mcast_quiet_collect(&plugin->quiet, box) && plugin->repairer)
		repairer_wake(plugin->repairer);
}
