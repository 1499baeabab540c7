/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors of ports in the last hour, and where packets wait, as OpenSM's performance
 * manager reads the counters (`perfmgr TRUE` in opensm.conf). They are for operators;
 * nothing is routed by them.
 *
 * OpenSM reports differences of two readings. The first reading of a port has all errors
 * since its counters were cleared, maybe months ago: a difference counts only if the
 * reading that it begins with was reported, too. Errors are added up in PORT_ERROR_SLICES
 * slices of an hour, so a sum is of 50 to 60 minutes. A port that has not been read for
 * an hour, and for two of its intervals, is forgotten.
 */
#ifndef PORTMAJOR_IO_PORT_ERRORS_H
#define PORTMAJOR_IO_PORT_ERRORS_H

#include "known_hosts.h"

#include <portmajor/fabric/fabric.h>

#include <jansson.h>

#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum port_error {
	PORT_ERROR_SYMBOL,
	PORT_ERROR_RECOVERY,
	PORT_ERROR_DOWNED,
	PORT_ERROR_RECEIVE,
	PORT_ERROR_KINDS,
};

#define PORT_ERROR_SLICES 6
#define PORT_ERRORS_LISTED 100
#define PORT_WAITS_LISTED 10

/* Differences between two readings of a port's counters. */
struct port_reading {
	uint64_t guid; /* of the node */
	const char *name;
	uint8_t num;
	time_t interval_s; /* between the readings */
	uint64_t errors[PORT_ERROR_KINDS];
	uint64_t wait; /* PortXmitWait: ticks in which packets waited to be sent */
};

struct read_port;

/* All zero at first, but the mutex, which the owner initialises and destroys. */
struct port_errors {
	pthread_mutex_t mutex;	 /* of the other members */
	void *ports;		 /* all ports that were read lately, a tree (tsearch) */
	struct read_port *first; /* and a list */
	time_t slice;		 /* in which old ports were forgotten last */
};

/*
 * Adds a reading, at this time. On any thread: takes no lock but the mutex. Without
 * memory the reading is lost. O(log(ports)); O(ports) once in a slice.
 */
void port_errors_note(struct port_errors *errors, const struct port_reading *reading,
		      time_t now);

/*
 * The member `port_errors`: ports with `limit` or more errors of a kind in the last hour,
 * those with the most first; at most PORT_ERRORS_LISTED are listed. JSON null: nothing
 * was read yet, or the limit is 0. NULL without memory. Links are those of a skeleton,
 * which may be NULL, and those of known hosts.
 */
json_t *port_errors_describe(struct port_errors *errors, uint32_t limit,
			     const struct pm_fabric *topology,
			     const struct known_hosts *hosts, time_t now);

/*
 * The member `port_waits`: the ports at which packets waited longest between the last two
 * readings, the worst first, at most PORT_WAITS_LISTED. JSON null: nothing was read yet.
 * How long a tick is depends on the device. As for port_errors_describe.
 */
json_t *port_waits_describe(struct port_errors *errors, const struct pm_fabric *topology,
			    const struct known_hosts *hosts, time_t now);

void port_errors_free(struct port_errors *errors);

#endif
