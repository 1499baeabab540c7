/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sequences of the phases of planning.h, then random ones in random trees. Leaks and
 * double frees are found by the asan-ubsan preset.
 */
#include "engine/planning.h"

#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/base/alloc.h>
#include <portmajor/files/plan_file.h>

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
	assert_null(planning->planned);
	assert_false(planning->unsaved);
}

/* The result of planning_count for a fabric. */
static uint32_t count(struct planning *planning, const struct pm_fabric *fabric)
{
	uint8_t *discovered = pm_array(planning->plan->topology->num_ports, 1);

	assert_non_null(discovered);
	assert_true(pm_plan_match(planning->plan, fabric, discovered));
	planning_count(planning, discovered);
	free(discovered);
	return planning->out_of_plan;
}

static uint16_t lid_in_force(const struct planning *planning, const char *leaf,
			     unsigned int port)
{
	const struct pm_plan *plan = planning->plan;

	return plan->lid[world_port(plan->topology, leaf, port)];
}

static void test_made_and_grown(void **state)
{
	struct pm_fabric *small = recipe_draw(TREE), *large = recipe_draw(GROWN);
	const struct planning_request first = ask_for(small), more = ask_for(large);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct planning_change change;
	uint16_t lid;

	change = propose(&planning, &first);
	check_empty(&planning);
	assert_non_null(change.base);
	assert_ptr_equal(change.plan, change.base);
	planning_adopt(&planning, &change);
	assert_int_equal(planning.phase, PLANNING_SETTLED);
	assert_ptr_equal(planning.plan, change.plan);
	assert_true(planning.unsaved);
	lid = lid_in_force(&planning, "l0", 1);
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
	assert_int_equal(lid_in_force(&planning, "l0", 1), lid);
	assert_int_not_equal(lid_in_force(&planning, "l1", 4), 0);

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

	/* Read once more: all of it is another fabric's. */
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

/* LIDs in use are in force, beside the base. */
static void check_swapped(struct planning *planning, const struct pm_plan *base,
			  const struct pm_fabric *fabric)
{
	assert_ptr_equal(planning->base, base);
	assert_ptr_not_equal(planning->plan, base);
	assert_int_equal(count(planning, fabric), 2);
	assert_int_equal(lid_in_force(planning, "l0", 1),
			 fabric->ports[world_port(fabric, "a", 1)].lid);
}

static void test_lids_in_use(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TREE);
	struct planning_request request = ask_for(fabric);
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct pm_plan *base = plan_of(fabric, true);
	struct planning_change change;

	planning_load(&planning, base, NULL);
	swap_hosts(fabric);
	request.keep = true;
	change = propose(&planning, &request);
	planning_discard(&planning, &change);
	adopt(&planning, &request);
	check_swapped(&planning, base, fabric);

	/* Nothing more happens, whether LIDs in use are kept or not. */
	for (int keep = 0; keep <= 1; keep++) {
		request.keep = keep;
		change = propose(&planning, &request);
		assert_null(change.base);
		assert_null(change.plan);
		planning_adopt(&planning, &change);
		assert_int_equal(count(&planning, fabric), 2);
	}
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

	request.migrate = true;
	planning_load(&planning, base, NULL);
	swap_hosts(fabric);
	change = propose(&planning, &request);
	assert_ptr_not_equal(change.plan, base);
	planning_discard(&planning, &change);
	adopt(&planning, &request);
	check_swapped(&planning, base, fabric);

	/* The same again changes nothing; LIDs as planned end it. */
	change = propose(&planning, &request);
	assert_null(change.plan);
	planning_adopt(&planning, &change);
	swap_hosts(fabric);
	change = propose(&planning, &request);
	assert_ptr_equal(change.plan, base);
	planning_adopt(&planning, &change);
	assert_ptr_equal(planning.plan, base);
	assert_int_equal(count(&planning, fabric), 0);
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

/* ---- From no to yes to no ---- */

#define MAX_NODES 64

/* A fabric over time: its ports' LIDs, and the plans of the running OpenSM. */
struct site {
	struct recipe recipe;
	uint16_t lid[MAX_NODES]; /* of host or switch, 0: none */
	bool down[MAX_NODES];	 /* not active: it comes up in the next sweep */
	struct planning planning;
	bool migrate;
	uint32_t moved;		    /* by the last sweep, of ports that were up */
	uint16_t before[MAX_NODES]; /* LIDs that are to stay */
};

static uint32_t port_of(const struct pm_fabric *fabric, const struct recipe_node *node)
{
	uint32_t i = pm_fabric_find_guid(fabric, node->guid);

	if (i == PM_NONE)
		return PM_NONE;
	return fabric->nodes[i].first_port + (node->type == PM_SWITCH ? 0u : 1u);
}

/* The discovered fabric: with migrate, ports that are not up have no LID. */
static struct pm_fabric *discover(struct site *site)
{
	struct pm_fabric *fabric = recipe_build(&site->recipe, NULL);

	for (uint32_t i = 0; i < site->recipe.num_nodes; i++) {
		uint32_t port = port_of(fabric, &site->recipe.nodes[i]);

		if (port != PM_NONE && !site->down[i])
			fabric->ports[port].lid = site->lid[i];
	}
	return fabric;
}

/* The LID that a plan has for a node's place, or 0. */
static uint16_t lid_by(const struct pm_plan *plan, const struct pm_fabric *fabric,
		       const struct recipe_node *node)
{
	uint32_t port = port_of(fabric, node), place = PM_NONE;

	if (port != PM_NONE)
		place = pm_plan_place(plan, fabric, port);
	return place == PM_NONE ? 0 : plan->lid[place];
}

/* Ports get the LIDs of the plan in force. The number out of plan. */
static uint32_t give_lids(struct site *site, const struct pm_fabric *fabric)
{
	uint32_t differ = 0;

	site->moved = 0;
	for (uint32_t i = 0; i < site->recipe.num_nodes; i++) {
		const struct recipe_node *node = &site->recipe.nodes[i];
		uint16_t lid = lid_by(site->planning.plan, fabric, node);

		if (!lid)
			continue;
		differ += lid != lid_by(site->planning.base, fabric, node);
		site->moved += !site->down[i] && site->lid[i] && site->lid[i] != lid;
		site->lid[i] = lid;
		site->down[i] = false;
		for (uint32_t j = 0; j < i; j++) /* of those that are away, too */
			if (site->lid[j] == lid &&
			    lid_by(site->planning.plan, fabric, &site->recipe.nodes[j]))
				fail_msg("LID %u: %s and %s", lid, node->name,
					 site->recipe.nodes[j].name);
	}
	return differ;
}

/* A sweep, the first of an OpenSM if `keep`; returns the number out of plan. */
static uint32_t sweep(struct site *site, bool keep)
{
	struct pm_fabric *fabric = discover(site);
	struct planning_request request = ask_for(fabric);
	uint32_t differ;

	request.migrate = site->migrate;
	request.keep = keep;
	adopt(&site->planning, &request);
	differ = give_lids(site, fabric);
	assert_int_equal(count(&site->planning, fabric), differ);
	pm_fabric_free(fabric);
	return differ;
}

/* A plan as it is read from its file. */
static struct pm_plan *copy_plan(const struct pm_plan *plan)
{
	struct pm_plan *copy;
	size_t length;
	char *text;

	assert_int_equal(pm_plan_file_print(plan, &text, &length), 0);
	assert_int_equal(pm_plan_file_parse(text, length, "text", &copy, NULL), 0);
	free(text);
	return copy;
}

/* Another OpenSM, with the files of the one before; `lost`: not that of the plan in
 * force.
 */
static uint32_t restart(struct site *site, bool migrate, bool lost)
{
	struct pm_plan *base = copy_plan(site->planning.base), *last = NULL;

	if (site->planning.plan != site->planning.base && !lost)
		last = copy_plan(site->planning.plan);
	planning_load(&site->planning, base, last);
	site->migrate = migrate;
	return sweep(site, true);
}

static uint32_t node_of(const struct site *site, const char *name)
{
	for (uint32_t i = 0; i < site->recipe.num_nodes; i++)
		if (!strcmp(site->recipe.nodes[i].name, name))
			return i;
	fail_msg("no %s", name);
	return 0;
}

static uint32_t reboot(struct site *site, uint32_t node)
{
	site->lid[node] = 0;
	site->down[node] = true;
	return sweep(site, false);
}

static void set_away(struct site *site, const char *name, bool away)
{
	uint32_t node = node_of(site, name);

	site->recipe.nodes[node].away = away;
	if (!away)
		site->down[node] = true;
}

/* Reboots one after the other until all is as planned: twice each at most. */
static void migrate_all(struct site *site)
{
	uint32_t left = site->planning.out_of_plan;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < site->recipe.num_nodes && left; i++) {
			if (site->recipe.nodes[i].away)
				continue;
			left = reboot(site, i);
			assert_int_equal(site->moved, 0);
		}
	assert_int_equal(left, 0);
	assert_int_equal(sweep(site, false), 0);
	assert_ptr_equal(site->planning.plan, site->planning.base);
	assert_null(site->planning.planned);
}

