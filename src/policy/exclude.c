/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Excludes links from paths without cutting any pair off. */

#include <portmajor/policy/exclude.h>

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/fabric/reach.h>

#include <errno.h>

struct cut {
	struct pm_pool pool;
	const struct pm_plan *plan;
	uint8_t *usable;
	struct pm_exclusion *list;
	uint32_t num;
	uint64_t *ends;			 /* set of switches with end ports */
	struct pm_reach settled, left;	 /* before, after a try */
	struct pm_reach_failure failure; /* the difference of the two */
	uint32_t *ports;		 /* room for both ends of all links */
};

static int find_reach(struct cut *cut, struct pm_error *err)
{
	const struct pm_fabric *topology = cut->plan->topology;
	const struct pm_tree *tree = &cut->plan->tree;
	int rc;

	pm_reach_init(tree, &cut->pool, &cut->settled);
	pm_reach_init(tree, &cut->pool, &cut->left);
	pm_reach_failure_init(&cut->settled, tree->num_switches, &cut->pool,
			      &cut->failure);
	cut->ends = pm_pool_array(&cut->pool, cut->settled.words, sizeof(*cut->ends));
	cut->ports = pm_pool_array(&cut->pool, (size_t)cut->num * 2, sizeof(*cut->ports));
	rc = pm_pool_check(&cut->pool, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (cut->usable[i] && topology->ports[i].peer == PM_NONE)
			pm_bits_set(cut->ends, topology->ports[i].node);
	pm_reach_compute(topology, tree, cut->usable, &cut->settled);
	pm_reach_compute(topology, tree, cut->usable, &cut->left);
	return 0;
}

/* Whether all pairs of switches with end ports still have the paths that they had. */
static bool all_connected(const struct cut *cut)
{
	for (uint32_t i = 0; i < cut->failure.num_affected; i++) {
		uint32_t sw = cut->failure.affected[i];
		const uint64_t *before = pm_reach_updown(&cut->settled, sw);
		const uint64_t *left = pm_reach_updown(&cut->left, sw);

		if (!pm_bits_test(cut->ends, sw))
			continue;
		for (uint32_t w = 0; w < cut->left.words; w++)
			if (before[w] & ~left[w] & cut->ends[w])
				return false;
	}
	return true;
}

/* Lists both ends of links from..to-1. */
static uint32_t list_ports(struct cut *cut, uint32_t from, uint32_t to)
{
	uint32_t num = 0;

	for (uint32_t i = from; i < to; i++) {
		cut->ports[num++] = cut->list[i].port;
		cut->ports[num++] = cut->plan->topology->ports[cut->list[i].port].peer;
	}
	return num;
}

static void set_usable(struct cut *cut, uint32_t num_ports, uint8_t usable)
{
	for (uint32_t i = 0; i < num_ports; i++)
		cut->usable[cut->ports[i]] = usable;
}

/* Excludes links from..to-1 if every pair keeps a path, else none of them. */
static bool try_exclude(struct cut *cut, uint32_t from, uint32_t to)
{
	uint32_t num_ports = list_ports(cut, from, to);
	bool connected;

	set_usable(cut, num_ports, 0);
	pm_reach_fail(cut->plan->topology, &cut->plan->tree, cut->usable, cut->ports,
		      num_ports, &cut->left, &cut->failure);
	connected = all_connected(cut);
	if (connected) {
		pm_reach_restore(&cut->left, &cut->settled, &cut->failure);
	} else {
		set_usable(cut, num_ports, 1);
		pm_reach_restore(&cut->settled, &cut->left, &cut->failure);
	}
	return connected;
}

/*
 * Finds the next link that must stay, or num, and excludes all links before it. Excluding
 * more links never adds a path, so the search doubles its steps and then halves them.
 */
static uint32_t find_needed(struct cut *cut, uint32_t out)
{
	uint32_t step = 1, stuck;

	while (out < cut->num && try_exclude(cut, out, out + step)) {
		out += step;
		step = 2 * step < cut->num - out ? 2 * step : cut->num - out;
	}
	stuck = out + step; /* out..stuck-1 cannot all be excluded */
	while (stuck - out > 1) {
		uint32_t middle = out + (stuck - out) / 2;

		if (try_exclude(cut, out, middle))
			out = middle;
		else
			stuck = middle;
	}
	return out;
}

int pm_exclude(const struct pm_plan *plan, uint8_t *usable, struct pm_exclusion *list,
	       uint32_t num, struct pm_error *err)
{
	struct cut cut = {.plan = plan, .usable = usable, .list = list, .num = num};
	int rc = 0;

	for (uint32_t i = 0; i < num; i++)
		list[i].needed = false;
	if (num)
		rc = find_reach(&cut, err);
	for (uint32_t out = 0; !rc && out < num; out++) {
		out = find_needed(&cut, out);
		if (out < num)
			list[out].needed = true;
	}
	pm_pool_free(&cut.pool);
	return rc;
}
