/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of drains, the rule on small trees, and in random trees: a drain never costs
 * a path, no more links stay in use than needed, and on the way there and back every
 * packet arrives at every moment. PM_SEED and PM_ROUNDS are as in test_properties.c.
 */
#include "recipe.h"
#include "reference.h"
#include "world.h"
#include "unit.h"

#include <portmajor/policy/drain.h>
#include <portmajor/route/steps.h>

static void test_list(void **state)
{
	struct pm_drains a = {0}, b = {0};
	bool added;

	for (unsigned int num = 0; num < 40; num++)
		assert_int_equal(pm_drains_add(&a, 7, num, "s", &added, NULL), 0);
	assert_true(added);
	assert_int_equal(pm_drains_add(&a, 7, 0, "s", &added, NULL), 0);
	assert_false(added);
	assert_int_equal(a.num, 40);
	for (unsigned int num = 1; num < 40; num++)
		pm_drains_add(&b, 7, num, "t", NULL, NULL);
	assert_false(pm_drains_equal(&a, &b));
	pm_drains_remove(&a, 0);
	assert_true(pm_drains_equal(&a, &b));
	a.list[3].since++; /* drained anew */
	assert_false(pm_drains_equal(&a, &b));
	pm_drains_free(&a);
	pm_drains_free(&b);
}

/* ---- The rule ---- */

/* Two leaves below two spines. */
#define TWO_SPINES                                                                       \
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=s1:1 l1:3=s1:2"

/* "l0:2" or "s0": drains it. */
static void drain(struct pm_drains *drains, const struct pm_fabric *topology,
		  const char *what)
{
	char name[32];
	unsigned int num = 0;

	assert_true(sscanf(what, "%31[^:]:%u", name, &num) >= 1);
	pm_drains_add(drains, topology->nodes[pm_fabric_find_name(topology, name)].guid,
		      num, name, NULL, NULL);
}

/* Failed parts, drained parts, and the result: "l0:2=out s0=needed/1". */
static const struct {
	const char *failed, *drained;
} rules[] = {
	{"", "l0:2=out"},
	{"", "s0=out"},
	{"", "s0=out l1:2=out s0:1=out"},
	{"", "s0=out l0:3=needed/1"},
	{"", "l0:3=out s0=needed/2"},
	{"", "s0=out s1=needed/2"},
	{"", "l0=needed/1"},
	{"s1", "s0=needed/2"},
	{"s1", "l0:2=needed/1 l1:3=out"},
	{"l0:2", "l0:2=out l1:2=out l0:3=needed/1"},
	{"", "l0:1=unknown l0:4=unknown"},
};

static void check_rule(const char *failed, const char *drained)
{
	struct pm_drains drains = {0};
	struct world world;
	struct pm_fabric *now;
	const struct pm_fabric *topology;
	uint8_t *usable;
	char *copy = strdup(drained), *rest = copy, *token;
	uint32_t i = 0;

	world_make(&world, recipe_draw(TWO_SPINES), PM_GROUPED);
	topology = world.plan->topology;
	now = world_without(&world, failed);
	usable = calloc(topology->num_ports, 1);
	assert_true(pm_plan_match(world.plan, now, usable));
	while ((token = strsep(&rest, " "))) {
		token[strcspn(token, "=")] = '\0';
		drain(&drains, topology, token);
	}
	assert_int_equal(pm_drains_apply(&drains, world.plan, usable, NULL), 0);
	free(copy);
	copy = rest = strdup(drained);
	while ((token = strsep(&rest, " "))) {
		const struct pm_drain *d = &drains.list[i++];
		char text[40];

		snprintf(text, sizeof(text), d->needed ? "%s/%u" : "%s",
			 pm_drain_state_name(d->state), d->needed);
		if (strcmp(text, strchr(token, '=') + 1) != 0)
			fail_msg("\"%s\" \"%s\": %s, not %s", failed, drained, text,
				 token);
	}
	free(copy);
	free(usable);
	pm_fabric_free(now);
	pm_drains_free(&drains);
	world_free(&world);
}

static void test_rules(void **state)
{
	for_each_row(row, rules)
		check_rule(row->failed, row->drained);
}

