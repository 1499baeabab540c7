/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

osm_switch_t *tables_switch(const osm_subn_t *subn, const struct pm_plan *plan,
			    uint32_t known)
{
	return osm_get_switch_by_guid(subn, cl_hton64(plan->known->nodes[known].guid));
}

static osm_switch_t *first_switch(const osm_subn_t *subn)
{
	return (osm_switch_t *)cl_qmap_head(&subn->sw_guid_tbl);
}

static osm_switch_t *next_switch(const osm_switch_t *sw)
{

	return (osm_switch_t *)cl_qmap_next(&sw->map_item);
}

static bool is_end(const osm_subn_t *subn, const osm_switch_t *sw)
{
	return &sw->map_item == cl_qmap_end(&subn->sw_guid_tbl);
}

#define FOR_EACH_SWITCH(sw, subn)                                                        \
	for (osm_switch_t *sw = first_switch(subn); !is_end(subn, sw);                   \
	     sw = next_switch(sw))

static uint32_t find_known(const struct pm_plan *plan, const osm_switch_t *sw)
{
	return pm_fabric_find_guid(plan->known,
				   cl_ntoh64(osm_node_get_node_guid(sw->p_node)));
}

/* ---- Intact tables ---- */

static bool is_intact(const struct pm_plan *plan, const osm_switch_t *sw, uint32_t known)
{
	osm_node_t *node = sw->p_node;
	osm_physp_t *port0 = osm_node_get_physp_ptr(node, 0);
	uint32_t place = plan->known->nodes[known].first_port;

	if (!sw->max_lid_ho || sw->switch_info.lin_top != cl_hton16(sw->max_lid_ho) ||
	    !port0 || cl_ntoh16(osm_physp_get_base_lid(port0)) != plan->lid[place])
		return false;
	for (unsigned int p = 1; p < osm_node_get_num_physp(node); p++) {
		osm_physp_t *physp = osm_node_get_physp_ptr(node, p);

		if (physp &&
		    ib_port_info_get_port_state(&physp->port_info) > IB_LINK_INIT)
			return true;
	}
	return false;
}

void tables_forget(struct tables *tables)
{
	free(tables->intact);
	*tables = (struct tables){0};
}

void tables_note_intact(struct tables *tables, const osm_subn_t *subn,
			const struct pm_plan *plan)
{
	tables_forget(tables);
	tables->intact = calloc(plan->known->num_switches, 1);
	if (!tables->intact)
		return;
	tables->num = plan->known->num_switches;
	FOR_EACH_SWITCH(sw, subn)
	{
		uint32_t known = find_known(plan, sw);

		if (known != PM_NONE && sw->p_node->discovery_count)
			tables->intact[known] = is_intact(plan, sw, known);
	}
}

/* ---- Writing ---- */

/* Entries of our table that a switch's arrays have room for. */
static uint32_t common_length(const struct pm_routes *routes, const osm_switch_t *sw)
{
	uint32_t stride = pm_routes_stride(routes);

	return stride < sw->lft_size ? stride : sw->lft_size;
}

void tables_wanted(const uint8_t *held, const uint8_t *table, uint32_t length,
		   uint8_t *wanted)
{
	pm_delta_apply(wanted, held, table, length);
	for (uint32_t lid = 0; lid < length; lid++)
		if (table[lid] == PM_LFT_KEEP && wanted[lid] == 0)
			wanted[lid] = OSM_NO_PATH;
}

static void write_table(const struct pm_routes *routes, const osm_switch_t *sw,
			uint32_t known)
{
	memcpy(sw->new_lft, sw->lft, sw->lft_size);
	tables_wanted(sw->lft, pm_routes_table(routes, known), common_length(routes, sw),
		      sw->new_lft);
}

/* Whether a block is in OpenSM's record as it is wanted. */
static bool is_recorded(const osm_switch_t *sw, uint32_t block)
{
	return !memcmp(sw->lft + block * PM_LFT_BLOCK, sw->new_lft + block * PM_LFT_BLOCK,
		       PM_LFT_BLOCK);
}

/* What OpenSM will send this switch, given the marks. */
static void count_blocks(const osm_subn_t *subn, const osm_switch_t *sw,
			 struct tables_written *written)
{
	bool all = sw->need_update || subn->need_update;
	uint32_t blocks = 0;

	for (uint32_t b = 0; b < written->max_block; b++)
		blocks += all || !is_recorded(sw, b);
	written->sent += blocks;
	written->full += written->max_block;
	written->switches += blocks != 0;
	written->whole += all;
}

/* Whether all of them are of the plan, and how many blocks the largest table has. */
static int check_switches(const osm_subn_t *subn, const struct pm_plan *plan,
			  struct tables_written *written, struct pm_error *err)
{
	FOR_EACH_SWITCH(sw, subn)
	{
		if (find_known(plan, sw) == PM_NONE || !sw->lft || !sw->new_lft)
			return pm_error_set(err, -ENOENT, "switch \"%s\" was not planned",
					    sw->p_node->print_desc);
		if (written->max_block < sw->max_lid_ho / PM_LFT_BLOCK + 1u)
			written->max_block = sw->max_lid_ho / PM_LFT_BLOCK + 1u;
	}
	return 0;
}

int tables_write(struct tables *tables, osm_subn_t *subn, const struct pm_plan *plan,
		 const struct pm_routes *routes, struct tables_written *written,
		 struct pm_error *err)
{
	int rc;

	*written = (struct tables_written){.max_block = 0};
	rc = check_switches(subn, plan, written, err);
	if (rc)
		return rc;
	FOR_EACH_SWITCH(sw, subn)
	{
		uint32_t known = find_known(plan, sw);

		if (sw->need_update == 1 && known < tables->num && tables->intact[known])
			sw->need_update = 0;
		pm_delta_add(&written->delta, sw->lft, pm_routes_table(routes, known),
			     common_length(routes, sw));
		write_table(routes, sw, known);
		count_blocks(subn, sw, written);
	}
	tables_forget(tables);
	return 0;
}

/*
 * A block that timed out is zeroed in OpenSM's record, which no block of a table is.
 */
uint64_t tables_missing(const osm_subn_t *subn, const struct tables_written *written)
{
	uint64_t missing = 0;

	FOR_EACH_SWITCH(sw, subn)
	for (uint32_t b = 0; sw->lft && sw->new_lft && b < written->max_block &&
			     (b + 1) * PM_LFT_BLOCK <= sw->lft_size;
	     b++)
		missing += !is_recorded(sw, b);
	return missing;
}
