/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads OpenSM's multicast groups and their members. */
#include "mcast_groups.h"

#include "lft_records.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ports and switches that were looked up in this reading, by address: most ports are
 * members of several groups, and share a switch with others. A later port or switch takes
 * over a slot that is in use.
 */
#define SLOTS_PER_PORT 4

struct mcast_groups_cache {
	const void *key; /* OpenSM's structure; NULL: slot is free */
	uint32_t value;	 /* port's place, switch's index in the plan, or PM_NONE */
};

static struct mcast_groups_cache *find_slot(struct mcast_groups *groups, const void *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;

	return &groups->cache[(hash >> 32) & (groups->cache_room - 1u)];
}

static uint32_t find_group_switch(struct mcast_groups *groups, const struct pm_plan *plan,
				  const osm_node_t *node)
{
	struct mcast_groups_cache *slot = find_slot(groups, node);

	if (slot->key != node) {
		slot->key = node;
		slot->value = pm_fabric_find_guid(
			plan->topology, cl_ntoh64(osm_node_get_node_guid(node)));
	}
	return slot->value;
}

static int begin_cache(struct mcast_groups *groups, uint32_t ports)
{
	uint32_t room = 1;

	while (room < SLOTS_PER_PORT * ports)
		room *= 2;
	if (room > groups->cache_room) {
		free(groups->cache);
		groups->cache = pm_array(room, sizeof(*groups->cache));
		groups->cache_room = groups->cache ? room : 0;
	}
	if (!groups->cache)
		return -ENOMEM;
	memset(groups->cache, 0, groups->cache_room * sizeof(*groups->cache));
	return 0;
}

static uint32_t look_up_place(struct mcast_groups *groups, const struct pm_plan *plan,
			      const osm_port_t *port)
{
	const struct pm_fabric *topology = plan->topology;
	const osm_physp_t *physp = port->p_physp;
	uint32_t node, place;

	if (physp && !physp->p_node->sw)
		physp = physp->p_remote_physp;
	if (!physp || !physp->p_node->sw)
		return PM_NONE;
	node = find_group_switch(groups, plan, physp->p_node);
	if (node == PM_NONE || node >= topology->num_switches ||
	    physp->port_num > topology->nodes[node].num_ports)
		return PM_NONE;
	place = topology->nodes[node].first_port +
		(port->p_node->sw ? 0u : physp->port_num);
	return plan->lid[place] && topology->ports[place].peer == PM_NONE ? place
									  : PM_NONE;
}

/* The place of a port (its switch's port), or of a switch itself; or PM_NONE. */
static uint32_t find_place(struct mcast_groups *groups, const struct pm_plan *plan,
			   const osm_port_t *port)
{
	struct mcast_groups_cache *slot = find_slot(groups, port);
	uint32_t place;

	if (slot->key == port)
		return slot->value;
	place = look_up_place(groups, plan, port);
	*slot = (struct mcast_groups_cache){port, place};
	return place;
}

static int add_member(struct mcast_groups *groups, const struct pm_plan *plan,
		      const osm_port_t *port)
{
	uint32_t place = find_place(groups, plan, port);

	if (place == PM_NONE) {
		groups->strangers++;
		return 0;
	}
	if (pm_grow(&groups->members, &groups->members_room, groups->num_members + 1u,
		    sizeof(*groups->members)))
		return -ENOMEM;
	groups->members[groups->num_members++] = place;
	return 0;
}

static int add_mgrp(struct mcast_groups *groups, const struct pm_plan *plan,
		    const osm_mgrp_t *mgrp)
{
	const cl_qmap_t *ports = &mgrp->mcm_port_tbl;
	int rc = 0;

	for (cl_map_item_t *item = cl_qmap_head(ports); !rc && item != cl_qmap_end(ports);
	     item = cl_qmap_next(item)) {
		const osm_mcm_port_t *member = (const osm_mcm_port_t *)item;

		rc = add_member(groups, plan, member->port);
	}
	return rc;
}

static int add_box(struct mcast_groups *groups, const struct pm_plan *plan,
		   const osm_mgrp_box_t *box)
{
	const cl_qlist_t *list = &box->mgrp_list;
	uint32_t first = groups->num_members;
	int rc = 0;

	if (pm_grow(&groups->list, &groups->room, groups->num + 1u,
		    sizeof(*groups->list)))
		return -ENOMEM;
	for (cl_list_item_t *item = cl_qlist_head(list);
	     !rc && item != cl_qlist_end(list); item = cl_qlist_next(item)) {
		const osm_mgrp_t *mgrp = cl_item_obj(item, mgrp, list_item);

		rc = add_mgrp(groups, plan, mgrp);
	}
	groups->list[groups->num++] =
		(struct pm_group){.mlid = box->mlid, .num = groups->num_members - first};
	return rc;
}

int mcast_groups_read(struct mcast_groups *groups, const osm_subn_t *subn,
		      const struct pm_plan *plan)
{
	uint32_t at = 0;
	int rc = begin_cache(groups, (uint32_t)cl_qmap_count(&subn->port_guid_tbl));

	groups->num = groups->num_members = groups->strangers = 0;
	for (uint32_t mlid = PM_MLID_FIRST; !rc && mlid <= subn->max_mcast_lid_ho;
	     mlid++) {
		const osm_mgrp_box_t *box = subn->mboxes[mlid - PM_MLID_FIRST];

		if (box)
			rc = add_box(groups, plan, box);
	}
	/* From here on the array of members does not move. */
	for (uint32_t i = 0; !rc && i < groups->num; i++) {
		groups->list[i].members = groups->members + at;
		at += groups->list[i].num;
	}
	return rc;
}

void mcast_groups_free(struct mcast_groups *groups)
{
	free(groups->list);
	free(groups->members);
	free(groups->cache);
	*groups = (struct mcast_groups){0};
}

void mcast_groups_swap(struct mcast_groups *a, struct mcast_groups *b)
{
	const struct mcast_groups old_a = *a, old_b = *b;

	*a = old_b;
	*b = old_a;
	a->cache = old_a.cache;
	a->cache_room = old_a.cache_room;
	b->cache = old_b.cache;
	b->cache_room = old_b.cache_room;
}

bool mcast_groups_are_same(const struct mcast_groups *a, const struct mcast_groups *b)
{
	if (a->num != b->num || a->num_members != b->num_members ||
	    a->strangers != b->strangers)
		return false;
	for (uint32_t i = 0; i < a->num; i++)
		if (a->list[i].mlid != b->list[i].mlid ||
		    a->list[i].num != b->list[i].num)
			return false;
	return !a->num_members ||
	       !memcmp(a->members, b->members, a->num_members * sizeof(*a->members));
}

bool mcast_groups_capacity(const osm_subn_t *subn, const struct pm_plan *plan,
			   uint16_t *capacity)
{
	bool differs = false;

	for (uint32_t i = 0; i < plan->topology->num_switches; i++) {
		const osm_switch_t *sw = lft_records_switch(subn, plan, i);
		uint16_t room = sw ? osm_switch_get_mcast_fwd_tbl_size(sw) : capacity[i];

		room = room < PM_MLIDS ? room : PM_MLIDS;
		differs |= room != capacity[i];
		capacity[i] = room;
	}
	return differs;
}
