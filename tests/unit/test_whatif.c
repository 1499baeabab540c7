/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/whatif.h>
#include <portmajor/route/order.h>
#include <portmajor/fabric/link.h>
#include <portmajor/fabric/roles.h>

static const struct pm_whatif_config grouped = {.plan.order = PM_GROUPED, .sm = PM_NONE};

static struct pm_whatif *make(const struct pm_fabric *fabric)
{
	struct pm_whatif *whatif = NULL;
	struct pm_error err = {""};

	if (pm_whatif_new(fabric, &grouped, &whatif, &err))
		fail_msg("%s", err.text);
	return whatif;
}

static struct pm_whatif_result
try_failure(struct pm_whatif *whatif, const struct pm_fabric *fabric, const char *failure)
{
	struct world world = {.fabric = (struct pm_fabric *)(uintptr_t)fabric};
	struct pm_fabric *broken = world_without(&world, failure);
	struct pm_whatif_result result;
	struct pm_error err = {""};

	if (pm_whatif_try(whatif, broken, &result, &err))
		fail_msg("%s: %s", failure, err.text);
	pm_fabric_free(broken);
	return result;
}

/* The cost of a failure; `exact` blocks or at most as many, least as given or any. */
struct cost {
	unsigned int leaves;
	const char *failure;
	bool exact;
	uint64_t blocks, least;
	uint32_t switches_cut;
};

#define ANY UINT64_MAX

static const struct cost costs[] = {
	{324, "", true, 0, 0, 0},
	{324, "s0-*", true, 1944, 1944, 27},
	{324, "s17-*", true, 1944, 1944, 27},
	{324, "leaf5:20", true, 329, 329, 0},
	{324, "h7-3", true, 0, 0, 0},
	{324, "leaf0", true, 0, 0, 1},
	{324, "leaf323", true, 0, 0, 1},
	{324, "s0-line0", true, 414, 414, 1},
	{324, "s0-fab0", false, 540, ANY, 1},
	{324, "s9-fab8", false, 540, ANY, 1},
	{648, "s0-*", true, 7128, 7128, 54},
	{648, "leaf5:20", true, 658, 658, 0},
	{648, "h7-3", true, 0, 0, 0},
	{648, "leaf0", true, 0, 0, 1},
};

static void check_cost(const struct cost *cost, const struct pm_whatif_result *result)
{
	if (cost->exact ? result->total.blocks != cost->blocks
			: result->total.blocks > cost->blocks)
		fail_msg("%u leaves, %s: %llu blocks", cost->leaves, cost->failure,
			 (unsigned long long)result->total.blocks);
	if ((cost->least != ANY && result->total.least != cost->least) ||
	    result->total.least > result->total.blocks)
		fail_msg("%u leaves, %s: least %llu", cost->leaves, cost->failure,
			 (unsigned long long)result->total.least);
	if (result->switches_cut != cost->switches_cut)
		fail_msg("%u leaves, %s: %u cut off", cost->leaves, cost->failure,
			 result->switches_cut);
	assert_int_equal(result->switches + result->switches_cut, cost->leaves * 5 / 2);
}

