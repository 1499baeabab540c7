/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trees with odd end ports and missing cables: every pair of end ports that the best root
 * of classic up-and-down routing joins, the tables join, without loops and credit loops,
 * or the fabric is refused. After a failure they join what the plan's levels or the best
 * hub joins. PM_SEED and PM_ROUNDS as in test_properties.c.
 */
#include "expect.h"
#include "recipe.h"
#include "reference.h"
#include "unit.h"
#include "world.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/fabric/roles.h>
#include <portmajor/files/plan_file.h>

#define DEFAULT_SEED 20261128
#define DEFAULT_ROUNDS 3000
#define FAILURES 6 /* of each tree */

static uint64_t first_seed = DEFAULT_SEED, seed;
static uint32_t rounds = DEFAULT_ROUNDS;

/* ---- Drawing ---- */

static unsigned int add_port(struct recipe *recipe, uint32_t node)
{
	return ++recipe->nodes[node].num_ports;
}

static void hang_host(struct recipe *recipe, uint32_t sw)
{
	uint32_t number = recipe->num_nodes, host;
	char name[32];

	snprintf(name, sizeof(name), "odd%u", number);
	host = recipe_add_node(recipe, PM_CA, 0x400000u + 4 * number, 1, 0, name);
	recipe_add_link(recipe, sw, add_port(recipe, sw), host, 1);
}

static uint32_t top_level(const struct recipe *recipe)
{
	uint32_t top = 0;

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		if (recipe->nodes[i].type == PM_SWITCH && recipe->nodes[i].level > top)
			top = recipe->nodes[i].level;
	return top;
}

/* A random switch of a level. */
static uint32_t choose_switch(const struct recipe *recipe, struct random *random,
			      uint32_t level)
{
	uint32_t chosen = PM_NONE, count = 0;

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		if (recipe->nodes[i].type == PM_SWITCH &&
		    recipe->nodes[i].level == level && !random_below(random, ++count))
			chosen = i;
	return chosen;
}

/* As many hosts on some or all switches of a level. */
static void hang_hosts(struct recipe *recipe, struct random *random, uint32_t level,
		       uint32_t chance)
{
	uint32_t nodes = recipe->num_nodes, most = random_range(random, 1, 4);

	for (uint32_t i = 0; i < nodes; i++) {
		if (recipe->nodes[i].type != PM_SWITCH ||
		    recipe->nodes[i].level != level || !random_chance(random, chance))
			continue;
		for (uint32_t k = 0; k < most; k++)
			hang_host(recipe, i);
	}
}

/* A switch with hosts, with cables to one to three switches of a level. */
static void hang_switch(struct recipe *recipe, struct random *random, uint32_t level)
{
	uint32_t cables = random_range(random, 1, 3), hosts = random_range(random, 1, 6);
	char name[32];
	uint32_t sw;

	snprintf(name, sizeof(name), "storage%u", recipe->num_nodes);
	sw = recipe_add_node(recipe, PM_SWITCH, 0x500000u + recipe->num_nodes, 1, 99,
			     name);

	for (uint32_t i = 0; i < cables; i++) {
		uint32_t to = choose_switch(recipe, random, level);

		recipe_add_link(recipe, sw, add_port(recipe, sw), to,
				add_port(recipe, to));
	}
	while (hosts--)
		hang_host(recipe, sw);
}

static void add_aggregation_nodes(struct recipe *recipe)
{
	uint32_t nodes = recipe->num_nodes;

	for (uint32_t i = 0; i < nodes; i++)
		if (recipe->nodes[i].type == PM_SWITCH) {
			hang_host(recipe, i);
			recipe->nodes[recipe->num_nodes - 1].device = 0xcf09;
		}
}

