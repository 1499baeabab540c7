/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LIDs: the plan's are written into the LID manager's table of persistent
 * LIDs (guid2lid) after discovery; OpenSM then assigns exactly these, stores
 * them in its own file, and treats LMC, duplicates and lost ports as ever.
 */
#include "plugin.h"

#include <opensm/osm_db_pack.h>

#include <portmajor/change.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Forgets the plan in force and what was computed with it, not the base. */
static void drop_computed(struct plugin *plugin)
{
	pm_routes_free(plugin->routes);
	if (plugin->plan != plugin->base)
		pm_plan_free(plugin->plan);
	free(plugin->seen);
	free(plugin->alive);
	free(plugin->seen_before);
	free(plugin->intact);
	pm_plan_free(plugin->last);
	plugin->routes = NULL;
	plugin->plan = plugin->last = NULL;
	plugin->seen = plugin->alive = plugin->seen_before = plugin->intact = NULL;
	plugin->alive_known = false;
}

void plugin_drop_plan(struct plugin *plugin)
{
	drop_computed(plugin);
	pm_plan_free(plugin->base);
	plugin->base = NULL;
	plugin->out_of_plan = 0;
	plugin->run.pending = false;
}

/* Carries the flags of the last run over to the ports of a new plan. */
static void carry_over(const struct plugin *plugin, const struct pm_plan *plan,
		       uint8_t *seen, uint8_t *seen_before)
{
	const struct pm_fabric *old = plugin->plan->known;

	for (uint32_t i = 0; i < old->num_ports; i++) {
		uint32_t port = pm_fabric_same_port(old, i, plan->known);

		if (port == PM_NONE)
			continue;
		seen[port] = plugin->seen[i];
		seen_before[port] = plugin->seen_before[i];
	}
}

static void log_oddities(const struct plugin *plugin)
{
	char text[PM_CHANGE_TEXT];

	if (pm_change_oddities(plugin->base, text, sizeof(text)))
		OSM_LOG(&plugin->osm->log, OSM_LOG_INFO, "portmajor: note: %s\n", text);
}

/*
 * Puts a plan in force, and, if `base` is not NULL, a base in place of the old one.
 * Both are taken over, and freed on failure.
 */
static int use_plan(struct plugin *plugin, struct pm_plan *plan, struct pm_plan *base,
		    struct pm_error *err)
{
	uint8_t *alive = calloc(plan->known->num_ports + 1u, 1);
	uint8_t *seen = calloc(plan->known->num_ports + 1u, 1);
	uint8_t *seen_before = calloc(plan->known->num_ports + 1u, 1);
	uint8_t *intact = calloc(plan->known->num_switches + 1u, 1);
	bool first;

	if (!alive || !seen || !seen_before || !intact) {
		free(alive);
		free(seen);
		free(seen_before);
		free(intact);
		if (plan != plugin->base && plan != base)
			pm_plan_free(plan);
		pm_plan_free(base);
		return pm_error_set(err, -ENOMEM, "out of memory");
	}
	first = !plugin->plan;
	if (plugin->plan)
		carry_over(plugin, plan, seen, seen_before);
	drop_computed(plugin);
	if (base) {
		pm_plan_free(plugin->base);
		plugin->base = base;
	}
	plugin->unsaved = true;
	if (first || base)
		log_oddities(plugin);
	plugin->plan = plan;
	plugin->alive = alive;
	plugin->seen = seen;
	plugin->seen_before = seen_before;
	plugin->intact = intact;
	return 0;
}

/*
 * A plan that grew may have been made from a part of the fabric: then the plan that its
 * LIDs came from takes its place.
 */
static int find_origin(struct pm_plan **grown, const struct pm_fabric *fabric,
		       struct pm_error *err)
{
	struct pm_plan *origin;
	int rc = pm_plan_find_origin(*grown, fabric, &origin, err);

	if (rc == -ENOMEM) {
		pm_plan_free(*grown);
		*grown = NULL;
		return rc;
	}
	if (!rc && origin) {
		pm_plan_free(*grown);
		*grown = origin;
	}
	return 0; /* no plan can be made of it all: what grew goes on */
}

