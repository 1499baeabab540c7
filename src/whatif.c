/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/whatif.h>

#include "alloc.h"

#include <errno.h>

struct pm_whatif {
	const struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	uint8_t *held;	/* [switch][stride] tables before the loss */
	uint8_t *alive; /* [port] */
	struct pm_detours detours;
	uint32_t manager; /* port, or PM_NONE */
	uint64_t pairs;	  /* of end ports that are joined before the loss */
	/* Room for searches over the fabric. */
	uint32_t *queue, *part, *hosts;
};

/* End ports at each switch that have a cable. */
static void count_hosts(const struct pm_fabric *fabric, uint32_t *hosts)
{
	memset(hosts, 0, fabric->num_switches * sizeof(*hosts));
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (fabric->ports[i].node < fabric->num_switches && peer != PM_NONE &&
		    peer >= fabric->num_switches)
			hosts[fabric->ports[i].node]++;
	}
}

static uint64_t count_pairs(const struct pm_whatif *whatif)
{
	uint32_t num = whatif->fabric->num_switches;
	uint64_t pairs = 0;

	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = 0; whatif->hosts[a] && b < num; b++) {
			if (!whatif->hosts[b] || !pm_routes_joined(whatif->routes, a, b))
				continue;
			pairs += a == b ? (uint64_t)whatif->hosts[a] *
						  (whatif->hosts[a] - 1)
					: (uint64_t)whatif->hosts[a] * whatif->hosts[b];
		}
	return pairs;
}

/* Marks in part[] the nodes that hang together with `from`; counts end nodes. */
static uint32_t mark_part(struct pm_whatif *whatif, const struct pm_fabric *fabric,
			  uint32_t from, uint32_t number)
{
	uint32_t head = 0, tail = 0, ends = 0;

	whatif->part[from] = number;
	whatif->queue[tail++] = from;
	while (head < tail) {
		uint32_t x = whatif->queue[head++];
		const struct pm_node *n = &fabric->nodes[x];

		ends += x >= fabric->num_switches;
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t y = pm_fabric_peer_node(fabric, i);

			if (y == PM_NONE || whatif->part[y] != PM_NONE)
				continue;
			whatif->part[y] = number;
			whatif->queue[tail++] = y;
		}
	}
	return ends;
}

/* The number, in part[], of the part with the manager or, else, most end nodes. */
static uint32_t find_managed_part(struct pm_whatif *whatif,
				  const struct pm_fabric *fabric)
{
	uint32_t best = 0, most = 0;

	memset(whatif->part, 0xff, fabric->num_nodes * sizeof(*whatif->part));
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		uint32_t ends;

		if (whatif->part[i] != PM_NONE)
			continue;
		ends = mark_part(whatif, fabric, i, i);
		if (ends > most) {
			most = ends;
			best = i;
		}
	}
	if (whatif->manager != PM_NONE)
		return whatif->part[fabric->ports[whatif->manager].node];
	return best;
}

/* Tables of the whole fabric; detours may be needed even there. */
static void hold_tables(struct pm_whatif *whatif, uint32_t stride)
{
	pm_plan_match(whatif->plan, whatif->fabric, whatif->alive);
	pm_routes_update(whatif->routes, whatif->alive, &whatif->detours);
	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++)
		memcpy(whatif->held + (size_t)sw * stride,
		       pm_routes_table(whatif->routes, sw), stride);
}

int pm_whatif_new(const struct pm_fabric *fabric, const struct pm_whatif_config *config,
		  struct pm_whatif **result, struct pm_error *err)
{
	struct pm_whatif *whatif = calloc(1, sizeof(*whatif));
	uint32_t stride;
	int rc;

	if (!whatif)
		return pm_error_set(err, -ENOMEM, "out of memory");
	whatif->fabric = fabric;
	whatif->manager = config->manager;
	rc = pm_plan_make(fabric, &config->plan, &whatif->plan, err);
	if (!rc)
		rc = pm_routes_make(whatif->plan, &whatif->routes, err);
	if (rc)
		goto fail;
	stride = pm_routes_stride(whatif->routes);
	whatif->held = pm_array((size_t)fabric->num_switches * stride, 1);
	whatif->alive = pm_array(whatif->plan->known->num_ports, 1);
	whatif->queue = pm_array(fabric->num_nodes, sizeof(uint32_t));
	whatif->part = pm_array(fabric->num_nodes, sizeof(uint32_t));
	whatif->hosts = pm_array(fabric->num_switches, sizeof(uint32_t));
	if (!whatif->held || !whatif->alive || !whatif->queue || !whatif->part ||
	    !whatif->hosts) {
		rc = pm_error_set(err, -ENOMEM, "out of memory");
		goto fail;
	}
	whatif->detours = (struct pm_detours){
		.manager = config->manager == PM_NONE
				   ? PM_NONE
				   : pm_plan_place(whatif->plan, fabric, config->manager),
		.switches = config->connect_roots,
	};
	hold_tables(whatif, stride);
	count_hosts(fabric, whatif->hosts);
	whatif->pairs = count_pairs(whatif);
	*result = whatif;
	return 0;
fail:
	pm_whatif_free(whatif);
	return rc;
}

void pm_whatif_free(struct pm_whatif *whatif)
{
	if (!whatif)
		return;
	pm_routes_free(whatif->routes);
	pm_plan_free(whatif->plan);
	free(whatif->held);
	free(whatif->alive);
	free(whatif->queue);
	free(whatif->part);
	free(whatif->hosts);
	free(whatif);
}

const struct pm_plan *pm_whatif_plan(const struct pm_whatif *whatif)
{
	return whatif->plan;
}

static void add_delta(struct pm_delta *sum, const struct pm_delta *delta)
{
	sum->blocks += delta->blocks;
	sum->entries += delta->entries;
	sum->bound += delta->bound;
	sum->switches += delta->switches;
}

int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err)
{
	uint32_t stride = pm_routes_stride(whatif->routes), part;

	memset(result, 0, sizeof(*result));
	if (!pm_plan_match(whatif->plan, broken, whatif->alive))
		return pm_error_set(err, -EINVAL,
				    "the broken fabric has more than the whole");
	pm_routes_update(whatif->routes, whatif->alive, &whatif->detours);
	part = find_managed_part(whatif, broken);
	for (uint32_t sw = 0; sw < broken->num_switches; sw++) {
		struct pm_delta delta = {0};
		unsigned int level = whatif->plan->tree.level[sw];

		if (whatif->part[sw] != part) {
			result->switches_cut++;
			continue;
		}
		result->switches++;
		pm_delta_add(&delta, whatif->held + (size_t)sw * stride,
			     pm_routes_table(whatif->routes, sw), stride);
		add_delta(&result->total, &delta);
		if (level < PM_WHATIF_LEVELS)
			add_delta(&result->level[level], &delta);
	}
	result->full_load = (uint64_t)result->switches * pm_plan_blocks(whatif->plan);
	count_hosts(broken, whatif->hosts);
	result->pairs_cut = whatif->pairs - count_pairs(whatif);
	return 0;
}
