/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <inttypes.h>

#define TWO_LEVEL                                                                        \
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l0:2=b l0:3=s0:1 l0:4=s1:1 "                         \
	"l1:1=c l1:2=d l1:3=s0:2 l1:4=s1:2"

/*
 * LIDs: l0[1] 1, l0 2, l1[1] 3, s0 7 in plane 0; l0[2] 8, l1[2] 9, l1 10, s1 11 in
 * plane 1 (see test_plan.c). A row has a switch's entries for these, - for KEEP.
 */
static const unsigned int lids[] = {1, 2, 3, 7, 8, 9, 10, 11};

struct row {
	const char *name, *failed;
	const char *entries[4]; /* l0, l1, s0, s1 */
};

/* No path joins the spines, nor s0 and l0 when the cable between them is lost. */
static const struct row rows[] = {
	{"whole", "", {"10332444", "33134204", "1120122-", "112-1220"}},
	{"a host is no matter", "a c", {"10332444", "33134204", "1120122-", "112-1220"}},
	{"s1 is lost", "s1", {"1033233-", "3313320-", "1120122-", "-------0"}},
	{"one cable", "l0:3", {"104-2444", "44134204", "--20-22-", "112-1220"}},
};

static void expect_row(const struct world *world, const char *name, uint32_t sw,
		       const char *expected)
{
	const uint8_t *table = pm_routes_table(world->routes, sw);
	char text[16] = "";

	for (size_t i = 0; i < LENGTH(lids); i++)
		text[i] = table[lids[i]] == PM_LFT_KEEP ? '-'
							: (char)('0' + table[lids[i]]);
	if (strcmp(text, expected))
		fail_msg("%s: %s has %s, not %s", name, pm_fabric_name(world->fabric, sw),
			 text, expected);
}

static void test_small(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(TWO_LEVEL), PM_GROUPED);
	assert_int_equal(world.stride, 64);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		world_fail(&world, rows[i].failed);
		for (uint32_t sw = 0; sw < 4; sw++)
			expect_row(&world, rows[i].name, sw, rows[i].entries[sw]);
		for (uint32_t sw = 0; sw < 4; sw++)
			for (uint32_t lid = 12; lid < 64; lid++)
				assert_int_equal(pm_routes_table(world.routes, sw)[lid],
						 PM_LFT_KEEP);
	}
	world_fail(&world, "");
	for (uint32_t sw = 0; sw < 4; sw++)
		expect_row(&world, "back", sw, rows[0].entries[sw]);
	world_free(&world);
	pm_routes_free(NULL);
}

/* Nothing but a switch: no planes at all. */
static void test_one_switch(void **state)
{
	static const char *const drawings[] = {
		"l/3 l:1=a l:3=b",
		"l/1 l:1=a",
		"l/2 m/2 l:1=a m:1=b m:2=l:2",
	};

	for (size_t i = 0; i < LENGTH(drawings); i++) {
		struct pm_plan_config config = {.order = PM_GROUPED};
		struct pm_fabric *fabric = recipe_draw(drawings[i]);
		struct pm_plan *plan;
		struct world world;

		if (pm_plan_make(fabric, &config, &plan, NULL)) {
			pm_fabric_free(fabric);
			continue;
		}
		pm_plan_free(plan);
		world_make(&world, fabric, PM_GROUPED);
		assert_int_equal(world_entry(&world, "l", "l", 1), 1);
		assert_int_equal(world_entry(&world, "l", "l", 0), 0);
		world_fail(&world, "a");
		assert_int_equal(world_entry(&world, "l", "l", 1), 1);
		world_free(&world);
	}
}

/* A chain of switches with two cables each, 40 above one leaf. */
static void test_tall(void **state)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct world world;

	for (unsigned int i = 0; i < 41; i++) {
		char name[8];

		snprintf(name, sizeof(name), "s%u", i);
		recipe_add_node(&recipe, PM_SWITCH, 1 + i, 8, i, name);
		if (i)
			for (unsigned int c = 1; c <= 2; c++)
				recipe_add_link(&recipe, i - 1, c, i, 2 + c);
	}
	recipe_add_host(&recipe, 0, 7);
	fabric = recipe_build(&recipe, NULL);
	fabric->nodes[40].root = 1;
	world_make(&world, fabric, PM_GROUPED);
	world_assert_sound(&world, world.fabric);
	assert_int_equal(world.plan->tree.top_level, 40);
	world_free(&world);
	recipe_free(&recipe);
}

/* Three leaves below three spines; two spines have an end port, one has none. */
#define UPPER_ENDS                                                                       \
	"l0/5 l1/5 l2/5 s0/4 s1/4 s2/4 l0:4=a l1:4=b l2:4=c l0:5=d l1:5=e l2:5=f "       \
	"s0:4=x s1:4=y "                                                                 \
	"l0:1=s0:1 l0:2=s1:1 l0:3=s2:1 l1:1=s0:2 l1:2=s1:2 l1:3=s2:2 "                   \
	"l2:1=s0:3 l2:2=s1:3 l2:3=s2:3"

/* All present ports reach all, and all turns up are at one leaf. */
static void test_beyond(void **state)
{
	static const struct {
		const char *failure;
		uint64_t unreachable; /* from s2, which has no end port, to the two */
		const char *hub;
	} failures[] = {
		{"", 2, "l0"},		{"l0", 2, "l1"},
		{"l0:1", 2, "l1"},	/* s0 is not below the first leaf any more */
		{"l0:1 l1:2", 0, "l2"}, /* only the third one is below both */
		{"s2", 0, "l0"},
	};
	struct world world;

	world_make(&world, recipe_draw(UPPER_ENDS), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_fabric *now = world_without(&world, failures[i].failure);
		struct pm_check_paths paths;
		uint32_t spine = world_switch(&world, "s0"), port;

		world_update(&world, now);
		paths = world_paths(&world, now);
		if (paths.lost || paths.loops || paths.turns ||
		    paths.unreachable != failures[i].unreachable)
			fail_msg("%s: %u apart, %s", failures[i].failure,
				 (unsigned)paths.unreachable,
				 paths.example[PM_FAULT_UNREACHABLE].text);
		if (world_credits(&world, now).length)
			fail_msg("%s: a credit loop", failures[i].failure);
		port = world.plan->topology->nodes[spine].first_port +
		       world_entry(&world, "s0", "s1", 4);
		if (pm_fabric_peer_node(world.plan->topology, port) !=
		    world_switch(&world, failures[i].hub))
			fail_msg("%s: not over %s but %u", failures[i].failure,
				 failures[i].hub, world_entry(&world, "s0", "s1", 4));
		pm_fabric_free(now);
	}
	world_free(&world);
}