/*
 * A tree that runs with LIDs in the order of its nodes, as another engine gave them,
 * taken over without migrate; `away` is not present yet.
 */
static uint32_t take_over(struct site *site, const char *away)
{
	const struct recipe_xgft shape = {.levels = 2,
					  .hosts = 3,
					  .children = {0, 4},
					  .parents = {3},
					  .parallel = {1}};
	struct pm_fabric *fabric;
	uint32_t differ;

	*site = (struct site){.migrate = false};
	recipe_add_xgft(&site->recipe, &shape);
	assert_true(site->recipe.num_nodes < MAX_NODES);
	if (away)
		set_away(site, away, true);
	fabric = recipe_build(&site->recipe, NULL);
	for (uint32_t i = 0; i < site->recipe.num_nodes; i++) {
		uint32_t port = port_of(fabric, &site->recipe.nodes[i]);

		if (port != PM_NONE &&
		    (fabric->ports[port].num == 0 || fabric->ports[port].peer != PM_NONE))
			site->lid[i] = (uint16_t)(i + 1);
	}
	pm_fabric_free(fabric);
	differ = sweep(site, true);
	assert_int_equal(site->moved, 0);
	assert_true(differ > site->recipe.num_nodes / 2);
	return differ;
}

static void close_site(struct site *site)
{
	planning_forget(&site->planning);
	recipe_free(&site->recipe);
}

