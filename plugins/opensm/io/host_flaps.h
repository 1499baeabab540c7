/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hosts whose links go down again and again: more than flap_limit times in less than
 * flap_window, as links between switches that are put on hold (damping.h), or so often
 * that their returns are served later (returns.h). They are for operators: nothing is
 * kept out. Each return that is served counts as one time
 * down.
 */
#ifndef PORTMAJOR_IO_HOST_FLAPS_H
#define PORTMAJOR_IO_HOST_FLAPS_H

#include "known_hosts.h"

#include <portmajor/policy/damping.h>

#include <jansson.h>

#include <pthread.h>
#include <time.h>

#define HOST_FLAPS_LISTED 100
#define HOST_FLAPS_S 3600 /* age of the last time down up to which a host is listed */

struct host_flap;

/* All zero at first, but the mutex, which the owner initialises and destroys. */
struct host_flaps {
	pthread_mutex_t mutex; /* of the other members */
	struct host_flap *list;
	uint32_t num, room;
	struct pm_damping_config config; /* limit and window_ms are used; limit 0: none */
};

/* Takes over another limit and window. On any thread, as the three below. */
void host_flaps_set(struct host_flaps *flaps, const struct pm_damping_config *config);

/*
 * Notes that the host at a leaf's port has returned, at this time. Without memory it is
 * lost. O(hosts that went down in the last hour).
 */
void host_flaps_note(struct host_flaps *flaps, const struct pm_damping_end *leaf,
		     time_t now);

/* The same, unless a return since this time was noted. */
void host_flaps_note_once(struct host_flaps *flaps, const struct pm_damping_end *leaf,
			  time_t since, time_t now);

/* Notes that its next return is served later. */
void host_flaps_defer(struct host_flaps *flaps, const struct pm_damping_end *leaf);

/*
 * The member `flapping_hosts`: those that went down last come first. Names of leaves are
 * those of a fabric, which may be NULL. NULL without memory.
 */
json_t *host_flaps_describe(struct host_flaps *flaps, const struct pm_fabric *topology,
			    const struct known_hosts *hosts, time_t now);

void host_flaps_free(struct host_flaps *flaps);

#endif
