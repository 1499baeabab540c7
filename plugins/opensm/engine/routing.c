/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Updates the plan for the discovered fabric, and computes tables for it. */
#include "routing.h"

#include "io/log.h"
#include "io/log_events.h"
#include "clock.h"

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
		.max_lid = pm_lft_capacity_max_lid(plugin->cache.switches,
						   plugin->cache.num_switches),
		.migrate = plugin->config.migrate,
		.keep = keep,
		.history = plugin->history,
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
		lft_records_forget(&plugin->lft_records);
		shadow_forget(&plugin->shadow);
		plugin->cache.plan = NULL;
		if (plugin->repair)
			repair_set_plan(plugin->repair, change.plan);
	}
	odd = change.plan && (change.base || !plugin->planning.plan);
	planning_adopt(&plugin->planning, &change);
	if (odd)
		log_oddities(plugin, fabric);
	log_lid_restore(plugin, &change.restore);
	return 0;
}

void routing_forget(struct plugin *plugin)
{
	view_forget(&plugin->view);
	lft_records_forget(&plugin->lft_records);
	plugin->cache.plan = NULL;
	planning_forget(&plugin->planning);
	if (plugin->repair)
		repair_set_plan(plugin->repair, NULL);
	pm_lid_history_free(plugin->history);
	plugin->history = NULL;
	if (plugin->sweep.step == SWEEP_HANDED)
		plugin->sweep.step = SWEEP_NOTHING;
}

/*
 * Keeps installed tables if they are as good as new ones, where the plan was made for a
 * fabric that ran already. With OpenSM's lock held unless `discovered`.
 */
static int keep_installed(struct plugin *plugin, const struct routing_found *found,
			  bool discovered, struct pm_error *err)
{
	const struct pm_installed *installed = found ? found->tables.installed : NULL;
	osm_opensm_t *osm = plugin->osm;
	struct recovered record = {0};
	bool adopted;
	int rc = 0;

	if (!installed) {
		if (discovered)
			CL_PLOCK_ACQUIRE(&osm->lock);
		rc = recover_record(&osm->subn, plugin->planning.plan, &record, err);
		if (discovered)
			CL_PLOCK_RELEASE(&osm->lock);
		installed = record.installed;
	}
	if (rc)
		return rc;
	adopted = pm_routes_adopt(plugin->view.routes, installed,
				  !(found && found->same_plan));
	if (adopted)
		pm_routes_update(plugin->view.routes, plugin->view.usable,
				 &plugin->view.detours);
	else
		planning_set_adopted(&plugin->planning, false);
	plugin->planning.unsaved = true;
	log_line(&plugin->osm->log, OSM_LOG_INFO, ": tables found in the switches: %s",
		 adopted ? "kept where they differ from the plan's"
			 : "none is kept, as they are the plan's or of no use");
	recover_free(&record);
	return 0;
}

void routing_request_at(struct plugin *plugin, uint64_t when_ms)
{
	if (plugin->alarm)
		alarm_set(plugin->alarm,
			  when_ms == UINT64_MAX ? DBL_MAX : (double)when_ms);
}

void routing_request_by(struct plugin *plugin, uint64_t when_ms)
{
	if (plugin->alarm)
		alarm_advance(plugin->alarm, (double)when_ms);
}

/* Finds the switches that are excluded from the tables. */
static void judge_switches(struct plugin *plugin)
{
	pm_lft_capacity_judge(plugin->planning.plan, plugin->cache.switches,
			      plugin->cache.num_switches, plugin->view.unfit,
			      plugin->unfit, sizeof(plugin->unfit));
}

/* Finds the places whose LIDs are to change as their ports come up. */
static void find_drifting(struct plugin *plugin)
{
	const struct planning *planning = &plugin->planning;
	const struct pm_plan *plan = planning->plan;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		plugin->view.drifting[i] = plugin->config.migrate && planning->planned &&
					   plan->lid[i] != planning->planned[i];
}

