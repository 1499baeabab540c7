/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Assigns VLANs and priorities. Hosts are taken one after the other, each with a lower
 * priority than the hosts before. A host can be taken with its old line when its VLAN
 * connects it with all remaining hosts, as far as any VLAN does. The moving hosts of a
 * switch can be taken, together, when some VLAN does that; they precede hosts that stay.
 * A host that can be taken now can be taken later, too, as fewer remain. So if lines for
 * the moving hosts can connect all pairs, this finds such lines. Hosts that VLANs connect
 * with the fewest others are tried first, so that later hosts are not bound to their
 * VLANs.
 */
#include "assign_vlans.h"

#include <portmajor/base/bits.h>
#include <portmajor/memory/xalloc.h>

#include <string.h>

/* ---- One switch ---- */

/*
 * Whether VLAN a is better than b for a host of a switch: by the hosts on the links up,
 * from the lowest link on; then by the VLANs' hosts; then by index.
 */
static bool is_better(const struct assigner *d, uint32_t sw, uint32_t a, uint32_t b)
{
	const struct pm_vlans *v = d->vlans;
	const uint32_t *up_a = v->up + (size_t)a * v->tree->num_switches;
	const uint32_t *up_b = v->up + (size_t)b * v->tree->num_switches;
	uint32_t x = sw, y = sw;

	while (up_a[x] < PM_VLAN_TOP && up_b[y] < PM_VLAN_TOP) {
		uint32_t p = up_a[x], q = up_b[y];

		if (d->load[p] != d->load[q])
			return d->load[p] < d->load[q];
		x = v->tree->remote[p];
		y = v->tree->remote[q];
	}
	return d->assigned[a] != d->assigned[b] ? d->assigned[a] < d->assigned[b] : a < b;
}

static void count_host(struct assigner *d, uint32_t h)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t vlan = d->host[h].vlan;
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;

	d->assigned[vlan]++;
	for (uint32_t sw = v->site[h]; up[sw] < PM_VLAN_TOP; sw = v->tree->remote[up[sw]])
		d->load[up[sw]]++;
}

/* Counts the remaining sites that some VLAN connects with this site, including itself. */
static uint32_t count_connected(const struct assigner *d, uint32_t sw)
{
	const uint64_t *connected = d->connected + (size_t)d->index[sw] * d->words;
	uint32_t num = 0;

	for (uint32_t w = 0; w < d->words; w++)
		num += (uint32_t)__builtin_popcountll(connected[w] & d->remain[w]);
	return num;
}

static void take_host(struct assigner *d, uint32_t h)
{
	uint32_t sw = d->vlans->site[h];

	if (d->parts.gone[h] || --d->left[sw])
		return;
	parts_drop(&d->parts, sw);
	d->remain[d->index[sw] / 64] &= ~(UINT64_C(1) << d->index[sw] % 64);
}

static bool moves_there(const struct assigner *d, uint32_t sw, uint32_t h)
{
	return h < d->vlans->num_hosts && d->vlans->site[h] == sw;
}

/*
 * Notes by how much a link with the switch's own hosts exceeds the emptiest suitable
 * link: by 1 at most, as the link's last host found it emptiest. A link with hosts of
 * lower switches alone may exceed it by more.
 */
static void note_spread(struct assigner *d, uint32_t sw, uint32_t num)
{
	const uint32_t *up = d->vlans->up + sw;
	size_t switches = d->parts.num_switches;
	uint32_t least = PM_NONE;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t port = up[d->fit[i] * switches];

		if (port >= PM_VLAN_TOP)
			return;
		if (d->load[port] < least)
			least = d->load[port];
	}
	for (uint32_t h = d->first[sw]; num && moves_there(d, sw, h); h++) {
		uint32_t load = d->moves[h] ? d->load[up[d->host[h].vlan * switches]] : 0;

		if (load > least && load - least > d->spread)
			d->spread = load - least;
	}
}

/* Assigns the hosts of a switch, in VLANs that reach at least so many sites. */
static void assign_site(struct assigner *d, uint32_t sw, uint32_t reach)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t num = 0;

	for (uint32_t vlan = 0; vlan < v->num; vlan++)
		if (parts_of(&d->parts, vlan, sw) != PM_NONE &&
		    parts_reach(&d->parts, vlan, sw) >= reach)
			d->fit[num++] = vlan;
	for (uint32_t h = d->first[sw]; moves_there(d, sw, h); h++) {
		uint32_t best = num ? d->fit[0] : v->access;

		if (!d->moves[h])
			continue;
		for (uint32_t i = 1; i < num; i++)
			if (is_better(d, sw, d->fit[i], best))
				best = d->fit[i];
		d->host[h].vlan = best;
		d->above[d->num_moved] = d->taken;
		d->order[d->num_moved++] = h;
		count_host(d, h);
	}
	note_spread(d, sw, num);
	for (uint32_t h = d->first[sw]; moves_there(d, sw, h); h++)
		if (d->moves[h])
			take_host(d, h);
}

