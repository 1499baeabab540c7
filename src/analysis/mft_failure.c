/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares multicast tables before and after a failure, or the return of what failed. */
#include <portmajor/analysis/mft_failure.h>

#include <portmajor/base/pool.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/multicast/mft_steps.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct failure {
	const struct pm_plan *plan;
	const struct pm_fabric *topology;
	uint32_t num; /* groups */
	struct pm_pool pool;
	struct pm_multicast *multicast;
	struct pm_mfts *installed, *wanted;
	struct pm_group *left;	     /* [group] with the remaining members, in .. */
	uint32_t *members;	     /* .. one array */
	struct pm_group_tree *trees; /* [group] */
	uint8_t *usable, *reachable; /* [port], [switch] */
	const uint8_t *reset;	     /* [switch] of a return; NULL: of a failure */
	uint32_t *part, *queue;
	struct pm_mft_steps steps;
};

/* Finds the component with the subnet manager. */
static uint32_t find_part(struct failure *f, uint32_t sm)
{
	uint32_t best = 0;

	pm_reach_parts(f->topology, f->usable, f->part, f->queue);
	if (sm != PM_NONE)
		return f->part[f->topology->ports[sm].node];
	memset(f->queue, 0, f->topology->num_switches * sizeof(*f->queue));
	for (uint32_t i = 0; i < f->topology->num_ports; i++)
		if (f->topology->ports[i].host && f->usable[i])
			f->queue[f->part[f->topology->ports[i].node]]++;
	for (uint32_t sw = 1; sw < f->topology->num_switches; sw++)
		if (f->queue[sw] > f->queue[best])
			best = sw;
	return best;
}

/* Keeps the groups' members that have not failed and can be reached. */
static void keep_members(struct failure *f, const struct pm_group *groups)
{
	uint32_t num = 0;

	for (uint32_t g = 0; g < f->num; g++) {
		f->left[g] = groups[g];
		f->left[g].members = f->members + num;
		f->left[g].num = 0;
		for (uint32_t i = 0; i < groups[g].num; i++) {
			uint32_t member = groups[g].members[i];
			const struct pm_port *port = &f->topology->ports[member];

			if (!f->reachable[port->node] ||
			    (port->num && !f->usable[member]))
				continue;
			f->members[num++] = member;
			f->left[g].num++;
		}
	}
}

static void fail_parts(struct failure *f, const struct pm_fabric *broken, uint32_t sm,
		       const struct pm_group *groups)
{
	uint32_t part;

	pm_plan_match(f->plan, broken, f->usable);
	part = find_part(f, sm);
	for (uint32_t sw = 0; sw < f->topology->num_switches; sw++)
		f->reachable[sw] = f->part[sw] == part;
	keep_members(f, groups);
}

static bool has_entries(const struct pm_mfts *mfts, uint32_t sw, uint32_t block)
{
	for (uint32_t p = 0; p < pm_mfts_num_positions(mfts, sw); p++) {
		const uint16_t *masks = pm_mfts_block(mfts, sw, block, p);

		for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
			if (masks[i])
				return true;
	}
	return false;
}

static uint64_t count_full_load(const struct failure *f)
{
	uint64_t sets = 0;

	for (uint32_t sw = 0; sw < f->topology->num_switches; sw++) {
		uint32_t blocks = f->reachable[sw] ? pm_mfts_num_blocks(f->wanted) : 0;

		while (blocks && !has_entries(f->wanted, sw, blocks - 1))
			blocks--;
		sets += (uint64_t)blocks * pm_mfts_num_positions(f->wanted, sw);
	}
	return sets;
}

static void report(struct failure *f, struct pm_mft_failure *result)
{
	*result = (struct pm_mft_failure){
		.blocks = f->steps.cells,
		.sets = f->steps.num,
		.ordered = f->steps.ordered,
		.longest = f->steps.longest,
		.full_load = count_full_load(f),
		.before = f->installed,
		.after = f->wanted,
	};
	f->installed = f->wanted = NULL;
	for (uint32_t g = 0; g < f->num; g++) {
		result->trees += f->trees[g].state != PM_GROUP_IDLE;
		result->down_and_up += f->trees[g].state == PM_GROUP_UNSERVED;
		result->left_out += f->trees[g].excluded;
	}
}

void pm_mft_failure_free(struct pm_mft_failure *failure)
{
	pm_mfts_free(failure->before);
	pm_mfts_free(failure->after);
	failure->before = failure->after = NULL;
}

static int allocate_copies(struct failure *f, const struct pm_group *groups,
			   struct pm_error *err)
{
	size_t members = 0;

