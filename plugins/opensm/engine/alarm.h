/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A clock that asks OpenSM for a new routing run when the tables change without an event:
 * a hold ends, or a fabric that was given away is taken back.
 */
#ifndef PORTMAJOR_ALARM_H
#define PORTMAJOR_ALARM_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

/* Opaque. */
struct alarm;

/* Begins to keep time, in a thread of its own. NULL without memory. */
struct alarm *alarm_start(osm_opensm_t *osm);
void alarm_stop(struct alarm *alarm);

/* At this moment of clock_ms, in place of the one before; DBL_MAX: never. */
void alarm_set(struct alarm *alarm, double when_ms);

#endif
