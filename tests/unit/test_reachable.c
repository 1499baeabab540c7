/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts on drawings, then in random trees with failures against a walk over all pairs.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/plan/reachable.h>

static struct pm_reachable find(const struct world *world, const uint8_t *discovered)
{
	struct pm_reachable reachable;

	assert_int_equal(pm_reachable_find(world->plan->topology,
					   pm_routes_reach(world->routes), discovered,
					   &reachable, NULL),
			 0);
	return reachable;
}

/* Six leaves in a ring, two hosts each, below two spines. */
static struct pm_fabric *make_ring_below_spines(void)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	for (unsigned int i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%c%u", i < 6 ? 'l' : 's', i % 6);
		recipe_add_node(&recipe, PM_SWITCH, 0x100u + i, 6, i / 6, name);
	}
	for (unsigned int i = 0; i < 6; i++) {
		recipe_add_host(&recipe, i, 1);
		recipe_add_host(&recipe, i, 2);
		recipe_add_link(&recipe, i, 3, 6, i + 1);
		recipe_add_link(&recipe, i, 4, 7, i + 1);
		recipe_add_link(&recipe, i, 5, (i + 1) % 6, 6);
	}
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	return fabric;
}

static void test_counts(void **state)
{
	static const struct {
		const char *name, *failure;
		uint64_t connected, pairs;
		bool enough, recovered;
	} rows[] = {
		{"whole", "", 120, 120, true, true},
		{"one spine", "s0", 120, 120, true, true},
		{"a ring", "s0 s1", 120, 0, false, false},
		{"a line", "s0 s1 l0:5", 120, 0, false, false},
		{"two lines", "s0 s1 l0:5 l3:5", 48, 0, false, false},
		{"leaves alone", "s0 s1 l0:5 l1:5 l2:5 l3:5 l4:5 l5:5", 0, 0, true, true},
		{"one leaf lost", "l0", 80, 80, true, true},
		{"a leaf on the ring alone", "l0:3 l0:4", 120, 80, true, false},
		{"two of them", "l0:3 l0:4 l1:3 l1:4", 120, 48, false, false},
		{"half of them all", "s0 l0:4 l1:4 l2:4", 120, 24, false, false},
		{"one of three hosts", "s0 s1 l0:1 l2:1 l2:2", 64, 0, false, false},
		{"spines in halves", "l0:3 l1:3 l2:3 l3:4 l4:4 l5:4", 120, 48, false,
		 false},
	};
	struct world world;

	world_make(&world, make_ring_below_spines(), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *now = world_without(&world, rows[i].failure);
		struct pm_reachable reachable;

		world_update(&world, now);
		reachable = find(&world, world.usable);
		if (reachable.connected != rows[i].connected ||
		    reachable.pairs != rows[i].pairs)
			fail_msg("%s: %llu of %llu", rows[i].name,
				 (unsigned long long)reachable.pairs,
				 (unsigned long long)reachable.connected);
		assert_int_equal(pm_reachable_enough(&reachable), rows[i].enough);
		assert_int_equal(pm_reachable_recovered(&reachable), rows[i].recovered);
		assert_int_equal(reachable.unreachable[0] == PM_NONE,
				 reachable.pairs == reachable.connected);
		pm_fabric_free(now);
	}
	world_free(&world);
}

/* Of more switches than a word has bits: two leaves with one cable each, to two spines.
 */
static void test_many(void **state)
{
	const struct recipe_xgft shape = {
		.levels = 2,
		.hosts = 2,
		.children = {0, 70},
		.parents = {2},
		.parallel = {1},
	};
	struct recipe recipe = {0};
	struct pm_reachable reachable;
	struct pm_fabric *now;
	struct world world;

	recipe_add_xgft(&recipe, &shape);
	world_make(&world, recipe_build(&recipe, NULL), PM_GROUPED);
	recipe_free(&recipe);
	now = world_without(&world, "sw0-3:3 sw0-69:4");
	world_update(&world, now);
	reachable = find(&world, world.usable);
	assert_int_equal(reachable.connected, 140 * 138);
	assert_int_equal(reachable.connected - reachable.pairs, 2 * 2 * 2);
	pm_fabric_free(now);
	world_free(&world);
}

