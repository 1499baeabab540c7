/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares a fabric with a plan. */
#include "plan_parts.h"

#include <portmajor/fabric/link.h>

#include <string.h>

#include <errno.h>

/* Whether the plan has the same thing at this port as the fabric; marks it usable. */
static bool match_port(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t port, uint32_t planned_port, uint8_t *usable)
{
	const struct pm_port *planned = &plan->topology->ports[planned_port];
	uint32_t peer = now->ports[port].peer;

	if (peer == PM_NONE)
		return true;
	if (now->ports[peer].node >= now->num_switches) {
		usable[planned_port] = 1;
		return planned->peer == PM_NONE && plan->lid[planned_port] != 0;
	}
	if (planned->peer == PM_NONE ||
	    pm_fabric_same_port(now, peer, plan->topology) != planned->peer)
		return false;
	usable[planned_port] = 1;
	return true;
}

bool pm_plan_match(const struct pm_plan *plan, const struct pm_fabric *now,
		   uint8_t *usable)
{
	const struct pm_fabric *topology = plan->topology;

	memset(usable, 0, topology->num_ports);
	for (uint32_t i = 0; i < now->num_switches; i++) {
		const struct pm_node *n = &now->nodes[i];
		uint32_t there = pm_fabric_find_guid(topology, n->guid);

		if (there == PM_NONE ||
		    n->num_ports != topology->nodes[there].num_ports ||
		    (n->root == PM_ROOT_NAMED) !=
			    (topology->nodes[there].root == PM_ROOT_NAMED))
			return false;
		for (uint32_t p = 1; p <= n->num_ports; p++)
			if (!match_port(plan, now, n->first_port + p,
					topology->nodes[there].first_port + p, usable))
				return false;
	}
	return true;
}

/* Whether the plan does not know this switch, or has one of its links elsewhere. */
static bool is_stranger(const struct pm_plan *plan, const struct pm_fabric *now,
			uint32_t sw)
{
	const struct pm_fabric *topology = plan->topology;
	const struct pm_node *n = &now->nodes[sw];
	uint32_t there = pm_fabric_find_guid(topology, n->guid);

	if (there == PM_NONE || topology->nodes[there].num_ports != n->num_ports)
		return true;
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t remote = now->ports[n->first_port + p].peer;
		uint32_t planned_remote =
			topology->ports[topology->nodes[there].first_port + p].peer;

		if (remote == PM_NONE || planned_remote == PM_NONE)
			continue;
		if (now->ports[remote].node >= now->num_switches)
			return true;
		/* An unknown switch counts for itself, not for its neighbours. */
		remote = pm_fabric_same_port(now, remote, topology);
		if (remote != PM_NONE && remote != planned_remote)
			return true;
	}
	return false;
}

bool pm_plan_fits(const struct pm_plan *plan, const struct pm_fabric *now)
{
	uint32_t strangers = 0;

	for (uint32_t sw = 0; sw < now->num_switches; sw++)
		strangers += is_stranger(plan, now, sw);
	return strangers * 10 <= now->num_switches;
}

void pm_plan_note_links(struct pm_plan *plan, const struct pm_fabric *now)
{
	struct pm_fabric *topology = plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t port = topology->ports[i].peer == PM_NONE
					? PM_NONE
					: pm_fabric_same_port(topology, i, now);

		if (port != PM_NONE)
			topology->ports[i].link = pm_link_at(now, port);
	}
}

uint32_t pm_plan_place(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t port)
{
	uint32_t place = port;

	if (now->ports[port].node >= now->num_switches)
		place = now->ports[port].peer;
	if (place == PM_NONE || now->ports[place].node >= now->num_switches)
		return PM_NONE;
	place = pm_fabric_same_port(now, place, plan->topology);
	return place != PM_NONE && plan->lid[place] ? place : PM_NONE;
}

uint32_t plan_end_port(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t place)
{
	uint32_t port = pm_fabric_same_port(plan->topology, place, now);

	if (port == PM_NONE || now->ports[port].num == 0)
		return port;
	port = now->ports[port].peer;
	return port == PM_NONE || now->ports[port].node < now->num_switches ? PM_NONE
									    : port;
}
