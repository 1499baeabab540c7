/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's flags for its next sweep, force_heavy_sweep and force_reroute. Its own threads
 * read and write them without a lock; so do ours, in one access.
 */
#ifndef PORTMAJOR_OSM_SWEEP_FLAGS_H
#define PORTMAJOR_OSM_SWEEP_FLAGS_H

#include <iba/ib_types.h>

#include <stdbool.h>

static inline void sweep_flag_set(boolean_t *flag)
{
	__atomic_store_n(flag, TRUE, __ATOMIC_RELAXED);
}

static inline bool sweep_flag_is_set(const boolean_t *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED) != FALSE;
}

#endif
