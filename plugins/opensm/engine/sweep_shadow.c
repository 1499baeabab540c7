/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shadow mode: computes tables after another engine has routed, and sends nothing. */
#include "sweep_parts.h"

#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"

#include <inttypes.h>

/*
 * Makes the plan with the LIDs in use, and the tables for the present fabric. With no
 * lock held: the engine that routes has given LIDs and sent its tables.
 */
static int compute_shadow(struct plugin *plugin, struct pm_error *err)
{
	struct routing_found found = {.same_plan = false};
	struct pm_fabric *fabric;
	int rc = sweep_check_options(plugin, err);

	if (rc)
		return rc;
	rc = sweep_see_fabric(plugin, &fabric, err);
	if (rc)
		return rc;
	if (plugin->planning.phase != PLANNING_SETTLED)
		rc = sweep_settle_plan(plugin, fabric, &found, err);
	else
		rc = routing_update_plan(plugin, fabric, true, err);
	if (!rc)
		rc = routing_compute(plugin, fabric, true, &found, err);
	recover_free(&found.tables);
	pm_fabric_free(fabric);
	return rc;
}

/* Counts what the engine that routed has sent. */
static void note_other_engine(struct plugin *plugin, struct state_shadow *done)
{
	const osm_routing_engine_t *used = plugin->osm->routing_engine_used;

	CL_PLOCK_ACQUIRE(&plugin->osm->lock);
	if (other_engine_end(&plugin->other, &plugin->osm->subn, &done->sent) && used)
		done->engine = used->name;
	CL_PLOCK_RELEASE(&plugin->osm->lock);
}

void sweep_run_shadow(struct plugin *plugin)
{
	char change[PLUGIN_CHANGE_TEXT];
	struct shadow_result found;
	struct state_shadow done = {.change = change, .found = &found};
	struct pm_error err = {""};
	double start = clock_ms();
	int rc;

	note_other_engine(plugin, &done);
	rc = compute_shadow(plugin, &err);
	if (!rc) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		rc = shadow_compute(&plugin->shadow, &plugin->osm->subn,
				    plugin->planning.plan, plugin->view.routes, &found,
				    &err);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	}
	done.number = ++plugin->runs;
	if (rc) {
		log_line(&plugin->osm->log, OSM_LOG_INFO,
			 " shadow %" PRIu64 ": would not route this fabric: %s",
			 done.number, err.text);
		done.change = err.text;
		done.found = NULL;
	} else {
		view_log(&plugin->view, change, sizeof(change));
		done.out_of_plan = plugin->planning.out_of_plan;
		done.milliseconds = clock_ms() - start;
		log_shadow(plugin, &done);
	}
	if (plugin->state)
		state_note_shadow(plugin->state, &done);
	sweep_note_engine(plugin);
	sweep_publish(plugin, NULL);
}
