/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs holds (damping.h), and ends them at an operator's request. */
#ifndef PORTMAJOR_HELD_LINKS_H
#define PORTMAJOR_HELD_LINKS_H

#include "io/log.h"
#include "view.h"

#include <portmajor/files/requests.h>

/* Logs the number of links on hold and the first of them, if either has changed. */
void log_holds_changed(const struct view *view, osm_log_t *log,
		       struct pm_damping_holds *logged);

/*
 * Ends the holds that releases name (requests.h). Returns the number of links that were
 * on hold or watched.
 */
uint32_t holds_clear(const struct view *view, const struct pm_request_parts *releases);

#endif
