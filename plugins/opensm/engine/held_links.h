/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Holds (damping.h) in the log, and an operator's requests to end them. */
#ifndef PORTMAJOR_HELD_LINKS_H
#define PORTMAJOR_HELD_LINKS_H

#include "io/log.h"
#include "view.h"

/* Logs how many links are held and the first of them, if that is not as told last. */
void log_holds_changed(const struct view *view, osm_log_t *log,
		       struct pm_damping_holds *logged);

/*
 * Reads and removes the file that asks for holds to be ended; the caller frees *text.
 * -ENOENT: there is none; -errno: it cannot be read, is no text or longer than 1 MiB,
 * and stays. On the thread of operator_files.h.
 */
int holds_read_clearing(const char *path, char **text, struct pm_error *err);

/*
 * Ends holds as such a text says: those of the cables named in it, a line each as the log
 * names them, leaf5[20], or with a GUID, 0x0002c903000a1105[20], or all if it is empty; a
 * name that several switches have stands for the cables at all of them. How many cables
 * were on hold or watched. It is written to.
 */
uint32_t holds_clear(const struct view *view, osm_log_t *log, char *text);

#endif
