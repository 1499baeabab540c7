/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's phases, by its events and the engine's callback:
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
 *   (2) OpenSM may begin it anew without an event. It ends without an event where the
 *       SM's port is down, or another SM is the master
 *   (3) ends without an event where mastership is handed over
 *   (4) OpenSM's LFT Sets are out, and behind them the plugin's multicast tables. Ends
 *       without an event where OpenSM reports errors or exits
 *   (5) after a reroute: idle, as there are no links to activate
 *
 * In these places do_sweep of OpenSM 3.3.23 (osm_state_mgr.c) ends without the callback
 * or an event; the repairer's view (repairer.h) is as before, unless noted:
 *
 *     no engine could route                 view void, by the callback
 *     discovery begins anew, or ends with errors
 *     the SM's port is down                 no switch to send to; void at the next
 *                                           HEAVY_SWEEP_START
 *     another master was found              void since HEAVY_SWEEP_START
 *     mastership is handed over, or waited for
 *                                           nothing is sent by a standby; void at the
 *                                           next HEAVY_SWEEP_START, unless OpenSM is the
 *                                           master and no other was meanwhile
 *
 * Two more paths skip the callback: OpenSM's unicast cache, which the engine switches
 * off, and another engine before portmajor that routes: void from HEAVY_SWEEP_DONE on.
 *
 * A phase without an event at its end ends at the next HEAVY_SWEEP_START. Each wait for
 * the end of a phase is bounded, and all that a phase allows is allowed in idle, too. So
 * an unreported end matters only in management and routing, where transitions wait.
 * Rebalancing waits in links, too: links that have just come up pass no packet before
 * OpenSM activates them.
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