static void keep_lids(struct site *site)
{
	memcpy(site->before, site->lid, sizeof(site->before));
}

/* Whether all present ports have their former LIDs. */
static void check_lids(const struct site *site)
{
	for (uint32_t i = 0; i < site->recipe.num_nodes; i++)
		if (!site->recipe.nodes[i].away && site->lid[i] != site->before[i])
			fail_msg("%s had LID %u, has %u", site->recipe.nodes[i].name,
				 site->before[i], site->lid[i]);
}

/* The base is the plan of the fabric alone, whatever LIDs its ports have. */
static void check_base(const struct site *site, struct recipe *recipe)
{
	struct pm_fabric *fabric = recipe_build(recipe, NULL);
	struct pm_plan *made = plan_of(fabric, false);

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		assert_int_equal(lid_by(site->planning.base, fabric, &recipe->nodes[i]),
				 lid_by(made, fabric, &recipe->nodes[i]));
	pm_plan_free(made);
	pm_fabric_free(fabric);
}

/*
 * The planned LIDs are not forgotten: sweeps, a restart and reboots do not change them.
 */
static void test_stays(void **state)
{
	struct site site;
	uint32_t differ = take_over(&site, NULL);

	keep_lids(&site);
	check_base(&site, &site.recipe);
	assert_int_equal(sweep(&site, false), differ);
	assert_int_equal(restart(&site, false, false), differ);
	assert_int_equal(site.moved, 0);
	for (uint32_t i = 0; i < site.recipe.num_nodes; i++)
		assert_int_equal(reboot(&site, i), differ);
	/* A port that is off returns with its own LID. */
	set_away(&site, "h7", true);
	assert_int_equal(sweep(&site, false), differ - 1);
	assert_int_equal(restart(&site, false, false), differ - 1);
	set_away(&site, "h7", false);
	assert_int_equal(sweep(&site, false), differ);
	check_lids(&site);
	check_base(&site, &site.recipe);
	close_site(&site);
}

