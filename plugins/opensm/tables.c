/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables. OpenSM sends a block of a switch when new_lft differs from lft, its
 * record of what the switch has acknowledged, or, in the presence of a mark
 * (need_update), always. The mark is set on each switch that reports a port
 * state change: on every neighbour of what was lost. It is taken back here where
 * the switch surely still has its table.
 *
 * Surely means, as seen in this sweep's discovery before OpenSM changed
 * anything: LinearFDBTop is what we last set, port 0 has its planned LID, and
 * some other port is past INIT. A switch that rebooted comes back with
 * LinearFDBTop and LID 0 and all ports at INIT, and only the subnet manager takes
 * any of these away, after which it writes the table.
 */
#include "plugin.h"

#include <portmajor/change.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of the port that OpenSM itself uses, and what its options ask for. */
static struct pm_detours find_detours(const struct plugin *plugin,
				      const struct pm_fabric *fabric)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	uint64_t guid = cl_ntoh64(subn->sm_port_guid);
	struct pm_detours detours = {PM_NONE, subn->opt.connect_roots, NULL};

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		bool is_switch = fabric->ports[i].node < fabric->num_switches;

		if (fabric->ports[i].guid == guid &&
		    (is_switch ? fabric->ports[i].num == 0
			       : fabric->ports[i].peer != PM_NONE))
			detours.manager = pm_plan_place(plugin->plan, fabric, i);
	}
	return detours;
}

/* Logs which switches with end ports have no path between them, when that changes. */
static void log_apart(struct plugin *plugin)
{
	char text[PM_CHANGE_TEXT];
	struct pm_apart apart;

	if (pm_routes_apart(plugin->routes, &apart, NULL))
		return;
	plugin->pairs_apart = apart.count;
	if (!pm_change_apart(plugin->plan, &apart, text, sizeof(text)) && plugin->apart)
		snprintf(text, sizeof(text),
			 "up-then-down paths join all switches with end ports again");
	if (!apart.count && !plugin->apart)
		return;
	if (!plugin->apart || strcmp(text, plugin->apart) != 0)
		OSM_LOG(&plugin->osm->log, OSM_LOG_INFO, "portmajor: note: %s\n", text);
	free(plugin->apart);
	plugin->apart = apart.count ? strdup(text) : NULL;
}

static bool same_detours(const struct pm_detours *a, const struct pm_detours *b)
{
	return a->manager == b->manager && a->switches == b->switches;
}

int plugin_see(struct plugin *plugin, const uint8_t *seen, const uint8_t *bounced,
	       const struct pm_detours *detours, struct pm_error *err)
{
	uint32_t num = plugin->plan->known->num_ports;
	uint8_t *alive = malloc(num + 1u);
	int rc;

	if (!alive)
		return pm_error_set(err, -ENOMEM, "out of memory");
	memcpy(alive, seen, num);
	rc = plugin_hold_flaps(plugin, bounced, alive, err);
	if (rc) {
		free(alive);
		return rc;
	}
	if (!plugin->alive_known || memcmp(alive, plugin->alive, num) ||
	    memcmp(seen, plugin->seen, num) || !same_detours(detours, &plugin->detours)) {
		memcpy(plugin->seen, seen, num);
		memcpy(plugin->alive, alive, num);
		plugin->detours = *detours;
		plugin->detours.spare = plugin->seen;
		pm_routes_update(plugin->routes, alive, &plugin->detours);
		plugin->alive_known = true;
		log_apart(plugin);
	}
	free(alive);
	return 0;
}

/*
 * OpenSM's record of the switches, or, with reread and right after discovery, what they
 * really hold: in the engine's callback OpenSM holds its lock, and nothing can be asked.
 * The record's tables live until the sweeper thread, which this is, drops a switch.
 */