static void test_costs(void **state)
{
	struct pm_fabric *fabric = NULL;
	struct pm_whatif *whatif = NULL;
	unsigned int leaves = 0;

	for (size_t i = 0; i < LENGTH(costs); i++) {
		struct pm_whatif_result result;

		if (costs[i].leaves != leaves) {
			pm_whatif_free(whatif);
			pm_fabric_free(fabric);
			leaves = costs[i].leaves;
			fabric = world_director(leaves);
			whatif = make(fabric);
		}
		result = try_failure(whatif, fabric, costs[i].failure);
		check_cost(&costs[i], &result);
	}
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

/* Reachable parts, the full load, and the cut pairs: 2 leaves, 2 spines. */
static void test_counts(void **state)
{
	static const struct {
		const char *failure;
		uint32_t switches, cut;
		uint64_t pairs_cut;
	} rows[] = {
		{"", 4, 0, 0},		 {"s0", 3, 1, 0},
		{"a", 4, 0, 8},		 /* 5 end ports: 4 pairs each way */
		{"l0", 3, 1, 14},	 /* 3 stay, with 6 of 20 pairs */
		{"s0 s1", 1, 3, 12},	 /* 3 x 2 + 2 x 1 stay */
		{"l0:4 l1:3", 3, 1, 0},	 /* both cables of s0 */
		{"l0:4 l1:4", 2, 2, 12}, /* two halves */
		{"l0:4", 4, 0, 0},
	};
	struct pm_fabric *fabric =
		recipe_draw("l0/5 l1/5 s0/2 s1/2 l0:1=a l0:2=b l0:4=s0:1 l0:5=s1:1 "
			    "l1:1=c l1:2=d l1:5=e l1:3=s0:2 l1:4=s1:2");
	struct pm_whatif *whatif = make(fabric);

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_whatif_result result =
			try_failure(whatif, fabric, rows[i].failure);

		if (result.switches != rows[i].switches ||
		    result.switches_cut != rows[i].cut ||
		    result.pairs_cut != rows[i].pairs_cut)
			fail_msg("\"%s\": %u there, %u cut off, %llu pairs cut",
				 rows[i].failure, result.switches, result.switches_cut,
				 (unsigned long long)result.pairs_cut);
		assert_int_equal(result.full_load,
				 result.switches *
					 pm_plan_blocks(pm_whatif_plan(whatif)));
	}
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

/*
 * The share that is served at the subnet manager: in a ring of three, or a tree of two.
 */
static void test_reachable(void **state)
{
	static const struct {
		const char *failure, *sm;
		uint64_t connected, pairs;
	} rows[] = {
		{"", NULL, 38, 38},
		{"", "h2", 38, 38},
		{"d:2", NULL, 38, 26},
		/* A ring has detours to the manager only. */
		{"s0", NULL, 8, 8},
		{"s0", "h0", 8, 8},
		{"s0", "h2", 6, 2},
		{"s0 c", "h3", 2, 1},
	};
	struct pm_fabric *fabric =
		recipe_draw("a/4 b/4 c/4 d/4 e/4 s0/5 s1/2 a:1=h0 a:4=i0 b:1=h1 b:4=i1 "
			    "c:1=h2 d:1=h3 e:1=h4 a:2=s0:1 b:2=s0:2 c:2=s0:3 d:2=s0:4 "
			    "e:2=s0:5 a:3=s1:1 b:3=s1:2 c:3=d:4 d:3=e:4 e:3=c:4");

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_whatif_config config = grouped;
		struct pm_whatif *whatif = NULL;
		struct pm_whatif_result result;

		if (rows[i].sm)
			config.sm = world_port(fabric, rows[i].sm, 1);
		assert_int_equal(pm_whatif_new(fabric, &config, &whatif, NULL), 0);
		result = try_failure(whatif, fabric, rows[i].failure);
		if (result.reachable.connected != rows[i].connected ||
		    result.reachable.pairs != rows[i].pairs)
			fail_msg("\"%s\", %s: %llu of %llu", rows[i].failure,
				 rows[i].sm ? rows[i].sm : "",
				 (unsigned long long)result.reachable.pairs,
				 (unsigned long long)result.reachable.connected);
		pm_whatif_free(whatif);
	}
	pm_fabric_free(fabric);
}

/* Levels add up to the total, and no order of trials matters. */
static void test_levels(void **state)
{
	static const char *const failures[] = {"s0-fab0", "s0-*", "leaf5:20"};
	struct pm_fabric *fabric = world_director(36);
	struct pm_whatif *whatif = make(fabric);
	struct pm_whatif_result first = {0}, last;

	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_whatif_result result = try_failure(whatif, fabric, failures[i]);
		uint64_t blocks = 0, least = 0;

		for (int l = 0; l < PM_WHATIF_LEVELS; l++) {
			blocks += result.level[l].blocks;
			least += result.level[l].least;
		}
		assert_int_equal(blocks, result.total.blocks);
		assert_int_equal(least, result.total.least);
		if (i == 0)
			first = result;
	}
	last = try_failure(whatif, fabric, failures[0]);
	assert_memory_equal(&first.total, &last.total, sizeof(first.total));
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
	pm_whatif_free(NULL);
}

/* Tables made for a world of their own, without a trace of earlier failures. */
static struct pm_delta compare_whole_tables(const struct pm_fabric *fabric,
					    const struct pm_whatif_config *config,
					    uint32_t port)
{
	struct pm_fabric *broken = pm_fabric_clone(fabric);
	struct pm_delta delta;
	struct world world;

	world_make_with(&world, pm_fabric_clone(fabric), &config->plan);
	if (config->sm != PM_NONE)
		world.detours.sm = pm_plan_place(world.plan, fabric, config->sm);
	world.detours.switches = config->connect_roots;
	world_update(&world, fabric);
	for (uint32_t sw = 0; sw < world.num_switches; sw++)
		memcpy(world.first + (size_t)sw * world.stride,
		       pm_routes_table(world.routes, sw), world.stride);
	pm_fabric_cut(broken, port);
	world_update(&world, broken);
	delta = world_delta(&world);
	pm_fabric_free(broken);
	world_free(&world);
	return delta;
}

