/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Holds groups and usable links, and writes the entries of trees. */
#include "mft_parts.h"
#include "tree_rules.h"

#include <portmajor/base/alloc.h>
#include <portmajor/fabric/search.h>

#include <errno.h>

/* ---- Views ---- */

/* Marks the links between switches that are usable for MLIDs from `first` on. */
static void mark_usable(const struct pm_multicast *m, const uint8_t *usable,
			uint32_t first, uint8_t *marks)
{
	for (uint32_t i = 0; i < m->topology->num_ports; i++) {
		uint32_t remote = m->tree->remote[i];

		marks[i] = remote != PM_NONE && (!usable || usable[i]) &&
			   m->capacity[m->topology->ports[i].node] > first &&
			   m->capacity[remote] > first;
	}
}

static void update_range(struct pm_multicast *m, struct mlid_range *range,
			 const uint8_t *usable)
{
	mark_usable(m, usable, range->first, range->usable);
	pm_reach_compute(m->topology, m->tree, range->usable, &range->reach);
	pm_reach_parts(m->topology, range->usable, range->part, m->queue);
}

void pm_multicast_set_links(struct pm_multicast *m, const uint8_t *usable)
{
	for (uint32_t i = 0; i < m->num_ranges; i++)
		update_range(m, &m->ranges[i], usable);
}

/* The smallest capacity above `end`, or the number of all MLIDs. */
static uint32_t next_end(const struct pm_multicast *m, uint32_t end)
{
	uint32_t next = PM_MLIDS;

	for (uint32_t sw = 0; sw < m->num_switches; sw++)
		if (m->capacity[sw] > end && m->capacity[sw] < next)
			next = m->capacity[sw];
	return next;
}

static void make_range(struct pm_multicast *m, struct mlid_range *range, uint32_t first)
{
	range->first = first;
	range->end = next_end(m, first);
	range->usable = pm_pool_array(&m->pool, m->topology->num_ports, 1);
	range->part = pm_pool_array(&m->pool, m->num_switches, sizeof(uint32_t));
	range->capable =
		pm_pool_array(&m->pool, pm_bits_words(m->num_switches), sizeof(uint64_t));
	pm_reach_init(m->tree, &m->pool, &range->reach);
	if (range->capable)
		for (uint32_t sw = 0; sw < m->num_switches; sw++)
			if (m->capacity[sw] > first)
				pm_bits_set(range->capable, sw);
}

static int make_ranges(struct pm_multicast *m, struct pm_error *err)
{
	uint32_t count = 0, end = 0;

	do
		end = next_end(m, end);
	while (count++, end < PM_MLIDS);
	m->ranges = pm_pool_array(&m->pool, count, sizeof(*m->ranges));
	for (end = 0; m->ranges && m->num_ranges < count; m->num_ranges++) {
		make_range(m, &m->ranges[m->num_ranges], end);
		end = m->ranges[m->num_ranges].end;
	}
	return pm_pool_check(&m->pool, err);
}

/* ---- Life ---- */

static void allocate_trees(struct pm_multicast *m)
{
	struct pm_pool *pool = &m->pool;
	uint32_t num = m->num_switches;
	struct growing *growing = &m->growing;

	m->order = pm_pool_array(pool, m->num_planes, sizeof(uint32_t));
	m->sites = pm_pool_array(pool, num, sizeof(uint32_t));
	m->site_stamp = pm_pool_array(pool, num, sizeof(uint32_t));
	m->site_members = pm_pool_array(pool, num, sizeof(uint32_t));
	m->member_stamp = pm_pool_array(pool, m->topology->num_ports, sizeof(uint32_t));
	m->part_members = pm_pool_array(pool, num, sizeof(uint32_t));
	m->queue = pm_pool_array(pool, num, sizeof(uint32_t));
	m->group_of = pm_pool_array(pool, PM_MLIDS, sizeof(uint32_t));
	growing->stamp = pm_pool_array(pool, num, sizeof(uint32_t));
	growing->list = pm_pool_array(pool, num, sizeof(uint32_t));
	growing->up = pm_pool_array(pool, num, sizeof(uint32_t));
	growing->children = pm_pool_array(pool, num, sizeof(uint32_t));
	growing->child = pm_pool_array(pool, num, sizeof(uint32_t));
}

static void set_capacity(struct pm_multicast *m, const uint16_t *capacity)
{
	m->capacity = pm_pool_array(&m->pool, m->num_switches, sizeof(uint16_t));
	for (uint32_t sw = 0; m->capacity && sw < m->num_switches; sw++)
		m->capacity[sw] =
			capacity && capacity[sw] < PM_MLIDS ? capacity[sw] : PM_MLIDS;
}

/*
 * With members at so many switches, a group puts on average 1/16 of a tree on a leaf's
 * link, so that 32 such groups of a block make two trees. Groups of two are never large.
 */
static uint32_t default_large(const struct pm_tree *tree)
{
	uint32_t large = 2 * tree->num_leaves / PM_MFT_BLOCK;

	return large > 2 ? large : 2;
}

/* Indexes what holds with all links usable; m->queue and the rest are working memory. */
static int index_whole(struct pm_multicast *m, struct pm_error *err)
{
	uint8_t *usable = pm_array(m->topology->num_ports, 1);
	int rc;

	if (!usable)
		return pm_error_no_memory(err);
	mark_usable(m, NULL, 0, usable);
	pm_reach_compute(m->topology, m->tree, usable, &m->whole);
	rc = planes_index(m, err);
	free(usable);
	return rc;
}