/* A cable that is kept out of the tables joins all the same. */
static void test_kept_out(void **state)
{
	struct world world;
	uint8_t *discovered;
	uint32_t port, peer;

	world_make(&world,
		   recipe_draw("l0/3 l1/3 s0/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2"),
		   PM_GROUPED);
	world_update(&world, world.fabric);
	discovered = malloc(world.plan->topology->num_ports);
	assert_non_null(discovered);
	memcpy(discovered, world.usable, world.plan->topology->num_ports);
	port = world_port(world.plan->topology, "l0", 2);
	peer = world.plan->topology->ports[port].peer;
	world.usable[port] = world.usable[peer] = 0;
	pm_routes_update(world.routes, world.usable, NULL);
	assert_int_equal(find(&world, world.usable).connected, 0);
	assert_int_equal(find(&world, discovered).connected, 2);
	assert_int_equal(find(&world, discovered).pairs, 0);
	free(discovered);
	world_free(&world);
}

static void test_marks(void **state)
{
	static const struct {
		uint64_t connected, pairs;
		bool enough, recovered;
	} rows[] = {
		{0, 0, true, true},	     {1, 0, false, false},
		{2, 1, true, false},	     {100, 49, false, false},
		{100, 50, true, false},	     {100, 51, true, false},
		{100, 74, true, false},	     {100, 75, true, true},
		{100, 76, true, true},	     {101, 50, false, false},
		{101, 75, true, false},	     {101, 76, true, true},
		{1u << 31, 1, false, false},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_reachable reachable = {.connected = rows[i].connected,
						 .pairs = rows[i].pairs};

		if (pm_reachable_enough(&reachable) != rows[i].enough ||
		    pm_reachable_recovered(&reachable) != rows[i].recovered)
			fail_msg("row %zu", i);
	}
}

/* The plan of a fabric and the tables on it agree. */
static void test_plan_agrees(void **state)
{
	static const struct {
		const char *failure;
		bool enough; /* for the levels of the whole fabric's plan */
		int rc;	     /* of a plan made anew */
	} rows[] = {
		{"", true, 0},
		{"l0:3 l0:4", true, 0},
		/* Anew, l0 and l1 are edge switches below l5 and l2. */
		{"l0:3 l0:4 l1:3 l1:4", false, 0},
		{"s0 s1", false, -ENOTSUP},
	};
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct world world;

	world_make(&world, make_ring_below_spines(), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *now = world_without(&world, rows[i].failure);
		struct pm_plan *plan = NULL;
		struct pm_reachable reachable;
		struct pm_error err = {""};

		world_update(&world, now);
		reachable = find(&world, world.usable);
		assert_int_equal(pm_reachable_enough(&reachable), rows[i].enough);
		assert_int_equal(pm_plan_make(now, &config, &plan, &err), rows[i].rc);
		assert_int_equal(!plan, rows[i].rc != 0);
		pm_plan_free(plan);
		pm_fabric_free(now);
		if (pm_reachable_enough(&reachable))
			continue;
		assert_int_equal(pm_reachable_refuse(&reachable, world.plan->topology,
						     &world.plan->tree, &err),
				 -ENOTSUP);
		assert_non_null(strstr(
			err.text, "of 120 pairs of hosts, such as those at \"l0\" and "));
	}
	world_free(&world);
}

/* ---- Random trees ---- */

/* Cuts cables and hosts at random. */
static void fail_some(struct pm_fabric *fabric, struct random *random)
{
	uint32_t percent = random_below(random, 40);

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE && random_chance(random, percent))
			pm_fabric_cut(fabric, i);
}

static bool is_host(const struct world *world, const struct pm_fabric *now, uint32_t port)
{
	uint32_t place = pm_plan_place(world->plan, now, port);

	return place == PM_NONE ||
	       !pm_host_is_service(world->plan->topology->ports[place].host);
}

