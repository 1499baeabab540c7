/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast trees: for each group a tree that goes up and then down under one root.
 *
 * The 32 MLIDs of a block share an order of planes. A group takes the first plane in this
 * order with a switch that reaches all its members going down; its tree goes up by that
 * plane's links:
 *
 * 	             root: the lowest switch of the plane above all members
 * 	            /    \
 * 	        line0    line1      uplinks: fixed by plane and MLID, another one
 * 	       /  |  \     |        only where that link is not usable
 * 	  leaf0 leaf1 leaf2 leaf20  uplink: the plane's
 *
 * A tree depends on the plan, the usable links and the group's members, not on history,
 * other groups or the order of joins. A member that joins or leaves changes the entries
 * of its leaf and of the branch to it; a failure moves a tree only if the tree uses the
 * failed part.
 *
 * A group with members at more than `large` switches has its own order, so that 32 such
 * groups of a block do not use the same links. The tree of a broad group (members at
 * seven eighths of the leaves or more) has all leaves that its root reaches: a member
 * that leaves or joins changes the entry of its own port alone, and packets end at a leaf
 * without members. docs/design-routing.md has the reasons.
 */
#ifndef PORTMAJOR_MULTICAST_H
#define PORTMAJOR_MULTICAST_H

#include <portmajor/multicast/mft.h>
#include <portmajor/plan/plan.h>

/* Opaque: maker of the trees of one plan. For one thread at a time. */
struct pm_multicast;

struct pm_multicast_config {
	/*
	 * [switch of plan->topology] MulticastFDBCap: the number of MLIDs that fit in its
	 * table, 0: no multicast. Copied; NULL: all fit.
	 */
	const uint16_t *capacity;
	uint32_t large; /* see above; 0: the default, pm_multicast_large */
};

/*
 * A group. Members are ports of plan->topology: slots (end ports of any kind, on leaves
 * and above) and port 0 of switches, in any order, possibly repeated. As in OpenSM's
 * trees, send-only members are members.
 */
struct pm_group {
	uint16_t mlid; /* PM_MLID_FIRST .. PM_MLID_LAST */
	uint32_t num;
	const uint32_t *members; /* [num], borrowed for the call */
};

enum pm_group_state {
	PM_GROUP_IDLE,	   /* fewer than two members: no entries, as in OpenSM */
	PM_GROUP_LOCAL,	   /* all members at one switch, which is the tree */
	PM_GROUP_PLANE,	   /* a root in a plane of the order */
	PM_GROUP_ROOT,	   /* no plane has a root for it; the root is another switch */
	PM_GROUP_UNSERVED, /* no switch reaches all members: no entries */
};

/* A group's tree. */
struct pm_group_tree {
	uint32_t root;	/* switch, or PM_NONE */
	uint32_t plane; /* PM_GROUP_PLANE: of plan->tree.planes; else PM_NONE */
	/*
	 * Members that are not in the tree: at switches without multicast (for this
	 * MLID), or not connected by usable links to the most members.
	 */
	uint32_t excluded;
	uint8_t state; /* enum pm_group_state */
};

/*
 * Creates the maker of a plan's trees; the caller frees it. The plan is borrowed and must
 * outlive it. All links are usable until pm_multicast_set_links. -ENOMEM. Cost: O(links x
 * switches / 64 + planes x switches), and memory as pm_reach for each capacity that
 * differs.
 */
int pm_multicast_new(const struct pm_plan *plan, const struct pm_multicast_config *config,
		     struct pm_multicast **multicast, struct pm_error *err);
void pm_multicast_free(struct pm_multicast *multicast);

/*
 * Sets the usable links: usable[port], both ends, as for pm_routes_update; end ports are
 * ignored. NULL: all. O(links x switches / 64) for each different capacity.
 */
void pm_multicast_set_links(struct pm_multicast *multicast, const uint8_t *usable);

/*
 * Makes the trees of all groups, which are in any order. *tables has their entries; the
 * caller frees it. trees[i], unless trees is NULL, describes the tree of groups[i].
 * -EINVAL: an MLID is out of range or repeated, or a member is no port, or a port with a
 * link to a switch; -ENOMEM. On failure only trees[] may have changed. Cost: of a group
 * O(members + switches of its tree x their up ports); where planes have failed, also
 * O(switches of these planes).
 */
int pm_multicast_route(struct pm_multicast *multicast, const struct pm_group *groups,
		       uint32_t num, struct pm_mfts **tables, struct pm_group_tree *trees,
		       struct pm_error *err);

/*
 * Adds a tree over any usable links, as OpenSM does, for a group in state
 * PM_GROUP_UNSERVED to tables of the same plan and links, which have no entries of it.
 * -EINVAL: another state; -ENOMEM. O(links).
 */
int pm_multicast_span(struct pm_multicast *multicast, const struct pm_group *group,
		      struct pm_mfts *tables);

/*
 * The default of `large`: the most switches with members at which a group still uses its
 * block's order.
 */
uint32_t pm_multicast_large(const struct pm_multicast *multicast);

/*
 * Writes the order of planes of an MLID into planes[plan->tree.num_planes]; `large`: that
 * of a large group. O(planes).
 */
void pm_multicast_order(const struct pm_multicast *multicast, uint16_t mlid, bool large,
			uint32_t *planes);

#endif
