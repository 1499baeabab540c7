/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/reach.h>

static bool has(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

struct ground {
	struct pm_fabric *fabric, *skeleton;
	struct pm_tree tree;
	struct pm_pool pool;
	struct pm_reach reach;
	uint8_t *usable;
};

static void make(struct ground *g, struct pm_fabric *fabric)
{
	g->fabric = fabric;
	g->skeleton = pm_fabric_skeleton(fabric);
	assert_non_null(g->skeleton);
	assert_int_equal(pm_tree_make(g->skeleton, &g->tree, NULL), 0);
	g->pool = (struct pm_pool){0};
	pm_reach_init(&g->tree, &g->pool, &g->reach);
	assert_int_equal(pm_pool_check(&g->pool, NULL), 0);
	g->usable = malloc(g->skeleton->num_ports + 1u);
	assert_non_null(g->usable);
	memset(g->usable, 1, g->skeleton->num_ports);
}

static void free_ground(struct ground *g)
{
	pm_pool_free(&g->pool);
	pm_tree_free(&g->tree);
	pm_fabric_free(g->skeleton);
	pm_fabric_free(g->fabric);
	free(g->usable);
}

static void lose(struct ground *g, const char *sw, unsigned int port)
{
	uint32_t at = world_port(g->skeleton, sw, port);

	g->usable[at] = g->usable[g->skeleton->ports[at].peer] = 0;
}

/*
 *    t         Two pods, l0 l1 and l2, below p and q; x hangs on l1 alone.
 *   / \
 *  p   q   x
 *  |\   \  |
 *  | \---\-l1
 *  l0     l2
 */
#define DRAWING                                                                           \
	"l0/3 l1/4 l2/3 p/3 q/3 t/3 x/2 l0:1=a l1:1=b l2:1=c l0:2=p:1 l1:2=p:2 l2:2=q:1 " \
	"p:3=t:1 q:3=t:2 l1:3=x:1"

/* Per switch, in the order drawn, what it reaches: a letter for each. */
struct row {
	const char *name;
	const char *failed[5]; /* switch:port */
	const char *down[7], *updown[7];
};

static const char letters[] = "abcpqtx";

static const struct row rows[] = {
	{"whole",
	 {NULL},
	 {"a", "b", "c", "abp", "cq", "abcpqt", "bx"},
	 {"abcpqt", "abcpqtx", "abcpqt", "abcpqt", "abcpqt", "abcpqt", "bx"}},
	{"p and t apart",
	 {"p:3"},
	 {"a", "b", "c", "abp", "cq", "cqt", "bx"},
	 {"abp", "abpx", "cqt", "abp", "cqt", "cqt", "bx"}},
	{"l0 alone",
	 {"l0:2"},
	 {"a", "b", "c", "bp", "cq", "bcpqt", "bx"},
	 {"a", "bcpqtx", "bcpqt", "bcpqt", "bcpqt", "bcpqt", "bx"}},
	{"nothing left",
	 {"l0:2", "t:1", "t:2", "l1:2", "l1:3"},
	 {"a", "b", "c", "p", "cq", "t", "x"},
	 {"a", "b", "cq", "p", "cq", "t", "x"}},
};

static void fail_all(struct ground *g, const char *const *failed)
{
	for (int i = 0; i < 5 && failed[i]; i++) {
		char name[8];
		unsigned int port;

		assert_int_equal(sscanf(failed[i], "%7[^:]:%u", name, &port), 2);
		lose(g, name, port);
	}
}

static void check_sets(const struct row *row, const char *what,
		       const char *const *expected, const uint64_t *sets, uint32_t words)
{
	for (uint32_t sw = 0; sw < 7; sw++) {
		char text[8] = "";
		uint32_t count = 0;

		for (uint32_t to = 0; to < 7; to++)
			if (has(sets + (size_t)sw * words, to))
				text[count++] = letters[to];
		if (strcmp(text, expected[sw]))
			fail_msg("%s: %s of %c is %s, not %s", row->name, what,
				 letters[sw], text, expected[sw]);
	}
}

static void test_drawing(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct ground g;

		make(&g, recipe_draw(DRAWING));
		fail_all(&g, rows[i].failed);
		pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
		check_sets(&rows[i], "down", rows[i].down, g.reach.down, g.reach.words);
		check_sets(&rows[i], "updown", rows[i].updown, g.reach.updown,
			   g.reach.words);
		free_ground(&g);
	}
}

