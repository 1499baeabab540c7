/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One sweep, on OpenSM's sweeper thread. The repairer (engine/repairer.h) works beside
 * it, in any phase (engine/phase.h), on its own view, which is handed over here:
 *
 *   HEAVY_SWEEP_START    before discovery, no lock held: waits for the repair of failures
 *                        that traps have reported by then, or, if no trap has come since
 *                        SUBNET_UP, 20 ms for the first one; merges the failures found
 *   HEAVY_SWEEP_DONE     after discovery, no lock held: merges failures found meanwhile,
 *                        and drops traps from before that discovery; takes the repairer's
 *                        drains after the end of a transition, and none begins from here
 *                        on; copies the fabric, makes or grows the plan, computes tables
 *                        for the future LIDs, and, with the lock held, gives the LIDs to
 *                        OpenSM's LID manager; sends blocks that need an order (ahead.h),
 *                        and then halts the repairer
 *   engine callback      osm->lock held by OpenSM: halts the repairer, and merges
 *                        failures found since; compares the present fabric with that of
 *                        the tables, and computes them anew only if it differs; hands the
 *                        view over to the repairer, and writes the tables to new_lft,
 *                        without blocks with the plugin's Sets out. If a failure was
 *                        merged, or some blocks that need an order were not sent before,
 *                        it writes whole tables only, and the repairer sends the rest
 *   UCAST_ROUTING_DONE   all LFT blocks of OpenSM's are answered: hands the view over if
 *                        that is still to be done; counts acknowledged blocks, logs the
 *                        run in one line, saves a changed plan, publishes the state
 *   SUBNET_UP            the sweep is over
 *
 * A failure found by a repair counts until the end of the first discovery that began
 * (HEAVY_SWEEP_START) after it was found (view.h: failed). A running discovery may have
 * seen the link before it failed. OpenSM may restart a discovery without an event, so the
 * end of such a discovery proves nothing. If it has seen such a link up, another one is
 * requested.
 *
 * An error anywhere leaves OpenSM's forwarding tables unchanged: the callback returns -1,
 * the repairer's view becomes void, and OpenSM goes on to its next engine, if there is
 * one. The same happens on purpose when too few pairs are reachable (failback.h has that
 * rule, and the way back). LIDs that were given to the LID manager by then stay.
 *
 * If another engine comes first in routing_engine, nothing is done until OpenSM calls
 * this one, and OpenSM assigns LIDs.
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

/* Publishes the present state; without `unset` drains stay as last published. */
void sweep_publish(struct plugin *plugin, const struct unset *unset);

#endif