static int find_held(struct plugin *plugin, bool discovered, struct pm_held *held,
		     uint8_t **tables, struct pm_error *err)
{
	const struct pm_fabric *known = plugin->plan->known;

	*tables = NULL;
	if (plugin->reread && discovered)
		return plugin_read_tables(plugin, held, tables, err);
	for (uint32_t sw = 0; sw < known->num_switches; sw++) {
		const osm_switch_t *there = osm_get_switch_by_guid(
			&plugin->osm->subn, cl_hton64(known->nodes[sw].guid));

		if (there && there->lft)
			held[sw] = (struct pm_held){there->lft, there->lft_size};
	}
	return 0;
}

/*
 * New tables of a plan that was made of a fabric that ran already: what its switches
 * hold is kept if it is as good.
 */
static int keep_held(struct plugin *plugin, bool discovered, struct pm_error *err)
{
	struct pm_held *held =
		calloc(plugin->plan->known->num_switches + 1u, sizeof(*held));
	uint8_t *tables = NULL;
	bool adopted;
	int rc = held ? find_held(plugin, discovered, held, &tables, err)
		      : pm_error_set(err, -ENOMEM, "out of memory");

	if (rc)
		goto out;
	adopted = pm_routes_adopt(plugin->routes, held, !plugin->strict);
	if (adopted)
		pm_routes_update(plugin->routes, plugin->alive, &plugin->detours);
	else
		pm_plan_set_held(plugin->base, false);
	plugin->unsaved = true;
	OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
		"portmajor: tables found in the switches: %s\n",
		adopted ? "kept" : "not needed");
out:
	free(held);
	free(tables);
	return rc;
}

int plugin_compute(struct plugin *plugin, const struct pm_fabric *fabric, bool discovered,
		   struct pm_error *err)
{
	uint32_t num = plugin->plan->known->num_ports;
	uint8_t *seen = malloc(num + 1u), *stayed = malloc(num + 1u);
	struct pm_detours detours;
	bool made = false;
	int rc = 0;

	if (!seen || !stayed) {
		rc = pm_error_set(err, -ENOMEM, "out of memory");
		goto out;
	}
	if (!pm_plan_match(plugin->plan, fabric, seen))
		rc = pm_error_set(err, -ESTALE, "the fabric changed during the sweep");
	if (!rc && !plugin->routes) {
		rc = pm_routes_make(plugin->plan, &plugin->routes, err);
		plugin->alive_known = false;
		made = true;
	}
	if (rc)
		goto out;
	if (discovered) {
		memcpy(stayed, seen, num);
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		plugin_find_bounced(plugin, stayed);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	}
	detours = find_detours(plugin, fabric);
	rc = plugin_see(plugin, seen, discovered ? stayed : NULL, &detours, err);
	if (!rc && made && plugin->base->held)
		rc = keep_held(plugin, discovered, err);
out:
	free(seen);
	free(stayed);
	return rc;
}

/* ---- Intact tables ---- */

static bool is_intact(const struct plugin *plugin, const osm_switch_t *sw, uint32_t known)
{
	osm_node_t *node = sw->p_node;
	osm_physp_t *port0 = osm_node_get_physp_ptr(node, 0);
	uint32_t place = plugin->plan->known->nodes[known].first_port;

	if (!sw->max_lid_ho || sw->switch_info.lin_top != cl_hton16(sw->max_lid_ho) ||
	    !port0 ||
	    cl_ntoh16(osm_physp_get_base_lid(port0)) != plugin->plan->lid[place])
		return false;
	for (unsigned int p = 1; p < osm_node_get_num_physp(node); p++) {
		osm_physp_t *physp = osm_node_get_physp_ptr(node, p);

		if (physp &&
		    ib_port_info_get_port_state(&physp->port_info) > IB_LINK_INIT)
			return true;
	}
	return false;
}

static const osm_switch_t *first_switch(const osm_opensm_t *osm)
{
	return (const osm_switch_t *)cl_qmap_head(&osm->subn.sw_guid_tbl);
}

