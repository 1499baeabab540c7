/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "planning.h"

#include <errno.h>
#include <string.h>

void planning_load(struct planning *planning, struct pm_plan *base, struct pm_plan *last)
{
	planning_forget(planning);
	planning->base = base;
	planning->last = last;
	planning->phase = PLANNING_LOADED;
}

static void free_in_force(struct planning *planning)
{
	if (planning->plan != planning->base)
		pm_plan_free(planning->plan);
	pm_plan_free(planning->last);
	planning->plan = planning->last = NULL;
}

void planning_forget(struct planning *planning)
{
	free_in_force(planning);
	pm_plan_free(planning->base);
	*planning = (struct planning){.phase = PLANNING_EMPTY};
}

/* ---- The base ---- */

/*
 * A plan that grew may have been made from a part of the fabric: then the plan that its
 * LIDs came from takes its place. -ENOMEM.
 */
static int find_origin(struct pm_plan **grown, const struct pm_fabric *fabric,
		       struct pm_error *err)
{
	struct pm_plan *origin;
	int rc = pm_plan_find_origin(*grown, fabric, &origin, err);

	if (rc == -ENOMEM)
		return rc;
	if (!rc && origin) {
		pm_plan_free(*grown);
		*grown = origin;
	}
	return 0; /* no plan can be made of it all: what grew goes on */
}

/*
 * With migrate, new planes are to get slots of those there are: a plan that has grown
 * by planes is made anew, and LIDs in use drift to it. The grown one stays where that
 * cannot be done. -ENOMEM.
 */
static int deal_anew(const struct planning *planning, const struct pm_fabric *fabric,
		     struct pm_plan **grown, struct pm_error *err)
{
	struct pm_plan *remade;
	int rc;

	if ((*grown)->tree.num_planes <= planning->base->tree.num_planes)
		return 0;
	rc = pm_plan_remake(*grown, fabric, &remade, err);
	if (!rc) {
		pm_plan_free(*grown);
		*grown = remade;
	}
	return rc == -ENOMEM ? rc : 0;
}

/*
 * A new base where one is needed, else NULL; *grown tells whether it is the old one and
 * more. When LIDs run out because of parts that left for good, the plan is made anew;
 * then *keep is set, so that nothing moves.
 */
static int make_or_grow(const struct planning *planning,
			const struct planning_request *request, struct pm_plan **base,
			bool *grown, bool *keep, struct pm_error *err)
{
	int rc = -ENOSPC;

	*base = NULL;
	*grown = false;
	if (planning->base)
		rc = pm_plan_grow(planning->base, request->fabric, base, err);
	*grown = *base != NULL;
	if (rc != -ENOSPC)
		return rc;
	*keep |= planning->base != NULL;
	return pm_plan_make(request->fabric, &request->config, base, err);
}

/* ---- The plan in force ---- */

/* Single switches that cannot hold the table are left out (fitness.h), but not most. */
static int check_capacity(const struct pm_plan *plan, uint16_t max_lid,
			  struct pm_error *err)
{
	if (plan->top_lid <= max_lid)
		return 0;
	return pm_error_set(err, -ENOSPC,
			    "the plan needs LIDs up to %u, most switches of this "
			    "fabric have room for LIDs up to %u",
			    plan->top_lid, max_lid);
}

/* Whether two plans that were made of one base are the same. */
static bool same_places(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t num = a->known->num_ports;

	return !memcmp(a->lid, b->lid, num * sizeof(*a->lid)) &&
	       !memcmp(a->plane, b->plane, num * sizeof(*a->plane)) &&
	       !memcmp(a->turn, b->turn, num) &&
	       !memcmp(a->rank, b->rank, num * sizeof(*a->rank));
}

/* The plan whose planes ports in use are to keep, or NULL: those of the base. */
static const struct pm_plan *plan_before(const struct planning *planning, bool migrate)
{
	if (planning->last)
		return planning->last;
	if (!migrate)
		return NULL;
	return planning->plan ? planning->plan : planning->base;
}

/* Puts *made in the place of *plan if there is any. */
static void replace(struct pm_plan **plan, struct pm_plan *made)
{
	if (!made)
		return;
	pm_plan_free(*plan);
	*plan = made;
}

/* The base that is to come into force, or NULL: it is already. */
static struct pm_plan *base_to_be(const struct planning *planning,
				  const struct planning_change *change)
{
	if (change->base)
		return change->base;
	return planning->plan == planning->base ? NULL : planning->base;
}

/*
 * With migrate: the base goes on as it is made, and what is in force is that base with
 * the LIDs and planes of ports in use.
 */
static int drift(const struct planning *planning, const struct planning_request *request,
		 bool grown, struct planning_change *change, struct pm_error *err)
{
	struct pm_plan *kept = NULL;
	int rc = 0;

	if (grown)
		rc = find_origin(&change->base, request->fabric, err);
	if (!rc && grown)
		rc = deal_anew(planning, request->fabric, &change->base, err);
	if (!rc)
		rc = pm_plan_keep(change->base ? change->base : planning->base,
				  request->fabric, plan_before(planning, true), &kept,
				  &change->out_of_plan, err);
	if (!rc && kept && !change->base && planning->plan &&
	    same_places(kept, planning->plan))
		pm_plan_free(kept);
	else if (!rc)
		change->plan = kept ? kept : base_to_be(planning, change);
	return rc;
}

/*
 * Without: the base is what is in force. Ports that have another LID than planned keep it
 * for good, and who comes back gets the LID that evidence says.
 */
static int stay(const struct planning *planning, const struct planning_request *request,
		bool grown, bool keep, struct planning_change *change,
		struct pm_error *err)
{
	struct pm_plan *made = NULL;
	int rc = 0;

	if (keep)
		rc = pm_plan_keep(change->base ? change->base : planning->base,
				  request->fabric, plan_before(planning, false), &made,
				  &change->out_of_plan, err);
	if (!rc)
		replace(&change->base, made);
	made = NULL;
	change->recall.now = request->fabric;
	change->recall.max_lid = request->max_lid;
	if (!rc && request->evidence)
		rc = pm_plan_recall(change->base ? change->base : planning->base,
				    request->evidence, &change->recall, &made, err);
	if (!rc)
		replace(&change->base, made);
	if (!rc && grown)
		rc = find_origin(&change->base, request->fabric, err);
	if (!rc)
		change->plan = base_to_be(planning, change);
	return rc;
}

int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err)
{
	struct planning_change made = {.out_of_plan = planning->out_of_plan};
	bool keep = request->keep, grown;
	int rc = make_or_grow(planning, request, &made.base, &grown, &keep, err);

	if (!rc)
		rc = request->migrate ? drift(planning, request, grown, &made, err)
				      : stay(planning, request, grown, keep, &made, err);
	if (!rc && made.plan)
		rc = check_capacity(made.plan, request->max_lid, err);
	if (rc)
		planning_discard(planning, &made);
	else
		*change = made;
	return rc;
}

void planning_adopt(struct planning *planning, struct planning_change *change)
{
	planning->out_of_plan = change->out_of_plan;
	planning->phase = PLANNING_SETTLED;
	if (!change->plan)
		return;
	free_in_force(planning);
	if (change->base) {
		pm_plan_free(planning->base);
		planning->base = change->base;
	}
	planning->plan = change->plan;
	planning->unsaved = true;
}

void planning_discard(const struct planning *planning, struct planning_change *change)
{
	if (change->plan != change->base && change->plan != planning->base)
		pm_plan_free(change->plan);
	pm_plan_free(change->base);
}