static void draw_tree(struct recipe *recipe, struct random *random)
{
	struct recipe_xgft shape = {
		.levels = random_range(random, 2, 3),
		.hosts = random_range(random, 1, 6),
		.children = {0, random_range(random, 2, 4), random_range(random, 2, 4)},
		.parents = {random_range(random, 1, 4), random_range(random, 1, 3)},
		.parallel = {random_range(random, 1, 2), 1, 1},
	};

	switch (random_below(random, 4)) {
	case 0:
		recipe_add_meshed(recipe, &(struct recipe_meshed){
						  .pods = random_range(random, 2, 4),
						  .leaves = random_range(random, 2, 3),
						  .middles = random_range(random, 1, 3),
						  .tops = random_range(random, 1, 3),
						  .hosts = random_range(random, 1, 6)});
		break;
	case 1:
		recipe_add_director(recipe,
				    &(struct recipe_director){
					    .chassis = random_range(random, 1, 2),
					    .pods = random_range(random, 2, 3),
					    .leaves_per_pod = random_range(random, 1, 3),
					    .hosts = random_range(random, 1, 6),
					    .fabrics = random_range(random, 1, 3),
					    .parallel = random_range(random, 1, 2)});
		break;
	default:
		recipe_add_xgft(recipe, &shape);
	}
}

static void draw(struct recipe *recipe, struct random *random)
{
	uint32_t links, missing = random_below(random, 4) * 6, top;

	draw_tree(recipe, random);
	top = top_level(recipe);
	links = recipe->num_links;
	for (uint32_t i = 0; i < links; i++)
		recipe->links[i].away =
			recipe->nodes[recipe->links[i].node[0]].type == PM_SWITCH &&
			recipe->nodes[recipe->links[i].node[1]].type == PM_SWITCH &&
			random_chance(random, missing);
	for (int kinds = (int)random_range(random, 1, 2); kinds > 0; kinds--) {
		switch (random_below(random, 6)) {
		case 0: /* spines, line boards */
			hang_hosts(recipe, random, 1,
				   random_chance(random, 50) ? 100 : 40);
			break;
		case 1: /* tops */
			hang_hosts(recipe, random, top,
				   random_chance(random, 50) ? 100 : 40);
			break;
		case 2:
			hang_host(recipe, choose_switch(recipe, random, top));
			break;
		case 3:
			hang_switch(recipe, random, top);
			break;
		case 4:
			hang_switch(recipe, random, 1);
			break;
		default:
			hang_switch(recipe, random, 0);
		}
	}
	if (random_chance(random, 50))
		add_aggregation_nodes(recipe);
}

/* ---- The reference: up-and-down routing from the best root ---- */

struct levels {
	const struct pm_fabric *fabric;
	uint32_t *distance; /* [switch] from the root */
	uint8_t *reached;   /* [switch][gone down] */
};

static void find_distances(struct levels *l, uint32_t root)
{
	bool changed = true;

	memset(l->distance, 0xff, l->fabric->num_switches * sizeof(*l->distance));
	l->distance[root] = 0;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < l->fabric->num_ports; i++) {
			uint32_t a = l->fabric->ports[i].node, b;

			b = pm_fabric_peer_node(l->fabric, i);
			if (a >= l->fabric->num_switches || b == PM_NONE ||
			    b >= l->fabric->num_switches || l->distance[a] == PM_NONE ||
			    l->distance[b] <= l->distance[a] + 1)
				continue;
			l->distance[b] = l->distance[a] + 1;
			changed = true;
		}
	}
}

/* A link leads up to the switch nearer to the root; of equals, to the first one. */
static bool leads_up(const struct levels *l, uint32_t from, uint32_t to)
{
	return l->distance[to] != l->distance[from] ? l->distance[to] < l->distance[from]
						    : to < from;
}

static void walk(struct levels *l, uint32_t sw, bool down)
{
	if (l->reached[2 * sw + down])
		return;
	l->reached[2 * sw + down] = 1;
	pm_for_each_port(i, l->fabric, sw) {
		uint32_t to = pm_fabric_peer_node(l->fabric, i);

		if (to == PM_NONE || to >= l->fabric->num_switches || to == sw)
			continue;
		if (!leads_up(l, sw, to))
			walk(l, to, true);
		else if (!down)
			walk(l, to, false);
	}
}

