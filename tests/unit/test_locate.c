/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Losses in simulated fabrics, found by questions that are answered by the truth. */
#include "recipe.h"
#include "world.h"

#include <portmajor/locate.h>
#include <portmajor/reach.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is really alive, and who can still be reached by the manager. */
struct truth {
	const struct world *world;
	uint8_t *before, *alive; /* [port] */
	uint32_t *part, *queue;	 /* [switch] */
	uint32_t manager;	 /* place */
	uint32_t asked, silent;
};

static void make_truth(struct truth *truth, struct world *world, const char *before,
		       const char *loss, const char *manager)
{
	struct pm_fabric *start = world_without(world, before);
	struct pm_fabric *broken = world_without(world, loss);
	uint32_t ports = world->plan->known->num_ports;
	uint32_t host = world_port(world->fabric, manager, 1);

	*truth = (struct truth){.world = world};
	truth->before = calloc(ports, 1);
	truth->alive = calloc(ports, 1);
	truth->part = calloc(world->num_switches, sizeof(uint32_t));
	truth->queue = calloc(world->num_switches, sizeof(uint32_t));
	assert_true(truth->before && truth->alive && truth->part && truth->queue);
	assert_true(pm_plan_match(world->plan, start, truth->before));
	assert_true(pm_plan_match(world->plan, broken, truth->alive));
	pm_reach_parts(world->plan->known, truth->alive, truth->part, truth->queue);
	truth->manager = pm_plan_place(world->plan, world->fabric, host);
	world->detours.manager = truth->manager;
	pm_routes_update(world->routes, truth->before, &world->detours);
	pm_fabric_free(start);
	pm_fabric_free(broken);
}

static void free_truth(struct truth *truth)
{
	free(truth->before);
	free(truth->alive);
	free(truth->part);
	free(truth->queue);
}

static bool is_reached(const struct truth *truth, uint32_t sw)
{
	uint32_t home = truth->world->plan->known->ports[truth->manager].node;

	return truth->part[sw] == truth->part[home];
}

/* Every switch that can reports once for each port that changed. */
static void report_all(const struct truth *truth, struct pm_locate *locate)
{
	const struct pm_fabric *known = truth->world->plan->known;

	for (uint32_t i = 0; i < known->num_ports; i++)
		if (truth->before[i] != truth->alive[i] &&
		    is_reached(truth, known->ports[i].node))
			pm_locate_report(locate, known->ports[i].node);
}

/* Whether a packet sent along a path arrives at this switch. */
static bool arrives(const struct truth *truth, const uint8_t *path, int hops, uint32_t sw)
{
	const struct pm_fabric *known = truth->world->plan->known;
	uint32_t at = known->ports[truth->manager].node;

	for (int i = 0; i < hops; i++) {
		uint32_t port = known->nodes[at].first_port + path[i];

		if (!truth->alive[port])
			return false;
		at = pm_fabric_peer_node(known, port);
	}
	return at == sw;
}

static void answer(struct truth *truth, struct pm_locate *locate, uint32_t port)
{
	uint32_t sw = truth->world->plan->known->ports[port].node;
	uint8_t path[PM_LOCATE_HOPS];
	int hops = pm_locate_path(locate, sw, path);

	truth->asked++;
	if (hops < 0 || !arrives(truth, path, hops, sw)) {
		truth->silent++;
		pm_locate_answer(locate, port, PM_NO_ANSWER);
		return;
	}
	pm_locate_answer(locate, port,
			 truth->alive[port] ? PM_ANSWER_UP : PM_ANSWER_DOWN);
}

static void run(struct truth *truth, struct pm_locate *locate)
{
	uint32_t ports[64], num;

	while ((num = pm_locate_questions(locate, ports, LENGTH(ports)))) {
		for (uint32_t i = 0; i < num; i++)
			answer(truth, locate, ports[i]);
		assert_true(truth->asked <= 2 * truth->world->plan->known->num_ports);
	}
}

/* Nothing is taken for lost that is not; the tables are what the truth makes them. */
static void check_found(struct truth *truth, struct pm_locate *locate, const char *name)
{
	const struct world *world = truth->world;
	uint32_t ports = world->plan->known->num_ports;
	uint8_t *found = calloc(ports, 1);
	uint8_t *tables;

	assert_non_null(found);
	pm_locate_lost(locate, found);
	for (uint32_t i = 0; i < ports; i++)
		if (truth->alive[i] && truth->before[i] && !found[i] &&
		    is_reached(truth, world->plan->known->ports[i].node))
			fail_msg("%s: port %u is alive", name, i);
	/* What came up is left to others. */
	for (uint32_t i = 0; i < ports; i++)
		truth->alive[i] &= truth->before[i];
	pm_routes_update(world->routes, found, &world->detours);
	tables = world_tables(world->routes, world->num_switches);
	pm_routes_update(world->routes, truth->alive, &world->detours);
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		if (is_reached(truth, sw) &&
		    memcmp(tables + (size_t)sw * world->stride,
			   pm_routes_table(world->routes, sw), world->stride) != 0)
			fail_msg("%s: other tables on %s", name,
				 pm_fabric_name(world->plan->known, sw));
	free(tables);
	free(found);
}

