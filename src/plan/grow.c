/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes plans from plans: with the LIDs in use, grown, or with replaced parts. */
#include "plan_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>

/* The LID of the fabric's port at this place, or 0. */
static uint16_t lid_at(const struct pm_plan *plan, const struct pm_fabric *fabric,
		       uint32_t place)
{
	uint32_t port = plan_end_port(plan, fabric, place);

	return port == PM_NONE ? 0 : fabric->ports[port].lid;
}

/*
 * Finds for each plane of an older plan the plane of this one with the same up ports of
 * leaves. [plane of old] PM_NONE: there is none. The caller frees the array; NULL without
 * memory.
 */
static uint32_t *rename_planes(const struct pm_plan *plan, const struct pm_plan *old)
{
	uint32_t *renamed = pm_array(old->tree.num_planes, sizeof(*renamed));

	if (!renamed)
		return NULL;
	memset(renamed, 0xff, old->tree.num_planes * sizeof(*renamed));
	for (uint32_t i = 0; i < old->topology->num_ports; i++) {
		uint32_t port = pm_fabric_same_port(old->topology, i, plan->topology);
		uint32_t p = old->tree.plane[i];

		if (port != PM_NONE && p != PM_NONE && renamed[p] == PM_NONE)
			renamed[p] = plan->tree.plane[port];
	}
	return renamed;
}

/* Copies planes, LIDs and runs from an old plan. */
static int inherit(struct pm_plan *plan, const struct pm_plan *old, struct pm_error *err)
{
	uint32_t *renamed = rename_planes(plan, old);

	if (!renamed)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < old->topology->num_ports; i++) {
		uint32_t port = pm_fabric_same_port(old->topology, i, plan->topology);

		if (port == PM_NONE || !old->lid[i])
			continue;
		/* no slot any more: it has a link to a switch */
		if (old->topology->ports[i].num &&
		    plan->topology->ports[port].peer != PM_NONE)
			continue;
		plan_give_lids(plan, port, old->lid[i]);
		plan->base_plane[port] = old->base_plane[i];
		if (old->plane[i] != PM_NONE)
			plan->plane[port] = renamed[old->plane[i]];
	}
	plan->runs = pm_copy(old->runs, old->num_runs, sizeof(*plan->runs));
	if (!plan->runs) {
		free(renamed);
		return pm_error_no_memory(err);
	}
	plan->num_runs = old->num_runs;
	plan->adopted = old->adopted;
	for (uint32_t r = 0; r < plan->num_runs; r++)
		if (plan->runs[r].plane != PM_NONE)
			plan->runs[r].plane = renamed[plan->runs[r].plane];
	free(renamed);
	return 0;
}

/* Copies the data of places from a plan with the same ports. */
static int copy_places(struct pm_plan *plan, const struct pm_plan *old,
		       struct pm_error *err)
{
	uint32_t num = old->topology->num_ports;

	plan->adopted = old->adopted;
	memcpy(plan->lid, old->lid, num * sizeof(*plan->lid));
	memcpy(plan->plane, old->plane, num * sizeof(*plan->plane));
	memcpy(plan->base_plane, old->base_plane, num);
	memcpy(plan->rank, old->rank, num * sizeof(*plan->rank));
	memcpy(plan->owner, old->owner, (PM_MAX_LID + 1u) * sizeof(*plan->owner));
	plan->top_lid = old->top_lid;
	plan->num_runs = old->num_runs;
	plan->runs = pm_copy(old->runs, old->num_runs, sizeof(*plan->runs));
	return plan->runs ? 0 : pm_error_no_memory(err);
}

struct pm_plan *plan_clone(const struct pm_plan *plan, struct pm_error *err)
{
	struct pm_plan_config config = plan_config(plan);
	struct pm_plan *copy = plan_new(&config, pm_fabric_clone(plan->topology));

	if (!copy) {
		pm_error_no_memory(err);
		return NULL;
	}
	if (pm_tree_make(copy->topology, &copy->tree, err) ||
	    copy_places(copy, plan, err)) {
		pm_plan_free(copy);
		return NULL;
	}
	return copy;
}

/* An older plan, for places that keep their LIDs: see pm_plan_keep. */
struct older {
	const struct pm_plan *plan; /* or NULL */
	uint32_t *renamed;	    /* see rename_planes */
};

/* How a plan with the LIDs in use differs from the planned one. */
struct difference {
	uint32_t lids; /* places with another LID */
	bool planes;   /* a place with another plane, or another rank in it */
};

