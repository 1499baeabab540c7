/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies OpenSM's subnet, and the tables of the engine that has routed. */
#include "engine_tables.h"

#include "lft_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A switch's table, before the fabric is sealed and switches have their indexes. */
struct copied {
	uint64_t guid;
	uint8_t *table;
	uint16_t top;
};

/* Copies the tables of all switches. With osm->lock held. */
static struct copied *copy_tables(const osm_subn_t *subn, struct pm_pool *pool,
				  uint32_t *num)
{
	struct copied *list =
		pm_pool_array(pool, cl_qmap_count(&subn->sw_guid_tbl), sizeof(*list));

	*num = 0;
	if (!list)
		return NULL;
	FOR_EACH_SWITCH(sw, subn) {
		const uint8_t *table = sw->new_lft ? sw->new_lft : sw->lft;
		struct copied *copy = &list[*num];

		if (!table || !sw->lft_size)
			continue;
		copy->guid = cl_ntoh64(osm_node_get_node_guid(sw->p_node));
		copy->table = pm_pool_copy(pool, table, sw->lft_size, 1);
		copy->top = sw->max_lid_ho < sw->lft_size ? sw->max_lid_ho
							  : (uint16_t)(sw->lft_size - 1);
		++*num;
	}
	return list;
}

/* Copies the subnet into an unsealed fabric, which the caller frees or finishes. */
static int copy_subnet(const osm_subn_t *subn, struct pm_fabric **fabric)
{
	struct subnet_cache cache = {.plan = NULL};
	int rc = subnet_cache_learn(&cache, subn, NULL);

	if (!rc)
		rc = snapshot_copy(&cache, subn, false, fabric, NULL);
	subnet_cache_forget(&cache);
	return rc;
}

/* Joins tables with the switches of the sealed fabric. */
static int place_tables(struct engine_tables *tables, const struct copied *list,
			uint32_t num)
{
	uint32_t switches = tables->fabric->num_switches;

	tables->table = pm_pool_array(&tables->pool, switches, sizeof(*tables->table));
	tables->top = pm_pool_array(&tables->pool, switches, sizeof(*tables->top));
	if (pm_pool_check(&tables->pool, NULL))
		return -1;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t sw = pm_fabric_find_guid(tables->fabric, list[i].guid);

		if (sw >= switches)
			continue;
		tables->table[sw] = list[i].table;
		tables->top[sw] = list[i].top;
	}
	return 0;
}

/* nue has an SL for each path even on one virtual lane, its default. */
static bool uses_lanes(const osm_opensm_t *osm, const osm_routing_engine_t *engine)
{
	return engine->path_sl &&
	       (strcmp(engine->name, "nue") != 0 || osm->subn.opt.nue_max_num_vls != 1);
}

struct engine_tables *engine_tables_copy(osm_opensm_t *osm, const struct pm_roles *roles)
{
	const osm_routing_engine_t *engine = osm->routing_engine_used;
	struct engine_tables *tables = engine ? calloc(1, sizeof(*tables)) : NULL;
	struct copied *list;
	uint32_t num;
	int rc;

	if (!tables)
		return NULL;
	snprintf(tables->engine, sizeof(tables->engine), "%s", engine->name);
	tables->lanes = uses_lanes(osm, engine);
	CL_PLOCK_ACQUIRE(&osm->lock);
	list = copy_tables(&osm->subn, &tables->pool, &num);
	rc = copy_subnet(&osm->subn, &tables->fabric);
	CL_PLOCK_RELEASE(&osm->lock);
	if (!rc)
		rc = snapshot_finish(roles, &tables->fabric, NULL);
	if (!rc)
		rc = place_tables(tables, list, num);
	if (!rc)
		return tables;
	engine_tables_free(tables);
	return NULL;
}

void engine_tables_free(struct engine_tables *tables)
{
	if (!tables)
		return;
	pm_fabric_free(tables->fabric);
	pm_pool_free(&tables->pool);
	free(tables);
}
