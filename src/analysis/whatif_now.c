/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the tables before a failure and after it, each for the links in use then, as the
 * plugin does, and compares them.
 */
#include <portmajor/analysis/whatif_now.h>

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/base/pool.h>
#include <portmajor/route/order.h>

#include <errno.h>
#include <string.h>

/* Before the failure, or after it. */
struct side {
	uint8_t *there, *usable; /* [port of the topology] */
	struct pm_routes *routes;
	struct pm_fabric *fabric; /* without the failed links; "before": borrowed */
	uint32_t *part;		  /* [node] see pm_reach_parts */
	uint32_t managed;	  /* the subnet manager's part, or the largest */
	uint64_t joined;	  /* ordered pairs of end ports with a path */
};

struct work {
	const struct pm_whatif_now *now;
	struct pm_pool pool;
	struct side before, after;
	uint32_t *queue; /* [node] */
	uint64_t *used;	 /* see pm_order_find_used, of the tables before */
	struct pm_order_block *blocks;
	uint32_t num_blocks, blocks_room;
};

/* ---- Both sides ---- */

static int make_tables(struct work *work, struct side *side, struct pm_error *err)
{
	const struct pm_whatif_now *now = work->now;
	const struct pm_detours detours = {
		.sm = now->sm == PM_NONE ? PM_NONE
					 : pm_plan_place(now->plan, now->fabric, now->sm),
		.switches = now->connect_roots,
		.extra = side->there,
	};
	int rc = now->use(now->context, side->there, side->usable, err);

	if (!rc)
		rc = pm_routes_make(now->plan, &side->routes, err);
	if (!rc)
		pm_routes_update(side->routes, side->usable, &detours);
	return rc;
}

/* The part with the subnet manager, or with most of the end nodes. */
static uint32_t find_managed(const struct work *work, const struct side *side)
{
	const struct pm_fabric *fabric = side->fabric;
	uint32_t *ends = work->queue, best = 0;

	if (work->now->sm != PM_NONE)
		return side->part[fabric->ports[work->now->sm].node];
	memset(ends, 0, fabric->num_nodes * sizeof(*ends));
	for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
		ends[side->part[i]]++;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (ends[i] > ends[best])
			best = i;
	return best;
}

static int find_joined(const struct work *work, struct side *side,
		       struct pm_whatif_result *found, struct pm_error *err)
{
	const struct pm_fabric *topology = work->now->plan->topology;
	int rc = pm_routes_reachable(side->routes, side->there, &found->reachable, err);

	side->joined = found->reachable.pairs;
	for (uint32_t sw = 0; sw < topology->num_switches; sw++) {
		uint64_t hosts = pm_fabric_count_hosts(topology, sw, side->there);

		side->joined += hosts ? hosts * (hosts - 1) : 0;
	}
	return rc;
}

static int measure(struct work *work, struct side *side, struct pm_whatif_result *found,
		   struct pm_error *err)
{
	int rc = make_tables(work, side, err);

	if (!rc)
		rc = find_joined(work, side, found, err);
	if (!rc && work->now->loads &&
	    pm_routes_busiest(side->routes, side->there, &found->load))
		rc = pm_error_no_memory(err);
	if (rc)
		return rc;
	pm_reach_parts(side->fabric, NULL, side->part, work->queue);
	side->managed = find_managed(work, side);
	for (uint32_t sw = 0; sw < side->fabric->num_switches; sw++) {
		bool here = side->part[sw] == side->managed;

		found->switches += here;
		found->switches_cut += !here;
	}
	found->full_load = (uint64_t)found->switches * pm_plan_blocks(work->now->plan);
	return 0;
}

/* ---- The failure ---- */

/* Clears a port's place; an end node's port has none. */
static void clear(const struct pm_plan *plan, const struct pm_fabric *fabric,
		  uint32_t port, uint8_t *there)
{
	uint32_t place = fabric->ports[port].node < fabric->num_switches
				 ? pm_fabric_same_port(fabric, port, plan->topology)
				 : PM_NONE;

	if (place != PM_NONE)
		there[place] = 0;
}

void pm_whatif_now_fail(const struct pm_plan *plan, const struct pm_fabric *fabric,
			const uint32_t *ports, uint32_t num, uint8_t *there)
{
	for (uint32_t i = 0; i < num; i++) {
		uint32_t peer = fabric->ports[ports[i]].peer;

		if (peer == PM_NONE)
			continue;
		clear(plan, fabric, ports[i], there);
		clear(plan, fabric, peer, there);
	}
}

/* ---- Comparing ---- */

/* Adds blocks of a switch that differ. -ENOMEM. */
static int add_differing(struct work *work, uint32_t sw)
{
	const uint8_t *before = pm_routes_table(work->before.routes, sw);

	for (uint32_t b = 0; b < pm_plan_blocks(work->now->plan); b++) {
		if (pm_grow(&work->blocks, &work->blocks_room, work->num_blocks + 1,
			    sizeof(*work->blocks)))
			return -ENOMEM;
		work->num_blocks += pm_order_compare(work->after.routes, sw, b,
						     before + (size_t)b * PM_LFT_BLOCK,
						     &work->blocks[work->num_blocks]);
	}
	return 0;
}

