/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loads and unloads the plugin, and passes OpenSM's events on. */
#include "plugin.h"

#include "mcast_sweep.h"
#include "io/log.h"
#include "settings.h"
#include "sweep.h"
#include "io/log_events.h"
#include "io/tables_file.h"
#include "osm/hop_counts.h"
#include "clock.h"

#include <opensm/osm_event_plugin.h>
#include <opensm/osm_version.h>

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "this is written for version 2 of OpenSM's event plugin interface"
#endif

#define ENGINE_NAME "portmajor"
#define END_MS 3000  /* longest wait for files when OpenSM ends .. */
#define JUDGE_MS 100 /* .. and for a judgement, which is of no use any more */

/* `portmajor preflight` searches the library for this text: src/cli/cmd/opensm.c. */
#define PLUGIN_BUILT_FOR "portmajor built for " OSM_VERSION
static const char built_for[] = PLUGIN_BUILT_FOR;

/*
 * Whether this OpenSM's structures have our layout. OpenSM compares only version strings,
 * but builds of one version may differ: some lack the performance manager, or are from
 * between two releases. Members of osm_opensm_t know the addresses of their neighbours.
 */
static bool is_laid_out_alike(const osm_opensm_t *osm)
{
	return osm->sm.p_subn == &osm->subn && osm->sm.p_log == &osm->log &&
	       osm->sm.p_disp == &osm->disp && osm->sm.p_lock == &osm->lock;
}

/* 1: OpenSM computes its hop counts itself, 0: it has none (osm/hop_counts.h). */
static int leave_lid_matrices(void *context)
{
	const struct plugin *plugin = context;

	return hop_counts_are_dumped(plugin->osm);
}

static int build_tables(void *context)
{
	struct plugin *plugin = context;
	osm_opensm_t *osm = plugin->osm;
	int rc = sweep_build_tables(plugin);

	/* Without another engine joins have trees of OpenSM's nevertheless. */
	if (rc && !plugin->quiet.engine->next && osm->no_fallback_routing_engine)
		hop_counts_complete(osm, plugin);
	return rc;
}

static ib_api_status_t collect_group(void *context, osm_mgrp_box_t *box)
{
	groups_collect(context, box);
	return IB_SUCCESS;
}

/*
 * With its unicast cache OpenSM calls no engine when only hosts or leaves go or come:
 * detours over a failed leaf would stay, and all switches next to it would be rewritten.
 */
static void refuse_ucast_cache(osm_opensm_t *osm)
{
	if (!osm->subn.opt.use_ucast_cache)
		return;
	osm->subn.opt.use_ucast_cache = FALSE;
	log_line(
		&osm->log, OSM_LOG_INFO,
		": the unicast cache (-A, use_ucast_cache) is switched off: it would leave "
		"paths to the SM as they are and write more blocks");
}

static int setup_engine(osm_routing_engine_t *engine, osm_opensm_t *osm)
{
	struct plugin *plugin = engine->context;

	plugin->quiet.engine = engine;
	if (!plugin->config.shadow)
		refuse_ucast_cache(osm);
	engine->build_lid_matrices = leave_lid_matrices;
	engine->ucast_build_fwd_tables = build_tables;
	return 0;
}

/*
 * Reads portmajor.conf. If opensm.conf names a file that cannot be read as a whole, the
 * engine declines until a HUP finds a good one: shadow mode may be what it was to
 * request. A file that requests it despite an error elsewhere is obeyed. Without memory,
 * -ENOMEM.
 */
static int read_config(struct plugin *plugin)
{
	const char *path = plugin->osm->subn.opt.event_plugin_options;
	const char *effect =
		"so portmajor declines to route until a HUP finds a good one";
	int rc = 0;

	pm_config_init(&plugin->config);
	if (path && *path)
		rc = pm_config_read_trusted(path, &plugin->config, &plugin->misread);
	plugin->unconfigured = rc && !plugin->config.shadow;
	if (rc && plugin->config.shadow)
		effect = "all keys have their defaults, but shadow is yes";
	if (rc == -ENOMEM)
		log_line(&plugin->osm->log, OSM_LOG_ERROR, ": not loaded: %s",
			 plugin->misread.text);
	else if (rc)
		log_line(&plugin->osm->log, OSM_LOG_ERROR,
			 ": configuration not used, %s: %s", effect,
			 plugin->misread.text);
	atomic_init(&plugin->early_repair, plugin->config.early_repair);
	return rc == -ENOMEM ? rc : 0;
}

