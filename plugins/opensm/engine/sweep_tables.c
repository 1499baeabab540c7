/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's callback: tables for OpenSM. */
#include "sweep_parts.h"

#include "mcast_sweep.h"
#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"

#include <errno.h>

/* Whether every port has no LID, or the one planned for its place. */
static bool lids_agree(const struct pm_plan *plan, const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		uint32_t place;

		if (!port->lid || !snapshot_has_place(fabric, i))
			continue;
		place = pm_plan_place(plan, fabric, i);
		if (place == PM_NONE || plan->lid[place] != port->lid)
			return false;
	}
	return true;
}

/* Whether the tables match the present fabric. */
static bool is_as_expected(const struct plugin *plugin)
{
	return view_is_current(&plugin->view, (uint64_t)clock_ms()) &&
	       subnet_cache_is_kept(&plugin->cache);
}

/* Plans with the LIDs that the LID manager gave, if they are not the planned ones. */
static int recompute(struct plugin *plugin, struct pm_error *err)
{
	const struct planning *planning = &plugin->planning;
	struct pm_fabric *fabric;
	int rc = sweep_copy_fabric(plugin, false, &fabric, err);

	if (!rc)
		rc = snapshot_finish(&plugin->roles, &fabric, err);
	if (rc)
		return rc;
	rc = routing_update_plan(plugin, fabric,
				 !planning->plan || !lids_agree(planning->plan, fabric),
				 err);
	if (!rc)
		rc = routing_compute(plugin, fabric, false, NULL, err);
	pm_fabric_free(fabric);
	return rc;
}

/* Whether OpenSM has another engine to go on to. */
static bool has_next_engine(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	while (engine && engine->context != plugin)
		engine = engine->next;
	return !plugin->osm->no_fallback_routing_engine || (engine && engine->next);
}

/* -ENOTSUP: too few of the connected pairs are reachable, now or until recently. */
static int fail_over(struct plugin *plugin, struct pm_error *err)
{
	const struct pm_plan *plan = plugin->planning.plan;
	const struct pm_reachable *reachable = &plugin->view.reachable;
	uint64_t now = (uint64_t)clock_ms(), left, then;

	if (!has_next_engine(plugin))
		return 0;
	left = pm_failback_observe(&plugin->failback, reachable, now);
	then = left == UINT64_MAX ? left : now + left + 1;
	if (!plugin->failback.failed_over) {
		if (then < plugin->view.until_ms)
			routing_request_at(plugin, then);
		return 0;
	}
	plugin->failback_in_ms = left;
	if (left == UINT64_MAX)
		return pm_reachable_refuse(reachable, plan->topology, &plan->tree, err);
	routing_request_at(plugin, then);
	return pm_error_set(
		err, -ENOTSUP,
		"the fabric is a fat tree again; portmajor routes it in %.0f s "
		"if it stays one",
		(double)left / 1e3);
}

/*
 * From now on OpenSM's Sets are out. If OpenSM writes all tables, none is known until the
 * Sets are answered: the repairer's view is void, and this returns false. The same holds
 * for a plan that was made just now. offer_view hands the view over later.
 */
static bool commit_view(struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;

	sweep_set_phase(plugin, PHASE_ROUTING);
	if (!plugin->repairer)
		return false;
	if (subn->need_update || subn->sm_state != IB_SMINFO_STATE_MASTER ||
	    plugin->view.detours.sm == PM_NONE) {
		repairer_void(plugin->repairer);
		return false;
	}
	return repairer_commit(plugin->repairer, &plugin->view);
}

/*
 * Writes our tables to OpenSM's arrays. OpenSM sends the blocks that differ, except those
 * of which our Sets are out. Blocks for a failure found since discovery are not in the
 * steps that were sent before (ahead.h), and could loop in OpenSM's order; so could the
 * rest of steps that a trap has interrupted. The repairer sends these, in its own order.
 * If OpenSM sends everything, whatever the switches hold, its record ignores late
 * answers. merged: such a failure was merged, and the repairer has the view.
 */
static void write_tables(struct plugin *plugin, bool merged)
{
	osm_subn_t *subn = &plugin->osm->subn;
	struct smp_block blocks[SMP_SLOTS];
	struct lft_records_withheld withheld = {blocks, 0, merged};
	uint64_t set = plugin->smps ? smp_count_set(plugin->smps) : 0;
	const struct view *view = &plugin->view;
	const struct lft_records_drains drains = {
		view->drained, view->drains.num ? view->discovered : NULL};

	plugin->sweep.run.everything = subn->need_update != 0;
	if (plugin->smps && subn->need_update)
		smp_disown(plugin->smps);
	else if (plugin->smps)
		withheld.num = smp_list_out(plugin->smps, blocks);
	if (plugin->sweep.set != set)
		pm_stale_outdate(&plugin->sweep.stale);
	plugin->sweep.set = set;
	lft_records_write(&plugin->lft_records, subn, plugin->planning.plan, view->routes,
			  &plugin->sweep.stale, &drains, &withheld,
			  &plugin->sweep.run.written);
}