/* joined[from][to] by this root; returns the number of pairs. */
static uint32_t join(struct levels *l, uint32_t root, uint8_t *joined)
{
	uint32_t num = l->fabric->num_switches, count = 0;

	find_distances(l, root);
	for (uint32_t from = 0; from < num; from++) {
		memset(l->reached, 0, 2 * (size_t)num);
		if (l->distance[from] != PM_NONE)
			walk(l, from, false);
		for (uint32_t to = 0; to < num; to++) {
			joined[from * num + to] =
				l->reached[2 * to] || l->reached[2 * to + 1];
			count += joined[from * num + to];
		}
	}
	return count;
}

/* The caller frees the matrix. */
static uint8_t *join_by_best_root(const struct pm_fabric *fabric)
{
	uint32_t num = fabric->num_switches, most = 0;
	struct levels l = {fabric, calloc(num, sizeof(uint32_t)), calloc(num, 2)};
	uint8_t *joined = calloc(num, num), *best = calloc(num, num);

	assert_non_null(l.distance);
	assert_non_null(l.reached);
	assert_non_null(joined);
	assert_non_null(best);
	for (uint32_t root = 0; root < num; root++) {
		uint32_t count = join(&l, root, joined);

		if (count <= most)
			continue;
		most = count;
		memcpy(best, joined, (size_t)num * num);
	}
	free(joined);
	free(l.distance);
	free(l.reached);
	return best;
}

/* ---- The tables ---- */

/* Whether a packet gets from a switch to the end port at the other end of `port`. */
static bool arrives(const struct world *world, uint32_t from, uint32_t port)
{
	const struct pm_fabric *fabric = world->fabric;
	uint32_t sw = from, lid = fabric->ports[fabric->ports[port].peer].lid;

	for (uint32_t hops = 0; hops <= fabric->num_switches; hops++) {
		uint8_t out = pm_routes_table(world->routes, sw)[lid];
		uint32_t by = fabric->nodes[sw].first_port + out;

		if (!out || out > fabric->nodes[sw].num_ports ||
		    fabric->ports[by].peer == PM_NONE)
			return false;
		if (by == port)
			return true;
		sw = pm_fabric_peer_node(fabric, by);
		if (sw >= fabric->num_switches)
			return false;
	}
	return false;
}

/* The switch that an end port other than an aggregation node is attached to. */
static bool is_end(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return p->node < fabric->num_switches && p->peer != PM_NONE && p->host &&
	       p->host != PM_AGGREGATION;
}

struct counts {
	uint32_t refused, service, roots, plain;
	uint32_t failures, over_hub; /* with pairs that have paths over a hub since */
	uint64_t lacking, by_others;
	uint64_t pairs, beyond, manager, manager_lacks;
};

static void check_pairs(const struct world *world, struct counts *counts)
{
	const struct pm_fabric *fabric = world->fabric;
	uint8_t *joined = join_by_best_root(fabric);
	uint8_t *talks = calloc(fabric->num_switches, 1);
	struct pm_unreachable unreachable;
	struct pm_reachable reachable;

	assert_non_null(talks);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (is_end(fabric, i))
			talks[fabric->ports[i].node] = 1;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t to = fabric->ports[i].node;

		for (uint32_t from = 0; is_end(fabric, i) && from < fabric->num_switches;
		     from++) {
			if (!talks[from] || !joined[from * fabric->num_switches + to])
				continue;
			counts->pairs++;
			if (!arrives(world, from, i))
				fail_msg("PM_SEED=%llu PM_ROUNDS=1: from %s to %s[%u]",
					 (unsigned long long)seed,
					 pm_fabric_label(fabric, from),
					 pm_fabric_label(fabric, to),
					 fabric->ports[i].num);
		}
	}
	EXPECT(pm_routes_unreachable(world->routes, &unreachable, NULL) == 0);
	EXPECT(!pm_change_paths_cut(&unreachable));
	EXPECT(pm_routes_reachable(world->routes, NULL, &reachable, NULL) == 0);
	EXPECT(reachable.pairs == reachable.connected);
	counts->beyond += unreachable.beyond;
	free(talks);
	free(joined);
}