int pm_multicast_new(const struct pm_plan *plan, const struct pm_multicast_config *config,
		     struct pm_multicast **multicast, struct pm_error *err)
{
	struct pm_multicast *m = pm_array(1, sizeof(*m));
	int rc;

	if (!m)
		return pm_error_no_memory(err);
	m->plan = plan;
	m->topology = plan->topology;
	m->tree = &plan->tree;
	m->num_switches = plan->topology->num_switches;
	m->num_planes = plan->tree.num_planes;
	m->large = config->large ? config->large : default_large(m->tree);
	m->order_key = PM_NONE;
	set_capacity(m, config->capacity);
	allocate_trees(m);
	pm_reach_init(m->tree, &m->pool, &m->whole);
	rc = pm_pool_check(&m->pool, err);
	if (!rc)
		rc = index_whole(m, err);
	if (!rc)
		rc = make_ranges(m, err);
	if (rc) {
		pm_multicast_free(m);
		return rc;
	}
	pm_multicast_set_links(m, NULL);
	*multicast = m;
	return 0;
}

void pm_multicast_free(struct pm_multicast *m)
{
	if (!m)
		return;
	pm_pool_free(&m->pool);
	free(m);
}

uint32_t pm_multicast_large(const struct pm_multicast *m)
{
	return m->large;
}

/* ---- Groups ---- */

static int check_group(const struct pm_multicast *m, const struct pm_group *group,
		       struct pm_error *err)
{
	if (group->mlid < PM_MLID_FIRST || group->mlid > PM_MLID_LAST)
		return pm_error_set(err, -EINVAL, "0x%x is no MLID", group->mlid);
	for (uint32_t i = 0; i < group->num; i++) {
		uint32_t port = group->members[i];

		if (port >= m->topology->num_ports)
			return pm_error_set(err, -EINVAL,
					    "MLID 0x%x: there is no port %u", group->mlid,
					    port);
		if (m->topology->ports[port].peer != PM_NONE)
			return pm_error_set(
				err, -EINVAL,
				"MLID 0x%x: port %u of %s has a link to a switch",
				group->mlid, m->topology->ports[port].num,
				pm_fabric_label(m->topology,
						m->topology->ports[port].node));
	}
	return 0;
}

/* Writes the entries of the last tree. Room has been reserved. */
static void write_tree(const struct pm_multicast *m, const struct pm_group *group,
		       struct pm_mfts *tables)
{
	const struct growing *growing = &m->growing;
	const struct pm_port *ports = m->topology->ports;
	uint32_t index = group->mlid - (uint32_t)PM_MLID_FIRST;

	for (uint32_t i = 0; i < growing->num; i++) {
		uint32_t sw = growing->list[i], port = growing->up[sw];

		if (growing->stamp[sw] != growing->now || port == PM_NONE)
			continue;
		mft_add_port(tables, sw, index, ports[port].num);
		mft_add_port(tables, m->tree->remote[port], index,
			     ports[ports[port].peer].num);
	}
	for (uint32_t i = 0; i < group->num; i++) {
		const struct pm_port *port = &ports[group->members[i]];

		if (m->site_stamp[port->node] == m->site_now)
			mft_add_port(tables, port->node, index, port->num);
	}
}

/* Makes a tree, and adds its entries. On -ENOMEM nothing has changed. */
static int route_group(struct pm_multicast *m, const struct pm_group *group,
		       struct pm_mfts *tables, struct pm_group_tree *tree)
{
	uint32_t index = group->mlid - (uint32_t)PM_MLID_FIRST;

	trees_make(m, group, tree);
	if (tree->root != PM_NONE && mft_reserve(tables, index / PM_MFT_BLOCK + 1,
						 2 * m->growing.num + group->num))
		return -ENOMEM;
	if (tree->root != PM_NONE)
		write_tree(m, group, tables);
	return 0;
}

/* Indexes the groups by MLID in group_of[]; MLIDs without a group have 0. */
static int sort_groups(struct pm_multicast *m, const struct pm_group *groups,
		       uint32_t num, struct pm_error *err)
{
	memset(m->group_of, 0, PM_MLIDS * sizeof(*m->group_of));
	for (uint32_t i = 0; i < num; i++) {
		uint32_t *group;
		int rc = check_group(m, &groups[i], err);

		if (rc)
			return rc;
		group = &m->group_of[groups[i].mlid - PM_MLID_FIRST];
		if (*group)
			return pm_error_set(err, -EINVAL, "two groups have MLID 0x%x",
					    groups[i].mlid);
		*group = i + 1;
	}
	return 0;
}

int pm_multicast_route(struct pm_multicast *m, const struct pm_group *groups,
		       uint32_t num, struct pm_mfts **tables, struct pm_group_tree *trees,
		       struct pm_error *err)
{
	struct pm_mfts *made = pm_mfts_new(m->topology);
	int rc = made ? sort_groups(m, groups, num, err) : pm_error_no_memory(err);

	/* In the order of MLIDs, so that one order of planes serves a block. */
	for (uint32_t i = 0; !rc && i < PM_MLIDS; i++) {
		uint32_t group = m->group_of[i];
		struct pm_group_tree tree;

		if (!group)
			continue;
		if (route_group(m, &groups[group - 1], made, &tree))
			rc = pm_error_no_memory(err);
		else if (trees)
			trees[group - 1] = tree;
	}
	if (rc)
		pm_mfts_free(made);
	else
		*tables = made;
	return rc;
}