static bool is_as_discovered(struct plugin *plugin)
{
	bool heard =
		!plugin->smps || smp_has_infos_since(plugin->smps, plugin->sweep.infos);

	return subnet_cache_is_unchanged(&plugin->cache, &plugin->osm->subn, heard);
}

/*
 * Steps that were not all sent are left to the repairer. If a block was not answered,
 * another sweep follows, but not two in a row: then OpenSM sends the rest, in any order.
 */
static void leave_steps(struct plugin *plugin)
{
	struct ahead *ahead = &plugin->sweep.run.ahead;
	bool silent = ahead->gave_up && ahead->sent && !ahead->interrupted;

	ahead->left = ahead->interrupted || (silent && !plugin->steps_failed);
	plugin->steps_failed = silent && ahead->left;
}

/* Whether the fabric consists of parts that the tables know. */
static bool is_known(struct plugin *plugin, bool discovered)
{
	if (discovered && is_as_discovered(plugin))
		return true;
	return subnet_cache_refresh(&plugin->cache, &plugin->osm->subn, NULL);
}

/*
 * Makes the tables those of the present fabric, as it may differ from what was
 * discovered; *recomputed: it does.
 */
static int update_tables(struct plugin *plugin, bool discovered, bool *recomputed,
			 struct pm_error *err)
{
	bool known = is_known(plugin, discovered);
	int rc = 0;

	*recomputed = !known || !is_as_expected(plugin);
	if (*recomputed && known && routing_is_covered(plugin))
		rc = routing_recompute(plugin, false, err);
	else if (*recomputed)
		rc = recompute(plugin, err);
	if (!rc)
		subnet_cache_keep(&plugin->cache);
	return rc;
}

/*
 * step: how far the sweep had come. merged: a failure found since discovery was merged
 * into the view.
 */
static int build_tables(struct plugin *plugin, enum sweep_step step, bool merged,
			struct pm_error *err)
{
	struct plugin_run *run = &plugin->sweep.run;
	bool discovered = step == SWEEP_TABLES, committed;
	int rc = sweep_check_options(plugin, err);

	if (rc)
		return rc;
	*run = (struct plugin_run){.ahead = plugin->sweep.ahead};
	plugin->sweep.ahead = (struct ahead){.sent = 0};
	rc = update_tables(plugin, discovered, &run->recomputed, err);
	if (!rc)
		rc = fail_over(plugin, err);
	if (!rc && (!discovered || run->recomputed))
		rc = routing_find_stale(plugin, false, err);
	if (rc)
		return rc;
	log_stale(plugin);
	run->stale = plugin->sweep.stale.num;
	run->loops = plugin->sweep.stale.loops;
	leave_steps(plugin);
	merged |= plugin->repair && run->ahead.left;
	committed = commit_view(plugin);
	write_tables(plugin, committed && merged);
	pm_stale_free(&plugin->sweep.stale);
	view_written(&plugin->view);
	return 0;
}

/* OpenSM goes on to its next engine. */
static int decline(struct plugin *plugin, const struct pm_error *err)
{
	sweep_set_phase(plugin, PHASE_ROUTING);
	sweep_leave_view(plugin);
	/* Joins may come before any engine has routed, without an event. */
	mcast_quiet_leave(&plugin->quiet);
	if (!plugin->unconfigured) /* logged at the start */
		log_line(&plugin->osm->log, OSM_LOG_ERROR,
			 ": cannot route this fabric: %s", err->text);
	if (plugin->state) {
		state_note_declined(plugin->state, err);
		sweep_publish(plugin, &(struct unset){.known = true});
	}
	return -1;
}

/* Another engine is to route in shadow mode. */
static int pass(struct plugin *plugin)
{
	other_engine_begin(&plugin->other, &plugin->osm->subn);
	sweep_set_phase(plugin, PHASE_ROUTING);
	return -1;
}

int sweep_build_tables(struct plugin *plugin)
{
	struct sweep *sweep = &plugin->sweep;
	enum sweep_step step = sweep->step;
	struct pm_error err = {""};
	double elapsed, start = clock_ms();
	bool merged;

	plugin->requested = true;
	if (plugin->config.shadow)
		return pass(plugin);
	sweep->step = SWEEP_NOTHING; /* used up */
	if (plugin->repairer) {
		repairer_halt(plugin->repairer);
		repairer_settle_returns(plugin->repairer, false);
	}
	merged = sweep_merge_failed(plugin);
	if (step != SWEEP_TABLES) {
		sweep_take_drains(plugin, false);
		sweep_take_balance(plugin, false);
	}
	if (step == SWEEP_FAILURE)
		return decline(plugin, &sweep->failure);
	if (build_tables(plugin, step, merged, &err))
		return decline(plugin, &err);
	elapsed = clock_ms() - start;
	sweep->run.locked_ms = sweep->locked_ms + elapsed;
	sweep->run.milliseconds = sweep->milliseconds + elapsed;
	sweep->locked_ms = sweep->milliseconds = 0;
	sweep->step = SWEEP_HANDED;
	if (plugin->repairer && sweep->run.written.withheld)
		repairer_resend(plugin->repairer);
	return 0;
}
