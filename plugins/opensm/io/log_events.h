/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the log says of what was done, a line each; libportmajor(8) explains them. */
#ifndef PORTMAJOR_LOG_EVENTS_H
#define PORTMAJOR_LOG_EVENTS_H

#include "engine/transition.h"
#include "engine/plugin.h"

/* Of a plan that has just come into force for a fabric: what was guessed and what is odd
 * in it, and what LID history did. */
void log_oddities(const struct plugin *plugin, const struct pm_fabric *fabric);
void log_lid_restore(const struct plugin *plugin, const struct pm_lid_restore *restore);

/* How many ports of a fabric that ran before have the planned LID. */
void log_conformity(const struct plugin *plugin, const struct pm_fabric *fabric);

/*
 * Of the tables, if it is not what was told last: pairs without a path, bad switches,
 * held links. Where no lock is held.
 */
void log_changes(struct plugin *plugin);

/* The pending run, with so many blocks acknowledged. */
void log_run(const struct plugin *plugin, uint64_t acked);

void log_repair(const struct plugin *plugin, const struct repaired *done);
/* Stale entries that are about to be taken out, if there are any. */
void log_stale(const struct plugin *plugin);

/* What was sent before OpenSM's turn, if anything was. */
void log_ahead(const struct plugin *plugin);

/* Multicast groups that were routed. */
void log_groups(const struct plugin *plugin, const struct mcast_done *done);

void log_balance(struct plugin *plugin, const struct balance *balance);
void log_move(const struct plugin *plugin, uint64_t number, const struct moved *done);
void log_shadow(const struct plugin *plugin, const struct state_shadow *done);

#endif
