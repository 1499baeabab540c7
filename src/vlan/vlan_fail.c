/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes lines after a failure. Of each pair that its VLAN no longer connects, one line
 * has to change: that is a vertex cover.
 */
#include "cover.h"
#include "assign_vlans.h"
#include "try_tables.h"

#include <portmajor/memory/xalloc.h>

#include <stdlib.h>
#include <string.h>

/* Whether a pair is unreachable, but another line would connect it. */
static bool is_broken(const struct assigner *d, uint32_t a, uint32_t b)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t x = v->site[a], y = v->site[b];

	return x != y && !d->parts.gone[b] && !v->untagged[b] &&
	       !parts_join(&d->parts, pair_vlan(d->host, a, b), x, y) &&
	       assigner_can_join(d, x, y);
}

/* Chooses the lines to change, in moves[]. */
static void choose_movers(struct assigner *d, uint32_t *bound)
{
	uint32_t hosts = d->vlans->num_hosts;
	struct cover cover;

	cover_begin(&cover, hosts, &d->pool);
	for (uint32_t a = 0; a < hosts; a++) {
		if (d->parts.gone[a] || d->vlans->untagged[a])
			continue;
		for (uint32_t b = 0; b < a; b++)
			if (is_broken(d, a, b))
				cover_join(&cover, a, b);
	}
	cover_choose(&cover, d->moves, bound);
}

/* Counts a host's unreachable pairs. */
static uint32_t count_unreachable(const struct assigner *d, uint32_t h)
{
	const uint32_t *site = d->vlans->site;
	uint32_t unreachable = 0;

	for (uint32_t b = 0; b < d->vlans->num_hosts && !d->parts.gone[h]; b++)
		unreachable += !d->parts.gone[b] && site[b] != site[h] &&
			       !parts_join(&d->parts, pair_vlan(d->host, h, b), site[h],
					   site[b]);
	return unreachable;
}

static bool is_same(const struct pm_vlan_host *a, const struct pm_vlan_host *b)
{
	return a->vlan == b->vlan && a->priority == b->priority;
}

/* Gives a host another line, unless that leaves more pairs unreachable. */
static bool try_line(struct assigner *d, uint32_t h, struct pm_vlan_host line)
{
	struct pm_vlan_host now = d->host[h];
	uint32_t unreachable = count_unreachable(d, h);

	for (uint32_t b = 0; b < d->vlans->num_hosts; b++)
		if (b != h && d->host[b].priority == line.priority)
			return false;
	d->host[h] = line;
	if (count_unreachable(d, h) <= unreachable)
		return true;
	d->host[h] = now;
	return false;
}

/*
 * Undoes changes that connect no more pairs, and changes of priorities alone. Only a
 * table that cannot connect all pairs may have changes of the first kind. A leaf's hosts
 * were given their priorities together, and a host that decides for fewer pairs leaves
 * the others' VLANs as even as they were.
 */
static void give_back(struct assigner *d, const struct pm_vlan_host *before)
{
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++)
		if (!is_same(&d->host[h], &before[h]) && !try_line(d, h, before[h]))
			try_line(d, h,
				 (struct pm_vlan_host){d->host[h].vlan,
						       before[h].priority});
}

/* ---- Moving hosts ---- */

#define MOST_WORK 20000000 /* of a search: runs x hosts x VLANs */

/* A search for lines that connect all pairs that can be connected. */
struct search {
	struct assigner *d;
	const struct pm_vlan_host *before;
	uint8_t *barred; /* [host] all tables in which it moves were tried */
	uint64_t work;
	uint64_t unreachable; /* pairs allowed; 0: none that could be connected */
};

/* Whether lines for the hosts in moves[] are enough; writes these. */
static bool is_enough(struct search *s)
{
	struct assigner *d = s->d;
	struct pm_vlan_assignment assignment;

	memcpy(d->host, s->before, d->vlans->num_hosts * sizeof(*d->host));
	assigner_run(d);
	s->work += (uint64_t)d->vlans->num_hosts * d->vlans->num;
	if (!assigner_set_priorities(d))
		return false;
	if (!d->stuck || !s->unreachable)
		return !d->stuck;
	assigner_count_unreachable(&d->parts, d->host, &assignment);
	return assignment.unreachable <= s->unreachable;
}

