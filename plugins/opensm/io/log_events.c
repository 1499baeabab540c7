/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes log lines about events. */
#include "log_events.h"

#include "log.h"
#include "engine/clock.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/plan/guess.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void log_oddities(const struct plugin *plugin, const struct pm_fabric *fabric)
{
	char text[PM_CHANGE_TEXT];

	if (pm_guess_describe(plugin->planning.base, fabric, text, sizeof(text)))
		log_line(&plugin->osm->log, OSM_LOG_INFO, ": note: %s", text);

	if (pm_change_oddities(plugin->planning.base, text, sizeof(text)))
		log_line(&plugin->osm->log, OSM_LOG_INFO, ": note: %s", text);
}

void log_lid_restore(const struct plugin *plugin, const struct pm_lid_restore *restore)
{
	char text[PM_LID_RESTORE_NAMED * 40] = "";
	size_t used = 0;

	if (restore->restored)
		log_line(&plugin->osm->log, OSM_LOG_INFO,
			 ": %u places got back their LIDs from before the plan was lost",
			 restore->restored);
	if (!restore->given_away)
		return;
	for (uint32_t i = 0; i < restore->given_away && i < PM_LID_RESTORE_NAMED; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%u of 0x%016" PRIx64, i ? ", " : "",
					 restore->away[i].lid, restore->away[i].guid);
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 ": no LID is free: %u LIDs went to other ports than before (%s%s)",
		 restore->given_away, text,
		 restore->given_away > PM_LID_RESTORE_NAMED ? ", .." : "");
}

/* Logs unreachable pairs if they have changed. */
static void log_unreachable(struct plugin *plugin)
{
	char text[PM_CHANGE_TEXT];
	bool any = pm_change_unreachable(plugin->planning.plan, &plugin->view.unreachable,
					 text, sizeof(text));

	if (strcmp(text, plugin->unreachable) != 0)
		log_line(
			&plugin->osm->log, OSM_LOG_INFO, ": note: %s",
			any ? text
			    : "up-then-down paths join all switches with end ports again");
	snprintf(plugin->unreachable, sizeof(plugin->unreachable), "%s", text);
}

/* Logs bad switches if they have changed. */
static void log_unfit(struct plugin *plugin)
{
	const char *text = plugin->unfit;

	if (!strcmp(text, plugin->unfit_logged))
		return;
	snprintf(plugin->unfit_logged, sizeof(plugin->unfit_logged), "%s", text);
	log_line(&plugin->osm->log, text[0] ? OSM_LOG_ERROR : OSM_LOG_INFO,
		 ": bad switches: %s", text[0] ? text : "none any more");
}

void log_changes(struct plugin *plugin)
{
	if (!plugin->planning.plan)
		return;
	log_unreachable(plugin);
	log_unfit(plugin);
	log_holds_changed(&plugin->view, &plugin->osm->log, &plugin->logged);
}

void log_conformity(const struct plugin *plugin, const struct pm_fabric *fabric)
{
	uint32_t ports = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ports += snapshot_has_place(fabric, i) &&
			 pm_plan_place(plugin->planning.plan, fabric, i) != PM_NONE;
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 ": %u of %u ports have or get the planned LID",
		 ports - plugin->planning.out_of_plan, ports);
}

void log_run(const struct plugin *plugin, uint64_t acked)
{
	const struct plugin_run *run = &plugin->sweep.run;
	const struct lft_records_written *written = &run->written;

	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 " run %" PRIu64 ": %s; LFT blocks sent %" PRIu64 ", acked %" PRIu64
		 ", least %" PRIu64 ", full load %" PRIu64
		 "; switches %u, whole tables %u; entries %" PRIu64
		 "; LIDs assigned %u, changed %u, out of plan %u; computed in "
		 "%.1f ms, %.1f of these under the lock; recomputed %u",
		 plugin->runs, run->change, written->sent, acked, written->delta.least,
		 written->full, written->switches, written->whole, written->delta.entries,
		 plugin->sweep.given.assigned, plugin->sweep.given.changed,
		 plugin->planning.out_of_plan, run->milliseconds, run->locked_ms,
		 run->recomputed);
}

void log_repair(const struct plugin *plugin, const struct repaired *done)
{
	char unordered[64] = "";

	if (!done->number) {
		log_line(&plugin->osm->log, OSM_LOG_VERBOSE,
			 ": traps %u, queries %u, unanswered %u: no failure found%s%s",
			 done->traps, done->queries, done->unanswered,
			 done->gave_up ? "; left to the sweep: " : "",
			 done->gave_up ? done->gave_up : "");
		return;
	}
	if (done->unordered)
		snprintf(unordered, sizeof(unordered), ", %u not in order",
			 done->unordered);
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 " repair %u: %s; traps %u, queries %u, unanswered %u, links "
		 "down %u, rounds %u; LFT blocks sent %" PRIu64 ", acked %" PRIu64
		 ", restoring %" PRIu64 ", least %" PRIu64 "; switches %" PRIu64
		 "%s; %.1f ms from the first trap to the last answer%s%s",
		 done->number, done->change, done->traps, done->queries, done->unanswered,
		 done->links_down, done->rounds, done->sent, done->acked, done->restoring,
		 done->least, done->switches, unordered, done->milliseconds,
		 done->gave_up ? "; left to the sweep: " : "",
		 done->gave_up ? done->gave_up : "");
}

