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

/* Whether a switch has a level, and is no leaf. */
static bool is_upper(const struct pm_tree *tree, uint32_t sw)
{
	return tree->level[sw] != PM_NO_LEVEL && !pm_tree_is_leaf(tree, sw);
}

/* Talking switches of a word that a switch has no up-then-down path to. */
static uint64_t find_lacking(const struct pm_reach *reach, const uint64_t *talking,
			     uint32_t from, uint32_t w)
{
	uint64_t lacking = talking[w] & ~pm_reach_updown(reach, from)[w];

	if (from / 64 == w)
		lacking &= ~((uint64_t)1 << from % 64);
	return lacking;
}

static void add_pair(const struct pm_tree *tree, uint32_t from, uint32_t to,
		     struct pm_hub_pairs *pairs)
{
	if (!pairs->lacking++) {
		pairs->first[0] = from;
		pairs->first[1] = to;
	}
	pairs->upper += is_upper(tree, from) || is_upper(tree, to);
}

void pm_hub_count(const struct pm_tree *tree, const struct pm_reach *reach,
		  const uint64_t *talking, const uint32_t *part,
		  struct pm_hub_pairs *pairs)
{
	*pairs = (struct pm_hub_pairs){.first = {PM_NONE, PM_NONE}};
	for (uint32_t from = 0; from < tree->num_switches; from++) {
		if (!pm_bits_test(talking, from))
			continue;
		for (uint32_t w = 0; w < reach->words; w++)
			for (uint64_t lacking = find_lacking(reach, talking, from, w);
			     lacking; lacking &= lacking - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lacking);

				if (part[from] == part[to])
					add_pair(tree, from, to, pairs);
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
		       const uint64_t *talking, uint32_t hub)
{
	const uint64_t *reached = pm_reach_updown(reach, hub);
	uint64_t count = 0;

	for (uint32_t from = 0; from < tree->num_switches; from++) {
		if (!pm_bits_test(talking, from) ||
		    !pm_bits_test(pm_reach_updown(reach, from), hub))
			continue;
		for (uint32_t w = 0; w < reach->words; w++)
			for (uint64_t served =
				     find_lacking(reach, talking, from, w) & reached[w];
			     served; served &= served - 1)
				count +=
					is_upper(tree, from) ||
					is_upper(tree, w * 64 + (uint32_t)__builtin_ctzll(
									served));
	}
	return count;
}

uint32_t pm_hub_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		     const struct pm_reach *reach, const uint64_t *talking,
		     uint64_t pairs)
{
	for (uint32_t i = 0; i < reach->num_by_level; i++) {
		uint32_t sw = reach->by_level[i];

		/* Switches above an edge switch would have to turn up themselves. */
		if (tree->level[sw] >= tree->leaf_level &&
		    pm_hub_serves(tree, reach, talking, sw) == pairs &&
		    pm_hub_is_safe(skeleton, tree, NULL, reach, sw))
			return sw;
	}
	return PM_NONE;
}