/* ---- Gaps between hosts that stay ---- */

/* Gap n is below n of them. Its priorities are between these, of the hosts beside it. */
static uint32_t top_of(const struct assigner *d, uint32_t gap)
{
	return gap ? d->host[d->fixed[gap - 1]].priority
		   : PM_VLAN_PINNED - d->vlans->num_hosts;
}

static uint32_t bottom_of(const struct assigner *d, uint32_t gap)
{
	return gap < d->num_fixed ? d->host[d->fixed[gap]].priority : 0;
}

static bool fits(const struct assigner *d, uint32_t gap, uint32_t num)
{
	uint32_t top = top_of(d, gap), bottom = bottom_of(d, gap);

	return top > bottom && top - bottom > num;
}

/* Whether the gap of those taken so far has room for so many more hosts. */
static bool has_room(const struct assigner *d, uint32_t num)
{
	for (uint32_t i = d->num_moved; i && d->above[i - 1] == d->taken; i--)
		num++;
	return fits(d, d->taken, num);
}

static uint32_t count_movers(const struct assigner *d, uint32_t sw)
{
	uint32_t num = 0;

	for (uint32_t h = d->first[sw]; moves_there(d, sw, h); h++)
		num += d->moves[h];
	return num;
}

/*
 * Counts the remaining sites that a staying host's VLAN does not connect with it, though
 * some VLAN does.
 */
static uint32_t count_missed(const struct assigner *d, uint32_t h)
{
	uint32_t sw = d->vlans->site[h];

	return d->parts.gone[h] ? 0
				: count_connected(d, sw) -
					  parts_reach(&d->parts, d->host[h].vlan, sw);
}

/* ---- All hosts ---- */

/*
 * Takes hosts that a VLAN connects with all remaining ones; returns how many switches of
 * the list are left.
 */
static uint32_t assign_pass(struct assigner *d, uint32_t *list, uint32_t num)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t connected = count_connected(d, list[i]);

		if (parts_best(&d->parts, list[i]) == connected &&
		    has_room(d, count_movers(d, list[i])))
			assign_site(d, list[i], connected);
		else
			list[left++] = list[i];
	}
	return left;
}

/*
 * Takes hosts that stay, as long as each is connected with all remaining hosts. Returns
 * whether there were any.
 */
static bool take_fixed(struct assigner *d)
{
	uint32_t before = d->taken;

	while (d->taken < d->num_fixed && !count_missed(d, d->fixed[d->taken]))
		take_host(d, d->fixed[d->taken++]);
	return d->taken != before;
}

/* Takes the hosts that miss the fewest sites; returns how many switches are left. */
static uint32_t assign_stuck(struct assigner *d, uint32_t *list, uint32_t num)
{
	uint32_t best = 0, least = PM_NONE;

	if (!d->stuck++)
		d->blocked = d->taken;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t missed =
			count_connected(d, list[i]) - parts_best(&d->parts, list[i]);

		if (!has_room(d, count_movers(d, list[i])))
			missed = PM_NONE - 1;
		if (missed < least) {
			least = missed;
			best = i;
		}
	}
	if (d->taken < d->num_fixed && count_missed(d, d->fixed[d->taken]) < least) {
		take_host(d, d->fixed[d->taken++]);
		return num;
	}
	assign_site(d, list[best], parts_best(&d->parts, list[best]));
	memmove(list + best, list + best + 1, (num - best - 1) * sizeof(*list));
	return num - 1;
}

/* Sorts hosts that stay by priority, the highest first. */
static void sort_fixed(struct assigner *d)
{
	d->num_fixed = 0;
	for (uint32_t i = 0; i < d->vlans->num_hosts; i++) {
		uint32_t h = d->by_priority[i];

		if (!d->moves[h] && !d->vlans->untagged[h])
			d->fixed[d->num_fixed++] = h;
	}
}