/*
 * Two pods below two cores with a host each. Without one of a core's cables no leaf is a
 * hub free of credit loops, but a spine is one.
 */
static void test_hub_above_leaves(void **state)
{
	struct world world;

	world_make(&world,
		   recipe_draw("l0/3 l1/3 l2/3 l3/3 s0/4 s1/4 s2/4 s3/4 c0/5 c1/5 "
			       "l0:1=a l1:1=b l2:1=d l3:1=e c0:5=x c1:5=y "
			       "l0:2=s0:1 l0:3=s1:1 l1:2=s0:2 l1:3=s1:2 "
			       "l2:2=s2:1 l2:3=s3:1 l3:2=s2:2 l3:3=s3:2 "
			       "s0:3=c0:1 s1:3=c0:2 s2:3=c0:3 s3:3=c0:4 "
			       "s0:4=c1:1 s1:4=c1:2 s2:4=c1:3 s3:4=c1:4"),
		   PM_GROUPED);
	for (unsigned int cable = 0; cable <= 4; cable++) {
		char failure[8] = "";
		struct pm_fabric *now;
		struct pm_check_paths paths;

		if (cable)
			snprintf(failure, sizeof(failure), "c0:%u", cable);
		now = world_without(&world, failure);
		world_update(&world, now);
		paths = world_paths(&world, now);
		/* From the spine that has lost its cable, which has no end port. */
		if (paths.lost || paths.loops || paths.turns ||
		    paths.unreachable != (cable ? 1 : 0) ||
		    world_credits(&world, now).length)
			fail_msg("%s: %u apart, %s", failure, (unsigned)paths.unreachable,
				 paths.example[PM_FAULT_UNREACHABLE].text);
		pm_fabric_free(now);
	}
	world_free(&world);
}

/*
 * Each leaf moves the LIDs of a failed plane evenly to the others, and not every leaf
 * to the same ones: those of one slot come down through several planes.
 */
static void test_moved_are_spread(void **state)
{
	struct recipe_xgft shape = {2, 4, {0, 8}, {4}, {1, 1}};
	struct recipe recipe = {0};
	uint32_t paths = 0;
	struct world world;

	recipe_add_xgft(&recipe, &shape);
	world_make(&world, recipe_build(&recipe, NULL), PM_GROUPED);
	world_fail(&world, "sw1-0");
	for (uint32_t leaf = 0; leaf < 8; leaf++) {
		uint32_t count[9] = {0};

		for (uint32_t other = 0; other < 8; other++) {
			char name[8];

			snprintf(name, sizeof(name), "sw0-%u", other);
			if (other != leaf)
				count[pm_routes_table(world.routes, leaf)[world_lid(
					&world, name, 1)]]++;
		}
		/* Seven slots over the three ports left. */
		assert_int_equal(count[5], 0);
		for (int p = 6; p <= 8; p++)
			assert_in_range(count[p], 2, 3);
	}
	for (uint32_t leaf = 1; leaf < 8; leaf++)
		paths |= 1u << pm_routes_table(world.routes,
					       leaf)[world_lid(&world, "sw0-0", 1)];
	assert_int_equal(paths, 1u << 6 | 1u << 7 | 1u << 8);
	world_free(&world);
	recipe_free(&recipe);
}

/*
 * The most up ports that a switch has in a block of LIDs with planes that run elsewhere.
 */
static unsigned int count_spread(const struct world *world, uint32_t sw)
{
	const struct pm_plan *plan = world->plan;
	const uint8_t *table = pm_routes_table(world->routes, sw);
	uint32_t first = plan->topology->nodes[sw].first_port;
	unsigned int most = 0;

	for (uint32_t block = 0; block < world->stride; block += PM_LFT_BLOCK) {
		bool used[PM_MAX_PORTS + 1] = {false};
		unsigned int count = 0;

		for (uint32_t lid = block; lid < block + PM_LFT_BLOCK; lid++) {
			uint32_t place = plan->owner[lid];

			if (place == PM_NONE || plan->plane[place] == PM_NONE ||
			    pm_tree_is_native(&plan->tree, plan->plane[place], sw) ||
			    table[lid] == PM_LFT_KEEP ||
			    plan->tree.direction[first + table[lid]] != PM_UP)
				continue;
			count += !used[table[lid]];
			used[table[lid]] = true;
		}
		if (count > most)
			most = count;
	}
	return most;
}

/* Loses all cables of a component. */
static void fail_component(struct world *world, uint32_t component)
{
	const struct pm_fabric *topology = world->plan->topology;

	pm_plan_match(world->plan, world->fabric, world->usable);
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		if (world->plan->tree.component[topology->ports[i].node] != component ||
		    topology->ports[i].peer == PM_NONE)
			continue;
		world->usable[i] = world->usable[topology->ports[i].peer] = 0;
	}
	pm_routes_update(world->routes, world->usable, NULL);
}

/* Adds a flow from a leaf to a slot to each cable on its way. */
static void add_flow(const struct world *world, uint32_t leaf, uint32_t lid,
		     uint32_t *load)
{
	const struct pm_fabric *topology = world->plan->topology;
	uint32_t sw = leaf, to = topology->ports[world->plan->owner[lid]].node;

	while (sw != to) {
		uint8_t num = pm_routes_table(world->routes, sw)[lid];
		uint32_t port = topology->nodes[sw].first_port + num;

		assert_int_not_equal(num, PM_LFT_KEEP);
		assert_true(world->usable[port]);
		load[port]++;
		sw = topology->ports[topology->ports[port].peer].node;
	}
}

