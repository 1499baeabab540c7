/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Covers of random graphs of few vertices against all possible covers. PM_SEED and
 * PM_ROUNDS as in test_properties.
 */
#include "cover.h"
#include "expect.h"
#include "recipe.h"

#include <stdlib.h>
#include <string.h>

#define MOST 14
#define MOST_HALVES 8 /* so many have all their halves looked at */

static uint64_t seed;

struct graph {
	uint32_t num;
	bool edge[MOST][MOST];
	uint32_t part[MOST]; /* the first vertex of its component */
	bool two_sides[MOST];
};

/* Some have two sides from the first, some are split, in some the first is isolated. */
static void draw(struct graph *g, struct random *random)
{
	unsigned int chance = 10 + random_below(random, 60);
	bool even = random_chance(random, 60), torn = random_chance(random, 30);
	bool alone = random_chance(random, 40);

	*g = (struct graph){.num = 1 + random_below(random, MOST)};
	for (uint32_t a = 0; a < g->num; a++)
		for (uint32_t b = alone; b < a; b++)
			if ((!even || a % 2 != b % 2) && (!torn || a % 3 == b % 3) &&
			    random_chance(random, chance))
				g->edge[a][b] = g->edge[b][a] = true;
}

/* Goes on to neighbours, on the other side; false: a vertex is on both sides. */
static bool color(struct graph *g, uint32_t v, uint32_t part, uint8_t side[MOST])
{
	bool even = true;

	g->part[v] = part;
	for (uint32_t y = 0; y < g->num; y++) {
		if (!g->edge[v][y])
			continue;
		if (!side[y]) {
			side[y] = (uint8_t)(3 - side[v]);
			even &= color(g, y, part, side);
		}
		even &= side[y] != side[v];
	}
	return even;
}

static void find_parts(struct graph *g)
{
	uint8_t side[MOST] = {0};

	for (uint32_t v = 0; v < g->num; v++)
		if (!side[v]) {
			side[v] = 1;
			g->two_sides[v] = color(g, v, v, side);
		}
}

/* Whether both ends of each edge have at least this sum. */
static bool covers(const struct graph *g, const uint8_t *value, unsigned int least)
{
	for (uint32_t a = 0; a < g->num; a++)
		for (uint32_t b = 0; b < a; b++)
			if (g->edge[a][b] && value[a] + value[b] < (int)least)
				return false;
	return true;
}

static uint32_t sum(const struct graph *g, const uint8_t *value, uint32_t part)
{
	uint32_t total = 0;

	for (uint32_t v = 0; v < g->num; v++)
		if (part == MOST || g->part[v] == part)
			total += value[v];
	return total;
}

/* The next of all values below `values`, or false. */
static bool next(const struct graph *g, uint8_t *value, unsigned int values)
{
	for (uint32_t v = 0; v < g->num; v++) {
		if (++value[v] < values)
			return true;
		value[v] = 0;
	}
	return false;
}

/* The least sum in a part, of numbers 0 to `most` of which an edge's ends have `most`. */
static uint32_t least(const struct graph *g, unsigned int most, uint32_t part)
{
	uint8_t value[MOST] = {0};
	uint32_t found = UINT32_MAX;

	do {
		uint32_t total = sum(g, value, part);

		if (total < found && covers(g, value, most))
			found = total;
	} while (next(g, value, most + 1));
	return found;
}

/* Whether a chosen vertex could be left out. */
static bool has_spare(const struct graph *g, uint8_t *chosen)
{
	bool spare = false;

	for (uint32_t v = 0; v < g->num && !spare; v++)
		if (chosen[v]) {
			chosen[v] = 0;
			spare = covers(g, chosen, 1);
			chosen[v] = 1;
		}
	return spare;
}

static void check(struct graph *g, uint8_t *chosen, uint32_t bound)
{
	EXPECT(covers(g, chosen, 1));
	if (g->num <= MOST_HALVES)
		EXPECT(bound == (least(g, 2, MOST) + 1) / 2);
	EXPECT(bound <= least(g, 1, MOST));
	EXPECT(sum(g, chosen, MOST) <= 2 * bound);
	EXPECT(!has_spare(g, chosen));
	find_parts(g);
	for (uint32_t v = 0; v < g->num; v++)
		if (g->part[v] == v && g->two_sides[v])
			EXPECT(sum(g, chosen, v) == least(g, 1, v));
}

static void test_random(void **state)
{
	uint64_t first = from_environment("PM_SEED", 20261690);
	uint64_t rounds = from_environment("PM_ROUNDS", 3000);

	for (seed = first; seed < first + rounds; seed++) {
		struct random random = {seed};
		struct pm_pool pool = {0};
		struct cover cover;
		struct graph g;
		uint8_t chosen[MOST] = {0};
		uint32_t bound;

		draw(&g, &random);
		cover_begin(&cover, g.num, &pool);
		for (uint32_t a = 0; a < g.num; a++)
			for (uint32_t b = 0; b < a; b++)
				if (g.edge[a][b])
					cover_join(&cover, a, b);
		cover_choose(&cover, chosen, &bound);
		check(&g, chosen, bound);
		pm_pool_free(&pool);
	}
}

/* More than a word of vertices: paths of three, whose middle ones are a cover. */
static void test_many(void **state)
{
	struct pm_pool pool = {0};
	struct cover cover;
	uint8_t chosen[300] = {0};
	uint32_t bound;

	cover_begin(&cover, 300, &pool);
	for (uint32_t v = 0; v < 100; v++) {
		cover_join(&cover, v, 100 + v);
		cover_join(&cover, 299 - v, 100 + v);
	}
	cover_choose(&cover, chosen, &bound);
	assert_int_equal(bound, 100);
	for (uint32_t v = 0; v < 300; v++)
		assert_int_equal(chosen[v], v >= 100 && v < 200);
	pm_pool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