void log_return(const struct plugin *plugin, const struct returned *done)
{
	osm_log_t *log = &plugin->osm->log;

	if (done->blocks && !done->number && !done->left)
		log_line(
			log, OSM_LOG_INFO,
			": tables of switches that came back follow: LFT blocks sent %u, "
			"acked %u",
			done->blocks, done->acked);
	else if (done->number || done->blocks)
		log_line(log, OSM_LOG_INFO,
			 " return %u: %u host%s, %u cable%s in service: %s; queries %u, "
			 "Sets %u, unanswered %u; LFT blocks sent %u, acked %u; "
			 "%.1f ms from the first trap",
			 done->number, done->hosts, done->hosts == 1 ? "" : "s",
			 done->cables, done->cables == 1 ? "" : "s", done->links,
			 done->queries, done->sets, done->unanswered, done->blocks,
			 done->acked, done->milliseconds);
	if (done->left)
		log_line(log, OSM_LOG_INFO, ": %u link%s left to OpenSM's sweep, %s: %s",
			 done->left,
			 done->left == 1 ? " that came back is" : "s that came back are",
			 done->left_links, done->why);
	if (done->deferred)
		log_line(log, OSM_LOG_INFO, ": %u host%s served once a second: %s",
			 done->deferred,
			 done->deferred == 1 ? " flaps, and is" : "s flap, and are",
			 done->deferred_links);
}

void log_wait(const struct plugin *plugin, const struct throttle_wait *wait)
{
	log_line(
		&plugin->osm->log, OSM_LOG_INFO,
		": the next sweep waits for %.1f s, as all changes since the last one are "
		"known: traps %" PRIu64,
		(wait->until - clock_ms()) / 1e3, wait->traps);
}

static uint32_t count_stale_blocks(const struct pm_stale *stale)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < stale->num; i++) {
		const struct pm_stale_entry *e = &stale->entries[i];

		blocks += !i || e->sw != e[-1].sw ||
			  e->lid / PM_LFT_BLOCK != e[-1].lid / PM_LFT_BLOCK;
	}
	return blocks;
}

void log_stale(const struct plugin *plugin)
{
	const struct pm_stale *stale = &plugin->sweep.stale;
	uint32_t blocks = count_stale_blocks(stale);

	if (stale->num)
		log_line(
			&plugin->osm->log, OSM_LOG_INFO,
			": stale entries removed: %u in %u LFT block%s, over moved cables "
			"or of %u LID%s that would loop",
			stale->num, blocks, blocks == 1 ? "" : "s", stale->loops,
			stale->loops == 1 ? "" : "s");
}

void log_ahead(const struct plugin *plugin)
{
	const struct ahead *ahead = &plugin->sweep.run.ahead;

	if (ahead->sent || ahead->gave_up)
		log_line(
			&plugin->osm->log, OSM_LOG_INFO,
			": sent before the sweep, as %u LID%s could loop in its order: LFT "
			"blocks %" PRIu64 ", acked %" PRIu64 ", twice %u%s%s",
			ahead->lids, ahead->lids == 1 ? "" : "s", ahead->sent,
			ahead->acked, ahead->twice,
			ahead->left	 ? "; left to the repairer: "
			: ahead->gave_up ? "; left to the sweep: "
					 : "",
			ahead->gave_up ? ahead->gave_up : "");
}

void log_transition(const struct plugin *plugin, uint64_t number,
		    const struct transition_result *done)
{
	char interrupted[64] = "";

	if (done->interruptions)
		snprintf(interrupted, sizeof(interrupted), ", interrupted %u time%s",
			 done->interruptions, done->interruptions == 1 ? "" : "s");
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 " transition %" PRIu64 ": %s; LFT blocks sent %" PRIu64
		 ", acked %" PRIu64 ", least %" PRIu64 "; switches %" PRIu64
		 "; %.1f ms%s%s%s",
		 number, done->change, done->sent, done->acked, done->delta.least,
		 done->delta.switches, done->milliseconds, interrupted,
		 done->gave_up ? "; left to a routing run: " : "",
		 done->gave_up ? done->gave_up : "");
}