/*
 * With migrate, new planes are to get slots of those there are: a plan that has grown
 * by planes is made anew, and LIDs in use drift to it. The grown one stays where that
 * cannot be done.
 */
static void deal_anew(const struct plugin *plugin, const struct pm_fabric *fabric,
		      struct pm_plan **grown)
{
	struct pm_plan *remade;

	if (!plugin->config.migrate ||
	    (*grown)->tree.num_planes <= plugin->base->tree.num_planes ||
	    pm_plan_remake(*grown, fabric, &remade, NULL))
		return;
	pm_plan_free(*grown);
	*grown = remade;
}

/*
 * A new base where one is needed, else NULL. When LIDs run out because of parts that
 * left for good, the plan is made anew; then *keep is set, so that nothing moves.
 */
static int make_or_grow(const struct plugin *plugin, const struct pm_fabric *fabric,
			struct pm_plan **base, bool *keep, struct pm_error *err)
{
	struct pm_plan_config config = {
		.order = plugin->config.lid_order,
		.lmc = plugin->osm->subn.opt.lmc,
	};
	int rc = -ENOSPC;

	*base = NULL;
	if (plugin->base)
		rc = pm_plan_grow(plugin->base, fabric, base, err);
	if (!rc && *base)
		rc = find_origin(base, fabric, err);
	if (!rc && *base)
		deal_anew(plugin, fabric, base);
	if (rc != -ENOSPC)
		return rc;
	*keep |= plugin->base != NULL;
	return pm_plan_make(fabric, &config, base, err);
}

/* Every switch must be able to hold the table. */
static int check_capacity(const struct plugin *plugin, const struct pm_plan *plan,
			  struct pm_error *err)
{
	if (plan->top_lid <= plugin->osm->subn.max_ucast_lid_ho)
		return 0;
	return pm_error_set(err, -ENOSPC,
			    "the plan needs LIDs up to %u, a switch of this "
			    "fabric has room for LIDs up to %u",
			    plan->top_lid, plugin->osm->subn.max_ucast_lid_ho);
}

/* Whether two plans that were made of one base are the same. */
static bool same_places(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t num = a->known->num_ports;

	return !memcmp(a->lid, b->lid, num * sizeof(*a->lid)) &&
	       !memcmp(a->plane, b->plane, num * sizeof(*a->plane)) &&
	       !memcmp(a->turn, b->turn, num) &&
	       !memcmp(a->rank, b->rank, num * sizeof(*a->rank));
}

/* The plan whose planes ports in use are to keep, or NULL: those of the base. */
static const struct pm_plan *plan_before(const struct plugin *plugin)
{
	if (plugin->last)
		return plugin->last;
	if (!plugin->config.migrate)
		return NULL;
	return plugin->plan ? plugin->plan : plugin->base;
}

int plugin_update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
		       struct pm_error *err)
{
	struct pm_plan *base, *kept = NULL;
	uint32_t differ = 0;
	int rc;

	rc = make_or_grow(plugin, fabric, &base, &keep, err);
	if (rc)
		return rc;
	if (keep || plugin->config.migrate)
		rc = pm_plan_keep(base ? base : plugin->base, fabric, plan_before(plugin),
				  &kept, &differ, err);
	if (!rc && (kept || base))
		rc = check_capacity(plugin, kept ? kept : base, err);
	if (rc) {
		pm_plan_free(kept);
		pm_plan_free(base);
		return rc;
	}
	if (keep || plugin->config.migrate)
		plugin->out_of_plan = differ;
	if (kept && !plugin->config.migrate) {
		/* Those that differ keep their LIDs for good. */
		pm_plan_free(base);
		base = kept;
		kept = NULL;
	}
	if (kept && !base && plugin->plan && same_places(kept, plugin->plan)) {
		pm_plan_free(kept);
		return 0;
	}
	if (kept)
		return use_plan(plugin, kept, base, err);
	if (base)
		return use_plan(plugin, base, base, err);
	if (plugin->plan == plugin->base)
		return 0;
	return use_plan(plugin, plugin->base, NULL, err);
}

/* ---- The LID manager ---- */

