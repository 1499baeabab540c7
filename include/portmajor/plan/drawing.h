/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The drawing: a fabric with hosts that has each part at its place, present or not. It
 * grows with the fabric: a new part is drawn where it is first discovered, if nothing is
 * drawn there. What is discovered at another place than drawn changes nothing until it is
 * adopted; so the drawing tells moved and missing parts apart.
 */
#ifndef PORTMAJOR_DRAWING_H
#define PORTMAJOR_DRAWING_H

#include <portmajor/fabric/fabric.h>

#define PM_DRAWING_NAME 128

/* A node that has taken another one's place: the same links, and for a host its name. */
struct pm_drawing_replaced {
	uint64_t was, is;	    /* GUIDs */
	char name[PM_DRAWING_NAME]; /* of what was there, perhaps cut */
};

/*
 * Draws a fabric's new parts and names, and gives drawn nodes that were replaced the
 * GUIDs of the new ones. *drawing is replaced; NULL: the fabric becomes the drawing, and
 * then, and of a skeleton, ports without a link are free. The caller frees *replaced
 * (num). -ENOMEM: *drawing may lack some of it. O(ports log nodes).
 */
int pm_drawing_update(struct pm_fabric **drawing, const struct pm_fabric *now,
		      struct pm_drawing_replaced **replaced, uint32_t *num, bool *changed,
		      struct pm_error *err);

/*
 * Draws the link at a port of the fabric as it is; a host that was drawn there has no
 * place then. -ENOMEM: *drawing is as before.
 */
int pm_drawing_adopt(struct pm_fabric **drawing, const struct pm_fabric *now,
		     uint32_t port, struct pm_error *err);

/* Links that differ, each at one of its ends: a host's, or the end with the lower index.
 */
struct pm_drawing_diff {
	uint32_t *elsewhere; /* ports of the fabric: another link than drawn */
	uint32_t *missing;   /* ports of the drawing: see below */
	uint32_t num_elsewhere, num_missing;
};

/*
 * Compares a fabric with its updated drawing. Missing are drawn links between discovered
 * switches with both ports unused, and hosts that are nowhere, if their switch is
 * discovered. The caller frees *diff with pm_drawing_diff_free. -ENOMEM. O(ports log
 * nodes).
 */
int pm_drawing_compare(const struct pm_fabric *drawing, const struct pm_fabric *now,
		       struct pm_drawing_diff *diff, struct pm_error *err);
void pm_drawing_diff_free(struct pm_drawing_diff *diff);

/*
 * The port of `from` with the same node and number as that at the other end of this
 * port's link, in `to`; PM_NONE: no link, or `to` does not have that port.
 */
uint32_t pm_drawing_peer(const struct pm_fabric *from, uint32_t port,
			 const struct pm_fabric *to);

/* Whether a node has a link, by its GUID: without one it is not discovered. */
bool pm_drawing_is_present(const struct pm_fabric *now, uint64_t guid);

/*
 * Whether most of a fabric is drawn where it is: a file's drawing may be of another
 * fabric. At most one in ten of its switches is not drawn or has, between switches, a
 * link that is drawn elsewhere.
 */
bool pm_drawing_fits(const struct pm_fabric *drawing, const struct pm_fabric *now);

#endif