static void add_delta(struct pm_delta *sum, const struct pm_delta *delta)
{
	sum->blocks += delta->blocks;
	sum->entries += delta->entries;
	sum->least += delta->least;
	sum->switches += delta->switches;
}

static int compare_switch(struct work *work, uint32_t sw, struct pm_whatif_result *found)
{
	unsigned int level = work->now->plan->tree.level[sw];
	struct pm_delta delta = {0};

	pm_delta_add(&delta, pm_routes_table(work->before.routes, sw),
		     pm_routes_table(work->after.routes, sw),
		     pm_routes_stride(work->after.routes));
	add_delta(&found->total, &delta);
	if (level < PM_WHATIF_LEVELS)
		add_delta(&found->level[level], &delta);
	return delta.blocks ? add_differing(work, sw) : 0;
}

static int compare(struct work *work, struct pm_whatif_result *found)
{
	const struct pm_fabric *fabric = work->now->fabric;
	int rc = 0;

	for (uint32_t i = 0; i < fabric->num_switches && !rc; i++) {
		uint32_t sw = pm_fabric_find_guid(work->now->plan->topology,
						  fabric->nodes[i].guid);

		if (sw != PM_NONE && work->after.part[i] == work->after.managed)
			rc = compare_switch(work, sw, found);
	}
	if (rc)
		return rc;
	pm_order_find_used(work->before.routes, work->used);
	return pm_order_count_restoring(work->after.routes, work->after.usable,
					work->used, work->blocks, work->num_blocks,
					&found->restoring);
}

static void mark_cut_off(const struct work *work, uint8_t *cut_off)
{
	const struct side *before = &work->before, *after = &work->after;

	for (uint32_t i = 0; i < work->now->fabric->num_nodes; i++)
		cut_off[i] = i >= work->now->fabric->num_switches &&
			     before->part[i] == before->managed &&
			     after->part[i] != after->managed;
}

/* ---- All of it ---- */

static int allocate(struct work *work, struct pm_error *err)
{
	const struct pm_fabric *fabric = work->now->fabric;
	const struct pm_plan *plan = work->now->plan;
	struct side *sides[] = {&work->before, &work->after};
	struct pm_pool *pool = &work->pool;

	for (unsigned int i = 0; i < 2; i++) {
		sides[i]->there = pm_pool_array(pool, plan->topology->num_ports, 1);
		sides[i]->usable = pm_pool_array(pool, plan->topology->num_ports, 1);
		sides[i]->part = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	}
	work->queue = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	work->used = pm_pool_array(
		pool, (size_t)plan->topology->num_switches * pm_plan_blocks(plan),
		sizeof(*work->used));
	work->before.fabric = pm_fabric_clone(fabric);
	work->after.fabric = pm_fabric_clone(fabric);
	if (!work->before.fabric || !work->after.fabric)
		return pm_error_no_memory(err);
	return pm_pool_check(pool, err);
}

static int try_failure(struct work *work, const uint32_t *ports, uint32_t num,
		       struct pm_whatif_result *before, struct pm_whatif_result *after,
		       struct pm_error *err)
{
	size_t size = work->now->plan->topology->num_ports;
	int rc;

	memcpy(work->before.there, work->now->there, size);
	memcpy(work->after.there, work->now->there, size);
	pm_whatif_now_fail(work->now->plan, work->now->fabric, ports, num,
			   work->after.there);
	for (uint32_t i = 0; i < num; i++)
		if (work->after.fabric->ports[ports[i]].peer != PM_NONE)
			pm_fabric_cut(work->after.fabric, ports[i]);
	rc = measure(work, &work->before, before, err);
	if (!rc)
		rc = measure(work, &work->after, after, err);
	if (!rc && compare(work, after))
		rc = pm_error_no_memory(err);
	after->pairs_cut = work->before.joined > work->after.joined
				   ? work->before.joined - work->after.joined
				   : 0;
	return rc;
}

int pm_whatif_now(const struct pm_whatif_now *now, const uint32_t *ports,
		  uint32_t num_ports, struct pm_whatif_result *before,
		  struct pm_whatif_result *after, uint8_t *cut_off, struct pm_error *err)
{
	struct pm_whatif_result found[2] = {0};
	struct work work = {.now = now};
	int rc = allocate(&work, err);

	if (!rc)
		rc = try_failure(&work, ports, num_ports, &found[0], &found[1], err);
	if (!rc) {
		*before = found[0];
		*after = found[1];
		mark_cut_off(&work, cut_off);
	}
	pm_routes_free(work.before.routes);
	pm_routes_free(work.after.routes);
	pm_fabric_free(work.before.fabric);
	pm_fabric_free(work.after.fabric);
	pm_pool_free(&work.pool);
	free(work.blocks);
	return rc;
}
