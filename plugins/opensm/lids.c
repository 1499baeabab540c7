/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LIDs: the plan's are written into the LID manager's table of persistent
 * LIDs (guid2lid) after discovery; OpenSM then assigns exactly these, stores
 * them in its own file, and treats LMC, duplicates and lost ports as ever.
 */
#include "plugin.h"

#include <opensm/osm_db_pack.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void plugin_drop_plan(struct plugin *plugin)
{
	pm_routes_free(plugin->routes);
	pm_plan_free(plugin->plan);
	free(plugin->alive);
	free(plugin->alive_before);
	free(plugin->intact);
	plugin->routes = NULL;
	plugin->plan = NULL;
	plugin->alive = plugin->alive_before = plugin->intact = NULL;
	plugin->alive_known = false;
}

/* Carries the flags of the last run over to the ports of a new plan. */
static void carry_over(const struct plugin *plugin, const struct pm_plan *plan,
		       uint8_t *alive_before)
{
	const struct pm_fabric *old = plugin->plan->known;

	for (uint32_t i = 0; i < old->num_ports; i++) {
		const struct pm_port *p = &old->ports[i];
		uint32_t node = pm_fabric_find_guid(plan->known, old->nodes[p->node].guid);

		if (node != PM_NONE && p->num <= plan->known->nodes[node].num_ports)
			alive_before[plan->known->nodes[node].first_port + p->num] =
				plugin->alive_before[i];
	}
}

/* Takes the plan over; it is freed on failure. */
static int use_plan(struct plugin *plugin, struct pm_plan *plan, struct pm_error *err)
{
	uint8_t *alive = calloc(plan->known->num_ports + 1u, 1);
	uint8_t *alive_before = calloc(plan->known->num_ports + 1u, 1);
	uint8_t *intact = calloc(plan->known->num_switches + 1u, 1);

	if (!alive || !alive_before || !intact) {
		free(alive);
		free(alive_before);
		free(intact);
		pm_plan_free(plan);
		return pm_error_set(err, -ENOMEM, "out of memory");
	}
	if (plugin->plan)
		carry_over(plugin, plan, alive_before);
	plugin_drop_plan(plugin);
	plugin->plan = plan;
	plugin->alive = alive;
	plugin->alive_before = alive_before;
	plugin->intact = intact;
	return 0;
}

int plugin_update_plan(struct plugin *plugin, const struct pm_fabric *fabric,
		       bool keep_lids, struct pm_error *err)
{
	struct pm_plan_config config = {
		.order = plugin->config.lid_order,
		.lmc = plugin->osm->subn.opt.lmc,
		.keep_lids = keep_lids,
	};
	struct pm_plan *plan = NULL;
	int rc;

	if (plugin->plan) {
		rc = pm_plan_grow(plugin->plan, fabric, &plan, err);
		if (rc)
			return rc;
		if (plan)
			return use_plan(plugin, plan, err);
		return 0;
	}
	rc = pm_plan_make(fabric, &config, &plan, err);
	return rc ? rc : use_plan(plugin, plan, err);
}

/* ---- The LID manager ---- */

/* Which GUID guid2lid has for each LID. */
struct owners {
	uint64_t *guid;		/* [LID] 0: nobody */
};

static void list_owners(osm_db_domain_t *guid2lid, struct owners *owners)
{
	cl_qlist_t guids;
	cl_list_item_t *item;

	cl_qlist_init(&guids);
	if (osm_db_guid2lid_guids(guid2lid, &guids))
		return;
	while ((item = cl_qlist_remove_head(&guids)) != cl_qlist_end(&guids)) {
		uint64_t guid = ((osm_db_guid_elem_t *)item)->guid;
		uint16_t low, high;

		if (!osm_db_guid2lid_get(guid2lid, guid, &low, &high))
			for (uint32_t lid = low; lid <= high && lid <= PM_MAX_LID; lid++)
				owners->guid[lid] = guid;
		free(item);
	}
}

/* What a port is to have, and the base LID that it has now. */
struct grant {
	uint64_t guid;
	uint16_t lid, num;
	uint16_t has;
};

