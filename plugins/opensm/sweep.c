/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sweep.h"

#include "move.h"
#include "recover.h"
#include "say.h"
#include "wait.h"

#include <portmajor/change.h>

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The plan ---- */

/* Whether OpenSM is to route with us at all; else LIDs are left alone. */
static bool is_first_engine(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	return engine && engine->context == plugin;
}

static void tell_oddities(const struct plugin *plugin)
{
	char text[PM_CHANGE_TEXT];

	if (pm_change_oddities(plugin->planning.base, text, sizeof(text)))
		say(&plugin->osm->log, OSM_LOG_INFO, ": note: %s", text);
}

/* Which LIDs came back by evidence, and which were given to somebody else. */
static void tell_recall(const struct plugin *plugin, const struct pm_recall *recall)
{
	char text[PM_RECALL_NAMED * 40] = "";
	size_t used = 0;

	if (recall->restored)
		say(&plugin->osm->log, OSM_LOG_INFO,
		    ": %u places have the LIDs back that they had before the plan was "
		    "lost",
		    recall->restored);
	if (!recall->given_away)
		return;
	for (uint32_t i = 0; i < recall->given_away && i < PM_RECALL_NAMED; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%u of 0x%016" PRIx64, i ? ", " : "",
					 recall->away[i].lid, recall->away[i].guid);
	say(&plugin->osm->log, OSM_LOG_INFO,
	    ": no LID is free: %u were given to others than had them before (%s%s)",
	    recall->given_away, text, recall->given_away > PM_RECALL_NAMED ? ", .." : "");
}

/* Makes or grows the plan for a fabric and puts it in force. Errors as pm_plan_make. */
static int update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
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

static void forget_plan(struct plugin *plugin)
{
	view_forget(&plugin->view);
	tables_forget(&plugin->tables);
	planning_forget(&plugin->planning);
	pm_evidence_free(plugin->evidence);
	plugin->evidence = NULL;
	plugin->run.pending = false;
}

/* ---- Tables ---- */

/* Tables that switches hold already, should they be kept. */
struct found {
	struct recovered tables; /* none: OpenSM's record is looked at instead */
	bool strict;		 /* the plan may be the one that their LIDs came from */
};

/* The place of the port that OpenSM itself uses, and what its options ask for. */
static struct pm_detours find_detours(const struct plugin *plugin,
				      const struct pm_fabric *fabric)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	uint64_t guid = cl_ntoh64(subn->sm_port_guid);
	struct pm_detours detours = {PM_NONE, subn->opt.connect_roots, NULL};

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].guid == guid && snapshot_has_place(fabric, i))
			detours.manager = pm_plan_place(plugin->planning.plan, fabric, i);
	return detours;
}

/*
 * New tables of a plan that was made of a fabric that ran already: what its switches
 * hold is kept if it is as good. With OpenSM's lock held unless `discovered`.
 */
static int keep_held(struct plugin *plugin, const struct found *found, bool discovered,
		     struct pm_error *err)
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
		pm_plan_set_held(plugin->planning.base, false);
	plugin->planning.unsaved = true;
	say(&plugin->osm->log, OSM_LOG_INFO, ": tables found in the switches: %s",
	    adopted ? "kept" : "not needed");
	recover_free(&record);
	return 0;
}

/* Has OpenSM ask for tables again so many ms from now, or UINT64_MAX: when it wants to.
 */
static void look_again(struct plugin *plugin, uint64_t in_ms)
{
	plugin->look_again =
		in_ms == UINT64_MAX ? DBL_MAX : wait_clock_ms() + (double)in_ms + 1;
	if (plugin->alarm)
		alarm_set(plugin->alarm, plugin->look_again);
}

