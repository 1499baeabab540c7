/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Losses. Of each pair that its VLAN does not join any more one line has to change, and
 * the other may stay: what is wanted is a vertex cover.
 */
#include "cover.h"
#include "dealer.h"

#include <errno.h>
#include <string.h>

/* Which sites some VLAN joins. */
struct joined {
	uint8_t *any;	  /* [site][site], by number */
	uint32_t *number; /* [switch] */
	uint32_t num;
};

static bool is_joined(const struct parts *p, uint32_t x, uint32_t y)
{
	for (uint32_t vlan = 0; vlan < p->vlans->num; vlan++)
		if (parts_join(p, vlan, x, y))
			return true;
	return false;
}

static int find_joined(struct joined *j, struct dealer *d, struct pm_error *err)
{
	uint32_t n = d->num_sites;

	j->num = n;
	j->any = pm_pool_array(&d->pool, (size_t)n * n, 1);
	j->number = pm_pool_array(&d->pool, d->parts.num_switches, sizeof(uint32_t));
	if (pm_pool_check(&d->pool, err))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		j->number[d->sites[i]] = i;
		for (uint32_t k = 0; k < n; k++)
			j->any[(size_t)i * n + k] =
				is_joined(&d->parts, d->sites[i], d->sites[k]);
	}
	return 0;
}

/* Whether a pair is apart, and another line would help. */
static bool is_broken(const struct dealer *d, const struct joined *j, uint32_t a,
		      uint32_t b)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t x = v->site[a], y = v->site[b];

	return x != y && !d->parts.gone[b] && !v->untagged[b] &&
	       !parts_join(&d->parts, pair_vlan(d->host, a, b), x, y) &&
	       j->any[(size_t)j->number[x] * j->num + j->number[y]];
}

/* Whose lines change, in moves[]. */
static int choose_movers(struct dealer *d, uint32_t *bound, struct pm_error *err)
{
	uint32_t hosts = d->vlans->num_hosts;
	struct joined joined;
	struct cover cover;

	if (find_joined(&joined, d, err) || cover_begin(&cover, hosts, &d->pool, err))
		return -ENOMEM;
	for (uint32_t a = 0; a < hosts; a++) {
		if (d->parts.gone[a] || d->vlans->untagged[a])
			continue;
		for (uint32_t b = 0; b < a; b++)
			if (is_broken(d, &joined, a, b))
				cover_join(&cover, a, b);
	}
	return cover_choose(&cover, d->moves, bound, err);
}

/* The priority of the first of those that move: all of them have more than others. */
static int choose_priority(const struct dealer *d, uint32_t *priority,
			   struct pm_error *err)
{
	uint32_t hosts = d->vlans->num_hosts, moving = 0, most = 0;

	for (uint32_t h = 0; h < hosts; h++) {
		moving += d->moves[h];
		if (!d->vlans->untagged[h] && d->host[h].priority > most)
			most = d->host[h].priority;
	}
	if (most >= PM_VLAN_PINNED - hosts || PM_VLAN_PINNED - hosts - most < moving)
		return pm_error_set(err, -ERANGE, "the table has no priorities left");
	*priority = most + moving;
	return 0;
}

/* Whether a host's pairs meet with that priority, those that do at all. */
static bool is_enough(struct dealer *d, uint32_t h, uint32_t priority)
{
	const uint32_t *site = d->vlans->site;
	uint32_t given = d->host[h].priority;

	for (uint32_t b = 0; b < d->vlans->num_hosts; b++) {
		bool met, meets;

		/* Only who comes between would decide instead. */
		if (d->host[b].priority < priority || d->host[b].priority > given ||
		    d->parts.gone[b] || site[b] == site[h])
			continue;
		met = parts_join(&d->parts, d->host[h].vlan, site[h], site[b]);
		meets = parts_join(&d->parts, d->host[b].vlan, site[h], site[b]);
		if (met && !meets)
			return false;
	}
	return true;
}

/* Priority over all is for who needs it: those of a leaf's hosts were dealt together, and
 * who decides less for others leaves their VLANs as even as they were. */
static void give_back(struct dealer *d, const struct pm_vlan_host *before)
{
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++)
		if (d->moves[h] && is_enough(d, h, before[h].priority))
			d->host[h].priority = before[h].priority;
}

/* Moves few; an error leaves the table half-changed. */
static int move_few(struct dealer *d, const struct pm_vlan_table *before,
		    struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		    struct pm_error *err)
{
	uint32_t priority = 0;
	int rc = dealer_broadcast(d, &table->broadcast, &deal->unheard, err);

	if (!rc)
		rc = choose_movers(d, &deal->bound, err);
	if (!rc)
		rc = choose_priority(d, &priority, err);
	if (rc)
		return rc;
	deal->bound += table->broadcast != before->broadcast;
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++)
		if (!d->moves[h])
			dealer_count(d, h);
	rc = dealer_run(d, priority, err);
	if (rc)
		return rc;
	give_back(d, before->host);
	dealer_count_apart(&d->parts, table->host, deal);
	return 0;
}

/* Lines that differ, with the broadcast's. */
static uint32_t count_moved(const struct pm_vlan_table *a, const struct pm_vlan_table *b,
			    uint32_t num)
{
	uint32_t moved = a->broadcast != b->broadcast;

	for (uint32_t h = 0; h < num; h++)
		moved += a->host[h].vlan != b->host[h].vlan ||
			 a->host[h].priority != b->host[h].priority;
	return moved;
}

/* Few lines leave pairs apart: deals all anew if that leaves fewer, or leaves all as it
 * was if not even that is worse. */
static int help(struct dealer *d, const uint8_t *cut, const struct pm_vlan_table *before,
		struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		struct pm_error *err)
{
	uint32_t hosts = d->vlans->num_hosts;
	struct pm_vlan_table again = *before;
	struct pm_vlan_deal anew = {.bound = deal->bound}, none = {0};
	int rc;

	again.host = pm_pool_array(&d->pool, hosts, sizeof(*again.host));
	rc = pm_pool_check(&d->pool, err);
	if (!rc)
		rc = dealer_anew(d->vlans, cut, &again, &anew, err);
	if (rc)
		return rc;
	dealer_count_apart(&d->parts, before->host, &none);
	if (none.apart <= deal->apart && none.apart <= anew.apart) {
		deal->apart = none.apart;
		memcpy(table->host, before->host, hosts * sizeof(*again.host));
	} else if (anew.apart < deal->apart) {
		*deal = anew;
		memcpy(table->host, again.host, hosts * sizeof(*again.host));
	}
	return 0;
}

int pm_vlans_lose(const struct pm_vlans *vlans, const uint8_t *cut,
		  struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		  struct pm_error *err)
{
	struct pm_vlan_table before = *table;
	struct dealer d;
	int rc = dealer_begin(&d, vlans, cut, table->host, err);

	*deal = (struct pm_vlan_deal){0};
	before.host = pm_pool_copy(&d.pool, table->host, vlans->num_hosts,
				   sizeof(*before.host));
	if (!rc)
		rc = pm_pool_check(&d.pool, err);
	if (!rc)
		rc = move_few(&d, &before, table, deal, err);
	if (!rc && deal->apart)
		rc = help(&d, cut, &before, table, deal, err);
	if (!rc)
		deal->moved = count_moved(table, &before, vlans->num_hosts);
	pm_pool_free(&d.pool);
	return rc;
}
