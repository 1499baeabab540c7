/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happens next: events by time, and those of one time in the order in which they
 * were noted, so that a simulation is the same in every run.
 */
#ifndef PORTMAJOR_EVENT_QUEUE_H
#define PORTMAJOR_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Times are numbers of whatever unit; kind and index are the caller's. */
struct pm_event {
	uint64_t time;
	uint64_t order; /* set by pm_event_queue_add */
	uint32_t kind;
	uint32_t index;
};

/* Zeroed: empty. Members are the queue's own, but for the last two. */
struct pm_event_queue {
	struct pm_event *heap;
	uint32_t room;
	uint32_t num;	   /* events that are noted */
	uint64_t next;	   /* order */
	uint64_t now;	   /* time of the event that was taken last */
	bool no_memory;	   /* an event could not be noted */
	bool out_of_range; /* one would be after the end of 64 bits */
};

/*
 * Notes an event that comes `delay` after now. Where that fails it is remembered, and
 * nothing more can be taken. O(log events).
 */
void pm_event_queue_add(struct pm_event_queue *events, uint64_t delay, uint32_t kind,
			uint32_t index);

/* Takes the next event; false: there is none, or noting one has failed. O(log events) */
bool pm_event_queue_take(struct pm_event_queue *events, struct pm_event *event);

void pm_event_queue_free(struct pm_event_queue *events);

#endif