/*
 * Gives a place that keeps its LID the plane that this LID had, and all else that tables
 * depend on. Returns whether that differs from the plan.
 */
static bool keep_plane(struct pm_plan *plan, uint32_t place, const struct older *older)
{
	const struct pm_plan *old = older->plan;
	uint32_t was =
		old ? pm_fabric_same_port(plan->topology, place, old->topology) : PM_NONE;
	uint32_t plane;

	if (was == PM_NONE || old->lid[was] != plan->lid[place] ||
	    old->plane[was] == PM_NONE)
		return false;
	plane = older->renamed[old->plane[was]];
	if (plane == PM_NONE || (plane == plan->plane[place] &&
				 old->base_plane[was] == plan->base_plane[place] &&
				 old->rank[was] == plan->rank[place]))
		return false;
	plan->plane[place] = plane;
	plan->base_plane[place] = old->base_plane[was];
	plan->rank[place] = old->rank[was];
	return true;
}

/* Whether the fabric has a node at this place, with or without a LID. */
static bool is_there(const struct pm_fabric *fabric, const struct pm_fabric *topology,
		     uint32_t place)
{
	uint32_t port = pm_fabric_same_port(topology, place, fabric);

	return port != PM_NONE &&
	       (topology->ports[place].num == 0 || fabric->ports[port].peer != PM_NONE);
}

/*
 * Gives LIDs to ports that have none now, but none that is planned for another place: two
 * ports that come up one after the other could else keep each other from their LIDs for
 * ever. Until all ports have LIDs, unused LIDs stay with the ports that they were planned
 * for.
 */
static int give_unplanned(struct pm_plan *plan, const struct pm_plan *planned,
			  const struct pm_fabric *fabric, uint8_t *missing,
			  struct pm_error *err)
{
	int rc;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		missing[i] = !plan->lid[i] && planned->lid[i] &&
			     is_there(fabric, plan->topology, i);
	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++)
		if (plan->owner[lid] == PM_NONE)
			plan->owner[lid] = planned->owner[lid];
	rc = plan_give_missing(plan, missing, err);
	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++) {
		uint32_t i = plan->owner[lid];

		if (i != PM_NONE && (lid < plan->lid[i] ||
				     lid >= plan->lid[i] + pm_plan_num_lids(plan, i)))
			plan->owner[lid] = PM_NONE;
	}
	/* Without room, these places get any LID, like empty slots. */
	return rc == -ENOSPC ? 0 : rc;
}

/* Replaces planned LIDs by those in use. */
static int keep_used(struct pm_plan *plan, const struct pm_plan *planned,
		     const struct pm_fabric *fabric, const struct older *older,
		     struct difference *difference, struct pm_error *err)
{
	struct pm_pool pool = {0};
	uint8_t *kept = pm_pool_array(&pool, PM_MAX_LID + 1u, 1);
	uint8_t *is_place = pm_pool_array(&pool, plan->topology->num_ports, 1);
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint16_t lid = planned->lid[i] ? lid_at(plan, fabric, i) : 0;

		if (!lid || !plan_keep_place(plan, i, lid, kept))
			continue;
		difference->lids += planned->lid[i] != lid;
		difference->planes |= keep_plane(plan, i, older);
	}
	rc = give_unplanned(plan, planned, fabric, is_place, err);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		is_place[i] = planned->lid[i] != 0;
	if (!rc)
		rc = plan_give_missing(plan, is_place, err);
out:
	pm_pool_free(&pool);
	return rc;
}

int pm_plan_keep(const struct pm_plan *plan, const struct pm_fabric *fabric,
		 const struct pm_plan *before, struct pm_plan **kept, uint32_t *differ,
		 struct pm_error *err)
{
	struct pm_plan *copy = plan_clone(plan, err);
	struct difference difference = {0};
	struct older older = {before, NULL};
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	if (before) {
		older.renamed = rename_planes(copy, before);
		rc = older.renamed ? 0 : pm_error_no_memory(err);
	}
	if (!rc)
		rc = keep_used(copy, plan, fabric, &older, &difference, err);
	free(older.renamed);
	if (rc || (!difference.lids && !difference.planes)) {
		pm_plan_free(copy);
		copy = NULL;
	}
	if (rc)
		return rc;
	if (copy)
		plan_find_top(copy);
	*kept = copy;
	*differ = difference.lids;
	return 0;
}

/*
 * Finds the known switch that a new switch replaces: each link of the new switch to a
 * known one ends where the same port of the old switch ended, and the old switch is gone.
 * PM_NONE if there is none.
 */
