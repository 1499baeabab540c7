/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* After a discovery: the plan, tables and LIDs for what it found. */
#include "sweep_parts.h"

#include "mcast_sweep.h"
#include "settings.h"
#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"
#include "osm/sweep_flags.h"

#include <errno.h>
#include <stdlib.h>

#define FIND_MS 5000	/* the first plan's longest wait for files to be read */
#define PLAN_MS 2000	/* LIDs' longest wait for the plan to be on disk .. */
#define PLAN_TRAP_MS 50 /* .. if a trap reports something new */

/* Clears LIDs, so that no port keeps one, not even with migrate. */
static void forget_lids(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		fabric->ports[i].lid = 0;
}

/* Makes the plan and the tables for the discovered fabric. */
static int plan_and_compute(struct plugin *plugin, struct pm_fabric *fabric,
			    bool reassign, struct pm_error *err)
{
	bool standby = plugin->osm->subn.coming_out_of_standby;
	struct routing_found found = {.same_plan = false};
	bool settled;
	int rc;

	if (standby && !reassign)
		sweep_forget_if_outdated(plugin, fabric);
	settled = plugin->planning.phase == PLANNING_SETTLED;
	if (reassign) {
		store_discard(plugin->store);
		routing_forget(plugin);
		forget_lids(fabric);
		rc = routing_update_plan(plugin, fabric, false, err);
	} else if (!settled) {
		rc = sweep_settle_plan(plugin, fabric, &found, err);
	} else {
		rc = routing_update_plan(plugin, fabric, standby, err);
	}
	if (!rc)
		rc = routing_compute(plugin, fabric, true, &found, err);
	if (!rc && !reassign && (!settled || standby))
		log_conformity(plugin, fabric);
	recover_free(&found.tables);
	return rc;
}

/* Passes LIDs and tables to OpenSM. fabric NULL: all ports have their LIDs. */
static int hand_over(struct plugin *plugin, const struct pm_fabric *fabric, bool reassign,
		     struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	const struct pm_plan *plan = plugin->planning.plan;
	const struct subnet_cache *cache = &plugin->cache;
	const struct lids lids = {
		.plan = plan,
		.fabric = fabric,
		.limit = pm_lft_capacity_limit(cache->switches, cache->num_switches,
					       plan->top_lid),
		.reassign = reassign,
	};
	double start;
	int rc = 0;

	CL_PLOCK_ACQUIRE(&osm->lock);
	lft_records_note_intact(&plugin->lft_records, &osm->subn, plan,
				plugin->view.drains.num);
	CL_PLOCK_RELEASE(&osm->lock);
	groups_note_intact(plugin);
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	start = clock_ms();
	if (!fabric && sweep_is_first_engine(plugin))
		lids_make_room(&osm->subn, plan, lids.limit);
	else if (sweep_is_first_engine(plugin))
		rc = lids_give(osm, &lids, &plugin->sweep.given, err);
	plugin->sweep.locked_ms += clock_ms() - start;
	CL_PLOCK_RELEASE(&osm->lock);
	subnet_cache_keep(&plugin->cache);
	if (!rc && sweep_is_first_engine(plugin))
		lids_survive_standby(osm, &plugin->sweep.honor_guid2lid);
	return rc;
}

int sweep_check_options(const struct plugin *plugin, struct pm_error *err)
{
	const osm_subn_opt_t *opt = &plugin->osm->subn.opt;

	if (plugin->unconfigured)
		return pm_error_set(err, -ENOTSUP, "no configuration: %s",
				    plugin->misread.text);
	if (opt->lmc && opt->lmc_esp0)
		return pm_error_set(
			err, -ENOTSUP,
			"lmc_esp0 TRUE with lmc %u is not supported: switches get one LID",
			opt->lmc);
	return 0;
}

int sweep_copy_fabric(struct plugin *plugin, bool active_only, struct pm_fabric **fabric,
		      struct pm_error *err)
{
	int rc;

