/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

#include <portmajor/take_out.h>

#include <portmajor/alloc.h>
#include <portmajor/bits.h>
#include <portmajor/reach.h>

#include <errno.h>

struct cut {
	struct pm_pool pool;
	const struct pm_plan *plan;
	uint8_t *alive;
	struct take_out *list;
	uint32_t num;
	uint64_t *ends;		   /* set of switches with end ports */
	struct pm_reach all, left; /* with all cables, and without some */
};

static int find_reach(struct cut *cut, struct pm_error *err)
{
	const struct pm_fabric *known = cut->plan->known;
	int rc;

	pm_reach_init(&cut->plan->tree, &cut->pool, &cut->all);
	pm_reach_init(&cut->plan->tree, &cut->pool, &cut->left);
	cut->ends = pm_pool_array(&cut->pool, cut->all.words, sizeof(*cut->ends));
	rc = pm_pool_check(&cut->pool, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < known->num_ports; i++)
		if (cut->alive[i] && known->ports[i].peer == PM_NONE)
			pm_bits_set(cut->ends, known->ports[i].node);
	pm_reach_compute(known, &cut->plan->tree, cut->alive, &cut->all);
	return 0;
}

/* Whether all pairs of switches with end ports have the paths still that they had. */
static bool all_joined(struct cut *cut)
{
	pm_reach_compute(cut->plan->known, &cut->plan->tree, cut->alive, &cut->left);
	for (uint32_t sw = 0; sw < cut->plan->known->num_switches; sw++) {
		const uint64_t *all = pm_reach_updown(&cut->all, sw);
		const uint64_t *left = pm_reach_updown(&cut->left, sw);

		if (!pm_bits_test(cut->ends, sw))
			continue;
		for (uint32_t w = 0; w < cut->all.words; w++)
			if (all[w] & ~left[w] & cut->ends[w])
				return false;
	}
	return true;
}

static void set_alive(struct cut *cut, uint32_t from, uint32_t to, uint8_t alive)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t port = cut->list[i].port;

		cut->alive[port] = alive;
		cut->alive[cut->plan->known->ports[port].peer] = alive;
	}
}

/* Takes cables from..to-1 out if no path is lost by that, else none of them. */
static bool take_out(struct cut *cut, uint32_t from, uint32_t to)
{
	set_alive(cut, from, to, 0);
	if (all_joined(cut))
		return true;
	set_alive(cut, from, to, 1);
	return false;
}

/*
 * The next cable that must stay; those before it are taken out. As taking out more never
 * brings a path, it is found by doubling the steps and then halving them. out..num-1
 * cannot all go.
 */
static uint32_t find_needed(struct cut *cut, uint32_t out)
{
	uint32_t step = 1, stuck;

	while (take_out(cut, out, out + step)) {
		out += step;
		step = 2 * step < cut->num - out ? 2 * step : cut->num - out;
	}
	stuck = out + step; /* out..stuck-1 cannot all go */
	while (stuck - out > 1) {
		uint32_t middle = out + (stuck - out) / 2;

		if (take_out(cut, out, middle))
			out = middle;
		else
			stuck = middle;
	}
	return out;
}

int take_out_all(const struct pm_plan *plan, uint8_t *alive, struct take_out *list,
		 uint32_t num, struct pm_error *err)
{
	struct cut cut = {.plan = plan, .alive = alive, .list = list, .num = num};
	uint32_t out = 0; /* up to here it is settled */
	int rc = 0;

	for (uint32_t i = 0; i < num; i++)
		list[i].needed = false;
	if (num)
		rc = find_reach(&cut, err);
	while (!rc && out < num && !take_out(&cut, out, num)) {
		out = find_needed(&cut, out);
		list[out++].needed = true;
	}
	pm_pool_free(&cut.pool);
	return rc;
}