/* Every few cables, one after the other, with the same and with fresh tables. */
static void check_links(struct pm_fabric *fabric, const struct pm_whatif_config *config,
			uint32_t step)
{
	struct pm_whatif *whatif = NULL;
	struct pm_error err = {""};
	unsigned int changed = 0;

	assert_int_equal(pm_whatif_new(fabric, config, &whatif, &err), 0);
	for (uint32_t port = 1; port < fabric->num_ports; port += step) {
		struct pm_whatif_result result;
		struct pm_delta whole;

		if (fabric->ports[port].peer == PM_NONE)
			continue;
		assert_int_equal(pm_whatif_fail(whatif, &port, 1, &result, &err), 0);
		whole = compare_whole_tables(fabric, config, port);
		if (memcmp(&whole, &result.total, sizeof(whole)))
			fail_msg("cable at port %u: %llu blocks, by whole tables %llu",
				 port, (unsigned long long)result.total.blocks,
				 (unsigned long long)whole.blocks);
		changed += whole.blocks > 0;
	}
	assert_true(changed > 0);
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

static void test_moved_is_all(void **state)
{
	/* Leaves with unlike cables, and a link beside the tree. */
	static const char drawing[] =
		"l0/6 l1/6 l2/5 s0/4 s1/4 l0:1=a l0:2=b l0:4=s0:1 l0:5=s1:1 "
		"l1:1=c l1:2=d l1:5=e l1:3=s0:2 l1:4=s1:2 l2:1=f l2:3=s1:3 l0:6=l1:6";
	struct pm_whatif_config config = grouped;

	check_links(world_director(36), &config, 31);
	check_links(recipe_draw(drawing), &config, 1);
	config.connect_roots = true;
	check_links(recipe_draw(drawing), &config, 1);
	check_links(world_director(36), &config, 31);
}

/* ---- Aggregation nodes ---- */

struct sums {
	uint64_t links, switches; /* blocks of all failures of one */
	uint64_t dearest;	  /* link */
};

static uint64_t blocks_of(struct pm_whatif *whatif, const uint32_t *ports, uint32_t num)
{
	struct pm_whatif_result result;

	assert_int_equal(pm_whatif_fail(whatif, ports, num, &result, NULL), 0);
	return result.total.blocks;
}

static struct sums sum_up(struct pm_generate generate, bool aggregation, uint8_t lmc)
{
	struct pm_whatif_config config = grouped;
	struct pm_whatif *whatif = NULL;
	struct sums sums = {0};
	struct pm_fabric *fabric;

	generate.aggregation = aggregation;
	config.plan.lmc = lmc;
	fabric = world_generate(&generate);
	pm_roles_apply(&(struct pm_roles){.rules.count = 0}, fabric);
	assert_int_equal(pm_whatif_new(fabric, &config, &whatif, NULL), 0);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		uint32_t ports[PM_MAX_PORTS], num = 0;

		pm_for_each_port(i, fabric, sw) {
			uint32_t remote = pm_fabric_peer_node(fabric, i);
			uint64_t blocks;

			ports[num++] = i;
			if (remote == PM_NONE || remote < sw ||
			    remote >= fabric->num_switches)
				continue;
			blocks = blocks_of(whatif, &i, 1);
			sums.links += blocks;
			sums.dearest = blocks > sums.dearest ? blocks : sums.dearest;
		}
		sums.switches += blocks_of(whatif, ports, num);
	}
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
	return sums;
}

/* All failures of one cable, and of one switch, cost the same with them and without. */
static void test_aggregation_is_free(void **state)
{
	static const struct {
		const char *name;
		struct pm_generate generate;
		uint8_t lmc;
		uint32_t dearest; /* percent; with LMC slots may fill their blocks */
	} rows[] = {
		{"director", {.kind = PM_GENERATE_DIRECTOR, .director = {36}}, 0, 120},
		{"three levels",
		 {.kind = PM_GENERATE_XGFT, .xgft = {3, {8, 8, 6}, {1, 4, 4}}},
		 0,
		 120},
		{"two levels",
		 {.kind = PM_GENERATE_TWO_LEVEL, .two_level = {24, 12, 12, 1}},
		 0,
		 120},
		{"LMC 1",
		 {.kind = PM_GENERATE_TWO_LEVEL, .two_level = {20, 10, 10, 1}},
		 1,
		 200},
	};

	for_each_row(row, rows) {
		struct sums without = sum_up(row->generate, false, row->lmc);
		struct sums with = sum_up(row->generate, true, row->lmc);

		if (with.links * 10 > without.links * 11 ||
		    with.switches * 10 > without.switches * 11 ||
		    with.dearest * 100 > without.dearest * row->dearest)
			fail_msg("%s: links %llu, without %llu; switches %llu, without "
				 "%llu; dearest %llu, without %llu",
				 row->name, (unsigned long long)with.links,
				 (unsigned long long)without.links,
				 (unsigned long long)with.switches,
				 (unsigned long long)without.switches,
				 (unsigned long long)with.dearest,
				 (unsigned long long)without.dearest);
	}
}

