/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has which VLAN. Switches with hosts are taken one after the other, each with a
 * lower priority than those before: a VLAN will do for its hosts if it joins it with all
 * that are not taken yet. Who can be taken at one time can be later too, so if there is
 * any order in which all pairs meet, this finds one. Whom VLANs join with the fewest is
 * taken first: whoever comes after need not keep to the VLANs that it is in.
 */
#include "dealer.h"

#include <errno.h>
#include <string.h>

/* ---- One switch ---- */

/* By how many hosts the cables up have, from the lowest one; then by VLAN. */
static bool is_better(const struct dealer *d, uint32_t sw, uint32_t a, uint32_t b)
{
	const struct pm_vlans *v = d->vlans;
	const uint32_t *up_a = v->up + (size_t)a * v->tree->num_switches;
	const uint32_t *up_b = v->up + (size_t)b * v->tree->num_switches;
	uint32_t x = sw, y = sw;

	while (up_a[x] < PM_VLAN_TOP && up_b[y] < PM_VLAN_TOP) {
		uint32_t p = up_a[x], q = up_b[y];

		if (d->load[p] != d->load[q])
			return d->load[p] < d->load[q];
		x = v->tree->far[p];
		y = v->tree->far[q];
	}
	return d->dealt[a] != d->dealt[b] ? d->dealt[a] < d->dealt[b] : a < b;
}

void dealer_count(struct dealer *d, uint32_t h)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t vlan = d->host[h].vlan;
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;

	d->dealt[vlan]++;
	for (uint32_t sw = v->site[h]; up[sw] < PM_VLAN_TOP; sw = v->tree->far[up[sw]])
		d->load[up[sw]]++;
}

/* How far apart the loads of its cables are that lead to VLANs which will do. */
static void note_spread(struct dealer *d, uint32_t sw, uint32_t num)
{
	uint32_t least = PM_NONE, most = 0;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t port =
			d->vlans->up[(size_t)d->fit[i] * d->parts.num_switches + sw];

		if (port >= PM_VLAN_TOP)
			return;
		if (d->load[port] < least)
			least = d->load[port];
		if (d->load[port] > most)
			most = d->load[port];
	}
	if (num && most - least > d->spread)
		d->spread = most - least;
}

/* Deals the hosts of a switch, in VLANs that reach at least so many sites. */
static void deal_site(struct dealer *d, uint32_t sw, uint32_t reach)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t num = 0;

	for (uint32_t vlan = 0; vlan < v->num; vlan++)
		if (parts_of(&d->parts, vlan, sw) != PM_NONE &&
		    parts_reach(&d->parts, vlan, sw) >= reach)
			d->fit[num++] = vlan;
	for (uint32_t h = d->first[sw]; h < v->num_hosts && v->site[h] == sw; h++) {
		uint32_t best = num ? d->fit[0] : v->access;

		if (!d->moves[h])
			continue;
		for (uint32_t i = 1; i < num; i++)
			if (is_better(d, sw, d->fit[i], best))
				best = d->fit[i];
		d->host[h] = (struct pm_vlan_host){best, d->next--};
		dealer_count(d, h);
	}
	note_spread(d, sw, num);
	if (d->parts.live[sw] && !d->stay[sw])
		parts_drop(&d->parts, sw);
}

/* ---- All of them ---- */

/* Takes those whom a VLAN joins with all that remain; how many of the list are left. */
static uint32_t deal_pass(struct dealer *d, uint32_t *list, uint32_t num)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < num; i++)
		if (parts_best(&d->parts, list[i]) == d->parts.remain)
			deal_site(d, list[i], d->parts.remain);
		else
			list[left++] = list[i];
	return left;
}

/* Of those whom no VLAN joins with all, takes who is joined with most. */
static uint32_t deal_stuck(struct dealer *d, uint32_t *list, uint32_t num)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < num; i++)
		if (parts_best(&d->parts, list[i]) > parts_best(&d->parts, list[best]))
			best = i;
	deal_site(d, list[best], parts_best(&d->parts, list[best]));
	memmove(list + best, list + best + 1, (num - best - 1) * sizeof(*list));
	return num - 1;
}

/* Who sends without tags decides for all its pairs: others need not join it. */
static void count_stay(struct dealer *d)
{
	memset(d->stay, 0, d->parts.num_switches * sizeof(*d->stay));
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++)
		d->stay[d->vlans->site[h]] +=
			!d->moves[h] && !d->parts.gone[h] && !d->vlans->untagged[h];
}

int dealer_run(struct dealer *d, uint32_t priority, struct pm_error *err)
{
	uint32_t num = 0;
	uint32_t *list = pm_pool_array(&d->pool, d->num_sites, sizeof(*list));

	if (pm_pool_check(&d->pool, err))
		return -ENOMEM;
	count_stay(d);
	d->next = priority;
	d->spread = 0;
	for (uint32_t i = 0; i < d->num_sites; i++) {
		bool any = false;

		for (uint32_t h = d->first[d->sites[i]];
		     h < d->vlans->num_hosts && d->vlans->site[h] == d->sites[i]; h++)
			any |= d->moves[h];
		if (any)
			list[num++] = d->sites[i];
	}
	while (num) {
		uint32_t left = deal_pass(d, list, num);

		num = left && left == num ? deal_stuck(d, list, num) : left;
	}
	return 0;
}

