/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What flap.h does not have: an operator, who is told of holds and may end them. */
#ifndef PORTMAJOR_HOLDS_H
#define PORTMAJOR_HOLDS_H

#include "say.h"
#include "view.h"

/* Logs how many links are held and the first of them, if that is not as told last. */
void holds_tell(const struct view *view, osm_log_t *log, struct pm_flap_holds *told);

/* Whether there is a file that asks for an end of all holds; it goes by that. */
bool holds_clear_if_asked(const char *path);

#endif
