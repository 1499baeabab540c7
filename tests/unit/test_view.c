/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The discovered, held and usable parts of a drawn fabric; growth; reports. */
#include "engine/view.h"

#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/change_text.h>

#define TREE "l0/4 l1/4 s0/3 s1/3 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=s1:1 l1:3=s1:2"

static const struct pm_damping_config usual = {3, 60000, 10000, 35000};

static uint8_t *copy_of(const uint8_t *bytes, size_t num)
{
	uint8_t *copy = calloc(num + 1, 1);

	assert_non_null(copy);
	if (bytes)
		memcpy(copy, bytes, num);
	return copy;
}

/* A view of a plan, and what is to be discovered next. */
struct ground {
	struct world world; /* with tables of its own to compare with */
	const struct pm_fabric *topology;
	struct view view;
	uint8_t *discovered, *stayed, *silent; /* [port] */
	uint64_t now_ms;
};

static void begin(struct ground *g, bool damping)
{
	memset(g, 0, sizeof(*g));
	world_make(&g->world, recipe_draw(TREE), PM_GROUPED);
	g->topology = g->world.plan->topology;
	assert_int_equal(view_rebase(&g->view, g->world.plan, NULL), 0);
	if (damping)
		assert_int_equal(pm_damping_make(&usual, &g->view.damping, NULL), 0);
	g->discovered = copy_of(NULL, g->topology->num_ports);
	assert_true(pm_plan_match(g->world.plan, g->world.fabric, g->discovered));
	g->silent = copy_of(NULL, g->topology->num_ports);
}

static void end(struct ground *g)
{
	view_free(&g->view);
	assert_null(g->view.damping);
	free(g->discovered);
	free(g->stayed);
	free(g->silent);
	world_free(&g->world);
}

/* Sets both ends of a cable. */
static void set(const struct ground *g, uint8_t *where, const char *sw, unsigned int num,
		uint8_t value)
{
	uint32_t port = world_port(g->topology, sw, num);

	where[port] = value;
	if (g->topology->ports[port].peer != PM_NONE)
		where[g->topology->ports[port].peer] = value;
}

/* Looks a millisecond later; whether anything changed. */
static bool look(struct ground *g)
{
	const struct view_observation seen = {
		.discovered = g->discovered,
		.stayed = g->stayed,
		.silent = g->silent,
		.detours = {.sm = PM_NONE},
		.now_ms = ++g->now_ms,
	};
	struct pm_error err = {""};
	bool changed;

	if (view_update(&g->view, &seen, &changed, &err))
		fail_msg("%s", err.text);
	assert_true(g->view.current);
	assert_memory_equal(g->view.discovered, g->discovered, g->topology->num_ports);
	return changed;
}

/* The tables are those for the links in use, whatever was before. */
static void check_tables(struct ground *g)
{
	struct pm_detours detours = {.sm = PM_NONE, .extra = g->view.discovered};

	pm_routes_update(g->world.routes, g->view.usable, &detours);
	for (uint32_t sw = 0; sw < g->topology->num_switches; sw++)
		assert_memory_equal(pm_routes_table(g->view.routes, sw),
				    pm_routes_table(g->world.routes, sw),
				    g->world.stride);
}

/* How often the cable went down as far as is remembered. */
static uint32_t downs(const struct ground *g, const char *sw, unsigned int num)
{
	uint64_t guid = g->topology->nodes[pm_fabric_find_name(g->topology, sw)].guid;
	struct pm_damped_link flap;
	uint32_t at = 0;

	while (pm_damping_next(g->view.damping, g->now_ms, &at, &flap))
		for (int e = 0; e < 2; e++)
			if (flap.end[e].guid == guid && flap.end[e].num == num)
				return flap.downs;
	return 0;
}

static bool in_use(const struct ground *g, const char *sw, unsigned int num)
{
	return g->view.usable[world_port(g->topology, sw, num)] != 0;
}

static void test_update(void **state)
{
	struct ground g;
	uint8_t *before;

	begin(&g, false);
	before = copy_of(g.discovered, g.topology->num_ports);
	memset(g.discovered, 0, g.topology->num_ports);
	assert_true(look(&g)); /* nothing, for the first time */
	check_tables(&g);
	memcpy(g.discovered, before, g.topology->num_ports);
	assert_true(look(&g));
	check_tables(&g);
	assert_false(look(&g));
	set(&g, g.discovered, "l0", 2, 0);
	assert_true(look(&g));
	assert_false(in_use(&g, "l0", 2));
	check_tables(&g);
	assert_int_equal(g.view.unreachable.count, 0);
	set(&g, g.discovered, "l0", 3, 0);
	assert_true(look(&g));
	assert_int_equal(g.view.reachable.pairs, 0);
	set(&g, g.discovered, "l0", 2, 1);
	set(&g, g.discovered, "l0", 3, 1);
	assert_true(look(&g));
	check_tables(&g);
	assert_int_equal(g.view.reachable.pairs, 2);
	free(before);
	end(&g);
}

