/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Breadth-first search over links, from one node or several.
 *
 *	struct pm_search search = {.fabric = fabric, .queue = queue, .by = by};
 *
 *	pm_search_begin(&search);
 *	pm_search_start(&search, node);
 *	pm_search_run(&search, NULL, NULL);
 *
 * The result depends only on the fabric, the starts and the links that may be passed:
 * ports are taken in their order.
 */
#ifndef PORTMAJOR_SEARCH_H
#define PORTMAJOR_SEARCH_H

#include <portmajor/fabric/fabric.h>

struct pm_search {
	const struct pm_fabric *fabric; /* sealed, borrowed */
	uint32_t *queue;		/* room for all nodes, borrowed */
	uint32_t *by;			/* [node] likewise */

	/*
	 * Results: queue[0..count) are the nodes found, nearest first. by[node] is the
	 * port that leads to it from the node before it on the path; for a start the
	 * node's own port 0; PM_NONE: not found.
	 */
	uint32_t count;
	uint32_t done; /* of these: nodes with all links examined */
};

/* Whether to follow the link at a port, away from that port's node. */
typedef bool pm_search_passes(const void *context, uint32_t port);

/* Empties the results. O(nodes). */
void pm_search_begin(struct pm_search *search);

/* Adds a start. False: the node is a start already, or was found. */
bool pm_search_start(struct pm_search *search, uint32_t node);

/*
 * Finds all nodes in reach; passes may be NULL. May be called again after more starts:
 * earlier results stay. O(ports of the nodes found).
 */
void pm_search_run(struct pm_search *search, pm_search_passes *passes,
		   const void *context);

/*
 * Replaces by[] by the number of links from the nearest start; this ends the search.
 * O(found).
 */
void pm_search_distances(struct pm_search *search);

/* Likewise by the start that each node was found from. */
void pm_search_origins(struct pm_search *search);

#endif
