/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes over a configuration that was read again. */
#include "settings.h"

#include "clock.h"
#include "io/log.h"

#include <string.h>

struct repairer_settings settings_of_repairer(const struct pm_config *config)
{
	return (struct repairer_settings){
		.rebalance_auto = config->rebalance_auto,
		.rebalance_rate = config->rebalance_rate,
		.flap = config->flap,
		.budget_ms = config->early_repair_budget_ms,
		.throttle_sweeps = config->throttle_sweeps,
	};
}

/*
 * Links that went down recently stay in the view, with the new limits. Without memory the
 * former limits stay in force for the view.
 */
static void renew_damping(struct plugin *plugin)
{
	const struct pm_damping_config *flap = &plugin->config.flap;
	struct pm_damping *made = NULL, *before = plugin->view.damping;
	int rc = 0;

	pm_failback_set_holds(&plugin->failback, flap->hold_ms, flap->hold_max_ms);
	if (flap->limit && before)
		rc = pm_damping_copy(before, flap, (uint64_t)clock_ms(), &made, NULL);
	else if (flap->limit && plugin->alarm)
		rc = pm_damping_make(flap, &made, NULL);
	if (rc) {
		log_line(&plugin->osm->log, OSM_LOG_ERROR,
			 ": out of memory: keys flap_.. keep their former values");
		return;
	}
	plugin->view.damping = made;
	if (!made)
		plugin->view.holds = (struct pm_damping_holds){.next_ms = UINT64_MAX};
	pm_damping_free(before);
}

static void take_live(struct plugin *plugin, const struct pm_config *now)
{
	bool flaps = memcmp(&plugin->config.flap, &now->flap, sizeof(now->flap)) != 0;
	struct repairer_settings settings;

	pm_config_take_live(&plugin->config, now);
	atomic_store(&plugin->early_repair, now->early_repair);
	events_set(plugin->events, now);
	if (plugin->state)
		state_set(plugin->state, now);
	if (plugin->config.shadow)
		return; /* nothing of ours sends */
	if (flaps)
		renew_damping(plugin);
	settings = settings_of_repairer(now);
	if (plugin->repairer)
		repairer_set(plugin->repairer, &settings);
}

/* Takes the first configuration that could be read. Shadow mode begins with a process. */
static void take_first(struct plugin *plugin, const struct pm_config *now)
{
	if (now->shadow) {
		pm_error_set(&plugin->misread, 0,
			     "%s: shadow mode begins when OpenSM is restarted",
			     plugin->osm->subn.opt.event_plugin_options);
		return;
	}
	plugin->unconfigured = false;
	plugin->config.lid_order = now->lid_order;
	plugin->config.migrate = now->migrate;
}

void settings_take(struct plugin *plugin)
{
	char names[PM_CONFIG_KEYS];
	struct pm_config now;
	bool roles;

	if (!operator_files_take_config(plugin->operator_files, &now, &plugin->misread) ||
	    plugin->misread.text[0])
		return;
	if (plugin->unconfigured)
		take_first(plugin, &now);
	roles = !pm_role_rules_equal(&plugin->config.roles, &now.roles);
	log_line(&plugin->osm->log, OSM_LOG_INFO, ": configuration read again: %s%s",
		 pm_config_compare(&plugin->config, &now, PM_CONFIG_LIVE, names)
			 ? names
			 : "no key changes now",
		 roles ? " (when the plan grows or is made anew)" : "");
	if (pm_config_compare(&plugin->config, &now, PM_CONFIG_RESTART, names))
		log_line(&plugin->osm->log, OSM_LOG_INFO,
			 ": configuration: a restart of OpenSM will change %s", names);
	take_live(plugin, &now);
}