/* Corrects discovered[port] of ports found failed, or back, since the sweep began. */
static void correct_found(const struct view *view, uint8_t *discovered)
{
	for (uint32_t i = 0; i < view->plan->topology->num_ports; i++)
		discovered[i] = view_is_up(view, i, discovered[i]);
}

/*
 * Updates the view from the fabric's ports or, if it is NULL, from the cache's. Right
 * after discovery bounced links are known, too.
 */
static int update_view(struct plugin *plugin, const struct pm_fabric *fabric,
		       bool after_discovery, struct pm_error *err)
{
	const struct pm_plan *plan = plugin->planning.plan;
	size_t num = plan->topology->num_ports + 1u;
	uint8_t *discovered = malloc(3 * num);
	struct subnet_cache_doubt doubt;
	bool changed;
	int rc = 0;

	if (!discovered)
		return pm_error_no_memory(err);
	doubt = (struct subnet_cache_doubt){discovered + num, discovered + 2 * num};
	if (!fabric)
		subnet_cache_see(&plugin->cache, discovered);
	else if (!pm_plan_match(plan, fabric, discovered))
		rc = pm_error_set(err, -ESTALE, "the fabric changed during the sweep");
	correct_found(&plugin->view, discovered);
	if (!rc) {
		const struct view_observation seen = {
			.discovered = discovered,
			.stayed = after_discovery ? doubt.stayed : NULL,
			.silent = doubt.silent,
			/* The place of OpenSM's own port, and its options. */
			.detours = {subnet_cache_sm_place(&plugin->cache),
				    plugin->osm->subn.opt.connect_roots, NULL},
			.now_ms = (uint64_t)clock_ms(),
		};

		planning_count(&plugin->planning, discovered);
		subnet_cache_find_doubt(&plugin->cache, discovered, &doubt);
		judge_switches(plugin);
		find_drifting(plugin);
		rc = view_update(&plugin->view, &seen, &changed, err);
	}
	if (!rc)
		routing_request_at(plugin, plugin->view.until_ms);
	free(discovered);
	return rc;
}

bool routing_is_covered(const struct plugin *plugin)
{
	const struct planning *planning = &plugin->planning;
	const struct subnet_cache *cache = &plugin->cache;

	if (!cache->covered || !plugin->view.routes || cache->plan != planning->plan ||
	    !cache->regular)
		return false;
	/* With migrate, a place without a port gets its planned LID back. */
	return !plugin->config.migrate || planning->plan == planning->base;
}

int routing_recompute(struct plugin *plugin, bool discovered, struct pm_error *err)
{
	struct subnet_cache *cache = &plugin->cache;

	(void)pm_lft_capacity_max_lid(cache->switches,
				      cache->num_switches); /* sorts switches */
	return update_view(plugin, NULL, discovered, err);
}

int routing_compute(struct plugin *plugin, const struct pm_fabric *fabric,
		    bool discovered, const struct routing_found *found,
		    struct pm_error *err)
{
	bool made = !plugin->view.routes;
	int rc;

	subnet_cache_bind(&plugin->cache, plugin->planning.plan);
	rc = update_view(plugin, fabric, discovered, err);
	if (!rc && made && plugin->planning.plan->adopted)
		rc = keep_installed(plugin, found, discovered, err);
	return rc;
}

/* Whether records are what switches hold, and OpenSM is about to send what differs. */
static bool may_send_ahead(const struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	const osm_routing_engine_t *used = plugin->osm->routing_engine_used;

	return plugin->repairer && used && used->context == plugin &&
	       plugin->osm->routing_engine_list->context == plugin &&
	       !plugin->failback.failed_over &&
	       subn->sm_state == IB_SMINFO_STATE_MASTER && !subn->need_update &&
	       !subn->first_time_master_sweep && !subn->coming_out_of_standby;
}