static const osm_switch_t *next_switch(const osm_opensm_t *osm, const osm_switch_t *sw)
{
	cl_map_item_t *next = cl_qmap_next(&sw->map_item);

	return next == cl_qmap_end(&osm->subn.sw_guid_tbl) ? NULL
							   : (const osm_switch_t *)next;
}

static uint32_t find_known(const struct plugin *plugin, const osm_switch_t *sw)
{
	return pm_fabric_find_guid(plugin->plan->known,
				   cl_ntoh64(osm_node_get_node_guid(sw->p_node)));
}

void plugin_note_intact(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	const osm_switch_t *sw;

	memset(plugin->intact, 0, plugin->plan->known->num_switches);
	if (!cl_qmap_count(&osm->subn.sw_guid_tbl))
		return;
	for (sw = first_switch(osm); sw; sw = next_switch(osm, sw)) {
		uint32_t known = find_known(plugin, sw);

		if (known != PM_NONE && sw->p_node->discovery_count)
			plugin->intact[known] = is_intact(plugin, sw, known);
	}
}

/* ---- Writing ---- */

/* Entries of our table that a switch's arrays have room for. */
static uint32_t common_length(const struct plugin *plugin, const osm_switch_t *sw)
{
	uint32_t stride = pm_routes_stride(plugin->routes);

	return stride < sw->lft_size ? stride : sw->lft_size;
}

void plugin_wanted(const uint8_t *held, const uint8_t *table, uint32_t length,
		   uint8_t *wanted)
{
	pm_delta_apply(wanted, held, table, length);
	for (uint32_t lid = 0; lid < length; lid++)
		if (table[lid] == PM_LFT_KEEP && wanted[lid] == 0)
			wanted[lid] = OSM_NO_PATH;
}

static void write_table(const struct plugin *plugin, const osm_switch_t *sw,
			uint32_t known)
{
	uint32_t length = common_length(plugin, sw);
	const uint8_t *table = pm_routes_table(plugin->routes, known);

	memcpy(sw->new_lft, sw->lft, sw->lft_size);
	plugin_wanted(sw->lft, table, length, sw->new_lft);
}

/* What OpenSM will send this switch, given the marks. */
static void count_blocks(struct plugin *plugin, const osm_switch_t *sw)
{
	struct plugin_run *run = &plugin->run;
	bool all = sw->need_update || plugin->osm->subn.need_update;
	uint32_t blocks = 0;

	for (uint32_t b = 0; b < run->max_block; b++)
		blocks +=
			all || memcmp(sw->lft + b * PM_LFT_BLOCK,
				      sw->new_lft + b * PM_LFT_BLOCK, PM_LFT_BLOCK) != 0;
	run->sent += blocks;
	run->full += run->max_block;
	run->switches += blocks != 0;
	run->whole += all;
}

static int write_tables(struct plugin *plugin, struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	struct plugin_run *run = &plugin->run;
	const osm_switch_t *sw;

	for (sw = first_switch(osm); sw; sw = next_switch(osm, sw)) {
		if (find_known(plugin, sw) == PM_NONE || !sw->lft || !sw->new_lft)
			return pm_error_set(err, -ENOENT, "switch \"%s\" was not planned",
					    sw->p_node->print_desc);
		if (run->max_block < sw->max_lid_ho / PM_LFT_BLOCK + 1u)
			run->max_block = sw->max_lid_ho / PM_LFT_BLOCK + 1u;
	}
	for (sw = first_switch(osm); sw; sw = next_switch(osm, sw)) {
		uint32_t known = find_known(plugin, sw);

		if (sw->need_update == 1 && plugin->intact[known])
			((osm_switch_t *)(uintptr_t)sw)->need_update = 0;
		pm_delta_add(&run->delta, sw->lft, pm_routes_table(plugin->routes, known),
			     common_length(plugin, sw));
		write_table(plugin, sw, known);
		count_blocks(plugin, sw);
	}
	memset(plugin->intact, 0, plugin->plan->known->num_switches);
	return 0;
}

