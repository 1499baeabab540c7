/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps events by time, in a wheel of slots, with a heap for those far ahead. */
#include "wheel.h"

#include <portmajor/memory/xalloc.h>

void wheel_begin(struct wheel *wheel)
{
	memset(wheel, 0, sizeof(*wheel));
	memset(wheel->first, 0xff, sizeof(wheel->first));
	memset(wheel->last, 0xff, sizeof(wheel->last));
	wheel->free = PM_NONE;
}

void wheel_end(struct wheel *wheel)
{
	free(wheel->chunks);
	pm_event_queue_free(&wheel->later);
}

static uint32_t take_chunk(struct wheel *wheel)
{
	uint32_t c = wheel->free;

	if (c != PM_NONE) {
		wheel->free = wheel->chunks[c].next;
		return c;
	}
	pm_xgrow(&wheel->chunks, &wheel->room, wheel->num_chunks + 1,
		 sizeof(*wheel->chunks));
	return wheel->num_chunks++;
}

struct chunk *wheel_add_chunk(struct wheel *wheel, uint32_t slot)
{
	uint32_t c = take_chunk(wheel);

	wheel->chunks[c].next = PM_NONE;
	wheel->chunks[c].num = 0;
	if (wheel->last[slot] == PM_NONE) {
		wheel->first[slot] = c;
		wheel->used[slot / 64] |= (uint64_t)1 << slot % 64;
		wheel->used_words |= (uint64_t)1 << slot / 64;
	} else {
		wheel->chunks[wheel->last[slot]].next = c;
	}
	wheel->last[slot] = c;
	return &wheel->chunks[c];
}

void wheel_add_later(struct wheel *wheel, uint32_t time, uint32_t what, uint32_t arg)
{
	pm_event_queue_add(&wheel->later, time - wheel->later.now, what, arg);
}

/* The first used slot from `slot` on, cyclically; there is one. */
static uint32_t find_used(const struct wheel *wheel, uint32_t slot)
{
	uint32_t word = slot / 64;
	uint64_t rest = wheel->used[word] >> slot % 64;
	uint64_t words;

	if (rest)
		return slot + (uint32_t)__builtin_ctzll(rest);
	words = word < 63 ? wheel->used_words >> (word + 1) << (word + 1) : 0;
	if (!words)
		words = wheel->used_words;
	word = (uint32_t)__builtin_ctzll(words);
	return word * 64 + (uint32_t)__builtin_ctzll(wheel->used[word]);
}

uint32_t wheel_next(struct wheel *wheel)
{
	uint32_t now = wheel->now % WHEEL;
	struct pm_event event;

	while (wheel->later.num && wheel->later.heap[0].time - wheel->now < WHEEL &&
	       pm_event_queue_take(&wheel->later, &event))
		wheel_add(wheel, (uint32_t)event.time, event.kind, event.index);
	if (wheel->used_words)
		return wheel->now + (find_used(wheel, now) + WHEEL - now) % WHEEL;
	return wheel->later.num ? (uint32_t)wheel->later.heap[0].time : NO_TIME;
}

uint32_t wheel_take(struct wheel *wheel)
{
	uint32_t slot = wheel->now % WHEEL, c = wheel->first[slot];

	wheel->first[slot] = wheel->last[slot] = PM_NONE;
	wheel->used[slot / 64] &= ~((uint64_t)1 << slot % 64);
	if (!wheel->used[slot / 64])
		wheel->used_words &= ~((uint64_t)1 << slot / 64);
	return c;
}
