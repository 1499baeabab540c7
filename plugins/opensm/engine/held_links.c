/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs holds of links, and ends them at the operator's request. */
#include "held_links.h"

#include "io/log.h"
#include "clock.h"

#include <stdio.h>

#define NAMED 8 /* links in a log line */

uint32_t holds_clear(const struct view *view, const struct pm_request_parts *releases)
{
	uint32_t cleared = 0;

	for (uint32_t i = 0; i < releases->num; i++)
		cleared += pm_damping_clear(view->damping, releases->list[i].guid,
					    releases->list[i].num);
	return cleared;
}

/* Lists holds: "leaf5[20] (4 times down, 60 s left)" and so on. */
static void list_holds(const struct view *view, char *text, size_t size)
{
	const struct pm_fabric *topology = view->plan->topology;
	uint64_t now = (uint64_t)clock_ms();
	uint32_t at = 0, named = 0;
	struct pm_damped_link link;
	size_t used = 0;

	text[0] = '\0';
	while (view->damping && pm_damping_next(view->damping, now, &at, &link) &&
	       used < size) {
		uint32_t sw = pm_fabric_find_guid(topology, link.end[0].guid);

		if (link.state != PM_DAMPING_ON_HOLD && link.state != PM_DAMPING_NEEDED)
			continue;
		if (named++ == NAMED) {
			snprintf(text + used, size - used, ", ..");
			return;
		}
		used += (size_t)snprintf(
			text + used, size - used,
			"%s%s[%u] (%s, %u times down, %u s left)", named > 1 ? ", " : "",
			sw == PM_NONE ? "?" : pm_fabric_label(topology, sw),
			link.end[0].num, pm_damping_state_name(link.state), link.downs,
			(link.left_ms + 999) / 1000);
	}
}

void log_holds_changed(const struct view *view, osm_log_t *log,
		       struct pm_damping_holds *logged)
{
	const struct pm_damping_holds *now = &view->holds;
	char text[1024];

	if (now->on_hold == logged->on_hold && now->needed == logged->needed)
		return;
	*logged = *now;
	text[0] = '\0';
	if (now->on_hold || now->needed) /* others are down, which damping may not know */
		list_holds(view, text, sizeof(text));
	log_line(log, OSM_LOG_INFO,
		 ": flapping: %u link%s kept out, %u in use as last paths%s%s",
		 now->on_hold, now->on_hold == 1 ? "" : "s", now->needed,
		 text[0] ? ": " : "", text);
}
