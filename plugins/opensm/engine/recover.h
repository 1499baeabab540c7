/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes over a running fabric when its plan was lost: reads tables from the switches,
 * once, after the first discovery.
 */
#ifndef PORTMAJOR_RECOVER_H
#define PORTMAJOR_RECOVER_H

#include "osm/smp.h"

#include <portmajor/route/route.h>

/* The switches' tables. All zero at first. */
struct recovered {
	struct pm_installed *installed; /* [switch of plan->topology] */
	uint8_t *tables;		/* their memory, or NULL */
};

/*
 * Reads the tables of all the plan's switches in full length; blocks without an answer
 * are unknown. On the repairer's thread, with no lock held. -ENOMEM.
 */
int recover_read(struct smp_sender *smps, osm_opensm_t *osm, const struct pm_plan *plan,
		 struct recovered *recovered, struct pm_error *err);

/*
 * Copies OpenSM's record of the tables instead, for the engine's callback, where OpenSM
 * holds its lock. With osm->lock held, shared at least. -ENOMEM.
 */
int recover_record(const osm_subn_t *subn, const struct pm_plan *plan,
		   struct recovered *recovered, struct pm_error *err);

void recover_free(struct recovered *recovered);

#endif
