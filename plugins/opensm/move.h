/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Going over to the tables for other cables in use while all of them are up, so that
 * every packet gets through at every moment (docs/design.md says why): first entries
 * that no packet uses, then what comes, from the leaves up, then what goes, from the
 * top down, and detours last. A level is begun when the one before has answered.
 */
#ifndef PORTMAJOR_MOVE_H
#define PORTMAJOR_MOVE_H

#include "ask.h"
#include "view.h"

#include <portmajor/delta.h>

struct move_subject {
	osm_opensm_t *osm;
	struct ask *ask;
	struct view *view;     /* with tables for the cables in use now */
	const uint8_t *before; /* [port] in use before; the switches have tables for it */
};

/* What was done. */
struct moved {
	uint64_t sent, acked; /* blocks */
	struct pm_delta delta;
	double milliseconds;
	const char *gave_up; /* why something is left to the sweep, or NULL */
};

/* On the sweeper thread, with no lock held. */
void move_run(const struct move_subject *subject, struct moved *done);

#endif
