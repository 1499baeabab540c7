/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking a running fabric over without the plan that it was made with: tables are read
 * back from the switches, once, after the first discovery.
 */
#ifndef PORTMAJOR_RECOVER_H
#define PORTMAJOR_RECOVER_H

#include "osm/smp.h"

#include <portmajor/route/route.h>

/* What the switches hold. All zero at first. */
struct recovered {
	struct pm_held *held; /* [switch of plan->known] */
	uint8_t *tables;      /* in which these lie, or NULL */
};

/*
 * Asks all switches of the plan for their tables, as long as these are, be that longer
 * than the plan's; what is not answered is not known. On
 * the sweeper thread, with no lock held. -ENOMEM.
 */
int recover_read(struct smp_sender *smps, osm_opensm_t *osm, const struct pm_plan *plan,
		 struct recovered *recovered, struct pm_error *err);

/*
 * A copy of OpenSM's record of them instead, where nothing can be asked: in the engine's
 * callback OpenSM holds its lock. With osm->lock held, shared at least. -ENOMEM.
 */
int recover_record(const osm_subn_t *subn, const struct pm_plan *plan,
		   struct recovered *recovered, struct pm_error *err);

void recover_free(struct recovered *recovered);

#endif
