/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Detours: entries of switches without an up-then-down path to a place.
 *
 * The goal is the set of switches with such a path, or with one over the hub (beyond.c).
 * The others send toward the nearest switch of the goal, over any usable links, within
 * and across levels. Each step brings a packet nearer to the goal, and from there its
 * path stays within the goal: so there is no loop.
 */
#include "route_parts.h"

#include <portmajor/fabric/search.h>

/* Whether a port has a link to a switch that may be used. */
static bool may_use(const struct pm_routes *routes, const uint8_t *extra, uint32_t port)
{
	return (routes->usable[port] || (extra && extra[port])) &&
	       route_remote_switch(routes, port) != PM_NONE;
}

/*
 * Whether a switch has a path, up and down or over the hub (beyond.c). A switch outside
 * the tree, without links to any leaf's tree, does not reach even itself.
 */
static bool is_goal(const struct pm_routes *routes, uint32_t sw, uint32_t to,
		    uint16_t lid)
{
	return sw == to || pm_bits_test(pm_reach_updown(&routes->now, sw), to) ||
	       route_table(routes, sw)[lid] != PM_LFT_KEEP;
}

/* Links that a detour may use. */
struct paths {
	const struct pm_routes *routes;
	const uint8_t *extra;
};

static bool may_pass(const void *context, uint32_t port)
{
	const struct paths *paths = context;

	return may_use(paths->routes, paths->extra, port);
}

/*
 * Finds each switch's distance from the goal in links; PM_NONE if no links lead there.
 * Returns whether any switch outside the goal is connected with it.
 */
static bool find_distances(struct pm_routes *routes, const uint8_t *extra, uint32_t to,
			   uint16_t lid)
{
	struct paths paths = {routes, extra};
	struct pm_search search = {
		.fabric = routes->plan->topology,
		.queue = routes->queue,
		.by = routes->distance,
	};
	uint32_t goal;

	pm_search_begin(&search);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (is_goal(routes, sw, to, lid))
			pm_search_start(&search, sw);
	goal = search.count;
	if (goal == routes->num_switches)
		return false;
	pm_search_run(&search, may_pass, &paths);
	pm_search_distances(&search);
	return search.count > goal;
}

static bool leads_nearer(const struct pm_routes *routes, const uint8_t *extra,
			 uint32_t sw, uint8_t num)
{
	const struct pm_node *n = route_node(routes, sw);

	return num > 0 && num <= n->num_ports &&
	       may_use(routes, extra, n->first_port + num) &&
	       routes->distance[route_remote_switch(routes, n->first_port + num)] <
		       routes->distance[sw];
}

/*
 * The preferred port if it leads nearer, so that the entry stays; else the first such
 * port.
 */
static uint8_t choose_nearer(const struct pm_routes *routes, const uint8_t *extra,
			     uint32_t sw, uint8_t preferred)
{
	uint8_t num = preferred;

	if (leads_nearer(routes, extra, sw, preferred))
		return preferred;
	for (num = 1; !leads_nearer(routes, extra, sw, num); num++)
		;
	return num;
}

/*
 * Adds detours for num LIDs of one switch's places that have paths from the same
 * switches: the switch's own LID has other paths than its end ports.
 */
static void add_detours(struct pm_routes *routes, const uint8_t *extra, uint32_t to,
			const uint16_t *lids, uint32_t num)
{
	bool own = num && !routes->to[lids[0]].port;

	if (!num || !find_distances(routes, extra, to, lids[0]))
		return;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		const uint8_t *preferred = route_preferred(routes, sw);

		if (routes->distance[sw] == 0 || routes->distance[sw] == PM_NONE)
			continue;
		if (!routes->moved[sw])
			route_start_moving(routes, sw);
		for (uint32_t k = 0; k < num; k++)
			if (!routes->to[lids[k]].port == own)
				route_set(routes, sw, lids[k],
					  choose_nearer(routes, extra, sw,
							preferred[lids[k]]));
	}
}

/*
 * Whether some switch with end ports lacks an entry for this LID of another switch, and
 * one of the two has service ports, or the first has the subnet manager. Either all LIDs
 * there have paths over the hub, or none.
 */
static bool is_unreachable(const struct pm_routes *routes, uint32_t to, uint16_t lid)
{
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (sw != to && !is_goal(routes, sw, to, lid) &&
		    (route_is_sm_switch(routes, sw) ||
		     (pm_bits_test(routes->with_slots, sw) &&
		      (routes->has_services[sw] || routes->has_services[to]))))
			return true;
	return false;
}

/* Adds detours between service ports and other unreachable ports. */
static void add_services(struct pm_routes *routes)
{
	for (uint32_t to = 0; to < routes->num_switches; to++) {
		uint32_t first = routes->first_lid[to], end = routes->first_lid[to + 1];

		while (first < end && !routes->to[routes->lids_of[first]].port)
			first++;
		if (first < end && is_unreachable(routes, to, routes->lids_of[first]))
			add_detours(routes, NULL, to, routes->lids_of + first,
				    end - first);
	}
}

void route_add_detours(struct pm_routes *routes, const struct pm_detours *detours)
{
	const struct pm_plan *plan = routes->plan;
	uint16_t lids[1u << PM_MAX_LMC];

	routes->sm = detours->sm;
	route_add_hub_entries(routes);
	if (detours->switches)
		add_services(routes);
	if (detours->sm != PM_NONE && plan->lid[detours->sm]) {
		uint32_t num = pm_plan_num_lids(plan, detours->sm);

		route_add_beyond_to_sm(routes, detours->sm);
		for (uint32_t k = 0; k < num; k++)
			lids[k] = (uint16_t)(plan->lid[detours->sm] + k);
		add_detours(routes, detours->extra,
			    plan->topology->ports[detours->sm].node, lids, num);
	}
	for (uint32_t sw = 0; detours->switches && sw < routes->num_switches; sw++) {
		lids[0] = plan->lid[plan->topology->nodes[sw].first_port];
		add_detours(routes, detours->extra, sw, lids, lids[0] != 0);
	}
}