/* ---- Begin and end ---- */

static void sort_sites(struct dealer *d)
{
	const struct pm_vlans *v = d->vlans;

	for (uint32_t h = 0; h < v->num_hosts; h++) {
		uint32_t sw = v->site[h], at;

		if (h && v->site[h - 1] == sw)
			continue;
		d->first[sw] = h;
		for (uint32_t vlan = 0; vlan < v->num; vlan++)
			d->reach[sw] += parts_reach(&d->parts, vlan, sw);
		at = d->num_sites++;
		for (; at && d->reach[d->sites[at - 1]] > d->reach[sw]; at--)
			d->sites[at] = d->sites[at - 1];
		d->sites[at] = sw;
	}
}

int dealer_begin(struct dealer *d, const struct pm_vlans *v, const uint8_t *cut,
		 struct pm_vlan_host *host, struct pm_error *err)
{
	uint32_t switches = v->tree->num_switches;

	*d = (struct dealer){.vlans = v, .host = host};
	d->moves = pm_pool_array(&d->pool, v->num_hosts, 1);
	d->stay = pm_pool_array(&d->pool, switches, sizeof(uint32_t));
	d->first = pm_pool_array(&d->pool, switches, sizeof(uint32_t));
	d->sites = pm_pool_array(&d->pool, switches, sizeof(uint32_t));
	d->reach = pm_pool_array(&d->pool, switches, sizeof(uint32_t));
	d->load = pm_pool_array(&d->pool, v->fabric->num_ports, sizeof(uint32_t));
	d->dealt = pm_pool_array(&d->pool, v->num, sizeof(uint32_t));
	d->fit = pm_pool_array(&d->pool, v->num, sizeof(uint32_t));
	if (parts_make(v, cut, &d->pool, &d->parts, err))
		return -ENOMEM;
	sort_sites(d);
	return 0;
}

/* How many hear what is sent in a VLAN, in its largest part. */
static uint32_t count_heard(const struct dealer *d, uint32_t vlan, uint32_t *heard)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t most = 0;

	memset(heard, 0, d->parts.num_switches * sizeof(*heard));
	for (uint32_t h = 0; h < v->num_hosts; h++) {
		uint32_t part = parts_of(&d->parts, vlan, v->site[h]);

		if (d->parts.gone[h] || part == PM_NONE ||
		    (v->untagged[h] && vlan != v->access))
			continue;
		if (++heard[part] > most)
			most = heard[part];
	}
	return most;
}

int dealer_broadcast(struct dealer *d, uint32_t *vlan, uint32_t *unheard,
		     struct pm_error *err)
{
	uint32_t *heard = pm_pool_array(&d->pool, d->parts.num_switches, sizeof(*heard));
	uint32_t best;

	if (pm_pool_check(&d->pool, err))
		return -ENOMEM;
	best = count_heard(d, *vlan, heard);
	for (uint32_t i = 0; i < d->vlans->num && best < d->parts.num_live; i++) {
		uint32_t most = count_heard(d, i, heard);

		if (most <= best)
			continue;
		best = most;
		*vlan = i;
	}
	*unheard = d->parts.num_live - best;
	return 0;
}

void dealer_count_apart(const struct parts *p, const struct pm_vlan_host *host,
			struct pm_vlan_deal *deal)
{
	const uint32_t *site = p->vlans->site;

	deal->pairs = deal->apart = 0;
	for (uint32_t a = 0; a < p->vlans->num_hosts; a++)
		for (uint32_t b = 0; b < a && !p->gone[a]; b++) {
			if (p->gone[b])
				continue;
			deal->pairs++;
			deal->apart +=
				site[a] != site[b] &&
				!parts_join(p, pair_vlan(host, a, b), site[a], site[b]);
		}
}

/* Who sends without tags has the access VLAN, and priority over all others. */
static void pin_untagged(struct dealer *d)
{
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++) {
		if (!d->vlans->untagged[h])
			continue;
		d->moves[h] = 0;
		d->host[h] = (struct pm_vlan_host){d->vlans->access, PM_VLAN_PINNED - h};
		dealer_count(d, h);
	}
}

int dealer_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		struct pm_error *err)
{
	struct dealer d;
	int rc = dealer_begin(&d, vlans, cut, table->host, err);

	if (!rc) {
		memset(d.moves, 1, vlans->num_hosts);
		pin_untagged(&d);
		rc = dealer_broadcast(&d, &table->broadcast, &deal->unheard, err);
	}
	if (!rc)
		rc = dealer_run(&d, vlans->num_hosts, err);
	if (!rc) {
		dealer_count_apart(&d.parts, table->host, deal);
		deal->spread = d.spread;
	}
	pm_pool_free(&d.pool);
	return rc;
}

int pm_vlans_deal(const struct pm_vlans *vlans, const uint8_t *cut,
		  struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		  struct pm_error *err)
{
	*deal = (struct pm_vlan_deal){.moved = vlans->num_hosts + 1};
	table->broadcast = vlans->access;
	return dealer_anew(vlans, cut, table, deal, err);
}
