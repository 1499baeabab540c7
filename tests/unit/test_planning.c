/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways through the phases of planning.h, then random ones in random trees. Leaks and
 * double frees are found by the asan-ubsan preset. PM_SEED and PM_ROUNDS are as in
 * test_properties.c.
 */
#include "planning.h"

#include "recipe.h"
#include "world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TREE "l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=s1:1 l1:3=s1:2"
#define GROWN TREE " l1:4=c"

static struct planning_request ask_for(const struct pm_fabric *fabric)
{
	return (struct planning_request){
		.fabric = fabric,
		.config = {.order = PM_GROUPED},
		.max_lid = 0xbfff,
	};
}

static struct planning_change propose(const struct planning *planning,
				      const struct planning_request *request)
{
	struct planning_change change;
	struct pm_error err = {""};

	if (planning_propose(planning, request, &change, &err))
		fail_msg("%s", err.text);
	return change;
}

static void adopt(struct planning *planning, const struct planning_request *request)
{
	struct planning_change change = propose(planning, request);

	planning_adopt(planning, &change);
}

/* A plan for a fabric, or NULL; with `lids` that is given its LIDs. */
static struct pm_plan *plan_of(struct pm_fabric *fabric, bool lids)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL;

	if (!pm_plan_make(fabric, &config, &plan, NULL) && lids)
		world_set_lids(fabric, plan);
	return plan;
}

static void check_empty(const struct planning *planning)
{
	assert_int_equal(planning->phase, PLANNING_EMPTY);
	assert_null(planning->base);
	assert_null(planning->plan);
	assert_null(planning->last);
	assert_false(planning->unsaved);
}

static void test_made_and_grown(void **state)
{
	struct pm_fabric *small = recipe_draw(TREE), *large = recipe_draw(GROWN);
	const struct planning_request first = ask_for(small), more = ask_for(large);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct planning_change change;
	uint16_t lid;

	(void)state;
	change = propose(&planning, &first);
	check_empty(&planning);
	assert_non_null(change.base);
	assert_ptr_equal(change.plan, change.base);
	planning_adopt(&planning, &change);
	assert_int_equal(planning.phase, PLANNING_SETTLED);
	assert_ptr_equal(planning.plan, change.plan);
	assert_true(planning.unsaved);
	lid = planning.plan->lid[world_port(planning.plan->known, "l0", 1)];
	assert_int_not_equal(lid, 0);

	planning.unsaved = false;
	change = propose(&planning, &first);
	assert_null(change.plan);
	assert_null(change.base);
	planning_adopt(&planning, &change);
	assert_false(planning.unsaved);

	change = propose(&planning, &more);
	assert_non_null(change.base);
	planning_adopt(&planning, &change);
	assert_true(planning.unsaved);
	assert_int_equal(planning.plan->lid[world_port(planning.plan->known, "l0", 1)],
			 lid);
	assert_int_not_equal(
		planning.plan->lid[world_port(planning.plan->known, "l1", 4)], 0);

	planning_forget(&planning);
	check_empty(&planning);
	pm_fabric_free(small);
	pm_fabric_free(large);
}

static void test_loaded(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TREE);
	struct planning_request request = ask_for(fabric);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct pm_plan *base = plan_of(fabric, true);
	struct planning_change change;

	(void)state;
	request.keep = true;
	planning_load(&planning, base, plan_of(fabric, false));
	assert_int_equal(planning.phase, PLANNING_LOADED);
	assert_ptr_equal(planning.base, base);
	assert_null(planning.plan);
	assert_false(planning.unsaved);
	change = propose(&planning, &request);
	assert_int_equal(planning.phase, PLANNING_LOADED);
	assert_ptr_equal(change.plan, base);
	planning_discard(&planning, &change);
	adopt(&planning, &request);
	assert_int_equal(planning.phase, PLANNING_SETTLED);
	assert_ptr_equal(planning.plan, base);
	assert_ptr_equal(planning.base, base);
	assert_null(planning.last);

	/* Read once more: all of it is another one's. */
	planning_load(&planning, plan_of(fabric, false), NULL);
	assert_int_equal(planning.phase, PLANNING_LOADED);
	assert_null(planning.plan);
	planning_forget(&planning);
	check_empty(&planning);
	pm_fabric_free(fabric);
}

/* Swaps the LIDs of two hosts, so that none is as planned. */
static void swap_hosts(struct pm_fabric *fabric)
{
	uint32_t a = world_port(fabric, "a", 1), b = world_port(fabric, "b", 1);
	uint16_t lid = fabric->ports[a].lid;

	fabric->ports[a].lid = fabric->ports[b].lid;
	fabric->ports[b].lid = lid;
}

static uint16_t lid_in_force(const struct planning *planning, const char *leaf)
{
	const struct pm_plan *plan = planning->plan;

	return plan->lid[world_port(plan->known, leaf, 1)];
}

static void test_lids_in_use(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TREE);
	struct planning_request request = ask_for(fabric);
	struct planning planning = {.phase = PLANNING_EMPTY};

	(void)state;
	planning_load(&planning, plan_of(fabric, true), NULL);
	swap_hosts(fabric);
	request.keep = true;
	adopt(&planning, &request);
	assert_ptr_equal(planning.plan, planning.base);
	assert_int_equal(planning.out_of_plan, 2);
	assert_int_equal(lid_in_force(&planning, "l0"),
			 fabric->ports[world_port(fabric, "a", 1)].lid);
	planning_forget(&planning);
	pm_fabric_free(fabric);
}