/* Reads operators' files and requests, and follows these. */
static void follow_requests(struct plugin *plugin, bool reads, bool last)
{
	uint64_t times;
	const struct pm_plan *plan = plugin->state ? state_plan(plugin->state) : NULL;
	const struct pm_request_facts facts = {
		.plan = plan,
		.state = plugin->state ? state_written(plugin->state, &times) : NULL,
		.now = (uint64_t)time(NULL),
	};

	kept_requests_write(plugin->requests, &facts, plugin->events, &plugin->osm->log,
			    last);
	pm_plan_free((struct pm_plan *)(uintptr_t)plan);
	if (reads && !last)
		operator_files_read(plugin->operator_files);
}

/* Publishes the state, if it is another, and completes requests. */
static void answer_requests(struct plugin *plugin)
{
	uint64_t times = plugin->published;
	const json_t *state = plugin->state ? state_written(plugin->state, &times) : NULL;

	kept_requests_publish(plugin->requests,
			      times != plugin->published ? state : NULL);
	plugin->published = times;
}

/* Takes over what the former master of the fabric knew, beside its plan. */
static void inherit(struct plugin *plugin)
{
	char *place = store_take_source(plugin->store);

	if (place && plugin->requests)
		kept_requests_inherit(plugin->requests, place);
	if (place && plugin->state)
		state_inherit(plugin->state, place);
	free(place);
}

/*
 * Removes the tables that a command has had time to read, and those that a former process
 * has left. Returns when to check again.
 */
static double remove_tables(struct plugin *plugin, bool last)
{
	if (plugin->tables_due > clock_ms() && !last)
		return plugin->tables_due;
	if (plugin->tables_due < DBL_MAX && tables_file_remove(plugin->store))
		plugin->tables_due = DBL_MAX;
	return DBL_MAX;
}

/*
 * Writes tables that were read on request, after the fabric that they are of. Returns
 * when to remove them.
 */
static double write_tables(struct plugin *plugin, bool last)
{
	struct tables_read *read = table_check_take(plugin->table_check);
	json_t *described;

	if (!read)
		return remove_tables(plugin, last);
	described = tables_file_write(read, plugin->store);
	worker_enter(plugin->writer);
	log_tables_read(&plugin->osm->log, described);
	worker_leave(plugin->writer);
	table_check_free(read);
	state_note_tables_read(plugin->state, described);
	return plugin->tables_due = clock_ms() + TABLES_FILE_MS;
}

/* A round of the writer: the plan and the holds come first. */
static double write_files(void *context, bool last)
{
	struct plugin *plugin = context;
	bool reads =
		plugin->operator_files && operator_files_begin(plugin->operator_files);
	double next = DBL_MAX, tables = DBL_MAX;

	if (plugin->store)
		store_write(plugin->store);
	if (plugin->state)
		state_take(plugin->state);
	if (plugin->requests)
		follow_requests(plugin, reads, last);
	if (plugin->store)
		inherit(plugin);
	if (plugin->fabric_file)
		fabric_file_write(plugin->fabric_file);
	if (plugin->table_check && plugin->state)
		tables = write_tables(plugin, last);
	if (plugin->state && plugin->fabric_file)
		next = state_write(plugin->state, fabric_file_hosts(plugin->fabric_file),
				   fabric_file_now(plugin->fabric_file),
				   kept_requests_now(plugin->requests), last);
	if (plugin->requests)
		answer_requests(plugin);
	return next < tables ? next : tables;
}

/* Ends the plugin. If a file operation hangs, nothing that its thread uses is freed. */
static void delete_plugin(void *context)
{
	struct plugin *plugin = context;
	double until = clock_ms() + END_MS;
	bool written;

	worker_end(plugin->writer);
	alarm_stop(plugin->alarm);
	if (plugin->requests)
		kept_requests_on_change(plugin->requests, NULL, NULL);
	if (!repairer_stop(plugin->repairer, until))
		return; /* never: all waits of the repairer are bounded */
	engine_check_stop(plugin->check, clock_ms() + JUDGE_MS);
	written = worker_stop(plugin->writer, until);
	control_stop(plugin->control); /* it pokes the writer until then */
	if (written) {
		worker_free(plugin->writer);
		control_free(plugin->control);
		kept_requests_stop(plugin->requests);
		operator_files_stop(plugin->operator_files);
		state_stop(plugin->state);
		events_stop(plugin->events);
		fabric_file_stop(plugin->fabric_file);
		store_stop(plugin->store);
		repairer_free(plugin->repairer);
		table_check_stop(plugin->table_check);
	}
	repair_stop(plugin->repair);
	returns_stop(plugin->returns);
	throttle_stop(plugin->throttle);
	smp_stop(plugin->smps);
	view_free(&plugin->view);
	pm_stale_free(&plugin->sweep.stale);
	lft_records_forget(&plugin->lft_records);
	shadow_forget(&plugin->shadow);
	other_engine_forget(&plugin->other);
	planning_forget(&plugin->planning);
	pm_lid_history_free(plugin->history);
	pm_roles_free(&plugin->roles);
	subnet_cache_forget(&plugin->cache);
	free(plugin->doubt.guids);
	free(plugin->doubt.blank);
	if (written)
		free(plugin);
}

