/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applies one failure after another to a whole tree with preferred tables. A failure
 * costs only the entries that it changes, and is undone by recording these:
 *
 *     failed links -> smaller sets of reach.h -> ports next to them
 *         -> entries with these ports
 *
 * All neighbours of a switch with a smaller set lose the same places over it. So the LIDs
 * of these places are listed once, by LFT block. As each port has a list of the blocks
 * that name it, a thousand LIDs fewer are examined in few blocks. A switch without any
 * path to places drops their entries, whatever their ports.
 *
 * Detours cost as little as long as the failure leaves their hub (hub_entries.c);
 * otherwise all are made anew.
 */
#include "route_parts.h"

#include <errno.h>

/* Switches that some other switch does not reach need detours even in the whole tree. */
static void find_everywhere(struct pm_routes *routes)
{
	memset(routes->everywhere, 0xff,
	       routes->whole.words * sizeof(*routes->everywhere));
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		for (uint32_t w = 0; w < routes->whole.words; w++)
			routes->everywhere[w] &= pm_reach_updown(&routes->whole, sw)[w];
}

/* ---- Without a failure ---- */

/* Whether some switch has no up-then-down path to this one. */
static bool lacks(const struct pm_routes *routes, uint32_t to)
{
	if (!pm_bits_test(routes->everywhere, to))
		return true;
	for (uint32_t i = 0; i < routes->failure.num_affected; i++)
		if (!pm_routes_reach_switch(routes, routes->failure.affected[i], to))
			return true;
	return false;
}

static bool sm_needs_detours(const struct pm_routes *routes,
			     const struct pm_detours *detours)
{
	return detours->sm != PM_NONE &&
	       lacks(routes, routes->plan->topology->ports[detours->sm].node);
}

static bool needs_detours(struct pm_routes *routes, const struct pm_detours *detours)
{
	return detours && (detours->switches || routes->num_may_turn ||
			   sm_needs_detours(routes, detours) || route_cuts_hosts(routes));
}

/* Copies the tables that are not the preferred ones. */
static void keep_rows(struct pm_routes *routes)
{
	struct unfailed *unfailed = &routes->unfailed;

	memset(unfailed->row, 0xff, routes->num_switches * sizeof(*unfailed->row));
	unfailed->num_rows = 0;
	if (pm_grow(&unfailed->rows, &unfailed->rows_room, routes->num_moved,
		    routes->stride)) {
		routes->lacks_memory = true;
		return;
	}
	for (; unfailed->num_rows < routes->num_moved; unfailed->num_rows++) {
		uint32_t sw = routes->moved_list[unfailed->num_rows];

		unfailed->row[sw] = unfailed->num_rows;
		memcpy(unfailed->rows + (size_t)unfailed->num_rows * routes->stride,
		       route_table(routes, sw), routes->stride);
	}
}

static void make_whole(struct pm_routes *routes, const struct pm_detours *detours)
{
	struct unfailed *unfailed = &routes->unfailed;

	memset(routes->usable, 1, routes->plan->topology->num_ports);
	route_update(routes, NULL);
	find_everywhere(routes);
	routes->num_alone = routes->num_moved;
	routes->num_cut = routes->num_changes = routes->failure.num_affected = 0;
	memset(routes->indexed, 0, routes->num_switches);
	routes->stripped = false;
	routes->hub = PM_NONE;
	if (needs_detours(routes, detours))
		route_add_detours(routes, detours);
	keep_rows(routes);
	unfailed->with_detours = detours != NULL;
	if (detours)
		unfailed->detours = *detours;
	unfailed->hub = routes->hub;
	unfailed->is_steady =
		detours && !detours->switches && !sm_needs_detours(routes, detours) &&
		routes->hub != PM_NONE && routes->hub == routes->hub_index.hub;
}