/* Which GUID guid2lid has for each LID. */
struct owners {
	uint64_t *guid; /* [LID] 0: nobody */
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

/* Takes from a GUID all LIDs that guid2lid has for it. */
static void take_all(osm_lid_mgr_t *manager, uint64_t guid, struct owners *owners)
{
	uint16_t low, high;

	if (osm_db_guid2lid_get(manager->p_g2l, guid, &low, &high))
		return;
	for (uint32_t lid = low; lid <= high && lid <= PM_MAX_LID; lid++)
		if (owners->guid[lid] == guid) {
			owners->guid[lid] = 0;
			manager->used_lids[lid] = 0;
		}
}

/* Gives one port its LIDs; whoever had them in guid2lid before loses them there. */
static void give_lid(struct plugin *plugin, const struct grant *grant,
		     struct owners *owners)
{
	osm_lid_mgr_t *manager = &plugin->osm->sm.lid_mgr;
	uint16_t high = (uint16_t)(grant->lid + grant->num - 1), old_low, old_high;

	for (uint32_t lid = grant->lid; lid <= high; lid++) {
		uint64_t other = owners->guid[lid];

		if (!other || other == grant->guid)
			continue;
		take_all(manager, other, owners);
		osm_db_guid2lid_delete(manager->p_g2l, other);
	}
	if (osm_db_guid2lid_get(manager->p_g2l, grant->guid, &old_low, &old_high) ||
	    old_low != grant->lid || old_high != high) {
		take_all(manager, grant->guid, owners);
		osm_db_guid2lid_set(manager->p_g2l, grant->guid, grant->lid, high);
	}
	for (uint32_t lid = grant->lid; lid <= high; lid++) {
		owners->guid[lid] = grant->guid;
		manager->used_lids[lid] = 1;
	}
	plugin->lids_assigned += grant->has != grant->lid;
	plugin->lids_moved += grant->has && grant->has != grant->lid;
}

/* The base LID that a port has now; a snapshot may leave it out. */
static uint16_t lid_in_use(const struct plugin *plugin, uint64_t guid)
{
	const osm_port_t *port =
		osm_get_port_by_guid(&plugin->osm->subn, cl_hton64(guid));

	return port ? cl_ntoh16(osm_port_get_base_lid(port)) : 0;
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
		give_lid(plugin,
			 &(struct grant){port->guid, plan->lid[place],
					 (uint16_t)pm_plan_num_lids(plan, place),
					 lid_in_use(plugin, port->guid)},
			 owners);
	}
}

/*
 * With reassign_lids OpenSM's LID manager would clear guid2lid in its first sweep as
 * master and number the ports itself. What is asked for is done here instead, by
 * giving every port the plan's LID, so the option is taken back. In later sweeps
 * OpenSM does not heed it, and neither does this: the option can be changed in a
 * running OpenSM.
 */
static bool may_reassign(const osm_subn_t *subn)
{
	return subn->opt.reassign_lids && (subn->first_time_master_sweep ||
					   subn->sm_state != IB_SMINFO_STATE_MASTER);
}

static void take_reassign(struct plugin *plugin)
{
	osm_lid_mgr_t *manager = &plugin->osm->sm.lid_mgr;

	osm_db_clear(manager->p_g2l);
	memset(manager->used_lids, 0, sizeof(manager->used_lids));
	plugin->osm->subn.opt.reassign_lids = FALSE;
}

/*
 * Leaving standby, the LID manager clears guid2lid and, if honor_guid2lid_file is
 * set, reads the file again. So the file is made to say what the plan says, and the
 * option set for this one sweep.
 */
static void survive_standby(struct plugin *plugin)
{
	osm_subn_t *subn = &plugin->osm->subn;

	if (!subn->coming_out_of_standby)
		return;
	if (osm_db_store(plugin->osm->sm.lid_mgr.p_g2l,
			 subn->opt.fsync_high_avail_files)) {
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: guid2lid cannot be stored, LIDs may move\n");
		return;
	}
	if (plugin->honor_guid2lid < 0)
		plugin->honor_guid2lid = subn->opt.honor_guid2lid_file;
	subn->opt.honor_guid2lid_file = TRUE;
}

