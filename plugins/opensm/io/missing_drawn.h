/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Corrects what the plan says is missing by the drawing (drawing.h). The plan knows
 * slots, not hosts, and forgets a link when one of its ports gets another one. So
 *
 * - a host that is discovered elsewhere is not missing, but changed (places.h), whatever
 *   its slot; a host that is not discovered is, even if its slot is used;
 * - so are links whose ports are unused, of which the plan knows other ones;
 * - what was missing is so until it is there, or its place is another part's.
 */
#ifndef PORTMAJOR_IO_MISSING_DRAWN_H
#define PORTMAJOR_IO_MISSING_DRAWN_H

#include <portmajor/plan/drawing.h>
#include <portmajor/plan/plan.h>

#include <jansson.h>

struct missing_drawing {
	const struct pm_fabric *drawing, *now;
	const struct pm_plan *plan; /* for levels, or NULL */
	bool partial;		    /* hosts may be missing that the plan alone knows */
	const json_t *before;	    /* parts that were missing before, or NULL */
};

/*
 * Corrects a member `missing` (missing_describe), and names hosts. A known host's first
 * end is its own. -ENOMEM. O(ports log nodes + parts^2 that were missing before).
 */
int missing_draw(json_t *missing, const struct missing_drawing *with);

#endif