/* ---- Random failures in random trees, against a full count ---- */

static const struct recipe_limits limits = {.switches = 40, .hosts = 80};

struct trial {
	struct random random;
	uint64_t seed;
	struct pm_whatif_config config;
	struct pm_whatif *whatif;
	struct world world;	  /* tables made anew for each failure */
	uint64_t pairs;		  /* before a failure, as the parts of all nodes .. */
	uint32_t *whole, managed; /* .. and the part with the manager */
	/* [switch][switch] whether tables lead to all its end ports; NULL at first */
	uint8_t *joined;
};

/* part[node] is the lowest node that cables join it with. */
static void find_parts(const struct pm_fabric *now, uint32_t *part)
{
	bool again = true;

	for (uint32_t n = 0; n < now->num_nodes; n++)
		part[n] = n;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < now->num_ports; i++) {
			uint32_t n = now->ports[i].node,
				 remote = pm_fabric_peer_node(now, i);

			if (remote == PM_NONE || part[remote] <= part[n])
				continue;
			part[remote] = part[n];
			again = true;
		}
	}
}

/*
 * The part with the manager, else with most of the end nodes that were in its part, of
 * those the first one.
 */
static uint32_t find_managed(const struct trial *t, const struct pm_fabric *now,
			     const uint32_t *part)
{
	uint32_t best = 0, most = 0;

	if (t->config.sm != PM_NONE)
		return part[now->ports[t->config.sm].node];
	for (uint32_t n = 0; n < now->num_nodes; n++) {
		uint32_t count = 0;

		for (uint32_t i = now->num_switches; i < now->num_nodes; i++)
			count += part[i] == n && (!t->whole || t->whole[i] == t->managed);
		if (count > most) {
			most = count;
			best = n;
		}
	}
	return best;
}

/* Whether the tables lead from a switch to the end port behind a port of another one. */
static bool gets_to_port(const struct trial *t, const struct pm_fabric *now,
			 uint32_t from, uint32_t port)
{
	uint32_t sw = from, lid = t->world.plan->lid[port];

	for (uint32_t hops = 0; hops <= now->num_switches; hops++) {
		uint8_t out = pm_routes_table(t->world.routes, sw)[lid];
		uint32_t by = now->nodes[sw].first_port + out;

		if (!out || out > now->nodes[sw].num_ports)
			return false;
		if (by == port)
			return true;
		sw = pm_fabric_peer_node(now, by);
		if (sw >= now->num_switches)
			return false;
	}
	return false;
}

/*
 * The same for all end ports of that switch, so that the manager's detours alone do not
 * count.
 */
static bool arrives_at_all(const struct trial *t, const struct pm_fabric *now,
			   uint32_t from, uint32_t to)
{
	const struct pm_fabric *whole = t->world.fabric;
	bool all = true;

	pm_for_each_port(i, whole, to) {
		uint32_t end = pm_fabric_peer_node(whole, i);

		all &= end == PM_NONE || end < whole->num_switches ||
		       gets_to_port(t, now, from, i);
	}
	return all;
}

/*
 * Pairs of end ports of this part, or of all parts, that tables join or cables do. Those
 * at one switch, too: of the pairs that were joined before.
 */
static uint64_t count_pairs(const struct trial *t, const struct pm_fabric *now,
			    const uint32_t *part, uint32_t only, bool by_links,
			    bool at_one_switch)
{
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < now->num_ports; i++)
		for (uint32_t k = 0; k < now->num_ports; k++) {
			uint32_t a = now->ports[i].node, b = now->ports[k].node;
			uint32_t x = pm_fabric_peer_node(now, i);
			uint32_t y = pm_fabric_peer_node(now, k);

			if (i == k || a >= now->num_switches || b >= now->num_switches ||
			    x == PM_NONE || y == PM_NONE || x < now->num_switches ||
			    y < now->num_switches)
				continue;
			if ((a == b && !at_one_switch) ||
			    (only != PM_NONE && (part[a] != only || part[b] != only)))
				continue;
			if (at_one_switch && t->joined &&
			    !t->joined[a * now->num_switches + b])
				continue;
			pairs += a == b || by_links || arrives_at_all(t, now, a, b);
		}
	return pairs;
}