/* From the sets of the whole, the same sets come, and the flags tell which differ. */
static void check_since(const struct ground *g)
{
	size_t bytes = g->reach.words * sizeof(uint64_t);
	struct pm_pool pool = {0};
	struct pm_reach whole, since;
	struct pm_reach_failure failure;
	uint32_t ports[128], num = 0, count = g->tree.num_switches;
	uint8_t changed[72];

	pm_reach_init(&g->tree, &pool, &whole);
	pm_reach_init(&g->tree, &pool, &since);
	assert_int_equal(pm_pool_check(&pool, NULL), 0);
	pm_reach_compute(g->skeleton, &g->tree, NULL, &whole);
	pm_reach_compute_since(g->skeleton, &g->tree, g->usable, &whole, &since, changed);
	assert_memory_equal(since.down, g->reach.down, count * bytes);
	assert_memory_equal(since.updown, g->reach.updown, count * bytes);
	/* Twice, as nothing may be left of the first time. */
	for (uint32_t i = 0; i < g->skeleton->num_ports; i++)
		if (g->skeleton->ports[i].peer != PM_NONE && !g->usable[i])
			ports[num++] = i;
	pm_reach_failure_init(&since, count, &pool, &failure);
	assert_int_equal(pm_pool_check(&pool, NULL), 0);
	for (int i = 0; i < 2; i++) {
		memcpy(since.down, whole.down, count * bytes);
		memcpy(since.updown, whole.updown, count * bytes);
		pm_reach_fail(g->skeleton, &g->tree, g->usable, ports, num, &since,
			      &failure);
		assert_memory_equal(since.down, g->reach.down, count * bytes);
		assert_memory_equal(since.updown, g->reach.updown, count * bytes);
		assert_memory_equal(failure.changed, changed, count);
		pm_reach_restore(&whole, &since, &failure);
		assert_memory_equal(since.down, whole.down, count * bytes);
		assert_memory_equal(since.updown, whole.updown, count * bytes);
	}
	for (uint32_t sw = 0; sw < count; sw++) {
		size_t at = (size_t)sw * g->reach.words;
		int flags = (memcmp(g->reach.down + at, whole.down + at, bytes)
				     ? PM_REACH_DOWN
				     : 0) |
			    (memcmp(g->reach.updown + at, whole.updown + at, bytes)
				     ? PM_REACH_UPDOWN
				     : 0);

		assert_int_equal(changed[sw], flags);
	}
	pm_pool_free(&pool);
}

/* Every set of failed cables of the drawing. */
static void test_since(void **state)
{
	static const struct {
		const char *name;
		unsigned int port;
	} links[] = {{"p", 1}, {"p", 2}, {"q", 1}, {"p", 3}, {"q", 3}, {"l1", 3}};

	for (unsigned int set = 0; set < 1u << LENGTH(links); set++) {
		struct ground g;

		make(&g, recipe_draw(DRAWING));
		for (unsigned int i = 0; i < LENGTH(links); i++)
			if (set >> i & 1)
				lose(&g, links[i].name, links[i].port);
		pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
		check_since(&g);
		free_ground(&g);
	}
}

/* Without marks all cables count, and what was lost before is forgotten. */
static void test_no_marks(void **state)
{
	struct ground g;

	make(&g, recipe_draw(DRAWING));
	lose(&g, "p", 3);
	pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
	pm_reach_compute(g.skeleton, &g.tree, NULL, &g.reach);
	check_sets(&rows[0], "down", rows[0].down, g.reach.down, g.reach.words);
	check_sets(&rows[0], "updown", rows[0].updown, g.reach.updown, g.reach.words);
	free_ground(&g);
}

