/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the cables of two fabrics: missing, additional and swapped ones.
 *
 * Nodes of the two fabrics are matched by GUID. The others are matched by name, where the
 * name is unique among the unmatched nodes of each fabric. A switch matches no end node.
 * Ports are matched by number.
 *
 * As a port has at most one cable in each fabric, missing and additional cables together
 * form paths and cycles in which the two kinds alternate. The cables of a cycle are
 * swapped: the same ports are joined, in other pairs.
 */
#ifndef PORTMAJOR_CABLE_DIFF_H
#define PORTMAJOR_CABLE_DIFF_H

#include <portmajor/fabric/fabric.h>

/* The first fabric joins `port` to its peer, the second one to `found`. */
struct pm_swapped_cable {
	uint32_t port, found; /* ports of the first fabric */
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
