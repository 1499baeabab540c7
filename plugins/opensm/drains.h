/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file portmajor.drained in OpenSM's cache folder, which `portmajor drain` writes
 * (drain.h): one for all fabrics, as GUIDs are of one only. A thread looks once a second
 * whether it is another one, and asks OpenSM for a sweep then; it is read on the sweeper
 * thread, with no lock held.
 */
#ifndef PORTMAJOR_DRAINS_H
#define PORTMAJOR_DRAINS_H

#include "store.h"

#include <portmajor/drain.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

/* Opaque. */
struct drains;

/* Begins to look. NULL without memory. */
struct drains *drains_start(osm_opensm_t *osm, const struct store *store);
void drains_stop(struct drains *drains);

/*
 * Reads the file. True if it drains something else than *now, which is then replaced.
 * A file that cannot be read is logged once and changes nothing.
 */
bool drains_reread(struct drains *drains, struct pm_drains *now);

/* Why the file is not followed, or "". */
const char *drains_unread(const struct drains *drains);

#endif