/* As look_again, for the end of the next hold of a flapping link. */
static void await_holds(struct plugin *plugin)
{
	look_again(plugin, plugin->view.flaps ? plugin->view.holds.next_ms : UINT64_MAX);
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
		await_holds(plugin);
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

/*
 * Makes the tables those for a fabric: just discovered, with no lock held, or else with
 * OpenSM's.
 */
static int compute(struct plugin *plugin, const struct pm_fabric *fabric, bool discovered,
		   const struct found *found, struct pm_error *err)
{
	size_t num = plugin->planning.plan->known->num_ports + 1u;
	uint8_t *seen = malloc(3 * num);
	const struct snapshot_doubt doubt = {seen + num, seen + 2 * num};
	bool made = !plugin->view.routes;
	int rc = 0;

	if (!seen)
		return pm_error_set(err, -ENOMEM, "out of memory");
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
	if (!rc && made && plugin->planning.base->held)
		rc = keep_held(plugin, found, discovered, err);
	free(seen);
	return rc;
}

/* Logs which switches with end ports have no path between them, when that changes. */
static void tell_apart(struct plugin *plugin)
{
	const struct pm_apart *apart = &plugin->view.apart;
	char text[PM_CHANGE_TEXT];

	if (!apart->count && !plugin->apart)
		return;
	if (!pm_change_apart(plugin->planning.plan, apart, text, sizeof(text)))
		snprintf(text, sizeof(text),
			 "up-then-down paths join all switches with end ports again");
	if (!plugin->apart || strcmp(text, plugin->apart) != 0)
		say(&plugin->osm->log, OSM_LOG_INFO, ": note: %s", text);
	free(plugin->apart);
	plugin->apart = apart->count ? strdup(text) : NULL;
}

/* Names bad switches, when that changes. */
static void tell_unfit(struct plugin *plugin)
{
	const char *text = plugin->unfit;

	if (!strcmp(text, plugin->unfit_told))
		return;
	snprintf(plugin->unfit_told, sizeof(plugin->unfit_told), "%s", text);
	say(&plugin->osm->log, text[0] ? OSM_LOG_ERROR : OSM_LOG_INFO,
	    ": bad switches: %s", text[0] ? text : "none any more");
}

/* What is to be known of the tables, where no lock is held. */
static void tell(struct plugin *plugin)
{
	if (!plugin->planning.plan)
		return;
	tell_apart(plugin);
	tell_unfit(plugin);
	holds_tell(&plugin->view, &plugin->osm->log, &plugin->told);
}

/* Asks OpenSM what its switches say of themselves. Call with osm->lock held. */
static int look_at_switches(struct plugin *plugin, struct pm_error *err)
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

/* ---- After discovery ---- */

/* So that none is kept, with migrate neither. */
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

static void tell_conformity(const struct plugin *plugin, const struct pm_fabric *fabric)
{
	uint32_t ports = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ports += snapshot_has_place(fabric, i) &&
			 pm_plan_place(plugin->planning.plan, fabric, i) != PM_NONE;
	say(&plugin->osm->log, OSM_LOG_INFO,
	    ": %u of %u ports have the planned LID or none",
	    ports - plugin->planning.out_of_plan, ports);
}

/* Evidence of LIDs in use before, for a plan that was not, or was, read from disk. */
static int begin_evidence(struct plugin *plugin, bool fresh, struct pm_error *err)
{
	struct pm_claim *claims;
	uint32_t num;
	int rc;

	claims = lids_claims(plugin->osm, &num);
	if (!claims)
		return pm_error_set(err, -ENOMEM, "out of memory");
	rc = pm_evidence_make(claims, num, &plugin->evidence, err);
	free(claims);
	if (!rc && !fresh)
		pm_evidence_trust(plugin->evidence, plugin->planning.base);
	return rc;
}

/* The plan just made or read, with the LIDs that evidence says. */
static int recall(struct plugin *plugin, const struct pm_fabric *fabric, bool fresh,
		  const struct found *found, struct pm_error *err)
{
	int rc = begin_evidence(plugin, fresh, err);

	if (!rc && fresh && found->tables.held)
		rc = pm_evidence_add_tables(plugin->evidence, plugin->planning.plan,
					    fabric, found->tables.held, err);
	return rc ? rc : update_plan(plugin, fabric, false, err);
}

static struct store_request what_to_load(const struct plugin *plugin,
					 const struct pm_fabric *fabric)
{
	return (struct store_request){fabric, plugin->osm->subn.opt.lmc,
				      plugin->view.flaps, (uint64_t)wait_clock_ms()};
}

/* The plan on disk, if there is one for this fabric. */
static void load_plan(struct plugin *plugin, const struct pm_fabric *fabric)
{
	const struct store_request request = what_to_load(plugin, fabric);
	const struct pm_plan *base;

	store_load(plugin->store, &request, &plugin->planning);
	base = plugin->planning.base;
	if (base && base->order != plugin->config.lid_order)
		say(&plugin->osm->log, OSM_LOG_INFO,
		    ": the plan was made with lid_order %s, which stays until LIDs are "
		    "reassigned",
		    pm_lid_order_name(base->order));
}

/*
 * The first plan of this process: made of what runs, or read from disk. *found is what
 * the switches hold, which the caller frees.
 */
static int settle(struct plugin *plugin, const struct pm_fabric *fabric,
		  struct found *found, struct pm_error *err)
{
	struct planning *planning = &plugin->planning;
	bool fresh;
	int rc;

	if (planning->phase == PLANNING_EMPTY)
		load_plan(plugin, fabric);
	fresh = planning->phase == PLANNING_EMPTY;
	rc = update_plan(plugin, fabric, true, err);
	if (rc)
		return rc;
	if (fresh && has_lids(fabric))
		pm_plan_set_held(planning->base, true);
	found->strict = fresh && !planning->out_of_plan;
	if (planning->base->held && plugin->ask)
		rc = recover_read(plugin->ask, plugin->osm, planning->plan,
				  &found->tables, err);
	return rc || plugin->config.migrate ? rc
					    : recall(plugin, fabric, fresh, found, err);
}

/* Another OpenSM was the master meanwhile: its plan is known only if we share a disk. */
static void forget_if_outdated(struct plugin *plugin, const struct pm_fabric *fabric)
{
	const struct store_request request = what_to_load(plugin, fabric);

	if (plugin->planning.phase == PLANNING_SETTLED &&
	    store_has_later(plugin->store, &request))
		forget_plan(plugin);
}

/* The plan and the tables for what was discovered. */
static int plan_and_compute(struct plugin *plugin, struct pm_fabric *fabric,
			    bool reassign, struct pm_error *err)
{
	bool standby = plugin->osm->subn.coming_out_of_standby;
	struct found found = {.strict = false};
	bool settled;
	int rc;

	if (standby && !reassign)
		forget_if_outdated(plugin, fabric);
	settled = plugin->planning.phase == PLANNING_SETTLED;
	if (reassign) {
		forget_plan(plugin);
		forget_lids(fabric);
		rc = update_plan(plugin, fabric, false, err);
	} else if (!settled) {
		rc = settle(plugin, fabric, &found, err);
	} else {
		rc = update_plan(plugin, fabric, standby, err);
	}
	if (!rc)
		rc = compute(plugin, fabric, true, &found, err);
	if (!rc && !reassign && (!settled || standby))
		tell_conformity(plugin, fabric);
	recover_free(&found.tables);
	return rc;
}

/* Hands LIDs and what was seen of tables to OpenSM. */
static int hand_over(struct plugin *plugin, const struct pm_fabric *fabric, bool reassign,
		     struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	const struct pm_plan *plan = plugin->planning.plan;
	const struct lids lids = {
		.plan = plan,
		.fabric = fabric,
		.limit = pm_fitness_limit(plugin->switches, plugin->num_switches,
					  plan->top_lid),
		.reassign = reassign,
	};
	int rc = 0;

	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	tables_note_intact(&plugin->tables, &osm->subn, plan);
	if (is_first_engine(plugin))
		rc = lids_give(osm, &lids, &plugin->given, err);
	plugin->expected = snapshot_digest(&osm->subn);
	CL_PLOCK_RELEASE(&osm->lock);
	plugin->expected.lids = snapshot_planned_lids(plan, fabric);
	if (!rc && is_first_engine(plugin))
		lids_survive_standby(osm, &plugin->honor_guid2lid);
	return rc;
}

/* Reads OpenSM's GUID files anew; what cannot be read is logged once and stays. */
static void read_roles(struct plugin *plugin)
{
	const osm_subn_opt_t *opt = &plugin->osm->subn.opt;
	struct pm_role_files files = {opt->root_guid_file, opt->cn_guid_file,
				      opt->io_guid_file};
	struct pm_error err = {""};

	if (pm_roles_read(&files, &plugin->roles, &err) &&
	    strcmp(err.text, plugin->unread.text) != 0)
		say(&plugin->osm->log, OSM_LOG_ERROR, ": GUID files not used: %s",
		    err.text);
	plugin->unread = err;
}

static int prepare(struct plugin *plugin, struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	bool reassign = is_first_engine(plugin) && lids_may_reassign(&osm->subn);
	struct pm_fabric *fabric;
	int rc;

	if (osm->subn.opt.lmc && osm->subn.opt.lmc_esp0)
		return pm_error_set(err, -ENOTSUP,
				    "lmc_esp0 with LMC %u: switches get one LID here",
				    osm->subn.opt.lmc);
	read_roles(plugin);
	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = look_at_switches(plugin, err);
	if (!rc)
		rc = snapshot_take(&osm->subn, &plugin->roles, plugin->config.migrate,
				   &fabric, err);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		return rc;
	rc = plan_and_compute(plugin, fabric, reassign, err);
	/* Before anything follows it: killed in this sweep, we go on with this plan. */
	if (!rc)
		store_save(plugin->store, &plugin->planning);
	if (!rc)
		rc = hand_over(plugin, fabric, reassign, err);
	pm_fabric_free(fabric);
	return rc;
}

static void clear_holds_if_asked(struct plugin *plugin)
{
	char *path = store_path(plugin->store, "clear-holds");
	bool asked = path && holds_clear_if_asked(path);
	uint32_t links = 0;

	free(path);
	if (!asked)
		return;
	if (plugin->view.flaps)
		links = pm_flaps_clear(plugin->view.flaps, 0, 0);
	pm_yield_clear(&plugin->yield);
	say(&plugin->osm->log, OSM_LOG_INFO, ": %u links cleared of flapping", links);
}

void sweep_discovered(struct plugin *plugin)
{
	double start = wait_clock_ms();

	if (plugin->config.shadow)
		return; /* afterwards, see below */
	if (!is_first_engine(plugin) && !plugin->asked &&
	    !(plugin->planning.phase == PLANNING_EMPTY && store_has_plan(plugin->store)))
		return;
	clear_holds_if_asked(plugin);
	plugin->failure.text[0] = '\0';
	if (!prepare(plugin, &plugin->failure))
		tell(plugin);
	plugin->milliseconds += wait_clock_ms() - start;
}

/* ---- The engine's callback ---- */

/* Whether every port has the LID that is planned for its place, or none. */
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

/* Whether the tables are those for what there is now. */
static bool is_as_expected(const struct plugin *plugin, const struct snapshot_digest *now)
{
	return plugin->planning.plan && plugin->view.current &&
	       now->topology == plugin->expected.topology &&
	       now->lids == plugin->expected.lids && wait_clock_ms() < plugin->look_again;
}

/* Should the LID manager have had its own ideas, plan with these. */
static int recompute(struct plugin *plugin, struct pm_error *err)
{
	const struct planning *planning = &plugin->planning;
	struct pm_fabric *fabric;
	int rc = look_at_switches(plugin, err);

	if (!rc)
		rc = snapshot_take(&plugin->osm->subn, &plugin->roles, false, &fabric,
				   err);
	if (rc)
		return rc;
	rc = update_plan(plugin, fabric,
			 !planning->plan || !lids_agree(planning->plan, fabric), err);
	if (!rc)
		rc = compute(plugin, fabric, false, NULL, err);
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

/* -ENOTSUP: too little of what cables join would be served, now or until lately. */
static int give_way(struct plugin *plugin, struct pm_error *err)
{
	const struct pm_plan *plan = plugin->planning.plan;
	const struct pm_served *served = &plugin->view.served;
	uint64_t left;

	if (!has_next_engine(plugin))
		return 0;
	left = pm_yield_observe(&plugin->yield, served, (uint64_t)wait_clock_ms());
	if (!plugin->yield.gave_way)
		return 0;
	plugin->returns_in_ms = left;
	if (left == UINT64_MAX)
		return pm_served_refuse(served, plan->known, &plan->tree, err);
	look_again(plugin, left);
	return pm_error_set(
		err, -ENOTSUP,
		"it was no fat tree until lately, and is taken back in %.0f s "
		"if it stays one",
		(double)left / 1e3);
}

static int build_tables(struct plugin *plugin, struct pm_error *err)
{
	struct plugin_run *run = &plugin->run;
	struct snapshot_digest now = snapshot_digest(&plugin->osm->subn);
	int rc = 0;

	if (plugin->failure.text[0]) {
		*err = plugin->failure;
		return -ENOENT;
	}
	*run = (struct plugin_run){.recomputed = !is_as_expected(plugin, &now)};
	if (run->recomputed)
		rc = recompute(plugin, err);
	if (!rc)
		plugin->expected = now;
	if (!rc)
		rc = give_way(plugin, err);
	if (rc)
		return rc;
	tables_write(&plugin->tables, &plugin->osm->subn, plugin->planning.plan,
		     plugin->view.routes, &run->written);
	view_tell(&plugin->view, run->change, sizeof(run->change));
	return 0;
}

int sweep_build_tables(struct plugin *plugin)
{
	struct pm_error err = {""};
	double start = wait_clock_ms();

	plugin->asked = true;
	if (plugin->config.shadow)
		return -1;
	if (build_tables(plugin, &err)) {
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: cannot route this fabric: %s\n", err.text);
		if (plugin->state) {
			state_note_declined(plugin->state, &err);
			sweep_publish(plugin);
		}
		return -1;
	}
	plugin->run.locked_ms = wait_clock_ms() - start;
	plugin->run.milliseconds = plugin->milliseconds + plugin->run.locked_ms;
	plugin->milliseconds = 0;
	plugin->run.pending = true;
	return 0;
}

/* ---- Afterwards ---- */

static void log_run(const struct plugin *plugin, uint64_t acked)
{
	const struct plugin_run *run = &plugin->run;
	const struct tables_written *written = &run->written;

	say(&plugin->osm->log, OSM_LOG_INFO,
	    " run %" PRIu64 ": %s; LFT blocks sent %" PRIu64 ", acked %" PRIu64
	    ", bound %" PRIu64 ", full load %" PRIu64 "; switches %u, whole tables %u; "
	    "entries %" PRIu64
	    "; LIDs assigned %u, moved %u, out of plan %u; computed in "
	    "%.1f ms, %.1f of these under the lock; recomputed %u",
	    plugin->runs, run->change, written->sent, acked, written->delta.bound,
	    written->full, written->switches, written->whole, written->delta.entries,
	    plugin->given.assigned, plugin->given.moved, plugin->planning.out_of_plan,
	    run->milliseconds, run->locked_ms, run->recomputed);
}

/* The pending run is over, with so many of its blocks not acknowledged. */
static void finish_run(struct plugin *plugin, uint64_t missing)
{
	struct plugin_run *run = &plugin->run;
	uint64_t sent = run->written.sent;
	struct state_run done = {
		.number = ++plugin->runs,
		.change = run->change,
		.written = &run->written,
		.acked = sent > missing ? sent - missing : 0,
		.lids_assigned = plugin->given.assigned,
		.lids_moved = plugin->given.moved,
		.out_of_plan = plugin->planning.out_of_plan,
		.milliseconds = run->milliseconds,
	};

	run->pending = false;
	log_run(plugin, done.acked);
	if (plugin->state)
		state_note_run(plugin->state, &done);
	plugin->given = (struct lids_given){0};
	if (!plugin->config.migrate)
		plugin->planning.out_of_plan = 0; /* the plan has these LIDs now */
}

static void finish_pending(struct plugin *plugin)
{
	uint64_t missing;

	if (!plugin->run.pending)
		return;
	CL_PLOCK_ACQUIRE(&plugin->osm->lock);
	missing = tables_missing(&plugin->osm->subn, &plugin->run.written);
	CL_PLOCK_RELEASE(&plugin->osm->lock);
	finish_run(plugin, missing);
}

/* Why we were not asked at all. */
static const char *explain(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	if (plugin->config.shadow)
		return "shadow mode (shadow yes in portmajor.conf)";
	while (engine && engine->context != plugin)
		engine = engine->next;
	return engine ? "another engine comes before portmajor in routing_engine"
		      : "routing_engine does not name portmajor";
}

static void note_engine(struct plugin *plugin)
{
	const osm_routing_engine_t *used = plugin->osm->routing_engine_used;

	if (plugin->state)
		state_note_engine(plugin->state, used ? used->name : NULL,
				  used && used->context == plugin, explain(plugin));
}

void sweep_publish(struct plugin *plugin)
{
	const struct state_facts facts = {
		.planning = &plugin->planning,
		.view = &plugin->view,
		.apart = plugin->apart,
		.misread = plugin->misread.text,
		.gave_way = plugin->yield.gave_way,
		.returns_in_ms = plugin->returns_in_ms,
		.drains_unread = plugin->drains ? drains_unread(plugin->drains) : "",
	};

	if (plugin->state)
		state_publish(plugin->state, &facts);
}

/* ---- Shadow mode ---- */

/*
 * The plan with the LIDs in use, and the tables for what there is, with no lock held: the
 * engine that routes has given LIDs and sent its tables.
 */
static int compute_shadow(struct plugin *plugin, struct pm_error *err)
{
	osm_opensm_t *osm = plugin->osm;
	struct found found = {.strict = false};
	struct pm_fabric *fabric;
	int rc;

	if (osm->subn.opt.lmc && osm->subn.opt.lmc_esp0)
		return pm_error_set(err, -ENOTSUP, "lmc_esp0 with LMC %u",
				    osm->subn.opt.lmc);
	read_roles(plugin);
	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = look_at_switches(plugin, err);
	if (!rc)
		rc = snapshot_take(&osm->subn, &plugin->roles, plugin->config.migrate,
				   &fabric, err);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		return rc;
	if (plugin->planning.phase != PLANNING_SETTLED)
		rc = settle(plugin, fabric, &found, err);
	else
		rc = update_plan(plugin, fabric, true, err);
	if (!rc)
		rc = compute(plugin, fabric, true, &found, err);
	recover_free(&found.tables);
	pm_fabric_free(fabric);
	return rc;
}

static void log_shadow(const struct plugin *plugin, const struct state_shadow *done)
{
	const struct shadow_result *found = done->found;
	char event[64] = "";

	if (found->has_event)
		snprintf(event, sizeof(event), "%" PRIu64 " for this, ",
			 found->event.blocks);
	say(&plugin->osm->log, OSM_LOG_INFO,
	    " shadow %" PRIu64 ": %s; would send LFT blocks %s%" PRIu64
	    " to take over, bound %" PRIu64 ", full load %" PRIu64 "; switches %" PRIu64
	    ", entries %" PRIu64 "; LIDs out of plan %u; computed in %.1f ms",
	    done->number, done->change, event, found->take_over.blocks,
	    found->take_over.bound, found->full, found->take_over.switches,
	    found->take_over.entries, done->out_of_plan, done->milliseconds);
}

/* What we would do with what OpenSM has just routed. */
static void run_shadow(struct plugin *plugin)
{
	char change[PLUGIN_CHANGE_TEXT];
	struct shadow_result found;
	struct state_shadow done = {.change = change, .found = &found};
	struct pm_error err = {""};
	double start = wait_clock_ms();
	int rc = compute_shadow(plugin, &err);

	if (!rc) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		rc = shadow_look(&plugin->shadow, &plugin->osm->subn,
				 plugin->planning.plan, plugin->view.routes, &found,
				 &err);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	}
	done.number = ++plugin->runs;
	if (rc) {
		say(&plugin->osm->log, OSM_LOG_INFO,
		    " shadow %" PRIu64 ": would not route this fabric: %s", done.number,
		    err.text);
		done.change = err.text;
		done.found = NULL;
	} else {
		view_tell(&plugin->view, change, sizeof(change));
		done.out_of_plan = plugin->planning.out_of_plan;
		done.milliseconds = wait_clock_ms() - start;
		log_shadow(plugin, &done);
	}
	if (plugin->state)
		state_note_shadow(plugin->state, &done);
	note_engine(plugin);
	sweep_publish(plugin);
}

void sweep_routed(struct plugin *plugin)
{
	if (plugin->config.shadow) {
		run_shadow(plugin);
		return;
	}
	finish_pending(plugin);
	note_engine(plugin);
	tell(plugin);
	store_save(plugin->store, &plugin->planning);
	if (plugin->view.flaps)
		store_save_holds(plugin->store, plugin->view.flaps,
				 (uint64_t)wait_clock_ms());
	if (plugin->honor_guid2lid >= 0)
		plugin->osm->subn.opt.honor_guid2lid_file = plugin->honor_guid2lid;
	plugin->honor_guid2lid = -1;
	sweep_publish(plugin);
}

/* ---- Before discovery ---- */

/* What we computed is in the switches, and OpenSM is in charge of them. */
static bool may_repair(const struct plugin *plugin)
{
	const osm_opensm_t *osm = plugin->osm;

	return plugin->ask && plugin->view.routes && plugin->view.current &&
	       plugin->planning.phase == PLANNING_SETTLED &&
	       osm->subn.sm_state == IB_SMINFO_STATE_MASTER &&
	       !osm->subn.first_time_master_sweep && !osm->subn.coming_out_of_standby &&
	       osm->routing_engine_used && osm->routing_engine_used->context == plugin &&
	       plugin->view.detours.manager != PM_NONE;
}

static void log_repair(const struct plugin *plugin, const struct repaired *done)
{
	say(&plugin->osm->log, done->links_down ? OSM_LOG_INFO : OSM_LOG_VERBOSE,
	    " repair %u: %s; traps %u, queries %u, unanswered %u, links "
	    "down %u, looks %u; LFT blocks sent %" PRIu64 ", acked %" PRIu64
	    ", bound %" PRIu64 "; switches %" PRIu64
	    "; %.1f ms from the first trap to the last answer%s%s",
	    done->number, done->change, done->traps, done->queries, done->unanswered,
	    done->links_down, done->looks, done->sent, done->acked, done->bound,
	    done->switches, done->milliseconds,
	    done->gave_up ? "; left to the sweep: " : "",
	    done->gave_up ? done->gave_up : "");
}

/* Mends what traps tell of; false: something of it is left to the sweep. */
static bool mend(struct plugin *plugin)
{
	const struct repair_subject subject = {plugin->osm, plugin->ask, &plugin->view,
					       plugin->config.early_repair_budget_ms};
	struct repaired done;

	if (!repair_run(plugin->repair, &subject, &done))
		return true;
	log_repair(plugin, &done);
	if (!done.links_down)
		return !done.gave_up;
	await_holds(plugin);
	tell(plugin);
	if (plugin->state)
		state_note_repair(plugin->state, &done);
	sweep_publish(plugin);
	return !done.gave_up;
}

/* Looks again at what was seen last, with other drains. */
static int look_anew(struct plugin *plugin)
{
	const struct view_sight sight = {
		.seen = plugin->view.seen,
		.silent = plugin->view.believed, /* nothing is learnt of it */
		.detours = plugin->view.detours,
		.now_ms = (uint64_t)wait_clock_ms(),
	};
	bool changed;
	int rc = view_look(&plugin->view, &sight, &changed, NULL);

	if (!rc)
		await_holds(plugin);
	return rc;
}

static void log_move(struct plugin *plugin, const struct moved *done)
{
	say(&plugin->osm->log, OSM_LOG_INFO,
	    " move %" PRIu64 ": other cables in use; LFT blocks sent %" PRIu64
	    ", acked %" PRIu64 ", bound %" PRIu64 "; switches %" PRIu64 "; %.1f ms%s%s",
	    ++plugin->moves, done->sent, done->acked, done->delta.bound,
	    done->delta.switches, done->milliseconds,
	    done->gave_up ? "; left to the sweep: " : "",
	    done->gave_up ? done->gave_up : "");
}

/* Goes over to tables with other drains, new paths first. */
static void move_drained(struct plugin *plugin)
{
	struct view *view = &plugin->view;
	size_t num = view->plan->known->num_ports;
	uint8_t *before = malloc(num + 1u);
	struct moved done;

	if (!before)
		return; /* the sweep does it */
	memcpy(before, view->alive, num);
	if (!look_anew(plugin)) {
		move_run(&(struct move_subject){plugin->osm, plugin->ask, view, before},
			 &done);
		log_move(plugin, &done);
	}
	free(before);
}

void sweep_start(struct plugin *plugin)
{
	bool settled = may_repair(plugin), other;

	if (store_open(plugin->store, cl_ntoh64(plugin->osm->subn.sm_port_guid)))
		sweep_publish(plugin);
	if (plugin->config.shadow)
		return;
	finish_pending(plugin);
	if (plugin->repair && settled)
		settled = mend(plugin);
	else if (plugin->repair)
		repair_skip(plugin->repair);
	other = plugin->drains && drains_reread(plugin->drains, &plugin->view.drains);
	if (other && settled)
		move_drained(plugin);
}