static struct pm_delta count_blocks(const struct trial *t, const uint32_t *part,
				    uint32_t managed, int level)
{
	struct pm_delta delta = {0};

	for (uint32_t sw = 0; sw < t->world.num_switches; sw++)
		if (part[sw] == managed &&
		    (level < 0 || t->world.plan->tree.level[sw] == level))
			pm_delta_add(
				&delta, t->world.first + (size_t)sw * t->world.stride,
				pm_routes_table(t->world.routes, sw), t->world.stride);
	return delta;
}

/* Like early repair, from sorted blocks. */
static uint32_t count_restoring(const struct trial *t, const uint32_t *part,
				uint32_t managed)
{
	const struct world *w = &t->world;
	uint32_t blocks = w->stride / PM_LFT_BLOCK, num = 0;
	struct pm_order_block *list =
		calloc((size_t)w->num_switches * blocks + 1, sizeof(*list));
	struct pm_order_waits waits;

	assert_non_null(list);
	for (uint32_t sw = 0; sw < w->num_switches; sw++)
		for (uint32_t b = 0; b < blocks && part[sw] == managed; b++)
			num += pm_order_compare(w->routes, sw, b,
						w->first + (size_t)sw * w->stride +
							(size_t)b * PM_LFT_BLOCK,
						&list[num]);
	assert_int_equal(pm_order_sort(w->routes, w->usable, list, num, &waits), 0);
	num = pm_order_restoring(list, num);
	pm_order_free(&waits);
	free(list);
	return num;
}

static uint64_t count_most(const struct trial *t, const struct pm_fabric *now)
{
	struct pm_check_loads loads = world_loads(&t->world, now);
	uint64_t most = 0;

	for (int l = 0; l < PM_CHECK_LEVELS; l++) {
		if (loads.up[l].maximum > most)
			most = loads.up[l].maximum;
		if (loads.down[l].maximum > most)
			most = loads.down[l].maximum;
	}
	return most;
}

static struct pm_whatif_result count_everything(struct trial *t,
						const struct pm_fabric *now)
{
	struct pm_whatif_result r = {0};
	uint32_t *part = calloc(now->num_nodes, sizeof(*part)), managed;

	assert_non_null(part);
	world_update(&t->world, now);
	find_parts(now, part);
	managed = find_managed(t, now, part);
	for (uint32_t sw = 0; sw < now->num_switches; sw++) {
		r.switches += part[sw] == managed;
		r.switches_cut += part[sw] != managed;
	}
	r.total = count_blocks(t, part, managed, -1);
	for (int l = 0; l < PM_WHATIF_LEVELS; l++)
		r.level[l] = count_blocks(t, part, managed, l);
	r.restoring = count_restoring(t, part, managed);
	r.full_load = (uint64_t)r.switches * pm_plan_blocks(t->world.plan);
	r.pairs_cut = t->pairs - count_pairs(t, now, part, PM_NONE, false, true);
	r.reachable.connected = count_pairs(t, now, part, managed, true, false);
	r.reachable.pairs = count_pairs(t, now, part, managed, false, false);
	r.load = count_most(t, now);
	free(part);
	return r;
}

/* Cables, hosts and switches; mostly one cable, or two. */
static uint32_t choose_failure(struct trial *t, uint32_t *ports)
{
	const struct pm_fabric *whole = t->world.fabric;
	uint32_t num = 0, count = random_range(&t->random, 0, 3);
	uint32_t node = random_below(&t->random, whole->num_nodes);

	if (random_chance(&t->random, 20))
		pm_for_each_port(i, whole, node)
			ports[num++] = i;
	for (; count > 0; count--)
		ports[num++] = random_below(&t->random, whole->num_ports);
	return num;
}

/* Returns whether anything changed. */
static bool check_failure(struct trial *t)
{
	struct pm_fabric *now = pm_fabric_clone(t->world.fabric);
	struct pm_whatif_result fast, slow;
	uint32_t ports[PM_MAX_PORTS + 3], num = choose_failure(t, ports);

	for (uint32_t i = 0; i < num; i++)
		pm_fabric_cut(now, ports[i]);
	assert_int_equal(pm_whatif_fail(t->whatif, ports, num, &fast, NULL), 0);
	slow = count_everything(t, now);
	memcpy(slow.reachable.unreachable, fast.reachable.unreachable,
	       sizeof(slow.reachable.unreachable));
	if (memcmp(&fast, &slow, sizeof(fast)))
		fail_msg("PM_SEED=%llu: %llu blocks, %llu by a full count; %u "
			 "restoring, %u; load %llu, %llu; %llu pairs cut, %llu",
			 (unsigned long long)t->seed,
			 (unsigned long long)fast.total.blocks,
			 (unsigned long long)slow.total.blocks, fast.restoring,
			 slow.restoring, (unsigned long long)fast.load,
			 (unsigned long long)slow.load,
			 (unsigned long long)fast.pairs_cut,
			 (unsigned long long)slow.pairs_cut);
	pm_fabric_free(now);
	return slow.total.blocks > 0 || slow.load != pm_whatif_before(t->whatif)->load;
}

