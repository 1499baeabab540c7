/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads of links between switches, kept up to date while entries change: as
 * pm_check_loads counts them, every end port with a LID sends one flow to every end
 * port's LID. Only flows that go through changed entries, or that a lost end port sent or
 * got, are followed.
 */
#ifndef PORTMAJOR_FLOWS_H
#define PORTMAJOR_FLOWS_H

#include <portmajor/route/route.h>

/* Opaque: flows before a loss, and loads before it or after it. */
struct pm_flows;

/*
 * The flows in the fabric that the routes' plan was made of, with the plan's LIDs, over
 * base[switch], tables of pm_routes_stride entries. They lead up and then down but for
 * LIDs with odd[lid] set. odd is not needed afterwards, all else is borrowed; the caller
 * frees the result. -ENOMEM. Cost: O(entries), and 2 bytes of memory for each.
 */
int pm_flows_new(const struct pm_fabric *fabric, const struct pm_routes *routes,
		 const uint8_t *const *base, const uint8_t *odd, struct pm_flows **flows,
		 struct pm_error *err);
void pm_flows_free(struct pm_flows *flows);

/*
 * Notes an entry that may differ between base and the tables of the routes, none twice;
 * or the port of a switch that an end port is lost from. -ENOMEM.
 */
int pm_flows_note_entry(struct pm_flows *flows, uint32_t sw, uint32_t lid);
int pm_flows_note_end(struct pm_flows *flows, uint32_t port);

/*
 * Makes the loads those of the routes' tables in a fabric with cables cut, a clone of the
 * first, with all that was noted. O(noted entries x length of a path), and for each lost
 * end port O((switches with end ports + end ports) x length of a path).
 */
void pm_flows_update(struct pm_flows *flows, const struct pm_fabric *broken);

/* Loads are those before the loss again, and nothing is noted. O(what was changed). */
void pm_flows_restore(struct pm_flows *flows);

/* Flows on the link that leaves by each port, 0 where there is none; borrowed. */
const uint32_t *pm_flows_loads(const struct pm_flows *flows);

/*
 * The largest load of links between levels, each as pm_link_weigh has it. O(links that
 * were changed).
 */
uint64_t pm_flows_most(const struct pm_flows *flows);

#endif
