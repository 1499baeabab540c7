/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's hop counts: from each switch by each of its ports to each other switch. OpenSM
 * clears them in each routing run and, unless the engine has its own, computes them anew,
 * with its lock held: of 1,620 switches that takes 6 s, and 280 MB. OpenSM reads them
 * where it makes multicast trees, and where it writes them into a file. Other engines
 * that route after this one have them computed again.
 */
#ifndef PORTMAJOR_HOP_COUNTS_H
#define PORTMAJOR_HOP_COUNTS_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <stdbool.h>

/*
 * Whether OpenSM writes them into a file at the end of the present sweep. If the flag is
 * set later in the sweep, its file has no hop counts.
 */
bool hop_counts_are_dumped(osm_opensm_t *osm);

/*
 * Has OpenSM compute them if the engine of this context has routed, or none has, without
 * them. With osm->lock held exclusively.
 */
void hop_counts_complete(osm_opensm_t *osm, const void *context);

#endif