/* A switch that the plan does not know any more, or a port that it never had. */
static void test_unknown(void **state)
{
	struct pm_drains drains = {0};
	struct world world;
	uint8_t *usable;

	world_make(&world, recipe_draw(TWO_SPINES), PM_GROUPED);
	usable = calloc(world.plan->topology->num_ports, 1);
	pm_plan_match(world.plan, world.fabric, usable);
	pm_drains_add(&drains, 0xdead, 0, "", NULL, NULL);
	pm_drains_add(&drains, world.plan->topology->nodes[0].guid, 200, "", NULL, NULL);
	assert_int_equal(pm_drains_apply(&drains, world.plan, usable, NULL), 0);
	assert_int_equal(drains.list[0].state, PM_DRAIN_UNKNOWN);
	assert_int_equal(drains.list[1].state, PM_DRAIN_UNKNOWN);
	free(usable);
	pm_drains_free(&drains);
	world_free(&world);
}

/* ---- Random trees ---- */

/* A random tree of which a part is lost, and random drains. */
struct scene {
	struct recipe recipe;
	struct world world;
	struct pm_fabric *now;
	const struct pm_fabric *topology;
	uint8_t *discovered; /* [port] */
	struct random random;
};

static bool scene_begin(struct scene *s, uint64_t seed)
{
	const struct recipe_limits limits = {24, 60};
	struct pm_fabric *whole;
	struct pm_plan *plan;
	struct pm_plan_config config = {.order = PM_GROUPED};

	*s = (struct scene){.random = {seed}};
	recipe_random(&s->recipe, &s->random, &limits);
	whole = recipe_build(&s->recipe, NULL);
	if (pm_plan_make(whole, &config, &plan, NULL)) {
		pm_fabric_free(whole);
		recipe_free(&s->recipe);
		return false;
	}
	pm_plan_free(plan);
	world_make(&s->world, whole, PM_GROUPED);
	s->topology = s->world.plan->topology;
	for (uint32_t i = 0; i < s->recipe.num_links; i++)
		if (random_chance(&s->random, 5))
			s->recipe.links[i].away = true;
	s->now = recipe_build(&s->recipe, NULL);
	s->discovered = calloc(s->topology->num_ports + 1u, 1);
	assert_true(pm_plan_match(s->world.plan, s->now, s->discovered));
	return true;
}

static void scene_end(struct scene *s)
{
	free(s->discovered);
	pm_fabric_free(s->now);
	world_free(&s->world);
	recipe_free(&s->recipe);
}

static void drain_some(struct scene *s, struct pm_drains *drains)
{
	uint32_t num = random_below(&s->random, 6);

	for (uint32_t i = 0; i < num; i++) {
		uint32_t sw = random_below(&s->random, s->topology->num_switches);
		const struct pm_node *n = &s->topology->nodes[sw];

		pm_drains_add(drains, n->guid,
			      random_chance(&s->random, 30)
				      ? 0
				      : random_range(&s->random, 1, n->num_ports),
			      "x", NULL, NULL);
	}
}

static uint8_t *apply(struct scene *s, struct pm_drains *drains)
{
	uint8_t *usable = malloc(s->topology->num_ports + 1u);

	assert_non_null(usable);
	memcpy(usable, s->discovered, s->topology->num_ports);
	assert_int_equal(pm_drains_apply(drains, s->world.plan, usable, NULL), 0);
	return usable;
}

static bool is_drained(const struct scene *s, const struct pm_drains *drains,
		       uint32_t port)
{
	const struct pm_port *p = &s->topology->ports[port];

	for (uint32_t i = 0; i < drains->num; i++)
		if (drains->list[i].guid == s->topology->nodes[p->node].guid &&
		    (!drains->list[i].num || drains->list[i].num == p->num))
			return true;
	return false;
}