/* Hosts of which one has to move, in addition to those of earlier levels. */
struct level {
	uint32_t *hosts; /* PM_NONE: barred, or gone */
	uint32_t num, next;
};

/*
 * Where a run is stuck, one of the remaining hosts that stay has to move. Proof: if none
 * of them moved in a table that connects all pairs, the run could have taken that table's
 * first remaining host here. If some pairs may stay unreachable, any host will do.
 */
static void open_level(const struct search *s, struct level *level)
{
	const struct assigner *d = s->d;
	uint32_t from = s->unreachable ? 0 : d->blocked, num = d->num_fixed - from;

	*level = (struct level){pm_xcopy(d->fixed + from, num, sizeof(*level->hosts)),
				num, 0};
}

static void close_level(struct search *s, struct level *level)
{
	for (uint32_t i = 0; i < level->next; i++)
		if (level->hosts[i] != PM_NONE)
			s->barred[level->hosts[i]] = 0;
	free(level->hosts);
}

/* Moves the next host in place of the last one; false: all were tried. */
static bool move_next(struct search *s, struct level *level)
{
	if (level->next && level->hosts[level->next - 1] != PM_NONE) {
		s->d->moves[level->hosts[level->next - 1]] = 0;
		s->barred[level->hosts[level->next - 1]] = 1;
	}
	while (level->next < level->num) {
		uint32_t *h = &level->hosts[level->next++];

		if (!s->barred[*h] && !s->d->parts.gone[*h]) {
			s->d->moves[*h] = 1;
			return true;
		}
		*h = PM_NONE;
	}
	return false;
}

/* Moves at most so many more hosts; returns whether that is enough. */
static bool move_more(struct search *s, uint32_t more)
{
	struct level *levels = pm_xarray(more, sizeof(*levels));
	bool found = is_enough(s);
	uint32_t depth = 0;

	if (!found && more)
		open_level(s, &levels[depth++]);
	while (!found && depth) {
		if (!move_next(s, &levels[depth - 1])) {
			close_level(s, &levels[--depth]);
			continue;
		}
		found = is_enough(s);
		if (!found && depth < more && s->work < MOST_WORK)
			open_level(s, &levels[depth++]);
	}
	while (depth)
		close_level(s, &levels[--depth]);
	free(levels);
	return found;
}

/*
 * Moves as few more hosts as are enough, at least `from`; whether all pairs are
 * connected.
 */
static bool deepen(struct search *s, uint32_t from, uint32_t to)
{
	for (uint32_t more = from; more <= to && s->work < MOST_WORK; more++)
		if (move_more(s, more))
			return true;
	return false;
}

/*
 * Chooses lines: those of a smallest cover, if they are enough; or any other as few
 * lines; or more. On a large fabric not all choices can be tried: then the cover's lines
 * and more. If none is enough, the lines stay as before.
 */
static void choose_lines(struct assigner *d, const struct pm_vlan_host *before,
			 uint32_t *bound)
{
	uint32_t hosts = d->vlans->num_hosts, num = 0;
	struct search s = {d, before, pm_pool_xarray(&d->pool, hosts, 1), 0, 0};
	uint8_t *cover;

	choose_movers(d, bound);
	cover = pm_pool_xcopy(&d->pool, d->moves, hosts, 1);
	for (uint32_t h = 0; h < hosts; h++)
		num += cover[h];
	if (is_enough(&s) && num == *bound)
		return;
	memset(d->moves, 0, hosts);
	if (deepen(&s, *bound, hosts))
		return;
	memcpy(d->moves, cover, hosts);
	s.work = 0;
	if (deepen(&s, 0, hosts - num))
		return;
	memcpy(d->moves, cover, hosts);
	s.unreachable = UINT64_MAX;
	if (!is_enough(&s))
		memcpy(d->host, before, hosts * sizeof(*before));
}