/* What it may take to find a loss in a director; nobody is ever asked in vain. */
struct row {
	const char *before, *loss, *manager;
	uint32_t most; /* questions */
};

static const struct row rows[] = {
	{"", "leaf5:20", "h0-1", 1},
	{"", "leaf0:20", "h0-1", 18},
	{"", "s3-line1:30", "h0-1", 2},
	{"", "s0-*", "h0-1", 18 + 18 * 17 + 17 + 324},
	{"", "s17-*", "h0-1", 18 + 18 * 17 + 17 + 324},
	{"", "s0-*", "h20-1", 18 + 18 * 17 + 17 + 324},
	{"", "s0-*", "h323-7", 18 + 18 * 17 + 17 + 324},
	{"", "s3-line4", "h0-1", 36 + 18 + 18},
	{"", "s3-fab2", "h0-1", 36 + 35},
	{"", "leaf9", "h0-1", 36 + 17},
	{"", "leaf5:20 leaf9:33", "h0-1", 4},
	{"", "leaf5:20 s4-*", "h0-1", 19 + 18 * 18 + 17 + 324},
	{"", "s3-* s4-*", "h0-1", 2 * (18 + 18 * 17 + 17 + 324)},
	{"s3-*", "s3-* leaf5:20", "h0-1", 1},
	/* Links that come up, and hosts: not worth much asking. */
	{"s3-*", "", "h0-1", 4 * 36},
	{"leaf9", "", "h0-1", 4 * 36},
	{"", "h7-3", "h0-1", 18},
};

static void test_director(void **state)
{
	struct world world;

	(void)state;
	world_make(&world, world_director(324), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_locate *locate;
		struct truth truth;

		make_truth(&truth, &world, rows[i].before, rows[i].loss, rows[i].manager);
		assert_int_equal(pm_locate_new(world.routes, truth.before, truth.manager,
					       &locate, NULL),
				 0);
		report_all(&truth, locate);
		run(&truth, locate);
		if (truth.asked > rows[i].most || truth.silent)
			fail_msg("\"%s\": asked %u, in vain %u", rows[i].loss,
				 truth.asked, truth.silent);
		check_found(&truth, locate, rows[i].loss);
		pm_locate_free(locate);
		free_truth(&truth);
	}
	world_free(&world);
}

/* The reports that got through tell of a whole chassis, even if it is but one. */
static void test_few_reports(void **state)
{
	static const struct {
		const char *loss, *reporter;
	} cases[] = {
		{"s0-*", "leaf0"},	{"s0-*", "leaf321"},	 {"s9-*", "leaf100"},
		{"s3-line4", "leaf75"}, {"s3-line4", "s3-fab2"}, {"s3-fab2", "s3-line7"},
		{"leaf9", "s4-line0"},	{"leaf5:20", "leaf5"},	 {"leaf5:20", "s1-line0"},
	};
	struct world world;

	(void)state;
	world_make(&world, world_director(324), PM_GROUPED);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pm_locate *locate;
		struct truth truth;

		make_truth(&truth, &world, "", cases[i].loss, "h0-1");
		assert_int_equal(pm_locate_new(world.routes, truth.before, truth.manager,
					       &locate, NULL),
				 0);
		pm_locate_report(locate, world_switch(&world, cases[i].reporter));
		run(&truth, locate);
		if (truth.asked > 36 + 18 * 18 + 17)
			fail_msg("%s: asked %u", cases[i].loss, truth.asked);
		check_found(&truth, locate, cases[i].loss);
		pm_locate_free(locate);
		free_truth(&truth);
	}
	world_free(&world);
}

/* A dying switch and all its neighbours but one report: that one is asked all the same.
 */
