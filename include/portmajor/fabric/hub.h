/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hub: the switch at which paths beyond up and then down turn up again, on their way
 * down to it or at it (src/route/beyond.c). It is needed by end ports above the leaves.
 *
 * A hub is free of credit loops where each switch above it has links down to only one
 * switch that is the hub or above it. Then the switches above the hub form a tree, and a
 * path that goes down within this tree, turns, and goes up within it cannot come back: a
 * path that leaves the tree going down stays outside.
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
 * Pairs of switches with end ports other than aggregation nodes; ordered, and only those
 * that links connect.
 */
struct pm_hub_pairs {
	uint64_t lacking;  /* without an up-then-down path */
	uint64_t upper;	   /* of these: one of the two is above the leaves */
	uint32_t first[2]; /* switches of the first of `lacking`, or PM_NONE */
};

/* Sets the bits of switches with end ports other than aggregation nodes. */
void pm_hub_talking(const struct pm_fabric *skeleton, uint64_t *talking);

/* Counts these pairs; part[] from pm_reach_parts. O(switches^2 / 64 + lacking pairs). */
void pm_hub_count(const struct pm_tree *tree, const struct pm_reach *reach,
		  const uint64_t *talking, const uint32_t *part,
		  struct pm_hub_pairs *pairs);

/* Whether a hub is free of credit loops. O(ports of the switches above it). */
bool pm_hub_is_safe(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		    const uint8_t *usable, const struct pm_reach *reach, uint32_t hub);

/*
 * Counts the ordered pairs of talking switches, one of them above the leaves, that lack
 * an up-then-down path and reach each other over this hub. O(switches^2 / 64).
 */
uint64_t pm_hub_serves(const struct pm_tree *tree, const struct pm_reach *reach,
		       const uint64_t *talking, uint32_t hub);

/*
 * The first safe hub that serves this number of pairs, in the order leaves, switches
 * above them; or PM_NONE. O(switches x (ports above a switch + switches^2 / 64)).
 */
uint32_t pm_hub_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		     const struct pm_reach *reach, const uint64_t *talking,
		     uint64_t pairs);

#endif
