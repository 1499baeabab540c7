/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Log lines about events; libportmajor(8) explains them. */
#ifndef PORTMAJOR_LOG_EVENTS_H
#define PORTMAJOR_LOG_EVENTS_H

#include "engine/transition.h"
#include "engine/plugin.h"

/*
 * For a plan that has just come into force for a fabric: log its guesses and oddities,
 * and the result of LID history.
 */
void log_oddities(const struct plugin *plugin, const struct pm_fabric *fabric);
void log_lid_restore(const struct plugin *plugin, const struct pm_lid_restore *restore);

/* Logs the number of a running fabric's ports with the planned LID. */
void log_conformity(const struct plugin *plugin, const struct pm_fabric *fabric);

/*
 * Logs unreachable pairs, bad switches and links on hold, if they have changed since the
 * last line. With no lock held.
 */
void log_changes(struct plugin *plugin);

/* Logs the pending run, with the number of acknowledged blocks. */
void log_run(const struct plugin *plugin, uint64_t acked);

void log_wait(const struct plugin *plugin, const struct throttle_wait *wait);
void log_return(const struct plugin *plugin, const struct returned *done);
void log_repair(const struct plugin *plugin, const struct repaired *done);
/* Logs the number of stale entries to remove, if there are any. */
void log_stale(const struct plugin *plugin);

/* Logs the blocks sent before OpenSM's own, if there are any. */
void log_ahead(const struct plugin *plugin);

/* Logs routed multicast groups. */
void log_groups(const struct plugin *plugin, const struct mcast_done *done);

/* Logs what came of reading tables on request, as tables_file.h describes it, or NULL. */
void log_tables_read(osm_log_t *log, const json_t *read);

void log_balance(struct plugin *plugin, const struct balance *balance);
void log_transition(const struct plugin *plugin, uint64_t number,
		    const struct transition_result *done);
void log_shadow(const struct plugin *plugin, const struct state_shadow *done);

#endif