void log_groups(const struct plugin *plugin, const struct mcast_done *done)
{
	const struct mft_wire_done *wire = &done->wire;

	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 " multicast: groups %u, trees %u; MFT blocks sent %" PRIu64
		 ", acked %" PRIu64 ", bound %u, read back %" PRIu64 " of %" PRIu64
		 "; groups in order %u; up and down again %u, members left out %u; "
		 "%.1f ms%s%s%s",
		 done->groups, done->trees, wire->sent, wire->acked, done->cells,
		 wire->learned, wire->queried, done->ordered, done->spanned,
		 done->excluded, done->milliseconds,
		 wire->interrupted ? "; interrupted by more urgent work" : "",
		 wire->gave_up ? "; to be tried again: " : "",
		 wire->gave_up ? wire->gave_up : "");
}

/* "; differing: leaf7 and 2 more", or "" for none. */
static void name_switches(const json_t *list, const char *what, char *text, size_t size)
{
	size_t num = json_array_size(list);
	const char *name =
		json_string_value(json_object_get(json_array_get(list, 0), "name"));

	text[0] = '\0';
	if (num == 1)
		snprintf(text, size, "; %s: %s", what, name);
	else if (num)
		snprintf(text, size, "; %s: %s and %zu more", what, name, num - 1);
}

void log_tables_read(osm_log_t *log, const json_t *read)
{
	const char *error = json_string_value(json_object_get(read, "error"));
	bool changing = json_is_true(json_object_get(read, "changing"));
	char differing[128], silent[128];

	name_switches(json_object_get(read, "differing"), "not as OpenSM has set them",
		      differing, sizeof(differing));
	name_switches(json_object_get(read, "unanswered"), "no answer", silent,
		      sizeof(silent));
	log_line(log, *differing || *silent || error ? OSM_LOG_ERROR : OSM_LOG_INFO,
		 ": tables read on request: %" JSON_INTEGER_FORMAT
		 " of %" JSON_INTEGER_FORMAT " switches, %" JSON_INTEGER_FORMAT
		 " LFT blocks; %.1f ms%s%s%s%s%s",
		 json_integer_value(json_object_get(read, "read")),
		 json_integer_value(json_object_get(read, "switches")),
		 json_integer_value(json_object_get(read, "blocks")),
		 json_real_value(json_object_get(read, "milliseconds")), differing,
		 silent, changing ? "; they changed meanwhile" : "", error ? "; " : "",
		 error ? error : "");
}

void log_balance(struct plugin *plugin, const struct balance *balance)
{
	const struct state_balance *now = &balance->now;
	osm_log_t *log = &plugin->osm->log;

	if (balance->gave_up && !balance->planned)
		log_line(log, OSM_LOG_INFO, ": rebalancing waits: %s", balance->gave_up);
	if (now->rebalancing == atomic_exchange(&plugin->rebalancing, now->rebalancing))
		return;
	if (now->rebalancing)
		log_line(log, OSM_LOG_INFO,
			 ": rebalancing: %" PRIu64 " entr%s in %" PRIu64
			 " LFT block%s of %u switch%s %s not the plan's; "
			 "%u block%s per second",
			 now->entries_off, now->entries_off == 1 ? "y" : "ies",
			 now->blocks_off, now->blocks_off == 1 ? "" : "s",
			 now->switches_off, now->switches_off == 1 ? "" : "es",
			 now->entries_off == 1 ? "is" : "are", balance->rate,
			 balance->rate == 1 ? "" : "s");
	else
		log_line(log, OSM_LOG_INFO,
			 ": rebalanced: LFT blocks sent %" PRIu64 ", acked %" PRIu64
			 "; %.1f s; entries left as they were found: %" PRIu64 "%s%s",
			 balance->sent, balance->acked,
			 (clock_ms() - balance->since_ms) / 1e3, now->entries_off,
			 balance->gave_up ? ", " : "",
			 balance->gave_up ? balance->gave_up : "");
}

void log_shadow(const struct plugin *plugin, const struct state_shadow *done)
{
	const struct shadow_result *found = done->found;
	char event[64] = "", other[128] = "";

	if (found->has_event)
		snprintf(event, sizeof(event), "%" PRIu64 " for this, ",
			 found->event.blocks);
	if (done->engine)
		snprintf(other, sizeof(other), "; %s sent %" PRIu64 ", acked %" PRIu64,
			 done->engine, done->sent.sent, done->sent.acked);
	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 " shadow %" PRIu64 ": %s; would send LFT blocks %s%" PRIu64
		 " to take over, least %" PRIu64 ", full load %" PRIu64
		 "; switches %" PRIu64 ", entries %" PRIu64
		 "; LIDs out of plan %u%s; computed in %.1f ms",
		 done->number, done->change, event, found->take_over.blocks,
		 found->take_over.least, found->full, found->take_over.switches,
		 found->take_over.entries, done->out_of_plan, other, done->milliseconds);
}