/* The excess of flows on the fullest cable above a level. */
static double count_excess(const struct world *world, uint8_t level,
			   enum pm_direction direction, const uint32_t *load)
{
	const struct pm_fabric *topology = world->plan->topology;
	const struct pm_tree *tree = &world->plan->tree;
	double sum = 0, links = 0, most = 0, mean;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t low = direction == PM_UP ? i : topology->ports[i].peer;

		if (tree->direction[i] != direction || !world->usable[i] ||
		    tree->level[topology->ports[low].node] != level)
			continue;
		sum += load[i];
		links++;
		most = load[i] > most ? load[i] : most;
	}
	mean = sum / links;
	return most - (1.07 * mean > mean + 1 ? 1.07 * mean : mean + 1);
}

/* Each leaf sends to each slot elsewhere, without one component after the other. */
static void assert_room(struct world *world, bool down)
{
	const struct pm_plan *plan = world->plan;
	uint32_t *load = calloc(plan->topology->num_ports, sizeof(*load));

	assert_non_null(load);
	for (uint32_t c = 0; c < plan->tree.num_components; c++) {
		fail_component(world, c);
		memset(load, 0, plan->topology->num_ports * sizeof(*load));
		for (uint32_t lid = 1; lid <= plan->top_lid; lid++) {
			uint32_t place = plan->owner[lid];

			if (place == PM_NONE || plan->topology->ports[place].num == 0)
				continue;
			for (uint32_t l = 0; l < plan->tree.num_leaves; l++)
				add_flow(world, plan->tree.leaves[l], lid, load);
		}
		for (uint8_t level = 1; level < plan->tree.top_level; level++) {
			double up = count_excess(world, level, PM_UP, load);
			double below =
				down ? count_excess(world, level, PM_DOWN, load) : 0;

			if (up > 0 || below > 0)
				fail_msg("%u leaves, component %" PRIu32
					 ", level %u: %g flows up, %g down",
					 plan->tree.num_leaves, c, level, up, below);
		}
	}
	free(load);
}

/*
 * The up ports that the LIDs of a block take while their plane is cut off: few, and yet
 * no cable of an even tree has more than 7% over the mean of its kind then, or one
 * flow. The numbers of ports are the results, the loads are counted.
 */
static void test_spread(void **state)
{
	static const struct {
		unsigned int leaves; /* of a director, or 0 */
		struct recipe_xgft shape;
		unsigned int ports;
		enum { UNEVEN, UP, BOTH } room; /* what has no more than is wanted */
	} cases[] = {
		{36, {0}, 10, BOTH},
		{0, {3, 6, {0, 6, 6}, {6, 6}, {1, 1}}, 5, BOTH},
		{0, {3, 8, {0, 8, 8}, {8, 8}, {1, 1}}, 6, BOTH},
		{0, {4, 3, {0, 3, 3, 3}, {3, 3, 3}, {1, 1, 1}}, 3, BOTH},
		/* Three planes: each of them has a half more when one is lost. */
		{0, {3, 32, {0, 4, 4}, {3, 12}, {2, 1}}, 4, UNEVEN},
		{0, {3, 17, {0, 4, 3}, {3, 12}, {1, 1}}, 6, UNEVEN},
		{0, {3, 16, {0, 4, 4}, {3, 8}, {1, 1}}, 5, UNEVEN},
		{0, {3, 8, {0, 4, 4}, {2, 2}, {1, 1}}, 2, UNEVEN},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct recipe recipe = {0};
		struct world world;
		unsigned int ports;

		if (!cases[i].leaves)
			recipe_add_xgft(&recipe, &cases[i].shape);
		world_make(&world,
			   cases[i].leaves ? world_director(cases[i].leaves)
					   : recipe_build(&recipe, NULL),
			   PM_GROUPED);
		ports = count_spread(
			&world,
			world_switch(&world, cases[i].leaves ? "s1-line1" : "sw1-0"));
		if (ports != cases[i].ports)
			fail_msg("%zu: %u ports, not %u", i, ports, cases[i].ports);
		if (cases[i].room != UNEVEN)
			assert_room(&world, cases[i].room == BOTH);
		world_free(&world);
		recipe_free(&recipe);
	}
}

/* With one of two parallel cables lost, its entries take the other spines' or its. */
static void test_parallel(void **state)
{
	struct world world;
	uint32_t failed = 0;

	world_make(
		&world,
		recipe_draw(
			"l0/4 l1/4 s0/4 l0:1=a l0:2=b l1:1=c l1:2=d l0:3=s0:1 l0:4=s0:2 "
			"l1:3=s0:3 l1:4=s0:4"),
		PM_GROUPED);
	world_assert_sound(&world, world.fabric);
	assert_int_equal(world_entry(&world, "l0", "l1", 1), 3);
	assert_int_equal(world_entry(&world, "l0", "l1", 2), 4);
	assert_int_equal(world_entry(&world, "s0", "l1", 1), 3);
	assert_int_equal(world_entry(&world, "s0", "l1", 2), 4);
	world_fail(&world, "l1:4");
	assert_int_equal(world_entry(&world, "l0", "l1", 2), 4);
	assert_int_equal(world_entry(&world, "s0", "l1", 2), 3);
	assert_int_equal(world_entry(&world, "l1", "l0", 2), 3);
	assert_int_equal(world_entry(&world, "l1", "l1", 2), 2);
	for (uint32_t lid = 1; lid <= world.plan->top_lid; lid++)
		failed += pm_routes_table(world.routes,
					  world_switch(&world, "s0"))[lid] == 4;
	assert_int_equal(failed, 0);
	world_free(&world);
}

/*
 * An entry that moved to another port once stays there when a cable that has a parallel
 * one fails as well: that one still counts among the candidates.
 */