static uint32_t find_replaced(const struct pm_fabric *topology,
			      const struct pm_fabric *now, uint32_t sw)
{
	uint32_t replaced = PM_NONE;

	pm_for_each_port(i, now, sw) {
		uint32_t remote = now->ports[i].peer, there, was;

		if (remote == PM_NONE || now->ports[remote].node >= now->num_switches)
			continue;
		if (pm_fabric_find_guid(topology,
					now->nodes[now->ports[remote].node].guid) ==
		    PM_NONE)
			continue; /* a new switch, too */
		there = pm_fabric_same_port(now, remote, topology);
		was = there == PM_NONE ? PM_NONE : topology->ports[there].peer;
		if (was == PM_NONE || topology->ports[was].num != now->ports[i].num ||
		    (replaced != PM_NONE && topology->ports[was].node != replaced))
			return PM_NONE;
		replaced = topology->ports[was].node;
	}
	if (replaced == PM_NONE ||
	    topology->nodes[replaced].num_ports != now->nodes[sw].num_ports ||
	    pm_fabric_find_guid(now, topology->nodes[replaced].guid) != PM_NONE)
		return PM_NONE;
	return replaced;
}

/*
 * Gives replaced switches the GUIDs of the new ones in their place. Takes several rounds:
 * of a new chassis, the switches next to the leaves are recognised first, then those
 * behind them.
 */
static int rename_replaced(struct pm_fabric *topology, const struct pm_fabric *now,
			   bool *renamed, struct pm_error *err)
{
	bool again = true;

	*renamed = false;
	while (again) {
		again = false;
		for (uint32_t sw = 0; sw < now->num_switches; sw++) {
			uint64_t guid = now->nodes[sw].guid;
			uint32_t replaced;
			int rc;

			if (pm_fabric_find_guid(topology, guid) != PM_NONE)
				continue;
			replaced = find_replaced(topology, now, sw);
			if (replaced == PM_NONE)
				continue;
			rc = pm_fabric_rename(topology, replaced, guid,
					      pm_fabric_name(now, sw), err);
			if (rc)
				return rc;
			*renamed = again = true;
		}
	}
	return 0;
}

/* Copies a plan, with the new GUIDs of replaced switches. */
static int rename_in_copy(const struct pm_plan *old, const struct pm_fabric *now,
			  struct pm_plan **copy, bool *renamed, struct pm_error *err)
{
	struct pm_plan_config config = plan_config(old);
	struct pm_plan *plan = plan_new(&config, pm_fabric_clone(old->topology));
	int rc;

	if (!plan)
		return pm_error_no_memory(err);
	rc = rename_replaced(plan->topology, now, renamed, err);
	if (!rc)
		rc = pm_tree_make(plan->topology, &plan->tree, err);
	if (!rc)
		rc = copy_places(plan, old, err);
	if (rc)
		pm_plan_free(plan);
	else
		*copy = plan;
	return rc;
}

/*
 * Lets new parts keep their LIDs, where these are free and within the present tables: a
 * part may have been here before, unknown to this plan.
 */
static void keep_newcomers(struct pm_plan *plan, const struct pm_plan *old,
			   const struct pm_fabric *now)
{
	uint32_t end = pm_plan_blocks(old) * PM_LFT_BLOCK;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t num = pm_plan_num_lids(plan, i);
		uint16_t lid;

		if (plan->lid[i] ||
		    (plan->topology->ports[i].num && !plan->topology->ports[i].host))
			continue;
		lid = lid_at(plan, now, i);
		if (lid && lid + num <= end && plan_is_free(plan, lid, num))
			plan_give_lids(plan, i, lid);
	}
}

/*
 * Gives new places the LIDs that another plan has for them, with their planes, where
 * these LIDs are free.
 */
static int take_planned(struct pm_plan *plan, const struct pm_plan *planned,
			struct pm_error *err)
{
	uint32_t *renamed = rename_planes(plan, planned);

	if (!renamed)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < planned->topology->num_ports; i++) {
		uint32_t lid = planned->lid[i], place;

		if (!lid)
			continue;
		place = pm_fabric_same_port(planned->topology, i, plan->topology);
		if (place == PM_NONE || plan->lid[place] ||
		    (plan->topology->ports[place].num &&
		     plan->topology->ports[place].peer != PM_NONE) ||
		    !plan_is_free(plan, lid, pm_plan_num_lids(plan, place)))
			continue;
		plan_give_lids(plan, place, lid);
		plan->base_plane[place] = planned->base_plane[i];
		if (planned->plane[i] != PM_NONE)
			plan->plane[place] = renamed[planned->plane[i]];
	}
	free(renamed);
	return 0;
}

