/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Merges the results of the repairer into the sweeper's view, and hands that over to it.
 */
#include "sweep_parts.h"

#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"

#include <errno.h>
#include <stdlib.h>

/* Updates the view with the last discovery, and what was found since. -ENOMEM. */
static int update_with_found(struct plugin *plugin)
{
	struct view *view = &plugin->view;
	uint32_t num = view->plan->topology->num_ports;
	uint8_t *discovered = malloc(2 * ((size_t)num + 1));
	uint8_t *silent = discovered ? discovered + num + 1u : NULL;
	struct view_observation seen = {
		.discovered = discovered,
		.silent = silent,
		.detours = view->detours,
		.now_ms = (uint64_t)clock_ms(),
	};
	bool changed;
	int rc;

	if (!discovered)
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++) {
		bool known = view->failed[i] && view->failed[i] < VIEW_SET_DOWN;

		discovered[i] = view_is_up(view, i, view->discovered[i]);
		/* Nothing new is known of other parts. */
		silent[i] = view->believed[i] && !known;
		if (known) /* to be down */
			view->believed[i] = view->discovered[i];
	}
	rc = view_note_flaps(view, seen.now_ms);
	if (!rc)
		rc = view_update(view, &seen, &changed, NULL);
	free(discovered);
	return rc;
}

bool sweep_merge_failed(struct plugin *plugin)
{
	struct view *view = &plugin->view;

	if (!plugin->repairer || !view->plan ||
	    !repairer_take_failed(plugin->repairer, view))
		return false;
	if (update_with_found(plugin))
		view->current = false; /* updated again later */
	else
		routing_request_at(plugin, view->until_ms);
	return true;
}

void sweep_merge_known(struct plugin *plugin)
{
	if (!sweep_merge_failed(plugin))
		return;
	log_changes(plugin);
	sweep_publish(plugin, NULL);
}

/* Whether our tables are in the switches, and OpenSM is the master. */
static bool may_repair(const struct plugin *plugin)
{
	const osm_opensm_t *osm = plugin->osm;

	return plugin->repairer && plugin->view.routes && plugin->view.current &&
	       plugin->planning.phase == PLANNING_SETTLED &&
	       osm->subn.sm_state == IB_SMINFO_STATE_MASTER && osm->routing_engine_used &&
	       osm->routing_engine_used->context == plugin &&
	       plugin->view.detours.sm != PM_NONE;
}

void sweep_offer_view(struct plugin *plugin)
{
	struct repairer *repairer = plugin->repairer;

	if (!may_repair(plugin)) {
		if (repairer)
			repairer_void(repairer);
		return;
	}
	if (!repairer_is_valid(repairer) && (repairer_prepare(repairer, &plugin->view) ||
					     !repairer_commit(repairer, &plugin->view)))
		log_line(&plugin->osm->log, OSM_LOG_INFO,
			 ": out of memory: no early repair, and drains wait for a sweep");
}

void sweep_leave_view(struct plugin *plugin)
{
	if (!plugin->repairer)
		return;
	repairer_void(plugin->repairer);
	smp_disown(plugin->smps);
}

void sweep_take_drains(struct plugin *plugin, bool wait)
{
	struct view *view = &plugin->view;
	struct repairer *repairer = plugin->repairer;

	if (repairer && repairer_is_void(repairer))
		repairer = NULL;
	if (repairer && repairer_take_drains(repairer, &view->drains, wait))
		view->followed = true;
	else if (repairer ||
		 kept_requests_take_drains(plugin->requests, &view->drains) <= 0)
		return;
	view->current = false;
}

void sweep_take_balance(struct plugin *plugin, bool wait)
{
	struct view *view = &plugin->view;
	bool over = false;

	if (!plugin->repairer || !view->plan ||
	    !repairer_take_balance(plugin->repairer, view, wait, &over))
		return;
	view->current = false;
	if (!over)
		return;
	planning_set_adopted(&plugin->planning, false);
	plugin->planning.unsaved = true;
	pm_routes_free(view->routes);
	view->routes = NULL; /* made anew, with no adopted entries */
}