static void test_moved_stay(void **state)
{
	struct recipe_xgft shape = {2, 8, {0, 8}, {2}, {2, 1}};
	struct recipe recipe = {0};
	struct world world;
	uint32_t moved = 0;
	uint8_t *once;

	recipe_add_xgft(&recipe, &shape);
	world_make(&world, recipe_build(&recipe, NULL), PM_GROUPED);
	assert_int_equal(world_switch(&world, "sw0-0"), 0);
	world_fail(&world, "sw0-0:9");
	once = world_tables(world.routes, world.num_switches);
	world_fail(&world, "sw0-0:9 sw0-0:11");
	for (uint32_t lid = 1; lid <= world.plan->top_lid; lid++) {
		if (once[lid] == 11 || world.first[lid] != 9)
			continue;
		assert_int_equal(pm_routes_table(world.routes, 0)[lid], once[lid]);
		moved++;
	}
	assert_true(moved > 5);
	free(once);
	world_free(&world);
	recipe_free(&recipe);
}

/*
 * Two cables from each of m0 and m1 to each of t0 and t1, in turns. Neighbouring ranks
 * take parallel cables: ports 3 and 5 lead to t0, 4 and 6 to t1.
 */
static void test_side_by_side(void **state)
{
	static const unsigned int up[] = {3, 5, 4, 6};
	struct world world;
	uint32_t tried = 0;

	world_make(&world,
		   recipe_draw("l0/3 l1/3 l2/3 l3/3 m0/6 m1/6 t0/4 t1/4 "
			       "l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l2:2=f l3:1=g l3:2=h "
			       "l0:3=m0:1 l1:3=m0:2 l2:3=m1:1 l3:3=m1:2 "
			       "m0:3=t0:1 m0:4=t1:1 m0:5=t0:2 m0:6=t1:2 "
			       "m1:3=t0:3 m1:4=t1:3 m1:5=t0:4 m1:6=t1:4"),
		   PM_GROUPED);
	for (uint32_t i = 0; i < world.plan->topology->num_ports; i++) {
		const struct pm_port *slot = &world.plan->topology->ports[i];
		const char *leaf = pm_fabric_name(world.plan->topology, slot->node);

		if (!slot->host)
			continue;
		assert_int_equal(
			world_entry(&world, leaf[1] < '2' ? "m1" : "m0", leaf, slot->num),
			up[world.plan->rank[i] % 4]);
		tried++;
	}
	assert_int_equal(tried, 8);
	world_free(&world);
}

/* l0 has three cables to s0 and the others one: their hosts are assigned over the three.
 */
static void test_uneven(void **state)
{
	static const struct {
		const char *name;
		unsigned int port, entry, without_l0_5;
	} hosts[] = {
		{"l1", 1, 4, 4}, {"l1", 2, 4, 4}, {"l2", 1, 5, 4},
		{"l2", 2, 5, 6}, {"l3", 1, 6, 6}, {"l3", 2, 6, 6},
	};
	struct world world;

	world_make(&world,
		   recipe_draw("l0/6 l1/3 l2/3 l3/3 s0/6 l0:1=a l1:1=b l1:2=c l2:1=d "
			       "l2:2=e l3:1=f l3:2=g l0:4=s0:1 l0:5=s0:2 l0:6=s0:3 "
			       "l1:3=s0:4 l2:3=s0:5 l3:3=s0:6"),
		   PM_GROUPED);
	world_assert_sound(&world, world.fabric);
	for (size_t i = 0; i < LENGTH(hosts); i++)
		assert_int_equal(world_entry(&world, "l0", hosts[i].name, hosts[i].port),
				 hosts[i].entry);
	world_fail(&world, "l0:5");
	for (size_t i = 0; i < LENGTH(hosts); i++)
		assert_int_equal(world_entry(&world, "l0", hosts[i].name, hosts[i].port),
				 hosts[i].without_l0_5);
	world_free(&world);
}

/*
 * Two lines of switches lead from l0 up to t, and others from l1: t sends to the
 * planes' hosts down by the lines of their paths up.
 */
static void test_lines(void **state)
{
	struct world world;
	uint8_t entry[2];

	world_make(&world,
		   recipe_draw("l0/4 l1/4 b0/2 b1/2 c0/2 c1/2 m0/2 m1/2 n0/2 n1/2 t/4 "
			       "l0:1=a l0:2=b l1:1=c l1:2=d l0:3=b0:1 l0:4=b1:1 "
			       "l1:3=c0:1 l1:4=c1:1 b0:2=m0:1 b1:2=m1:1 c0:2=n0:1 "
			       "c1:2=n1:1 m0:2=t:1 m1:2=t:2 n0:2=t:3 n1:2=t:4"),
		   PM_GROUPED);
	world_assert_sound(&world, world.fabric);
	for (unsigned int port = 1; port <= 2; port++)
		entry[port - 1] = world_entry(&world, "t", "l0", port);
	assert_int_equal(entry[0] + entry[1], 3);
	world_free(&world);
}

static void test_connected(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(TWO_LEVEL), PM_GROUPED);
	assert_true(pm_routes_reach_switch(world.routes, 0, 1));
	assert_true(pm_routes_reach_switch(world.routes, 2, 1));
	assert_false(pm_routes_reach_switch(world.routes, 2, 3));
	world_fail(&world, "l0:3 l1:4");
	assert_false(pm_routes_reach_switch(world.routes, 0, 1));
	assert_true(pm_routes_reach_switch(world.routes, 0, 0));
	assert_true(pm_routes_reach_switch(world.routes, 0, 3));
	assert_false(pm_routes_reach_switch(world.routes, 2, 0));
	world_free(&world);
}

