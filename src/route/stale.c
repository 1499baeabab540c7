/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds stale entries: kept entries over moved links, and kept entries that loop.
 *
 * Without a moved link there is none. Suppose there were a loop, and take the entry in it
 * that was written last, at a time when the tables led every packet to the LID's place.
 * Its next hop had a path then, so that switch's entry is of that time as well, and so on
 * around the loop; but the tables of one time have no loop. Only moved links and wrong
 * records remain. Each LID is followed all the same: it costs little, and does not depend
 * on the tables' history.
 */
#include "route_parts.h"

#include <portmajor/route/stale.h>

#include <errno.h>

uint32_t pm_stale_next(const struct pm_stale_input *input, uint32_t sw, uint8_t entry)
{
	const struct pm_fabric *topology = input->routes->plan->topology;
	const struct pm_node *n = &topology->nodes[sw];

	if (!entry || entry > n->num_ports || !input->up[n->first_port + entry])
		return PM_NONE;
	return pm_fabric_peer_node(topology, n->first_port + entry);
}

void pm_stale_mark_recabled(const struct pm_plan *before, const struct pm_plan *plan,
			    uint8_t *recabled)
{
	const struct pm_fabric *old = before->topology, *topology = plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t was = pm_fabric_same_port(topology, i, old), peer, old_peer;

		if (was == PM_NONE)
			continue;
		peer = topology->ports[i].peer;
		old_peer = old->ports[was].peer;
		if (old_peer != PM_NONE)
			old_peer = pm_fabric_same_port(old, old_peer, topology);
		recabled[i] |= peer != old_peer;
	}
}

static uint8_t wanted_entry(const struct pm_stale_input *input, uint32_t sw, uint32_t lid)
{
	return lid < input->routes->stride ? pm_routes_table(input->routes, sw)[lid]
					   : PM_LFT_KEEP;
}

static int compare_entries(const void *a, const void *b)
{
	const struct pm_stale_entry *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->lid < y->lid ? -1 : x->lid > y->lid;
}

static bool contains(const struct pm_stale *stale, uint32_t sw, uint32_t lid)
{
	const struct pm_stale_entry entry = {sw, (uint16_t)lid};

	return stale->num && bsearch(&entry, stale->entries, stale->num, sizeof(entry),
				     compare_entries) != NULL;
}

uint8_t pm_stale_entry(const struct pm_stale_input *input, const struct pm_stale *stale,
		       uint32_t sw, uint32_t lid)
{
	uint8_t entry = wanted_entry(input, sw, lid);

	if (entry != PM_LFT_KEEP)
		return entry;
	entry = pm_installed_entry(&input->installed[sw], lid);
	return entry == 0 || contains(stale, sw, lid) ? PM_LFT_KEEP : entry;
}

const struct pm_stale_entry *pm_stale_of(const struct pm_stale *stale, uint32_t sw,
					 uint32_t *count)
{
	uint32_t low = 0, high = stale->num, first;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (stale->entries[mid].sw < sw)
			low = mid + 1;
		else
			high = mid;
	}
	for (first = low; low < stale->num && stale->entries[low].sw == sw; low++)
		;
	*count = low - first;
	return stale->entries + first;
}

int pm_stale_add(struct pm_stale *stale, uint32_t sw, uint32_t lid)
{
	if (pm_grow(&stale->entries, &stale->room, stale->num + 1,
		    sizeof(*stale->entries)))
		return -ENOMEM;
	stale->entries[stale->num++] = (struct pm_stale_entry){sw, (uint16_t)lid};
	return 0;
}

/* ---- Kept entries ---- */

struct search {
	const struct pm_stale_input *input;
	struct pm_stale *stale;
	uint64_t *lids;	   /* LIDs with a kept entry */
	uint32_t *keepers; /* switches with kept entries, in order */
	bool all;	   /* see ends_all */
	uint32_t num_keepers;
	/*
	 * [switch] the last walk through it; walks are numbered from 1, those of the
	 * present LID from `first`
	 */
	uint32_t *visited;
	uint32_t walk, first;
};