/* Whether the tables without a failure are those of these detours. */
static bool are_unfailed_for(const struct pm_routes *routes,
			     const struct pm_detours *detours)
{
	const struct unfailed *unfailed = &routes->unfailed;

	if (!detours || !unfailed->with_detours)
		return !detours && !unfailed->with_detours;
	return detours->sm == unfailed->detours.sm &&
	       detours->switches == unfailed->detours.switches && !detours->extra &&
	       !unfailed->detours.extra;
}

static void undo_changes(struct pm_routes *routes)
{
	while (routes->num_changes) {
		const struct pm_routes_change *c =
			&routes->changes[--routes->num_changes];

		routes->table[(size_t)c->sw * routes->stride + c->lid] = c->before;
	}
	while (routes->num_moved > routes->unfailed.num_rows) {
		uint32_t sw = routes->moved_list[--routes->num_moved];

		memset(route_touched(routes, sw), 0,
		       routes->touched_words * sizeof(*routes->touched));
		routes->moved[sw] = TABLE_PREFERRED;
	}
}

/* Makes all tables but those of switches without a link the preferred ones. */
static void strip(struct pm_routes *routes)
{
	while (routes->num_moved > routes->num_alone)
		routes->moved[routes->moved_list[--routes->num_moved]] = TABLE_PREFERRED;
	routes->num_changes = 0;
	routes->stripped = true;
}

/* Restores the tables of routes->unfailed. */
static void restore_rows(struct pm_routes *routes)
{
	strip(routes);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->unfailed.row[sw] != PM_NONE &&
		    routes->unfailed.row[sw] >= routes->num_alone) {
			route_start_moving(routes, sw);
			memcpy(routes->table + (size_t)sw * routes->stride,
			       route_unfailed(routes, sw), routes->stride);
			route_touch_all(routes, sw);
		}
	routes->stripped = false;
}

/* Undoes the last failure. */
static void mend(struct pm_routes *routes)
{
	if (routes->stripped)
		restore_rows(routes);
	else
		undo_changes(routes);
	while (routes->num_cut) {
		uint32_t port = routes->cut[--routes->num_cut];
		uint32_t sw = routes->plan->topology->ports[port].node;

		routes->usable[port] = routes->linked[port] = 1;
		if (routes->moved[sw])
			routes->moved[sw] = TABLE_MOVED;
	}
	pm_reach_restore(&routes->whole, &routes->now, &routes->failure);
	routes->hub = routes->unfailed.hub;
}

/* ---- Failed links ---- */

static void note_differences(struct pm_routes *routes, uint32_t sw)
{
	const uint8_t *before = route_unfailed(routes, sw);
	const uint8_t *after = route_table(routes, sw);

	for (uint32_t at = 0; at < routes->stride; at += PM_LFT_BLOCK) {
		if (!memcmp(before + at, after + at, PM_LFT_BLOCK))
			continue;
		for (uint32_t lid = at; lid < at + PM_LFT_BLOCK; lid++)
			if (before[lid] != after[lid])
				route_note(routes, sw, lid, before[lid], after[lid]);
	}
}

/* Records all changes anew: detours change entries, some once more, without a note. */
static void note_again(struct pm_routes *routes)
{
	routes->num_changes = 0;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (routes->moved[sw] || routes->unfailed.row[sw] != PM_NONE)
			note_differences(routes, sw);
}

static void cut_ports(struct pm_routes *routes, const uint32_t *ports, uint32_t num_ports)
{
	for (uint32_t i = 0; i < num_ports; i++) {
		uint32_t peer = routes->plan->topology->ports[ports[i]].peer;

		if (peer == PM_NONE || !routes->usable[ports[i]])
			continue;
		routes->usable[ports[i]] = routes->usable[peer] = 0;
		routes->cut[routes->num_cut++] = ports[i];
		routes->cut[routes->num_cut++] = peer;
	}
	for (uint32_t i = 0; i < routes->num_cut; i++)
		routes->linked[routes->cut[i]] =
			route_has_stand_in(routes, routes->cut[i]);
}