static void move_few(struct assigner *d, const struct pm_vlan_table *before,
		     struct pm_vlan_table *table, struct pm_vlan_assignment *assignment)
{
	assigner_broadcast(d, &table->broadcast, &assignment->without_broadcast);
	choose_lines(d, before->host, &assignment->bound);
	assignment->bound += table->broadcast != before->broadcast;
	give_back(d, before->host);
	assigner_count_unreachable(&d->parts, table->host, assignment);
}

/*
 * If few lines leave pairs unreachable: assigns all lines anew if that leaves fewer, or
 * restores the former lines if these are as good as both.
 */
static void help(struct assigner *d, const uint8_t *cut,
		 const struct pm_vlan_table *before, struct pm_vlan_table *table,
		 struct pm_vlan_assignment *assignment)
{
	size_t size = d->vlans->num_hosts * sizeof(*table->host);
	struct pm_vlan_table again = *before;
	struct pm_vlan_assignment anew = {.bound = assignment->bound}, none = {0};

	again.host = pm_pool_xarray(&d->pool, d->vlans->num_hosts, sizeof(*again.host));
	assigner_anew(d->vlans, cut, &again, &anew);
	assigner_count_unreachable(&d->parts, before->host, &none);
	if (none.unreachable <= assignment->unreachable &&
	    none.unreachable <= anew.unreachable) {
		memcpy(table->host, before->host, size);
	} else if (anew.unreachable < assignment->unreachable) {
		*assignment = anew;
		memcpy(table->host, again.host, size);
		give_back(d, before->host);
	}
	assigner_count_unreachable(&d->parts, table->host, assignment);
}

static uint32_t count_lines(const struct pm_vlan_host *a, const struct pm_vlan_host *b,
			    uint32_t num)
{
	uint32_t lines = 0;

	for (uint32_t h = 0; h < num; h++)
		lines += !is_same(&a[h], &b[h]);
	return lines;
}

/* Counts the lines that differ, including the broadcast's. */
static uint32_t count_moved(const struct pm_vlan_table *a, const struct pm_vlan_table *b,
			    uint32_t num)
{
	return count_lines(a->host, b->host, num) + (a->broadcast != b->broadcast);
}

/* If pairs that could be connected are not, fewer lines may connect as many. */
static void save_lines(struct assigner *d, const struct pm_vlan_host *before,
		       struct pm_vlan_assignment *assignment)
{
	uint32_t hosts = d->vlans->num_hosts;
	struct pm_vlan_host *found =
		pm_pool_xcopy(&d->pool, d->host, hosts, sizeof(*found));
	struct search s = {d, before, pm_pool_xarray(&d->pool, hosts, 1), 0,
			   assignment->unreachable};
	uint32_t lines = count_lines(found, before, hosts);

	memset(d->moves, 0, hosts);
	if (lines && deepen(&s, 0, lines - 1))
		give_back(d, before);
	else
		memcpy(d->host, found, hosts * sizeof(*found));
	try_tables(d, before, count_lines(d->host, before, hosts), s.unreachable,
		   MOST_WORK);
	assigner_count_unreachable(&d->parts, d->host, assignment);
}

void pm_vlans_fail(const struct pm_vlans *vlans, const uint8_t *cut,
		   struct pm_vlan_table *table, struct pm_vlan_assignment *assignment)
{
	struct pm_vlan_table before = *table;
	struct assigner d;

	assigner_begin(&d, vlans, cut, table->host);
	*assignment = (struct pm_vlan_assignment){0};
	before.host = pm_pool_xcopy(&d.pool, table->host, vlans->num_hosts,
				    sizeof(*before.host));
	move_few(&d, &before, table, assignment);
	if (assignment->unreachable)
		help(&d, cut, &before, table, assignment);
	if (assignment->unreachable)
		save_lines(&d, before.host, assignment);
	assignment->moved = count_moved(table, &before, vlans->num_hosts);
	pm_pool_free(&d.pool);
}
