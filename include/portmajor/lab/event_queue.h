/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of events by time; events of the same time keep the order in which they were
 * added, so that each run of a simulation is the same.
 */
#ifndef PORTMAJOR_EVENT_QUEUE_H
#define PORTMAJOR_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Times are in any unit; kind and index are the caller's. */
struct pm_event {
	uint64_t time;
	uint64_t order; /* set by pm_event_queue_add */
	uint32_t kind;
	uint32_t index;
};

/* Zeroed: empty. Callers only read heap[0], num, now and out_of_range. */
struct pm_event_queue {
	struct pm_event *heap; /* the next event first */
	uint32_t room;
	uint32_t num;	   /* events in the queue */
	uint64_t next;	   /* `order` of the next event */
	uint64_t now;	   /* time of the last event taken */
	bool out_of_range; /* an event's time exceeds 64 bits */
};

/*
 * Adds an event `delay` after now. If that time is out of range, no more events can be
 * taken. O(log events).
 */
void pm_event_queue_add(struct pm_event_queue *events, uint64_t delay, uint32_t kind,
			uint32_t index);

/* Takes the next event; false: none, or one was out of range. O(log events). */
bool pm_event_queue_take(struct pm_event_queue *events, struct pm_event *event);

void pm_event_queue_free(struct pm_event_queue *events);

#endif
