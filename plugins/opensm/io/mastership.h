/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether OpenSM is the master or knows one. OpenSM reports nothing when its port is down
 * or when it discovers without end: so the writer's thread reads its state in each round.
 */
#ifndef PORTMAJOR_IO_MASTERSHIP_H
#define PORTMAJOR_IO_MASTERSHIP_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A discovery that takes longer, and three times longer than any before, hangs. */
#define MASTERSHIP_DISCOVERY_MS 30e3

/* Zeroed at first. */
struct mastership {
	bool known;	    /* the next three members are set */
	uint8_t state;	    /* IB_SMINFO_STATE_.. */
	time_t since;	    /* when it was first seen */
	double since_ms;    /* the same by clock_ms */
	bool port_found;    /* OpenSM has known its port */
	bool port_down;	    /* as last seen, by a master or while discovering */
	const char *alone;  /* why there is no master as far as OpenSM knows, or NULL */
	time_t alone_since; /* when this was first seen */
};

/*
 * Reads OpenSM's state now and, while it discovers, that of its port, unless another
 * thread has osm->lock exclusively. longest_ms: the longest discovery so far, 0: none.
 * own_port_down: of a master, as its port was read. Returns whether the state or `alone`
 * changed. A moment, without waiting.
 */
bool mastership_update(struct mastership *mastership, osm_opensm_t *osm,
		       double longest_ms, bool own_port_down);

/* Sets the members sm_state, sm_since, no_master and no_master_since of a document. -1:
 * no memory. */
int mastership_describe(const struct mastership *mastership, bool running,
			json_t *document);

#endif