/* Whether every port has the LID that is planned for its place, or none. */
static bool lids_agree(const struct pm_plan *plan, const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		bool is_switch = port->node < fabric->num_switches;
		uint32_t place;

		if (!port->lid || (is_switch ? port->num != 0 : port->peer == PM_NONE))
			continue;
		place = pm_plan_place(plan, fabric, i);
		if (place == PM_NONE || plan->lid[place] != port->lid)
			return false;
	}
	return true;
}

static int build_tables(struct plugin *plugin, struct pm_error *err)
{
	struct pm_fabric *fabric = NULL;
	int rc;

	if (!plugin->plan) {
		*err = plugin->failure;
		return -ENOENT;
	}
	rc = plugin_snapshot(plugin, false, &fabric, err);
	if (rc)
		return rc;
	/* Should the LID manager have had its own ideas, plan with these. */
	rc = plugin_update_plan(plugin, fabric, !lids_agree(plugin->plan, fabric), err);
	if (!rc)
		rc = plugin_compute(plugin, fabric, false, err);
	pm_fabric_free(fabric);
	if (rc)
		return rc;
	memset(&plugin->run, 0, sizeof(plugin->run));
	pm_change_describe(plugin->plan, plugin->seen_before, plugin->seen,
			   plugin->run.change, sizeof(plugin->run.change));
	return write_tables(plugin, err);
}

int plugin_build_tables(void *context)
{
	struct plugin *plugin = context;
	struct pm_error err = {""};
	double start = plugin_clock();

	plugin_finish_run(plugin);
	if (build_tables(plugin, &err)) {
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: cannot route this fabric: %s\n", err.text);
		plugin_note_declined(plugin, &err);
		return -1;
	}
	plugin->run.milliseconds = plugin->milliseconds + plugin_clock() - start;
	plugin->milliseconds = 0;
	plugin->run.pending = true;
	return 0;
}

/* ---- Logging ---- */

/*
 * Blocks that were sent and are now in OpenSM's record of the switch. One that
 * timed out is zeroed there, which no block of a table is.
 */
static uint64_t count_missing(const struct plugin *plugin)
{
	const osm_opensm_t *osm = plugin->osm;
	uint64_t missing = 0;
	const osm_switch_t *sw;

	if (!cl_qmap_count(&osm->subn.sw_guid_tbl))
		return 0;
	for (sw = first_switch(osm); sw; sw = next_switch(osm, sw))
		for (uint32_t b = 0;
		     sw->lft && sw->new_lft && b < plugin->run.max_block &&
		     (b + 1) * PM_LFT_BLOCK <= sw->lft_size;
		     b++)
			missing +=
				memcmp(sw->lft + b * PM_LFT_BLOCK,
				       sw->new_lft + b * PM_LFT_BLOCK, PM_LFT_BLOCK) != 0;
	return missing;
}

void plugin_finish_run(struct plugin *plugin)
{
	struct plugin_run *run = &plugin->run;
	uint64_t missing, acked;

	if (!run->pending)
		return;
	missing = count_missing(plugin);
	acked = run->sent > missing ? run->sent - missing : 0;
	run->pending = false;
	plugin->runs++;
	OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
		"portmajor run %" PRIu64 ": %s; LFT blocks sent %" PRIu64
		", acked %" PRIu64 ", bound %" PRIu64 ", full load %" PRIu64
		"; switches %u, whole tables %u; "
		"entries %" PRIu64
		"; LIDs assigned %u, moved %u, out of plan %u; computed in %.1f ms\n",
		plugin->runs, run->change, run->sent, acked, run->delta.bound, run->full,
		run->switches, run->whole, run->delta.entries, plugin->lids_assigned,
		plugin->lids_moved, plugin->out_of_plan, run->milliseconds);
	plugin_note_run(plugin, acked);
	plugin->lids_assigned = plugin->lids_moved = 0;
	if (!plugin->config.migrate)
		plugin->out_of_plan = 0; /* the plan has these LIDs from now on */
	memcpy(plugin->seen_before, plugin->seen, plugin->plan->known->num_ports);
}
