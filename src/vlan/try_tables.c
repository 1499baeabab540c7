/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tries all tables, for small fabrics. Where no table connects all pairs, assigning hosts
 * one by one finds good tables, but not always one with the fewest changed lines. A table
 * is: which hosts have another line, at which place among the others by priority, and in
 * which VLAN. Only the order of priorities counts.
 */
#include "try_tables.h"

#include <portmajor/memory/xalloc.h>

#include <stdlib.h>
#include <string.h>

/* A host with another line. Places count from the highest priority. */
struct mover {
	uint32_t host, place, vlan;
};

struct tables {
	struct assigner *d;
	const struct pm_vlan_host *before;
	struct mover *movers; /* by host; places count the movers before, too */
	uint32_t num_movers;
	uint32_t *order; /* all hosts by priority, the highest one first */
	uint32_t *vlan;	 /* [host] */
	uint64_t unreachable;
};

static bool is_mover(const struct tables *t, uint32_t h)
{
	for (uint32_t i = 0; i < t->num_movers; i++)
		if (t->movers[i].host == h)
			return true;
	return false;
}

static bool can_move(const struct tables *t, uint32_t h)
{
	return !t->d->parts.gone[h] && !t->d->vlans->untagged[h];
}

/* Untagged hosts always have the highest priorities. */
static uint32_t first_place(const struct tables *t)
{
	uint32_t num = 0;

	for (uint32_t h = 0; h < t->d->vlans->num_hosts; h++)
		num += t->d->vlans->untagged[h];
	return num;
}

static void order_hosts(struct tables *t)
{
	uint32_t hosts = t->d->vlans->num_hosts, num = 0;

	for (uint32_t i = 0; i < hosts; i++) {
		uint32_t h = t->d->by_priority[i];

		t->vlan[h] = t->before[h].vlan;
		if (!is_mover(t, h))
			t->order[num++] = h;
	}
	for (uint32_t i = 0; i < t->num_movers; i++) {
		const struct mover *mover = &t->movers[i];

		memmove(t->order + mover->place + 1, t->order + mover->place,
			(num++ - mover->place) * sizeof(*t->order));
		t->order[mover->place] = mover->host;
		t->vlan[mover->host] = mover->vlan;
	}
}

static bool is_good_enough(struct tables *t)
{
	const struct parts *parts = &t->d->parts;
	const uint32_t *site = t->d->vlans->site;
	uint64_t unreachable = 0;

	order_hosts(t);
	for (uint32_t i = 0; i < t->d->vlans->num_hosts; i++) {
		uint32_t a = t->order[i];

		for (uint32_t j = i + 1; j < t->d->vlans->num_hosts; j++) {
			uint32_t b = t->order[j];

			unreachable += !parts->gone[a] && !parts->gone[b] &&
				       site[a] != site[b] &&
				       !parts_join(parts, t->vlan[a], site[a], site[b]);
		}
		if (unreachable > t->unreachable)
			return false;
	}
	return true;
}

/* ---- Enumeration ---- */

/* Takes the next host for a mover, at the highest place; false: there is none. */
static bool next_host(struct tables *t, uint32_t i, uint32_t from)
{
	for (uint32_t h = from; h < t->d->vlans->num_hosts; h++)
		if (can_move(t, h)) {
			t->movers[i] = (struct mover){h, first_place(t), 0};
			return true;
		}
	return false;
}

/* Takes another line for a mover, or another host. */
static bool next_line(struct tables *t, uint32_t i)
{
	struct mover *mover = &t->movers[i];
	uint32_t others = t->d->vlans->num_hosts - t->num_movers + i;

	if (++mover->vlan < t->d->vlans->num)
		return true;
	mover->vlan = 0;
	if (++mover->place <= others)
		return true;
	return next_host(t, i, mover->host + 1);
}

/* Takes the first lines of the movers from one on. */
static bool begin_from(struct tables *t, uint32_t from)
{
	for (uint32_t i = from; i < t->num_movers; i++)
		if (!next_host(t, i, i ? t->movers[i - 1].host + 1 : 0))
			return false;
	return true;
}

static bool next_table(struct tables *t)
{
	for (uint32_t i = t->num_movers; i--;)
		while (next_line(t, i))
			if (begin_from(t, i + 1))
				return true;
	return false;
}

/* Writes priorities in this order, movers' between the others'; false: no room. */
static bool write_priorities(struct tables *t)
{
	uint32_t hosts = t->d->vlans->num_hosts, top = PM_VLAN_PINNED - hosts;

	memcpy(t->d->host, t->before, hosts * sizeof(*t->d->host));
	for (uint32_t i = 0, end; i < hosts; i = end + 1) {
		uint32_t bottom, step;

		for (end = i; end < hosts && is_mover(t, t->order[end]);)
			end++;
		bottom = end < hosts ? t->before[t->order[end]].priority : 0;
		step = top > bottom ? (top - bottom) / (end - i + 1) : 0;
		if (top == PM_VLAN_PINNED - hosts && step > ASSIGNER_STEP)
			step = ASSIGNER_STEP;
		if (end > i && !step)
			return false;
		for (uint32_t j = i; j < end; j++)
			t->d->host[t->order[j]] = (struct pm_vlan_host){
				t->vlan[t->order[j]], bottom + step * (end - j)};
		if (bottom < top)
			top = bottom;
	}
	return true;
}

/* The largest number of pairs to examine. */
static double count_pairs(const struct tables *t)
{
	double hosts = t->d->vlans->num_hosts, num = hosts * hosts / 2;

	for (uint32_t i = 0; i < t->num_movers; i++)
		num *= (hosts - i) / (i + 1) * (hosts - t->num_movers + i + 1) *
		       t->d->vlans->num;
	return num;
}

static bool find_table(struct tables *t)
{
	if (!begin_from(t, 0))
		return false;
	do
		if (is_good_enough(t) && write_priorities(t))
			return true;
	while (next_table(t));
	return false;
}

bool try_tables(struct assigner *d, const struct pm_vlan_host *before, uint32_t lines,
		uint64_t unreachable, uint64_t most)
{
	uint32_t hosts = d->vlans->num_hosts;
	struct tables t = {
		.d = d,
		.before = before,
		.movers = pm_xarray(hosts, sizeof(*t.movers)),
		.order = pm_xarray(hosts, sizeof(*t.order)),
		.vlan = pm_xarray(hosts, sizeof(*t.vlan)),
		.unreachable = unreachable,
	};
	struct pm_vlan_host *was = pm_xcopy(d->host, hosts, sizeof(*was));
	bool found = false;

	for (; !found && t.num_movers < lines && count_pairs(&t) <= (double)most;
	     t.num_movers++)
		found = find_table(&t);
	if (!found)
		memcpy(d->host, was, hosts * sizeof(*was));
	free(t.movers);
	free(t.order);
	free(t.vlan);
	free(was);
	return found;
}