static void test_no_yes_no(void **state)
{
	struct site site;
	uint32_t differ = take_over(&site, NULL), left = differ;

	assert_int_equal(restart(&site, true, false), differ);
	assert_int_equal(site.moved, 0);
	assert_int_equal(sweep(&site, false), differ);
	for (uint32_t i = 0; i < site.recipe.num_nodes / 2; i++)
		left = reboot(&site, i);
	assert_in_range(left, 1, differ - 1);

	/* Frozen in the middle of it. */
	keep_lids(&site);
	assert_int_equal(restart(&site, false, false), left);
	for (uint32_t i = 0; i < site.recipe.num_nodes; i++)
		assert_int_equal(reboot(&site, i), left);
	assert_int_equal(restart(&site, false, false), left);
	check_lids(&site);

	/* And on, in this OpenSM; then no, which changes nothing more. */
	assert_int_equal(restart(&site, true, false), left);
	migrate_all(&site);
	check_base(&site, &site.recipe);
	keep_lids(&site);
	assert_int_equal(restart(&site, false, false), 0);
	check_lids(&site);
	close_site(&site);
}

/*
 * New parts are planned beside the present ones. They get the planned LIDs at once
 * where these are free. New planes get slots only with migrate, at the restart.
 */
static void check_arrival(const char *name, bool planes)
{
	struct site site;
	uint32_t differ = take_over(&site, name), now;
	struct pm_fabric *fabric;

	keep_lids(&site);
	set_away(&site, name, false);
	now = sweep(&site, false);
	assert_int_equal(site.moved, 0);
	fabric = recipe_build(&site.recipe, NULL);
	for (uint32_t i = 0; i < site.recipe.num_nodes; i++) {
		uint16_t planned =
			lid_by(site.planning.base, fabric, &site.recipe.nodes[i]);
		bool taken = false;

		if (site.before[i]) {
			assert_int_equal(site.lid[i], site.before[i]);
			continue;
		}
		for (uint32_t j = 0; j < site.recipe.num_nodes; j++)
			taken |= site.before[j] == planned;
		if (!taken && site.lid[i] != planned)
			fail_msg("%s came: %s has LID %u, not %u", name,
				 site.recipe.nodes[i].name, site.lid[i], planned);
		differ += taken;
	}
	assert_int_equal(now, differ);
	pm_fabric_free(fabric);
	keep_lids(&site);
	assert_int_equal(restart(&site, false, false), differ);
	check_lids(&site);
	now = restart(&site, true, false);
	check_lids(&site);
	if (planes)
		check_base(&site, &site.recipe);
	else
		assert_int_equal(now, differ);
	migrate_all(&site);
	close_site(&site);
}

static void test_arrivals(void **state)
{
	check_arrival("sw0-2", false); /* a leaf with its hosts */
	check_arrival("h9", false);
	check_arrival("sw1-1", true);
}

/* Its place has one LID in the base and another one in force; both stay. */
static void check_replaced(const char *name)
{
	struct site site;
	uint32_t differ = take_over(&site, NULL);
	uint32_t node = node_of(&site, name);

	keep_lids(&site);
	site.recipe.nodes[node].away = true;
	sweep(&site, false);
	site.recipe.nodes[node].guid += 0x700000;
	site.recipe.nodes[node].away = false;
	site.lid[node] = 0;
	assert_int_equal(sweep(&site, false), differ);
	check_lids(&site);
	assert_int_equal(restart(&site, false, false), differ);
	check_lids(&site);
	assert_int_equal(restart(&site, true, false), differ);
	migrate_all(&site);
	close_site(&site);
}

static void test_replaced(void **state)
{
	check_replaced("sw0-3");
	check_replaced("sw1-0");
}

