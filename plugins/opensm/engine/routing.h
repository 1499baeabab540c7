/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a fabric to its plan, view and tables. Called with no lock held, or, in the
 * engine's callback, with osm->lock held.
 */
#ifndef PORTMAJOR_ROUTING_H
#define PORTMAJOR_ROUTING_H

#include "plugin.h"
#include "recover.h"

/* Makes or grows the plan for a fabric and puts it in force. Errors as pm_plan_make. */
int routing_update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
			struct pm_error *err);

/* Forgets the plan, and all data made with it. */
void routing_forget(struct plugin *plugin);

/* Tables found in the switches, to keep if good. */
struct routing_found {
	struct recovered tables; /* empty: OpenSM's record is used instead */
	bool same_plan;		 /* the tables' LIDs may be of this plan */
};

/*
 * Whether the plan stays, as long as subnet_cache_refresh finds nothing new: all ports of
 * the cache are in this plan, and had their LIDs handed over.
 */
bool routing_is_covered(const struct plugin *plugin);

/*
 * Computes the tables for the cache's last refresh, which the plan covers; as
 * routing_compute. -ENOMEM.
 */
int routing_recompute(struct plugin *plugin, bool discovered, struct pm_error *err);

/*
 * Computes the tables for a fabric that the cache has just learnt. With `discovered`:
 * after discovery, with no lock held; else with osm->lock held. found may be NULL.
 * -ESTALE: the plan does not cover the fabric; -ENOMEM.
 */
int routing_compute(struct plugin *plugin, const struct pm_fabric *fabric,
		    bool discovered, const struct routing_found *found,
		    struct pm_error *err);

/*
 * Finds the stale entries of the switches' tables. With `discovered`, after discovery,
 * with no lock held, it also sends blocks that could loop in OpenSM's order; else
 * osm->lock is held. -ENOMEM.
 */
int routing_find_stale(struct plugin *plugin, bool discovered, struct pm_error *err);

/* Requests a routing run at this clock_ms; UINT64_MAX: none. */
void routing_request_at(struct plugin *plugin, uint64_t when_ms);

/* Requests one at this clock_ms, unless one is requested for an earlier time. */
void routing_request_by(struct plugin *plugin, uint64_t when_ms);

#endif