static void test_one_report_missing(void **state)
{
	struct pm_locate *locate;
	struct truth truth;
	struct world world;
	bool skipped = false;

	(void)state;
	world_make(&world, world_director(36), PM_GROUPED);
	make_truth(&truth, &world, "", "s3-line1", "h0-1");
	assert_int_equal(
		pm_locate_new(world.routes, truth.before, truth.manager, &locate, NULL),
		0);
	for (uint32_t i = 0; i < world.plan->known->num_ports; i++) {
		uint32_t sw = world.plan->known->ports[i].node;

		if (truth.before[i] == truth.alive[i] || !is_reached(&truth, sw))
			continue;
		if (!skipped && sw == world_switch(&world, "leaf19"))
			skipped = true;
		else
			pm_locate_report(locate, sw);
	}
	assert_true(skipped);
	for (int i = 0; i < 10; i++)
		pm_locate_report(locate, world_switch(&world, "s3-line1"));
	run(&truth, locate);
	check_found(&truth, locate, "s3-line1");
	pm_locate_free(locate);
	free_truth(&truth);
	world_free(&world);
}

/* Its own neighbours below report, those above cannot. */
static void test_half_of_the_reports(void **state)
{
	struct pm_locate *locate;
	struct truth truth;
	struct world world;

	(void)state;
	world_make(&world, world_director(36), PM_GROUPED);
	make_truth(&truth, &world, "", "s3-line1", "h20-1");
	assert_int_equal(
		pm_locate_new(world.routes, truth.before, truth.manager, &locate, NULL),
		0);
	for (unsigned int leaf = 18; leaf < 36; leaf++) {
		char name[16];

		snprintf(name, sizeof(name), "leaf%u", leaf);
		pm_locate_report(locate, world_switch(&world, name));
	}
	pm_locate_report(locate, world_switch(&world, "s3-line1"));
	run(&truth, locate);
	check_found(&truth, locate, "s3-line1");
	pm_locate_free(locate);
	free_truth(&truth);
	world_free(&world);
}

/* A path leads where it should, also when the tables' way is lost. */
static void test_paths(void **state)
{
	uint8_t path[PM_LOCATE_HOPS];
	struct pm_locate *locate;
	struct truth truth;
	struct world world;

	(void)state;
	world_make(&world, world_director(36), PM_GROUPED);
	make_truth(&truth, &world, "s3-* leaf7", "s3-* leaf7", "h0-1");
	assert_int_equal(
		pm_locate_new(world.routes, truth.before, truth.manager, &locate, NULL),
		0);
	for (uint32_t sw = 0; sw < world.num_switches; sw++) {
		int hops = pm_locate_path(locate, sw, path);

		assert_int_equal(hops >= 0, is_reached(&truth, sw));
		if (hops >= 0)
			assert_true(arrives(&truth, path, hops, sw));
	}
	assert_int_equal(pm_locate_path(locate, world_switch(&world, "leaf0"), path), 0);
	pm_locate_free(locate);
	free_truth(&truth);
	world_free(&world);
}

/* One after another, any switch or cable of an uneven tree. */
static void test_every_single_loss(void **state)
{
	struct recipe_xgft shape = {.levels = 3,
				    .hosts = 2,
				    .children = {0, 4, 3},
				    .parents = {2, 3},
				    .parallel = {2, 1}};
	struct recipe recipe = {0};
	struct world world;
	uint32_t silent = 0, tried = 0;

	(void)state;
	recipe_add_xgft(&recipe, &shape);
	world_make(&world, recipe_build(&recipe, NULL), PM_GROUPED);
	for (uint32_t i = 0; i < world.plan->known->num_ports; i++) {
		const struct pm_fabric *known = world.plan->known;
		const struct pm_port *p = &known->ports[i];
		struct pm_locate *locate;
		struct truth truth;
		char loss[128];

		if (p->num && p->peer == PM_NONE)
			continue;
		snprintf(loss, sizeof(loss), p->num ? "%s:%u" : "%s",
			 pm_fabric_name(known, p->node), p->num);
		make_truth(&truth, &world, "", loss,
			   pm_fabric_name(world.fabric, world.fabric->num_nodes - 1));
		assert_int_equal(pm_locate_new(world.routes, truth.before, truth.manager,
					       &locate, NULL),
				 0);
		report_all(&truth, locate);
		run(&truth, locate);
		check_found(&truth, locate, loss);
		silent += truth.silent;
		tried++;
		pm_locate_free(locate);
		free_truth(&truth);
	}
	/* Only of those whose own way to the manager was lost with it. */
	assert_in_range(silent, 0, 2 * tried);
	assert_in_range(tried, 50, 1000);
	world_free(&world);
	recipe_free(&recipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_director),
		cmocka_unit_test(test_few_reports),
		cmocka_unit_test(test_one_report_missing),
		cmocka_unit_test(test_half_of_the_reports),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_every_single_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
