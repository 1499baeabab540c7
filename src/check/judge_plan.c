/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares LIDs and tables with those of a plan. */
#include "judge_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>

/* The largest LMC of the fabric's ports. */
static uint8_t used_lmc(const struct pm_fabric *fabric)
{
	uint8_t lmc = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].node >= fabric->num_switches &&
		    fabric->ports[i].lmc > lmc)
			lmc = fabric->ports[i].lmc;
	return lmc < PM_MAX_LMC ? lmc : PM_MAX_LMC;
}

/* Finds LIDs with entries that have neither an owner nor a place in the plan. */
static void find_unknown_lids(struct judge *j, const struct pm_plan *plan)
{
	uint32_t count = 0, first = 0;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++) {
		if (!pm_bits_test(j->has_entry, lid) || pm_bits_test(j->in_use, lid) ||
		    (lid <= plan->top_lid && plan->owner[lid] != PM_NONE))
			continue;
		if (!count++)
			first = lid;
	}
	judge_find(
		j, PM_FOUND_UNKNOWN_LID, count,
		"%u %s entries and no place, neither in the topology nor in the plan: %u",
		count, count == 1 ? "LID has" : "LIDs have", first);
}

/*
 * Compares a switch's table with the planned one, for LIDs with an owner only: a partial
 * file need not have entries of empty places. installed and wanted are room for tables.
 */
static void compare_table(struct judge *j, uint32_t sw, const uint8_t *planned,
			  uint32_t stride, uint8_t *installed)
{
	uint8_t *wanted = installed + stride;

	memset(installed, PM_LFT_KEEP, stride);
	memcpy(installed, j->table[sw], j->top[sw] < stride ? j->top[sw] + 1u : stride);
	for (uint32_t lid = 0; lid < stride; lid++)
		wanted[lid] = j->lfts->whole || pm_bits_test(j->in_use, lid)
				      ? planned[lid]
				      : PM_LFT_KEEP;
	pm_delta_add(&j->found.delta, installed, wanted, stride);
}

static int compare_tables(struct judge *j, const struct pm_plan *plan,
			  const struct pm_routes *routes, struct pm_error *err)
{
	uint32_t stride = pm_routes_stride(routes);
	uint8_t *installed = pm_array(2 * (size_t)stride, 1);

	if (!installed)
		return pm_error_no_memory(err);
	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++) {
		uint32_t node =
			pm_fabric_find_guid(plan->topology, j->fabric->nodes[sw].guid);

		if (j->table[sw] && node != PM_NONE)
			compare_table(j, sw, pm_routes_table(routes, node), stride,
				      installed);
	}
	free(installed);
	return 0;
}

/* Makes a plan's tables for the links in use. The caller frees *routes. */
static int make_routes(struct judge *j, const struct pm_plan *plan,
		       struct pm_routes **routes, struct pm_error *err)
{
	const struct pm_judge_config *config = j->config;
	uint32_t num = plan->topology->num_ports;
	uint8_t *there, *usable;
	int rc;

	if (!config->use)
		return pm_routes_make_for(plan, j->fabric, j->sm, config->connect_roots,
					  routes, err);
	there = pm_array(2 * (size_t)num + 2, 1);
	if (!there)
		return pm_error_no_memory(err);
	usable = there + num + 1u;
	pm_plan_match(plan, j->fabric, there);
	rc = config->use(config->context, there, usable, err);
	if (!rc)
		rc = pm_routes_make(plan, routes, err);
	if (!rc)
		pm_routes_update(
			*routes, usable,
			&(struct pm_detours){
				.sm = j->sm == PM_NONE
					      ? PM_NONE
					      : pm_plan_place(plan, j->fabric, j->sm),
				.switches = config->connect_roots,
				.extra = there});
	free(there);
	return rc;
}

/* Compares tables with a plan that has the LIDs in use. */
static int compare_plan(struct judge *j, const struct pm_plan *plan, struct pm_error *err)
{
	struct pm_routes *routes = NULL;
	int rc = make_routes(j, plan, &routes, err);

	if (!rc && j->config->plan && !j->config->compare_only)
		find_unknown_lids(j, plan);
	if (!rc)
		rc = compare_tables(j, plan, routes, err);
	pm_routes_free(routes);
	j->found.planned = !rc;
	return rc;
}

int judge_make_plan(struct judge *j, struct pm_error *err)
{
	const struct pm_fabric *whole = j->config->whole;
	struct pm_plan_config config = j->config->plan_config;
	int rc;

	if (j->config->lmc_of_ports)
		config.lmc = used_lmc(j->fabric);
	rc = pm_plan_make(whole ? whole : j->fabric, &config, &j->made,
			  &j->found.unplanned);
	return rc == -ENOMEM ? pm_error_no_memory(err) : 0;
}

/*
 * Finds a plan with the LIDs in use as far as possible: with planned LIDs, every entry of
 * a LID out of plan would be another finding. If there is no plan, the reason goes to
 * found.unplanned, unless memory ran out.
 */
static int find_plan(struct judge *j, struct pm_plan **kept)
{
	const struct pm_plan *plan = j->config->plan ? j->config->plan : j->made;

	if (!plan)
		return -EINVAL;
	if (j->config->whole && !j->config->plan && !pm_plan_fits(plan, j->fabric))
		return pm_error_set(&j->found.unplanned, -EINVAL,
				    "%s is no part of the whole fabric",
				    j->config->topology);
	return pm_plan_keep(plan, j->fabric, j->config->in_force, kept,
			    &j->found.lids_differ, &j->found.unplanned);
}

static void judge_differences(struct judge *j)
{
	const struct pm_judgement *found = &j->found;

	judge_find(j, PM_FOUND_NO_PLAN, !found->planned, "no plan: %s",
		   found->unplanned.text);
	judge_find(j, PM_FOUND_LID_OUT_OF_PLAN, found->lids_differ,
		   "%u %s no planned LID", found->lids_differ,
		   found->lids_differ == 1 ? "port has" : "ports have");
	judge_find(j, PM_FOUND_ENTRY_OUT_OF_PLAN, found->delta.entries,
		   "%" PRIu64 " %s not as planned for these LIDs, in %" PRIu64
		   " block%s of %" PRIu64 " switch%s",
		   found->delta.entries,
		   found->delta.entries == 1 ? "entry is" : "entries are",
		   found->delta.blocks, found->delta.blocks == 1 ? "" : "s",
		   found->delta.switches, found->delta.switches == 1 ? "" : "es");
}

int judge_plan(struct judge *j, struct pm_error *err)
{
	struct pm_plan *kept = NULL;
	int rc = find_plan(j, &kept);

	if (rc == -ENOMEM)
		pm_error_no_memory(err);
	else if (rc)
		rc = 0; /* there is no plan */
	else
		rc = compare_plan(j,
				  kept		    ? kept
				  : j->config->plan ? j->config->plan
						    : j->made,
				  err);
	pm_plan_free(kept);
	if (!rc && (j->config->conform || (j->config->plan && !j->config->compare_only)))
		judge_differences(j);
	return rc;
}