/* Whether a packet gets from a switch to the LID of another switch. */
static bool arrives_at_switch(const struct world *world, uint32_t from, uint32_t to)
{
	const struct pm_fabric *fabric = world->fabric;
	uint32_t lid = fabric->ports[fabric->nodes[to].first_port].lid, sw = from;

	for (uint32_t hops = 0; sw != to && hops <= fabric->num_switches; hops++) {
		uint8_t out = pm_routes_table(world->routes, sw)[lid];

		if (!out || out > fabric->nodes[sw].num_ports)
			return false;
		sw = pm_fabric_peer_node(fabric, fabric->nodes[sw].first_port + out);
		if (sw == PM_NONE || sw >= fabric->num_switches)
			return false;
	}
	return sw == to;
}

/* Whether packets from a switch get to all end ports of another one. */
static bool arrives_at_all(const struct world *world, uint32_t from, uint32_t to)
{
	bool all = true;

	pm_for_each_port(i, world->fabric, to)
		all &= !is_end(world->fabric, i) || arrives(world, from, i);
	return all;
}

static bool talks(const struct pm_fabric *fabric, uint32_t sw)
{
	pm_for_each_port(i, fabric, sw)
		if (is_end(fabric, i))
			return true;
	return false;
}

/*
 * The manager at a random switch's own port: all end ports there reach it, and it
 * reaches them, except for the counted paths; with connect_roots none.
 */
static void check_manager(struct world *world, struct random *random,
			  struct counts *counts)
{
	const struct pm_fabric *fabric = world->fabric;
	uint32_t sm = random_below(random, fabric->num_switches);
	uint8_t *joined = join_by_best_root(fabric);

	for (int roots = 0; roots <= 1; roots++) {
		struct pm_unreachable unreachable;
		uint32_t lacking = 0;

		world->detours.sm = world->plan->topology->nodes[sm].first_port;
		world->detours.switches = roots;
		world_update(world, fabric);
		EXPECT(pm_routes_unreachable(world->routes, &unreachable, NULL) == 0);
		for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
			if (sw == sm || !talks(fabric, sw) ||
			    !joined[sm * fabric->num_switches + sw])
				continue;
			EXPECT(arrives_at_switch(world, sw, sm));
			lacking += !arrives_at_all(world, sm, sw);
			counts->manager++;
		}
		/* The best root may be in another part. */
		EXPECT(unreachable.sm_count >= lacking);
		EXPECT(!roots || !lacking);
		counts->manager_lacks += lacking;
	}
	free(joined);
}

/* ---- Failures ---- */

/* Whether a hub closes no credit loop, by the rule of hub.h. */
static bool is_safe(const struct reference *r, uint32_t hub)
{
	for (uint32_t sw = 0; sw < r->num; sw++) {
		uint32_t side = PM_NONE;

		pm_for_each_port(i, r->now, sw) {
			uint32_t to = pm_fabric_peer_node(r->now, i);

			if (sw == hub || to == PM_NONE || to >= r->num ||
			    r->level[to] + 1 != r->level[sw] ||
			    !r->down[to * r->num + hub] || to == side)
				continue;
			if (side != PM_NONE)
				return false;
			side = to;
		}
	}
	return true;
}

/* The pairs of switches with hosts that only a path over this hub joins. */
static uint32_t count_over(const struct reference *r, const uint8_t *with, uint32_t hub,
			   uint8_t *over)
{
	uint32_t count = 0;

	for (uint32_t from = 0; from < r->num; from++)
		for (uint32_t to = 0; with[from] && to < r->num; to++)
			if (with[to] && to != from && !r->updown[from * r->num + to] &&
			    r->updown[from * r->num + hub] &&
			    r->updown[hub * r->num + to]) {
				over[from * r->num + to] = 1;
				count++;
			}
	return count;
}