	plugin->sweep.infos = UINT64_MAX; /* LIDs will change */
	rc = subnet_cache_learn(&plugin->cache, &plugin->osm->subn, err);

	if (!rc)
		rc = snapshot_copy(&plugin->cache, &plugin->osm->subn, active_only,
				   fabric, err);
	return rc;
}

int sweep_see_fabric(struct plugin *plugin, struct pm_fabric **fabric,
		     struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	int rc;

	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = sweep_copy_fabric(plugin, plugin->config.migrate, fabric, err);
	CL_PLOCK_RELEASE(&osm->lock);
	return rc ? rc : snapshot_finish(&plugin->roles, fabric, err);
}

/* Whether discovery has found only parts with which the plan was last compared. */
static bool has_found_nothing_new(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	struct lock_share share = {&osm->lock, 0};
	bool same;

	if (osm->subn.coming_out_of_standby || osm->subn.first_time_master_sweep ||
	    !routing_is_covered(plugin))
		return false;
	if (plugin->smps)
		plugin->sweep.infos = smp_count_infos(plugin->smps);
	CL_PLOCK_ACQUIRE(&osm->lock);
	same = subnet_cache_refresh(&plugin->cache, &osm->subn, &share);
	CL_PLOCK_RELEASE(&osm->lock);
	return same;
}

/*
 * Has the plan written to disk before its LIDs are used, so that we go on with it if
 * killed in this sweep. The wait for a slow disk is bounded, and is short while a trap
 * waits for a repair. If killed without the file, we find the LIDs in guid2lid and in the
 * fabric.
 */
static void save_plan(struct plugin *plugin)
{
	double start = clock_ms(), waited = 0;

	store_save(plugin->store, &plugin->planning);
	while (waited < (sweep_flag_is_set(&plugin->osm->subn.force_heavy_sweep)
				 ? PLAN_TRAP_MS
				 : PLAN_MS) &&
	       !osm_exit_flag) {
		if (!store_await_plan(plugin->store))
			return;
		waited = clock_ms() - start;
	}
	log_line(
		&plugin->osm->log, OSM_LOG_INFO,
		": saving the plan takes more than %.0f ms: ports get LIDs before it is on disk",
		waited);
}

/* Makes the plan, tables and LIDs for all discovered parts. */
static int prepare_anew(struct plugin *plugin, struct pm_error *err)
{
	bool reassign =
		sweep_is_first_engine(plugin) && lids_may_reassign(&plugin->osm->subn);
	struct pm_fabric *fabric;
	int rc;

	rc = sweep_see_fabric(plugin, &fabric, err);
	if (rc)
		return rc;
	rc = plan_and_compute(plugin, fabric, reassign, err);
	if (!rc)
		save_plan(plugin);
	if (!rc)
		rc = hand_over(plugin, fabric, reassign, err);
	plugin->cache.covered = !rc;
	pm_fabric_free(fabric);
	return rc;
}

static int prepare(struct plugin *plugin, struct pm_error *err)
{
	int rc = sweep_check_options(plugin, err);

	if (rc)
		return rc;
	if (!has_found_nothing_new(plugin))
		return prepare_anew(plugin, err);
	rc = routing_recompute(plugin, true, err);
	return rc ? rc : hand_over(plugin, NULL, false, err);
}

/* Ends the holds that operators' releases name. */
static void release_holds(struct plugin *plugin)
{
	struct pm_request_parts releases;
	uint32_t cleared;

	if (!sweep_may_release(plugin) ||
	    !kept_requests_take_releases(plugin->requests, &releases))
		return;
	cleared = plugin->view.damping ? holds_clear(&plugin->view, &releases) : 0;
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 ": %u hold%s of flapping links ended by a release", cleared,
		 cleared == 1 ? "" : "s");
	for (uint32_t i = 0; i < releases.num; i++)
		if (!releases.list[i].guid)
			pm_failback_clear(&plugin->failback);
	free(releases.list);
}