/* OpenSM's records of tables, read with its lock held. */
struct reading {
	const osm_subn_t *subn;
	const struct pm_plan *plan;
	struct lock_share *share; /* as for lock_share_step */
	struct pm_installed *installed;
	size_t switches; /* that OpenSM had when they were looked up */
};

static void look_up_records(struct reading *reading)
{
	reading->switches = cl_qmap_count(&reading->subn->sw_guid_tbl);
	lft_records_installed(reading->subn, reading->plan, true, reading->installed);
}

/* After each table: others may have the lock. */
static void share_lock(void *context)
{
	struct reading *reading = context;

	lock_share_step(reading->share);
	if (cl_qmap_count(&reading->subn->sw_guid_tbl) != reading->switches)
		look_up_records(reading);
}

/*
 * Finds stale entries from OpenSM's records and, if requested, puts LIDs that could loop
 * in OpenSM's order into *steps. With osm->lock held: shared, in parts, if share is not
 * NULL. -ENOMEM.
 */
static int find_stale(struct plugin *plugin, struct lock_share *share,
		      struct pm_installed *installed, struct pm_steps *steps)
{
	const struct view *view = &plugin->view;
	struct reading reading = {&plugin->osm->subn, view->plan, share, installed, 0};
	const struct pm_stale_input input = {
		.routes = view->routes,
		.installed = installed,
		.up = view->discovered,
		.recabled = view->recabled,
		.compared = share_lock,
		.context = &reading,
	};

	look_up_records(&reading);
	plugin->sweep.set = plugin->smps ? smp_count_set(plugin->smps) : 0;
	if (pm_stale_find(&input, &plugin->sweep.stale))
		return -ENOMEM;
	plugin->sweep.ahead = (struct ahead){.sent = 0};
	if (steps && (plugin->sweep.stale.differ || plugin->sweep.stale.num))
		ahead_find(&input, &plugin->sweep.stale, steps, &plugin->sweep.ahead);
	return 0;
}

struct ahead_errand {
	struct plugin *plugin;
	struct pm_steps *steps;
};

/*
 * Sends blocks ahead, on the repairer's thread. Meanwhile switches have some of the new
 * tables and some of the repairer's, so traps wait until the repairer has the new ones.
 */
static void send_ahead(void *context)
{
	const struct ahead_errand *errand = context;
	struct plugin *plugin = errand->plugin;
	const struct ahead_subject subject = {
		.sender = repairer_sender(plugin->repairer),
		.view = &plugin->view,
		.is_interrupted = repairer_has_traps,
		.context = plugin->repairer,
	};

	ahead_send(&subject, errand->steps, &plugin->sweep.ahead);
	if (plugin->sweep.ahead.sent)
		repairer_halt(plugin->repairer);
}

int routing_find_stale(struct plugin *plugin, bool discovered, struct pm_error *err)
{
	const struct view *view = &plugin->view;
	osm_opensm_t *osm = plugin->osm;
	struct pm_installed *installed =
		calloc(view->plan->topology->num_switches + 1u, sizeof(*installed));
	struct lock_share share = {&osm->lock, 0};
	bool ahead = discovered && may_send_ahead(plugin);
	struct pm_steps steps = {0};
	int rc;

	if (!installed)
		return pm_error_no_memory(err);
	if (discovered)
		CL_PLOCK_ACQUIRE(&osm->lock);
	rc = find_stale(plugin, discovered ? &share : NULL, installed,
			ahead ? &steps : NULL);
	if (discovered)
		CL_PLOCK_RELEASE(&osm->lock);
	free(installed);
	if (rc)
		return pm_error_no_memory(err);
	lft_records_prepare(&plugin->lft_records, view->routes,
			    discovered ? &plugin->sweep.stale : NULL);
	if (steps.num)
		repairer_do(plugin->repairer, send_ahead,
			    &(struct ahead_errand){plugin, &steps});
	pm_steps_free(&steps);
	return 0;
}