/* The file of the plan in force is gone: running ports keep their LIDs. */
static void test_file_lost(void **state)
{
	struct site site;
	uint32_t differ = take_over(&site, NULL);

	keep_lids(&site);
	assert_int_equal(restart(&site, false, true), differ);
	assert_int_equal(site.moved, 0);
	check_lids(&site);
	assert_int_equal(restart(&site, true, true), differ);
	assert_int_equal(site.moved, 0);
	migrate_all(&site);
	close_site(&site);
}

/*
 * A plan that was made from a part, beside LIDs of the plan for all: when the rest
 * comes, that one is the base, and no port is out of plan.
 */
static void test_origin(void **state)
{
	struct site site;
	struct pm_fabric *fabric;
	struct pm_plan *whole;

	take_over(&site, NULL);
	fabric = recipe_build(&site.recipe, NULL);
	whole = plan_of(fabric, false);
	for (uint32_t i = 0; i < site.recipe.num_nodes; i++)
		site.lid[i] = lid_by(whole, fabric, &site.recipe.nodes[i]);
	keep_lids(&site);
	planning_forget(&site.planning);
	set_away(&site, "sw1-1", true);
	assert_true(sweep(&site, true) > 0);
	check_lids(&site);
	site.recipe.nodes[node_of(&site, "sw1-1")].away = false;
	site.down[node_of(&site, "sw1-1")] = false; /* it reports its LID */
	assert_int_equal(sweep(&site, false), 0);
	assert_ptr_equal(site.planning.plan, site.planning.base);
	check_lids(&site);
	pm_plan_free(whole);
	pm_fabric_free(fabric);
	close_site(&site);
}

/* ---- At random ---- */

/* A part of the recipe with LIDs of a plan, some of them at other ports. */
static struct pm_fabric *draw_part(struct recipe *recipe, struct random *random,
				   const struct pm_plan *plan)
{
	struct pm_fabric *fabric;

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		recipe->nodes[i].away = random_chance(random, 10);
	for (uint32_t i = 0; i < recipe->num_links; i++)
		recipe->links[i].away = random_chance(random, 10);
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
	uint8_t *discovered = calloc(planning->plan->topology->num_ports + 1u, 1);

	assert_non_null(discovered);
	assert_int_equal(planning->phase, PLANNING_SETTLED);
	assert_null(planning->last);
	assert_true(pm_plan_match(planning->plan, fabric, discovered));
	free(discovered);
}

/* That the LIDs of places in use have not changed from one plan to another. */
static void check_unmoved(const struct pm_plan *before, const struct pm_plan *now)
{
	for (uint32_t i = 0; i < before->topology->num_ports; i++) {
		const struct pm_port *p = &before->topology->ports[i];
		uint32_t place = pm_fabric_same_port(before->topology, i, now->topology);

		if (!before->lid[i] || (p->num && !p->host) || place == PM_NONE ||
		    (p->num && now->topology->ports[place].peer != PM_NONE))
			continue;
		assert_int_equal(now->lid[place], before->lid[i]);
	}
}

static void take(struct planning *planning, struct planning_change *change,
		 const struct planning_request *request)
{
	bool still = planning->phase == PLANNING_SETTLED && !request->migrate &&
		     !request->keep;
	struct pm_plan *before = still ? copy_plan(planning->plan) : NULL;

	planning_adopt(planning, change);
	check_settled(planning, request->fabric);
	assert_true((planning->plan == planning->base) == !planning->planned);
	if (before)
		check_unmoved(before, planning->plan);
	pm_plan_free(before);
}

static void step(struct planning *planning, struct recipe *recipe, struct random *random)
{
	const struct planning before = *planning;
	struct pm_fabric *fabric = draw_part(
		recipe, random, planning->plan ? planning->plan : planning->base);
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
		take(planning, &change, &request);
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
		cmocka_unit_test(test_no_room),	       cmocka_unit_test(test_stays),
		cmocka_unit_test(test_no_yes_no),      cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_replaced),       cmocka_unit_test(test_file_lost),
		cmocka_unit_test(test_origin),	       cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