/*
 * How long to wait for files. The first plan of a process with files is better than any
 * made without them, and the process has changed nothing yet. After standby there is a
 * plan in memory, and the fabric has lost its master. Shadow mode does not wait longer
 * than that.
 */
static double bound_of_files(const struct plugin *plugin)
{
	if (plugin->planning.phase == PLANNING_EMPTY && !plugin->config.shadow)
		return FIND_MS;
	return sweep_flag_is_set(&plugin->osm->subn.force_heavy_sweep) ? PLAN_TRAP_MS
								       : PLAN_MS;
}

/*
 * Waits for files being read: operators' files after OpenSM's start, and plans if this
 * sweep wants them. Both reads began before the discovery that is over now.
 */
static void await_files(struct plugin *plugin)
{
	double start = clock_ms(), waited = 0;
	bool late;

	while (waited < bound_of_files(plugin) && !osm_exit_flag) {
		if (!store_await_poll(plugin->store) &&
		    !operator_files_await(plugin->operator_files))
			return;
		waited = clock_ms() - start;
	}
	late = store_give_up(plugin->store);
	late |= operator_files_give_up(plugin->operator_files);
	if (late)
		log_line(
			&plugin->osm->log, OSM_LOG_ERROR,
			": files in the cache folder are not read after %.0f ms: going on "
			"without them, with LIDs in use as they are",
			waited);
}

/*
 * Whether this discovery covers all traps so far. OpenSM sets the flag before it reports
 * a trap, and clears it when a discovery begins. So if the flag is clear, and no trap
 * comes meanwhile, that discovery began after all traps that have come, but for those
 * that the plugin took.
 */
static bool are_covered(const void *context)
{
	const struct plugin *plugin = context;
	const osm_subn_t *subn = &plugin->osm->subn;

	return subn->opt.sweep_on_trap && !sweep_flag_is_set(&subn->force_heavy_sweep) &&
	       !(plugin->throttle && throttle_has_trap(plugin->throttle));
}

/* After a discovery: it decides about ports found failed, or back, before it began. */
static void trust_discovery(struct plugin *plugin)
{
	uint8_t *failed = plugin->view.failed;

	for (uint32_t i = 0; i < view_num_ports(&plugin->view); i++)
		failed[i] = failed[i] & 1 ? failed[i] : 0; /* not .._BEFORE */
}

void sweep_discovered(struct plugin *plugin)
{
	struct sweep *sweep = &plugin->sweep;
	double start = clock_ms();
	int rc;

	sweep_set_phase(plugin, PHASE_MANAGEMENT);
	if (plugin->repairer)
		repairer_end_returns(plugin->repairer);
	trust_discovery(plugin);
	sweep_merge_known(plugin);
	if (!sweep_is_first_engine(plugin))
		sweep_leave_view(plugin);
	await_files(plugin);
	if (plugin->repair)
		repair_skip_covered(plugin->repair, are_covered, plugin);
	/* Discovery may have begun anew, without HEAVY_SWEEP_START. */
	operator_files_poll(plugin->operator_files);
	if (operator_files_take_roles(plugin->operator_files, &plugin->roles)) {
		plugin->cache.covered = false;
		plugin->subnet_hash = (struct snapshot_hash){0};
	}
	settings_take(plugin);
	if (plugin->config.shadow)
		return;	       /* shadow mode routes afterwards */
	release_holds(plugin); /* else they would request sweep after sweep */
	if (!sweep_is_wanted(plugin))
		return;
	sweep_take_drains(plugin, true);
	sweep_take_balance(plugin, true);
	rc = prepare(plugin, &sweep->failure);
	if (!rc)
		rc = routing_find_stale(plugin, true, &sweep->failure);
	sweep->step = rc ? SWEEP_FAILURE : SWEEP_TABLES;
	if (!rc)
		log_changes(plugin);
	if (!rc && plugin->repairer)
		repairer_prepare(plugin->repairer, &plugin->view);
	sweep->milliseconds += clock_ms() - start;
}
