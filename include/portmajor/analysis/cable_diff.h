/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the cables of two fabrics: missing, additional and swapped ones.
 *
 * A node of one fabric is the node of the other with its GUID or, if there is none, with
 * its name, where among the nodes left each side has one of that name. A switch is no end
 * node. Ports correspond by number.
 *
 * Cables are swapped when their ends are permuted: each port of two or more cables has
 * another cable of these in the other fabric, and no other port takes part. With a port
 * in each fabric having one cable, missing and additional cables together form paths and
 * cycles that alternate between the two; the cycles are the swapped cables.
 */
#ifndef PORTMAJOR_CABLE_DIFF_H
#define PORTMAJOR_CABLE_DIFF_H

#include <portmajor/fabric/fabric.h>

/* `port` leads to `found` in the other fabric, and to its peer in the first. */
struct pm_swapped_cable {
	uint32_t port, found; /* both of the first fabric */
	uint32_t cycle;	      /* the same number: swapped with each other */
};

struct pm_cable_diff {
	uint32_t *missing;    /* one port of each cable, of the first fabric */
	uint32_t *additional; /* likewise, of the second */
	struct pm_swapped_cable *swapped; /* by cycle */
	uint32_t num_missing, num_additional, num_swapped;
};

/*
 * Compares two sealed fabrics. The caller frees *diff with pm_cable_diff_free; untouched
 * on failure. Cables are in the order of their first ports. -ENOMEM. O(ports + nodes log
 * nodes).
 */
int pm_cable_diff_find(const struct pm_fabric *wanted, const struct pm_fabric *found,
		       struct pm_cable_diff *diff, struct pm_error *err);
void pm_cable_diff_free(struct pm_cable_diff *diff);

#endif
