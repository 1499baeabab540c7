/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning and the end of a sweep. */
#include "sweep_parts.h"

#include "clock.h"

/*
 * Repairs reported failures before discovery begins, which would delay the repairs; the
 * rest goes on beside discovery.
 */
static void begin_discovery(struct plugin *plugin)
{
	struct repairer *repairer = plugin->repairer;

	if (!repairer)
		return;
	sweep_merge_known(plugin); /* before the view may be handed over */
	/*
	 * If OpenSM was the master when it was given mastership, the flag is still set.
	 */
	if (plugin->osm->subn.coming_out_of_standby)
		sweep_leave_view(plugin);
	else
		sweep_offer_view(plugin);
	if (repairer_is_valid(repairer))
		repairer_finish(repairer, atomic_load(&plugin->early_repair)
						  ? REPAIR_FIRST_TRAP_MS
						  : 0);
	else if (plugin->repair)
		repair_skip(plugin->repair, UINT32_MAX);
	sweep_merge_known(plugin);
}

static bool wants_plans(const struct plugin *plugin)
{
	if (plugin->planning.phase != PLANNING_SETTLED)
		return plugin->config.shadow || plugin->unconfigured ||
		       sweep_is_wanted(plugin);
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
	operator_files_poll(plugin->operator_files);
	if (plugin->config.shadow)
		return;
	if (plugin->sweep.step == SWEEP_HANDED)
		sweep_finish_run(plugin); /* no event has ended it */
	begin_discovery(plugin);
	if (plugin->returns)
		returns_begin_sweep(plugin->returns);
	if (plugin->throttle)
		throttle_begin_sweep(plugin->throttle, clock_ms());
	sweep_set_phase(plugin, PHASE_DISCOVERY);
	for (uint32_t i = 0; i < view_num_ports(&plugin->view); i++)
		plugin->view.failed[i] += plugin->view.failed[i] & 1; /* .._BEFORE */
}

void sweep_ended(struct plugin *plugin)
{
	if (plugin->throttle)
		throttle_end_sweep(plugin->throttle, clock_ms());
	sweep_set_phase(plugin, PHASE_IDLE);
}