static void keep(struct search *s, uint32_t sw, uint32_t lid)
{
	pm_bits_set(s->lids, lid);
	if (!s->num_keepers || s->keepers[s->num_keepers - 1] != sw)
		s->keepers[s->num_keepers++] = sw;
}

/*
 * Records kept entries of a block that differs from the wanted one: entries with a port
 * that is not known to be moved.
 */
static int compare_block(struct search *s, uint32_t sw, uint32_t from, uint32_t end)
{
	const struct pm_stale_input *input = s->input;
	const struct pm_node *n = route_node(input->routes, sw);

	for (uint32_t lid = from; lid < end; lid++) {
		uint8_t installed = pm_installed_entry(&input->installed[sw], lid);
		uint8_t wanted = wanted_entry(input, sw, lid);

		s->stale->differ |= wanted != PM_LFT_KEEP && wanted != installed;
		if (wanted != PM_LFT_KEEP || installed == PM_LFT_KEEP || !installed)
			continue;
		if (installed > n->num_ports ||
		    !(input->recabled && input->recabled[n->first_port + installed]))
			keep(s, sw, lid);
		else if (pm_stale_add(s->stale, sw, lid))
			return -ENOMEM;
	}
	return 0;
}

static int compare_switch(struct search *s, uint32_t sw)
{
	const struct pm_routes *routes = s->input->routes;
	const struct pm_installed *installed = &s->input->installed[sw];
	const uint8_t *table = pm_routes_table(routes, sw);
	uint32_t both =
		installed->length < routes->stride ? installed->length : routes->stride;
	int rc = 0;

	if (!installed->table)
		return 0;
	if (memcmp(installed->table, table, both) == 0) {
		s->stale->equal[sw] = both == routes->stride ? installed->table : NULL;
		return compare_block(s, sw, both, installed->length);
	}
	for (uint32_t at = 0; at < installed->length && !rc; at += PM_LFT_BLOCK) {
		uint32_t end = at + PM_LFT_BLOCK < installed->length ? at + PM_LFT_BLOCK
								     : installed->length;

		if (end > both ||
		    memcmp(installed->table + at, table + at, end - at) != 0)
			rc = compare_block(s, sw, at, end);
	}
	return rc;
}

/* ---- Loops ---- */

static uint8_t entry_now(const struct search *s, uint32_t sw, uint32_t lid,
			 uint32_t sorted)
{
	const struct pm_stale so_far = {.entries = s->stale->entries, .num = sorted};

	return pm_stale_entry(s->input, &so_far, sw, lid);
}

static uint32_t next_now(const struct search *s, uint32_t sw, uint32_t lid,
			 uint32_t sorted)
{
	return pm_stale_next(s->input, sw, entry_now(s, sw, lid, sorted));
}

/*
 * Breaks a loop through this switch: removes, of its kept entries, that of the first
 * switch, so that LIDs with the same loop drop theirs in one block. There is a kept one,
 * as tables have no loop.
 */
static int break_loop(struct search *s, uint32_t sw, uint32_t lid, uint32_t sorted)
{
	uint32_t first = PM_NONE, at = sw;

	do {
		if (wanted_entry(s->input, at, lid) == PM_LFT_KEEP && at < first)
			first = at;
		at = next_now(s, at, lid, sorted);
	} while (at != sw);
	s->stale->loops++;
	return first == PM_NONE ? 0 : pm_stale_add(s->stale, first, lid);
}

/* ---- Former detours ---- */

static bool is_listed(const struct pm_stale *stale, uint32_t from, uint32_t sw)
{
	for (uint32_t i = from; i < stale->num; i++)
		if (stale->entries[i].sw == sw)
			return true;
	return false;
}

/*
 * Whether each switch reaches what it reaches in the whole tree: detours of a failure are
 * not needed any more, and none may be left.
 */
static bool ends_all(const struct pm_routes *routes)
{
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->failure.changed[sw])
			return false;
	return pm_routes_may_turn(routes);
}

/* Whether packets begin at a switch from which former detours may lead. */
static bool begins_detours(const struct pm_routes *routes, uint32_t sw)
{
	return pm_routes_may_turn(routes) &&
	       (pm_bits_test(routes->with_slots, sw) || route_is_sm_switch(routes, sw));
}