static void move_from_cut(struct pm_routes *routes, uint32_t port)
{
	uint32_t sw = routes->plan->topology->ports[port].node;
	uint8_t direction = routes->plan->tree.direction[port];

	if (!route_isolate(routes, sw) && (direction == PM_UP || direction == PM_DOWN))
		route_move_from(routes, sw, port);
}

/* ---- Switches next to the failure ---- */

static void add_lids(struct pm_routes *routes, uint32_t to)
{
	struct withdrawn *withdrawn = &routes->withdrawn;

	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		pm_bits_set(withdrawn->blocks, lid / PM_LFT_BLOCK);
		withdrawn->lids[lid / PM_LFT_BLOCK] |= (uint64_t)1 << lid % PM_LFT_BLOCK;
	}
}

/* Sets routes->withdrawn to the places that a set lost, unless it has them already. */
static void find_withdrawn(struct pm_routes *routes, const uint64_t *before,
			   const uint64_t *after)
{
	struct withdrawn *withdrawn = &routes->withdrawn;
	uint32_t words = routes->whole.words;
	uint64_t other = 0;

	for (uint32_t w = 0; w < words; w++) {
		uint64_t places = before[w] & ~after[w];

		other |= places ^ withdrawn->places[w];
		withdrawn->places[w] = places;
	}
	if (!other)
		return;
	for (uint32_t w = 0; w < routes->touched_words; w++)
		for (; withdrawn->blocks[w];
		     withdrawn->blocks[w] &= withdrawn->blocks[w] - 1)
			withdrawn->lids[w * 64 + (uint32_t)__builtin_ctzll(
							 withdrawn->blocks[w])] = 0;
	withdrawn->words = (struct pm_span){words, 0};
	for (uint32_t w = 0; w < words; w++) {
		if (!withdrawn->places[w])
			continue;
		if (withdrawn->words.first == words)
			withdrawn->words.first = w;
		withdrawn->words.end = w + 1;
		for (uint64_t places = withdrawn->places[w]; places; places &= places - 1)
			add_lids(routes, w * 64 + (uint32_t)__builtin_ctzll(places));
	}
}

static void drop_block(struct pm_routes *routes, uint32_t sw, uint32_t block)
{
	const uint8_t *row = routes->table + (size_t)sw * routes->stride;

	for (uint64_t lids = routes->withdrawn.lids[block]; lids; lids &= lids - 1) {
		uint32_t lid = block * PM_LFT_BLOCK + (uint32_t)__builtin_ctzll(lids);

		routes->examined++;
		if (row[lid] != PM_LFT_KEEP)
			route_put(routes, sw, lid, row[lid], PM_LFT_KEEP);
	}
}

/* Removes the entries for unreachable places from a switch that reaches none of them. */
static void drop(struct pm_routes *routes, uint32_t sw)
{
	if (route_is_alone(routes, sw))
		return;
	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	for (uint32_t w = 0; w < routes->touched_words; w++)
		for (uint64_t set = routes->withdrawn.blocks[w]; set; set &= set - 1)
			drop_block(routes, sw, w * 64 + (uint32_t)__builtin_ctzll(set));
}

/* Whether a switch reaches any of the withdrawn places by other paths. */
static bool has_paths(const struct pm_routes *routes, uint32_t sw)
{
	const uint64_t *reach = pm_reach_updown(&routes->now, sw);
	uint64_t any = 0;

	for (uint32_t w = routes->withdrawn.words.first; w < routes->withdrawn.words.end;
	     w++)
		any |= reach[w] & routes->withdrawn.places[w];
	return any;
}

/*
 * Moves the entries of neighbours that reach these places over a switch, by its links in
 * this direction.
 */
static void move_next_to(struct pm_routes *routes, uint32_t sw,
			 enum pm_direction direction)
{
	const uint32_t *remote = routes->plan->tree.remote;
	uint32_t ports[PM_MAX_PORTS + 1], num = 0;

