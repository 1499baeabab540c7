/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps events by time, in a wheel of slots, with a heap for those far ahead. */
#include "wheel.h"

#include <portmajor/base/alloc.h>

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
	free(wheel->later);
}

static uint32_t take_chunk(struct wheel *wheel)
{
	uint32_t c = wheel->free;

	if (c != PM_NONE) {
		wheel->free = wheel->chunks[c].next;
		return c;
	}
	if (pm_grow(&wheel->chunks, &wheel->room, wheel->num_chunks + 1,
		    sizeof(*wheel->chunks))) {
		wheel->failed = true;
		return PM_NONE;
	}
	return wheel->num_chunks++;
}

struct chunk *wheel_add_chunk(struct wheel *wheel, uint32_t slot)
{
	uint32_t c = take_chunk(wheel);

	if (c == PM_NONE)
		return NULL;
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

/* ---- The heap ---- */

static bool is_before(const struct later_event *a, const struct later_event *b)
{
	return a->time != b->time ? a->time < b->time : a->turn < b->turn;
}

void wheel_add_later(struct wheel *wheel, uint32_t time, struct event event)
{
	struct later_event one = {time, wheel->turn++, event};
	uint32_t at = wheel->num_later;

	if (pm_grow(&wheel->later, &wheel->later_room, at + 1, sizeof(*wheel->later))) {
		wheel->failed = true;
		return;
	}
	wheel->num_later++;
	for (; at && is_before(&one, &wheel->later[(at - 1) / 2]); at = (at - 1) / 2)
		wheel->later[at] = wheel->later[(at - 1) / 2];
	wheel->later[at] = one;
}

static struct later_event take_later(struct wheel *wheel)
{
	struct later_event first = wheel->later[0],
			   last = wheel->later[--wheel->num_later];
	uint32_t at = 0, below;

	while ((below = 2 * at + 1) < wheel->num_later) {
		below += below + 1 < wheel->num_later &&
			 is_before(&wheel->later[below + 1], &wheel->later[below]);
		if (!is_before(&wheel->later[below], &last))
			break;
		wheel->later[at] = wheel->later[below];
		at = below;
	}
	wheel->later[at] = last;
	return first;
}

/* ---- Going on ---- */

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

	while (wheel->num_later && wheel->later[0].time - wheel->now < WHEEL) {
		struct later_event one = take_later(wheel);

		wheel_add(wheel, one.time, one.event.what, one.event.arg);
	}
	if (wheel->used_words)
		return wheel->now + (find_used(wheel, now) + WHEEL - now) % WHEEL;
	return wheel->num_later ? wheel->later[0].time : NO_TIME;
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
