/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A copy of OpenSM's subnet and of the tables of the engine that has just routed it. It
 * needs no plan: the fabric may be one that portmajor cannot route.
 */
#ifndef PORTMAJOR_ENGINE_TABLES_H
#define PORTMAJOR_ENGINE_TABLES_H

#include "snapshot.h"

#define ENGINE_NAME_SIZE 32

struct engine_tables {
	char engine[ENGINE_NAME_SIZE];
	bool lanes; /* the engine spreads packets over virtual lanes */
	struct pm_fabric *fabric;
	/* [switch of the fabric], as in struct pm_check */
	const uint8_t **table;
	uint16_t *top;
	struct pm_pool pool; /* of both, and of the tables */
};

/*
 * Copies them after OpenSM's Sets. Tables are the wanted ones, acknowledged or not. Holds
 * osm->lock shared for the copy. NULL: no engine has routed, or without memory. The
 * caller frees the copy. O(subnet + tables).
 */
struct engine_tables *engine_tables_copy(osm_opensm_t *osm, const struct pm_roles *roles);

void engine_tables_free(struct engine_tables *tables);

#endif