/* Every pair of hosts' end ports by itself. */
static struct pm_reachable walk_pairs(const struct world *world,
				      const struct pm_fabric *now)
{
	struct pm_reachable reachable = {.pairs = 0};
	uint32_t num = now->num_switches;
	uint32_t *part = calloc(num, sizeof(*part)), *queue = calloc(num, sizeof(*part));

	assert_non_null(part);
	assert_non_null(queue);
	pm_reach_parts(world->plan->topology, world->usable, part, queue);
	for (uint32_t a = 0; a < now->num_ports; a++) {
		uint32_t x = pm_fabric_peer_node(now, a);

		if (now->ports[a].node < num || x == PM_NONE || x >= num ||
		    !is_host(world, now, a))
			continue;
		for (uint32_t b = 0; b < now->num_ports; b++) {
			uint32_t y = pm_fabric_peer_node(now, b);

			if (now->ports[b].node < num || y == PM_NONE || y >= num ||
			    x == y || part[x] != part[y] || !is_host(world, now, b))
				continue;
			reachable.connected++;
			reachable.pairs += pm_routes_reach_switch(world->routes, x, y);
		}
	}
	free(part);
	free(queue);
	return reachable;
}

static bool has_hosts(const struct pm_fabric *now, uint32_t sw)
{
	const struct pm_node *n = &now->nodes[sw];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (now->ports[i].peer != PM_NONE &&
		    pm_fabric_peer_node(now, i) >= now->num_switches)
			return true;
	return false;
}

static void assert_unreachable(const struct world *world, const struct pm_fabric *now,
			       const uint32_t unreachable[2])
{
	assert_false(
		pm_routes_reach_switch(world->routes, unreachable[0], unreachable[1]));
	assert_true(has_hosts(now, unreachable[0]));
	assert_true(has_hosts(now, unreachable[1]));
}

static void test_random(void **state)
{
	const struct recipe_limits limits = {30, 60};
	uint64_t seed = from_environment("PM_SEED", 1),
		 rounds = from_environment("PM_ROUNDS", 300);
	uint32_t made = 0, less = 0;

	for (uint64_t end = seed + rounds; seed < end; seed++) {
		struct pm_plan_config config = {.order = PM_GROUPED};
		struct random random = {seed};
		struct recipe recipe = {0};
		struct pm_reachable found, walked;
		struct pm_plan *plan = NULL;
		struct pm_fabric *now;
		struct world world;

		recipe_random(&recipe, &random, &limits);
		now = recipe_build(&recipe, NULL);
		recipe_free(&recipe);
		if (pm_plan_make(now, &config, &plan, NULL)) {
			pm_fabric_free(now);
			continue;
		}
		pm_plan_free(plan);
		world_make(&world, now, PM_GROUPED);
		now = pm_fabric_clone(world.fabric);
		assert_non_null(now);
		fail_some(now, &random);
		world_update(&world, now);
		found = find(&world, world.usable);
		walked = walk_pairs(&world, now);
		if (found.connected != walked.connected || found.pairs != walked.pairs)
			fail_msg("seed %llu: %llu of %llu, not %llu of %llu",
				 (unsigned long long)seed,
				 (unsigned long long)found.pairs,
				 (unsigned long long)found.connected,
				 (unsigned long long)walked.pairs,
				 (unsigned long long)walked.connected);
		if (found.pairs < found.connected)
			assert_unreachable(&world, now, found.unreachable);
		made++;
		less += found.pairs < found.connected;
		pm_fabric_free(now);
		world_free(&world);
	}
	print_message("%u trees, %u of them not served in whole\n", made, less);
	if (rounds >= 300)
		assert_true(made > 200 && less > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),	    cmocka_unit_test(test_many),
		cmocka_unit_test(test_kept_out),    cmocka_unit_test(test_marks),
		cmocka_unit_test(test_plan_agrees), cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