static void start_damping(struct plugin *plugin)
{
	const struct pm_damping_config *config = &plugin->config.flap;

	pm_failback_init(&plugin->failback, config->hold_ms, config->hold_max_ms);
	plugin->alarm = alarm_start(plugin->osm);
	if (config->limit &&
	    (!plugin->alarm || pm_damping_make(config, &plugin->view.damping, NULL)))
		log_line(&plugin->osm->log, OSM_LOG_ERROR,
			 ": link damping is off: flapping links stay in use");
}

/* Publishes what repairs and transitions change; see repairer.h. */
static void note_tables(void *context, const struct view *view, bool settled,
			bool changed)
{
	struct plugin *plugin = context;
	struct unset unset = {.known = false};
	struct pm_error unread;

	if (!plugin->state || (!changed && !(settled && atomic_load(&plugin->unset))))
		return;
	if (settled)
		unset_find(plugin->osm, plugin->smps, view, &unset);
	atomic_store(&plugin->unset, !unset.settled);
	kept_requests_error(plugin->requests, &unread);
	state_renew(plugin->state, view, unread.text, &unset);
	free(unset.list);
}

static void note_repaired(void *context, enum sweep_phase phase,
			  const struct repaired *done)
{
	struct plugin *plugin = context;
	const struct state_repair_time took = {
		.phase = phase,
		.first_set_ms = done->sent ? done->first_set_ms : -1,
		.last_answer_ms = done->milliseconds,
	};

	log_repair(plugin, done);
	if (plugin->state && done->came && !done->links_down)
		state_note_came(plugin->state, done);
	if (!plugin->state || !done->number || !done->links_down)
		return;
	state_note_repair(plugin->state, done);
	state_note_repair_time(plugin->state, &took);
}

static void note_returned(void *context, const struct returned *done)
{
	struct plugin *plugin = context;

	log_return(plugin, done);
	if (plugin->state && (done->number || done->left || done->deferred))
		state_note_return(plugin->state, done);
}

static void note_check(void *context)
{
	struct plugin *plugin = context;

	worker_poke(plugin->writer);
}

static void note_sweep(void *context, const char *why, const char *ports)
{
	struct plugin *plugin = context;

	log_line(&plugin->osm->log, OSM_LOG_INFO, ": a sweep is requested, as %s%s%s",
		 why, *ports ? ": " : "", ports);
}

static void note_wait(void *context, const struct throttle_wait *wait, bool first)
{
	struct plugin *plugin = context;

	if (first)
		log_wait(plugin, wait);
	if (plugin->state)
		state_note_wait(plugin->state, wait);
}

static void note_missing(void *context, const struct pm_plan *plan,
			 const uint8_t *discovered)
{
	struct plugin *plugin = context;
	struct pm_missing missing;

	if (!plugin->state || pm_missing_find(plan->topology, discovered, &missing, NULL))
		return;
	state_renew_missing(plugin->state, plan, &missing);
	pm_missing_free(&missing);
}

static void note_own(void *context, bool down)
{
	struct plugin *plugin = context;

	if (plugin->state)
		state_note_own_port(plugin->state, down);
}

static void note_transition(void *context, uint64_t number,
			    const struct transition_result *done)
{
	struct plugin *plugin = context;

	log_transition(plugin, number, done);
	if (plugin->state)
		state_note_transition(plugin->state, number, done);
}

static void note_balance(void *context, const struct balance *balance)
{
	struct plugin *plugin = context;

	log_balance(plugin, balance);
	if (plugin->state && balance->planned)
		state_note_balance(plugin->state, &balance->now);
	if (!balance->active)
		kept_requests_rebalanced(plugin->requests);
}

static void note_groups(void *context, const struct mcast_done *done)
{
	struct plugin *plugin = context;

	if (done->wire.queried || done->wire.sent || done->wire.gave_up ||
	    done->wire.interrupted)
		log_groups(plugin, done);
	if (plugin->state)
		state_note_multicast(plugin->state,
				     &(struct state_multicast){
					     .groups = done->groups,
					     .trees = done->trees,
					     .spanned = done->spanned,
					     .excluded = done->excluded,
					     .incomplete = done->wire.gave_up ||
							   done->wire.interrupted,
					     .sent = done->wire.sent,
					     .acked = done->wire.acked,
					     .bound = done->cells,
					     .ordered = done->ordered,
					     .milliseconds = done->milliseconds,
				     });
}

