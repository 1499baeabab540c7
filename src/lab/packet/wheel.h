/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of events by time. Events of the next WHEEL ticks are in a list for each tick,
 * all others in a heap, from which they come first in their tick. Otherwise events of a
 * tick come in the order in which they were added.
 */
#ifndef PORTMAJOR_LAB_WHEEL_H
#define PORTMAJOR_LAB_WHEEL_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/lab/event_queue.h>

#define WHEEL 4096 /* ticks, a multiple of 64, at most 64 x 64 */
#define NO_TIME UINT32_MAX

/* An event; its meaning is the caller's. */
struct event {
	uint32_t what, arg;
};

#define CHUNK 7 /* events: so a chunk has the size of a cache line */

struct chunk {
	uint32_t next, num;
	struct event list[CHUNK];
};

struct wheel {
	uint32_t now;
	uint32_t first[WHEEL], last[WHEEL]; /* chunks of each tick, or PM_NONE */
	uint64_t used[WHEEL / 64];	    /* ticks with events */
	uint64_t used_words;
	struct chunk *chunks;
	uint32_t num_chunks, room, free; /* free: the first of a list, or PM_NONE */
	struct pm_event_queue later;
};

void wheel_begin(struct wheel *wheel);
void wheel_end(struct wheel *wheel);

/* The rest of wheel_add, for rare cases. */
struct chunk *wheel_add_chunk(struct wheel *wheel, uint32_t slot);
void wheel_add_later(struct wheel *wheel, uint32_t time, uint32_t what, uint32_t arg);

/* Adds an event at a time, now or later. */
static inline void wheel_add(struct wheel *wheel, uint32_t time, uint32_t what,
			     uint32_t arg)
{
	uint32_t slot = time % WHEEL, c;
	struct chunk *chunk;

	if (time - wheel->now >= WHEEL) {
		wheel_add_later(wheel, time, what, arg);
		return;
	}
	c = wheel->last[slot];
	chunk = c == PM_NONE || wheel->chunks[c].num == CHUNK
			? wheel_add_chunk(wheel, slot)
			: &wheel->chunks[c];
	chunk->list[chunk->num++] = (struct event){what, arg};
}

/* The time of the next event, or NO_TIME. */
uint32_t wheel_next(struct wheel *wheel);

static inline bool wheel_is_empty(const struct wheel *wheel)
{
	return !wheel->used_words && !wheel->later.num;
}

/*
 * Takes the chunks of the tick `now`; returns the first, or PM_NONE. The caller gives
 * each back when it has been read.
 */
uint32_t wheel_take(struct wheel *wheel);

static inline void wheel_give_back(struct wheel *wheel, uint32_t chunk)
{
	wheel->chunks[chunk].next = wheel->free;
	wheel->free = chunk;
}

#endif