/* The director: right in whole and after failures, balanced, and no contention. */
static void test_director(void **state)
{
	static const char *const failures[] = {
		"s0-*", "leaf5:20", "s3-line1", "s4-fab0", "s0-* s1-*", "leaf7 s2-line0",
	};
	struct pm_check_loads loads;
	struct world world;

	world_make(&world, world_director(72), PM_GROUPED);
	world_assert_sound(&world, world.fabric);
	assert_int_equal(world_shifts(&world, world.fabric, 0), 1);
	loads = world_loads(&world, world.fabric);
	assert_int_equal(loads.uplink_spread, 0);
	assert_int_equal(loads.up[0].maximum, loads.up[0].minimum);
	assert_int_equal(loads.down[0].maximum, loads.down[0].minimum);
	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_fabric *now = world_without(&world, failures[i]);

		world_update(&world, now);
		world_assert_sound(&world, now);
		if (i == 0)
			assert_in_range(world_loads(&world, now).uplink_spread, 0, 2);
		pm_fabric_free(now);
	}
	world_fail(&world, "");
	assert_int_equal(world_delta(&world).entries, 0);
	world_free(&world);
}

/*
 * In a shift permutation few moved flows meet on a link above level 1, although all of a
 * pod's neighbouring slots have the same foreign port.
 */
static void test_moved_shifts(void **state)
{
	static const struct {
		unsigned int leaves; /* of a director, or 0 */
		struct recipe_xgft shape;
		const char *failure;
		uint32_t most, samples;
	} cases[] = {
		{36, {0}, "s0-*", 3, 0},
		{72, {0}, "s0-*", 3, 0},
		{324, {0}, "s0-*", 3, 64},
		{324, {0}, "s2-line1", 3, 64},
		{324, {0}, "s0-* s5-*", 5, 64},
		{0, {3, 6, {0, 6, 6}, {6, 6}, {1, 1}}, "sw1-0", 3, 0},
		{0, {3, 7, {0, 7, 7}, {7, 7}, {1, 1}}, "sw1-0", 5, 0},
		{0, {3, 8, {0, 8, 8}, {8, 8}, {1, 1}}, "sw1-3", 3, 0},
		{0, {4, 4, {0, 4, 4, 4}, {4, 4, 4}, {1, 1, 1}}, "sw1-0", 3, 0},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct recipe recipe = {0};
		struct pm_fabric *now;
		struct world world;
		uint32_t most;

		if (!cases[i].leaves)
			recipe_add_xgft(&recipe, &cases[i].shape);
		world_make(&world,
			   cases[i].leaves ? world_director(cases[i].leaves)
					   : recipe_build(&recipe, NULL),
			   PM_GROUPED);
		now = world_without(&world, cases[i].failure);
		world_update(&world, now);
		most = world_shifts(&world, now, cases[i].samples);
		if (most > cases[i].most)
			fail_msg("%zu, %s: %u flows on a link, not %u", i,
				 cases[i].failure, most, cases[i].most);
		pm_fabric_free(now);
		world_free(&world);
		recipe_free(&recipe);
	}
}

/* The same as check finds, which follows packets. */
static double reference_ratio(const struct world *world, const struct pm_fabric *now)
{
	struct pm_check_loads loads = world_loads(world, now);
	double ratio = 0;

	for (size_t i = 0; i < PM_CHECK_LEVELS; i++) {
		const struct pm_check_load *both[] = {&loads.up[i], &loads.down[i]};

		for (size_t k = 0; k < LENGTH(both); k++)
			if (both[k]->flows && pm_check_load_ratio(both[k]) > ratio)
				ratio = pm_check_load_ratio(both[k]);
	}
	return ratio;
}

static bool stop_at_once(void *context)
{
	return true;
}

static void test_load_ratio(void **state)
{
	uint32_t with = 0;
	struct pm_ratio found;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random random = {seed};
		struct recipe recipe = {0};
		struct world world;
		struct pm_fabric *now;
		char failure[32];
		uint8_t *there;
		double ratio;

		if (!world_make_random(&world, &random, &recipe)) {
			recipe_free(&recipe);
			continue;
		}
		snprintf(failure, sizeof(failure), "%s",
			 pm_fabric_name(world.fabric,
					random_below(&random, world.num_switches)));
		now = world_without(&world, seed % 2 ? failure : "");
		world_update(&world, now);
		there = calloc(world.plan->topology->num_ports + 1u, 1);
		assert_non_null(there);
		assert_true(pm_plan_match(world.plan, now, there));
		assert_int_equal(
			pm_routes_load_ratio(world.routes, there, NULL, NULL, &found), 0);
		ratio = (double)found.numerator / (double)found.denominator;
		if (ratio != reference_ratio(&world, now))
			fail_msg("seed %u: %f, not %f", (unsigned int)seed, ratio,
				 reference_ratio(&world, now));
		if (ratio > 0)
			assert_int_equal(pm_routes_load_ratio(world.routes, there,
							      stop_at_once, NULL, &found),
					 -ECANCELED);
		with += ratio > 1;
		free(there);
		pm_fabric_free(now);
		world_free(&world);
		recipe_free(&recipe);
	}
	assert_true(with > 50);
}

static void test_ratio_is_below(void **state)
{
	/* In ascending order. Of the last three, a double is the same. */
	static const struct pm_ratio ratios[] = {
		{0, 5},
		{1, UINT64_MAX},
		{1, 3},
		{2, 5},
		{1, 2},
		{4, 3},
		{7, 5},
		{3, 2},
		{2, 1},
		{UINT64_MAX - 2, 3},
		{UINT64_MAX - 1, 3},
		{UINT64_MAX, 3},
	};

	for (size_t i = 0; i < LENGTH(ratios); i++)
		for (size_t k = 0; k < LENGTH(ratios); k++)
			assert_int_equal(pm_ratio_is_below(ratios[i], ratios[k]), i < k);
	assert_false(pm_ratio_is_below((struct pm_ratio){2, 6}, (struct pm_ratio){1, 3}));
	assert_false(pm_ratio_is_below((struct pm_ratio){1, 3}, (struct pm_ratio){2, 6}));
	assert_false(pm_ratio_is_below((struct pm_ratio){0, 3}, (struct pm_ratio){0, 6}));
}

/* The switches' tables, by switch of another plan; the caller frees the list. */
static struct pm_installed *list_installed(const struct world *from,
					   const uint8_t *tables,
					   const struct pm_plan *plan)
{
	struct pm_installed *installed =
		calloc(plan->topology->num_switches, sizeof(*installed));

	assert_non_null(installed);
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		uint32_t there = pm_fabric_find_guid(from->plan->topology,
						     plan->topology->nodes[sw].guid);

		installed[sw].table = tables + (size_t)there * from->stride;
		installed[sw].length = from->stride;
	}
	return installed;
}

