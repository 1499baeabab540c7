/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of reboots (migration.h), carried out by the rule by which the plugin gives
 * LIDs to ports that come up (pm_plan_keep). PM_SEED and PM_ROUNDS as in
 * test_properties.c.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <inttypes.h>

#include <portmajor/plan/migration.h>

/* Gives a node's ports the LIDs of a plan in force. */
static void set_lids(struct pm_fabric *fabric, uint32_t node, const struct pm_plan *force)
{
	const struct pm_node *n = &fabric->nodes[node];

	for (uint32_t i = n->first_port; i <= n->first_port + n->num_ports; i++) {
		struct pm_port *port = &fabric->ports[i];
		uint32_t place;

		if (node < fabric->num_switches ? port->num != 0 : port->peer == PM_NONE)
			continue;
		place = pm_plan_place(force, fabric, i);
		port->lid = place == PM_NONE ? 0 : force->lid[place];
	}
}

static void take_lids(struct pm_fabric *fabric, uint32_t node)
{
	const struct pm_node *n = &fabric->nodes[node];

	for (uint32_t i = n->first_port; i <= n->first_port + n->num_ports; i++)
		fabric->ports[i].lid = 0;
}

/* Nodes are down together, and come up. */
static void reboot(const struct pm_plan *plan, struct pm_fabric *fabric,
		   const uint32_t *nodes, uint32_t num)
{
	struct pm_plan *kept = NULL;
	uint32_t differ;

	for (uint32_t i = 0; i < num; i++)
		take_lids(fabric, nodes[i]);
	assert_int_equal(pm_plan_keep(plan, fabric, NULL, &kept, &differ, NULL), 0);
	for (uint32_t i = 0; i < num; i++)
		set_lids(fabric, nodes[i], kept ? kept : plan);
	pm_plan_free(kept);
}

static bool is_in_plan(const struct pm_plan *plan, const struct pm_fabric *fabric,
		       uint32_t node)
{
	const struct pm_node *n = &fabric->nodes[node];

	for (uint32_t i = n->first_port; i <= n->first_port + n->num_ports; i++) {
		uint32_t place =
			fabric->ports[i].lid ? pm_plan_place(plan, fabric, i) : PM_NONE;

		if (place != PM_NONE && plan->lid[place] != fabric->ports[i].lid)
			return false;
	}
	return true;
}

/* Exchanges LIDs of ports at random, and moves some to free LIDs. */
static void mix_lids(struct pm_fabric *fabric, struct random *random, uint32_t share)
{
	uint32_t *ports = calloc(fabric->num_ports, sizeof(*ports)), num = 0;
	uint16_t high = 0;

	assert_non_null(ports);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].lid) {
			ports[num++] = i;
			if (fabric->ports[i].lid > high)
				high = fabric->ports[i].lid;
		}
	for (uint32_t i = 0; i < num; i++) {
		struct pm_port *a = &fabric->ports[ports[i]];
		struct pm_port *b = &fabric->ports[ports[random_below(random, num)]];
		uint16_t lid = a->lid;

		if (random_below(random, 100) >= share)
			continue;
		if (!random_below(random, 8)) {
			a->lid = ++high;
		} else {
			a->lid = b->lid;
			b->lid = lid;
		}
	}
	free(ports);
}

/* Carries the order out: no node reboots twice. */
static void check_order(const struct pm_plan *plan, const struct pm_fabric *fabric,
			const struct pm_migration *migration)
{
	struct pm_fabric *now = pm_fabric_clone(fabric);

	for (uint32_t i = 0, end; i < migration->num; i = end) {
		for (end = i + 1; end < migration->num &&
				  migration->group[end] == migration->group[i];)
			end++;
		reboot(plan, now, &migration->nodes[i], end - i);
		for (uint32_t k = i; k < end; k++)
			assert_true(is_in_plan(plan, now, migration->nodes[k]));
	}
	for (uint32_t node = 0; node < now->num_nodes; node++)
		assert_true(is_in_plan(plan, now, node));
	pm_fabric_free(now);
}

/* One after the other by index. */
static void check_twice(const struct pm_plan *plan, const struct pm_fabric *fabric,
			const struct pm_migration *migration)
{
	struct pm_fabric *now = pm_fabric_clone(fabric);
	uint32_t twice = 0;

	for (uint32_t node = 0; node < now->num_nodes; node++) {
		if (is_in_plan(plan, fabric, node))
			continue;
		reboot(plan, now, &node, 1);
		twice += !is_in_plan(plan, now, node);
	}
	assert_int_equal(migration->twice, twice);
	pm_fabric_free(now);
}

static void test_random(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 20261129);
	uint32_t rounds = (uint32_t)from_environment("PM_ROUNDS", 300), joint = 0;
	struct random random = {seed};

	print_message("PM_SEED=%" PRIu64 "\n", seed);
	for (uint32_t round = 0; round < rounds; round++) {
		struct pm_migration migration;
		struct recipe recipe = {0};
		struct world world = {0};

		if (!world_make_random(&world, &random, &recipe)) {
			recipe_free(&recipe);
			continue;
		}
		mix_lids(world.fabric, &random, random_below(&random, 101));
		assert_int_equal(
			pm_migration_find(world.plan, world.fabric, &migration, NULL), 0);
		check_order(world.plan, world.fabric, &migration);
		check_twice(world.plan, world.fabric, &migration);
		joint += migration.num_joint;
		pm_migration_free(&migration);
		world_free(&world);
		recipe_free(&recipe);
	}
	assert_true(joint > 0 || rounds < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
