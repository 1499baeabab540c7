/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts flows on links under shift permutations. */
#include "vlan_parts.h"

#include <portmajor/memory/xalloc.h>

#include <string.h>

struct counter {
	const struct pm_vlans *vlans;
	const uint8_t *cut;
	uint32_t *up_flows, *down_flows; /* [port] of the lower end of a link */
	uint32_t *step;			 /* [switch] stamp of a's path up */
	uint32_t stamp;
};

static bool is_top(const struct counter *c, const uint32_t *up, uint32_t sw)
{
	return up[sw] >= PM_VLAN_TOP || (c->cut && c->cut[up[sw]]);
}

/* The switch where the paths up from two switches meet, or PM_NONE. */
static uint32_t find_turn(struct counter *c, const uint32_t *up, uint32_t a, uint32_t b)
{
	const uint32_t *remote = c->vlans->tree->remote;

	if (up[a] == PM_NONE || up[b] == PM_NONE)
		return PM_NONE;
	c->stamp++;
	for (c->step[a] = c->stamp; !is_top(c, up, a);) {
		a = remote[up[a]];
		c->step[a] = c->stamp;
	}
	while (c->step[b] != c->stamp) {
		if (is_top(c, up, b))
			return PM_NONE;
		b = remote[up[b]];
	}
	return b;
}

static uint32_t add_to_flows(uint32_t *flows, const struct pm_vlans *v,
			     const uint32_t *up, uint32_t from, uint32_t to)
{
	uint32_t most = 0;

	for (; from != to; from = v->tree->remote[up[from]])
		if (++flows[up[from]] > most)
			most = flows[up[from]];
	return most;
}

/* Adds a flow; returns the largest number of flows on a link of its path. */
static uint32_t add_flow(struct counter *c, uint32_t vlan, uint32_t a, uint32_t b)
{
	const struct pm_vlans *v = c->vlans;
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;
	uint32_t turn = find_turn(c, up, a, b), most, down;

	if (turn == PM_NONE)
		return 0;
	most = add_to_flows(c->up_flows, v, up, a, turn);
	down = add_to_flows(c->down_flows, v, up, b, turn);
	return most > down ? most : down;
}

/*
 * Tries a permutation, in the pairs' VLANs or, without a table, in one. Returns the flows
 * on the busiest link.
 */
static uint32_t try_shift(struct counter *c, const struct pm_vlan_host *host,
			  uint32_t vlan, uint32_t by)
{
	const struct pm_vlans *v = c->vlans;
	size_t size = v->fabric->num_ports * sizeof(uint32_t);
	uint32_t most = 0;

	memset(c->up_flows, 0, size);
	memset(c->down_flows, 0, size);
	for (uint32_t a = 0; a < v->num_hosts; a++) {
		uint32_t b = (uint32_t)(((uint64_t)a + by) % v->num_hosts), flows;

		if (v->site[a] == v->site[b])
			continue;
		flows = add_flow(c, host ? pair_vlan(host, a, b) : vlan, v->site[a],
				 v->site[b]);
		most = flows > most ? flows : most;
	}
	return most;
}

void pm_vlans_shifts(const struct pm_vlans *vlans, const uint8_t *cut,
		     const struct pm_vlan_table *table, uint32_t samples,
		     struct pm_vlan_loads *loads)
{
	struct pm_pool pool = {0};
	uint32_t all = vlans->num_hosts - 1, num = samples < all ? samples : all;
	struct counter c = {
		.vlans = vlans,
		.cut = cut,
		.up_flows =
			pm_pool_xarray(&pool, vlans->fabric->num_ports, sizeof(uint32_t)),
		.down_flows =
			pm_pool_xarray(&pool, vlans->fabric->num_ports, sizeof(uint32_t)),
		.step = pm_pool_xarray(&pool, vlans->tree->num_switches,
				       sizeof(uint32_t)),
	};

	*loads = (struct pm_vlan_loads){0};
	for (uint32_t i = 0; i < num; i++) {
		uint32_t by = 1 + (uint32_t)((uint64_t)i * all / num);
		uint32_t most = try_shift(&c, table->host, 0, by);
		uint32_t tree = try_shift(&c, NULL, table->broadcast, by);

		loads->most = most > loads->most ? most : loads->most;
		loads->tree = tree > loads->tree ? tree : loads->tree;
	}
	pm_pool_free(&pool);
}
