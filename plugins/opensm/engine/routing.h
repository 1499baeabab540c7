/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a fabric to tables: the plan for it, and what is seen of that. Called with no lock
 * held, or with OpenSM's in the engine's callback.
 */
#ifndef PORTMAJOR_ROUTING_H
#define PORTMAJOR_ROUTING_H

#include "plugin.h"
#include "recover.h"

/* Makes or grows the plan for a fabric and puts it in force. Errors as pm_plan_make. */
int routing_update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
			struct pm_error *err);

/* Forgets the plan, and all that was made with it. */
void routing_forget(struct plugin *plugin);

/* Tables that switches hold already, should they be kept. */
struct routing_found {
	struct recovered tables; /* none: OpenSM's record is looked at instead */
	bool strict;		 /* the plan may be the one that their LIDs came from */
};

/*
 * Whether the plan stays as it is whatever a look finds, as long as it finds nothing
 * new (subnet_cache_look): all that it has learnt had its LIDs, and went into this plan.
 */
bool routing_is_covered(const struct plugin *plugin);

/*
 * Makes the tables those for what was just looked at, which is covered. As
 * routing_compute. -ENOMEM.
 */
int routing_recompute(struct plugin *plugin, bool discovered, struct pm_error *err);

/*
 * Makes the tables those for a fabric, which is what the cache has just learnt: just
 * discovered, with no lock held, or else with OpenSM's. found may be NULL. -ESTALE: the
 * plan does not cover it; -ENOMEM.
 */
int routing_compute(struct plugin *plugin, const struct pm_fabric *fabric,
		    bool discovered, const struct routing_found *found,
		    struct pm_error *err);

/*
 * Finds the stale entries of the switches' tables, and, right after discovery, with no
 * lock held, sends what could loop in OpenSM's order; else with OpenSM's lock. -ENOMEM.
 */
int routing_find_stale(struct plugin *plugin, bool discovered, struct pm_error *err);

/* Has OpenSM ask for tables again at this clock_ms, or UINT64_MAX: when it wants to.
 */
void routing_ask_at(struct plugin *plugin, uint64_t when_ms);

#endif
