/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plugin.h"

#include <opensm/osm_event_plugin.h>
#include <opensm/osm_version.h>

#include <stdlib.h>

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "this is written for version 2 of OpenSM's event plugin interface"
#endif

#define ENGINE_NAME "portmajor"

/* `portmajor preflight` looks for this in the library, see src/cli/opensm.c. */
#define PLUGIN_BUILT_FOR "portmajor built for " OSM_VERSION
static const char built_for[] = PLUGIN_BUILT_FOR;

/* OpenSM builds its hop counts itself: SA and multicast use them. */
static int leave_lid_matrices(void *context)
{
	(void)context;
	return 1;
}

/*
 * With its unicast cache OpenSM does not ask an engine when only hosts or leaves went
 * or came: detours over a lost leaf would stay, and all switches beside it be rewritten.
 */
static void refuse_ucast_cache(osm_opensm_t *osm)
{
	if (!osm->subn.opt.use_ucast_cache)
		return;
	osm->subn.opt.use_ucast_cache = FALSE;
	OSM_LOG(&osm->log, OSM_LOG_INFO,
		"portmajor: the unicast cache (-A, use_ucast_cache) is switched off: it "
		"would leave ways to the SM as they are and write more blocks\n");
}

static int setup_engine(osm_routing_engine_t *engine, osm_opensm_t *osm)
{
	refuse_ucast_cache(osm);
	engine->build_lid_matrices = leave_lid_matrices;
	engine->ucast_build_fwd_tables = plugin_build_tables;
	return 0;
}

static int read_config(struct plugin *plugin)
{
	const char *path = plugin->osm->subn.opt.event_plugin_options;
	struct pm_error err;

	pm_config_init(&plugin->config);
	if (!path || !*path)
		return 0;
	if (!pm_config_read(path, &plugin->config, &err))
		return 0;
	OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR, "portmajor: not loaded: %s\n",
		err.text);
	return -1;
}

static void delete_plugin(void *context)
{
	struct plugin *plugin = context;

	plugin_stop_state(plugin);
	plugin_drop_plan(plugin);
	plugin_stop_recovery(plugin);
	plugin_stop_repair(plugin);
	plugin_stop_flaps(plugin);
	pm_roles_free(&plugin->roles);
	free(plugin->planfile);
	free(plugin->drifting);
	free(plugin->apart);
	free(plugin);
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
	plugin->osm = osm;
	plugin->honor_guid2lid = -1;
	if (read_config(plugin) || plugin_load_plans(plugin) ||
	    osm_register_external_routing_engine(osm, &module, plugin) != CL_SUCCESS) {
		delete_plugin(plugin);
		return NULL;
	}
	if (plugin_start_recovery(plugin))
		OSM_LOG(&osm->log, OSM_LOG_ERROR,
			"portmajor: tables in the switches are not looked at\n");
	if (plugin_start_flaps(plugin))
		OSM_LOG(&osm->log, OSM_LOG_ERROR,
			"portmajor: flapping links are not watched for\n");
	if (plugin_start_repair(plugin))
		OSM_LOG(&osm->log, OSM_LOG_ERROR, "portmajor: no early repair\n");
	if (plugin_start_state(plugin))
		OSM_LOG(&osm->log, OSM_LOG_ERROR, "portmajor: no state file\n");
	OSM_LOG(&osm->log, OSM_LOG_INFO,
		"portmajor " PORTMAJOR_VERSION ": lid_order %s; %s\n",
		pm_lid_order_name(plugin->config.lid_order), built_for);
	return plugin;
}

/* Whether OpenSM is to route with us at all; else LIDs are left alone. */
static bool is_first_engine(const struct plugin *plugin)
{
	const osm_routing_engine_t *engine = plugin->osm->routing_engine_list;

	return engine && engine->context == plugin;
}

static void restore_options(struct plugin *plugin)
{
	if (plugin->honor_guid2lid >= 0)
		plugin->osm->subn.opt.honor_guid2lid_file = plugin->honor_guid2lid;
	plugin->honor_guid2lid = -1;
}

static void report_event(void *context, osm_epi_event_id_t event, void *data)
{
	struct plugin *plugin = context;

	if (event == OSM_EVENT_ID_TRAP) {
		plugin_note_trap(plugin, data);
	} else if (event == OSM_EVENT_ID_LFT_CHANGE) {
		if (((const osm_epi_lft_change_event_t *)data)->flags ==
		    LFT_CHANGED_BLOCK)
			plugin_note_block(plugin);
	} else if (event == OSM_EVENT_ID_HEAVY_SWEEP_START) {
		plugin_repair(plugin);
	} else if (event == OSM_EVENT_ID_HEAVY_SWEEP_DONE && is_first_engine(plugin)) {
		plugin_give_lids(plugin);
	} else if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE) {
		CL_PLOCK_ACQUIRE(&plugin->osm->lock);
		plugin_finish_run(plugin);
		plugin_note_engine(plugin);
		CL_PLOCK_RELEASE(&plugin->osm->lock);
		plugin_save_plans(plugin);
		restore_options(plugin);
		plugin_publish(plugin);
	}
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create_plugin,
	.delete = delete_plugin,
	.report = report_event,
};
