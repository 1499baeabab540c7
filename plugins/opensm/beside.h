/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Early repair beside a sweep: a thread that repairs what traps tell of while OpenSM
 * discovers the fabric, or sets up multicast and ports. It works on a view of its own,
 * made of the sweeper's when the gate opens, and takes nothing of OpenSM's over a release
 * of its lock.
 *
 *     phase        from                   to                     gate
 *     idle         SUBNET_UP              HEAVY_SWEEP_START      shut (1)
 *     discovery    HEAVY_SWEEP_START      HEAVY_SWEEP_DONE       open
 *     routing      HEAVY_SWEEP_DONE       UCAST_ROUTING_DONE     shut (2)
 *     links        UCAST_ROUTING_DONE     SUBNET_UP              open
 *
 *   (1) the sweeper itself repairs when the trap has it begin a sweep
 *   (2) LFT blocks of OpenSM's are out, and never one of ours beside
 *
 * The gate is open only where the switches hold tables of ours, see sweep.c. A sweep that
 * ends early, without an event, leaves it as it is: the next HEAVY_SWEEP_START shuts it.
 * The engine's callback without a discovery (a hold has ended) shuts it without waiting,
 * with osm->lock held exclusively, as it is while a block of ours is handed over: none
 * follows that. Blocks that are out then are sent by OpenSM as well, with what the
 * callback wants.
 */
#ifndef PORTMAJOR_BESIDE_H
#define PORTMAJOR_BESIDE_H

#include "repair.h"

#include <portmajor/flap.h>

/* Opaque. */
struct beside;

/* All of it borrowed until beside_stop. */
struct beside_config {
	osm_opensm_t *osm;
	struct ask *ask;
	struct repair *repair; /* whose traps are taken */
	struct pm_flap_config flap;
	uint32_t budget_ms;
	/* Is told of each repair, on the thread, without a lock. */
	void (*tell)(void *context, const struct repaired *done);
	void *context;
};

/* The gate is shut. NULL without memory. */
struct beside *beside_start(const struct beside_config *config);
void beside_stop(struct beside *beside);

/* A trap has come: on any thread, with osm->lock held or not. */
void beside_wake(struct beside *beside);

/*
 * On the sweeper thread. Opens the gate: repairs begin from a copy of the view; its plan
 * stays until the gate was shut. -ENOMEM: it stays shut. O(ports), and for another plan
 * what tables cost.
 */
int beside_open(struct beside *beside, const struct view *view);

/* Shuts it and waits until nothing of ours is out; with no lock held. */
void beside_shut(struct beside *beside);

/* Shuts it and does not wait. Whether it was open. */
bool beside_halt(struct beside *beside);

/*
 * Adds to lost[port] of the view's plan what was found lost since the last call. False:
 * nothing, or by another plan; another sweep was asked for by its traps then.
 */
bool beside_take_lost(struct beside *beside, const struct view *view, uint8_t *lost);

/* What was done, the first first, each once; false: nothing more. */
bool beside_take_done(struct beside *beside, struct repaired *done);

#endif
