/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests a routing run of OpenSM when tables change without an event: a hold ends, or
 * the engine fails back; and for blocks that were not acknowledged.
 */
#ifndef PORTMAJOR_ALARM_H
#define PORTMAJOR_ALARM_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

struct alarm;

/* Starts its thread. NULL without memory. */
struct alarm *alarm_start(osm_opensm_t *osm);
void alarm_stop(struct alarm *alarm);

/* Replaces the time of the next request, in clock_ms; DBL_MAX: never. */
void alarm_set(struct alarm *alarm, double when_ms);

/* The same, unless it is due earlier. */
void alarm_advance(struct alarm *alarm, double when_ms);

#endif
