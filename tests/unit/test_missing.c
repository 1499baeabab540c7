/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing parts of a drawn tree, each failure with the parts and sums written out; then
 * of random trees, where every link and host counts once. */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/plan/missing.h>

static struct pm_missing find(struct world *world, const char *failure)
{
	struct pm_fabric *now = world_without(world, failure);
	struct pm_missing missing;

	world_update(world, now);
	assert_int_equal(
		pm_missing_find(world->plan->topology, world->usable, &missing, NULL), 0);
	pm_fabric_free(now);
	return missing;
}

/* "l0:3(0+1)": name, port unless it is a switch, hosts and links. */
static void print(const struct world *world, const struct pm_missing *missing, char *text,
		  size_t size)
{
	const struct pm_fabric *topology = world->plan->topology;
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < missing->num; i++) {
		const struct pm_missing_part *part = &missing->parts[i];
		const struct pm_port *port = &topology->ports[part->port];
		char num[8] = "";

		if (port->num)
			snprintf(num, sizeof(num), ":%u", port->num);
		used += (size_t)snprintf(text + used, size - used, "%s%s%s(%u+%u)",
					 i ? " " : "",
					 pm_fabric_name(topology, port->node), num,
					 part->hosts, part->links);
	}
}

static void test_drawn(void **state)
{
	static const struct {
		const char *failure, *parts;
		uint32_t switches, hosts, links;
	} rows[] = {
		{"", "", 0, 0, 0},
		{"l0", "l0(2+2)", 1, 2, 2},
		{"l0:3 l0:4 l0:1 l0:2", "l0(2+2)", 1, 2, 2},
		{"l0:1", "l0:1(1+0)", 0, 1, 0},
		{"l0:3", "l0:3(0+1)", 0, 0, 1},
		{"s0:2", "l1:3(0+1)", 0, 0, 1},
		{"s0", "s0(0+3)", 1, 0, 3},
		{"s0 s1", "s0(0+3) s1(0+3)", 2, 0, 6},
		/* The link between them is the first one's. */
		{"l0 s0", "l0(2+2) s0(0+2)", 2, 2, 4},
		{"l2:1 s1 l0:2", "s1(0+3) l0:2(1+0) l2:1(1+0)", 1, 2, 3},
		/* A service port is a link, and no host. */
		{"l2:2", "l2:2(0+1)", 0, 0, 1},
	};
	struct world world;

	world_make(&world,
		   recipe_draw(
			   "l0/4 l1/4 l2/6 s0/6 s1/6 l0:1=h0 l0:2=h1 l0:3=s0:1 l0:4=s1:1 "
			   "l1:1=h2 l1:2=h3 l1:3=s0:2 l1:4=s1:2 "
			   "l2:1=h4 l2:2=h5 l2:3=s0:3 l2:4=s1:3"),
		   PM_GROUPED);
	world.plan->topology->ports[world_port(world.plan->topology, "l2", 2)].host =
		PM_SERVICE;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_missing missing = find(&world, rows[i].failure);
		char text[256];

		print(&world, &missing, text, sizeof(text));
		assert_string_equal(text, rows[i].parts);
		assert_int_equal(missing.switches, rows[i].switches);
		assert_int_equal(missing.hosts, rows[i].hosts);
		assert_int_equal(missing.links, rows[i].links);
		pm_missing_free(&missing);
	}
	world_free(&world);
}

/* A switch without any cable in the plan is no part. */
static void test_recabled(void **state)
{
	struct pm_missing missing;
	struct pm_fabric *fabric = recipe_draw("a/4 b/4 c/4 a:1=h0 b:1=h1 a:2=b:2");
	uint8_t discovered[16] = {0};

	pm_for_each_port(i, fabric, 0)
		discovered[i] = 1;
	pm_for_each_port(i, fabric, 1)
		discovered[i] = 1;
	assert_int_equal(pm_missing_find(fabric, discovered, &missing, NULL), 0);
	assert_int_equal(missing.num, 0);
	pm_missing_free(&missing);
	pm_fabric_free(fabric);
}

/*
 * The switches above failed: parts that were cut off with them are behind them, and
 * last.
 */
static void test_behind(void **state)
{
	struct world world;
	struct pm_missing missing;
	char text[256];

	world_make(
		&world,
		recipe_draw(
			"l0/4 l1/4 m0/4 m1/4 t0/4 t1/4 l0:1=h0 l1:1=h1 l0:2=h2 l1:2=h3 "
			"l0:3=m0:1 l1:3=m1:1 "
			"m0:2=t0:1 m0:3=t1:1 m1:2=t0:2 m1:3=t1:2"),
		PM_GROUPED);
	missing = find(&world, "t0 t1 l1 m1 l0:2");
	print(&world, &missing, text, sizeof(text));
	assert_string_equal(text, "t0(0+2) t1(0+2) l0:2(1+0) l1(2+1) m1(0+0)");
	for (uint32_t i = 0; i < missing.num; i++)
		assert_int_equal(missing.parts[i].behind, i >= 3);
	pm_missing_free(&missing);
	world_free(&world);
}

/* Links that are not discovered, each once: at the lower of both ports. */
static void count(const struct pm_fabric *topology, const uint8_t *discovered,
		  uint32_t *links, uint32_t *hosts)
{
	*links = *hosts = 0;
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		const struct pm_port *port = &topology->ports[i];
		bool host = port->host != PM_NO_HOST;

		if (discovered[i] || !port->num)
			continue;
		host = host && port->peer == PM_NONE && !pm_host_is_service(port->host);
		*links += port->peer == PM_NONE ? port->host && !host : port->peer > i;
		*hosts += host;
	}
}

static void test_random(void **state)
{
	struct random random = {from_environment("PM_SEED", 29)};
	uint32_t compared = 0;

	print_message("PM_SEED=%llu\n", (unsigned long long)random.state);
	for (int round = 0; round < 200; round++) {
		struct recipe recipe = {0};
		struct pm_missing missing;
		uint32_t links, hosts, switches = 0, sum = 0;
		struct world world;

		if (!world_make_random(&world, &random, &recipe)) {
			recipe_free(&recipe);
			continue;
		}
		for (uint32_t i = 0; i < recipe.num_links; i++)
			recipe.links[i].away = random_chance(&random, 30);
		for (uint32_t i = 0; i < recipe.num_nodes; i++)
			recipe.nodes[i].away = random_chance(&random, 10);
		struct pm_fabric *now = recipe_build(&recipe, NULL);

		if (pm_plan_match(world.plan, now, world.usable)) {
			assert_int_equal(pm_missing_find(world.plan->topology,
							 world.usable, &missing, NULL),
					 0);
			count(world.plan->topology, world.usable, &links, &hosts);
			assert_int_equal(missing.links, links);
			assert_int_equal(missing.hosts, hosts);
			for (uint32_t i = 0; i < missing.num; i++) {
				switches += !world.plan->topology
						     ->ports[missing.parts[i].port]
						     .num;
				sum += missing.parts[i].links;
			}
			assert_int_equal(missing.switches, switches);
			assert_int_equal(sum, links);
			pm_missing_free(&missing);
			compared++;
		}
		pm_fabric_free(now);
		world_free(&world);
		recipe_free(&recipe);
	}
	assert_true(compared > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_recabled),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