static void test_log(void **state)
{
	char text[PM_CHANGE_TEXT], wanted[PM_CHANGE_TEXT];
	struct ground g;
	uint8_t *before;

	begin(&g, false);
	look(&g);
	view_log(&g.view, text, sizeof(text));
	before = copy_of(g.discovered, g.topology->num_ports);
	set(&g, g.discovered, "l0", 2, 0);
	look(&g);
	set(&g, g.discovered, "l1", 2, 0);
	look(&g);
	pm_change_describe(g.view.plan, before, g.discovered, wanted, sizeof(wanted));
	view_log(&g.view, text, sizeof(text));
	assert_string_equal(text, wanted);
	pm_change_describe(g.view.plan, g.discovered, g.discovered, wanted,
			   sizeof(wanted));
	view_log(&g.view, text, sizeof(text));
	assert_string_equal(text, wanted);
	free(before);
	end(&g);
}

/* Down and up; the cable is up then. */
static void flap(struct ground *g, const char *sw, unsigned int num, int times)
{
	while (times--) {
		set(g, g->discovered, sw, num, 0);
		look(g);
		set(g, g->discovered, sw, num, 1);
		look(g);
	}
}

static void test_hold(void **state)
{
	struct ground g;

	begin(&g, true);
	look(&g);
	flap(&g, "l0", 2, (int)usual.limit);
	assert_true(in_use(&g, "l0", 2));
	flap(&g, "l0", 2, 1);
	assert_false(in_use(&g, "l0", 2));
	assert_int_equal(g.view.holds.on_hold, 1);
	assert_int_equal(g.view.holds.next_ms, usual.hold_ms);
	assert_true(view_is_current(&g.view, g.now_ms + usual.hold_ms));
	assert_false(view_is_current(&g.view, g.now_ms + usual.hold_ms + 1));
	check_tables(&g);
	/* A last path is used all the same. */
	set(&g, g.discovered, "l0", 3, 0);
	assert_true(look(&g));
	assert_true(in_use(&g, "l0", 2));
	assert_int_equal(g.view.holds.needed, 1);
	set(&g, g.discovered, "l0", 3, 1);
	look(&g);
	assert_false(in_use(&g, "l0", 2));
	g.now_ms += usual.hold_ms;
	assert_true(look(&g));
	assert_true(in_use(&g, "l0", 2));
	assert_int_equal(g.view.holds.on_hold, 0);
	assert_true(view_is_current(&g.view, UINT64_MAX - 1));
	check_tables(&g);
	end(&g);
}

static void test_bounced(void **state)
{
	struct ground g;

	begin(&g, true);
	look(&g);
	g.stayed = copy_of(g.discovered, g.topology->num_ports);
	set(&g, g.stayed, "l1", 3, 0);
	assert_false(look(&g));
	assert_int_equal(downs(&g, "l1", 3), 1);
	assert_int_equal(downs(&g, "l1", 2), 0);
	end(&g);
}

/*
 * The repairer saw a cable go down again and again between two looks; it is up, or
 * down.
 */
static void test_found_flapping(void **state)
{
	for (int up = 0; up < 2; up++)
		for (int before = 0; before < 2; before++) {
			struct ground g;

			begin(&g, true);
			set(&g, g.discovered, "l1", 3, (uint8_t)before);
			look(&g);
			set(&g, g.view.downs, "l1", 3, 4);
			set(&g, g.view.failed, "l1", 3, up ? VIEW_BACK : VIEW_FAILED);
			set(&g, g.discovered, "l1", 3, (uint8_t)up);
			assert_int_equal(view_note_flaps(&g.view, ++g.now_ms), 0);
			look(&g);
			assert_int_equal(downs(&g, "l1", 3), 4);
			assert_int_equal(downs(&g, "l1", 2), 0);
			assert_false(in_use(&g, "l1", 3));
			assert_int_equal(g.view.holds.on_hold, up);
			assert_int_equal(view_note_flaps(&g.view, ++g.now_ms), 0);
			look(&g);
			assert_int_equal(downs(&g, "l1", 3), 4);
			end(&g);
		}
}

