/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a tree for a group with members that no switch reaches by going down alone, such
 * as members at two spines: the shortest paths from one member's switch to all others,
 * over any usable links. Like OpenSM's own trees it may go down and up again, and so be
 * part of a credit loop with unicast paths.
 */
#include "mft_parts.h"
#include "tree_rules.h"

#include <portmajor/fabric/search.h>

#include <errno.h>

static bool is_link_usable(const void *context, uint32_t port)
{
	const struct mlid_range *range = context;

	return range->usable[port];
}

/* The first switch with members, in whatever order members are listed. */
static uint32_t find_start(const struct pm_multicast *m)
{
	uint32_t start = m->sites[0];

	for (uint32_t i = 1; i < m->num_sites; i++)
		start = m->sites[i] < start ? m->sites[i] : start;
	return start;
}

/* Adds the path from the tree to a switch. */
static void add_branch(struct pm_multicast *m, const uint32_t *by, uint32_t sw,
		       uint32_t index, struct pm_mfts *tables)
{
	struct growing *growing = &m->growing;
	const struct pm_port *ports = m->topology->ports;

	while (growing->stamp[sw] != growing->now) {
		const struct pm_port *port = &ports[by[sw]];

		growing->stamp[sw] = growing->now;
		mft_add_port(tables, port->node, index, port->num);
		mft_add_port(tables, sw, index, ports[port->peer].num);
		sw = port->node;
	}
}

static void add_members(const struct pm_multicast *m, const struct pm_group *group,
			struct pm_mfts *tables)
{
	for (uint32_t i = 0; i < group->num; i++) {
		const struct pm_port *port = &m->topology->ports[group->members[i]];

		if (m->site_stamp[port->node] == m->site_now)
			mft_add_port(tables, port->node,
				     group->mlid - (uint32_t)PM_MLID_FIRST, port->num);
	}
}

int pm_multicast_span(struct pm_multicast *m, const struct pm_group *group,
		      struct pm_mfts *tables)
{
	uint32_t index = group->mlid - (uint32_t)PM_MLID_FIRST;
	struct pm_search search = {
		.fabric = m->topology, .queue = m->queue, .by = m->growing.child};
	struct pm_group_tree tree;
	uint32_t start;

	trees_make(m, group, &tree); /* finds the included members */
	if (tree.state != PM_GROUP_UNSERVED)
		return -EINVAL;
	if (mft_reserve(tables, index / PM_MFT_BLOCK + 1,
			2 * m->num_switches + group->num))
		return -ENOMEM;
	start = find_start(m);
	pm_search_begin(&search);
	pm_search_start(&search, start);
	pm_search_run(&search, is_link_usable, trees_range(m, index));
	m->growing.stamp[start] = ++m->growing.now;
	for (uint32_t i = 0; i < m->num_sites; i++)
		add_branch(m, search.by, m->sites[i], index, tables);
	add_members(m, group, tables);
	return 0;
}
