/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hub: the switch at which paths beyond up and then down turn up again, on their way
 * down to it or at it (src/route/beyond.c). It is needed by end ports above the leaves,
 * and by leaves that have no switch above in common.
 *
 * A hub is free of credit loops where each switch above it has links down to only one
 * switch that is the hub or above it. Then the switches above the hub form a tree, and a
 * path that goes down within this tree, turns, and goes up within it cannot come back: a
 * path that leaves the tree going down stays outside. Where paths begin and end does not
 * matter.
 *
 *        c0 (host)  c1 (host)      c0 -> s0 -> c1 with hub s0, or leaf l0 below s0 only.
 *          \   \   /   /           With links l0 = s1, hub l0 would not do: c0 is above
 *           s0  \ /   /            s0 and s1, and both are above l0.
 *            \   s1
 */
#ifndef PORTMAJOR_HUB_H
#define PORTMAJOR_HUB_H

#include <portmajor/fabric/reach.h>

/*
 * Switches whose end ports need paths: with others than aggregation nodes, and all. Two
 * switches that only have aggregation nodes need none.
 */
struct pm_hub_ends {
	const uint64_t *talking;
	const uint64_t *all; /* may be the same */
};

/* Ordered pairs of these without an up-then-down path, where links connect them. */
struct pm_hub_pairs {
	uint64_t lacking;
	uint64_t leaves;   /* of these: both are leaves */
	uint64_t weight;   /* of all */
	uint32_t first[2]; /* switches of the first of `lacking`, or PM_NONE */
};

/*
 * Hubs are compared by the weight of pairs: any pair of talking switches weighs more than
 * all others.
 */
#define PM_HUB_TALKING ((uint64_t)1 << 32)
#define PM_HUB_OTHER ((uint64_t)1)

/* Sets the bits of switches with end ports other than aggregation nodes. */
void pm_hub_talking(const struct pm_fabric *skeleton, uint64_t *talking);

/* Counts these pairs; part[] from pm_reach_parts. O(switches^2 / 64 + lacking pairs). */
void pm_hub_count(const struct pm_tree *tree, const struct pm_reach *reach,
		  const struct pm_hub_ends *ends, const uint32_t *part,
		  struct pm_hub_pairs *pairs);

/*
 * Whether a hub is free of credit loops. usable[port]: whether its link counts; NULL: all
 * do. O(ports of the switches above it).
 */
bool pm_hub_is_safe(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		    const uint8_t *usable, const struct pm_reach *reach, uint32_t hub);

/*
 * The weight of the pairs that lack an up-then-down path and reach each other over this
 * hub. O(switches^2 / 64).
 */
uint64_t pm_hub_serves(const struct pm_tree *tree, const struct pm_reach *reach,
		       const struct pm_hub_ends *ends, uint32_t hub);

/*
 * The safe hub that serves most of the pairs that weigh `all`, the first one in the
 * order leaves, switches above them; PM_NONE: none serves any. *served: their weight.
 * usable[port] as for pm_hub_is_safe. O(switches x (ports above a switch + switches^2 /
 * 64)).
 */
uint32_t pm_hub_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		     const uint8_t *usable, const struct pm_reach *reach,
		     const struct pm_hub_ends *ends, uint64_t all, uint64_t *served);

#endif