/* Entries of the new tables, for LIDs in use that have a way, that differ. */
static uint32_t count_changes(const struct pm_routes *routes, const struct pm_plan *plan,
			      const struct pm_installed *installed)
{
	uint32_t changes = 0;

	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(routes, sw);

		for (uint32_t lid = 1; lid <= plan->top_lid; lid++) {
			uint32_t place = plan->owner[lid];

			if (place == PM_NONE || (plan->topology->ports[place].num &&
						 !plan->topology->ports[place].host))
				continue;
			changes += installed[sw].table && table[lid] != PM_LFT_KEEP &&
				   table[lid] != installed[sw].table[lid];
		}
	}
	return changes;
}

/* When all parts are back, the plan of the whole is found again in the LIDs. */
static void expect_found_again(const struct world *world, const struct pm_plan *kept,
			       const char *failed)
{
	struct pm_plan *grown = NULL, *remade = NULL;

	assert_int_equal(pm_plan_grow(kept, world->fabric, &grown, NULL), 0);
	if (grown && !strstr(failed, "h7-3")) {
		assert_int_equal(pm_plan_find_origin(grown, world->fabric, &remade, NULL),
				 0);
		if (!remade)
			fail_msg("%s: the plan is not found again", failed);
		assert_memory_equal(remade->lid, world->plan->lid,
				    world->plan->topology->num_ports *
					    sizeof(*remade->lid));
		assert_memory_equal(remade->plane, world->plan->plane,
				    world->plan->topology->num_ports *
					    sizeof(*remade->plane));
	}
	pm_plan_free(remade);
	pm_plan_free(grown);
}

static void expect_taken_over(struct world *world, const char *failed)
{
	struct pm_fabric *broken = world_without(world, failed);
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *made, *kept = NULL;
	struct pm_routes *routes;
	struct pm_installed *installed;
	uint8_t *tables, *usable;
	uint32_t differ;

	world_update(world, broken);
	tables = world_tables(world->routes, world->num_switches);
	assert_int_equal(pm_plan_make(broken, &config, &made, NULL), 0);
	assert_int_equal(pm_plan_keep(made, broken, NULL, &kept, &differ, NULL), 0);
	if (!kept)
		kept = made;
	else
		pm_plan_free(made);
	usable = calloc(kept->topology->num_ports, 1);
	assert_true(usable && pm_plan_match(kept, broken, usable));
	assert_int_equal(pm_routes_make(kept, &routes, NULL), 0);
	pm_routes_update(routes, usable, NULL);
	installed = list_installed(world, tables, kept);
	assert_true(count_changes(routes, kept, installed) > 0);
	if (!pm_routes_adopt(routes, installed, true))
		fail_msg("%s: not taken over", failed);
	pm_routes_update(routes, usable, NULL);
	if (count_changes(routes, kept, installed))
		fail_msg("%s: %u entries change", failed,
			 count_changes(routes, kept, installed));
	/* Ours are as good as themselves: nothing to take over. */
	assert_false(pm_routes_adopt(routes, installed, true));
	expect_found_again(world, kept, failed);
	pm_routes_free(routes);
	pm_plan_free(kept);
	pm_fabric_free(broken);
	free(installed);
	free(usable);
	free(tables);
}

/*
 * A manager without files takes a broken fabric over: no entry changes. When all parts
 * are back, the plan and the tables are those of the first one.
 */
static void test_taken_over(void **state)
{
	static const char *const failures[] = {"s0-*", "s9-* leaf5:20", "s3-line1",
					       "s3-line1:30 s4-fab0", "leaf5:20 h7-3"};
	struct world world;

	world_make(&world, world_director(36), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(failures); i++)
		expect_taken_over(&world, failures[i]);
	world_free(&world);
}

/*
 * Entries that stayed after a failure, in a fabric with a plan that may be the right
 * one.
 */
static void test_leftovers(void **state)
{
	static const char *const failures[] = {"s0-*", "s3-line1", "leaf5:20"};
	struct world world;

	world_make(&world, world_director(36), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_fabric *broken = world_without(&world, failures[i]);
		struct pm_installed *installed;
		uint8_t *tables;

		world_update(&world, broken);
		tables = world_tables(world.routes, world.num_switches);
		installed = list_installed(&world, tables, world.plan);
		world_update(&world, world.fabric);
		/* A port lies idle there, which is never as good. */
		for (int lenient = 0; lenient < 2; lenient++)
			if (pm_routes_adopt(world.routes, installed, lenient))
				fail_msg("%s: leftovers are kept", failures[i]);
		pm_fabric_free(broken);
		free(installed);
		free(tables);
	}
	world_free(&world);
}

/* A director's tables as its switches hold them, for a test to alter. */
static uint8_t *begin_installed(struct world *world)
{
	world_make(world, world_director(36), PM_GROUPED);
	world_update(world, world->fabric);
	return world_tables(world->routes, world->num_switches);
}

/* They lead right, and are not good enough to be taken over; ends the test. */
static void expect_not_adopted(struct world *world, uint8_t *tables)
{
	struct pm_installed *installed = list_installed(world, tables, world->plan);

	assert_false(pm_routes_adopt(world->routes, installed, true));
	free(installed);
	free(tables);
	world_free(world);
}

/* Tables that name every port in every block. */
static void test_not_taken_over(void **state)
{
	struct world world;
	uint8_t *tables = begin_installed(&world);

	for (uint32_t l = 0; l < world.plan->tree.num_leaves; l++) {
		uint8_t *row = tables + (size_t)world.plan->tree.leaves[l] * world.stride;

		for (uint32_t lid = 1; lid < world.stride; lid++)
			if (row[lid] != PM_LFT_KEEP && row[lid] > 18)
				row[lid] = (uint8_t)(19 + (row[lid] + lid) % 18);
	}
	expect_not_adopted(&world, tables);
}

