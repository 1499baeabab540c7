/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One sweep, on OpenSM's sweeper thread. The repairer (engine/repairer.h) works beside
 * it, in any phase (engine/phase.h), on its own view, which is handed over here:
 *
 *   HEAVY_SWEEP_START    before discovery, no lock held: waits for the repair of what
 *                        traps have told of by then, 20 ms for the first trap if none was
 *                        dealt with since SUBNET_UP; what was found failed is merged
 *   HEAVY_SWEEP_DONE     discovery is over, no lock held: what was found failed meanwhile
 *                        is merged, and traps that came before that discovery began are
 *                        dropped; drains are taken as the repairer has them, after the
 *                        end of a transition, and none begins from here on; the fabric
 *                        is copied, the plan made or grown, tables computed for the LIDs
 *                        to be, and, with the lock held, LIDs given to OpenSM's LID
 *                        manager; blocks that need an order are sent (ahead.h): then the
 *                        repairer is halted
 *   engine callback      osm->lock held by OpenSM: the repairer is halted, what was
 *                        found failed since is merged; what the tables were made for is
 *                        compared with what there is, and computed anew only where
 *                        something differs; the view is handed over to the repairer, and
 *                        the tables are written to new_lft, without the blocks that Sets
 *                        of ours are out for, or, where a failure was merged or some
 *                        blocks that need an order were not sent before, without any
 *                        but those of whole tables: the repairer sends these
 *   UCAST_ROUTING_DONE   all LFT blocks of OpenSM's are answered: the view is handed over
 *                        if it was not; what was acknowledged is counted, the run logged
 *                        in one line, a changed plan saved, the state published
 *   SUBNET_UP            the sweep is over
 *
 * A failure found by a repair lasts until the end of a discovery that began, at
 * HEAVY_SWEEP_START, after it was found (view.h: lost): a running one may have seen the
 * part before. OpenSM may restart a discovery without an event, so its end proves
 * nothing. If a discovery sees such a link up, another one is requested.
 *
 * An error anywhere leaves OpenSM's forwarding tables unchanged; the callback returns -1,
 * the repairer's view is void, and OpenSM goes on to its next engine. LIDs given to the
 * LID manager by then stay.
 *
 * Behind another engine in routing_engine nothing is done until OpenSM calls; LIDs are
 * OpenSM's.
 */
#ifndef PORTMAJOR_SWEEP_H
#define PORTMAJOR_SWEEP_H

#include "plugin.h"

void sweep_start(struct plugin *plugin);
void sweep_discovered(struct plugin *plugin);
int sweep_build_tables(struct plugin *plugin);		/* 0, or -1 */
void sweep_routed(struct plugin *plugin, bool reroute); /* without a discovery */

/* SUBNET_UP. */
void sweep_ended(struct plugin *plugin);

/* Publishes the present state. */
void sweep_publish(struct plugin *plugin);

#endif
