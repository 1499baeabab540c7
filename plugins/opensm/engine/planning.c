/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the base and the plan in force, and changes them. */
#include "planning.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void planning_load(struct planning *planning, struct pm_plan *base, struct pm_plan *last)
{
	planning_forget(planning);
	planning->base = base;
	planning->last = last;
	planning->phase = PLANNING_LOADED;
}

void planning_forget(struct planning *planning)
{
	if (planning->plan != planning->base)
		pm_plan_free(planning->plan);
	pm_plan_free(planning->last);
	pm_plan_free(planning->base);
	free(planning->planned);
	*planning = (struct planning){.phase = PLANNING_EMPTY};
}

void planning_set_adopted(struct planning *planning, bool adopted)
{
	pm_plan_set_adopted(planning->base, adopted);
	if (planning->plan)
		pm_plan_set_adopted(planning->plan, adopted);
}

/* ---- The base ---- */

/* Replaces *plan by `made`, unless that is NULL. */
static void replace_plan(struct pm_plan **plan, struct pm_plan *made)
{
	if (!made)
		return;
	pm_plan_free(*plan);
	*plan = made;
}

/*
 * A plan that grew may have been made from a part of the fabric. *origin: the plan of the
 * whole fabric that its LIDs came from, or NULL if there is none or none can be made.
 * -ENOMEM.
 */
static int find_origin(const struct pm_plan *grown, const struct pm_fabric *fabric,
		       struct pm_plan **origin, struct pm_error *err)
{
	int rc;

	*origin = NULL;
	rc = pm_plan_find_origin(grown, fabric, origin, err);
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Makes a new base if one is needed, else NULL; *grown: it extends the old one. If parts
 * that left for good have used up the LIDs, makes the plan anew, and sets *keep, so that
 * no LID in use changes.
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

/*
 * Single switches without room for the table may be excluded (lft_capacity.h), not most.
 */
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

/* Whether two plans have the same switches, in the same order. */
static bool same_switches(const struct pm_fabric *a, const struct pm_fabric *b)
{
	if (a->num_switches != b->num_switches || a->num_ports != b->num_ports)
		return false;
	for (uint32_t i = 0; i < a->num_switches; i++)
		if (a->nodes[i].guid != b->nodes[i].guid ||
		    a->nodes[i].num_ports != b->nodes[i].num_ports)
			return false;
	return true;
}

/* Whether two plans have the same switches, and all places the same LIDs and planes. */
static bool same_places(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t num = a->topology->num_ports;

	return same_switches(a->topology, b->topology) &&
	       !memcmp(a->lid, b->lid, num * sizeof(*a->lid)) &&
	       !memcmp(a->plane, b->plane, num * sizeof(*a->plane)) &&
	       !memcmp(a->base_plane, b->base_plane, num) &&
	       !memcmp(a->rank, b->rank, num * sizeof(*a->rank));
}

static struct pm_plan *base_to_be(const struct planning *planning,
				  const struct planning_change *change)
{
	return change->base ? change->base : planning->base;
}

/*
 * The plan in force so far, even before a restart; NULL: it is the base, or there is
 * none.
 */
static struct pm_plan *beside_base(const struct planning *planning)
{
	struct pm_plan *plan = planning->plan ? planning->plan : planning->last;

