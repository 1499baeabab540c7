/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a plan in three steps: each place is assigned a plane, a rank in it, and then a
 * LID. A grown plan takes the same steps, with the planes and LIDs of the old plan
 * already filled in.
 */
#include <portmajor/base/alloc.h>
#include <portmajor/plan/plan.h>
#include <portmajor/plan/reachable.h>

#include "plan_parts.h"

#include <errno.h>
#include <stdatomic.h>

int plan_check_tree(struct pm_plan *plan, struct pm_error *err)
{
	struct pm_reachable reachable;
	struct pm_reach reach;
	struct pm_pool pool = {0};
	int rc;

	pm_reach_init(&plan->tree, &pool, &reach);
	rc = pm_pool_check(&pool, err);
	if (rc)
		goto out;
	pm_reach_compute(plan->topology, &plan->tree, NULL, &reach);
	rc = pm_reachable_find(plan->topology, &reach, NULL, &reachable, err);
	if (!rc && !pm_reachable_enough(&reachable))
		rc = pm_reachable_refuse(&reachable, plan->topology, &plan->tree, err);
out:
	pm_pool_free(&pool);
	return rc;
}

struct pm_plan_config plan_config(const struct pm_plan *plan)
{
	return (struct pm_plan_config){plan->order, plan->lmc};
}

struct pm_plan *plan_new(const struct pm_plan_config *config, struct pm_fabric *topology)
{
	struct pm_plan *plan = calloc(1, sizeof(*plan));

	if (!plan) {
		pm_fabric_free(topology);
		return NULL;
	}
	plan->order = config->order;
	plan->lmc = config->lmc;
	plan->topology = topology;
	if (!topology)
		goto fail;
	plan->lid = pm_pool_array(&plan->pool, topology->num_ports, sizeof(*plan->lid));
	plan->plane =
		pm_pool_array(&plan->pool, topology->num_ports, sizeof(*plan->plane));
	plan->base_plane = pm_pool_array(&plan->pool, topology->num_ports, 1);
	plan->rank = pm_pool_array(&plan->pool, topology->num_ports, sizeof(*plan->rank));
	plan->owner = pm_pool_array(&plan->pool, PM_MAX_LID + 1u, sizeof(*plan->owner));
	if (pm_pool_check(&plan->pool, NULL))
		goto fail;
	memset(plan->plane, 0xff, topology->num_ports * sizeof(*plan->plane));
	memset(plan->owner, 0xff, (PM_MAX_LID + 1u) * sizeof(*plan->owner));
	return plan;
fail:
	pm_plan_free(plan);
	return NULL;
}

const struct pm_plan *pm_plan_share(const struct pm_plan *plan)
{
	struct pm_plan *shared = (struct pm_plan *)(uintptr_t)plan;

	atomic_fetch_add(&shared->sharers, 1);
	return plan;
}

void pm_plan_free(struct pm_plan *plan)
{
	if (!plan || atomic_fetch_sub(&plan->sharers, 1))
		return;
	pm_tree_free(&plan->tree);
	pm_fabric_free(plan->topology);
	pm_pool_free(&plan->pool);
	free(plan->runs);
	free(plan);
}

int plan_complete(struct pm_plan *plan, struct pm_error *err)
{
	uint8_t *is_place = pm_array(plan->topology->num_ports, 1);
	bool fresh = true;
	int rc = is_place ? plan_find_places(plan, is_place, err)
			  : pm_error_no_memory(err);

	for (uint32_t i = 0; !rc && i < plan->topology->num_ports; i++) {
		if (!plan->lid[i])
			continue;
		is_place[i] = 1;
		fresh = false;
	}
	if (!rc)
		rc = plan_assign_planes(plan, is_place, err);
	/* Where aggregation nodes get their LIDs may change their planes. */
	if (!rc && fresh)
		rc = plan_lay_out(plan, is_place, err);
	if (!rc)
		rc = plan_find_ranks(plan, is_place, err);
	if (!rc)
		rc = plan_give_missing(plan, is_place, err);
	if (!rc)
		plan_find_top(plan);
	free(is_place);
	return rc;
}

int pm_plan_make(const struct pm_fabric *fabric, const struct pm_plan_config *config,
		 struct pm_plan **result, struct pm_error *err)
{
	struct pm_plan *plan;
	int rc;

