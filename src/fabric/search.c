/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Breadth-first search over links. */
#include <portmajor/fabric/search.h>

#include <string.h>

void pm_search_begin(struct pm_search *search)
{
	memset(search->by, 0xff, search->fabric->num_nodes * sizeof(*search->by));
	search->count = search->done = 0;
}

bool pm_search_start(struct pm_search *search, uint32_t node)
{
	if (search->by[node] != PM_NONE)
		return false;
	search->by[node] = search->fabric->nodes[node].first_port;
	search->queue[search->count++] = node;
	return true;
}

void pm_search_run(struct pm_search *search, pm_search_passes *passes,
		   const void *context)
{
	while (search->done < search->count) {
		uint32_t x = search->queue[search->done++];

		pm_for_each_port(i, search->fabric, x) {
			uint32_t y = pm_fabric_peer_node(search->fabric, i);

			if (y == PM_NONE || search->by[y] != PM_NONE ||
			    (passes && !passes(context, i)))
				continue;
			search->by[y] = i;
			search->queue[search->count++] = y;
		}
	}
}

/* The node from which a node was found; for a start, the node itself. */
static uint32_t before(const struct pm_search *search, uint32_t node)
{
	return search->fabric->ports[search->by[node]].node;
}

/* Goes in the queue's order, so that by[] of the previous node is replaced already. */
void pm_search_distances(struct pm_search *search)
{
	for (uint32_t k = 0; k < search->count; k++) {
		uint32_t x = search->queue[k], from = before(search, x);

		search->by[x] = from == x ? 0 : search->by[from] + 1;
	}
}

void pm_search_origins(struct pm_search *search)
{
	for (uint32_t k = 0; k < search->count; k++) {
		uint32_t x = search->queue[k], from = before(search, x);

		search->by[x] = from == x ? x : search->by[from];
	}
}