	return plan == planning->base ? NULL : plan;
}

/* Brings the base into force, unless it is. */
static void use_base(const struct planning *planning, struct planning_change *change)
{
	struct pm_plan *base = base_to_be(planning, change);

	change->plan = planning->plan == base ? NULL : base;
}

/* Counts planes without slots. */
static uint32_t count_idle(const struct pm_plan *plan)
{
	uint32_t idle = 0;

	for (uint32_t p = 0; p < plan->tree.num_planes; p++) {
		uint32_t i = 0;

		while (i < plan->topology->num_ports &&
		       (plan->plane[i] != p || !plan->topology->ports[i].num))
			i++;
		idle += i == plan->topology->num_ports;
	}
	return idle;
}

/*
 * With migrate, new planes get slots of the present ones: a base that has grown by planes
 * is made anew, and LIDs in use migrate to it. After a restart this also holds for a base
 * that has grown so before, without migrate, if planes without slots get some. If no plan
 * can be made, the old one stays. -ENOMEM.
 */
static int make_anew(const struct planning *planning, const struct pm_fabric *fabric,
		     bool grown, struct planning_change *change, struct pm_error *err)
{
	const struct pm_plan *base = base_to_be(planning, change);
	bool more = grown && base->tree.num_planes > planning->base->tree.num_planes;
	uint32_t idle = planning->phase == PLANNING_LOADED ? count_idle(base) : 0;
	struct pm_plan *remade = NULL;
	int rc;

	if (!more && !idle)
		return 0;
	rc = pm_plan_remake(base, fabric, &remade, err);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (more || count_idle(remade) < idle)
		replace_plan(&change->base, remade);
	else
		pm_plan_free(remade);
	return 0;
}

/*
 * With migrate: the base goes on as made. The plan in force is the base, with the LIDs
 * and planes of ports in use.
 */
static int drift(const struct planning *planning, const struct planning_request *request,
		 bool grown, struct planning_change *change, struct pm_error *err)
{
	const struct pm_plan *before = beside_base(planning);
	struct pm_plan *origin = NULL, *kept = NULL;
	uint32_t differ;
	int rc = 0;

	if (grown)
		rc = find_origin(change->base, request->fabric, &origin, err);
	replace_plan(&change->base, origin);
	if (!rc)
		rc = make_anew(planning, request->fabric, grown, change, err);
	if (!rc)
		rc = pm_plan_keep(base_to_be(planning, change), request->fabric,
				  before ? before : planning->base, &kept, &differ, err);
	if (rc)
		return rc;
	if (!kept)
		use_base(planning, change);
	else if (!change->base && planning->plan && same_places(kept, planning->plan))
		pm_plan_free(kept);
	else
		change->plan = kept;
	return 0;
}

/* A plan being made without migrate. */
struct staying {
	const struct planning *planning;
	const struct planning_request *request;
	struct planning_change *change;
	bool separate; /* the plan in force is not the base */
	bool grown;    /* the base has, by unknown parts */
	bool keep;     /* keep the LIDs in use */
};

/* The plan in force, as made so far. */
static struct pm_plan *plan_to_be(const struct staying *s)
{
	if (!s->separate)
		return base_to_be(s->planning, s->change);
	return s->change->plan ? s->change->plan : beside_base(s->planning);
}

/* Replaces that plan by one with other LIDs. */
static void set_plan(struct staying *s, struct pm_plan *made)
{
	replace_plan(s->separate ? &s->change->plan : &s->change->base, made);
}

/*
 * Grows the plan in force beside the base. If it has no LIDs left, it is made from the
 * base and the LIDs in use.
 */
static int grow_beside(struct staying *s, struct pm_error *err)
{
	const struct pm_plan *base = base_to_be(s->planning, s->change);
	struct pm_plan *plan = beside_base(s->planning), *grown = NULL;
	int rc;

	if (!plan)
		return 0;
	/* LIDs above the fabric's capacity are assigned only when they must be. */
	rc = pm_plan_grow_beside(plan, base->top_lid <= s->request->max_lid ? base : NULL,
				 s->request->fabric, &grown, err);
	s->separate = rc != -ENOSPC;
	s->keep |= rc == -ENOSPC;
	s->change->plan = grown;
	return rc == -ENOSPC ? 0 : rc;
}

/*
 * Keeps LIDs in use: if these differ from the plan's, the plan in force is not the base.
 */
static int keep_used(struct staying *s, struct pm_error *err)
{
	const struct pm_plan *before = s->separate ? NULL : s->planning->last;
	struct pm_plan *kept = NULL;
	uint32_t differ;
	int rc = pm_plan_keep(plan_to_be(s), s->request->fabric, before, &kept, &differ,
			      err);

	if (rc || !kept)
		return rc;
	s->separate = true;
	set_plan(s, kept);
	return 0;
}

static int restore(struct staying *s, struct pm_error *err)
{
	struct pm_plan *restored = NULL;
	int rc = pm_plan_restore_lids(plan_to_be(s), s->request->history,
				      &s->change->restore, &restored, err);

	if (!rc)
		set_plan(s, restored);
	return rc;
}

/* If the LIDs in force are those of one plan for all known parts, it becomes the base. */
static int return_to_origin(struct staying *s, struct pm_error *err)
{
	struct pm_plan *origin;
	int rc = find_origin(plan_to_be(s), s->request->fabric, &origin, err);

	if (rc || !origin)
		return rc;
	if (s->separate)
		pm_plan_free(s->change->plan);
	s->change->plan = NULL;
	s->separate = false;
	replace_plan(&s->change->base, origin);
	return 0;
}

/* Brings the new plan into force. */
static void use_made(struct staying *s)
{
	struct pm_plan *plan = plan_to_be(s);

	if (s->separate && same_places(plan, base_to_be(s->planning, s->change))) {
		pm_plan_free(s->change->plan);
		s->change->plan = NULL;
		s->separate = false;
	}
	if (!s->separate)
		use_base(s->planning, s->change);
	else if (plan != s->planning->plan)
		s->change->plan = plan;
}

/*
 * Without migrate: the plan in force goes on, with the ports' LIDs, and a port that comes
 * back gets its LID from LID history. The base stays beside it as it was made.
 */
static int stay(const struct planning *planning, const struct planning_request *request,
		bool grown, bool keep, struct planning_change *change,
		struct pm_error *err)
{
	struct staying s = {planning, request, change, false, grown, keep};
	int rc = grow_beside(&s, err);