	for (uint32_t g = 0; g < f->num; g++)
		members += groups[g].num;
	f->left = pm_pool_array(&f->pool, f->num, sizeof(*f->left));
	f->members = pm_pool_array(&f->pool, members, sizeof(*f->members));
	f->trees = pm_pool_array(&f->pool, f->num, sizeof(*f->trees));
	f->usable = pm_pool_array(&f->pool, f->topology->num_ports, 1);
	f->reachable = pm_pool_array(&f->pool, f->topology->num_switches, 1);
	f->part = pm_pool_array(&f->pool, f->topology->num_switches, sizeof(uint32_t));
	f->queue = pm_pool_array(&f->pool, f->topology->num_switches, sizeof(uint32_t));
	return pm_pool_check(&f->pool, err);
}

/*
 * Makes the trees of all groups as the plugin does: over any links where no switch
 * reaches all members by going down.
 */
static int route(struct failure *f, const struct pm_group *groups, struct pm_mfts **mfts,
		 struct pm_error *err)
{
	int rc = pm_multicast_route(f->multicast, groups, f->num, mfts, f->trees, err);

	for (uint32_t g = 0; !rc && g < f->num; g++)
		if (f->trees[g].state == PM_GROUP_UNSERVED &&
		    pm_multicast_span(f->multicast, &groups[g], *mfts))
			rc = pm_error_no_memory(err);
	return rc;
}

/* Routes all groups in the whole fabric, and those that are left in the failed one. */
static int route_both(struct failure *f, const struct pm_group *groups,
		      struct pm_error *err)
{
	struct pm_mfts **whole = f->reset ? &f->wanted : &f->installed;
	struct pm_mfts **failed = f->reset ? &f->installed : &f->wanted;
	int rc = f->reset ? 0 : route(f, groups, whole, err);

	if (rc)
		return rc;
	pm_multicast_set_links(f->multicast, f->usable);
	rc = route(f, f->left, failed, err);
	if (rc || !f->reset)
		return rc;
	pm_multicast_set_links(f->multicast, NULL);
	return route(f, groups, whole, err);
}

/* Links of switches that return with their tables count as down: nothing changes there.
 */
static void return_parts(struct failure *f)
{
	const struct pm_port *ports = f->topology->ports;

	for (uint32_t sw = 0; sw < f->topology->num_switches; sw++)
		f->reachable[sw] |= f->reset[sw];
	for (uint32_t i = 0; i < f->topology->num_ports; i++)
		f->usable[i] =
			f->reachable[ports[i].node] &&
			(ports[i].host || (ports[i].peer != PM_NONE &&
					   f->reachable[ports[ports[i].peer].node]));
}

/* Finds the Sets from the installed tables to the wanted ones. */
static int compare(struct failure *f, struct pm_error *err)
{
	const struct pm_mft_input input = {
		.topology = f->topology,
		.installed = f->installed,
		.wanted = f->wanted,
		.up = f->usable,
		.reachable = f->reachable,
		.end = PM_MFT_BLOCKS,
	};

	return pm_mft_steps_find(&input, &f->steps) ? pm_error_no_memory(err) : 0;
}

static int find(struct failure *f, const struct pm_fabric *broken, uint32_t sm,
		const struct pm_group *groups, struct pm_mft_failure *result,
		struct pm_error *err)
{
	const struct pm_multicast_config config = {0};
	int rc = allocate_copies(f, groups, err);

	if (!rc)
		rc = pm_multicast_new(f->plan, &config, &f->multicast, err);
	if (!rc) {
		fail_parts(f, broken, sm, groups);
		rc = route_both(f, groups, err);
	}
	if (!rc && f->reset)
		return_parts(f);
	if (!rc)
		rc = compare(f, err);
	if (!rc)
		report(f, result);
	pm_mft_steps_free(&f->steps);
	pm_mfts_free(f->installed);
	pm_mfts_free(f->wanted);
	pm_multicast_free(f->multicast);
	pm_pool_free(&f->pool);
	return rc;
}

int pm_mft_failure_find(const struct pm_plan *plan, const struct pm_fabric *broken,
			uint32_t sm, const struct pm_group *groups, uint32_t num,
			struct pm_mft_failure *result, struct pm_error *err)
{
	struct failure f = {.plan = plan, .topology = plan->topology, .num = num};

	return find(&f, broken, sm, groups, result, err);
}

int pm_mft_failure_undo(const struct pm_plan *plan, const struct pm_fabric *broken,
			uint32_t sm, const uint8_t *reset, const struct pm_group *groups,
			uint32_t num, struct pm_mft_failure *result, struct pm_error *err)
{
	struct failure f = {
		.plan = plan, .topology = plan->topology, .num = num, .reset = reset};

	return find(&f, broken, sm, groups, result, err);
}
