/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hub's entries (beyond.c), for the hub of the whole tree: paths may turn above it,
 * whatever fails. With every link usable they are found once. After a failure only the
 * places are examined whose paths over the hub may change. These are
 *
 *   - those that a switch on such a path no longer reaches, or the hub,
 *   - those whose path leads over a switch with another port to the hub, and
 *   - those that a switch no longer reaches and now needs a path over the hub to.
 *
 * All other paths lead to the first switch that reaches the place, as before.
 */
#include "route_parts.h"

static uint64_t *row_of(const struct pm_routes *routes, uint64_t *sets, uint32_t sw)
{
	return sets + (size_t)sw * routes->now.words;
}

static uint16_t lid_of_hub(const struct pm_routes *routes)
{
	return routes->plan->lid[route_node(routes, routes->hub_index.hub)->first_port];
}

/* ---- With every link usable ---- */

/* Fills from[] of a place, and adds it to over[] and via[]. */
static void index_place(struct pm_routes *routes, uint32_t to)
{
	struct hub_index *index = &routes->hub_index;
	uint64_t *from = row_of(routes, index->from, to);

	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (route_may_need_hub(routes, sw) &&
		    !pm_bits_test(pm_reach_updown(&routes->whole, sw), to) &&
		    route_wants_hub(routes, sw, to))
			pm_bits_set(from, sw);
	route_mark_beyond(routes, to, from, index->via);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->marked[sw])
			pm_bits_set(row_of(routes, index->over, sw), to);
}

static void make_index(struct pm_routes *routes)
{
	struct hub_index *index = &routes->hub_index;
	size_t bytes =
		(size_t)routes->num_switches * routes->now.words * sizeof(uint64_t);

	memset(index->from, 0, bytes);
	memset(index->over, 0, bytes);
	memset(index->via, 0, bytes);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (pm_bits_test(routes->with_slots, sw))
			index_place(routes, sw);
	index->is_made = true;
	index->sm = routes->sm;
}

/* ---- Places whose paths may change ---- */

/* Adds the places that a switch no longer reaches and wants the hub for. */
static void add_wanted(const struct pm_routes *routes, uint32_t sw)
{
	const uint64_t *before = pm_reach_updown(&routes->whole, sw);
	const uint64_t *after = pm_reach_updown(&routes->now, sw);

	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t lost = before[w] & ~after[w] & routes->with_slots[w]; lost;
		     lost &= lost - 1) {
			uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lost);

			if (route_wants_hub(routes, sw, to))
				pm_bits_set(routes->hub_index.again, to);
		}
}

/* Adds the places that a switch on their path over the hub no longer reaches. */
static void add_withdrawn(const struct pm_routes *routes, uint32_t sw)
{
	const struct hub_index *index = &routes->hub_index;
	const uint64_t *before = pm_reach_updown(&routes->whole, sw);
	const uint64_t *after = pm_reach_updown(&routes->now, sw);
	const uint64_t *via = row_of(routes, index->via, sw);

	for (uint32_t w = 0; w < routes->now.words; w++) {
		uint64_t lost = before[w] & ~after[w];

		index->again[w] |= sw == index->hub ? lost : lost & via[w];
	}
}

/* Whether a switch needs the hub for places that a failure took from it. */
static bool wants_lost(const struct pm_routes *routes, uint32_t sw)
{
	/* Aggregation nodes need it only for hosts above the leaves. */
	return route_is_sm_switch(routes, sw) || pm_bits_test(routes->talking, sw) ||
	       (routes->num_talking && pm_bits_test(routes->with_slots, sw));
}

/* Starts with the places that switches which reach less make examine. */
static void find_places(const struct pm_routes *routes)
{
	const struct hub_index *index = &routes->hub_index;

	memset(index->again, 0, routes->now.words * sizeof(*index->again));
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		if (!(routes->failure.changed[sw] & PM_REACH_UPDOWN))
			continue;
		add_withdrawn(routes, sw);
		if (wants_lost(routes, sw))
			add_wanted(routes, sw);
	}
}

/* Adds the places whose path leads over a switch with another port to the hub. */
static void add_places_via(const struct pm_routes *routes, uint32_t sw)
{
	pm_bits_or(routes->hub_index.again, row_of(routes, routes->hub_index.via, sw),
		   routes->now.words);
}

/* Adds switches that need the hub for a place since the failure to those that did. */
static const uint64_t *find_senders(const struct pm_routes *routes, uint32_t to)
{
	uint64_t *from = routes->senders;

	memcpy(from, row_of(routes, routes->hub_index.from, to),
	       routes->now.words * sizeof(*from));
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if ((routes->failure.changed[sw] & PM_REACH_UPDOWN) &&
		    wants_lost(routes, sw) &&
		    !pm_bits_test(pm_reach_updown(&routes->now, sw), to) &&
		    route_wants_hub(routes, sw, to))
			pm_bits_set(from, sw);
	return from;
}

