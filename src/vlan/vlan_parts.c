/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the hosts that each VLAN connects, also after failures. */
#include "vlan_parts.h"

#include <portmajor/memory/xalloc.h>

/* The highest switch on the path up, below the first failed link. */
static uint32_t climb(const struct pm_vlans *v, uint32_t vlan, const uint8_t *cut,
		      uint32_t sw)
{
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;

	if (up[sw] == PM_NONE)
		return PM_NONE;
	while (up[sw] != PM_VLAN_TOP && !(cut && cut[up[sw]]))
		sw = v->tree->remote[up[sw]];
	return sw;
}

static void find_live(struct parts *p, const uint8_t *cut)
{
	for (uint32_t h = 0; h < p->vlans->num_hosts; h++) {
		uint32_t sw = p->vlans->site[h];

		p->gone[h] = cut && cut[p->vlans->hosts[h]];
		if (p->gone[h])
			continue;
		p->num_live++;
		p->live[sw] += !p->vlans->untagged[h];
	}
}

/* Gives all switches that links connect with one switch its index. */
static void flood(const struct pm_vlans *v, const uint8_t *cut, uint32_t start,
		  uint32_t *island, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	island[start] = start;
	queue[tail++] = start;
	while (head < tail) {
		uint32_t sw = queue[head++];

		pm_for_each_port(i, v->fabric, sw) {
			uint32_t remote = pm_fabric_peer_node(v->fabric, i);

			if (remote >= v->tree->num_switches || (cut && cut[i]) ||
			    island[remote] != PM_NONE)
				continue;
			island[remote] = start;
			queue[tail++] = remote;
		}
	}
}

static void find_islands(struct parts *p, const uint8_t *cut, uint32_t *queue)
{
	for (uint32_t sw = 0; sw < p->num_switches; sw++)
		p->island[sw] = PM_NONE;
	for (uint32_t sw = 0; sw < p->num_switches; sw++)
		if (p->island[sw] == PM_NONE)
			flood(p->vlans, cut, sw, p->island, queue);
}

void parts_make(const struct pm_vlans *vlans, const uint8_t *cut, struct pm_pool *pool,
		struct parts *parts)
{
	uint32_t switches = vlans->tree->num_switches;
	size_t cells = (size_t)vlans->num * switches;
	struct parts p = {
		.vlans = vlans,
		.num_switches = switches,
		.part = pm_pool_xarray(pool, cells, sizeof(uint32_t)),
		.count = pm_pool_xarray(pool, cells, sizeof(uint32_t)),
		.live = pm_pool_xarray(pool, switches, sizeof(uint32_t)),
		.gone = pm_pool_xarray(pool, vlans->num_hosts, 1),
		.island = pm_pool_xarray(pool, switches, sizeof(uint32_t)),
	};
	uint32_t *queue = pm_pool_xarray(pool, switches, sizeof(*queue));

	find_live(&p, cut);
	find_islands(&p, cut, queue);
	for (uint32_t vlan = 0; vlan < vlans->num; vlan++)
		for (uint32_t sw = 0; sw < switches; sw++) {
			size_t row = (size_t)vlan * switches;
			uint32_t part = climb(vlans, vlan, cut, sw);

			p.part[row + sw] = part;
			if (part != PM_NONE && p.live[sw])
				p.count[row + part]++;
		}
	*parts = p;
}

uint32_t parts_best(const struct parts *p, uint32_t sw)
{
	uint32_t best = 0;

	for (uint32_t vlan = 0; vlan < p->vlans->num; vlan++)
		if (parts_reach(p, vlan, sw) > best)
			best = parts_reach(p, vlan, sw);
	return best;
}

void parts_drop(struct parts *p, uint32_t sw)
{
	for (uint32_t vlan = 0; vlan < p->vlans->num; vlan++)
		if (parts_of(p, vlan, sw) != PM_NONE)
			p->count[(size_t)vlan * p->num_switches +
				 parts_of(p, vlan, sw)]--;
}
