/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's multicast groups, by value: MLIDs with their members as places of a plan, and
 * the capacity of switches.
 *
 * Groups with one MLID count as one, as switches see no MGIDs. Send-only members are
 * members, as in OpenSM's trees.
 */
#ifndef PORTMAJOR_MCAST_GROUPS_H
#define PORTMAJOR_MCAST_GROUPS_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/multicast/multicast.h>

/* All zero at first. */
struct mcast_groups {
	struct pm_group *list; /* by MLID */
	uint32_t num, room;
	uint32_t strangers; /* members without a place in the plan, left out */
	uint32_t *members;  /* of all groups */
	uint32_t num_members, members_room;
	struct mcast_groups_cache *cache; /* during a reading */
	uint32_t cache_room;
};

/*
 * Reads all groups. With osm->lock held, shared at least. -ENOMEM. O(members + ports x
 * log switches + MLIDs).
 */
int mcast_groups_read(struct mcast_groups *groups, const osm_subn_t *subn,
		      const struct pm_plan *plan);
void mcast_groups_free(struct mcast_groups *groups);

/* Exchanges two readings, but not their working memory. */
void mcast_groups_swap(struct mcast_groups *a, struct mcast_groups *b);

/* Whether two readings with the same plan found the same groups. O(members). */
bool mcast_groups_are_same(const struct mcast_groups *a, const struct mcast_groups *b);

/*
 * Writes the number of MLIDs that fit in each switch of plan->topology to capacity[],
 * except for absent switches; returns whether any changed. With osm->lock held, shared at
 * least.
 */
bool mcast_groups_capacity(const osm_subn_t *subn, const struct pm_plan *plan,
			   uint16_t *capacity);

#endif
