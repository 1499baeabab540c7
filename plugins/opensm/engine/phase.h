/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What OpenSM is doing, as far as its events and the engine's callback tell:
 *
 *     phase        from                     to
 *     idle         SUBNET_UP, or (5)        HEAVY_SWEEP_START, callback (1)
 *     discovery    HEAVY_SWEEP_START        HEAVY_SWEEP_DONE (2)
 *     management   HEAVY_SWEEP_DONE         callback (3)
 *     routing      callback                 UCAST_ROUTING_DONE (4)
 *     links        UCAST_ROUTING_DONE (5)   SUBNET_UP
 *
 *   (1) a reroute, when a hold ends: no discovery; light sweeps, joins and GUID requests
 *       are part of idle
 *   (2) OpenSM may begin it anew without an event; it ends in none where the SM port is
 *       down, or another SM is the master
 *   (3) ends in none where mastership is handed over
 *   (4) LFT Sets of OpenSM's are out, and behind them our multicast tables. Ends in none
 *       where it reports errors or exits
 *   (5) of a reroute: idle, as there are no links to be activated
 *
 * Whatever ends in no event is over at the next HEAVY_SWEEP_START at the latest. Nothing
 * waits for the end of a phase without a bound, and what may be done in one may be done
 * in idle as well: so a phase that is over, and was not reported, costs nothing but the
 * management and the routing phase, in which transitions wait; an OpenSM that is not the
 * master any more has none. Rebalancing waits in the links phase, too: what has just come
 * up passes no packet before OpenSM activates it.
 */
#ifndef PORTMAJOR_PHASE_H
#define PORTMAJOR_PHASE_H

enum sweep_phase {
	PHASE_IDLE,
	PHASE_DISCOVERY,
	PHASE_MANAGEMENT,
	PHASE_ROUTING,
	PHASE_LINKS,
	PHASES
};

#endif
