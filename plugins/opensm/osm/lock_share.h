/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's lock, held shared for a long walk in short parts. Joins, and answers that
 * OpenSM takes, need the lock exclusively and wait for a part at most.
 *
 *     CL_PLOCK_ACQUIRE(&osm->lock);
 *     for (each switch) {
 *             ...
 *             lock_share_step(&share);
 *     }
 *     CL_PLOCK_RELEASE(&osm->lock);
 *
 * Meanwhile OpenSM's sweeper may free nodes, switches and tables, or move them. On its
 * own thread a standby's performance manager may still drop nodes, as it was about to
 * when OpenSM became the master; no other thread does, and none adds any before the next
 * discovery. So there their number tells whether pointers remain valid after a step.
 */
#ifndef PORTMAJOR_LOCK_SHARE_H
#define PORTMAJOR_LOCK_SHARE_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <stdint.h>

/* Steps of a part: a step is a node with its ports, or a switch's table. */
#define LOCK_SHARE_STEPS 64u

struct lock_share {
	cl_plock_t *lock;
	uint32_t steps; /* since the lock was acquired */
};

/*
 * Counts a step, and lets others have the lock if these are enough; of a struct
 * lock_share. NULL: the lock is held exclusively, by the caller's caller, and is kept.
 */
static inline void lock_share_step(void *context)
{
	struct lock_share *share = context;

	if (!share || ++share->steps < LOCK_SHARE_STEPS)
		return;
	share->steps = 0;
	CL_PLOCK_RELEASE(share->lock);
	CL_PLOCK_ACQUIRE(share->lock);
}

#endif