	if (config->lmc > PM_MAX_LMC)
		return pm_error_set(err, -EINVAL, "LMC is %u, at most %u is supported",
				    config->lmc, PM_MAX_LMC);
	plan = plan_new(config, pm_fabric_skeleton(fabric));
	if (!plan)
		return pm_error_no_memory(err);
	rc = plan_find_tree(plan, err);
	if (!rc)
		rc = plan_complete(plan, err);
	if (rc)
		pm_plan_free(plan);
	else
		*result = plan;
	return rc;
}

static int restore_place(struct pm_plan *plan, const struct pm_plan_place *place,
			 uint8_t *is_place, struct pm_error *err)
{
	const struct pm_fabric *topology = plan->topology;
	const struct pm_port *p;

	if (place->port >= topology->num_ports)
		return pm_error_set(err, -EBADMSG, "place of LID %u: no such port",
				    place->lid);
	p = &topology->ports[place->port];
	if (is_place[place->port] || (p->num && p->peer != PM_NONE))
		return pm_error_set(err, -EBADMSG,
				    "LID %u: \"%s\"[%u] is no place or has a LID already",
				    place->lid, pm_fabric_label(topology, p->node),
				    p->num);
	if (!plan_is_free(plan, place->lid, pm_plan_num_lids(plan, place->port)))
		return pm_error_set(err, -EBADMSG, "LID %u is not free or out of range",
				    place->lid);
	if ((place->plane != PM_NONE && place->plane >= plan->tree.num_planes) ||
	    place->base_plane >= 1u << plan->lmc)
		return pm_error_set(err, -EBADMSG, "LID %u: no such plane", place->lid);
	is_place[place->port] = 1;
	plan->plane[place->port] = place->plane;
	plan->base_plane[place->port] = place->base_plane;
	plan->rank[place->port] = place->rank;
	plan_give_lids(plan, place->port, place->lid);
	return 0;
}

static int restore_all(struct pm_plan *plan, const struct pm_plan_place *places,
		       uint32_t num_places, const struct pm_run *runs, uint32_t num_runs,
		       uint8_t *is_place, struct pm_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < num_places && !rc; i++)
		rc = restore_place(plan, &places[i], is_place, err);
	for (uint32_t sw = 0; sw < plan->topology->num_switches && !rc; sw++)
		if (!plan->lid[plan->topology->nodes[sw].first_port])
			rc = pm_error_set(err, -EBADMSG, "switch \"%s\" has no LID",
					  pm_fabric_label(plan->topology, sw));
	for (uint32_t i = 0; i < num_runs && !rc; i++) {
		if (i && runs[i].start < runs[i - 1].start + runs[i - 1].length)
			rc = pm_error_set(err, -EBADMSG,
					  "run at LID %u: behind or in the one before",
					  runs[i].start);
		else if ((runs[i].plane != PM_NONE &&
			  runs[i].plane >= plan->tree.num_planes) ||
			 !runs[i].length)
			rc = pm_error_set(err, -EBADMSG,
					  "run at LID %u: no such plane, or empty",
					  runs[i].start);
		else
			rc = plan_add_run(plan, runs[i].start, runs[i].length,
					  runs[i].plane, err);
	}
	return rc;
}

int pm_plan_restore(const struct pm_plan_config *config, struct pm_fabric *skeleton,
		    const struct pm_plan_place *places, uint32_t num_places,
		    const struct pm_run *runs, uint32_t num_runs, struct pm_plan **result,
		    struct pm_error *err)
{
	struct pm_plan *plan = plan_new(config, skeleton);
	uint8_t *is_place = plan ? pm_array(plan->topology->num_ports, 1) : NULL;
	int rc;

	rc = is_place ? pm_tree_make(plan->topology, &plan->tree, err)
		      : pm_error_no_memory(err);
	if (!rc)
		rc = plan_check_tree(plan, err);
	if (!rc)
		rc = restore_all(plan, places, num_places, runs, num_runs, is_place, err);
	free(is_place);
	if (rc) {
		pm_plan_free(plan);
		return rc == -ENOMEM ? rc : -EBADMSG;
	}
	plan_find_top(plan);
	*result = plan;
	return 0;
}
