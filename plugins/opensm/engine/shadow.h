/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shadow mode: what the engine would send, while another one routes. Nothing is sent or
 * given to OpenSM; tables are compared with OpenSM's record of what switches hold, and
 * with our own before.
 */
#ifndef PORTMAJOR_SHADOW_H
#define PORTMAJOR_SHADOW_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/route/delta.h>

/* Our tables at the last look. All zero at first. */
struct shadow {
	uint8_t *tables; /* [switch][stride], NULL: none */
	uint32_t switches, stride;
};

struct shadow_result {
	struct pm_delta take_over; /* from what switches hold to our tables */
	struct pm_delta event;	   /* from our tables before, if there are any */
	uint64_t full;		   /* blocks of all tables */
	bool has_event;
};

/*
 * Looks at our tables as they are now. -ENOMEM. With osm->lock held, shared at least,
 * after OpenSM has noted what it has sent.
 */
int shadow_look(struct shadow *shadow, const osm_subn_t *subn, const struct pm_plan *plan,
		const struct pm_routes *routes, struct shadow_result *result,
		struct pm_error *err);

/* There is another plan: the next look has nothing to compare with. */
void shadow_forget(struct shadow *shadow);

#endif
