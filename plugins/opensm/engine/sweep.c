/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of a sweep, called at OpenSM's events and by the engine's callback. */
#include "sweep.h"

#include "mcast_sweep.h"
#include "routing.h"
#include "settings.h"
#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIND_MS 5000	/* the first plan's longest wait for files to be read */
#define PLAN_MS 2000	/* LIDs' longest wait for the plan to be on disk .. */
#define PLAN_TRAP_MS 50 /* .. if a trap reports something new */

/*
 * Whether we are OpenSM's first engine, and may route; otherwise LIDs are left alone.
 */
static bool is_first_engine(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	return !plugin->unconfigured && engine && engine->context == plugin;
}

/* ---- Results of the repairer ---- */

/* Updates the view with the last discovery, less parts found failed since. -ENOMEM. */
static int update_without_failed(struct plugin *plugin)
{
	struct view *view = &plugin->view;
	uint32_t num = view->plan->topology->num_ports;
	uint8_t *discovered = malloc(num + 1u);
	struct view_sight sight = {
		.discovered = discovered,
		.silent = view->believed, /* nothing new is known of other parts */
		.detours = view->detours,
		.now_ms = (uint64_t)clock_ms(),
	};
	bool changed;
	int rc;

	if (!discovered)
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++) {
		discovered[i] = view->discovered[i] && !view->failed[i];
		if (view->failed[i])
			view->believed[i] =
				view->discovered[i]; /* it is known to be down */
	}
	rc = view_update(view, &sight, &changed, NULL);
	free(discovered);
	return rc;
}

/*
 * Takes over the ports found failed. They stay failed until a discovery that begins
 * afterwards finds them; the present discovery may have found them before they failed.
 */
static bool merge_failed(struct plugin *plugin)
{
	struct view *view = &plugin->view;

	if (!plugin->repairer || !view->plan ||
	    !repairer_take_failed(plugin->repairer, view, view->failed))
		return false;
	if (update_without_failed(plugin))
		view->current = false; /* updated again later */
	else
		routing_request_at(plugin, view->until_ms);
	return true;
}

static uint32_t num_known(const struct plugin *plugin)
{
	return plugin->view.plan ? plugin->view.plan->topology->num_ports : 0;
}

/* After a discovery: it decides about ports found failed before it began. */
static void trust_discovery(struct plugin *plugin)
{
	uint8_t *failed = plugin->view.failed;

	for (uint32_t i = 0; i < num_known(plugin); i++)
		failed[i] = failed[i] == VIEW_FAILED_BEFORE ? 0 : failed[i];
}

/* Takes over all failures known so far, with no lock held. */
static void merge_known(struct plugin *plugin)
{
	if (!merge_failed(plugin))
		return;
	log_changes(plugin);
	sweep_publish(plugin, NULL);
}

/* A discovery's results are used for the routing that follows it, and no longer. */
static void set_phase(struct plugin *plugin, enum sweep_phase phase)
{
	plugin->phase = phase;
	if (phase != PHASE_ROUTING) {
		plugin->found = FOUND_NOTHING;
		lft_records_outdate(&plugin->lft_records);
	}
	if (plugin->repairer)
		repairer_set_phase(plugin->repairer, phase);
	if (plugin->state)
		state_note_phase(plugin->state, phase);
}