/* Every second fabric has links of several rates, and some that are not known. */
static void set_links(struct pm_fabric *fabric, uint64_t seed)
{
	struct random random = {~seed};

	for (uint32_t i = 0; seed % 2 && i < fabric->num_ports; i++)
		fabric->ports[i].link = pm_link_code(
			random_chance(&random, 70) ? 4 : random_below(&random, 3),
			random_chance(&random, 70) ? PM_EDR : PM_FDR);
}

/* The world holds the tables of the whole fabric, with detours. */
static bool begin(struct trial *t, uint64_t seed)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct pm_error err;
	uint32_t host, *part;

	*t = (struct trial){.random = {seed}, .seed = seed, .config = grouped};
	recipe_random(&recipe, &t->random, &limits);
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	set_links(fabric, seed);
	t->config.loads = true;
	t->config.connect_roots = random_chance(&t->random, 20);
	if (random_chance(&t->random, 30))
		t->config.plan.lmc = (uint8_t)random_range(&t->random, 1, PM_MAX_LMC);
	host = random_range(&t->random, fabric->num_switches, fabric->num_nodes);
	if (random_chance(&t->random, 50) && host < fabric->num_nodes &&
	    fabric->ports[fabric->nodes[host].first_port + 1].peer != PM_NONE)
		t->config.sm = fabric->nodes[host].first_port + 1;
	if (pm_whatif_new(fabric, &t->config, &t->whatif, &err)) {
		pm_fabric_free(fabric);
		return false;
	}
	world_make_with(&t->world, fabric, &t->config.plan);
	if (t->config.sm != PM_NONE)
		t->world.detours.sm = pm_plan_place(t->world.plan, fabric, t->config.sm);
	t->world.detours.switches = t->config.connect_roots;
	world_update(&t->world, fabric);
	free(t->world.first);
	t->world.first = world_tables(t->world.routes, t->world.num_switches);
	part = calloc(fabric->num_nodes, sizeof(*part));
	assert_non_null(part);
	find_parts(fabric, part);
	t->pairs = count_pairs(t, fabric, part, PM_NONE, false, true);
	t->managed = find_managed(t, fabric, part);
	t->whole = part;
	t->joined = calloc(fabric->num_switches + 1u, fabric->num_switches + 1u);
	assert_non_null(t->joined);
	for (uint32_t a = 0; a < fabric->num_switches; a++)
		for (uint32_t b = 0; b < fabric->num_switches; b++)
			t->joined[a * fabric->num_switches + b] =
				a == b || arrives_at_all(t, fabric, a, b);
	return true;
}

/*
 * Loads at 5,832 hosts, which are kept up to date, against a full count: every second
 * time of a switch lost. PM_SAMPLES=200 takes some minutes.
 */
static void test_sampled_loads(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 20261122);
	uint64_t samples = from_environment("PM_SAMPLES", 4), changed = 0;
	struct trial t = {.random = {seed}, .seed = seed, .config = grouped};

	t.config.loads = true;
	world_make(&t.world, world_director(324), PM_GROUPED);
	assert_int_equal(pm_whatif_new(t.world.fabric, &t.config, &t.whatif, NULL), 0);
	for (uint64_t i = 0; i < samples; i++) {
		struct pm_fabric *now = pm_fabric_clone(t.world.fabric);
		struct pm_whatif_result result;
		uint32_t ports[PM_MAX_PORTS + 3], num = choose_failure(&t, ports);
		uint32_t sw = random_below(&t.random, now->num_switches);

		if (i % 2 == 0) {
			num = 0;
			pm_for_each_port(port, now, sw)
				ports[num++] = port;
		}
		for (uint32_t k = 0; k < num; k++)
			pm_fabric_cut(now, ports[k]);
		assert_int_equal(pm_whatif_fail(t.whatif, ports, num, &result, NULL), 0);
		world_update(&t.world, now);
		assert_int_equal(result.load, count_most(&t, now));
		changed += result.load != pm_whatif_before(t.whatif)->load;
		pm_fabric_free(now);
	}
	print_message("PM_SEED=%llu PM_SAMPLES=%llu: %llu with another load\n",
		      (unsigned long long)seed, (unsigned long long)samples,
		      (unsigned long long)changed);
	assert_true(changed);
	pm_whatif_free(t.whatif);
	world_free(&t.world);
}

