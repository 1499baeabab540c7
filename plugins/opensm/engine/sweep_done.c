/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* After a routing run: what came of it. */
#include "sweep_parts.h"

#include "mcast_sweep.h"
#include "io/log_events.h"
#include "clock.h"
#include "osm/sweep_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	struct plugin_run *run = &plugin->sweep.run;
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
static void note_run(struct plugin *plugin, uint64_t missing)
{
	struct plugin_run *run = &plugin->sweep.run;
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
		.lids_assigned = plugin->sweep.given.assigned,
		.lids_changed = plugin->sweep.given.changed,
		.out_of_plan = plugin->planning.out_of_plan,
		.stale = run->stale,
		.loops = run->loops,
		.milliseconds = run->milliseconds,
	};

	log_ahead(plugin);
	log_run(plugin, done.acked);
	if (plugin->state)
		state_note_run(plugin->state, &done);
	plugin->sweep.given = (struct lids_given){0};
}

void sweep_finish_run(struct plugin *plugin)
{
	struct smp_block blocks[SMP_SLOTS];
	struct lft_records_withheld ours = {blocks, 0, false};
	uint64_t missing = 0;

	if (plugin->sweep.run.written.sent) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		if (plugin->smps)
			ours.num = smp_list_out(plugin->smps, blocks);
		missing = lft_records_missing(&plugin->osm->subn,
					      &plugin->sweep.run.written, &ours);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
	}
	note_run(plugin, missing);
}

/*
 * Whether all switches have acknowledged the run's tables, as these were in OpenSM's
 * record before, and no block has been set since.
 */
static bool is_settled(const struct plugin *plugin)
{
	bool same;

	CL_PLOCK_ACQUIRE(&plugin->osm->lock);
	same = smp_count_set(plugin->smps) == plugin->sweep.set;
	CL_PLOCK_RELEASE(&plugin->osm->lock);
	return same && plugin->sweep.run.written.equal;
}

/*
 * Finds the switches without the tables of the run that has ended. If the repairer has
 * blocks of it to send, it finds them afterwards. Those that are left are tried again
 * later: OpenSM itself does so only for blocks without any answer.
 */
static void find_unset(struct plugin *plugin, struct unset *unset)
{
	bool ours = plugin->sweep.step == SWEEP_HANDED && plugin->view.current &&
		    plugin->smps;

	*unset = (struct unset){.known = !ours};
	if (ours && is_settled(plugin))
		*unset = (struct unset){.known = true, .settled = true};
	else if (ours && !plugin->sweep.run.written.withheld)
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
	       subnet_cache_sees_any(&plugin->cache, view->failed, VIEW_FAILED_BEFORE);
}

/* Puts the fabric, as routed by any engine, into its file; handed: by this one. */
static void put_fabric(struct plugin *plugin, bool handed)
{
	const struct sweep *sweep = &plugin->sweep;
	bool fresh = handed && !sweep->run.recomputed && plugin->smps &&
		     !smp_has_infos_since(plugin->smps, sweep->infos);
	struct pm_fabric *fabric;

	if (!plugin->fabric_file ||
	    snapshot_changed(plugin->osm, &plugin->roles,
			     fresh ? subnet_cache_hash(&plugin->cache) : 0,
			     &plugin->subnet_hash, &fabric, NULL))
		return;
	if (fabric)
		fabric_file_put(plugin->fabric_file, fabric);
	else
		fabric_file_keep(plugin->fabric_file);
}

void sweep_routed(struct plugin *plugin, bool reroute)
{
	struct sweep *sweep = &plugin->sweep;
	bool handed = sweep->step == SWEEP_HANDED, again = handed && plugin->steps_failed;
	struct unset unset;

	if (!plugin->config.shadow) {
		sweep_offer_view(plugin);
		groups_route(plugin); /* before anything but repairs changes tables */
		find_unset(plugin, &unset); /* likewise */
	}
	sweep_set_phase(plugin, reroute ? PHASE_IDLE : PHASE_LINKS);
	if (plugin->repairer)
		repairer_end_returns(plugin->repairer);
	put_fabric(plugin, handed);
	if (plugin->config.shadow) {
		operator_files_routed(plugin->operator_files, &plugin->roles, false);
		sweep_run_shadow(plugin);
		return;
	}
	if (handed)
		sweep_finish_run(plugin);
	sweep_note_engine(plugin);
	log_changes(plugin);
	store_save(plugin->store, &plugin->planning);
	if (plugin->view.damping)
		store_save_holds(plugin->store, plugin->view.damping,
				 (uint64_t)clock_ms());
	kept_requests_released(plugin->requests); /* their holds are handed over */
	if (sweep->honor_guid2lid >= 0)
		plugin->osm->subn.opt.honor_guid2lid_file = sweep->honor_guid2lid;
	sweep->honor_guid2lid = -1;
	sweep_publish(plugin, &unset);
	free(unset.list);
	again |= has_discovered_failure(plugin);
	if (again)
		/* Read when it ends. */
		sweep_flag_set(&plugin->osm->subn.force_heavy_sweep);
	operator_files_routed(plugin->operator_files, &plugin->roles,
			      sweep_may_release(plugin) &&
				      kept_requests_has_releases(plugin->requests));
}