static void note_dropped(void *context, uint64_t traps)
{
	struct plugin *plugin = context;

	log_line(&plugin->osm->log, OSM_LOG_INFO,
		 ": %" PRIu64
		 " traps dropped, as their queue is full: a sweep is requested",
		 traps);
	if (plugin->state)
		state_note_traps_dropped(plugin->state, traps);
}

/* Called on the thread of engine_check.h, and never after engine_check_stop. */
static void note_verdict(void *context, const struct engine_verdict *verdict)
{
	struct plugin *plugin = context;

	state_note_verdict(plugin->state, verdict);
}

/* Called on the writer's thread. */
static void note_request(void *context)
{
	struct plugin *plugin = context;
	struct pm_error unread;

	kept_requests_error(plugin->requests, &unread);
	if (plugin->state)
		state_renew_unread(plugin->state, unread.text);
	repairer_wake(plugin->repairer);
}

/* Starts the modules that send beside OpenSM's routing runs. */
static void start_repairer(struct plugin *plugin)
{
	plugin->repair = repair_start();
	plugin->returns = returns_start();
	plugin->throttle = throttle_start();
	if (plugin->smps)
		plugin->repairer = repairer_start(&(struct repairer_config){
			.osm = plugin->osm,
			.smps = plugin->smps,
			.repair = plugin->repair,
			.returns = plugin->returns,
			.throttle = plugin->throttle,
			.requests = plugin->requests,
			.quiet = &plugin->quiet,
			.check = plugin->table_check,
			.settings = settings_of_repairer(&plugin->config),
			.log_repair = note_repaired,
			.log_return = note_returned,
			.log_transition = note_transition,
			.log_balance = note_balance,
			.log_dropped = note_dropped,
			.log_groups = note_groups,
			.note_check = note_check,
			.log_sweep = note_sweep,
			.note_wait = note_wait,
			.note_missing = note_missing,
			.note_own = note_own,
			.note_tables = note_tables,
			.context = plugin,
		});
	atomic_store(&plugin->early, plugin->repairer);
	if (!plugin->repair || !plugin->returns || !plugin->throttle || !plugin->repairer)
		log_line(&plugin->osm->log, OSM_LOG_ERROR, ": no early repair");
}

/* Called on any thread of OpenSM's dispatcher, from smp_start on. */
static bool hides_change(void *context, uint16_t lid)
{
	struct plugin *plugin = context;
	struct repairer *repairer = atomic_load(&plugin->early);
	bool hides = repairer && throttle_hides(plugin->throttle, lid, clock_ms());

	if (hides)
		repairer_wake(repairer);
	return hides;
}

/* Likewise. */
static void note_set_down(void *context, ib_net64_t guid, uint8_t num)
{
	struct plugin *plugin = context;
	struct repairer *repairer = atomic_load(&plugin->early);

	if (repairer)
		repairer_note_set_down(repairer, cl_ntoh64(guid), num);
}

/* Likewise. */
static bool note_early_trap(void *context, const ib_mad_notice_attr_t *notice)
{
	struct plugin *plugin = context;
	struct repairer *repairer = atomic_load(&plugin->early);

	return repairer && atomic_load(&plugin->early_repair) &&
	       repairer_note_early_trap(repairer, notice);
}

/* Starts the modules that query, send or request sweeps: none of them in shadow mode. */
static void start_active(struct plugin *plugin)
{
	osm_log_t *log = &plugin->osm->log;

	plugin->smps = smp_start(plugin->osm, &(struct smp_hooks){
						      .on_trap = note_early_trap,
						      .hides_change = hides_change,
						      .on_set_down = note_set_down,
						      .context = plugin,
					      });
	if (!plugin->smps)
		log_line(log, OSM_LOG_ERROR,
			 ": early repair is off, and the switches' tables are not read");
	start_damping(plugin);
	start_repairer(plugin);
}

/* Starts the indispensable modules; if the last one runs, all do. */
static void start_files(struct plugin *plugin)
{
	plugin->writer = worker_start("portmajor-write", write_files, plugin);
	if (plugin->writer)
		plugin->store = store_start(&plugin->osm->log, plugin->writer);
	if (plugin->store)
		plugin->operator_files = operator_files_start(
			plugin->osm, plugin->writer, &plugin->config, &plugin->misread);
	if (!plugin->operator_files)
		return;
	plugin->control = control_start(plugin->writer);
	if (!plugin->control)
		log_line(&plugin->osm->log, OSM_LOG_ERROR, ": no control socket");
	plugin->requests =
		kept_requests_start(plugin->store, plugin->writer, plugin->control,
				    plugin->operator_files, plugin->config.shadow);
	plugin->table_check = table_check_start();
	if (plugin->requests && plugin->table_check)
		kept_requests_serve_checks(plugin->requests, plugin->table_check);
}