	if (!rc && s.keep)
		rc = keep_used(&s, err);
	change->restore.now = request->fabric;
	change->restore.max_lid = request->max_lid;
	if (!rc && request->history)
		rc = restore(&s, err);
	if (!rc && s.grown)
		rc = return_to_origin(&s, err);
	if (!rc)
		use_made(&s);
	return rc;
}

/* ---- With and without migrate ---- */

/* Lists the planned LIDs of places: see struct planning. */
static int list_planned(const struct planning *planning, struct planning_change *change,
			struct pm_error *err)
{
	const struct pm_plan *base = base_to_be(planning, change);
	const struct pm_plan *plan = change->plan ? change->plan : planning->plan;
	uint32_t num = plan->topology->num_ports;

	if (plan == base || (!change->base && !change->plan))
		return 0;
	change->planned = pm_copy(plan->lid, num, sizeof(*change->planned));
	if (!change->planned)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < num; i++) {
		uint32_t port = plan->lid[i] ? pm_fabric_same_port(plan->topology, i,
								   base->topology)
					     : PM_NONE;

		if (port != PM_NONE && base->lid[port])
			change->planned[i] = base->lid[port];
	}
	return 0;
}

int planning_propose(const struct planning *planning,
		     const struct planning_request *request,
		     struct planning_change *change, struct pm_error *err)
{
	struct planning_change made = {0};
	bool keep = request->keep, grown;
	int rc = make_or_grow(planning, request, &made.base, &grown, &keep, err);

	if (!rc)
		rc = request->migrate ? drift(planning, request, grown, &made, err)
				      : stay(planning, request, grown, keep, &made, err);
	if (!rc && made.plan)
		rc = check_capacity(made.plan, request->max_lid, err);
	if (!rc)
		rc = list_planned(planning, &made, err);
	if (rc)
		planning_discard(planning, &made);
	else
		*change = made;
	return rc;
}

/* Frees a plan that is neither the base nor in force. */
static void drop_unless_kept(struct planning *planning, struct pm_plan *plan)
{
	if (plan != planning->base && plan != planning->plan)
		pm_plan_free(plan);
}

void planning_adopt(struct planning *planning, struct planning_change *change)
{
	struct planning now = *planning;

	planning->phase = PLANNING_SETTLED;
	if (!change->base && !change->plan)
		return;
	planning->base = base_to_be(&now, change);
	planning->plan = change->plan ? change->plan : now.plan;
	planning->last = NULL;
	drop_unless_kept(planning, now.base);
	drop_unless_kept(planning, now.last);
	if (now.plan != now.base)
		drop_unless_kept(planning, now.plan);
	free(now.planned);
	planning->planned = change->planned;
	planning->unsaved = true;
}

void planning_discard(const struct planning *planning, struct planning_change *change)
{
	if (change->plan != change->base && change->plan != planning->base &&
	    change->plan != planning->last)
		pm_plan_free(change->plan);
	pm_plan_free(change->base);
	free(change->planned);
}

static bool is_discovered(const struct pm_node *node, const uint8_t *discovered)
{
	for (uint32_t p = 1; p <= node->num_ports; p++)
		if (discovered[node->first_port + p])
			return true;
	return false;
}

void planning_count(struct planning *planning, const uint8_t *discovered)
{
	const struct pm_plan *plan = planning->plan;
	uint32_t count = 0;

	for (uint32_t sw = 0; planning->planned && sw < plan->topology->num_switches;
	     sw++) {
		const struct pm_node *node = &plan->topology->nodes[sw];

		for (uint32_t p = 0; p <= node->num_ports; p++) {
			uint32_t i = node->first_port + p;

			if (plan->lid[i] != planning->planned[i])
				count += p ? discovered[i]
					   : is_discovered(node, discovered);
		}
	}
	planning->out_of_plan = count;
}
