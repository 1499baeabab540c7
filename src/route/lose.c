/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One loss after the other, from a whole tree. Where nothing is lost a table is the
 * preferred one; so a loss is found by looking only at what it takes away, and taken back
 * by remembering whom it took something from:
 *
 *     lost cables -> sets of reach.h that lose something -> ports next to them
 *         -> entries with these ports
 */
#include "parts.h"

#include <errno.h>

/* Switches that some others do not reach need detours even in the whole tree. */
static void find_everywhere(struct pm_routes *routes)
{
	memset(routes->everywhere, 0xff,
	       routes->whole.words * sizeof(*routes->everywhere));
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		for (uint32_t w = 0; w < routes->whole.words; w++)
			routes->everywhere[w] &= pm_reach_updown(&routes->whole, sw)[w];
}

static void make_whole(struct pm_routes *routes)
{
	memset(routes->alive, 1, routes->plan->known->num_ports);
	route_update(routes, NULL);
	find_everywhere(routes);
	routes->num_alone = routes->num_moved;
	routes->num_cut = routes->num_changes = routes->loss.num_stirred = 0;
}

/* Takes the last loss back. */
static void mend(struct pm_routes *routes)
{
	while (routes->num_changes) {
		const struct pm_routes_change *c =
			&routes->changes[--routes->num_changes];

		routes->table[(size_t)c->sw * routes->stride + c->lid] = c->before;
	}
	while (routes->num_moved > routes->num_alone) {
		uint32_t sw = routes->moved_list[--routes->num_moved];

		memset(route_touched(routes, sw), 0,
		       routes->touched_words * sizeof(*routes->touched));
		routes->moved[sw] = 0;
	}
	while (routes->num_cut) {
		uint32_t port = routes->cut[--routes->num_cut];

		routes->alive[port] = routes->linked[port] = 1;
	}
	pm_reach_restore(&routes->whole, &routes->now, &routes->loss);
}

/* Notes all changes anew, as detours change some entries once more. */
static void note_again(struct pm_routes *routes)
{
	routes->num_changes = 0;
	for (uint32_t i = routes->num_alone; i < routes->num_moved; i++) {
		uint32_t sw = routes->moved_list[i];
		const uint8_t *before = pm_routes_preferred(routes, sw);
		const uint8_t *after = pm_routes_table(routes, sw);

		for (uint32_t lid = 0; lid < routes->stride; lid++)
			if (before[lid] != after[lid])
				route_note(routes, sw, lid, before[lid], after[lid]);
	}
}

static void cut(struct pm_routes *routes, const uint32_t *ports, uint32_t num_ports)
{
	for (uint32_t i = 0; i < num_ports; i++) {
		uint32_t peer = routes->plan->known->ports[ports[i]].peer;

		if (peer == PM_NONE || !routes->alive[ports[i]])
			continue;
		routes->alive[ports[i]] = routes->alive[peer] = 0;
		routes->cut[routes->num_cut++] = ports[i];
		routes->cut[routes->num_cut++] = peer;
	}
	for (uint32_t i = 0; i < routes->num_cut; i++)
		routes->linked[routes->cut[i]] =
			route_has_stand_in(routes, routes->cut[i]);
}

static void move_from_cut(struct pm_routes *routes, uint32_t port)
{
	uint32_t sw = routes->plan->known->ports[port].node;
	uint8_t direction = routes->plan->tree.direction[port];

	if (!route_isolate(routes, sw) && (direction == PM_UP || direction == PM_DOWN))
		route_move_from(routes, sw, port);
}

/* Ports that lead to a switch which lost something. */
static void move_around(struct pm_routes *routes, uint32_t sw)
{
	pm_for_each_port(i, routes->plan->known, sw) {
		uint32_t peer = routes->plan->known->ports[i].peer;
		uint8_t direction = routes->plan->tree.direction[i];

		if (routes->alive[i] && (direction == PM_UP || direction == PM_DOWN) &&
		    route_reach_changed(routes, peer))
			route_move_from(routes, route_far_switch(routes, i), peer);
	}
}

/* Whether a switch has no up-then-down path to this one. */
static bool lacks(const struct pm_routes *routes, uint32_t to)
{
	if (!pm_bits_test(routes->everywhere, to))
		return true;
	for (uint32_t i = 0; i < routes->loss.num_stirred; i++)
		if (!pm_routes_joined(routes, routes->loss.stirred[i], to))
			return true;
	return false;
}

static bool needs_detours(const struct pm_routes *routes,
			  const struct pm_detours *detours)
{
	const struct pm_port *ports = routes->plan->known->ports;

	return detours->switches ||
	       (detours->sm != PM_NONE && lacks(routes, ports[detours->sm].node));
}

int pm_routes_lose(struct pm_routes *routes, const uint32_t *ports, uint32_t num_ports,
		   const struct pm_detours *detours)
{
	if (routes->whole_now)
		mend(routes);
	else
		make_whole(routes);
	routes->noting = true;
	routes->lacks_memory = false;
	cut(routes, ports, num_ports);
	pm_reach_lose(routes->plan->known, &routes->plan->tree, routes->alive,
		      routes->cut, routes->num_cut, &routes->now, &routes->loss);
	routes->looked = routes->loss.looked;
	for (uint32_t i = 0; i < routes->num_cut; i++)
		move_from_cut(routes, routes->cut[i]);
	for (uint32_t i = 0; i < routes->loss.num_stirred; i++)
		move_around(routes, routes->loss.stirred[i]);
	if (detours && needs_detours(routes, detours)) {
		route_add_detours(routes, detours);
		note_again(routes);
	}
	routes->noting = false;
	/* What was not noted could not be taken back. */
	routes->whole_now = !routes->lacks_memory;
	return routes->lacks_memory ? -ENOMEM : 0;
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
	*count = routes->loss.num_stirred;
	return routes->loss.stirred;
}

uint64_t pm_routes_looked(const struct pm_routes *routes)
{
	return routes->looked;
}
