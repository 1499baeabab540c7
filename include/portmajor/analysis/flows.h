/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads of links between switches, updated as entries change. As in pm_check_loads every
 * end port with a LID sends a flow to every end port's LID. Only flows through changed
 * entries, and flows of failed end ports, are followed.
 */
#ifndef PORTMAJOR_FLOWS_H
#define PORTMAJOR_FLOWS_H

#include <portmajor/route/route.h>

/* Opaque: flows before a failure, and loads before or after it. */
struct pm_flows;

/*
 * Makes the flows in the fabric of the routes' plan, with the plan's LIDs. base[switch]
 * are the tables, of pm_routes_stride entries each. Their paths lead up and then down,
 * except those to LIDs with odd[lid] set. odd may be freed afterwards, the rest is
 * borrowed; the caller frees the result. -ENOMEM. Cost: O(entries), and 2 bytes of memory
 * each.
 */
int pm_flows_new(const struct pm_fabric *fabric, const struct pm_routes *routes,
		 const uint8_t *const *base, const uint8_t *odd, struct pm_flows **flows,
		 struct pm_error *err);
void pm_flows_free(struct pm_flows *flows);

/*
 * The first notes an entry that may differ between base and the routes' tables, each
 * once; the second a switch's port with a failed end port. -ENOMEM.
 */
int pm_flows_note_entry(struct pm_flows *flows, uint32_t sw, uint32_t lid);
int pm_flows_note_end(struct pm_flows *flows, uint32_t port);

/*
 * Updates the loads for the routes' tables in `broken`, a clone of the fabric with links
 * cut, from the noted entries and ports. O(noted entries x path length), and for each
 * failed end port O((switches with end ports + end ports) x path length).
 */
void pm_flows_update(struct pm_flows *flows, const struct pm_fabric *broken);

/* Restores the loads before the failure, and drops notes. O(changes). */
void pm_flows_restore(struct pm_flows *flows);

/* The largest load of links between levels, scaled by pm_link_weigh. O(changed links). */
uint64_t pm_flows_most(const struct pm_flows *flows);

#endif
