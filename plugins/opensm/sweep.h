/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One sweep, all of it on OpenSM's sweeper thread; beside it the gate of beside.h is open
 * or shut:
 *
 *   HEAVY_SWEEP_START    before discovery, no lock held: losses that traps have told of
 *                        are found, tables computed, blocks sent; then the same
 *                        for what was drained or undrained; the gate opens
 *   HEAVY_SWEEP_DONE     discovery is over, no lock held: the gate shuts, what was found
 *                        lost meanwhile is merged; the fabric is copied, the plan
 *                        made or grown, tables computed for the LIDs to be, and, with the
 *                        lock held, LIDs given to OpenSM's LID manager
 *   engine callback      osm->lock held by OpenSM: what the tables were made for is
 *                        compared with what there is, and they are written to new_lft;
 *                        computed anew only where something differs
 *   UCAST_ROUTING_DONE   all LFT blocks are answered: what was acknowledged is counted,
 *                        the run logged in one line, a changed plan saved, the state
 *                        published; the gate opens
 *   SUBNET_UP            the gate shuts: the next trap has a sweep begin at once
 *
 * What is found lost beside a sweep stays lost, for that sweep and those after it, until
 * one began its discovery, at HEAVY_SWEEP_START, after it was found (view.h: lost): the
 * discovery under way may have seen it before. OpenSM may begin that anew without an
 * event, so nothing is concluded from when it ended. If a discovery sees such a cable up,
 * another one is asked for, which tells.
 *
 * A failure anywhere leaves OpenSM's forwarding tables as they are; the callback then
 * returns -1 and OpenSM goes on to its next engine. LIDs that the LID manager has been
 * given by then stay.
 *
 * Behind another engine in routing_engine nothing is done until OpenSM asks; LIDs stay
 * what OpenSM makes them.
 */
#ifndef PORTMAJOR_SWEEP_H
#define PORTMAJOR_SWEEP_H

#include "plugin.h"

void sweep_start(struct plugin *plugin);
void sweep_discovered(struct plugin *plugin);
int sweep_build_tables(struct plugin *plugin); /* 0, or -1 */
void sweep_routed(struct plugin *plugin);

/* SUBNET_UP. */
void sweep_ended(struct plugin *plugin);

/* Has the state written with what is known now. */
void sweep_publish(struct plugin *plugin);

#endif
