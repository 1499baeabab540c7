/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the source files of multicast.h:
 *
 *   planes.c     planes, their switches and orders of planes, from plan and capacities
 *   trees.c      the tree of one group, over usable links
 *   span.c       the same, if no switch reaches all members
 *   multicast.c  all groups, and their entries
 */
#ifndef PORTMAJOR_MULTICAST_TREE_RULES_H
#define PORTMAJOR_MULTICAST_TREE_RULES_H

#include <portmajor/base/bits.h>
#include <portmajor/base/pool.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/multicast/multicast.h>

#define TREE_POSITIONS (PM_MAX_PORTS / PM_MFT_POSITION + 1)

/* The fabric for MLIDs that the same switches can hold. */
struct mlid_range {
	uint32_t end;	   /* MLIDs PM_MLID_FIRST + i with i below `end`, and .. */
	uint32_t first;	   /* .. from `first` on */
	uint8_t *usable;   /* [port] usable, and both switches can hold the MLIDs */
	uint32_t *part;	   /* [switch] index of its connected component */
	uint64_t *capable; /* a set: switches that can hold the MLIDs */
	struct pm_reach reach;
};

/* A growing tree. Arrays [switch] are valid for switches of the tree. */
struct growing {
	uint32_t *stamp; /* [switch] == now: in the tree */
	uint32_t now;
	uint32_t *list; /* switches of the tree, the root first, unless the root was cut
			   off */
	uint32_t num;
	uint32_t *up;	    /* [switch] port that leads to the parent, PM_NONE: root */
	uint32_t *children; /* [switch] number of children */
	uint32_t *child;    /* [switch] one of the children */
	uint32_t root;
};

struct pm_multicast {
	struct pm_pool pool; /* of all arrays */
	const struct pm_plan *plan;
	const struct pm_fabric *topology;
	const struct pm_tree *tree;
	uint32_t num_switches, num_planes, large;

	/* With all links usable (planes.c). */
	uint16_t *capacity;    /* [switch] */
	struct pm_reach whole; /* for switches with multicast */
	uint32_t *planes; /* first the wide ones, with roots that reach the most leaves ..
			   */
	uint32_t num_wide;	/* .. [num_wide], then the others */
	uint8_t *position;	/* [plane] position with most leaves' ports */
	uint32_t *first_native; /* [plane + 1] its switches above the leaves .. */
	uint32_t *natives;	/* .. by level, lowest first */
	uint32_t *first_top;	/* [plane + 1] its roots with all links: .. */
	uint32_t *tops;		/* .. without up ports, that reach the most leaves */
	uint32_t *first_up;	/* [switch + 1] up ports, .. */
	uint32_t *ups;		/* .. by port number */

	/* With the usable links. */
	struct mlid_range *ranges; /* by MLID */
	uint32_t num_ranges;

	/* Working memory for a group. */
	uint32_t *order;		/* [plane] */
	uint32_t order_key;		/* the object with this order, or PM_NONE */
	uint32_t *sites, num_sites;	/* switches with included members */
	uint32_t *site_stamp, site_now; /* [switch] == now: has members .. */
	uint32_t *site_members;		/* .. [switch] number of members */
	uint32_t *member_stamp;		/* [port] == site_now: is a member */
	uint32_t *part_members;		/* [switch] by part */
	struct growing growing;
	uint32_t *queue;    /* [switch] */
	uint32_t *group_of; /* [MLID] index of its group + 1 */
};

/* A tree to build. */
struct subject {
	const struct mlid_range *range;
	uint32_t index; /* MLID - PM_MLID_FIRST */
	uint32_t key;	/* chooses among roots and parallel links */
	uint32_t plane; /* the plane with preferred links */
	uint32_t top;	/* the plane's root with all links usable, or PM_NONE */
	bool broad;	/* leaves without members belong to its tree */
};

/* ---- planes.c ---- */

/* Fills the members for all links usable; whole.down is already filled. -ENOMEM. */
int planes_index(struct pm_multicast *m, struct pm_error *err);

/* Writes the order of planes of an MLID to m->order. */
void planes_set_order(struct pm_multicast *m, uint32_t index, bool large);

/* The root of a plane, with all links usable, that an MLID prefers; or PM_NONE. */
uint32_t planes_top(const struct pm_multicast *m, uint32_t plane, uint32_t key);

/* ---- trees.c ---- */

/* The fabric for an MLID. */
const struct mlid_range *trees_range(const struct pm_multicast *m, uint32_t index);

/*
 * Makes the tree of a group in m->growing, if the group's state needs one. m->sites are
 * the switches with its members.
 */
void trees_make(struct pm_multicast *m, const struct pm_group *group,
		struct pm_group_tree *tree);

#endif
