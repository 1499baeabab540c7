/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "routing.h"

#include "say.h"
#include "tell.h"
#include "wait.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

int routing_update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
			struct pm_error *err)
{
	const struct planning_request request = {
		.fabric = fabric,
		.config = {.order = plugin->config.lid_order,
			   .lmc = plugin->osm->subn.opt.lmc},
		.max_lid = pm_fitness_max_lid(plugin->switches, plugin->num_switches),
		.migrate = plugin->config.migrate,
		.keep = keep,
		.evidence = plugin->evidence,
	};
	struct planning_change change;
	bool odd;
	int rc = planning_propose(&plugin->planning, &request, &change, err);

	if (rc)
		return rc;
	if (change.plan) {
		rc = view_rebase(&plugin->view, change.plan, err);
		if (rc) {
			planning_discard(&plugin->planning, &change);
			return rc;
		}
		tables_forget(&plugin->tables);
		shadow_forget(&plugin->shadow);
	}
	odd = change.plan && (change.base || !plugin->planning.plan);
	planning_adopt(&plugin->planning, &change);
	if (odd)
		tell_oddities(plugin);
	tell_recall(plugin, &change.recall);
	return 0;
}

void routing_forget(struct plugin *plugin)
{
	view_forget(&plugin->view);
	tables_forget(&plugin->tables);
	planning_forget(&plugin->planning);
	pm_evidence_free(plugin->evidence);
	plugin->evidence = NULL;
	plugin->run.pending = false;
}

/* The place of the port that OpenSM itself uses, and what its options ask for. */
static struct pm_detours find_detours(const struct plugin *plugin,
				      const struct pm_fabric *fabric)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	uint64_t guid = cl_ntoh64(subn->sm_port_guid);
	struct pm_detours detours = {PM_NONE, subn->opt.connect_roots, NULL};

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].guid == guid && snapshot_has_place(fabric, i))
			detours.sm = pm_plan_place(plugin->planning.plan, fabric, i);
	return detours;
}

/*
 * New tables of a plan that was made of a fabric that ran already: what its switches
 * hold is kept if it is as good. With OpenSM's lock held unless `discovered`.
 */
static int keep_held(struct plugin *plugin, const struct routing_found *found,
		     bool discovered, struct pm_error *err)
{
	const struct pm_held *held = found ? found->tables.held : NULL;
	osm_opensm_t *osm = plugin->osm;
	struct recovered record = {0};
	bool adopted;
	int rc = 0;

	if (!held) {
		if (discovered)
			CL_PLOCK_ACQUIRE(&osm->lock);
		rc = recover_record(&osm->subn, plugin->planning.plan, &record, err);
		if (discovered)
			CL_PLOCK_RELEASE(&osm->lock);
		held = record.held;
	}
	if (rc)
		return rc;
	adopted = pm_routes_adopt(plugin->view.routes, held, !(found && found->strict));
	if (adopted)
		pm_routes_update(plugin->view.routes, plugin->view.alive,
				 &plugin->view.detours);
	else
		pm_plan_set_adopted(plugin->planning.base, false);
	plugin->planning.unsaved = true;
	say(&plugin->osm->log, OSM_LOG_INFO, ": tables found in the switches: %s",
	    adopted ? "kept" : "not needed");
	recover_free(&record);
	return 0;
}

void routing_look_again(struct plugin *plugin, uint64_t in_ms)
{
	plugin->look_again =
		in_ms == UINT64_MAX ? DBL_MAX : wait_clock_ms() + (double)in_ms + 1;
	if (plugin->alarm)
		alarm_set(plugin->alarm, plugin->look_again);
}

void routing_await_holds(struct plugin *plugin)
{
	routing_look_again(plugin,
			   plugin->view.flaps ? plugin->view.holds.next_ms : UINT64_MAX);
}

/* Looks at a fabric; right after discovery it is known what bounced, too. */
static int look_at(struct plugin *plugin, const struct pm_fabric *fabric, bool discovered,
		   const uint8_t *seen, const struct snapshot_doubt *doubt,
		   struct pm_error *err)
{
	struct view_sight sight = {
		.seen = seen,
		.stayed = discovered ? doubt->stayed : NULL,
		.silent = doubt->silent,
		.detours = find_detours(plugin, fabric),
		.now_ms = (uint64_t)wait_clock_ms(),
	};
	bool changed;
	int rc = view_look(&plugin->view, &sight, &changed, err);

	if (!rc)
		routing_await_holds(plugin);
	return rc;
}

static void find_doubt(const struct plugin *plugin, const uint8_t *seen,
		       const struct snapshot_doubt *doubt)
{
	snapshot_find_doubt(&plugin->osm->subn, plugin->planning.plan->known, seen,
			    doubt);
}

/* Finds switches that are kept out of the tables. */
static void judge_switches(struct plugin *plugin)
{
	pm_fitness_judge(plugin->planning.plan, plugin->switches, plugin->num_switches,
			 plugin->view.unfit, plugin->unfit, sizeof(plugin->unfit));
}

int routing_compute(struct plugin *plugin, const struct pm_fabric *fabric,
		    bool discovered, const struct routing_found *found,
		    struct pm_error *err)
{
	size_t num = plugin->planning.plan->known->num_ports + 1u;
	uint8_t *seen = malloc(3 * num);
	struct snapshot_doubt doubt;
	bool made = !plugin->view.routes;
	int rc = 0;

	if (!seen)
		return pm_error_no_memory(err);
	doubt = (struct snapshot_doubt){seen + num, seen + 2 * num};
	judge_switches(plugin);
	if (!pm_plan_match(plugin->planning.plan, fabric, seen))
		rc = pm_error_set(err, -ESTALE, "the fabric changed during the sweep");
	if (!rc && discovered) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		find_doubt(plugin, seen, &doubt);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	} else if (!rc) {
		find_doubt(plugin, seen, &doubt);
	}
	if (!rc)
		rc = look_at(plugin, fabric, discovered, seen, &doubt, err);
	if (!rc && made && plugin->planning.base->adopted)
		rc = keep_held(plugin, found, discovered, err);
	free(seen);
	return rc;
}

int routing_look_at_switches(struct plugin *plugin, struct pm_error *err)
{
	struct pm_fitness *switches;
	uint32_t num;
	int rc = snapshot_switches(&plugin->osm->subn, &switches, &num, err);

	if (rc)
		return rc;
	free(plugin->switches);
	plugin->switches = switches;
	plugin->num_switches = num;
	return 0;
}
