/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds hubs; hub.h says why they close no credit loop. */
#include <portmajor/base/bits.h>
#include <portmajor/fabric/hub.h>

void pm_hub_talking(const struct pm_fabric *skeleton, uint64_t *talking)
{
	for (uint32_t i = 0; i < skeleton->num_ports; i++)
		if (skeleton->ports[i].host && skeleton->ports[i].host != PM_AGGREGATION)
			pm_bits_set(talking, skeleton->ports[i].node);
}

/* Switches of a word that a switch needs a path to, but has no up-then-down path. */
static uint64_t find_lacking(const struct pm_reach *reach, const struct pm_hub_ends *ends,
			     uint32_t from, uint32_t w)
{
	const uint64_t *needed =
		pm_bits_test(ends->talking, from) ? ends->all : ends->talking;
	uint64_t lacking = needed[w] & ~pm_reach_updown(reach, from)[w];

	if (from / 64 == w)
		lacking &= ~((uint64_t)1 << from % 64);
	return lacking;
}

static uint64_t count_bits(uint64_t word)
{
	return (uint64_t)__builtin_popcountll(word);
}

static uint64_t weigh_hub(const struct pm_hub_ends *ends, uint32_t from, uint32_t to)
{
	return pm_bits_test(ends->talking, from) && pm_bits_test(ends->talking, to)
		       ? PM_HUB_TALKING
		       : PM_HUB_OTHER;
}

void pm_hub_count(const struct pm_tree *tree, const struct pm_reach *reach,
		  const struct pm_hub_ends *ends, const uint32_t *part,
		  struct pm_hub_pairs *pairs)
{
	*pairs = (struct pm_hub_pairs){.first = {PM_NONE, PM_NONE}};
	for (uint32_t from = 0; from < tree->num_switches; from++) {
		if (!pm_bits_test(ends->all, from))
			continue;
		for (uint32_t w = 0; w < reach->words; w++)
			for (uint64_t lacking = find_lacking(reach, ends, from, w);
			     lacking; lacking &= lacking - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lacking);

				if (part[from] != part[to])
					continue;
				if (!pairs->lacking++) {
					pairs->first[0] = from;
					pairs->first[1] = to;
				}
				pairs->leaves += pm_tree_is_leaf(tree, from) &&
						 pm_tree_is_leaf(tree, to);
				pairs->weight += weigh_hub(ends, from, to);
			}
	}
}

/* Whether a switch has links down to at most one switch that is the hub or above it. */
static bool has_one_side(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			 const uint8_t *usable, const struct pm_reach *reach,
			 uint32_t hub, uint32_t sw)
{
	uint32_t side = PM_NONE;

	pm_for_each_port(i, skeleton, sw) {
		uint32_t below = tree->remote[i];

		if (tree->direction[i] != PM_DOWN || (usable && !usable[i]) ||
		    !pm_bits_test(pm_reach_down(reach, below), hub))
			continue;
		if (side != PM_NONE && side != below)
			return false;
		side = below;
	}
	return true;
}

bool pm_hub_is_safe(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		    const uint8_t *usable, const struct pm_reach *reach, uint32_t hub)
{
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (sw != hub && pm_bits_test(pm_reach_down(reach, sw), hub) &&
		    !has_one_side(skeleton, tree, usable, reach, hub, sw))
			return false;
	return true;
}

uint64_t pm_hub_serves(const struct pm_tree *tree, const struct pm_reach *reach,
		       const struct pm_hub_ends *ends, uint32_t hub)
{
	const uint64_t *reached = pm_reach_updown(reach, hub);
	uint64_t weight = 0;

	for (uint32_t from = 0; from < tree->num_switches; from++) {
		uint64_t talks = pm_bits_test(ends->talking, from) ? ~UINT64_C(0) : 0;

		if (!pm_bits_test(ends->all, from) ||
		    !pm_bits_test(pm_reach_updown(reach, from), hub))
			continue;
		for (uint32_t w = 0; w < reach->words; w++) {
			uint64_t served = find_lacking(reach, ends, from, w) & reached[w];
			uint64_t talking = served & ends->talking[w] & talks;

			weight += count_bits(talking) * PM_HUB_TALKING +
				  count_bits(served & ~talking) * PM_HUB_OTHER;
		}
	}
	return weight;
}

uint32_t pm_hub_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		     const uint8_t *usable, const struct pm_reach *reach,
		     const struct pm_hub_ends *ends, uint64_t all, uint64_t *served)
{
	uint32_t best = PM_NONE;

	*served = 0;
	for (uint32_t i = 0; i < reach->num_by_level && *served < all; i++) {
		uint32_t sw = reach->by_level[i];
		uint64_t weight;

		/* Switches above an edge switch would have to turn up themselves. */
		if (tree->level[sw] < tree->leaf_level)
			continue;
		weight = pm_hub_serves(tree, reach, ends, sw);
		if (weight <= *served ||
		    !pm_hub_is_safe(skeleton, tree, usable, reach, sw))
			continue;
		*served = weight;
		best = sw;
	}
	return best;
}
