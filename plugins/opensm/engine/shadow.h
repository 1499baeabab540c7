/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shadow mode: counts the blocks that portmajor would send, while another engine routes:
 * compares its tables with OpenSM's record, and with its previous ones.
 */
#ifndef PORTMAJOR_SHADOW_H
#define PORTMAJOR_SHADOW_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/route/delta.h>

/* Portmajor's previous tables. All zero at first. */
struct shadow {
	uint8_t *tables; /* [switch][stride], NULL: none */
	uint32_t switches, stride;
};

struct shadow_result {
	struct pm_delta take_over; /* from the switches' tables to portmajor's */
	struct pm_delta event;	   /* from the previous tables, if has_event */
	uint64_t full;		   /* blocks of all tables */
	bool has_event;
};

/*
 * Compares portmajor's present tables. -ENOMEM. With osm->lock held, shared at least,
 * after OpenSM has noted its Sets.
 */
int shadow_compute(struct shadow *shadow, const osm_subn_t *subn,
		   const struct pm_plan *plan, const struct pm_routes *routes,
		   struct shadow_result *result, struct pm_error *err);

/* Drops the previous tables, after a change of plan. */
void shadow_forget(struct shadow *shadow);

#endif