/* Starts the modules that may be absent, if there is no memory for them. */
static void start_modules(struct plugin *plugin)
{
	osm_log_t *log = &plugin->osm->log;

	if (!plugin->config.shadow)
		start_active(plugin);
	plugin->events = events_start(&plugin->config);
	if (!plugin->events)
		log_line(log, OSM_LOG_ERROR, ": no events file");
	plugin->fabric_file = fabric_file_start(plugin->store, plugin->writer);
	if (plugin->fabric_file)
		plugin->state = state_start(plugin->osm, plugin->store, plugin->writer,
					    plugin->events, &plugin->config);
	if (!plugin->state)
		log_line(log, OSM_LOG_ERROR, ": no state file");
	else
		plugin->check = engine_check_start(plugin->osm, note_verdict, plugin);
	if (plugin->repairer)
		kept_requests_on_change(plugin->requests, note_request, plugin);
}

static void *create_plugin(osm_opensm_t *osm)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));
	external_routing_engine_module_t module = {
		.name = ENGINE_NAME,
		.setup = setup_engine,
		.context = plugin,
	};

	if (!plugin)
		return NULL;
	if (!is_laid_out_alike(osm)) { /* its log cannot be found then */
		fputs("portmajor: not loaded: this opensm was built otherwise than the "
		      "headers of " OSM_VERSION " that the plugin was built with\n",
		      stderr);
		free(plugin);
		return NULL;
	}
	plugin->osm = osm;
	plugin->quiet.osm = osm;
	plugin->quiet.build = collect_group;
	plugin->sweep.honor_guid2lid = -1;
	if (!read_config(plugin))
		start_files(plugin);
	if (!plugin->requests ||
	    osm_register_external_routing_engine(osm, &module, plugin) != CL_SUCCESS) {
		delete_plugin(plugin);
		return NULL;
	}
	start_modules(plugin);
	log_line(&osm->log, OSM_LOG_INFO, " " PORTMAJOR_VERSION ": lid_order %s; %s%s",
		 pm_lid_order_name(plugin->config.lid_order), built_for,
		 plugin->config.shadow	? "; shadow mode: nothing is routed or sent"
		 : plugin->unconfigured ? "; no configuration: nothing is routed or sent"
					: "");
	return plugin;
}

/* Without early repair only OpenSM handles traps. */
static void note_trap(struct plugin *plugin, const void *notice)
{
	if (atomic_load(&plugin->early_repair) && plugin->repair && plugin->repairer)
		repairer_note_trap(plugin->repairer, notice);
}

/* Called by the performance manager, on its threads and with its own lock held. */
static void note_port_errors(struct plugin *plugin, const osm_epi_pe_event_t *event)
{
	const struct port_reading reading = {
		.guid = event->port_id.node_guid,
		.name = event->port_id.node_name,
		.num = event->port_id.port_num,
		.interval_s = event->time_diff_s,
		.errors = {[PORT_ERROR_SYMBOL] = event->symbol_err_cnt,
			   [PORT_ERROR_RECOVERY] = event->link_err_recover,
			   [PORT_ERROR_DOWNED] = event->link_downed,
			   [PORT_ERROR_RECEIVE] = event->rcv_err},
		.wait = event->xmit_wait,
	};

	if (plugin->state)
		state_note_port_errors(plugin->state, &reading);
}

static void report_event(void *context, osm_epi_event_id_t event, void *data)
{
	struct plugin *plugin = context;

	if (event == OSM_EVENT_ID_TRAP)
		note_trap(plugin, data);
	else if (event == OSM_EVENT_ID_PORT_ERRORS)
		note_port_errors(plugin, data);
	else if (event == OSM_EVENT_ID_HEAVY_SWEEP_START)
		sweep_start(plugin);
	else if (event == OSM_EVENT_ID_HEAVY_SWEEP_DONE)
		sweep_discovered(plugin);
	else if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE)
		sweep_routed(plugin, (uintptr_t)data == UCAST_ROUTING_REROUTE);
	else if (event == OSM_EVENT_ID_SUBNET_UP)
		sweep_ended(plugin);
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create_plugin,
	.delete = delete_plugin,
	.report = report_event,
};
