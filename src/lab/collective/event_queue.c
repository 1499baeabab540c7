/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A binary heap of events: the children of event i are 2i + 1 and 2i + 2, none earlier.
 */
#include <portmajor/lab/event_queue.h>
#include <portmajor/memory/xalloc.h>

static bool is_before(const struct pm_event *a, const struct pm_event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void pm_event_queue_add(struct pm_event_queue *events, uint64_t delay, uint32_t kind,
			uint32_t index)
{
	struct pm_event event = {0, events->next++, kind, index};
	uint32_t at = events->num;

	if (__builtin_add_overflow(events->now, delay, &event.time)) {
		events->out_of_range = true;
		return;
	}
	pm_xgrow(&events->heap, &events->room, events->num + 1, sizeof(event));
	events->num++;
	while (at && is_before(&event, &events->heap[(at - 1) / 2])) {
		events->heap[at] = events->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	events->heap[at] = event;
}

bool pm_event_queue_take(struct pm_event_queue *events, struct pm_event *event)
{
	struct pm_event *heap = events->heap, last;
	uint32_t at = 0;

	if (!events->num || events->out_of_range)
		return false;
	*event = heap[0];
	events->now = event->time;
	last = heap[--events->num];
	for (uint32_t child = 1; child < events->num; child = 2 * at + 1) {
		child += child + 1 < events->num &&
			 is_before(&heap[child + 1], &heap[child]);
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return true;
}

void pm_event_queue_free(struct pm_event_queue *events)
{
	free(events->heap);
	*events = (struct pm_event_queue){0};
}
