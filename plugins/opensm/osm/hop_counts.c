/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has OpenSM compute its hop counts where something reads them. */
#include "hop_counts.h"

#include <opensm/osm_file_ids.h>
#include <opensm/osm_ucast_mgr.h>

bool hop_counts_are_dumped(osm_opensm_t *osm)
{
	return osm_log_is_active_v2(&osm->log, OSM_LOG_ROUTING, OSM_FILE_DUMP_C);
}

/* Each switch has one to itself, if any were computed. */
static bool are_missing(const osm_subn_t *subn)
{
	const osm_switch_t *sw = (const osm_switch_t *)cl_qmap_head(&subn->sw_guid_tbl);
	const osm_physp_t *port0;

	if (&sw->map_item == cl_qmap_end(&subn->sw_guid_tbl) || !sw->hops)
		return false;
	port0 = osm_node_get_physp_ptr(sw->p_node, 0);
	return port0 &&
	       osm_switch_get_least_hops(sw, cl_ntoh16(osm_physp_get_base_lid(port0))) ==
		       OSM_NO_PATH;
}

void hop_counts_complete(osm_opensm_t *osm, const void *context)
{
	const osm_routing_engine_t *used = osm->routing_engine_used;

	if ((!used || used->context == context) && are_missing(&osm->subn))
		(void)osm_ucast_mgr_build_lid_matrices(&osm->sm.ucast_mgr);
}
