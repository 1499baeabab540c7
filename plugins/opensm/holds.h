/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two things that flap.h does not have: a clock that asks OpenSM for a new routing
 * run when a hold ends, and an operator, who ends holds by a file in OpenSM's cache
 * folder.
 */
#ifndef PORTMAJOR_HOLDS_H
#define PORTMAJOR_HOLDS_H

#include "view.h"

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

/* Opaque. */
struct holds;

/* Begins to keep time, in a thread of its own. NULL without memory. */
struct holds *holds_start(osm_opensm_t *osm);
void holds_stop(struct holds *holds);

/*
 * Ends all holds if there is a file portmajor.clear-holds, which goes before. On the
 * sweeper thread, without a lock.
 */
void holds_clear_if_asked(const struct holds *holds, struct view *view);

/* Call after each view_look: asks for a run when the next hold ends, tells what changed.
 */
void holds_keep(struct holds *holds, const struct view *view);

#endif
