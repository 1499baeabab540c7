/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs holds (damping.h), and follows an operator's requests to end them. */
#ifndef PORTMAJOR_HELD_LINKS_H
#define PORTMAJOR_HELD_LINKS_H

#include "io/log.h"
#include "view.h"

/* Logs the number of links on hold and the first of them, if either has changed. */
void log_holds_changed(const struct view *view, osm_log_t *log,
		       struct pm_damping_holds *logged);

/*
 * Reads and removes the file that requests the end of holds; the caller frees *text.
 * -ENOENT: no file; -errno: the file is unreadable, no text, or longer than 1 MiB; it
 * stays. On the thread of operator_files.h.
 */
int holds_read_clearing(const char *path, char **text, struct pm_error *err);

/*
 * Ends the holds that the text names, a link per line: as in the log, leaf5[20], or with
 * a GUID, 0x0002c903000a1105[20]. An empty text names all links; an ambiguous name means
 * the links at all switches of that name. Returns the number of links that were on hold
 * or watched. Overwrites the text.
 */
uint32_t holds_clear(const struct view *view, osm_log_t *log, char *text);

#endif
