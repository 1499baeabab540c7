/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Breadth-first search over cables, from one node or several.
 *
 *	struct pm_search search = {.fabric = fabric, .queue = queue, .by = by};
 *
 *	pm_search_begin(&search);
 *	pm_search_start(&search, node);
 *	pm_search_run(&search, NULL, NULL);
 *
 * What is found depends on the fabric, on where it starts and on what it may pass, and
 * on nothing else: ports are looked at in their order.
 */
#ifndef PORTMAJOR_SEARCH_H
#define PORTMAJOR_SEARCH_H

#include <portmajor/fabric/fabric.h>

struct pm_search {
	const struct pm_fabric *fabric; /* sealed, borrowed, */
	uint32_t *queue;		/* .. and so is room for all nodes here */
	uint32_t *by;			/* .. and here, [node] */

	/*
	 * Results: queue[0..count) are the nodes found, nearest first. by[node] is the
	 * port, of the node before it, of the cable that led there; the node's own port 0
	 * if the search started there; PM_NONE if it was not found.
	 */
	uint32_t count;
	uint32_t done; /* of these: whose cables were looked at */
};

/* Whether to go over the cable at a port, away from that port's node. */
typedef bool pm_search_passes(const void *context, uint32_t port);

/* Nothing is found yet. O(nodes). */
void pm_search_begin(struct pm_search *search);

/* A node to start from. False: it is one already, or was found. */
bool pm_search_start(struct pm_search *search, uint32_t node);

/*
 * Finds all that can be reached; passes may be NULL. May be called again after more
 * starts: what was found before stays as it is. O(ports of what is found).
 */
void pm_search_run(struct pm_search *search, pm_search_passes *passes,
		   const void *context);

/*
 * Puts into by[] the number of cables from the nearest start in place of the port; the
 * search cannot go on after that. O(found).
 */
void pm_search_distances(struct pm_search *search);

/* Likewise the node that each one was reached from in the first place: its start. */
void pm_search_origins(struct pm_search *search);

#endif
