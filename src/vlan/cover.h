/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Vertex covers: small sets of vertices with an end of each edge. */
#ifndef VLAN_COVER_H
#define VLAN_COVER_H

#include <portmajor/base/pool.h>

#include <stdbool.h>
#include <stdint.h>

struct cover {
	uint32_t num;	/* vertices */
	uint32_t words; /* of a row */
	uint64_t *edge; /* [vertex][word] its neighbours, as bits */
	struct pm_pool *pool;
};

/* Begins without edges; arrays are in the pool. */
void cover_begin(struct cover *c, uint32_t num, struct pm_pool *pool);

void cover_join(struct cover *c, uint32_t a, uint32_t b);

/*
 * Sets chosen[] to 1 for the vertices of a cover, a smallest one if the graph has no
 * cycle of odd length. *bound: no cover has fewer vertices. Cost: O(num^3 / 64).
 */
void cover_choose(struct cover *c, uint8_t *chosen, uint32_t *bound);

#endif