/* Pairs of switches with end ports joined by paths: matrix of the present update. */
static uint8_t *connected(struct scene *s, const uint8_t *usable)
{
	uint32_t num = s->topology->num_switches;
	uint8_t *matrix = calloc((size_t)num * num + 1, 1), *ends = calloc(num + 1u, 1);

	for (uint32_t i = 0; i < s->topology->num_ports; i++)
		if (s->discovered[i] && s->topology->ports[i].peer == PM_NONE)
			ends[s->topology->ports[i].node] = 1;
	pm_routes_update(s->world.routes, usable, NULL);
	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = 0; b < num; b++)
			matrix[(size_t)a * num + b] =
				ends[a] && ends[b] &&
				pm_routes_reach_switch(s->world.routes, a, b);
	free(ends);
	return matrix;
}

/*
 * Only drained cables are excluded; no pair is cut; and no other drained cable could
 * be.
 */
static void check_drains(struct scene *s, struct pm_drains *drains, uint64_t seed)
{
	uint32_t num = s->topology->num_switches;
	uint8_t *usable = apply(s, drains), *all = connected(s, s->discovered);
	uint8_t *left = connected(s, usable);

	if (memcmp(all, left, (size_t)num * num))
		fail_msg("seed %llu: a path is lost", (unsigned long long)seed);
	free(left);
	for (uint32_t i = 0; i < s->topology->num_ports; i++) {
		uint32_t peer = s->topology->ports[i].peer;
		bool drained = is_drained(s, drains, i) ||
			       (peer != PM_NONE && is_drained(s, drains, peer));

		if (peer == PM_NONE || !drained) {
			assert_int_equal(usable[i], s->discovered[i]);
			continue;
		}
		assert_int_equal(usable[i], usable[peer]);
		if (!usable[i])
			continue;
		usable[i] = usable[peer] = 0;
		left = connected(s, usable);
		if (!memcmp(all, left, (size_t)num * num))
			fail_msg("seed %llu: port %u is not needed",
				 (unsigned long long)seed, i);
		free(left);
		usable[i] = usable[peer] = 1;
	}
	free(all);
	free(usable);
}

static void for_random(const char *name, uint64_t rounds,
		       void (*check)(struct scene *s, struct pm_drains *drains,
				     uint64_t seed))
{
	uint64_t seed = from_environment("PM_SEED", 1);

	rounds = from_environment("PM_ROUNDS", rounds);
	printf("%s: seeds %llu to %llu\n", name, (unsigned long long)seed,
	       (unsigned long long)(seed + rounds - 1));
	for (uint64_t end = seed + rounds; seed < end; seed++) {
		struct pm_drains drains = {0};
		struct scene s;

		if (!scene_begin(&s, seed))
			continue;
		drain_some(&s, &drains);
		check(&s, &drains, seed);
		pm_drains_free(&drains);
		scene_end(&s);
	}
}

static void test_never_costs_a_path(void **state)
{
	for_random("drains", 400, check_drains);
}

/* ---- On the way ---- */

/* The switches' tables while blocks are sent one after another. */
struct way {
	struct scene *s;
	uint8_t *installed; /* [switch][stride] */
	uint8_t *all;	    /* [from][to] that paths join */
	uint32_t stride;
	uint64_t seed;
	bool any_order;		   /* of switches: to see that the order matters */
	struct pm_detours detours; /* to the SM, over what is drained as well */
	uint32_t lost, loops, blocks;
};

/* Whether a packet gets from a switch to the place of a LID by the switches' tables. */
static bool arrives(const struct way *w, uint32_t sw, uint16_t lid)
{
	const struct pm_plan *plan = w->s->world.plan;
	uint32_t place = plan->owner[lid];

	for (unsigned int hops = 0; hops < 64; hops++) {
		uint8_t num = w->installed[(size_t)sw * w->stride + lid];
		const struct pm_node *n = &plan->topology->nodes[sw];

		if (num > n->num_ports)
			return false;
		if (n->first_port + num == place)
			return true;
		if (!num || !w->s->discovered[n->first_port + num] ||
		    plan->topology->ports[n->first_port + num].peer == PM_NONE)
			return false;
		sw = pm_fabric_peer_node(plan->topology, n->first_port + num);
	}
	return false;
}