/* Forgets whom guid2lid has for some LIDs, except one GUID. */
static void evict(osm_lid_mgr_t *manager, uint32_t low, uint32_t high, uint64_t except,
		  struct owners *owners)
{
	for (uint32_t lid = low; lid <= high && lid <= PM_MAX_LID; lid++) {
		if (owners->guid[lid] && owners->guid[lid] != except)
			osm_db_guid2lid_delete(manager->p_g2l, owners->guid[lid]);
		owners->guid[lid] = 0;
	}
}

/* Gives one port its LIDs; whoever had them in guid2lid before loses them there. */
static void give_lid(struct plugin *plugin, const struct grant *grant,
		     struct owners *owners)
{
	osm_lid_mgr_t *manager = &plugin->osm->sm.lid_mgr;
	uint16_t high = (uint16_t)(grant->lid + grant->num - 1), old_low, old_high;
	bool has_entry = !osm_db_guid2lid_get(manager->p_g2l, grant->guid, &old_low,
					      &old_high);

	for (uint32_t old = old_low; has_entry && old <= old_high && old <= PM_MAX_LID;
	     old++)
		if (owners->guid[old] == grant->guid) {
			owners->guid[old] = 0;
			manager->used_lids[old] = 0;
		}
	evict(manager, grant->lid, high, grant->guid, owners);
	if (!has_entry || old_low != grant->lid || old_high != high)
		osm_db_guid2lid_set(manager->p_g2l, grant->guid, grant->lid, high);
	for (uint32_t lid = grant->lid; lid <= high; lid++) {
		owners->guid[lid] = grant->guid;
		manager->used_lids[lid] = 1;
	}
	plugin->lids_assigned += grant->has != grant->lid;
	plugin->lids_moved += grant->has && grant->has != grant->lid;
}

static void give_all(struct plugin *plugin, const struct pm_fabric *fabric,
		     struct owners *owners)
{
	const struct pm_plan *plan = plugin->plan;

	list_owners(plugin->osm->sm.lid_mgr.p_g2l, owners);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		bool is_switch = port->node < fabric->num_switches;
		uint32_t place;

		if (is_switch ? port->num != 0 : port->peer == PM_NONE)
			continue;
		place = pm_plan_place(plan, fabric, i);
		if (place == PM_NONE)
			continue;
		give_lid(plugin, &(struct grant){ port->guid, plan->lid[place],
			 (uint16_t)pm_plan_num_lids(plan, place), port->lid }, owners);
	}
}

/*
 * With reassign_lids OpenSM's LID manager would clear guid2lid in the first
 * sweep and number the ports itself. What is asked for is done here instead, by
 * giving every port the plan's LID, so the option is taken back.
 */
static bool take_reassign(struct plugin *plugin)
{
	osm_subn_t *subn = &plugin->osm->subn;
	osm_lid_mgr_t *manager = &plugin->osm->sm.lid_mgr;

	if (!subn->opt.reassign_lids)
		return false;
	osm_db_clear(manager->p_g2l);
	memset(manager->used_lids, 0, sizeof(manager->used_lids));
	subn->opt.reassign_lids = FALSE;
	return true;
}

void plugin_give_lids(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	struct owners owners = { calloc(PM_MAX_LID + 1u, sizeof(uint64_t)) };
	struct pm_fabric *fabric = NULL;
	double start = plugin_clock();
	bool reassign = osm->subn.opt.reassign_lids;
	int rc = -ENOMEM;

	plugin->failure.text[0] = '\0';
	if (!owners.guid) {
		pm_error_set(&plugin->failure, rc, "out of memory");
		goto out;
	}
	if (osm->subn.opt.lmc && osm->subn.opt.lmc_esp0) {
		pm_error_set(&plugin->failure, -ENOTSUP, "lmc_esp0 with LMC %u: switches "
			     "get one LID here", osm->subn.opt.lmc);
		goto out;
	}
	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = plugin_snapshot(osm, &fabric, &plugin->failure);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		goto out;
	if (reassign)
		plugin_drop_plan(plugin);
	rc = plugin_update_plan(plugin, fabric, !reassign, &plugin->failure);
	if (rc)
		goto out;
	rc = plugin_compute(plugin, fabric, &plugin->failure);
	if (rc)
		goto out;
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	plugin_note_intact(plugin);
	take_reassign(plugin);
	give_all(plugin, fabric, &owners);
	CL_PLOCK_RELEASE(&osm->lock);
out:
	free(owners.guid);
	pm_fabric_free(fabric);
	plugin->milliseconds += plugin_clock() - start;
}