static bool has_found(const struct plugin *plugin, enum plugin_found found)
{
	return plugin->phase == PHASE_MANAGEMENT && plugin->found == found;
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

/* Hands the view over if the repairer has no valid one. With no lock held. */
static void offer_view(struct plugin *plugin)
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

/* Voids the repairer's view: another engine routes, or may, and its blocks may be out. */
static void leave_view(struct plugin *plugin)
{
	if (!plugin->repairer)
		return;
	repairer_void(plugin->repairer);
	smp_disown(plugin->smps);
}

/* Takes the present drains, from the repairer or else from the operator's file. */
static void take_drains(struct plugin *plugin, bool wait)
{
	struct view *view = &plugin->view;
	struct repairer *repairer = plugin->repairer;

	if (repairer && repairer_is_void(repairer))
		repairer = NULL;
	if (repairer ? repairer_take_drains(repairer, &view->drains, wait)
		     : operator_files_take_drains(plugin->operator_files, &view->drains))
		view->current = false;
}

/* Takes over from the repairer the entries that it has rebalanced. */
static void take_balance(struct plugin *plugin, bool wait)
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

/* ---- After discovery ---- */

/* Clears LIDs, so that no port keeps one, not even with migrate. */
static void forget_lids(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		fabric->ports[i].lid = 0;
}

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

	if (!rc && fresh && found->tables.held)
		rc = pm_lid_history_add_tables(plugin->history, plugin->planning.plan,
					       fabric, found->tables.held, err);
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

/*
 * Makes the first plan of this process from the running fabric, or reads it from disk.
 * *found: what the switches hold; the caller frees it. After a failure the next plan is
 * still the first.
 */
static int settle_plan(struct plugin *plugin, const struct pm_fabric *fabric,
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

/*
 * Forgets our plan if another OpenSM was the master meanwhile, and its later plan is on a
 * disk that we share.
 */
static void forget_if_outdated(struct plugin *plugin, const struct pm_fabric *fabric)
{
	const struct store_request request = what_to_load(plugin, fabric);

	if (plugin->planning.phase == PLANNING_SETTLED &&
	    store_has_later(plugin->store, &request))
		routing_forget(plugin);
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
		forget_if_outdated(plugin, fabric);
	settled = plugin->planning.phase == PLANNING_SETTLED;
	if (reassign) {
		routing_forget(plugin);
		forget_lids(fabric);
		rc = routing_update_plan(plugin, fabric, false, err);
	} else if (!settled) {
		rc = settle_plan(plugin, fabric, &found, err);
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
	lft_records_note_intact(&plugin->lft_records, &osm->subn, plan);
	CL_PLOCK_RELEASE(&osm->lock);
	groups_note_intact(plugin);
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	start = clock_ms();
	if (!fabric && is_first_engine(plugin))
		lids_make_room(&osm->subn, plan, lids.limit);
	else if (is_first_engine(plugin))
		rc = lids_give(osm, &lids, &plugin->given, err);
	plugin->locked_ms += clock_ms() - start;
	CL_PLOCK_RELEASE(&osm->lock);
	subnet_cache_keep(&plugin->cache);
	if (!rc && is_first_engine(plugin))
		lids_survive_standby(osm, &plugin->honor_guid2lid);
	return rc;
}

/* -ENOTSUP: OpenSM's options need something that this engine cannot do, or are unknown.
 */
static int check_options(const struct plugin *plugin, struct pm_error *err)
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

/*
 * Copies the present parts into a fabric that the caller finishes and frees. With
 * osm->lock held.
 */
static int copy_fabric(struct plugin *plugin, bool active_only, struct pm_fabric **fabric,
		       struct pm_error *err)
{
	int rc;

	plugin->infos = UINT64_MAX; /* LIDs will change */
	rc = subnet_cache_learn(&plugin->cache, &plugin->osm->subn, err);

	if (!rc)
		rc = snapshot_copy(&plugin->cache, &plugin->osm->subn, active_only,
				   fabric, err);
	return rc;
}

/* Copies the fabric that OpenSM has discovered; the caller frees *fabric. */
static int see_fabric(struct plugin *plugin, struct pm_fabric **fabric,
		      struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	int rc;

	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = copy_fabric(plugin, plugin->config.migrate, fabric, err);
	CL_PLOCK_RELEASE(&osm->lock);
	return rc ? rc : snapshot_finish(&plugin->roles, fabric, err);
}

/* Whether discovery has found only parts with which the plan was last compared. */
static bool has_found_nothing_new(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	bool same;

	if (osm->subn.coming_out_of_standby || osm->subn.first_time_master_sweep ||
	    !routing_is_covered(plugin))
		return false;
	if (plugin->smps)
		plugin->infos = smp_count_infos(plugin->smps);
	CL_PLOCK_ACQUIRE(&osm->lock);
	same = subnet_cache_refresh(&plugin->cache, &osm->subn);
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
	while (waited < (plugin->osm->subn.force_heavy_sweep ? PLAN_TRAP_MS : PLAN_MS) &&
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
	bool reassign = is_first_engine(plugin) && lids_may_reassign(&plugin->osm->subn);
	struct pm_fabric *fabric;
	int rc;

	rc = see_fabric(plugin, &fabric, err);
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
	int rc = check_options(plugin, err);

	if (rc)
		return rc;
	if (!has_found_nothing_new(plugin))
		return prepare_anew(plugin, err);
	rc = routing_recompute(plugin, true, err);
	return rc ? rc : hand_over(plugin, NULL, false, err);
}

/* Ends the holds that the file clear-holds names, if there was one. */
static void clear_holds_if_requested(struct plugin *plugin)
{
	char *text = operator_files_take_clear_holds(plugin->operator_files);
	osm_log_t *log = &plugin->osm->log;
	uint32_t cleared;

	if (!text)
		return;
	cleared = holds_clear(&plugin->view, log, text);
	log_line(log, OSM_LOG_INFO, ": %u link%s cleared of flapping", cleared,
		 cleared == 1 ? "" : "s");
	pm_failback_clear(&plugin->failback);
	free(text);
}

/* Whether OpenSM will call us for tables, as far as is known. */
static bool is_wanted(const struct plugin *plugin)
{
	return !plugin->unconfigured && (is_first_engine(plugin) || plugin->requested ||
					 (plugin->planning.phase == PLANNING_EMPTY &&
					  store_has_plan(plugin->store)));
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
	return plugin->osm->subn.force_heavy_sweep ? PLAN_TRAP_MS : PLAN_MS;
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

/* Has operators' files checked, for this sweep if that is in time. */
static void poll_files(struct plugin *plugin)
{
	bool holds = !plugin->config.shadow && is_wanted(plugin);

	operator_files_poll(plugin->operator_files,
			    holds ? store_path(plugin->store, "clear-holds") : NULL);
}

/*
 * Whether this discovery covers all traps so far. OpenSM sets the flag before it reports
 * a trap, and clears it when a discovery begins. So if the flag is clear, and no trap
 * comes meanwhile, that discovery began after all traps that have come.
 */
static bool are_covered(const void *context)
{
	const osm_subn_t *subn = context;

	return subn->opt.sweep_on_trap && !subn->force_heavy_sweep;
}

void sweep_discovered(struct plugin *plugin)
{
	double start = clock_ms();

	set_phase(plugin, PHASE_MANAGEMENT);
	trust_discovery(plugin);
	merge_known(plugin);
	if (!is_first_engine(plugin))
		leave_view(plugin);
	await_files(plugin);
	if (plugin->repair)
		repair_skip_covered(plugin->repair, are_covered, &plugin->osm->subn);
	/* Discovery may have begun anew, without HEAVY_SWEEP_START. */
	poll_files(plugin);
	plugin->cache.covered &=
		!operator_files_take_roles(plugin->operator_files, &plugin->roles);
	settings_take(plugin);
	if (plugin->config.shadow)
		return;			  /* shadow mode routes afterwards, see below */
	clear_holds_if_requested(plugin); /* else it would request sweep after sweep */
	if (!is_wanted(plugin))
		return;
	take_drains(plugin, true);
	take_balance(plugin, true);
	plugin->found = prepare(plugin, &plugin->failure) ||
					routing_find_stale(plugin, true, &plugin->failure)
				? FOUND_FAILURE
				: FOUND_TABLES;
	if (plugin->found == FOUND_TABLES) {
		log_changes(plugin);
		if (plugin->repairer)
			repairer_prepare(plugin->repairer, &plugin->view);
	}
	plugin->milliseconds += clock_ms() - start;
}

/* ---- The engine's callback ---- */

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
	int rc = copy_fabric(plugin, false, &fabric, err);

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

	set_phase(plugin, PHASE_ROUTING);
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

	plugin->run.everything = subn->need_update != 0;
	if (plugin->smps && subn->need_update)
		smp_disown(plugin->smps);
	else if (plugin->smps)
		withheld.num = smp_list_out(plugin->smps, blocks);
	lft_records_write(&plugin->lft_records, subn, plugin->planning.plan,
			  plugin->view.routes, &plugin->stale, &withheld,
			  &plugin->run.written);
}

static bool is_as_discovered(struct plugin *plugin)
{
	bool heard = !plugin->smps || smp_has_infos_since(plugin->smps, plugin->infos);

	return subnet_cache_is_unchanged(&plugin->cache, &plugin->osm->subn, heard);
}

/*
 * Steps that were not all sent are left to the repairer. If a block was not answered,
 * another sweep follows, but not two in a row: then OpenSM sends the rest, in any order.
 */
static void leave_steps(struct plugin *plugin)
{
	struct ahead *ahead = &plugin->run.ahead;
	bool silent = ahead->gave_up && ahead->sent && !ahead->interrupted;

	ahead->left = ahead->interrupted || (silent && !plugin->steps_failed);
	plugin->steps_failed = silent && ahead->left;
}

/* merged: a failure found since discovery was merged into the view. */
static int build_tables(struct plugin *plugin, bool merged, struct pm_error *err)
{
	struct plugin_run *run = &plugin->run;
	struct subnet_cache *cache = &plugin->cache;
	osm_subn_t *subn = &plugin->osm->subn;
	bool known, found = has_found(plugin, FOUND_TABLES);
	int rc = 0;

	if (has_found(plugin, FOUND_FAILURE)) {
		*err = plugin->failure;
		return -ENOENT;
	}
	rc = check_options(plugin, err);
	if (rc)
		return rc;
	known = (found && is_as_discovered(plugin)) || subnet_cache_refresh(cache, subn);
	*run = (struct plugin_run){.recomputed = !known || !is_as_expected(plugin),
				   .ahead = plugin->ahead};
	plugin->ahead = (struct ahead){.sent = 0};
	if (run->recomputed)
		rc = known && routing_is_covered(plugin)
			     ? routing_recompute(plugin, false, err)
			     : recompute(plugin, err);
	if (!rc)
		subnet_cache_keep(cache);
	if (!rc)
		rc = fail_over(plugin, err);
	if (!rc && (!found || run->recomputed))
		rc = routing_find_stale(plugin, false, err);
	if (rc)
		return rc;
	log_stale(plugin);
	run->stale = plugin->stale.num;
	run->loops = plugin->stale.loops;
	leave_steps(plugin);
	merged |= plugin->repair && run->ahead.left;
	write_tables(plugin, commit_view(plugin) && merged);
	pm_stale_free(&plugin->stale);
	view_written(&plugin->view);
	return 0;
}

int sweep_build_tables(struct plugin *plugin)
{
	struct pm_error err = {""};
	double elapsed, start = clock_ms();
	bool merged;

	plugin->requested = true;
	if (plugin->config.shadow) {
		other_engine_begin(&plugin->other, &plugin->osm->subn);
		set_phase(plugin, PHASE_ROUTING);
		return -1;
	}
	if (plugin->repairer)
		repairer_halt(plugin->repairer);
	merged = merge_failed(plugin);
	if (!has_found(plugin, FOUND_TABLES)) {
		take_drains(plugin, false);
		take_balance(plugin, false);
	}
	if (build_tables(plugin, merged, &err)) {
		set_phase(plugin, PHASE_ROUTING);
		leave_view(plugin);
		/* Joins may come before any engine has routed, without an event. */
		mcast_quiet_leave(&plugin->quiet);
		if (!plugin->unconfigured) /* logged at the start */
			log_line(&plugin->osm->log, OSM_LOG_ERROR,
				 ": cannot route this fabric: %s", err.text);
		if (plugin->state) {
			state_note_declined(plugin->state, &err);
			sweep_publish(plugin, &(struct unset){.known = true});
		}
		return -1;
	}
	elapsed = clock_ms() - start;
	plugin->run.locked_ms = plugin->locked_ms + elapsed;
	plugin->run.milliseconds = plugin->milliseconds + elapsed;
	plugin->locked_ms = plugin->milliseconds = 0;
	plugin->run.ours = true;
	if (plugin->repairer && plugin->run.written.withheld)
		repairer_resend(plugin->repairer);
	return 0;
}

/* ---- Afterwards ---- */

/* Blocks sent before OpenSM's turn count in this run as well. */
static void add_ahead(struct plugin_run *run)
{
	const struct ahead *ahead = &run->ahead;

	if (!ahead->sent)
		return;
	run->written.sent += ahead->sent;
	run->written.delta = ahead->delta;
	if (run->written.switches < ahead->delta.switches)
		run->written.switches = (uint32_t)ahead->delta.switches;
}

/*
 * Describes what the run was for. In its first sweep as master OpenSM sends all tables,
 * whatever the switches hold, and parts that came since nothing was known are no news.
 */
static void describe_run(struct plugin *plugin)
{
	static const char first[] = "first sweep as master: all tables written";
	struct plugin_run *run = &plugin->run;
	char change[PLUGIN_CHANGE_TEXT];
	bool news;

	view_log(&plugin->view, change, sizeof(change));
	news = plugin->runs && strcmp(change, "no change") != 0;
	if (run->everything)
		snprintf(run->change, sizeof(run->change), "%s%s%.*s", first,
			 news ? "; " : "", (int)(sizeof(change) - sizeof(first) - 2),
			 news ? change : "");
	else
		snprintf(run->change, sizeof(run->change), "%s", change);
}

/* Ends the pending run, of which so many blocks were not acknowledged. */
static void finish_run(struct plugin *plugin, uint64_t missing)
{
	struct plugin_run *run = &plugin->run;
	double start = clock_ms();
	uint64_t sent = run->written.sent, acked = sent > missing ? sent - missing : 0;
	struct state_run done;

	describe_run(plugin);
	run->milliseconds += clock_ms() - start;
	acked += run->ahead.acked;
	add_ahead(run);
	done = (struct state_run){
		.number = ++plugin->runs,
		.change = run->change,
		.written = &run->written,
		.acked = acked,
		.lids_assigned = plugin->given.assigned,
		.lids_moved = plugin->given.moved,
		.out_of_plan = plugin->planning.out_of_plan,
		.stale = run->stale,
		.loops = run->loops,
		.milliseconds = run->milliseconds,
	};

	run->ours = false;
	log_ahead(plugin);
	log_run(plugin, done.acked);
	if (plugin->state)
		state_note_run(plugin->state, &done);
	plugin->given = (struct lids_given){0};
}

static void finish_pending(struct plugin *plugin)
{
	struct smp_block blocks[SMP_SLOTS];
	struct lft_records_withheld ours = {blocks, 0, false};
	uint64_t missing = 0;

	if (!plugin->run.ours)
		return;
	if (plugin->run.written.sent) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		if (plugin->smps)
			ours.num = smp_list_out(plugin->smps, blocks);
		missing = lft_records_missing(&plugin->osm->subn, &plugin->run.written,
					      &ours);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	}
	finish_run(plugin, missing);
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

/* A verdict comes after the engine that it is about, see state_note_verdict. */
static void note_engine(struct plugin *plugin)
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
	};

	operator_files_drains_error(plugin->operator_files, &unread);
	if (plugin->state)
		state_publish(plugin->state, &facts);
	free(degraded);
	pm_missing_free(&missing);
}

/* ---- Shadow mode ---- */

/*
 * Makes the plan with the LIDs in use, and the tables for the present fabric. With no
 * lock held: the engine that routes has given LIDs and sent its tables.
 */
static int compute_shadow(struct plugin *plugin, struct pm_error *err)
{
	struct routing_found found = {.same_plan = false};
	struct pm_fabric *fabric;
	int rc = check_options(plugin, err);

	if (rc)
		return rc;
	rc = see_fabric(plugin, &fabric, err);
	if (rc)
		return rc;
	if (plugin->planning.phase != PLANNING_SETTLED)
		rc = settle_plan(plugin, fabric, &found, err);
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

/* Computes our tables for the fabric that OpenSM has just routed. */
static void run_shadow(struct plugin *plugin)
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
	note_engine(plugin);
	sweep_publish(plugin, NULL);
}

/*
 * Finds the switches without the tables of the run that has ended. If the repairer has
 * blocks of it to send, it finds them afterwards. Those that are left are tried again
 * later: OpenSM itself does so only for blocks without any answer.
 */
static void find_unset(struct plugin *plugin, struct unset *unset)
{
	bool ours = plugin->run.ours && plugin->view.current && plugin->smps;

	*unset = (struct unset){.known = !ours};
	if (ours && !plugin->run.written.withheld)
		unset_find(plugin->osm, plugin->smps, &plugin->view, unset);
	if (plugin->repairer && repairer_has_failed(plugin->repairer))
		unset->known = unset->settled = false; /* it has sent other tables */
	atomic_store(&plugin->unset, !unset->settled);
	if (ours && !unset->settled)
		routing_request_by(plugin, (uint64_t)clock_ms() + REPAIRER_REST_MS);
}

/*
 * Whether the last discovery found a part up that a repair found failed after it began:
 * another discovery has to decide.
 */
static bool has_discovered_failure(const struct plugin *plugin)
{
	const struct view *view = &plugin->view;

	return view->plan && view->plan == plugin->cache.plan &&
	       subnet_cache_sees_any(&plugin->cache, view->failed);
}

/* Puts the fabric, as routed by any engine, into its file. */
static void put_fabric(struct plugin *plugin)
{
	struct pm_fabric *fabric;

	if (plugin->fabric_file &&
	    !snapshot_now(plugin->osm, &plugin->roles, &fabric, NULL))
		fabric_file_put(plugin->fabric_file, fabric);
}

void sweep_routed(struct plugin *plugin, bool reroute)
{
	bool steps_failed = plugin->run.ours && plugin->steps_failed;
	struct unset unset;

	if (!plugin->config.shadow) {
		offer_view(plugin);
		groups_route(plugin); /* before anything but repairs changes tables */
		find_unset(plugin, &unset); /* likewise */
	}
	set_phase(plugin, reroute ? PHASE_IDLE : PHASE_LINKS);
	put_fabric(plugin);
	if (plugin->config.shadow) {
		operator_files_routed(plugin->operator_files, &plugin->roles);
		run_shadow(plugin);
		return;
	}
	finish_pending(plugin);
	note_engine(plugin);
	log_changes(plugin);
	store_save(plugin->store, &plugin->planning);
	if (plugin->view.damping)
		store_save_holds(plugin->store, plugin->view.damping,
				 (uint64_t)clock_ms());
	if (plugin->honor_guid2lid >= 0)
		plugin->osm->subn.opt.honor_guid2lid_file = plugin->honor_guid2lid;
	plugin->honor_guid2lid = -1;
	sweep_publish(plugin, &unset);
	free(unset.list);
	if (has_discovered_failure(plugin) || steps_failed)
		plugin->osm->subn.force_heavy_sweep = TRUE; /* read when it ends */
	operator_files_routed(plugin->operator_files, &plugin->roles);
}

/* ---- Before discovery ---- */

/*
 * Repairs reported failures before discovery begins, which would delay the repairs; the
 * rest goes on beside discovery.
 */
static void begin_discovery(struct plugin *plugin)
{
	struct repairer *repairer = plugin->repairer;

	if (!repairer)
		return;
	merge_known(plugin); /* before the view may be handed over */
	/*
	 * If OpenSM was the master when it was given mastership, the flag is still set.
	 */
	if (plugin->osm->subn.coming_out_of_standby)
		leave_view(plugin);
	else
		offer_view(plugin);
	if (repairer_is_valid(repairer))
		repairer_finish(repairer, atomic_load(&plugin->early_repair)
						  ? REPAIR_FIRST_TRAP_MS
						  : 0);
	else if (plugin->repair)
		repair_skip(plugin->repair, UINT32_MAX);
	merge_known(plugin);
}

static bool wants_plans(const struct plugin *plugin)
{
	if (plugin->planning.phase != PLANNING_SETTLED)
		return plugin->config.shadow || plugin->unconfigured || is_wanted(plugin);
	return plugin->osm->subn.coming_out_of_standby && !plugin->config.shadow;
}

/* Opens the port's folder; its files are read while OpenSM discovers. */
static void open_store(struct plugin *plugin)
{
	uint64_t guid = cl_ntoh64(plugin->osm->subn.sm_port_guid);
	bool first = store_open(plugin->store, guid);

	if (first || wants_plans(plugin))
		store_poll(plugin->store);
	if (first)
		sweep_publish(plugin, NULL);
}

void sweep_start(struct plugin *plugin)
{
	open_store(plugin);
	poll_files(plugin);
	if (plugin->config.shadow)
		return;
	finish_pending(plugin);
	begin_discovery(plugin);
	set_phase(plugin, PHASE_DISCOVERY);
	for (uint32_t i = 0; i < num_known(plugin); i++)
		if (plugin->view.failed[i])
			plugin->view.failed[i] = VIEW_FAILED_BEFORE;
}

void sweep_ended(struct plugin *plugin)
{
	set_phase(plugin, PHASE_IDLE);
}