/* Whether packets for a LID, used or not, come back to a switch. */
static bool comes_back(const struct way *w, uint32_t from, uint32_t lid)
{
	const struct pm_fabric *topology = w->s->topology;
	uint32_t sw = from;

	for (uint32_t hops = 0; hops <= topology->num_switches; hops++) {
		uint8_t num = w->installed[(size_t)sw * w->stride + lid];
		uint32_t port = topology->nodes[sw].first_port + num;

		if (!num || num > topology->nodes[sw].num_ports ||
		    !w->s->discovered[port] || topology->ports[port].peer == PM_NONE)
			return false;
		sw = pm_fabric_peer_node(topology, port);
		if (sw == from)
			return true;
	}
	return false;
}

/*
 * Follows all LIDs of end ports in a block from all switches that had a path, and
 * counts LIDs that loop through the switch that has just got the block.
 */
static void walk_block(struct way *w, uint32_t block, uint32_t by)
{
	const struct pm_plan *plan = w->s->world.plan;
	uint32_t num = plan->topology->num_switches;

	for (uint32_t lid = block * 64; lid < block * 64 + 64; lid++)
		w->loops += comes_back(w, by, lid);

	for (uint32_t lid = block * 64; lid < block * 64 + 64; lid++) {
		uint32_t place = lid <= plan->top_lid ? plan->owner[lid] : PM_NONE;

		if (place == PM_NONE || !plan->topology->ports[place].num ||
		    !w->s->discovered[place])
			continue;
		for (uint32_t sw = 0; sw < num; sw++)
			if (w->all[(size_t)sw * num +
				   plan->topology->ports[place].node] &&
			    !arrives(w, sw, (uint16_t)lid))
				w->lost++;
	}
}

/* Sends a switch its blocks that differ, in random order. */
static void send_switch(struct way *w, uint32_t sw)
{
	const uint8_t *wanted = pm_routes_table(w->s->world.routes, sw);
	uint8_t *installed = w->installed + (size_t)sw * w->stride;
	uint32_t blocks = w->stride / 64;
	uint32_t first = random_below(&w->s->random, blocks);

	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t at = (first + i) % blocks * 64;
		struct pm_delta delta = {0};

		pm_delta_add(&delta, installed + at, wanted + at, 64);
		if (!delta.blocks)
			continue;
		w->blocks++;
		pm_delta_apply(installed + at, installed + at, wanted + at, 64);
		walk_block(w, at / 64, sw);
	}
}

/* Levels from the leaves up or from the top down; of a level in random order. */
static void send_all(struct way *w, const uint8_t *usable,
		     const struct pm_detours *detours, bool upward)
{
	const struct pm_tree *tree = &w->s->world.plan->tree;
	uint32_t num = w->s->topology->num_switches, first;

	pm_routes_update(w->s->world.routes, usable, detours);
	for (uint32_t i = 0; i <= tree->top_level; i++) {
		uint32_t level = upward ? i : tree->top_level - i;

		first = random_below(&w->s->random, num);
		for (uint32_t k = 0; k < num; k++) {
			uint32_t sw = (first + k) % num;

			if (w->any_order ? i == 0 : tree->level[sw] == level)
				send_switch(w, sw);
		}
	}
}

/* Entries without a path before are those of the tables for both. */
static void set_unused(struct way *w, const uint8_t *before, const uint8_t *both)
{
	uint32_t num = w->s->topology->num_switches;
	struct pm_routes *routes = w->s->world.routes;
	uint8_t *old;

	pm_routes_update(routes, before, NULL);
	old = world_tables(routes, num);
	pm_routes_update(routes, both, &w->detours);
	for (uint32_t sw = 0; sw < num; sw++)
		for (uint32_t lid = 0; lid < w->stride; lid++) {
			size_t at = (size_t)sw * w->stride + lid;
			uint8_t port = pm_routes_table(routes, sw)[lid];

			if (old[at] == PM_LFT_KEEP && port != PM_LFT_KEEP)
				w->installed[at] = port;
		}
	free(old);
}