	pm_for_each_port(i, routes->plan->topology, sw) {
		if (routes->plan->tree.direction[i] != direction || !routes->usable[i] ||
		    !has_paths(routes, remote[i]))
			continue;
		route_fetch_withdrawn(routes, remote[i],
				      routes->plan->topology->ports[i].peer,
				      &routes->withdrawn);
		ports[num++] = i;
	}
	for (uint32_t i = 0; i < num; i++)
		route_move_withdrawn(routes, remote[ports[i]],
				     routes->plan->topology->ports[ports[i]].peer,
				     &routes->withdrawn);
}

/* Moves the entries of a switch with a failure, and of its neighbours. */
static void move_around(struct pm_routes *routes, uint32_t sw)
{
	if (routes->failure.changed[sw] & PM_REACH_UPDOWN) {
		find_withdrawn(routes, pm_reach_updown(&routes->whole, sw),
			       pm_reach_updown(&routes->now, sw));
		drop(routes, sw);
		move_next_to(routes, sw, PM_DOWN);
	}
	if (routes->failure.changed[sw] & PM_REACH_DOWN) {
		find_withdrawn(routes, pm_reach_down(&routes->whole, sw),
			       pm_reach_down(&routes->now, sw));
		move_next_to(routes, sw, PM_UP);
	}
}

/* Moves entries after cut_ports. */
static void move_entries(struct pm_routes *routes)
{
	for (uint32_t i = 0; i < routes->num_cut; i++)
		move_from_cut(routes, routes->cut[i]);
	for (uint32_t i = 0; i < routes->failure.num_affected; i++)
		move_around(routes, routes->failure.affected[i]);
}

/* Whether the failure changes detours only by few of the hub's entries. */
static bool keeps_detours(struct pm_routes *routes, const struct pm_detours *detours)
{
	return routes->unfailed.is_steady && route_keeps_hub(routes) &&
	       !sm_needs_detours(routes, detours);
}

int pm_routes_fail(struct pm_routes *routes, const uint32_t *ports, uint32_t num_ports,
		   const struct pm_detours *detours)
{
	routes->lacks_memory = false;
	if (routes->whole_now && are_unfailed_for(routes, detours))
		mend(routes);
	else
		make_whole(routes, detours);
	cut_ports(routes, ports, num_ports);
	pm_reach_fail(routes->plan->topology, &routes->plan->tree, routes->usable,
		      routes->cut, routes->num_cut, &routes->now, &routes->failure);
	routes->examined = routes->failure.examined;
	if (!needs_detours(routes, detours)) {
		routes->noting = true;
		move_entries(routes);
	} else if (keeps_detours(routes, detours)) {
		routes->noting = true;
		move_entries(routes);
		route_update_hub_entries(routes);
	} else {
		strip(routes);
		move_entries(routes);
		route_add_detours(routes, detours);
		note_again(routes);
	}
	routes->noting = false;
	/* A change that was not recorded could not be undone. */
	routes->whole_now = !routes->lacks_memory;
	return routes->lacks_memory ? -ENOMEM : 0;
}

const uint8_t *pm_routes_table_before(const struct pm_routes *routes, uint32_t sw)
{
	return route_unfailed(routes, sw);
}

const struct pm_routes_change *pm_routes_changes(const struct pm_routes *routes,
						 uint32_t *count)
{
	*count = routes->num_changes;
	return routes->changes;
}

const struct pm_reach *pm_routes_reach_before(const struct pm_routes *routes)
{
	return &routes->whole;
}

const uint32_t *pm_routes_reach_less(const struct pm_routes *routes, uint32_t *count)
{
	*count = routes->failure.num_affected;
	return routes->failure.affected;
}

uint64_t pm_routes_examined(const struct pm_routes *routes)
{
	return routes->examined;
}
