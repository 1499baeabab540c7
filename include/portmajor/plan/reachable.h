/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many of the pairs of end ports that cables join the tables serve, and whether that
 * is enough for a fat tree. failback.h decides by it which engine routes.
 */
#ifndef PORTMAJOR_REACHABLE_H
#define PORTMAJOR_REACHABLE_H

#include <portmajor/fabric/reach.h>

/* Ordered pairs of end ports at different switches. Those at one need no tables. */
struct pm_reachable {
	uint64_t connected;	 /* that cables join, in whatever way */
	uint64_t pairs;		 /* of these: that an up-then-down path joins */
	uint32_t unreachable[2]; /* the switches of the first pair that none joins, or
				    PM_NONE */
};

/*
 * Ordered pairs of end ports at different switches that an up-then-down path joins, where
 * hosts[switch] of them are attached. O(switches^2 / 64 + pairs of switches not joined).
 */
uint64_t pm_reachable_pairs(const struct pm_reach *reach, uint32_t num_switches,
			    const uint32_t *hosts);

/*
 * Lists the first pairs, up to max, of switches with end ports that cables join and no
 * up-then-down path does, each once; what is not listed stays. O(switches^2).
 */
void pm_reachable_list_cut(const struct pm_reach *reach, uint32_t num_switches,
			   const uint32_t *hosts, const uint32_t *part,
			   uint32_t (*unreachable)[2], uint32_t max);

/*
 * Counts, where hosts[switch] end ports are attached, part[switch] is as pm_reach_parts
 * has it, and room[switch] is room. O(switches^2 / 64 + pairs of switches not joined),
 * and O(switches^2) if any are apart.
 */
void pm_reachable_count(const struct pm_reach *reach, uint32_t num_switches,
			const uint32_t *hosts, const uint32_t *part, uint32_t *room,
			struct pm_reachable *reachable);

/*
 * The same for what is seen[port] in a skeleton, cables that are kept out of the tables
 * too: they join. NULL: all that the skeleton knows. -ENOMEM. Also O(cables).
 */
int pm_reachable_find(const struct pm_fabric *known, const struct pm_reach *reach,
		      const uint8_t *seen, struct pm_reachable *reachable,
		      struct pm_error *err);

/* Half of the pairs that cables join, or more: a tree, if need be with parts missing. */
static inline bool pm_reachable_enough(const struct pm_reachable *reachable)
{
	return reachable->pairs >= reachable->connected - reachable->pairs;
}

/* Three quarters of them or more: what was given away may be taken back. */
static inline bool pm_reachable_well(const struct pm_reachable *reachable)
{
	return reachable->pairs >= 3 * (reachable->connected - reachable->pairs);
}

/* -ENOTSUP with a message that says what is not served. */
int pm_reachable_refuse(const struct pm_reachable *reachable,
			const struct pm_fabric *known, const struct pm_tree *tree,
			struct pm_error *err);

#endif