static void test_migrate(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TREE);
	struct planning_request request = ask_for(fabric);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct pm_plan *base = plan_of(fabric, true);
	struct planning_change change;

	(void)state;
	request.migrate = true;
	planning_load(&planning, base, NULL);
	swap_hosts(fabric);
	change = propose(&planning, &request);
	assert_ptr_not_equal(change.plan, base);
	planning_discard(&planning, &change);
	adopt(&planning, &request);
	assert_ptr_equal(planning.base, base);
	assert_ptr_not_equal(planning.plan, base);
	assert_int_equal(planning.out_of_plan, 2);
	assert_int_equal(lid_in_force(&planning, "l0"),
			 fabric->ports[world_port(fabric, "a", 1)].lid);

	/* The same again changes nothing; LIDs as planned end it. */
	change = propose(&planning, &request);
	assert_null(change.plan);
	planning_adopt(&planning, &change);
	swap_hosts(fabric);
	change = propose(&planning, &request);
	assert_ptr_equal(change.plan, base);
	planning_adopt(&planning, &change);
	assert_ptr_equal(planning.plan, base);
	assert_int_equal(planning.out_of_plan, 0);
	planning_forget(&planning);
	pm_fabric_free(fabric);
}

static void test_no_room(void **state)
{
	struct pm_fabric *small = recipe_draw(TREE), *large = recipe_draw(GROWN);
	struct planning_request request = ask_for(small);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct planning_change change;
	struct pm_error err = {""};

	(void)state;
	request.max_lid = 1;
	assert_int_equal(planning_propose(&planning, &request, &change, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "have room for LIDs up to 1"));
	check_empty(&planning);

	request.max_lid = 0xbfff;
	adopt(&planning, &request);
	planning.unsaved = false;
	request.fabric = large;
	request.max_lid = 1;
	assert_int_equal(planning_propose(&planning, &request, &change, &err), -ENOSPC);
	assert_int_equal(planning.phase, PLANNING_SETTLED);
	assert_false(planning.unsaved);
	planning_forget(&planning);
	pm_fabric_free(small);
	pm_fabric_free(large);
}

/* ---- At random ---- */

/* A part of the recipe with LIDs of a plan, some of them at other ports. */
static struct pm_fabric *draw_part(struct recipe *recipe, struct random *random,
				   const struct pm_plan *plan)
{
	struct pm_fabric *fabric;

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		recipe->nodes[i].away = random_chance(random, 10);
	for (uint32_t i = 0; i < recipe->num_cables; i++)
		recipe->cables[i].away = random_chance(random, 10);
	fabric = recipe_build(recipe, random);
	if (plan)
		world_set_lids(fabric, plan);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t j = random_below(random, fabric->num_ports);
		uint16_t lid = fabric->ports[i].lid;

		if (!lid || !fabric->ports[j].lid || random_chance(random, 95))
			continue;
		fabric->ports[i].lid = fabric->ports[j].lid;
		fabric->ports[j].lid = lid;
	}
	return fabric;
}

static void check_settled(const struct planning *planning, const struct pm_fabric *fabric)
{
	uint8_t *seen = calloc(planning->plan->known->num_ports + 1u, 1);

	assert_non_null(seen);
	assert_int_equal(planning->phase, PLANNING_SETTLED);
	assert_null(planning->last);
	assert_true(pm_plan_match(planning->plan, fabric, seen));
	free(seen);
}

static void step(struct planning *planning, struct recipe *recipe, struct random *random)
{
	const struct planning before = *planning;
	struct pm_fabric *fabric = draw_part(recipe, random, planning->base);
	struct planning_request request = ask_for(fabric);
	struct planning_change change;
	struct pm_plan *read;

	request.migrate = random_chance(random, 30);
	request.keep = random_chance(random, 30);
	request.max_lid = random_chance(random, 10) ? 3 : 0xbfff;
	if (planning_propose(planning, &request, &change, NULL)) {
		assert_memory_equal(planning, &before, sizeof(before));
	} else if (random_chance(random, 30)) {
		planning_discard(planning, &change);
		assert_memory_equal(planning, &before, sizeof(before));
	} else {
		planning_adopt(planning, &change);
		check_settled(planning, fabric);
	}
	if (random_chance(random, 5))
		planning_forget(planning);
	read = random_chance(random, 5) ? plan_of(fabric, false) : NULL;
	if (read)
		planning_load(planning, read,
			      random_chance(random, 50) ? plan_of(fabric, false) : NULL);
	pm_fabric_free(fabric);
}

static void test_random(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1),
		 rounds = from_environment("PM_ROUNDS", 60);
	const struct recipe_limits limits = {.switches = 30, .hosts = 60};

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct random random = {seed + round};
		struct planning planning = {.phase = PLANNING_EMPTY};
		struct recipe recipe = {0};

		print_message("PM_SEED=%llu\n", (unsigned long long)(seed + round));
		recipe_random(&recipe, &random, &limits);
		for (int i = 0; i < 20; i++)
			step(&planning, &recipe, &random);
		planning_forget(&planning);
		recipe_free(&recipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_and_grown), cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_lids_in_use),    cmocka_unit_test(test_migrate),
		cmocka_unit_test(test_no_room),	       cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
