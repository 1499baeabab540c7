/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A binary heap: the children of event i are 2i + 1 and 2i + 2, and not before it. */
#include <portmajor/base/alloc.h>
#include <portmajor/lab/event_queue.h>

static bool is_before(const struct pm_event *a, const struct pm_event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void pm_event_queue_add(struct pm_event_queue *agenda, uint64_t delay, uint32_t kind,
			uint32_t index)
{
	struct pm_event event = {0, agenda->next++, kind, index};
	uint32_t at = agenda->num;

	if (__builtin_add_overflow(agenda->now, delay, &event.time)) {
		agenda->out_of_range = true;
		return;
	}
	if (pm_grow(&agenda->heap, &agenda->room, agenda->num + 1, sizeof(event))) {
		agenda->no_memory = true;
		return;
	}
	agenda->num++;
	while (at && is_before(&event, &agenda->heap[(at - 1) / 2])) {
		agenda->heap[at] = agenda->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	agenda->heap[at] = event;
}

bool pm_event_queue_take(struct pm_event_queue *agenda, struct pm_event *event)
{
	struct pm_event *heap = agenda->heap, last;
	uint32_t at = 0;

	if (!agenda->num || agenda->no_memory || agenda->out_of_range)
		return false;
	*event = heap[0];
	agenda->now = event->time;
	last = heap[--agenda->num];
	for (uint32_t child = 1; child < agenda->num; child = 2 * at + 1) {
		child += child + 1 < agenda->num &&
			 is_before(&heap[child + 1], &heap[child]);
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return true;
}

void pm_event_queue_free(struct pm_event_queue *agenda)
{
	free(agenda->heap);
	*agenda = (struct pm_event_queue){0};
}