/*
 * The tables join all pairs that paths up and then down join, and as many other pairs
 * of switches with hosts as the best safe hub.
 */
static void check_failed(const struct world *world, const struct pm_fabric *now,
			 struct counts *counts)
{
	uint32_t num = now->num_switches, most = 0, joined = 0;
	uint8_t *with = calloc(num, 1), *over = calloc(num, num);
	struct reference r;

	assert_non_null(with);
	assert_non_null(over);
	reference_make(&r, world->plan, now);
	for (uint32_t sw = 0; sw < num; sw++)
		with[sw] = talks(world->fabric, sw);
	for (uint32_t hub = 0; hub < num; hub++) {
		uint32_t count;

		if (r.level[hub] == PM_NO_LEVEL ||
		    r.level[hub] < world->plan->tree.leaf_level || !is_safe(&r, hub))
			continue;
		count = count_over(&r, with, hub, over);
		most = count > most ? count : most;
	}
	for (uint32_t from = 0; from < num; from++)
		for (uint32_t to = 0; with[from] && to < num; to++) {
			bool all;

			if (!with[to] || to == from)
				continue;
			all = arrives_at_all(world, from, to);
			EXPECT(all || !r.updown[from * num + to]);
			joined += all && !r.updown[from * num + to];
			counts->by_others += !all && over[from * num + to];
		}
	EXPECT(joined >= most);
	counts->failures++;
	counts->over_hub += joined != 0;
	counts->lacking += joined;
	reference_free(&r);
	free(over);
	free(with);
}

/* Fails a cable, or all of a switch; lists their ports. */
static uint32_t draw_failure(const struct pm_fabric *fabric, struct random *random,
			     uint32_t *ports)
{
	uint32_t sw = random_below(random, fabric->num_switches), count = 0;

	pm_for_each_port(i, fabric, sw) {
		uint32_t to = pm_fabric_peer_node(fabric, i);

		if (to != PM_NONE && to < fabric->num_switches)
			ports[count++] = i;
	}
	if (count && random_chance(random, 75)) {
		ports[0] = ports[random_below(random, count)];
		count = 1;
	}
	return count;
}

static void expect_same_tables(const struct world *world, const struct pm_routes *routes)
{
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		EXPECT(!memcmp(pm_routes_table(world->routes, sw),
			       pm_routes_table(routes, sw), world->stride));
}

static void check_failures(struct world *world, struct random *random,
			   struct counts *counts)
{
	struct pm_routes *routes = NULL;
	uint32_t ports[PM_MAX_PORTS + 1], count;
	struct pm_check_credits credits;

	world->detours = (struct pm_detours){.sm = PM_NONE};
	EXPECT(pm_routes_make(world->plan, &routes, NULL) == 0);
	for (int i = 0; i < FAILURES; i++) {
		struct pm_fabric *now = pm_fabric_clone(world->fabric);

		assert_non_null(now);
		count = draw_failure(now, random, ports);
		EXPECT(pm_routes_fail(routes, ports, count, &world->detours) == 0);
		for (uint32_t k = 0; k < count; k++)
			pm_fabric_cut(now, ports[k]);
		world_update(world, now);
		expect_same_tables(world, routes);
		check_failed(world, now, counts);
		credits = world_credits(world, now);
		EXPECT(!credits.length);
		pm_fabric_free(now);
	}
	world_update(world, world->fabric);
	EXPECT(pm_routes_fail(routes, NULL, 0, &world->detours) == 0);
	expect_same_tables(world, routes);
	pm_routes_free(routes);
}