/* Nor are those that give one port of each leaf half of another one's places, though no
 * port lies idle and few blocks name one more. */
static void test_uneven_installed(void **state)
{
	struct world world;
	uint8_t *tables = begin_installed(&world);

	for (uint32_t l = 0; l < world.plan->tree.num_leaves; l++) {
		uint8_t *row = tables + (size_t)world.plan->tree.leaves[l] * world.stride;
		uint32_t places = 0;

		for (uint32_t lid = 1; lid < world.stride; lid++)
			if (row[lid] == 20 && places++ < 18)
				row[lid] = 19;
	}
	expect_not_adopted(&world, tables);
}

/*
 * Tables that lead each plane through the next one's ports are adopted, of all switches
 * with known tables, and later failures are found there.
 */
static void test_installed_loses(void **state)
{
	static const char *const failures[] = {"leaf5:20", "s3-line1", "s0-*", ""};
	struct world world;
	uint8_t *tables = begin_installed(&world);
	const struct pm_tree *tree = &world.plan->tree;
	const struct pm_port *ports = world.plan->topology->ports;
	struct pm_installed *installed;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint8_t *row = tables + (size_t)tree->leaves[l] * world.stride;

		for (uint32_t lid = 1; lid < world.stride; lid++)
			if (row[lid] != PM_LFT_KEEP && row[lid] > 18 &&
			    tree->level[ports[world.plan->owner[lid]].node] == 0)
				row[lid] = (uint8_t)(19 + (row[lid] - 18) % 18);
	}
	installed = list_installed(&world, tables, world.plan);
	installed[tree->leaves[0]].table = NULL; /* it does not answer */
	assert_true(pm_routes_adopt(world.routes, installed, true));
	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_fabric *now = world_without(&world, failures[i]);

		world_update(&world, now);
		world_assert_sound(&world, now);
		pm_fabric_free(now);
	}
	assert_int_equal(count_changes(world.routes, world.plan, installed), 0);
	free(installed);
	free(tables);
	world_free(&world);
}

static const char *const put_failures[] = {"", "s0-*", "s3-line1 leaf5:20", "leaf7"};

/* What was put stays until the next update, and no longer. */
static void test_put(void **state)
{
	struct world world;
	uint8_t entries[PM_LFT_BLOCK];

	world_make(&world, world_director(36), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(put_failures); i++) {
		uint8_t *before;

		world_fail(&world, put_failures[i]);
		before = world_tables(world.routes, world.num_switches);
		for (uint32_t sw = 0; sw < world.num_switches; sw++) {
			uint32_t number = sw % (world.stride / PM_LFT_BLOCK);
			const uint8_t *row;

			memset(entries, (int)(sw % 36 + 1), sizeof(entries));
			pm_routes_put(world.routes, sw, number, entries);
			row = pm_routes_table(world.routes, sw);
			for (uint32_t lid = 0; lid < world.stride; lid++)
				assert_int_equal(
					row[lid],
					lid / PM_LFT_BLOCK == number
						? sw % 36 + 1
						: before[sw * world.stride + lid]);
		}
		pm_routes_update(world.routes, world.usable, &world.detours);
		for (uint32_t sw = 0; sw < world.num_switches; sw++)
			assert_memory_equal(pm_routes_table(world.routes, sw),
					    before + (size_t)sw * world.stride,
					    world.stride);
		free(before);
	}
	world_free(&world);
}

/*
 * Has tables prefer the entries of other ones, block by block, of every step-th block.
 */
static void prefer_all(struct pm_routes *routes, const uint8_t *entries,
		       const struct world *world, uint32_t step)
{
	uint32_t blocks = world->stride / PM_LFT_BLOCK;

	for (uint32_t at = 0; at < world->num_switches * blocks; at += step)
		pm_routes_prefer(routes, at / blocks, at % blocks,
				 entries + (size_t)at * PM_LFT_BLOCK);
}

static uint8_t *copy_preferred(const struct world *world)
{
	uint8_t *entries = malloc((size_t)world->num_switches * world->stride);

	assert_non_null(entries);
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		memcpy(entries + (size_t)sw * world->stride,
		       pm_routes_preferred(world->routes, sw), world->stride);
	return entries;
}

/* Leaves that send up by the next port than planned, as adopted. */
static struct pm_routes *make_turned(const struct world *world)
{
	const struct pm_tree *tree = &world->plan->tree;
	const struct pm_port *ports = world->plan->topology->ports;
	uint8_t *tables = copy_preferred(world);
	struct pm_installed *installed = list_installed(world, tables, world->plan);
	struct pm_routes *turned;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint8_t *row = tables + (size_t)tree->leaves[l] * world->stride;

		for (uint32_t lid = 1; lid < world->stride; lid++)
			if (row[lid] != PM_LFT_KEEP && row[lid] > 18 &&
			    tree->level[ports[world->plan->owner[lid]].node] == 0)
				row[lid] = (uint8_t)(19 + (row[lid] - 18) % 18);
	}
	assert_int_equal(pm_routes_make(world->plan, &turned, NULL), 0);
	pm_routes_update(turned, world->usable, NULL);
	assert_true(pm_routes_adopt(turned, installed, true));
	free(installed);
	free(tables);
	return turned;
}

static void expect_tables(const struct pm_routes *routes,
			  const struct pm_routes *expected, const struct world *world,
			  const char *failure)
{
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		if (memcmp(pm_routes_table(routes, sw), pm_routes_table(expected, sw),
			   world->stride))
			fail_msg("%s: %s differs", failure,
				 pm_fabric_name(world->fabric, sw));
}

/*
 * Block by block another table's preferences give that table, in between packets
 * arrive, and the way back restores the first one; with parts failed as well.
 */
