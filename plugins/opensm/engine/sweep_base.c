/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all moments of a sweep use: whose turn it is, phases, reports. */
#include "sweep_parts.h"

#include <stdlib.h>

bool sweep_is_first_engine(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	return !plugin->unconfigured && engine && engine->context == plugin;
}

bool sweep_is_wanted(const struct plugin *plugin)
{
	return !plugin->unconfigured &&
	       (sweep_is_first_engine(plugin) || plugin->requested ||
		(plugin->planning.phase == PLANNING_EMPTY &&
		 store_has_plan(plugin->store)));
}

void sweep_set_phase(struct plugin *plugin, enum sweep_phase phase)
{
	plugin->sweep.phase = phase;
	if (phase != PHASE_ROUTING) {
		plugin->sweep.step = SWEEP_NOTHING;
		lft_records_outdate(&plugin->lft_records);
	}
	if (plugin->repairer)
		repairer_set_phase(plugin->repairer, phase);
	if (plugin->state)
		state_note_phase(plugin->state, phase);
}

bool sweep_may_release(const struct plugin *plugin)
{
	return plugin->view.plan != NULL;
}

/* Why OpenSM did not call this engine. */
static const char *explain(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	if (plugin->config.shadow)
		return "shadow mode (shadow yes in portmajor.conf)";
	while (engine && engine->context != plugin)
		engine = engine->next;
	if (!engine)
		return "routing_engine does not name portmajor";
	return plugin->osm->routing_engine_used
		       ? "another engine comes before portmajor in routing_engine"
		       : "no switch, so there is nothing to route";
}

/* Has the tables of another engine judged. */
static void check_engine(struct plugin *plugin)
{
	const osm_routing_engine_t *used = plugin->osm->routing_engine_used;

	if (plugin->check && used && used->context != plugin)
		engine_check_put(plugin->check,
				 engine_tables_copy(plugin->osm, &plugin->roles));
}

void sweep_note_engine(struct plugin *plugin)
{
	const osm_routing_engine_t *used = plugin->osm->routing_engine_used;

	if (plugin->state)
		state_note_engine(plugin->state, used ? used->name : NULL,
				  used && used->context == plugin, explain(plugin));
	check_engine(plugin);
}

/* Finds planned parts that the view lacks; false: the view is not from a discovery. */
static bool find_missing(const struct view *view, struct pm_missing *missing)
{
	return view->plan && view->current &&
	       !pm_missing_find(view->plan->topology, view->discovered, missing, NULL);
}

void sweep_publish(struct plugin *plugin, const struct unset *unset)
{
	struct pm_missing missing = {0};
	bool missing_known = find_missing(&plugin->view, &missing);
	struct pm_degraded_link *degraded;
	uint32_t num_degraded;
	bool degraded_known = degraded_links_find(&plugin->cache, &plugin->view,
						  &degraded, &num_degraded);
	struct pm_error unread;
	const struct state_facts facts = {
		.planning = &plugin->planning,
		.view = &plugin->view,
		.unreachable = plugin->unreachable,
		.unfit = plugin->unfit,
		.misread = plugin->misread.text,
		.failed_over = plugin->failback.failed_over,
		.failback_in_ms = plugin->failback_in_ms,
		.drains_unread = unread.text,
		.degraded_known = degraded_known,
		.degraded = degraded,
		.num_degraded = num_degraded,
		.missing = missing_known ? &missing : NULL,
		.unset = unset,
		.transitions = plugin->repairer && !repairer_is_void(plugin->repairer),
	};

	kept_requests_error(plugin->requests, &unread);
	if (plugin->state)
		state_publish(plugin->state, &facts);
	free(degraded);
	pm_missing_free(&missing);
}