/* A switch that does not answer is not in use, and did not flap. */
static void test_silent(void **state)
{
	struct ground g;

	begin(&g, true);
	look(&g);
	for (uint32_t i = 0; i <= usual.limit; i++) {
		set(&g, g.silent, "l0", 2, 1);
		set(&g, g.discovered, "l0", 2, 0);
		assert_true(look(&g));
		assert_false(in_use(&g, "l0", 2));
		set(&g, g.silent, "l0", 2, 0);
		set(&g, g.discovered, "l0", 2, 1);
		assert_true(look(&g));
		assert_true(in_use(&g, "l0", 2));
	}
	assert_int_equal(downs(&g, "l0", 2), 0);

	/* Silent at first, then known to be down: once. */
	set(&g, g.silent, "l0", 2, 1);
	set(&g, g.discovered, "l0", 2, 0);
	look(&g);
	assert_int_equal(downs(&g, "l0", 2), 0);
	set(&g, g.silent, "l0", 2, 0);
	look(&g);
	assert_int_equal(downs(&g, "l0", 2), 1);

	/* Down, then silent, then up: no more than that. */
	set(&g, g.silent, "l0", 2, 1);
	look(&g);
	set(&g, g.silent, "l0", 2, 0);
	set(&g, g.discovered, "l0", 2, 1);
	look(&g);
	assert_int_equal(downs(&g, "l0", 2), 1);
	end(&g);
}

/* ---- Another plan ---- */

/* The tree with a spine of the lowest GUID, so that ports move. */
static struct pm_plan *grow(const struct ground *g)
{
	const struct pm_fabric *topology = g->topology;
	struct pm_fabric *addition = pm_fabric_new(), *now;
	struct pm_plan *plan = NULL;
	uint32_t spine, leaf;

	assert_non_null(addition);
	assert_int_equal(
		pm_fabric_add_node(addition, PM_SWITCH, 0x10, 2, "s2", &spine, NULL), 0);
	for (unsigned int i = 0; i < 2; i++) {
		const char *name = i ? "l1" : "l0";
		uint64_t guid = topology->nodes[pm_fabric_find_name(topology, name)].guid;

		assert_int_equal(pm_fabric_add_node(addition, PM_SWITCH, guid, 4, name,
						    &leaf, NULL),
				 0);
		assert_int_equal(pm_fabric_link(addition, leaf, 4, spine, i + 1, NULL),
				 0);
	}
	assert_int_equal(pm_fabric_seal(addition, NULL), 0);
	assert_int_equal(pm_fabric_merge(topology, addition, &now, NULL), 0);
	assert_int_equal(pm_plan_grow(g->world.plan, now, &plan, NULL), 0);
	assert_non_null(plan);
	pm_fabric_free(addition);
	pm_fabric_free(now);
	return plan;
}

/* Old ports as before, new ones 0. */
static void check_carried(const struct ground *g, const uint8_t *old,
			  const struct pm_fabric *topology, const uint8_t *now)
{
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t before = pm_fabric_same_port(topology, i, g->topology);

		assert_int_equal(now[i], before == PM_NONE ? 0 : old[before]);
	}
}

static void test_rebase(void **state)
{
	uint8_t *discovered, *believed, *logged;
	struct pm_plan *plan;
	struct ground g;
	char text[PM_CHANGE_TEXT];

	begin(&g, true);
	look(&g);
	flap(&g, "l0", 2, (int)usual.limit + 1);
	set(&g, g.discovered, "l1", 3, 0);
	look(&g);
	view_log(&g.view, text, sizeof(text));
	set(&g, g.discovered, "l1", 2, 0);
	set(&g, g.silent, "l1", 2, 1);
	look(&g);
	discovered = copy_of(g.view.discovered, g.topology->num_ports);
	believed = copy_of(g.view.believed, g.topology->num_ports);
	logged = copy_of(g.view.logged.discovered, g.topology->num_ports);

	plan = grow(&g);
	assert_int_not_equal(world_port(plan->topology, "l0", 2),
			     world_port(g.topology, "l0", 2));
	assert_int_equal(view_rebase(&g.view, plan, NULL), 0);
	assert_ptr_equal(g.view.plan, plan);
	assert_null(g.view.routes);
	assert_false(g.view.current);
	check_carried(&g, discovered, plan->topology, g.view.discovered);
	check_carried(&g, believed, plan->topology, g.view.believed);
	check_carried(&g, logged, plan->topology, g.view.logged.discovered);
	assert_int_equal(g.view.holds.on_hold, 1);
	assert_int_equal(downs(&g, "l0", 2), usual.limit + 1);

	view_forget(&g.view);
	assert_null(g.view.plan);
	assert_int_equal(downs(&g, "l0", 2), usual.limit + 1);
	free(discovered);
	free(believed);
	free(logged);
	end(&g);
	pm_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_update),	       cmocka_unit_test(test_log),
		cmocka_unit_test(test_hold),	       cmocka_unit_test(test_bounced),
		cmocka_unit_test(test_silent),	       cmocka_unit_test(test_rebase),
		cmocka_unit_test(test_found_flapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