/* A plan that was written and read has the same tree. */
static void check_restored(const struct world *world)
{
	const struct pm_tree *tree = &world->plan->tree;
	struct pm_plan *read = NULL;
	struct pm_error err;
	char *text = NULL;
	size_t length;

	EXPECT(pm_plan_file_print(world->plan, &text, &length) == 0);
	if (pm_plan_file_parse(text, length, "plan", &read, &err))
		expect_none(seed, __func__, err.text);
	EXPECT(!memcmp(read->tree.level, tree->level, tree->num_switches));
	EXPECT(read->tree.levels_by == tree->levels_by);
	EXPECT(read->tree.leaf_level == tree->leaf_level);
	pm_plan_free(read);
	free(text);
}

static void count_way(const struct world *world, struct counts *counts)
{
	const struct pm_fabric *topology = world->plan->topology;
	bool service = false;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		service |= topology->ports[i].host == PM_SERVICE;
	if (world->plan->tree.levels_by == PM_BY_GUESSED_ROOTS)
		counts->roots++;
	else if (service)
		counts->service++;
	else
		counts->plain++;
}

/* Some of the hosts in odd places are compute nodes, as the operator says. */
static void name_odd(struct pm_roles *roles)
{
	static const char rule[] = "compute name odd*[0-4]";

	EXPECT(!pm_role_rules_add(&roles->rules,
				  (struct pm_text){rule, rule + strlen(rule)}));
}

static void try_one(struct counts *counts)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct random random = {seed};
	struct recipe recipe = {0};
	struct pm_roles roles = {.rules = {.count = 0}};
	struct pm_fabric *fabric;
	struct pm_plan *plan = NULL;
	struct world world;
	int rc;

	draw(&recipe, &random);
	fabric = recipe_build(&recipe, NULL);
	if (random_chance(&random, 30))
		name_odd(&roles);
	pm_roles_apply(&roles, fabric);
	rc = pm_plan_make(fabric, &config, &plan, NULL);
	if (rc) {
		EXPECT(rc == -ENOTSUP);
		counts->refused++;
		/* Not because of the operator's line: place would not do, either. */
		for (uint32_t i = 0; i < fabric->num_ports; i++)
			fabric->ports[i].named = 0;
		EXPECT(pm_plan_make(fabric, &config, &plan, NULL) == -ENOTSUP);
		pm_fabric_free(fabric);
	} else {
		pm_plan_free(plan);
		world_make_with(&world, fabric, &config);
		world_update(&world, fabric);
		count_way(&world, counts);
		check_pairs(&world, counts);
		EXPECT(!world_credits(&world, fabric).length);
		check_failures(&world, &random, counts);
		check_restored(&world);
		check_manager(&world, &random, counts);
		world_free(&world);
	}
	recipe_free(&recipe);
}

static void test_all_joined(void **state)
{
	struct counts counts = {0};

	for (uint32_t round = 0; round < rounds; round++) {
		seed = first_seed + round;
		try_one(&counts);
	}
	print_message(
		"%u fabrics: %u by their leaves alone, %u with service ports, "
		"%u by guessed roots, %u refused; %llu pairs, %llu pairs of switches with "
		"hosts over a hub; a manager at a switch lacks a path to %llu of %llu "
		"switches; after %u of %u failures paths over a hub, for %llu pairs of "
		"switches, where %llu more would have them over other hubs\n",
		rounds, counts.plain, counts.service, counts.roots, counts.refused,
		(unsigned long long)counts.pairs, (unsigned long long)counts.beyond,
		(unsigned long long)counts.manager_lacks,
		(unsigned long long)counts.manager, counts.over_hub, counts.failures,
		(unsigned long long)counts.lacking, (unsigned long long)counts.by_others);
	assert_true(counts.refused * 10 <= rounds || rounds < 100);
	assert_true((counts.service && counts.roots && counts.beyond) || rounds < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_joined),
	};

	first_seed = from_environment("PM_SEED", DEFAULT_SEED);
	rounds = (uint32_t)from_environment("PM_ROUNDS", DEFAULT_ROUNDS);
	print_message("PM_SEED=%llu PM_ROUNDS=%u\n", (unsigned long long)first_seed,
		      rounds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