static void test_prefer(void **state)
{
	struct world world;
	struct pm_routes *turned, *plain;
	uint8_t *own_rows, *turned_rows;

	world_make(&world, world_director(36), PM_GROUPED);
	world_fail(&world, "");
	turned = make_turned(&world);
	own_rows = copy_preferred(&world);
	turned_rows = malloc((size_t)world.num_switches * world.stride);
	assert_non_null(turned_rows);
	for (uint32_t sw = 0; sw < world.num_switches; sw++)
		memcpy(turned_rows + (size_t)sw * world.stride,
		       pm_routes_preferred(turned, sw), world.stride);
	assert_int_equal(pm_routes_make(world.plan, &plain, NULL), 0);
	for (size_t i = 0; i < LENGTH(put_failures); i++) {
		struct pm_fabric *now = world_without(&world, put_failures[i]);

		prefer_all(world.routes, turned_rows, &world, 2);
		world_update(&world, now);
		world_assert_sound(&world, now);
		prefer_all(world.routes, turned_rows, &world, 1);
		world_update(&world, now);
		pm_routes_update(turned, world.usable, &world.detours);
		expect_tables(world.routes, turned, &world, put_failures[i]);
		prefer_all(world.routes, own_rows, &world, 1);
		world_update(&world, now);
		pm_routes_update(plain, world.usable, &world.detours);
		expect_tables(world.routes, plain, &world, put_failures[i]);
		pm_fabric_free(now);
	}
	pm_routes_free(plain);
	pm_routes_free(turned);
	free(turned_rows);
	free(own_rows);
	world_free(&world);
}

static uint64_t digest_tables(const struct world *world)
{
	uint8_t *tables = world_tables(world->routes, world->num_switches);
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < (size_t)world->num_switches * world->stride; i++)
		hash = (hash ^ tables[i]) * 0x100000001b3;
	free(tables);
	return hash;
}

/*
 * Versions compute the same: an upgrade writes no entry. Another rule needs other
 * digests here, and a word in NEWS.
 */
static void test_pinned(void **state)
{
	static const struct recipe_xgft shapes[] = {
		{2, 5, {0, 7}, {3}, {2, 1}},
		{3, 3, {0, 4, 3}, {3, 2}, {1, 2, 1}},
		{4, 2, {0, 2, 3, 2}, {2, 3, 2}, {1, 1, 1}},
	};
	static const struct {
		int shape; /* below 0: a director of so many leaves */
		const char *failure;
		uint64_t digest;
	} pinned[] = {
		{-36, "", 0x4d4743dfdba82d59},
		{-36, "s0-*", 0x8d54fb378849a982},
		{-36, "leaf5:20 s3-line1 s4-fab0", 0x112d585748e7c180},
		{0, "", 0xbb6c2758fc607607},
		{0, "sw1-1", 0x9f3388c9d5c5b3f2},
		{0, "sw0-2:6 sw0-3:8", 0xa35128012dd14320},
		{1, "", 0xc5ecf5d827037fea},
		{1, "sw1-1", 0xcbcab58dae19fc0c},
		{1, "sw2-0 sw1-4:5", 0x5d5efea37b88eabe},
		{2, "", 0x5918b819e3171ce5},
		{2, "sw3-1 sw2-0:3", 0xea0da362a1424bfe},
		{-324, "", 0xe6fea851ba02a79f},
		{-324, "s0-fab0 s7-line3 leaf300:25", 0xee74a03a000f3ec6},
	};
	bool failed = false;

	for (size_t i = 0; i < LENGTH(pinned); i++) {
		struct recipe recipe = {0};
		struct world world;
		uint64_t digest;

		if (pinned[i].shape >= 0)
			recipe_add_xgft(&recipe, &shapes[pinned[i].shape]);
		world_make(&world,
			   pinned[i].shape < 0
				   ? world_director((unsigned int)-pinned[i].shape)
				   : recipe_build(&recipe, NULL),
			   PM_GROUPED);
		world_fail(&world, pinned[i].failure);
		digest = digest_tables(&world);
		if (digest != pinned[i].digest)
			print_error("%d, %s: 0x%016llx\n", pinned[i].shape,
				    pinned[i].failure, (unsigned long long)digest);
		failed |= digest != pinned[i].digest;
		world_free(&world);
		recipe_free(&recipe);
	}
	assert_false(failed);
}

/*
 * The work for a failure is in proportion to its changes: to the sets and the entries,
 * whatever the size of the fabric.
 */
static double examined_per_change(uint32_t leaves, const char *node, unsigned int port)
{
	struct world world;
	uint32_t at, changes, sets;
	double looked;

	world_make(&world, world_director(leaves), PM_GROUPED);
	at = world_port(world.fabric, node, port);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pm_routes_fail(world.routes, &at, 1, NULL), 0);
	pm_routes_changes(world.routes, &changes);
	pm_routes_reach_less(world.routes, &sets);
	assert_true(changes > 0);
	looked = (double)pm_routes_examined(world.routes) / (changes + sets);
	world_free(&world);
	return looked;
}

static void test_failure_is_local(void **state)
{
	static const struct {
		const char *node;
		unsigned int port;
		double most; /* looked at for each that changes */
	} failures[] = {
		{"leaf5", 20, 15},
		{"s3-line0", 19, 2},
	};

	for (size_t i = 0; i < LENGTH(failures); i++) {
		double small =
			examined_per_change(72, failures[i].node, failures[i].port);
		double large =
			examined_per_change(324, failures[i].node, failures[i].port);

		print_message("%s: %.1f and %.1f looked at\n", failures[i].node, small,
			      large);
		if (large > failures[i].most || large > 1.25 * small)
			fail_msg(
				"%s: %.1f looked at for a change, %.1f in a smaller fabric",
				failures[i].node, large, small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_one_switch),
		cmocka_unit_test(test_tall),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_hub_above_leaves),
		cmocka_unit_test(test_moved_are_spread),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_moved_stay),
		cmocka_unit_test(test_connected),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_director),
		cmocka_unit_test(test_moved_shifts),
		cmocka_unit_test(test_load_ratio),
		cmocka_unit_test(test_ratio_is_below),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_taken_over),
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_not_taken_over),
		cmocka_unit_test(test_uneven_installed),
		cmocka_unit_test(test_installed_loses),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_prefer),
		cmocka_unit_test(test_failure_is_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
