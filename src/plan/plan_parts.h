/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the source files of plan.h. A plan is made or grown in the same steps:
 *
 *   plan_new, plan_find_tree, [places and LIDs of an older plan], plan_complete
 *
 * The steps of plan_complete add missing data and change no other. They pass on
 * is_place[port of plan->topology].
 */
#ifndef PORTMAJOR_PLAN_PLAN_PARTS_H
#define PORTMAJOR_PLAN_PLAN_PARTS_H

#include <portmajor/plan/plan.h>

/* plan.c: an empty plan that owns the skeleton (NULL: no memory). */
struct pm_plan *plan_new(const struct pm_plan_config *config, struct pm_fabric *topology);
/* The configuration that a plan was made with. */
struct pm_plan_config plan_config(const struct pm_plan *plan);
/* -ENOTSUP unless enough pairs of the topology would be reachable, see reachable.h. */
int plan_check_tree(struct pm_plan *plan, struct pm_error *err);

/*
 * find_tree.c: finds the tree of a new plan's skeleton, completes roles (end ports of
 * switches above the leaves become service ports) and, where no guess of levels joins
 * all, chooses roots. -ENOTSUP as above. Cost: that of the tree and its reach sets; where
 * a way fails to join all, O(switches x links) more.
 */
int plan_find_tree(struct pm_plan *plan, struct pm_error *err);
/* Whether a switch is a root of the levels: it has links down, and none up. */
bool plan_is_root(const struct pm_plan *plan, uint32_t sw);

/* Adds missing places, planes, ranks and LIDs. */
int plan_complete(struct pm_plan *plan, struct pm_error *err);

/* assign_planes.c */
/* Whether paths of a plane lead to a switch. O(its ports). */
bool plan_leads_to(const struct pm_plan *plan, uint32_t plane, uint32_t sw);
int plan_find_places(const struct pm_plan *plan, uint8_t *is_place, struct pm_error *err);
int plan_assign_planes(struct pm_plan *plan, const uint8_t *is_place,
		       struct pm_error *err);
int plan_find_ranks(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err);

/* owners.c */
void plan_find_top(struct pm_plan *plan);
int plan_add_run(struct pm_plan *plan, uint32_t start, uint32_t length, uint32_t plane,
		 struct pm_error *err);
/* Whether a place could have num LIDs from `lid` on: they are aligned and free. */
bool plan_is_free(const struct pm_plan *plan, uint32_t lid, uint32_t num);
void plan_give_lids(struct pm_plan *plan, uint32_t place, uint32_t lid);
void plan_take_back(struct pm_plan *plan, uint32_t place);
/*
 * Gives a place the LIDs of its port, from `lid` on, and marks them in kept[LID]. Places
 * that had them in the plan lose their LIDs. False: the LIDs are not aligned, or are
 * marked already.
 */
bool plan_keep_place(struct pm_plan *plan, uint32_t place, uint32_t lid, uint8_t *kept);
/* Planes in the order of their runs; the plane `last` comes last. */
uint32_t plan_nth_plane(const struct pm_plan *plan, uint32_t n, uint32_t last);
/*
 * Whether there are enough LIDs for is_place[] and all places with a LID, if none has
 * any yet.
 */
bool plan_has_room(const struct pm_plan *plan, const uint8_t *is_place);
/* Sets -ENOSPC with the numbers of places and LIDs, and what has room for them. */
int plan_out_of_lids(const struct pm_plan *plan, const uint8_t *is_place,
		     struct pm_error *err);

/* lids.c */
int plan_lay_out(struct pm_plan *plan, const uint8_t *is_place, struct pm_error *err);
int plan_give_missing(struct pm_plan *plan, const uint8_t *is_place,
		      struct pm_error *err);

/* scarce.c */
/*
 * Lays out `grouped` without spare LIDs, if the places have no more LIDs than there are;
 * -ENOSPC as plan_out_of_lids.
 */
int plan_lay_out_scarce(struct pm_plan *plan, const uint8_t *is_place, uint32_t last,
			struct pm_error *err);

/* grow.c: a copy; NULL: no memory. */
struct pm_plan *plan_clone(const struct pm_plan *plan, struct pm_error *err);
/* Whether a place is or was in use. An empty slot that never was may have any LID. */
bool plan_is_used(const struct pm_plan *plan, uint32_t place);

/*
 * match.c: the fabric's port at a place: an end port, or port 0 of a switch; or PM_NONE.
 */
uint32_t plan_end_port(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t place);

#endif
