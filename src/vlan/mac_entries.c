/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts MAC entries, if all hosts communicate with all others. A switch has an entry for
 * a host in a VLAN if one of the host's pairs uses this VLAN through this switch. That is
 * so if, beyond the switch, there is a host of this VLAN with a higher priority or, for
 * the host's own VLAN, any host with a lower one.
 */
#include "vlan_parts.h"

#include <portmajor/memory/xalloc.h>

#include <string.h>

/* Hosts on one side. */
struct extremes {
	uint32_t lowest;  /* lowest priority; PM_NONE: no hosts */
	uint32_t highest; /* highest priority of this VLAN's hosts; 0: none */
};

struct learner {
	const struct pm_vlans *vlans;
	const struct pm_vlan_host *host;
	uint32_t *sites, num_sites;	 /* switches with hosts */
	uint32_t *first;		 /* [site] first host; one element more */
	uint32_t *low, *high;		 /* [site] its hosts' priorities */
	uint8_t *has_own;		 /* [site] hosts with this VLAN */
	struct extremes *below, *beyond; /* [switch] in and not in its subtree */
	uint64_t *total;		 /* [switch] */
};

static void find_sites(struct learner *l)
{
	for (uint32_t h = 0; h < l->vlans->num_hosts; h++) {
		if (h && l->vlans->site[h] == l->vlans->site[h - 1])
			continue;
		l->sites[l->num_sites] = l->vlans->site[h];
		l->first[l->num_sites++] = h;
	}
	l->first[l->num_sites] = l->vlans->num_hosts;
	for (uint32_t i = 0; i < l->num_sites; i++) {
		l->low[i] = PM_NONE;
		for (uint32_t h = l->first[i]; h < l->first[i + 1]; h++) {
			uint32_t priority = l->host[h].priority;

			l->low[i] = priority < l->low[i] ? priority : l->low[i];
			l->high[i] = priority > l->high[i] ? priority : l->high[i];
		}
	}
}

static void add_host(struct extremes *e, const struct pm_vlan_host *host, uint32_t vlan)
{
	if (host->priority < e->lowest)
		e->lowest = host->priority;
	if (host->vlan == vlan && host->priority > e->highest)
		e->highest = host->priority;
}

static void add_all(struct extremes *e, const struct extremes *more)
{
	if (more->lowest < e->lowest)
		e->lowest = more->lowest;
	if (more->highest > e->highest)
		e->highest = more->highest;
}

/* The switch just below sw on a site's path up; PM_NONE: the site is not below sw. */
static uint32_t find_child(const struct pm_vlans *v, const uint32_t *up, uint32_t site,
			   uint32_t sw)
{
	uint32_t last = PM_NONE;

	for (; site != sw; site = v->tree->remote[up[site]]) {
		if (up[site] == PM_VLAN_TOP)
			return PM_NONE;
		last = site;
	}
	return last;
}

/* Finds the extremes of hosts below and beyond each switch of a VLAN. */
static void find_extremes(struct learner *l, uint32_t vlan, const uint32_t *up)
{
	const struct pm_vlans *v = l->vlans;
	uint32_t switches = v->tree->num_switches;

	for (uint32_t sw = 0; sw < switches; sw++)
		l->below[sw] = l->beyond[sw] = (struct extremes){PM_NONE, 0};
	for (uint32_t i = 0; i < l->num_sites; i++) {
		struct extremes here = {PM_NONE, 0};

		if (up[l->sites[i]] == PM_NONE)
			continue;
		for (uint32_t h = l->first[i]; h < l->first[i + 1]; h++)
			add_host(&here, &l->host[h], vlan);
		l->has_own[i] = here.highest != 0;
		for (uint32_t sw = 0; sw < switches; sw++)
			if (up[sw] != PM_NONE)
				add_all(l->sites[i] == sw ||
							find_child(v, up, l->sites[i],
								   sw) != PM_NONE
						? &l->below[sw]
						: &l->beyond[sw],
					&here);
	}
}

/* Counts the hosts of a site that have a pair with a host of the other side. */
static uint32_t count_site(const struct learner *l, uint32_t site, uint32_t vlan,
			   const struct extremes *other)
{
	uint32_t num = 0;

	if (other->lowest == PM_NONE)
		return 0;
	if (l->high[site] < other->highest)
		return l->first[site + 1] - l->first[site];
	if (l->low[site] >= other->highest && !l->has_own[site])
		return 0;
	for (uint32_t h = l->first[site]; h < l->first[site + 1]; h++)
		num += l->host[h].priority < other->highest ||
		       (l->host[h].vlan == vlan && l->host[h].priority > other->lowest);
	return num;
}

/* Counts pairs of a switch's own hosts, too. */
static uint32_t count_own(const struct learner *l, uint32_t site, uint32_t vlan)
{
	struct extremes all = l->below[l->sites[site]];

	add_all(&all, &l->beyond[l->sites[site]]);
	return count_site(l, site, vlan, &all);
}

/* Counts the hosts that a switch learns in a VLAN. */
static uint32_t count_switch(const struct learner *l, const uint32_t *up, uint32_t vlan,
			     uint32_t sw)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < l->num_sites; i++) {
		uint32_t child;

		if (up[l->sites[i]] == PM_NONE)
			continue;
		if (l->sites[i] == sw) {
			num += count_own(l, i, vlan);
			continue;
		}
		child = find_child(l->vlans, up, l->sites[i], sw);
		num += count_site(l, i, vlan,
				  child == PM_NONE ? &l->below[sw] : &l->beyond[child]);
	}
	return num;
}

static void count_vlan(struct learner *l, uint32_t vlan, bool broadcast)
{
	const struct pm_vlans *v = l->vlans;
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;
	uint32_t hosts = 0;

	for (uint32_t h = 0; h < v->num_hosts; h++)
		hosts += up[v->site[h]] != PM_NONE;
	if (!broadcast)
		find_extremes(l, vlan, up);
	for (uint32_t sw = 0; sw < v->tree->num_switches; sw++)
		if (up[sw] != PM_NONE)
			l->total[sw] += broadcast ? hosts : count_switch(l, up, vlan, sw);
}

void pm_vlans_count_macs(const struct pm_vlans *vlans, const struct pm_vlan_table *table,
			 uint64_t *most, uint32_t *sw)
{
	struct pm_pool pool = {0};
	uint32_t switches = vlans->tree->num_switches;
	struct learner l = {
		.vlans = vlans,
		.host = table->host,
		.sites = pm_pool_xarray(&pool, switches, sizeof(uint32_t)),
		.first = pm_pool_xarray(&pool, (size_t)switches + 1, sizeof(uint32_t)),
		.low = pm_pool_xarray(&pool, switches, sizeof(uint32_t)),
		.high = pm_pool_xarray(&pool, switches, sizeof(uint32_t)),
		.has_own = pm_pool_xarray(&pool, switches, 1),
		.below = pm_pool_xarray(&pool, switches, sizeof(struct extremes)),
		.beyond = pm_pool_xarray(&pool, switches, sizeof(struct extremes)),
		.total = pm_pool_xarray(&pool, switches, sizeof(uint64_t)),
	};

	find_sites(&l);
	for (uint32_t vlan = 0; vlan < vlans->num; vlan++)
		count_vlan(&l, vlan, vlan == table->broadcast);
	*most = 0;
	*sw = 0;
	for (uint32_t i = 0; i < switches; i++)
		if (l.total[i] > *most) {
			*most = l.total[i];
			*sw = i;
		}
	pm_pool_free(&pool);
}
