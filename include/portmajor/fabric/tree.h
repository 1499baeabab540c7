/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fat tree in a fabric: levels, the direction of every port, subtrees and planes.
 *
 * A leaf is a switch with hosts or, where levels count from roots, any switch at the leaf
 * level or below. Leaves are mostly level 0, and the level of another
 * switch is its distance from the nearest leaf. Exceptions: a switch with few hosts next
 * to leaves (a spine with a gateway or the SM's node) is no leaf, a leaf may have no host
 * yet, and single links that skip a level do not count. Where these levels leave
 * connected hosts without a path, levels count from the roots. Then leaves may have edge
 * switches below them, which are leaves, too, but have no planes of their own. Service
 * ports (fabric.h) make no leaf. Roots named by the operator override all that. See
 * src/fabric/levels.c.
 *
 * 	level   leaf_level 0            leaf_level 1
 * 	2       core                    spine chips of a director
 * 	1       spine                   its line boards, with hosts: leaves
 * 	0       leaf                    edge switches, with hosts: leaves, too
 *
 * A plane describes an up port of a leaf by three numbers that mean the same on every
 * leaf: the component that the port leads to (without the leaves the tree falls into
 * components, such as a spine or a director chassis), the index of the first-level switch
 * among those of that component above the leaf's pod, and the index among parallel
 * links.
 *
 *            chassis s0              chassis s1       two components, one
 *          fab0     fab1           fab0     fab1      first-level switch each
 *          / \\     // \           / \\     // \      over every pod: two planes
 *       line0  line1  ...       line0  line1  ...
 *        /|\    /|\              /|\    /|\
 *       leaves of pod 0         leaves of pod 1       (every leaf is under both)
 */
#ifndef PORTMAJOR_TREE_H
#define PORTMAJOR_TREE_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>

#define PM_NO_LEVEL UINT8_MAX

enum pm_direction {
	PM_DARK, /* no link, or to a switch outside the tree */
	PM_HOST, /* an end node is, or was, attached */
	PM_UP,
	PM_DOWN,
	PM_SIDE, /* neither one level up nor down: not used for paths */
};

/* How levels were found. */
enum pm_levels_by {
	PM_BY_LEAVES, /* guessed, in this order, until one connects all hosts: */
	PM_BY_LARGE_LEAVES,
	PM_BY_FARTHEST,
	PM_BY_FARTHEST_FROM_LARGE,
	PM_BY_CENTRE,
	PM_BY_NAMED_ROOTS,   /* named by the operator */
	PM_BY_GUESSED_ROOTS, /* chosen when the plan was made, as no guess joined all */
};

struct pm_plane {
	uint32_t component;
	uint32_t index_in_pod;
	uint32_t link;
};

/*
 * Depends on the skeleton alone and is read-only after pm_tree_make. Arrays marked
 * [switch] have an element per switch of the skeleton, those marked [port] one per port.
 */
struct pm_tree {
	struct pm_pool pool; /* of all arrays */
	uint32_t num_switches, num_ports, num_leaves, num_planes;
	uint32_t num_components, num_pods;
	uint32_t num_side;    /* links with PM_SIDE */
	uint8_t top_level;    /* highest level there is; 0 if only leaves */
	uint8_t leaf_level;   /* up ports at this level define the planes; leaves are here
				 and below */
	uint8_t levels_by;    /* enum pm_levels_by */
	uint8_t *level;	      /* [switch]; PM_NO_LEVEL: no leaf in reach */
	uint8_t *direction;   /* [port] enum pm_direction */
	uint32_t *remote;     /* [port] switch at the other end, else PM_NONE */
	uint32_t *leaves;     /* [leaf] leaves in subtree order */
	uint32_t *leaf_index; /* [switch] its index in leaves[], else PM_NONE */
	uint32_t *pod; /* [switch] pod of a leaf or of a first-level switch, next above
			  leaf_level; else PM_NONE */
	uint32_t *component;	  /* [switch] above the leaves, else PM_NONE */
	uint32_t *index_in_pod;	  /* [switch] first-level: its index among those of its
				     component above its pod */
	uint32_t *index_in_level; /* [switch] above the leaves: its index among the
				     switches of its level and component */
	struct pm_plane *planes;  /* [plane], sorted by component, index_in_pod, link */
	uint32_t *plane; /* [port] up ports at leaf_level: the plane; else PM_NONE */
	uint32_t plane_words;
	uint64_t *edge_planes; /* [switch][plane_words] below leaf_level: planes of the
				* leaves above; NULL if there are no such switches */
};

/*
 * Finds the tree in a skeleton (see pm_fabric_skeleton). -ENOENT: no switch has an end
 * port; -ENOTSUP: a switch is too far from all named roots; -ENOMEM. Cost: O(ports x
 * levels + switches log switches).
 */
int pm_tree_make(const struct pm_fabric *skeleton, struct pm_tree *tree,
		 struct pm_error *err);

static inline bool pm_tree_is_leaf(const struct pm_tree *tree, uint32_t sw)
{
	return tree->level[sw] <= tree->leaf_level;
}

/*
 * Height above the leaves: leaves 0, first-level switches 1; PM_NO_LEVEL without a level.
 */
static inline unsigned int pm_tree_height(const struct pm_tree *tree, uint32_t sw)
{
	unsigned int level = tree->level[sw];

	if (level == PM_NO_LEVEL)
		return PM_NO_LEVEL;
	return level <= tree->leaf_level ? 0 : level - tree->leaf_level;
}

/*
 * Whether paths of a plane run through a switch above the leaves: its first-level switch,
 * or any higher one of its component. False for a plane that does not exist.
 */
static inline bool pm_tree_is_native(const struct pm_tree *tree, uint32_t plane,
				     uint32_t sw)
{
	if (plane >= tree->num_planes ||
	    tree->planes[plane].component != tree->component[sw])
		return false;
	return tree->level[sw] > tree->leaf_level + 1 ||
	       tree->planes[plane].index_in_pod == tree->index_in_pod[sw];
}

/* Frees a tree of pm_tree_make; a zeroed tree is fine. */
void pm_tree_free(struct pm_tree *tree);

#endif
