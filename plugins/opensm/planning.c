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
	*planning = (struct planning){PLANNING_EMPTY};
}

/* ---- The base ---- */

/*
 * A plan that grew may have been made from a part of the fabric: then the plan that its
 * LIDs came from takes its place.
 */
static int find_origin(struct pm_plan **grown, const struct pm_fabric *fabric,
		       struct pm_error *err)
{
	struct pm_plan *origin;
	int rc = pm_plan_find_origin(*grown, fabric, &origin, err);

	if (rc == -ENOMEM) {
		pm_plan_free(*grown);
		*grown = NULL;
		return rc;
	}
	if (!rc && origin) {
		pm_plan_free(*grown);
		*grown = origin;
	}
	return 0; /* no plan can be made of it all: what grew goes on */
}

/*
 * With migrate, new planes are to get slots of those there are: a plan that has grown
 * by planes is made anew, and LIDs in use drift to it. The grown one stays where that
 * cannot be done.
 */
static void deal_anew(const struct planning *planning, const struct pm_fabric *fabric,
		      struct pm_plan **grown)
{
	struct pm_plan *remade;

	if ((*grown)->tree.num_planes <= planning->base->tree.num_planes ||
	    pm_plan_remake(*grown, fabric, &remade, NULL))
		return;
	pm_plan_free(*grown);
	*grown = remade;
}

/*
 * A new base where one is needed, else NULL. When LIDs run out because of parts that
 * left for good, the plan is made anew; then *keep is set, so that nothing moves.
 */
static int make_or_grow(const struct planning *planning,
			const struct planning_request *request, struct pm_plan **base,
			bool *keep, struct pm_error *err)
{
	int rc = -ENOSPC;

	*base = NULL;
	if (planning->base)
		rc = pm_plan_grow(planning->base, request->fabric, base, err);
	if (!rc && *base)
		rc = find_origin(base, request->fabric, err);
	if (!rc && *base && request->migrate)
		deal_anew(planning, request->fabric, base);
	if (rc != -ENOSPC)
		return rc;
	*keep |= planning->base != NULL;
	return pm_plan_make(request->fabric, &request->config, base, err);
}

/* ---- The plan in force ---- */

/* Every switch must be able to hold the table. */
static int check_capacity(const struct pm_plan *plan, uint16_t max_lid,
			  struct pm_error *err)
{
	if (plan->top_lid <= max_lid)
		return 0;
	return pm_error_set(err, -ENOSPC,
			    "the plan needs LIDs up to %u, a switch of this "
			    "fabric has room for LIDs up to %u",
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

/*
 * Settles which of a new base and a plan with the LIDs in use come into force. Both are
 * taken over, either may be NULL.
 */
static void settle_on(const struct planning *planning, struct pm_plan *base,
		      struct pm_plan *kept, bool migrate, struct planning_change *change)
{
	if (kept && !migrate) {
		/* Those that differ keep their LIDs for good. */
		pm_plan_free(base);
		base = kept;
		kept = NULL;
	}
	change->base = base;
	if (kept && !base && planning->plan && same_places(kept, planning->plan))
		pm_plan_free(kept);
	else if (kept)
		change->plan = kept;
	else if (base)
		change->plan = base;
	else if (planning->plan != planning->base)
		change->plan = planning->base;
}

int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err)
{
	struct pm_plan *base, *kept = NULL;
	bool keep = request->keep;
	uint32_t differ = 0;
	int rc;

	rc = make_or_grow(planning, request, &base, &keep, err);
	if (rc)
		return rc;
	keep |= request->migrate;
	if (keep)
		rc = pm_plan_keep(base ? base : planning->base, request->fabric,
				  plan_before(planning, request->migrate), &kept, &differ,
				  err);
	if (!rc && (kept || base))
		rc = check_capacity(kept ? kept : base, request->max_lid, err);
	if (rc) {
		pm_plan_free(kept);
		pm_plan_free(base);
		return rc;
	}
	*change = (struct planning_change){
		.fresh = !planning->base,
		.out_of_plan = keep ? differ : planning->out_of_plan,
	};
	settle_on(planning, base, kept, request->migrate, change);
	return 0;
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