/* Blocks that could loop if they were sent level by level, as detours may: in steps. */
static void send_steps(struct way *w, const uint8_t *usable)
{
	uint32_t num = w->s->topology->num_switches;
	struct pm_installed *installed = calloc(num + 1u, sizeof(*installed));
	struct pm_stale none = {.num = 0};
	struct pm_steps steps = {0};
	struct pm_stale_input input = {.routes = w->s->world.routes,
				       .installed = installed,
				       .up = w->s->discovered};

	assert_non_null(installed);
	for (uint32_t sw = 0; sw < num; sw++)
		installed[sw] = (struct pm_installed){
			w->installed + (size_t)sw * w->stride, w->stride};
	pm_routes_update(w->s->world.routes, usable, &w->detours);
	assert_int_equal(pm_steps_make(&input, &none, &steps), 0);
	for (uint32_t i = 0; i < steps.num; i++) {
		const struct pm_steps_set *set = &steps.sets[i];

		w->blocks++;
		memcpy(w->installed + (size_t)set->sw * w->stride + set->number * 64,
		       set->entries, 64);
		walk_block(w, set->number, set->sw);
	}
	pm_steps_free(&steps);
	free(installed);
}

/* From one list to the other: first the new links come, then the old ones go. */
static void move(struct way *w, struct pm_drains *from, struct pm_drains *to)
{
	struct scene *s = w->s;
	uint8_t *before = apply(s, from), *after = apply(s, to);
	uint8_t *both = malloc(s->topology->num_ports + 1u);

	for (uint32_t i = 0; i < s->topology->num_ports; i++)
		both[i] = before[i] | after[i];
	if (!w->any_order) {
		set_unused(w, before, both);
		send_all(w, both, &w->detours, true);
	}
	send_all(w, after, NULL, false);
	if (!w->any_order)
		send_steps(w, after);
	send_all(w, after, &w->detours, true);
	free(before);
	free(after);
	free(both);
}

static void move_drains(struct scene *s, struct pm_drains *drains, bool any_order,
			uint64_t seed, uint32_t *lost, uint32_t *blocks)
{
	struct way way = {.s = s, .seed = seed, .any_order = any_order};
	struct pm_drains none = {0}, lists[5] = {{0}};
	uint32_t place = random_below(&s->random, s->topology->num_ports);

	way.detours =
		(struct pm_detours){.sm = s->world.plan->lid[place] ? place : PM_NONE,
				    .extra = s->discovered};

	for (int i = 0; i < 5; i++)
		drain_some(s, &lists[i]);
	way.all = connected(s, s->discovered);
	way.stride = pm_routes_stride(s->world.routes);
	way.installed = world_tables(s->world.routes, s->topology->num_switches);
	move(&way, &none, drains);
	move(&way, drains, &lists[0]);
	for (int i = 1; i < 5; i++)
		move(&way, &lists[i - 1], &lists[i]);
	move(&way, &lists[4], &none);
	for (int i = 0; i < 5; i++)
		pm_drains_free(&lists[i]);
	free(way.all);
	free(way.installed);
	if (way.loops && !any_order)
		fail_msg("seed %llu: a LID loops", (unsigned long long)seed);
	*lost += way.lost;
	*blocks += way.blocks;
}

static uint32_t total_blocks, total_lost;

static void check_way(struct scene *s, struct pm_drains *drains, uint64_t seed)
{
	uint32_t lost = 0;

	move_drains(s, drains, false, seed, &lost, &total_blocks);
	if (lost)
		fail_msg("seed %llu: %u packets lost", (unsigned long long)seed, lost);
}

static void count_way(struct scene *s, struct pm_drains *drains, uint64_t seed)
{
	move_drains(s, drains, true, seed, &total_lost, &total_blocks);
}

static void test_new_paths_first(void **state)
{
	total_blocks = 0;
	for_random("moves", 1000, check_way);
	printf("%u blocks\n", total_blocks);
	assert_true(total_blocks > 100);
}

/* Sent in any order, packets would be lost: so the test above can fail. */
static void test_order_matters(void **state)
{
	total_blocks = total_lost = 0;
	for_random("moves in any order", 400, count_way);
	printf("%u blocks, %u packets lost\n", total_blocks, total_lost);
	if (from_environment("PM_ROUNDS", 400) >=
	    400) /* with few trees there may be none */
		assert_true(total_lost > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_never_costs_a_path),
		cmocka_unit_test(test_new_paths_first),
		cmocka_unit_test(test_order_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