/* How many ports of the fabric have a place, and so LIDs. */
static uint32_t count_places(const struct pm_plan *plan, const struct pm_fabric *fabric)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		bool is_switch = port->node < fabric->num_switches;

		if (is_switch ? port->num == 0 : port->peer != PM_NONE)
			count += pm_plan_place(plan, fabric, i) != PM_NONE;
	}
	return count;
}

/* Whether the fabric has run before. */
static bool has_lids(const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].lid && fabric->ports[i].node < fabric->num_switches)
			return true;
	return false;
}

static void log_conformity(const struct plugin *plugin, const struct pm_fabric *fabric)
{
	uint32_t ports = count_places(plugin->plan, fabric);

	OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
		"portmajor: %u of %u ports have the planned LID or none\n",
		ports - plugin->out_of_plan, ports);
}

/*
 * OpenSM's tables end with the last element of this vector, which is the highest LID
 * that it has seen. They are to end with the plan, whoever is away: else a block more
 * would be sent to every switch when the holder of a high LID comes.
 */
static void extend_tables(struct plugin *plugin)
{
	cl_ptr_vector_t *ports = &plugin->osm->subn.port_lid_tbl;

	if (cl_ptr_vector_get_size(ports) <= plugin->plan->top_lid)
		(void)cl_ptr_vector_set_size(ports, plugin->plan->top_lid + 1u);
}

/* So that none is kept, with migrate neither. */
static void forget_lids(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		fabric->ports[i].lid = 0;
}

static int prepare(struct plugin *plugin, struct pm_fabric *fabric, bool reassign,
		   struct owners *owners)
{
	osm_opensm_t *osm = plugin->osm;
	bool keep = !reassign && (!plugin->settled || osm->subn.coming_out_of_standby);
	bool fresh;
	int rc;

	if (reassign) {
		plugin_drop_plan(plugin);
		forget_lids(fabric);
	} else if (!plugin->settled) {
		plugin_check_plan(plugin, fabric);
	}
	fresh = !plugin->base;
	rc = plugin_update_plan(plugin, fabric, keep, &plugin->failure);
	if (!rc && !plugin->settled && !reassign) {
		if (fresh && has_lids(fabric))
			pm_plan_set_held(plugin->base, true);
		plugin->strict = fresh && !plugin->out_of_plan;
		plugin->reread = true;
	}
	if (!rc)
		rc = plugin_compute(plugin, fabric, true, &plugin->failure);
	plugin->reread = plugin->strict = false;
	if (rc)
		return rc;
	if (keep)
		log_conformity(plugin, fabric);
	plugin->settled = true;
	/* Before anything follows it: killed in this sweep, we go on with this plan. */
	plugin_save_plans(plugin);
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	plugin_note_intact(plugin);
	if (reassign)
		take_reassign(plugin);
	give_all(plugin, fabric, owners);
	survive_standby(plugin);
	extend_tables(plugin);
	CL_PLOCK_RELEASE(&osm->lock);
	return 0;
}

void plugin_give_lids(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	struct owners owners = {calloc(PM_MAX_LID + 1u, sizeof(uint64_t))};
	struct pm_fabric *fabric = NULL;
	double start = plugin_clock();
	bool reassign = may_reassign(&osm->subn);
	int rc;

	plugin->failure.text[0] = '\0';
	if (!owners.guid) {
		pm_error_set(&plugin->failure, -ENOMEM, "out of memory");
		return;
	}
	if (osm->subn.opt.lmc && osm->subn.opt.lmc_esp0) {
		pm_error_set(&plugin->failure, -ENOTSUP,
			     "lmc_esp0 with LMC %u: switches "
			     "get one LID here",
			     osm->subn.opt.lmc);
		goto out;
	}
	plugin_read_roles(plugin);
	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = plugin_snapshot(plugin, plugin->config.migrate, &fabric, &plugin->failure);
	CL_PLOCK_RELEASE(&osm->lock);
	if (!rc)
		prepare(plugin, fabric, reassign, &owners);
out:
	free(owners.guid);
	pm_fabric_free(fabric);
	plugin->milliseconds += plugin_clock() - start;
}
