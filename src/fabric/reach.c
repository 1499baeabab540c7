/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/reach.h>
#include <portmajor/bits.h>
#include <portmajor/search.h>

#include <string.h>

/* Counting sort; switches without a level are left out. */
static void sort_by_level(const struct pm_tree *tree, struct pm_reach *reach)
{
	uint32_t at = 0;

	for (unsigned int level = 0; level <= tree->top_level; level++)
		for (uint32_t i = 0; i < tree->num_switches; i++)
			if (tree->level[i] == level)
				reach->by_level[at++] = i;
	reach->num_by_level = at;
}

void pm_reach_init(const struct pm_tree *tree, struct pm_pool *pool,
		   struct pm_reach *reach)
{
	uint32_t words = pm_bits_words(tree->num_switches);
	size_t cells = (size_t)words * tree->num_switches;

	*reach = (struct pm_reach){
		.words = words,
		.down = pm_pool_array(pool, cells, sizeof(uint64_t)),
		.updown = pm_pool_array(pool, cells, sizeof(uint64_t)),
		.by_level = pm_pool_array(pool, tree->num_switches, sizeof(uint32_t)),
	};
	if (reach->by_level)
		sort_by_level(tree, reach);
}

/* Adds to set[x] the set of every neighbour of x in one direction. */
static void gather(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		   const uint8_t *alive, uint8_t direction, uint32_t x, uint64_t *sets,
		   uint32_t words)
{
	uint32_t last = PM_NONE;

	pm_for_each_port(i, skeleton, x) {
		uint32_t y;

		if (tree->direction[i] != direction || (alive && !alive[i]))
			continue;
		y = pm_fabric_peer_node(skeleton, i);
		/* A parallel cable adds nothing. */
		if (y == last)
			continue;
		last = y;
		pm_bits_or(sets + (size_t)x * words, sets + (size_t)y * words, words);
	}
}

void pm_reach_compute(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      const uint8_t *alive, struct pm_reach *reach)
{
	uint32_t words = reach->words;
	size_t bytes = (size_t)words * tree->num_switches * sizeof(uint64_t);

	memset(reach->down, 0, bytes);
	for (uint32_t i = 0; i < reach->num_by_level; i++) {
		uint32_t x = reach->by_level[i];

		pm_bits_set(reach->down + (size_t)x * words, x);
		gather(skeleton, tree, alive, PM_DOWN, x, reach->down, words);
	}
	memcpy(reach->updown, reach->down, bytes);
	for (uint32_t i = reach->num_by_level; i-- > 0;)
		gather(skeleton, tree, alive, PM_UP, reach->by_level[i], reach->updown,
		       words);
}

/* Whether a cable in this direction is lost or the set behind one has changed. */
static bool is_stirred(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		       const uint8_t *alive, uint8_t direction, uint32_t x,
		       const uint8_t *changed, uint8_t flag)
{
	pm_for_each_port(i, skeleton, x)
		if (tree->direction[i] == direction &&
		    (!alive[i] || changed[pm_fabric_peer_node(skeleton, i)] & flag))
			return true;
	return false;
}

/* Corrects what x reaches going down where that may not be the set of `whole`. */
static void gather_down_since(const struct pm_fabric *skeleton,
			      const struct pm_tree *tree, const uint8_t *alive,
			      uint32_t x, const struct pm_reach *whole,
			      struct pm_reach *reach, uint8_t *changed)
{
	size_t at = (size_t)x * reach->words, bytes = reach->words * sizeof(uint64_t);

	if (!is_stirred(skeleton, tree, alive, PM_DOWN, x, changed, PM_REACH_DOWN))
		return;
	memset(reach->down + at, 0, bytes);
	pm_bits_set(reach->down + at, x);
	gather(skeleton, tree, alive, PM_DOWN, x, reach->down, reach->words);
	if (memcmp(reach->down + at, whole->down + at, bytes))
		changed[x] |= PM_REACH_DOWN;
}

void pm_reach_compute_since(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			    const uint8_t *alive, const struct pm_reach *whole,
			    struct pm_reach *reach, uint8_t *changed)
{
	size_t bytes = reach->words * sizeof(uint64_t);

	memset(changed, 0, tree->num_switches);
	memcpy(reach->down, whole->down, bytes * tree->num_switches);
	memcpy(reach->updown, whole->updown, bytes * tree->num_switches);
	for (uint32_t i = 0; i < reach->num_by_level; i++)
		gather_down_since(skeleton, tree, alive, reach->by_level[i], whole, reach,
				  changed);
	for (uint32_t i = reach->num_by_level; i-- > 0;) {
		uint32_t x = reach->by_level[i];
		size_t at = (size_t)x * reach->words;

		if (!(changed[x] & PM_REACH_DOWN) &&
		    !is_stirred(skeleton, tree, alive, PM_UP, x, changed,
				PM_REACH_UPDOWN))
			continue;
		memcpy(reach->updown + at, reach->down + at, bytes);
		gather(skeleton, tree, alive, PM_UP, x, reach->updown, reach->words);
		if (memcmp(reach->updown + at, whole->updown + at, bytes))
			changed[x] |= PM_REACH_UPDOWN;
	}
}

static bool is_alive(const void *alive, uint32_t port)
{
	return ((const uint8_t *)alive)[port];
}

void pm_reach_parts(const struct pm_fabric *fabric, const uint8_t *alive, uint32_t *part,
		    uint32_t *queue)
{
	struct pm_search search = {.fabric = fabric, .queue = queue, .by = part};

	pm_search_begin(&search);
	for (uint32_t node = 0; node < fabric->num_nodes; node++)
		if (pm_search_start(&search, node))
			pm_search_run(&search, alive ? is_alive : NULL, alive);
	pm_search_origins(&search);
}
