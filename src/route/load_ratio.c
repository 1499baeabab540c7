/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the balance of links' loads by the present tables, from all hosts to all others.
 */
#include "route_parts.h"

#include <portmajor/fabric/link.h>

#include <errno.h>

struct loads {
	const struct pm_routes *routes;
	uint32_t *places; /* places of present hosts */
	uint32_t num;
	uint64_t *load; /* [port] flows out of it */
};

static void list_places(struct loads *r, const uint8_t *there)
{
	const struct pm_plan *plan = r->routes->plan;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->topology->ports[i].num && plan->lid[i] && there[i])
			r->places[r->num++] = i;
}

/* Adds flows to the links on the path from a switch to a place. */
static void add_flows(struct loads *r, uint32_t sw, uint32_t place, uint32_t flows)
{
	const struct pm_plan *plan = r->routes->plan;
	const struct pm_fabric *topology = plan->topology;
	uint32_t to = topology->ports[place].node, lid = plan->lid[place];

	for (uint32_t hops = 0; sw != to && hops < topology->num_switches; hops++) {
		uint8_t entry = pm_routes_table(r->routes, sw)[lid];
		uint32_t port = topology->nodes[sw].first_port + entry;

		if (!entry || entry > topology->nodes[sw].num_ports)
			return;
		r->load[port] += flows;
		sw = pm_fabric_peer_node(topology, port);
		if (sw == PM_NONE)
			return;
	}
}

/* Links from one level to another, in one direction. */
struct kind {
	uint64_t flows, most, links;
};

bool pm_ratio_is_below(struct pm_ratio a, struct pm_ratio b)
{
	/* Products may not fit: whole numbers, then the rests upside down, as in Euclid's
	 * algorithm. */
	while (a.numerator / a.denominator == b.numerator / b.denominator) {
		struct pm_ratio rest = {a.denominator, a.numerator % a.denominator};

		a = (struct pm_ratio){b.denominator, b.numerator % b.denominator};
		b = rest;
		if (!a.denominator || !b.denominator)
			return a.denominator && !b.denominator;
	}
	return a.numerator / a.denominator < b.numerator / b.denominator;
}

static struct pm_ratio find_ratio(const struct loads *r)
{
	const struct pm_plan *plan = r->routes->plan;
	struct kind kinds[2][PM_NO_LEVEL + 1] = {{{0}}};
	struct pm_ratio ratio = {0, 1};

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t remote = pm_fabric_peer_node(plan->topology, i);
		uint8_t here, there;
		struct kind *kind;

		if (remote == PM_NONE || !r->routes->usable[i])
			continue;
		here = plan->tree.level[plan->topology->ports[i].node];
		there = plan->tree.level[remote];
		if (here == there)
			continue;
		kind = &kinds[here < there][here < there ? here : there];
		kind->flows += r->load[i];
		kind->links++;
		if (r->load[i] > kind->most)
			kind->most = r->load[i];
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(struct kind); i++) {
		const struct kind *kind = &kinds[0][0] + i;
		struct pm_ratio own = {kind->most * kind->links, kind->flows};

		if (kind->flows && pm_ratio_is_below(ratio, own))
			ratio = own;
	}
	return ratio;
}

/* Counts the loads. Returns -ENOMEM or -ECANCELED; the caller always calls end_loads. */
static int count_flows(struct loads *r, const uint8_t *there, bool (*stop)(void *context),
		       void *context)
{
	const struct pm_fabric *topology = r->routes->plan->topology;

	r->places = pm_array(topology->num_ports, sizeof(*r->places));
	r->load = pm_array(topology->num_ports, sizeof(*r->load));
	if (!r->places || !r->load)
		return -ENOMEM;
	list_places(r, there);
	/* Places of a switch are consecutive. */
	for (uint32_t i = 0, end; i < r->num; i = end) {
		uint32_t sw = topology->ports[r->places[i]].node;

		for (end = i; end < r->num && topology->ports[r->places[end]].node == sw;)
			end++;
		for (uint32_t k = 0; k < r->num; k++)
			add_flows(r, sw, r->places[k], end - i);
		if (stop && stop(context))
			return -ECANCELED;
	}
	return 0;
}

static void end_loads(struct loads *r)
{
	free(r->places);
	free(r->load);
}

int pm_routes_load_ratio(const struct pm_routes *routes, const uint8_t *there,
			 bool (*stop)(void *context), void *context,
			 struct pm_ratio *ratio)
{
	struct loads r = {.routes = routes};
	int rc = count_flows(&r, there, stop, context);

	if (!rc)
		*ratio = find_ratio(&r);
	end_loads(&r);
	return rc;
}

int pm_routes_busiest(const struct pm_routes *routes, const uint8_t *there,
		      uint64_t *load)
{
	struct loads r = {.routes = routes};
	int rc = count_flows(&r, there, NULL, NULL);
	const struct pm_fabric *topology = routes->plan->topology;
	uint32_t common = pm_link_common_rate(topology);
	uint64_t most = 0;

	for (uint32_t i = 0; !rc && i < topology->num_ports; i++) {
		uint64_t own = pm_link_weigh(topology, common, i, r.load[i]);

		most = own > most ? own : most;
	}
	if (!rc)
		*load = most;
	end_loads(&r);
	return rc;
}