/* Returns how many of six failures in the seed's fabric change anything. */
static uint32_t check_seed(uint64_t seed, uint32_t *tried)
{
	uint32_t changed = 0;
	struct trial t;

	if (!begin(&t, seed))
		return 0;
	for (int i = 0; i < 6; i++, ++*tried)
		changed += check_failure(&t);
	pm_whatif_free(t.whatif);
	world_free(&t.world);
	free(t.whole);
	free(t.joined);
	return changed;
}

static void test_random_failures(void **state)
{
	/* All switches with detours have one to the same end port. */
	static const uint64_t all_to_one[] = {800004, 1400011};
	uint64_t seed = from_environment("PM_SEED", 20261122);
	uint32_t tried = 0, changed = 0;

	print_message("PM_SEED=%llu\n", (unsigned long long)seed);
	while (tried < 600)
		changed += check_seed(seed++, &tried);
	assert_true(changed > tried / 3);
	for (size_t i = 0; i < LENGTH(all_to_one); i++)
		check_seed(all_to_one[i], &tried);
}

/* Loads come back, and the same cable twice is one cable. */
static void test_loads(void **state)
{
	struct pm_fabric *fabric = world_director(36);
	struct pm_whatif_config config = grouped;
	uint32_t leaf = pm_fabric_find_name(fabric, "leaf3");
	struct pm_whatif *whatif = NULL;
	struct pm_whatif_result once, twice, again;
	struct pm_error err = {""};
	uint32_t ports[2];

	config.loads = true;
	config.shifts = UINT32_MAX;
	ports[0] = fabric->nodes[leaf].first_port + 20;
	ports[1] = fabric->ports[ports[0]].peer;
	assert_int_equal(pm_whatif_new(fabric, &config, &whatif, &err), 0);
	/* Of 648 hosts, a cable of a leaf bears 18 x 35 flows; no link is shared. */
	assert_int_equal(pm_whatif_before(whatif)->load, 18 * 35);
	assert_int_equal(pm_whatif_before(whatif)->shift, 1);
	assert_int_equal(pm_whatif_before(whatif)->total.blocks, 0);
	assert_int_equal(pm_whatif_fail(whatif, ports, 1, &once, &err), 0);
	assert_int_equal(pm_whatif_fail(whatif, ports, 2, &twice, &err), 0);
	assert_memory_equal(&once, &twice, sizeof(once));
	assert_true(once.load > 18 * 35);
	assert_int_equal(once.shift, 2);
	assert_int_equal(pm_whatif_fail(whatif, NULL, 0, &again, &err), 0);
	assert_memory_equal(&again, pm_whatif_before(whatif), sizeof(again));
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

/* Traffic differs between directions: the link with most flows may lead up or down. */
static void test_loads_each_direction(void **state)
{
	static const struct {
		const char *drawing;
		uint64_t load;
	} rows[] = {
		/* Down to l1, of one host: 2 x 2 flows; up from l0 2 hosts send to 3,
		 * one on each spine. */
		{"l0/5 l1/4 l2/5 s0/3 s1/3 s2/3 l0:1=a l0:2=b l1:1=c l2:1=d l2:2=e "
		 "l0:3=s0:1 l0:4=s1:1 l0:5=s2:1 l1:2=s0:2 l1:3=s1:2 l1:4=s2:2 "
		 "l2:3=s0:3 l2:4=s1:3 l2:5=s2:3",
		 4},
		/* Up from l0 6 hosts send to 2 on a spine; down to it 3 send to 3. */
		{"l0/8 l1/3 l2/3 l3/3 s0/4 s1/4 l0:1=a l0:2=b l0:3=c l0:4=d l0:5=e "
		 "l0:6=f l1:1=g l2:1=h l3:1=i l0:7=s0:1 l0:8=s1:1 l1:2=s0:2 l1:3=s1:2 "
		 "l2:2=s0:3 l2:3=s1:3 l3:2=s0:4 l3:3=s1:4",
		 12},
	};
	struct pm_whatif_config config = grouped;

	config.loads = true;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric = recipe_draw(rows[i].drawing);
		struct pm_whatif *whatif = NULL;

		assert_int_equal(pm_whatif_new(fabric, &config, &whatif, NULL), 0);
		assert_int_equal(pm_whatif_before(whatif)->load, rows[i].load);
		pm_whatif_free(whatif);
		pm_fabric_free(fabric);
	}
}

