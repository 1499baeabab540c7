/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What flap.h does not have: an operator, who is told of holds and may end them. */
#ifndef PORTMAJOR_HOLDS_H
#define PORTMAJOR_HOLDS_H

#include "say.h"
#include "view.h"

/* Logs how many links are held and the first of them, if that is not as told last. */
void holds_tell(const struct view *view, osm_log_t *log, struct pm_flap_holds *told);

/*
 * Ends holds if there is a file that asks for it: those of the cables named in it, a line
 * each as the log names them, leaf5[20], or all if it is empty; a name that several
 * switches have stands for the cables at all of them. It goes by that. Returns
 * whether there was one; *cleared is how many cables were on hold or watched. One that
 * cannot be read, is no text or longer than 1 MiB is told and stays.
 */
bool holds_clear_if_asked(const char *path, const struct view *view, osm_log_t *log,
			  uint32_t *cleared);

#endif