static void test_parallel(void **state)
{
	struct ground g;

	make(&g, recipe_draw("l0/3 l1/2 s/3 l0:1=a l1:1=b l0:2=s:1 l0:3=s:2 l1:2=s:3"));
	lose(&g, "l0", 2);
	pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
	assert_true(has(pm_reach_updown(&g.reach, 0), 1));
	assert_true(has(pm_reach_down(&g.reach, 2), 0));
	lose(&g, "l0", 3);
	pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
	assert_false(has(pm_reach_updown(&g.reach, 0), 1));
	assert_false(has(pm_reach_down(&g.reach, 2), 0));
	free_ground(&g);
}

/* Two words and more: 70 leaves under two spines; from the i-th leaf to the j-th. */
static void test_many_words(void **state)
{
	struct recipe_xgft shape = {2, 1, {0, 70}, {2}, {1, 1}};
	struct recipe recipe = {0};
	struct ground g;

	recipe_add_xgft(&recipe, &shape);
	make(&g, recipe_build(&recipe, NULL));
	assert_int_equal(g.reach.words, 2);
	/* Every third leaf loses spine 0, and the 69th spine 1. */
	for (unsigned int p = 1; p <= 70; p += 3)
		lose(&g, "sw1-0", p);
	lose(&g, "sw1-1", 69);
	pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
	for (uint32_t a = 0; a < 70; a++) {
		for (uint32_t b = 0; b < 70; b++)
			assert_int_equal(has(pm_reach_updown(&g.reach, a), b),
					 a == b || (a % 3 && b % 3) ||
						 (a != 68 && b != 68));
		assert_int_equal(has(pm_reach_down(&g.reach, 70), a), a % 3 != 0);
		assert_int_equal(has(pm_reach_down(&g.reach, 71), a), a != 68);
		assert_int_equal(has(pm_reach_updown(&g.reach, a), 70), a % 3 != 0);
	}
	check_since(&g);
	free_ground(&g);
	recipe_free(&recipe);
}

/* Round after round in the same room: three levels, and rows of two words. */
static void test_failures(void **state)
{
	struct recipe_xgft shape = {3, 1, {0, 8, 12}, {2, 2}, {1, 1, 1}};
	struct random random = {20261122};
	struct recipe recipe = {0};
	struct pm_pool pool = {0};
	struct pm_reach whole, now;
	struct pm_reach_failure failure;
	struct ground g;
	size_t bytes;

	print_message("seed %llu\n", (unsigned long long)random.state);
	recipe_add_xgft(&recipe, &shape);
	make(&g, recipe_build(&recipe, NULL));
	assert_int_equal(g.reach.words, 2);
	bytes = (size_t)g.tree.num_switches * g.reach.words * sizeof(uint64_t);
	pm_reach_init(&g.tree, &pool, &whole);
	pm_reach_init(&g.tree, &pool, &now);
	pm_reach_failure_init(&now, g.tree.num_switches, &pool, &failure);
	assert_int_equal(pm_pool_check(&pool, NULL), 0);
	pm_reach_compute(g.skeleton, &g.tree, NULL, &whole);
	memcpy(now.down, whole.down, bytes);
	memcpy(now.updown, whole.updown, bytes);
	for (int round = 0; round < 2000; round++) {
		uint32_t ports[40], num = 0, count = random_below(&random, 20);

		memset(g.usable, 1, g.skeleton->num_ports);
		while (count-- > 0) {
			uint32_t port = random_below(&random, g.skeleton->num_ports);
			uint32_t peer = g.skeleton->ports[port].peer;

			if (peer == PM_NONE || !g.usable[port])
				continue;
			g.usable[port] = g.usable[peer] = 0;
			ports[num++] = port;
			ports[num++] = peer;
		}
		pm_reach_compute(g.skeleton, &g.tree, g.usable, &g.reach);
		pm_reach_fail(g.skeleton, &g.tree, g.usable, ports, num, &now, &failure);
		assert_memory_equal(now.down, g.reach.down, bytes);
		assert_memory_equal(now.updown, g.reach.updown, bytes);
		pm_reach_restore(&whole, &now, &failure);
	}
	pm_pool_free(&pool);
	free_ground(&g);
	recipe_free(&recipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawing),	   cmocka_unit_test(test_since),
		cmocka_unit_test(test_no_marks),   cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_many_words), cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
