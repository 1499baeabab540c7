/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts pairs of end ports that links connect, and those with an up-then-down path.
 * failback.h chooses the engine by that.
 */
#ifndef PORTMAJOR_REACHABLE_H
#define PORTMAJOR_REACHABLE_H

#include <portmajor/fabric/reach.h>

/* Ordered pairs of end ports at different switches. */
struct pm_reachable {
	uint64_t connected;	 /* connected by links, over any path */
	uint64_t pairs;		 /* of these: with an up-then-down path */
	uint32_t unreachable[2]; /* switches of the first pair without, or PM_NONE */
};

/*
 * Counts the ordered pairs with an up-then-down path; hosts[switch]: end ports there.
 * O(switches^2 / 64 + pairs of switches without such a path).
 */
uint64_t pm_reachable_pairs(const struct pm_reach *reach, uint32_t num_switches,
			    const uint32_t *hosts);

/*
 * Fills *reachable. hosts[switch] as above, part[switch] from pm_reach_parts,
 * room[switch] is working memory. O(switches^2 / 64 + unreachable pairs of switches), and
 * O(switches^2) if there are any.
 */
void pm_reachable_count(const struct pm_reach *reach, uint32_t num_switches,
			const uint32_t *hosts, const uint32_t *part, uint32_t *room,
			struct pm_reachable *reachable);

/*
 * The same with discovered[port] of a skeleton, which includes links that are excluded
 * from the tables; NULL: all of the skeleton. -ENOMEM. Also O(links).
 */
int pm_reachable_find(const struct pm_fabric *topology, const struct pm_reach *reach,
		      const uint8_t *discovered, struct pm_reachable *reachable,
		      struct pm_error *err);

/*
 * Whether half of the connected pairs or more are reachable: a tree, perhaps with parts
 * missing.
 */
static inline bool pm_reachable_enough(const struct pm_reachable *reachable)
{
	return reachable->pairs >= reachable->connected - reachable->pairs;
}

/* Whether three quarters of them or more are reachable: good enough for a failback. */
static inline bool pm_reachable_recovered(const struct pm_reachable *reachable)
{
	return reachable->pairs >= 3 * (reachable->connected - reachable->pairs);
}

/* Returns -ENOTSUP, with a message that names an unreachable pair. */
int pm_reachable_refuse(const struct pm_reachable *reachable,
			const struct pm_fabric *topology, const struct pm_tree *tree,
			struct pm_error *err);

#endif