/*
 * An absent port that is a compute port above the leaves was named by the operator (its
 * name is not kept) and stays one.
 */
static void keep_named(const struct pm_plan *old, const struct pm_fabric *now,
		       struct pm_fabric *merged)
{
	const struct pm_fabric *topology = old->topology;

	if (old->tree.levels_by != PM_BY_LEAVES &&
	    old->tree.levels_by != PM_BY_LARGE_LEAVES)
		return;
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t port = pm_fabric_same_port(topology, i, merged),
			 here = pm_fabric_same_port(topology, i, now);

		if (topology->ports[i].host == PM_COMPUTE && port != PM_NONE &&
		    !pm_tree_is_leaf(&old->tree, topology->ports[i].node) &&
		    (here == PM_NONE || !now->ports[here].host))
			merged->ports[port].named = 1;
	}
}

/* Makes a plan for the union of an old one and the fabric; planned may be NULL. */
static int extend(const struct pm_plan *old, const struct pm_plan *planned,
		  const struct pm_fabric *now, struct pm_plan **extended,
		  struct pm_error *err)
{
	struct pm_plan_config config = plan_config(old);
	struct pm_fabric *merged = NULL;
	struct pm_plan *plan;
	int rc = pm_fabric_merge(old->topology, now, &merged, err);

	if (rc)
		return rc;
	keep_named(old, now, merged);
	plan = plan_new(&config, merged);
	if (!plan)
		return pm_error_no_memory(err);
	rc = plan_find_tree(plan, err);
	if (!rc)
		rc = inherit(plan, old, err);
	if (!rc) {
		keep_newcomers(plan, old, now);
		rc = planned ? take_planned(plan, planned, err) : 0;
	}
	if (!rc)
		rc = plan_complete(plan, err);
	if (rc)
		pm_plan_free(plan);
	else
		*extended = plan;
	return rc;
}

int pm_plan_grow_beside(const struct pm_plan *old, const struct pm_plan *planned,
			const struct pm_fabric *now, struct pm_plan **grown,
			struct pm_error *err)
{
	uint8_t *usable = pm_array(old->topology->num_ports, 1);
	struct pm_plan *renamed = NULL, *more = NULL;
	bool any_renamed = false;
	int rc = 0;

	if (!usable)
		return pm_error_no_memory(err);
	if (pm_plan_match(old, now, usable))
		goto out;
	rc = rename_in_copy(old, now, &renamed, &any_renamed, err);
	if (rc)
		goto out;
	if (any_renamed && pm_plan_match(renamed, now, usable)) {
		more = renamed;
		renamed = NULL;
	} else {
		rc = extend(renamed, planned, now, &more, err);
	}
out:
	if (!rc)
		*grown = more;
	pm_plan_free(renamed);
	free(usable);
	return rc;
}

int pm_plan_grow(const struct pm_plan *plan, const struct pm_fabric *now,
		 struct pm_plan **grown, struct pm_error *err)
{
	return pm_plan_grow_beside(plan, NULL, now, grown, err);
}

int pm_plan_remake(const struct pm_plan *plan, const struct pm_fabric *now,
		   struct pm_plan **remade, struct pm_error *err)
{
	struct pm_plan_config config = plan_config(plan);
	struct pm_fabric *merged;
	int rc = pm_fabric_merge(plan->topology, now, &merged, err);

	if (rc)
		return rc;
	rc = pm_plan_make(merged, &config, remade, err);
	pm_fabric_free(merged);
	return rc;
}

bool plan_is_used(const struct pm_plan *plan, uint32_t place)
{
	return plan->topology->ports[place].num == 0 || plan->topology->ports[place].host;
}

int pm_plan_find_origin(const struct pm_plan *grown, const struct pm_fabric *now,
			struct pm_plan **origin, struct pm_error *err)
{
	struct pm_plan *fresh = NULL;
	int rc = pm_plan_remake(grown, now, &fresh, err);

	if (rc)
		return rc;
	*origin = NULL;
	for (uint32_t i = 0; i < grown->topology->num_ports; i++) {
		uint16_t lid = lid_at(grown, now, i);

		if (grown->lid[i] && plan_is_used(grown, i) &&
		    fresh->lid[i] != (lid ? lid : grown->lid[i])) {
			pm_plan_free(fresh);
			return 0;
		}
	}
	*origin = fresh;
	return 0;
}

void pm_plan_set_adopted(struct pm_plan *plan, bool adopted)
{
	plan->adopted = adopted;
}