/* Of two parts the manager's counts, else the one with most end ports, not nodes. */
static void test_parts(void **state)
{
	struct pm_fabric *fabric = recipe_draw(
		"l0/5 l1/3 l2/3 s0/3 s1/3 l0:1=a l0:2=b l0:3=c l1:1=d l2:1=e "
		"l0:4=s0:1 l0:5=s1:1 l1:2=s0:2 l1:3=s1:2 l2:2=s0:3 l2:3=s1:3");
	struct pm_whatif_config config = grouped;
	struct pm_whatif *whatif = make(fabric);
	struct pm_whatif_result result = try_failure(whatif, fabric, "l0:4 l0:5");

	assert_int_equal(result.switches, 1);
	assert_int_equal(result.switches_cut, 4);
	pm_whatif_free(whatif);
	config.sm = world_port(fabric, "e", 1);
	assert_int_equal(pm_whatif_new(fabric, &config, &whatif, NULL), 0);
	result = try_failure(whatif, fabric, "l0:4 l0:5");
	assert_int_equal(result.switches, 4);
	assert_int_equal(result.switches_cut, 1);
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

/* A fabric that is no part of the first is refused, and leaves no trace. */
/* Hosts are cut off with their cable or their leaf, and only by the last failure. */
static void test_cut_off(void **state)
{
	struct pm_fabric *fabric = recipe_draw(
		"a/5 b/5 s/2 a:1=h1 a:2=h2 b:1=h3 b:2=h4 b:3=h5 a:5=s:1 b:5=s:2");
	struct pm_whatif *whatif = NULL;
	struct pm_whatif_result result;
	struct pm_error err = {""};
	static const struct {
		const char *node;
		unsigned int port;
		const char *cut_off[3];
	} rows[] = {
		{"a", 5, {"h1", "h2", NULL}}, {"b", 1, {"h3", NULL}}, {"a", 4, {NULL}}};

	assert_int_equal(pm_whatif_new(fabric, &grouped, &whatif, &err), 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		uint32_t port = world_port(fabric, rows[i].node, rows[i].port), num, k;
		const uint32_t *node;

		assert_int_equal(pm_whatif_fail(whatif, &port, 1, &result, &err), 0);
		node = pm_whatif_cut_off(whatif, &num);
		for (k = 0; rows[i].cut_off[k]; k++) {
			assert_in_range(num, k + 1, 2);
			assert_string_equal(pm_fabric_name(fabric, node[k]),
					    rows[i].cut_off[k]);
		}
		assert_int_equal(num, k);
	}
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

/* The switches that the subnet manager reaches after the last failure. */
static void test_reached(void **state)
{
	static const struct {
		const char *failure;
		uint8_t reached[4];
	} rows[] = {
		{"l0:4 l0:5", {0, 1, 1, 1}}, {"l0:4", {1, 1, 1, 1}},
		{"s0", {1, 1, 0, 1}},	     {"a b c", {1, 1, 1, 1}},
		{"l0:4 l1:3", {1, 1, 0, 1}},
	};
	struct pm_fabric *fabric =
		recipe_draw("l0/5 l1/5 s0/2 s1/2 l0:1=a l0:2=b l0:4=s0:1 l0:5=s1:1 "
			    "l1:1=c l1:2=d l1:5=e l1:3=s0:2 l1:4=s1:2");
	struct pm_whatif *whatif = make(fabric);
	uint8_t reached[4];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		(void)try_failure(whatif, fabric, rows[i].failure);
		pm_whatif_reached(whatif, reached);
		if (memcmp(reached, rows[i].reached, sizeof(reached)) != 0)
			fail_msg("%s", rows[i].failure);
	}
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
}

static void test_more_than_whole(void **state)
{
	struct pm_fabric *fabric = recipe_draw("l/2 m/2 s/3 l:1=a m:1=b l:2=s:1 m:2=s:2");
	struct pm_fabric *other = recipe_draw("l/2 m/2 s/3 l:1=a m:1=b l:2=s:3 m:2=s:2");
	struct pm_whatif *whatif = make(fabric);
	struct pm_whatif_result result;
	struct pm_error err = {""};

	assert_int_equal(pm_whatif_try(whatif, other, &result, &err), -EINVAL);
	assert_non_null(strstr(err.text, "parts that the whole fabric lacks"));
	assert_int_equal(pm_whatif_try(whatif, fabric, &result, &err), 0);
	assert_int_equal(result.pairs_cut, 0);
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
	pm_fabric_free(other);
}

static void test_errors(void **state)
{
	struct pm_fabric *fabric = recipe_draw("l/2 s/2 l:1=s:1");
	struct pm_whatif *whatif = NULL;
	struct pm_error err = {""};

	assert_int_equal(pm_whatif_new(fabric, &grouped, &whatif, &err), -ENOENT);
	assert_null(whatif);
	assert_non_null(strstr(err.text, "no switch has an end port"));
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_reachable),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_moved_is_all),
		cmocka_unit_test(test_aggregation_is_free),
		cmocka_unit_test(test_random_failures),
		cmocka_unit_test(test_sampled_loads),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_loads_each_direction),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_reached),
		cmocka_unit_test(test_more_than_whole),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
