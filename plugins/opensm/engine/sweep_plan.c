/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first plan of a process, or after standby: from disk, or from the running fabric.
 */
#include "sweep_parts.h"

#include "io/log.h"
#include "clock.h"

#include <errno.h>
#include <stdlib.h>

/* Whether the fabric has run before. */
static bool has_lids(const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].lid && fabric->ports[i].node < fabric->num_switches)
			return true;
	return false;
}

/* Begins the history of LIDs, for a plan just made (fresh), or for one read from disk. */
static int begin_history(struct plugin *plugin, bool fresh, struct pm_error *err)
{
	struct pm_claim *claims;
	uint32_t num;
	int rc;

	claims = lids_claims(plugin->osm, &num);
	if (!claims)
		return pm_error_no_memory(err);
	rc = pm_lid_history_make(claims, num, &plugin->history, err);
	free(claims);
	if (!rc && !fresh)
		pm_lid_history_trust(plugin->history, plugin->planning.plan);
	return rc;
}

/* Restores LIDs by LID history, in the plan just made or read. */
static int restore(struct plugin *plugin, const struct pm_fabric *fabric, bool fresh,
		   const struct routing_found *found, struct pm_error *err)
{
	int rc = begin_history(plugin, fresh, err);

	if (!rc && fresh && found->tables.installed)
		rc = pm_lid_history_add_tables(plugin->history, plugin->planning.plan,
					       fabric, found->tables.installed, err);
	return rc ? rc : routing_update_plan(plugin, fabric, false, err);
}

static struct store_request what_to_load(const struct plugin *plugin,
					 const struct pm_fabric *fabric)
{
	return (struct store_request){fabric, plugin->osm->subn.opt.lmc,
				      plugin->view.damping, (uint64_t)clock_ms()};
}

/* Loads the plan for this fabric from disk, if there is one. -ENOMEM. */
static int load_plan(struct plugin *plugin, const struct pm_fabric *fabric,
		     struct pm_error *err)
{
	const struct store_request request = what_to_load(plugin, fabric);
	const struct pm_plan *base;
	int rc = store_load(plugin->store, &request, &plugin->planning, err);

	if (rc == -EAGAIN && !plugin->config.shadow) {
		err->text[0] = '\0';
		return 0; /* a slow disk: goes on without a plan, see await_files */
	}
	if (rc)
		return rc;
	base = plugin->planning.base;
	if (base && base->order != plugin->config.lid_order)
		log_line(
			&plugin->osm->log, OSM_LOG_INFO,
			": the plan was made with lid_order %s, which stays until LIDs are reassigned",
			pm_lid_order_name(base->order));
	return 0;
}

struct recovery {
	struct plugin *plugin;
	struct routing_found *found;
	struct pm_error *err;
	int *rc;
};

/* Reads the switches' tables, on the repairer's thread. */
static void read_tables(void *context)
{
	const struct recovery *recovery = context;
	struct plugin *plugin = recovery->plugin;

	*recovery->rc = recover_read(plugin->smps, plugin->osm, plugin->planning.plan,
				     &recovery->found->tables, recovery->err);
}

int sweep_settle_plan(struct plugin *plugin, const struct pm_fabric *fabric,
		      struct routing_found *found, struct pm_error *err)
{
	struct planning *planning = &plugin->planning;
	bool fresh;
	int rc = 0;

	if (planning->phase == PLANNING_EMPTY)
		rc = load_plan(plugin, fabric, err);
	fresh = planning->phase == PLANNING_EMPTY;
	if (!rc)
		rc = routing_update_plan(plugin, fabric, true, err);
	if (!rc && fresh && has_lids(fabric))
		planning_set_adopted(planning, true);
	found->same_plan = !rc && fresh && planning->plan == planning->base;
	if (!rc && planning->plan->adopted && plugin->repairer) {
		repairer_do(plugin->repairer, read_tables,
			    &(struct recovery){plugin, found, err, &rc});
	}
	if (!rc && !plugin->config.migrate)
		rc = restore(plugin, fabric, fresh, found, err);
	if (rc)
		routing_forget(plugin);
	return rc;
}

void sweep_forget_if_outdated(struct plugin *plugin, const struct pm_fabric *fabric)
{
	const struct store_request request = what_to_load(plugin, fabric);

	if (plugin->planning.phase == PLANNING_SETTLED &&
	    store_has_later(plugin->store, &request))
		routing_forget(plugin);
}