/* Begins anew: no host is taken, and loads are those of lines that stay. */
static void reset(struct assigner *d)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t switches = d->parts.num_switches;

	memcpy(d->parts.count, d->count, (size_t)v->num * switches * sizeof(*d->count));
	memcpy(d->left, d->parts.live, switches * sizeof(*d->left));
	memset(d->remain, 0, d->words * sizeof(*d->remain));
	memset(d->load, 0, v->fabric->num_ports * sizeof(*d->load));
	memset(d->assigned, 0, v->num * sizeof(*d->assigned));
	for (uint32_t i = 0; i < d->num_sites; i++)
		if (d->parts.live[d->sites[i]])
			pm_bits_set(d->remain, i);
	for (uint32_t h = 0; h < v->num_hosts; h++)
		if (!d->moves[h])
			count_host(d, h);
	d->taken = d->num_moved = d->stuck = d->spread = 0;
	sort_fixed(d);
}

void assigner_run(struct assigner *d)
{
	uint32_t num = 0;

	reset(d);
	for (uint32_t i = 0; i < d->num_sites; i++)
		if (count_movers(d, d->sites[i]))
			d->list[num++] = d->sites[i];
	while (num || d->taken < d->num_fixed) {
		uint32_t left = assign_pass(d, d->list, num);
		bool any = left != num;

		num = left;
		if (!any && !take_fixed(d))
			num = assign_stuck(d, d->list, num);
	}
}

/* ---- Priorities ---- */

/* Sets priorities in a gap; above all other hosts, steps of the usual size at most. */
static void set_between(struct assigner *d, const uint32_t *hosts, uint32_t num,
			uint32_t gap)
{
	uint32_t bottom = bottom_of(d, gap);
	uint32_t step = (top_of(d, gap) - bottom) / (num + 1);

	if (!gap && step > ASSIGNER_STEP)
		step = ASSIGNER_STEP;
	for (uint32_t i = 0; i < num; i++)
		d->host[hosts[i]].priority = bottom + step * (num - i);
}

bool assigner_set_priorities(struct assigner *d)
{
	for (uint32_t i = 0, end; i < d->num_moved; i = end) {
		for (end = i + 1; end < d->num_moved && d->above[end] == d->above[i];)
			end++;
		if (!fits(d, d->above[i], end - i))
			return false;
		set_between(d, d->order + i, end - i, d->above[i]);
	}
	return true;
}

/* ---- Begin and end ---- */

static void sort_sites(struct assigner *d)
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
	for (uint32_t i = 0; i < d->num_sites; i++)
		d->index[d->sites[i]] = i;
}

/*
 * Finds the sites that a VLAN connects: those of one part of it; members[switch][word]
 * are those of each part.
 */
static void find_connected(struct assigner *d, uint64_t *members)
{
	for (uint32_t vlan = 0; vlan < d->vlans->num; vlan++) {
		memset(members, 0,
		       (size_t)d->parts.num_switches * d->words * sizeof(*members));
		for (uint32_t i = 0; i < d->num_sites; i++) {
			uint32_t part = parts_of(&d->parts, vlan, d->sites[i]);

			if (part != PM_NONE)
				pm_bits_set(members + (size_t)part * d->words, i);
		}
		for (uint32_t i = 0; i < d->num_sites; i++) {
			uint32_t part = parts_of(&d->parts, vlan, d->sites[i]);

			if (part != PM_NONE)
				pm_bits_or(d->connected + (size_t)i * d->words,
					   members + (size_t)part * d->words, d->words);
		}
	}
}

bool assigner_can_join(const struct assigner *d, uint32_t a, uint32_t b)
{
	return pm_bits_test(d->connected + (size_t)d->index[a] * d->words, d->index[b]);
}

static int compare_priorities(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

/* Sorts hosts by the priorities of their present lines. */
static void sort_hosts(struct assigner *d)
{
	uint32_t num = d->vlans->num_hosts;
	uint64_t *keys = pm_xarray(num, sizeof(*keys));

	for (uint32_t h = 0; h < num; h++)
		keys[h] = (uint64_t)d->host[h].priority << 32 | h;
	qsort(keys, num, sizeof(*keys), compare_priorities);
	for (uint32_t i = 0; i < num; i++)
		d->by_priority[i] = (uint32_t)keys[i];
	free(keys);
}

static void make_rooms(struct assigner *d, uint64_t **members)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t switches = v->tree->num_switches, hosts = v->num_hosts;
	struct pm_pool *pool = &d->pool;

	d->moves = pm_pool_xarray(pool, hosts, 1);
	d->fixed = pm_pool_xarray(pool, hosts, sizeof(uint32_t));
	d->order = pm_pool_xarray(pool, hosts, sizeof(uint32_t));
	d->above = pm_pool_xarray(pool, hosts, sizeof(uint32_t));
	d->by_priority = pm_pool_xarray(pool, hosts, sizeof(uint32_t));
	d->first = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->sites = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->index = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->list = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->reach = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->left = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	d->load = pm_pool_xarray(pool, v->fabric->num_ports, sizeof(uint32_t));
	d->assigned = pm_pool_xarray(pool, v->num, sizeof(uint32_t));
	d->fit = pm_pool_xarray(pool, v->num, sizeof(uint32_t));
	d->words = pm_bits_words(switches);
	d->remain = pm_pool_xarray(pool, d->words, sizeof(uint64_t));
	d->connected =
		pm_pool_xarray(pool, (size_t)switches * d->words, sizeof(uint64_t));
	*members = pm_pool_xarray(pool, (size_t)switches * d->words, sizeof(uint64_t));
}