/*
 * Packets to this LID should be dropped, but kept entries lead them to a switch with a
 * path, or up again after they went down. This was a detour over another leaf (beyond.c),
 * and two such detours could wait for each other. Removes the last kept entry on that
 * path, or that at the start if all detours end. Entries of this LID are listed from
 * `first` on.
 */
static int end_detour(struct search *s, uint32_t start, uint32_t lid, uint32_t sorted,
		      uint32_t first)
{
	const struct pm_routes *routes = s->input->routes;
	const uint8_t *level = routes->plan->tree.level;
	uint32_t sw = start, next;
	bool down = false;

	if (!s->all && !begins_detours(routes, start))
		return 0;
	for (uint32_t hops = 0; hops < routes->num_switches; hops++, sw = next) {
		next = next_now(s, sw, lid, sorted);
		if (next == PM_NONE ||
		    ((!s->all || sw == start) && is_listed(s->stale, first, sw)))
			return 0;
		if (wanted_entry(s->input, next, lid) != PM_LFT_KEEP ||
		    (down && level[next] > level[sw]))
			return pm_stale_add(s->stale, s->all ? start : sw, lid);
		down |= level[next] < level[sw];
	}
	return 0;
}

/* Follows a LID from every switch that keeps an entry for it. */
static int follow_keepers(struct search *s, uint32_t lid, uint32_t sorted)
{
	uint32_t first = s->stale->num;

	s->stale->lids++;
	s->first = s->walk + 1;
	for (uint32_t i = 0; i < s->num_keepers; i++) {
		uint32_t start = s->keepers[i], sw = start;

		if (wanted_entry(s->input, start, lid) != PM_LFT_KEEP)
			continue;
		s->walk++;
		while (sw != PM_NONE && s->visited[sw] < s->first) {
			s->visited[sw] = s->walk;
			sw = next_now(s, sw, lid, sorted);
		}
		if (sw != PM_NONE && s->visited[sw] == s->walk &&
		    break_loop(s, sw, lid, sorted))
			return -ENOMEM;
		if (end_detour(s, start, lid, sorted, first))
			return -ENOMEM;
	}
	return 0;
}

static int find_loops(struct search *s)
{
	const struct pm_routes *routes = s->input->routes;
	uint32_t sorted;

	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		if (compare_switch(s, sw))
			return -ENOMEM;
		if (s->input->compared)
			s->input->compared(s->input->context);
	}
	sorted = s->stale->num; /* switches came in order */
	for (uint32_t w = 0; w < (UINT16_MAX + 1) / 64; w++)
		for (uint64_t set = s->lids[w]; set; set &= set - 1)
			if (follow_keepers(s, w * 64 + (uint32_t)__builtin_ctzll(set),
					   sorted))
				return -ENOMEM;
	if (s->stale->num > sorted)
		qsort(s->stale->entries, s->stale->num, sizeof(*s->stale->entries),
		      compare_entries);
	return 0;
}

int pm_stale_find(const struct pm_stale_input *input, struct pm_stale *stale)
{
	struct pm_stale found = {0};
	struct search s = {
		.input = input, .stale = &found, .all = ends_all(input->routes)};
	int rc = -ENOMEM;

	s.lids = pm_array((UINT16_MAX + 1) / 64, sizeof(*s.lids));
	s.visited = pm_array(input->routes->num_switches, sizeof(*s.visited));
	s.keepers = pm_array(input->routes->num_switches, sizeof(*s.keepers));
	found.equal = calloc(input->routes->num_switches + 1u, sizeof(*found.equal));
	if (s.lids && s.visited && s.keepers && found.equal)
		rc = find_loops(&s);
	free(s.keepers);
	free(s.lids);
	free(s.visited);
	if (rc) {
		pm_stale_free(&found);
		return rc;
	}
	pm_stale_free(stale);
	*stale = found;
	return 0;
}

void pm_stale_outdate(struct pm_stale *stale)
{
	free(stale->equal);
	stale->equal = NULL;
}

void pm_stale_free(struct pm_stale *stale)
{
	pm_stale_outdate(stale);
	free(stale->entries);
	*stale = (struct pm_stale){0};
}
