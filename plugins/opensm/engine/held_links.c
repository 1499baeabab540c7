/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs holds of links, and ends them at the operator's request. */
#include "held_links.h"

#include "io/log.h"
#include "clock.h"

#include <portmajor/base/textfile.h>
#include <portmajor/base/trusted.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE (1 << 20)
#define NAMED 8 /* links in a log line */

/* The GUID in a name, or 0 if the name is none. */
static uint64_t read_guid(const char *name)
{
	char *end;
	uint64_t guid = strncmp(name, "0x", 2) ? 0 : strtoull(name, &end, 16);

	return guid && !*end ? guid : 0;
}

/*
 * Ends the holds of links at this port: of all switches with this name, or of the switch
 * with this label or GUID. Returns their number. *any: there is such a port.
 */
static uint32_t clear_at(const struct view *view, const char *name, unsigned long port,
			 bool *any)
{
	const struct pm_fabric *topology = view->plan->topology;
	uint64_t guid = read_guid(name);
	uint32_t one = guid ? pm_fabric_find_guid(topology, guid)
			    : pm_fabric_find_label(topology, name);
	uint32_t cleared = 0;

	for (uint32_t sw = 0; sw < topology->num_switches; sw++) {
		if (port > topology->nodes[sw].num_ports ||
		    (sw != one && strcmp(pm_fabric_name(topology, sw), name) != 0))
			continue;
		*any = true;
		cleared += pm_damping_clear(view->damping, topology->nodes[sw].guid,
					    (unsigned int)port);
	}
	return cleared;
}

/* Ends the holds of a link end such as "leaf5[20]"; logs a text that names none. */
static uint32_t clear_one(const struct view *view, osm_log_t *log, char *line)
{
	char *bracket = strrchr(line, '['), *end = NULL;
	unsigned long port = bracket ? strtoul(bracket + 1, &end, 10) : 0;
	uint32_t cleared = 0;
	bool any = false;

	if (bracket && *end == ']' && !end[1] && port) {
		*bracket = '\0';
		cleared = clear_at(view, line, port, &any);
		*bracket = '[';
	}
	if (!any)
		log_line(log, OSM_LOG_ERROR, ": clear-holds: no cable is called \"%s\"",
			 line);
	return cleared;
}

/* Ends the holds that the text names, one per line, or all; returns their number. */
static uint32_t clear_named(const struct view *view, osm_log_t *log, char *text)
{
	uint32_t cleared = 0;
	bool named = false;
	char *line;

	while ((line = strsep(&text, "\r\n"))) {
		if (!*line)
			continue;
		named = true;
		cleared += clear_one(view, log, line);
	}
	return named ? cleared : pm_damping_clear(view->damping, 0, 0);
}

/* Reads the whole file first: half of it, or nothing, is not what was requested. */
int holds_read_clearing(const char *path, char **text, struct pm_error *err)
{
	int rc = pm_trusted_file(path, NULL, err);

	if (!rc)
		rc = pm_textfile_read_string(path, MAX_FILE, text, err);
	if (!rc)
		unlink(path);
	return rc;
}

uint32_t holds_clear(const struct view *view, osm_log_t *log, char *text)
{
	return view->plan && view->damping ? clear_named(view, log, text) : 0;
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

	if (now->on_hold == logged->on_hold && now->released == logged->released)
		return;
	*logged = *now;
	list_holds(view, text, sizeof(text));
	log_line(log, OSM_LOG_INFO,
		 ": flapping: %u link%s kept out, %u in use as last paths%s%s",
		 now->on_hold, now->on_hold == 1 ? "" : "s", now->released,
		 text[0] ? ": " : "", text);
}