/* ---- All entries ---- */

/* Finds the switches that send to a place over the hub anew. */
static void add_place(struct pm_routes *routes, uint32_t to)
{
	route_mark_beyond(routes, to, find_senders(routes, to), NULL);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->marked[sw])
			route_send_to_hub(routes, sw, to);
}

/* Sends from a switch to the other places as with every link usable. */
static void add_usual(struct pm_routes *routes, uint32_t sw, uint16_t hub_lid)
{
	const uint64_t *over = row_of(routes, routes->hub_index.over, sw);
	const uint64_t *again = routes->hub_index.again;
	uint8_t num = route_table(routes, sw)[hub_lid];

	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t set = over[w] & ~again[w]; set; set &= set - 1) {
			uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(set);

			if (!routes->moved[sw])
				route_start_moving(routes, sw);
			for (uint32_t i = routes->first_lid[to];
			     i < routes->first_lid[to + 1]; i++)
				if (routes->to[routes->lids_of[i]].port)
					route_set(routes, sw, routes->lids_of[i], num);
		}
}

static void add_indexed(struct pm_routes *routes)
{
	uint16_t lid = lid_of_hub(routes);

	if (!routes->hub_index.is_made || routes->hub_index.sm != routes->sm)
		make_index(routes);
	find_places(routes);
	for (uint32_t i = 0; i < routes->num_moved; i++) {
		uint32_t sw = routes->moved_list[i];

		if (route_table(routes, sw)[lid] != route_preferred(routes, sw)[lid])
			add_places_via(routes, sw);
	}
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		add_usual(routes, sw, lid);
	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t set = routes->hub_index.again[w] & routes->with_slots[w];
		     set; set &= set - 1)
			add_place(routes, w * 64 + (uint32_t)__builtin_ctzll(set));
}

void route_add_hub_entries(struct pm_routes *routes)
{
	route_choose_hub(routes);
	if (routes->hub == PM_NONE)
		return;
	if (routes->hub == routes->hub_index.hub)
		add_indexed(routes);
	else
		route_add_beyond(routes);
}

/* ---- Entries that a failure changes ---- */

/*
 * Changes an entry. It has a note already if it differs from that without the failure;
 * settle_notes corrects that.
 */
static void set_again(struct pm_routes *routes, uint32_t sw, uint32_t lid, uint8_t after)
{
	uint8_t before = route_unfailed(routes, sw)[lid];
	uint8_t now = route_table(routes, sw)[lid];

	if (after == now)
		return;
	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	route_set(routes, sw, lid, after);
	if (now == before)
		route_note(routes, sw, lid, before, after);
}

/* Sends to a place over the hub from the switches that need it now. */
static void update_place(struct pm_routes *routes, uint32_t to, uint16_t lid)
{
	uint64_t *over = routes->hub_index.over;

	route_mark_beyond(routes, to, find_senders(routes, to), NULL);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		bool marked = routes->marked[sw];
		uint8_t after = marked ? route_table(routes, sw)[lid] : PM_LFT_KEEP;

		if (!marked && !pm_bits_test(row_of(routes, over, sw), to))
			continue;
		for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1];
		     i++)
			if (routes->to[routes->lids_of[i]].port)
				set_again(routes, sw, routes->lids_of[i], after);
	}
}

/*
 * Corrects the notes on entries that changed once more. Of the hub's entries, moved.c has
 * changed only those for such places: their port failed, and with it that to the hub, or
 * its switch no longer reaches the place.
 */
static void settle_notes(struct pm_routes *routes)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < routes->num_changes; i++) {
		struct pm_routes_change c = routes->changes[i];

		if (pm_bits_test(routes->hub_index.again, routes->to[c.lid].sw))
			c.after = route_table(routes, c.sw)[c.lid];
		if (c.before != c.after)
			routes->changes[kept++] = c;
	}
	routes->num_changes = kept;
}

void route_update_hub_entries(struct pm_routes *routes)
{
	const uint64_t *again = routes->hub_index.again;
	uint16_t lid = lid_of_hub(routes);

	routes->hub = routes->hub_index.hub;
	find_places(routes);
	for (uint32_t i = 0; i < routes->num_changes; i++)
		if (routes->changes[i].lid == lid)
			add_places_via(routes, routes->changes[i].sw);
	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t set = again[w]; set; set &= set - 1)
			update_place(routes, w * 64 + (uint32_t)__builtin_ctzll(set),
				     lid);
	settle_notes(routes);
}