void assigner_begin(struct assigner *d, const struct pm_vlans *v, const uint8_t *cut,
		    struct pm_vlan_host *host)
{
	uint64_t *members;

	*d = (struct assigner){.vlans = v, .host = host};
	make_rooms(d, &members);
	parts_make(v, cut, &d->pool, &d->parts);
	d->count =
		pm_pool_xcopy(&d->pool, d->parts.count,
			      (size_t)v->num * v->tree->num_switches, sizeof(*d->count));
	sort_sites(d);
	find_connected(d, members);
	sort_hosts(d);
}

/* Counts the hosts that hear a broadcast in a VLAN, in its largest part. */
static uint32_t count_reached(const struct assigner *d, uint32_t vlan, uint32_t *reached)
{
	const struct pm_vlans *v = d->vlans;
	uint32_t most = 0;

	memset(reached, 0, d->parts.num_switches * sizeof(*reached));
	for (uint32_t h = 0; h < v->num_hosts; h++) {
		uint32_t part = parts_of(&d->parts, vlan, v->site[h]);

		if (d->parts.gone[h] || part == PM_NONE ||
		    (v->untagged[h] && vlan != v->access))
			continue;
		if (++reached[part] > most)
			most = reached[part];
	}
	return most;
}

void assigner_broadcast(struct assigner *d, uint32_t *vlan, uint32_t *without_broadcast)
{
	uint32_t *reached =
		pm_pool_xarray(&d->pool, d->parts.num_switches, sizeof(*reached));
	uint32_t best = count_reached(d, *vlan, reached);

	for (uint32_t i = 0; i < d->vlans->num && best < d->parts.num_live; i++) {
		uint32_t most = count_reached(d, i, reached);

		if (most <= best)
			continue;
		best = most;
		*vlan = i;
	}
	*without_broadcast = d->parts.num_live - best;
}

void assigner_count_unreachable(const struct parts *p, const struct pm_vlan_host *host,
				struct pm_vlan_assignment *assignment)
{
	const uint32_t *site = p->vlans->site;

	assignment->pairs = assignment->unreachable = assignment->cabled = 0;
	for (uint32_t a = 0; a < p->vlans->num_hosts; a++)
		for (uint32_t b = 0; b < a && !p->gone[a]; b++) {
			if (p->gone[b])
				continue;
			assignment->pairs++;
			if (site[a] == site[b] ||
			    parts_join(p, pair_vlan(host, a, b), site[a], site[b]))
				continue;
			assignment->unreachable++;
			assignment->cabled += p->island[site[a]] == p->island[site[b]];
		}
}

/* Gives hosts without tags the access VLAN, and priority over all others. */
static void pin_untagged(struct assigner *d)
{
	for (uint32_t h = 0; h < d->vlans->num_hosts; h++) {
		if (!d->vlans->untagged[h])
			continue;
		d->moves[h] = 0;
		d->host[h] = (struct pm_vlan_host){d->vlans->access, PM_VLAN_PINNED - h};
	}
}

void assigner_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		   struct pm_vlan_table *table, struct pm_vlan_assignment *assignment)
{
	struct assigner d;

	assigner_begin(&d, vlans, cut, table->host);
	memset(d.moves, 1, vlans->num_hosts);
	pin_untagged(&d);
	assigner_broadcast(&d, &table->broadcast, &assignment->without_broadcast);
	assigner_run(&d);
	(void)assigner_set_priorities(&d); /* no line is in the way */
	assigner_count_unreachable(&d.parts, table->host, assignment);
	assignment->spread = d.spread;
	pm_pool_free(&d.pool);
}

void pm_vlans_assign(const struct pm_vlans *vlans, const uint8_t *cut,
		     struct pm_vlan_table *table, struct pm_vlan_assignment *assignment)
{
	*assignment = (struct pm_vlan_assignment){.moved = vlans->num_hosts + 1};
	table->broadcast = vlans->access;
	assigner_anew(vlans, cut, table, assignment);
}
