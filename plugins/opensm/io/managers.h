/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other subnet managers of the fabric: of a standby the master that it polls, of a master
 * all others that answered in its last discovery. A struct managers belongs to the
 * writer's thread.
 */
#ifndef PORTMAJOR_IO_MANAGERS_H
#define PORTMAJOR_IO_MANAGERS_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MANAGERS 8 /* more are left out */
#define MANAGERS_FOREIGN_S 30

struct manager {
	uint64_t guid;				 /* of its port */
	uint8_t state, priority;		 /* IB_SMINFO_STATE_.. */
	char name[IB_NODE_DESCRIPTION_SIZE + 1]; /* of its node, or "" */
	time_t since; /* when it was first seen in this state */
	bool foreign; /* a standby's master that has had no plan here for a while */
	bool former;  /* a standby's master, and now this one is the master */
};

/* Zeroed at first. */
struct managers {
	struct manager list[MANAGERS];
	uint32_t num;
	bool of_standby; /* `list` is what a standby knew */
};

/*
 * Reads what OpenSM knows now. resting: it does not sweep; in a sweep a master has
 * forgotten states, and a new one's former master stays known as that. Returns whether
 * anything changed. A moment, without waiting: if another thread has osm->lock
 * exclusively, nothing is read.
 */
bool managers_update(struct managers *managers, osm_opensm_t *osm, bool resting);

/* The list for the document's member `managers`; NULL without memory. */
json_t *managers_describe(const struct managers *managers);

/* "master", "standby", "discovering" or "not active". */
const char *managers_state_name(uint8_t state);

#endif
