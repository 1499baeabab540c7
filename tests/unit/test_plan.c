/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "reference.h"
#include "world.h"
#include "unit.h"

#define TWO_LEVEL                                                                        \
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l0:2=b l0:3=s0:1 l0:4=s1:1 "                         \
	"l1:1=c l1:2=d l1:3=s0:2 l1:4=s1:2"

struct lid {
	const char *name;
	unsigned int port, lid;
};

static void expect_lids(const struct pm_plan *plan, const struct lid *lids, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		uint32_t place = world_port(plan->topology, lids[i].name, lids[i].port);

		if (plan->lid[place] != lids[i].lid)
			fail_msg("%s[%u] has LID %u, not %u", lids[i].name, lids[i].port,
				 plan->lid[place], lids[i].lid);
	}
}

static struct pm_plan *make_as(const struct pm_fabric *fabric,
			       const struct pm_plan_config *config)
{
	struct pm_error err = {""};
	struct pm_plan *plan = NULL;
	const char *text;

	if (pm_plan_make(fabric, config, &plan, &err))
		fail_msg("%s", err.text);
	text = reference_plan(plan, false);
	if (text)
		fail_msg("%s", text);
	return plan;
}

static struct pm_plan *make_plan(const struct pm_fabric *fabric, enum pm_lid_order order)
{
	struct pm_plan_config config = {.order = order};

	return make_as(fabric, &config);
}

/* Plane 0: l0's and l1's first slots; the second leaf's own LID is in plane 1. */
static void test_orders(void **state)
{
	static const struct lid grouped[] = {
		{"l0", 1, 1}, {"l0", 0, 2},  {"l1", 1, 3},  {"s0", 0, 7}, {"l0", 2, 8},
		{"l1", 2, 9}, {"l1", 0, 10}, {"s1", 0, 11}, {"l0", 3, 0}, {"s0", 1, 0},
	};
	static const struct lid leaf_major[] = {
		{"l0", 1, 1}, {"l0", 2, 2}, {"l1", 1, 3}, {"l1", 2, 4},
		{"l0", 0, 5}, {"l1", 0, 6}, {"s0", 0, 7}, {"s1", 0, 8},
	};
	static const struct lid port_major[] = {
		{"l0", 1, 1}, {"l1", 1, 2}, {"l0", 2, 3}, {"l1", 2, 4},
		{"l0", 0, 5}, {"l1", 0, 6}, {"s0", 0, 7}, {"s1", 0, 8},
	};
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
	struct pm_plan *plan;

	plan = make_plan(fabric, PM_GROUPED);
	expect_lids(plan, grouped, LENGTH(grouped));
	assert_int_equal(plan->top_lid, 11);
	assert_int_equal(plan->num_runs, 2);
	assert_int_equal(plan->runs[0].start, 0);
	assert_int_equal(plan->runs[0].length, 8);
	assert_int_equal(plan->runs[1].start, 8);
	assert_int_equal(plan->runs[1].length, 4);
	assert_int_equal(plan->runs[1].plane, 1);
	assert_int_equal(pm_plan_blocks(plan), 1);
	pm_plan_free(plan);
	plan = make_plan(fabric, PM_LEAF_MAJOR);
	expect_lids(plan, leaf_major, LENGTH(leaf_major));
	assert_int_equal(plan->num_runs, 0);
	pm_plan_free(plan);
	plan = make_plan(fabric, PM_PORT_MAJOR);
	expect_lids(plan, port_major, LENGTH(port_major));
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

/* Three slots over two planes: the odd one rotates, so that planes stay equal. */
static void test_surplus_rotates(void **state)
{
	struct recipe_xgft shape = {2, 3, {0, 4}, {2}, {1, 1}};
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	uint32_t slots[2] = {0, 0};

	recipe_add_xgft(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	plan = make_plan(fabric, PM_GROUPED);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->topology->ports[i].host)
			slots[plan->plane[i]]++;
	assert_int_equal(slots[0], 6);
	assert_int_equal(slots[1], 6);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

/* A port that is a slot on another leaf is one here too; odd ports are not. */
static void test_empty_slots(void **state)
{
	struct pm_fabric *fabric = recipe_draw("l0/6 l1/6 x/8 s0/3 l0:1=a l0:2=b l1:2=c "
					       "l0:6=s0:1 l1:6=s0:2 x:1=d x:8=s0:3");
	struct pm_plan *plan = make_plan(fabric, PM_GROUPED);

	assert_true(plan->lid[world_port(plan->topology, "l1", 1)] != 0);
	assert_int_equal(plan->lid[world_port(plan->topology, "l1", 3)], 0);
	assert_int_equal(plan->lid[world_port(plan->topology, "x", 2)], 0);
	assert_int_equal(plan->lid[world_port(plan->topology, "s0", 0)], plan->top_lid);
	assert_int_equal(pm_plan_place(plan, fabric, world_port(fabric, "c", 1)),
			 world_port(plan->topology, "l1", 2));
	assert_int_equal(pm_plan_place(plan, fabric, world_port(fabric, "s0", 0)),
			 world_port(plan->topology, "s0", 0));
	assert_int_equal(pm_plan_place(plan, fabric, world_port(fabric, "l1", 3)),
			 PM_NONE);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

static void test_director(void **state)
{
	static const struct {
		unsigned int leaves, blocks;
	} rows[] = {
		{36, 36},
		{324, 110},
		{648, 218},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric = world_director(rows[i].leaves);
		struct pm_plan *plan = make_plan(fabric, PM_GROUPED);
		const struct pm_port *top =
			&plan->topology->ports[plan->owner[plan->top_lid]];

		if (pm_plan_blocks(plan) > rows[i].blocks)
			fail_msg("%u leaves: %u blocks", rows[i].leaves,
				 pm_plan_blocks(plan));
		assert_int_equal(top->num, 0);
		assert_int_equal(plan->num_runs, 18);
		pm_plan_free(plan);
		pm_fabric_free(fabric);
	}
}

/* The first pod of a director: lines and fabric switches that join nothing yet. */
static void test_one_pod(void **state)
{
	struct recipe_director shape = {
		.chassis = 6,
		.pods = 1,
		.leaves_per_pod = 2,
		.hosts = 6,
		.fabrics = 1,
		.parallel = 1,
	};
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	recipe_add_director(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	pm_plan_free(make_plan(fabric, PM_GROUPED));
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

/* At 5,832 three pods of 19 LIDs go to a block, and none straddles. */
static void test_pods_do_not_straddle(void **state)
{
	struct pm_fabric *fabric = world_director(324);
	struct pm_plan *plan = make_plan(fabric, PM_GROUPED);
	uint32_t *block =
		calloc(plan->tree.num_pods * plan->tree.num_planes, sizeof(*block));

	assert_non_null(block);
	for (uint32_t lid = 1; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid], sw, *b;

		if (place == PM_NONE)
			continue;
		sw = plan->topology->ports[place].node;
		if (plan->tree.level[sw] != 0)
			continue;
		b = &block[plan->tree.pod[sw] * plan->tree.num_planes +
			   plan->plane[place]];
		if (*b && *b != lid / PM_LFT_BLOCK + 1)
			fail_msg("pod %u of plane %u straddles at LID %u",
				 plan->tree.pod[sw], plan->plane[place], lid);
		*b = lid / PM_LFT_BLOCK + 1;
	}
	free(block);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

/* How many blocks have a LID of this plane. */
static unsigned int count_blocks(const struct pm_plan *plan, uint32_t plane)
{
	uint32_t last = PM_NONE;
	unsigned int count = 0;

	for (uint32_t lid = 1; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid];

		if (place == PM_NONE ||
		    plan->tree.level[plan->topology->ports[place].node] ||
		    pm_plan_plane(plan, place, lid - plan->lid[place]) != plane)
			continue;
		count += lid / PM_LFT_BLOCK != last;
		last = lid / PM_LFT_BLOCK;
	}
	return count;
}

/* Each LID of a slot has another plane, and all planes have as many from a leaf. */
static void assert_even_planes(const struct pm_plan *plan)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t num = 1u << plan->lmc;

	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint32_t lids[8][18] = {{0}};

		pm_for_each_port(i, plan->topology, tree->leaves[l]) {
			uint32_t planes = 0;

			for (uint32_t k = 0; plan->lid[i] && k < num; k++) {
				uint32_t p = pm_plan_plane(plan, i, k);

				lids[k][p]++;
				assert_false(planes & 1u << p);
				planes |= 1u << p;
			}
		}
		for (uint32_t k = 0; k < num; k++)
			for (uint32_t p = 0; p < tree->num_planes; p++)
				assert_int_equal(lids[k][p], 1);
	}
}

/* The slots and the leaves that each plane is the own one of. */
static void assert_own(const struct pm_plan *plan, const unsigned int *slots,
		       const unsigned int *leaves)
{
	const struct pm_tree *tree = &plan->tree;

	for (uint32_t p = 0; p < tree->num_planes; p++) {
		unsigned int num[2] = {0};

		for (uint32_t l = 0; l < tree->num_leaves; l++)
			pm_for_each_port(i, plan->topology, tree->leaves[l])
				num[0] += plan->lid[i] && plan->plane[i] == p;
		for (uint32_t l = 0; l < tree->num_leaves; l++) {
			uint32_t sw = tree->leaves[l];

			num[1] += plan->plane[plan->topology->nodes[sw].first_port] == p;
		}
		if (num[0] != slots[p] || num[1] != leaves[p])
			fail_msg("LMC %u, plane %u: %u slots, %u leaves", plan->lmc, p,
				 num[0], num[1]);
	}
}

/*
 * With LMC a block of 64 LIDs has 64 / 2^LMC of a plane at most; so 36 slots of 18 planes
 * on as many leaves take 3, 9 and 36 blocks at least.
 */
static void test_bundles(void **state)
{
	static const struct {
		uint8_t lmc;
		unsigned int blocks;		    /* of a table */
		unsigned int of_a_plane[3];	    /* as few, one more, two more */
		unsigned int slots[18], leaves[18]; /* by their own plane */
	} rows[] = {
		{1,
		 27,
		 {18, 0, 0},
		 {72, 0, 72, 0, 72, 0, 72, 0, 72, 0, 72, 0, 72, 0, 72, 0, 72, 0},
		 {4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0}},
		{2,
		 43,
		 {12, 6, 0},
		 {144, 0, 0, 0, 144, 0, 0, 0, 144, 0, 0, 0, 72, 0, 72, 0, 72, 0},
		 {[12] = 12, [14] = 12, [16] = 12}},
		{3,
		 83,
		 {17, 1, 0},
		 {[0] = 288, [8] = 72, [10] = 72, [12] = 72, [14] = 72, [16] = 72},
		 {[16] = 36}},
	};
	static const unsigned int least[] = {1, 3, 9, 36};
	struct recipe_xgft shape = {2, 18, {0, 36}, {18}, {1, 1}};
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	recipe_add_xgft(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_plan_config config = {.order = PM_GROUPED, .lmc = rows[i].lmc};
		struct pm_plan *plan = make_as(fabric, &config);
		unsigned int count[3] = {0};

		assert_int_equal(pm_plan_blocks(plan), rows[i].blocks);
		for (uint32_t p = 0; p < plan->tree.num_planes; p++) {
			unsigned int blocks = count_blocks(plan, p);

			assert_in_range(blocks, least[rows[i].lmc],
					least[rows[i].lmc] + 2);
			count[blocks - least[rows[i].lmc]]++;
		}
		assert_memory_equal(count, rows[i].of_a_plane, sizeof(count));
		assert_even_planes(plan);
		assert_own(plan, rows[i].slots, rows[i].leaves);
		pm_plan_free(plan);
	}
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

static void test_no_such_port(void **state)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan_place place = {.lid = 7};
	struct pm_fabric *skeleton;
	struct pm_plan *plan = NULL;
	struct pm_error err = {""};
	struct world world;

	world_make(&world, recipe_draw("l0/3 l1/3 s/2 l0:1=a l1:1=b l0:3=s:1 l1:3=s:2"),
		   PM_GROUPED);
	skeleton = pm_fabric_clone(world.plan->topology);
	assert_non_null(skeleton);
	place.port = skeleton->num_ports;
	assert_int_equal(
		pm_plan_restore(&config, skeleton, &place, 1, NULL, 0, &plan, &err),
		-EBADMSG);
	assert_null(plan);
	assert_string_equal(err.text, "place of LID 7: no such port");
	world_free(&world);
}

/* Leaves' own LIDs, for which a plane's last block has no room, fill others. */
static void test_full_bundles(void **state)
{
	static const unsigned int slots[] = {62, 0, 62, 0, 62, 0,  62, 0,
					     62, 0, 62, 0, 31, 31, 31};
	static const unsigned int leaves[] = {4, 0, 4, 0, 4, 0, 4, 0,
					      4, 0, 4, 0, 2, 2, 3};
	struct recipe_xgft shape = {2, 15, {0, 31}, {15}, {1, 1}};
	struct pm_plan_config config = {.order = PM_GROUPED, .lmc = 1};
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	unsigned int sum = 0;

	recipe_add_xgft(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	plan = make_as(fabric, &config);
	assert_int_equal(pm_plan_blocks(plan), 16);
	for (uint32_t p = 0; p < plan->tree.num_planes; p++)
		sum += count_blocks(plan, p);
	assert_int_equal(sum, 13 * 2 + 2 * 3);
	assert_own(plan, slots, leaves);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

/* The three planes of a spine are lost together: 19 or 20 LIDs each, in one block. */
static void test_shared_block(void **state)
{
	struct recipe_xgft shape = {2, 18, {0, 18}, {6}, {3, 1}};
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct pm_plan *plan;

	recipe_add_xgft(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	plan = make_plan(fabric, PM_GROUPED);
	assert_int_equal(pm_plan_blocks(plan), 6);
	assert_int_equal(plan->num_runs, 18);
	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];

		assert_int_equal(run->start / PM_LFT_BLOCK,
				 plan->tree.planes[run->plane].component);
	}
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

/* Eight leaves, eight spines: with 6 hosts below each leaf the highest LID is 64. */
static void test_top_is_no_multiple(void **state)
{
	static const struct {
		uint32_t hosts;
		uint16_t top;
	} rows[] = {{5, 56}, {6, 65}, {7, 72}, {14, 129}};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct recipe_xgft shape = {2, rows[i].hosts, {0, 8}, {8}, {1, 1}};
		struct recipe recipe = {0};
		struct pm_fabric *fabric;
		struct pm_plan *plan;

		recipe_add_xgft(&recipe, &shape);
		fabric = recipe_build(&recipe, NULL);
		plan = make_plan(fabric, PM_LEAF_MAJOR);
		assert_int_equal(plan->top_lid, rows[i].top);
		assert_int_equal(plan->owner[rows[i].top] == PM_NONE,
				 rows[i].top % PM_LFT_BLOCK == 1);
		assert_int_equal(pm_plan_blocks(plan), rows[i].top / PM_LFT_BLOCK + 1);
		pm_plan_free(plan);
		pm_fabric_free(fabric);
		recipe_free(&recipe);
	}
}

/* LinearFDBTop must not change with hosts. */
static void test_top_is_a_switch(void **state)
{
	static const struct {
		const char *name;
		struct recipe_xgft shape;
		uint8_t lmc;
	} rows[] = {
		{"two levels", {2, 4, {0, 4}, {2}, {1, 1}}, 0},
		{"three levels", {3, 3, {0, 3, 3}, {3, 3}, {1, 1, 1}}, 0},
		{"parallel cables", {2, 6, {0, 4}, {2}, {3, 1}}, 0},
		{"parallel cables, many leaves", {2, 4, {0, 30}, {2}, {2, 1}}, 0},
		{"one switch", {1, 4, {0}, {0}, {0}}, 0},
		{"two levels, LMC 1", {2, 4, {0, 4}, {2}, {1, 1}}, 1},
		{"blocks that slots fill", {2, 8, {0, 4}, {8}, {1, 1}}, 2},
		{"two levels, LMC 3", {2, 18, {0, 36}, {18}, {1, 1}}, 3},
		{"six leaves, LMC 3", {2, 3, {0, 6}, {3}, {1, 1}}, 3},
		{"three levels, LMC 2", {3, 8, {0, 4, 4}, {4, 4}, {1, 1, 1}}, 2},
	};
	bool failed = false;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_plan_config config = {.order = PM_GROUPED, .lmc = rows[i].lmc};
		struct recipe recipe = {0};
		struct pm_fabric *fabric;
		struct pm_plan *plan;
		const struct pm_port *top;

		recipe_add_xgft(&recipe, &rows[i].shape);
		fabric = recipe_build(&recipe, NULL);
		plan = make_as(fabric, &config);
		top = &plan->topology->ports[plan->owner[plan->top_lid]];
		if (top->num)
			print_error("%s: top LID %u is %s[%u]\n", rows[i].name,
				    plan->top_lid,
				    pm_fabric_name(plan->topology, top->node), top->num);
		failed |= top->num != 0;
		pm_plan_free(plan);
		pm_fabric_free(fabric);
		recipe_free(&recipe);
	}
	assert_false(failed);
}

/* ---- Keeping LIDs ---- */

static void set_lid(struct pm_fabric *fabric, const char *name, unsigned int port,
		    unsigned int lid)
{
	fabric->ports[world_port(fabric, name, port)].lid = (uint16_t)lid;
}

static const struct keeping {
	const char *name;
	uint32_t differ;
	struct lid used[5];	/* in the fabric: "a".."d" are hosts */
	struct lid expected[8]; /* by place */
} keepings[] = {
	{"as planned",
	 0,
	 {{"a", 1, 1}, {"s1", 0, 11}},
	 {{"l0", 1, 1}, {"s1", 0, 11}, {"l1", 1, 3}}},
	{"swapped",
	 2,
	 {{"a", 1, 3}, {"c", 1, 1}},
	 {{"l0", 1, 3}, {"l1", 1, 1}, {"l0", 0, 2}}},
	{"chain",
	 4,
	 {{"a", 1, 2}, {"l0", 0, 3}, {"c", 1, 7}, {"s0", 0, 1}},
	 {{"l0", 1, 2}, {"l0", 0, 3}, {"l1", 1, 7}, {"s0", 0, 1}}},
	{"far away", 1, {{"a", 1, 49151}}, {{"l0", 1, 49151}, {"l0", 0, 2}}},
	/* l0's LID is taken; the first of its run that is planned for nobody
	   is 4. */
	{"taken from another", 1, {{"a", 1, 2}}, {{"l0", 1, 2}, {"l0", 0, 4}}},
	{"beyond unicast", 0, {{"a", 1, 49152}}, {{"l0", 1, 1}}},
	{"collision", 1, {{"a", 1, 20}, {"b", 1, 20}}, {{"l0", 1, 20}, {"l0", 2, 8}}},
};

static void check_keeping(const struct keeping *row)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
	struct pm_plan *plan = make_plan(fabric, PM_GROUPED), *kept;
	uint32_t differ = 99;
	const char *text;
	size_t num = 0;

	for (size_t k = 0; k < 5 && row->used[k].name; k++)
		set_lid(fabric, row->used[k].name, row->used[k].port, row->used[k].lid);
	assert_int_equal(pm_plan_keep(plan, fabric, NULL, &kept, &differ, NULL), 0);
	if (differ != row->differ || !kept != !differ)
		fail_msg("%s: %u differ", row->name, differ);
	if (kept) {
		pm_plan_free(plan);
		plan = kept;
	}
	while (num < 8 && row->expected[num].name)
		num++;
	expect_lids(plan, row->expected, num);
	for (uint32_t p = 0; p < plan->topology->num_ports; p++)
		if (plan->lid[p] && plan->owner[plan->lid[p]] != p)
			fail_msg("%s: LID %u", row->name, plan->lid[p]);
	/* LIDs that no other port claims stay as in a plan without LIDs. */
	text = reference_plan(plan, true);
	if (text && !strstr(text, "is not in a run"))
		fail_msg("%s: %s", row->name, text);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

static void test_keep_lids(void **state)
{
	for (size_t i = 0; i < LENGTH(keepings); i++)
		check_keeping(&keepings[i]);
}

/* A second subnet manager, with another plan, finds the LIDs of the first. */
static void test_recover(void **state)
{
	struct world world;
	struct pm_plan *again, *port_major;
	uint32_t differ;

	world_make(&world, world_director(72), PM_GROUPED);
	port_major = make_plan(world.fabric, PM_PORT_MAJOR);
	pm_plan_set_adopted(port_major, true);
	assert_int_equal(
		pm_plan_keep(port_major, world.fabric, NULL, &again, &differ, NULL), 0);
	assert_true(again->adopted);
	assert_true(differ > 0);
	assert_memory_equal(again->lid, world.plan->lid,
			    world.plan->topology->num_ports * sizeof(*again->lid));
	assert_int_equal(again->top_lid, world.plan->top_lid);
	assert_null(reference_plan(again, true));
	pm_plan_free(again);
	assert_int_equal(
		pm_plan_keep(world.plan, world.fabric, NULL, &again, &differ, NULL), 0);
	assert_null(again);
	assert_int_equal(differ, 0);
	pm_plan_free(port_major);
	world_free(&world);
}

/*
 * The result of pm_plan_keep when a host comes up anew, without a LID; the fabric's
 * ports then have the LIDs of that plan. NULL: all is as planned. Frees `before`.
 */
static struct pm_plan *reboot(struct pm_fabric *fabric, const char *host,
			      const struct pm_plan *planned, struct pm_plan *before)
{
	struct pm_plan *kept = NULL;
	uint32_t differ;

	if (host)
		set_lid(fabric, host, 1, 0);
	assert_int_equal(pm_plan_keep(planned, fabric, before, &kept, &differ, NULL), 0);
	world_set_lids(fabric, kept ? kept : planned);
	pm_plan_free(before);
	return kept;
}

/* Two hosts have each other's LIDs. Neither is given one that is planned for the other.
 */
static void test_two_rounds(void **state)
{
	static const struct {
		const char *host;
		struct lid expected[2];
	} steps[] = {
		{NULL, {{"l0", 1, 3}, {"l1", 1, 1}}},
		{"a", {{"l0", 1, 4}, {"l1", 1, 1}}},
		{"c", {{"l0", 1, 4}, {"l1", 1, 3}}},
	};
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
	struct pm_plan *planned = make_plan(fabric, PM_GROUPED), *plan = NULL;

	world_set_lids(fabric, planned);
	set_lid(fabric, "a", 1, 3);
	set_lid(fabric, "c", 1, 1);
	for (size_t i = 0; i < LENGTH(steps); i++) {
		plan = reboot(fabric, steps[i].host, planned, plan);
		assert_non_null(plan);
		expect_lids(plan, steps[i].expected, 2);
	}
	assert_null(reboot(fabric, "a", planned, plan));
	pm_plan_free(planned);
	pm_fabric_free(fabric);
}

/*
 * A place that keeps its LID keeps the values on which the older plan's tables depend,
 * one by one.
 */
static void test_older(void **state)
{
	struct pm_plan_config config = {.order = PM_GROUPED, .lmc = 1};

	for (int i = 0; i < 4; i++) {
		struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
		struct pm_plan *planned, *older, *kept = NULL;
		uint32_t place, differ = 99;

		assert_int_equal(pm_plan_make(fabric, &config, &planned, NULL), 0);
		assert_int_equal(pm_plan_make(fabric, &config, &older, NULL), 0);
		world_set_lids(fabric, planned);
		place = world_port(planned->topology, "l1", 1);
		assert_true(planned->lid[place] && planned->plane[place] < 2);
		older->base_plane[place] ^= i == 1;
		older->rank[place] += i == 2;
		older->plane[place] ^= i == 3;
		assert_int_equal(
			pm_plan_keep(planned, fabric, older, &kept, &differ, NULL), 0);
		assert_int_equal(differ, 0);
		assert_int_equal(kept != NULL, i != 0);
		if (kept) {
			assert_int_equal(kept->base_plane[place],
					 older->base_plane[place]);
			assert_int_equal(kept->rank[place], older->rank[place]);
			assert_int_equal(kept->plane[place], older->plane[place]);
			assert_int_equal(kept->lid[place], planned->lid[place]);
		}
		pm_plan_free(kept);
		pm_plan_free(older);
		pm_plan_free(planned);
		pm_fabric_free(fabric);
	}
}

#define ONE_SPINE "l0/4 l1/4 s0/2 s1/2 l0:1=a l0:2=b l0:4=s1:1 l1:1=c l1:2=d l1:4=s1:2"

/* All slots have the LIDs, ranks and, at the leaves, entries of a plan of ONE_SPINE. */
static void expect_as_before(const struct pm_plan *plan, const struct pm_plan *before)
{
	struct pm_routes *old, *now;

	assert_int_equal(pm_routes_make(before, &old, NULL), 0);
	assert_int_equal(pm_routes_make(plan, &now, NULL), 0);
	for (uint32_t i = 0; i < before->topology->num_ports; i++) {
		uint16_t lid = before->lid[i];

		assert_int_equal(plan->lid[i], lid);
		if (!before->topology->ports[i].host)
			continue;
		assert_int_equal(plan->plane[i], 1);
		assert_int_equal(plan->rank[i], before->rank[i]);
		for (uint32_t leaf = 0; leaf < 2; leaf++)
			assert_int_equal(pm_routes_table(now, leaf)[lid],
					 pm_routes_table(old, leaf)[lid]);
	}
	pm_routes_free(old);
	pm_routes_free(now);
}

/*
 * A second spine; its plane is the first from now on: slots keep the plane that they had,
 * whatever number it has, until their hosts come up anew.
 */
static void test_keep_planes(void **state)
{
	static const char *const hosts[] = {"a", "b", "c", "d"};
	struct pm_fabric *fabric = recipe_draw(ONE_SPINE);
	struct pm_plan *before = make_plan(fabric, PM_GROUPED), *planned, *plan = NULL;
	uint32_t differ;

	pm_fabric_free(fabric);
	fabric = recipe_draw(ONE_SPINE " l0:3=s0:1 l1:3=s0:2");
	planned = make_plan(fabric, PM_GROUPED);
	world_set_lids(fabric, before);
	assert_int_equal(pm_plan_keep(planned, fabric, before, &plan, &differ, NULL), 0);
	assert_non_null(plan);
	expect_as_before(plan, before);
	for (size_t i = 0; i < LENGTH(hosts); i++) {
		uint32_t slot = fabric->ports[world_port(fabric, hosts[i], 1)].peer;

		plan = reboot(fabric, hosts[i], planned, plan);
		assert_non_null(plan);
		assert_int_equal(plan->plane[slot], planned->plane[slot]);
		assert_int_equal(plan->rank[slot], planned->rank[slot]);
	}
	pm_plan_free(plan);
	pm_plan_free(before);
	pm_plan_free(planned);
	pm_fabric_free(fabric);
}

/* ---- Errors ---- */

#define RING                                                                             \
	"r0/3 r1/3 r2/3 r3/3 r0:1=a r1:1=b r2:1=c r3:1=d r0:2=r1:3 r1:2=r2:3 r2:2=r3:3 r3:2=r0:3"
#define WIDE_RING                                                                        \
	"l0/3 l1/3 l2/3 l3/3 l4/3 l5/3 m0/2 m1/2 m2/2 m3/2 m4/2 m5/2 "                   \
	"l0:1=a l1:1=b l2:1=c l3:1=d l4:1=e l5:1=f l0:2=m0:1 l1:3=m0:2 l1:2=m1:1 "       \
	"l2:3=m1:2 l2:2=m2:1 l3:3=m2:2 l3:2=m3:1 l4:3=m3:2 l4:2=m4:1 l5:3=m4:2 "         \
	"l5:2=m5:1 l0:3=m5:2"

/* Three by three switches, each with two hosts; port 3 east, 4 west, 5 south, 6 north. */
static struct pm_fabric *make_torus(void)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	for (unsigned int i = 0; i < 9; i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%u%u", i / 3, i % 3);
		recipe_add_node(&recipe, PM_SWITCH, 0x200000u + i, 6, 0, name);
	}
	for (unsigned int i = 0; i < 9; i++) {
		recipe_add_link(&recipe, i, 3, i / 3 * 3 + (i + 1) % 3, 4);
		recipe_add_link(&recipe, i, 5, (i + 3) % 9, 6);
		recipe_add_host(&recipe, i, 1);
		recipe_add_host(&recipe, i, 2);
	}
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	return fabric;
}

/* 250 leaves of 254 ports, with few hosts, but on every port number once. */
static struct pm_fabric *make_huge(void)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;

	recipe_add_node(&recipe, PM_SWITCH, 1, 250, 1, "spine");
	for (unsigned int i = 0; i < 250; i++) {
		recipe_add_node(&recipe, PM_SWITCH, 2 + i, 254, 0, "leaf");
		recipe_add_link(&recipe, i + 1, 254, 0, i + 1);
	}
	for (unsigned int i = 0; i < 253; i++)
		recipe_add_host(&recipe, 1 + i % 250, i + 1);
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	return fabric;
}

static void expect_error(const char *name, struct pm_fabric *fabric, int code,
			 const char *text, const char *more)
{
	for (enum pm_lid_order order = PM_GROUPED; order <= PM_PORT_MAJOR; order++) {
		struct pm_plan_config config = {.order = order};
		struct pm_plan *plan = (struct pm_plan *)&config;
		struct pm_error err = {""};
		int rc = pm_plan_make(fabric, &config, &plan, &err);

		if (rc != code || !strstr(err.text, text) || !strstr(err.text, more))
			fail_msg("%s, %s: %d \"%s\"", name, pm_lid_order_name(order), rc,
				 err.text);
		assert_ptr_equal(plan, &config);
		assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), code);
	}
	pm_fabric_free(fabric);
}

static void test_errors(void **state)
{
	expect_error(
		"ring", recipe_draw(RING), -ENOTSUP, "not a fat tree",
		"12 of 12 pairs of hosts, such as those at \"r0\" and \"r1\" (4 cables");
	expect_error("ring of leaves and spines", recipe_draw(WIDE_RING), -ENOTSUP,
		     "18 of 30 pairs of hosts", "\"l0\" and \"l2\"");
	expect_error(
		"torus", make_torus(), -ENOTSUP, "not a fat tree",
		"288 of 288 pairs of hosts, such as those at \"t00\" and \"t01\" (18 cables");
	expect_error("no hosts", recipe_draw("l/2 s/2 l:1=s:1"), -ENOENT,
		     "no switch has an end port", "");
	expect_error("no switches", recipe_draw(""), -ENOENT, "no switch has an end port",
		     "");
	expect_error("too many LIDs", make_huge(), -ENOSPC,
		     "63501 places need 63501 LIDs with LMC 0, there are 49151: no room",
		     "");
}

/* ---- Scarce LIDs ---- */

/* Two levels. Each leaf has one host, on the first port or the next, up to `slots`. */
struct wide {
	unsigned int leaves, spines, slots;
};

static void make_wide(const struct wide *wide, struct recipe *recipe)
{
	*recipe = (struct recipe){0};
	for (unsigned int l = 0; l < wide->leaves; l++)
		recipe_add_node(recipe, PM_SWITCH, 1 + l, 254, 0, "leaf");
	for (unsigned int s = 0; s < wide->spines; s++)
		recipe_add_node(recipe, PM_SWITCH, 1000 + s, 254, 1, "spine");
	for (unsigned int l = 0; l < wide->leaves; l++) {
		for (unsigned int s = 0; s < wide->spines; s++)
			recipe_add_link(recipe, l, wide->slots + 1 + s, wide->leaves + s,
					l + 1);
		recipe_add_host(recipe, l, 1 + l % wide->slots);
	}
	/* All numbers of slots. */
	for (unsigned int p = wide->leaves + 1; p <= wide->slots; p++)
		recipe_add_host(recipe, 0, p);
}

static void test_scarce(void **state)
{
	static const struct {
		const char *name;
		struct wide wide;
		struct pm_plan_config config;
		uint32_t top; /* 0: refused, with this text: */
		const char *text;
	} rows[] = {
		{"planes share blocks", {254, 62, 192}, {PM_GROUPED, 0}, 49084, NULL},
		{"all LIDs", {210, 11, 233}, {PM_GROUPED, 0}, 49151, NULL},
		{"all LIDs with LMC", {108, 11, 227}, {PM_GROUPED, 1}, 49151, NULL},
		{"room below", {108, 10, 227}, {PM_GROUPED, 1}, 49150, NULL},
		{"one too many",
		 {210, 12, 233},
		 {PM_GROUPED, 0},
		 0,
		 "49152 places need 49152 LIDs with LMC 0, there are 49151: no room with "
		 "lid_order grouped"},
		{"one too many with LMC",
		 {108, 12, 227},
		 {PM_GROUPED, 1},
		 0,
		 "24636 places need 49152 LIDs with LMC 1, there are 49151: no room with "
		 "lid_order grouped; they fit with LMC 0"},
		{"order",
		 {108, 11, 227},
		 {PM_LEAF_MAJOR, 1},
		 0,
		 "24635 places need 49151 LIDs with LMC 1, there are 49151: no room with "
		 "lid_order leaf-major; they fit with lid_order grouped"},
		{"a lower LMC",
		 {254, 127, 127},
		 {PM_GROUPED, 3},
		 0,
		 "they fit with LMC 0"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_plan *plan = NULL;
		struct pm_fabric *fabric;
		struct recipe recipe;
		struct pm_error err;

		make_wide(&rows[i].wide, &recipe);
		fabric = recipe_build(&recipe, NULL);
		if (rows[i].top) {
			plan = make_as(fabric, &rows[i].config);
			if (plan->top_lid != rows[i].top)
				fail_msg("%s: up to %u", rows[i].name, plan->top_lid);
		} else {
			assert_int_equal(
				pm_plan_make(fabric, &rows[i].config, &plan, &err),
				-ENOSPC);
			assert_non_null(strstr(err.text, rows[i].text));
		}
		pm_plan_free(plan);
		pm_fabric_free(fabric);
		recipe_free(&recipe);
	}
}

/* Leaves come until the LIDs behind all runs are used up, and then those left in runs. */
static void test_scarce_growth(void **state)
{
	static const struct wide wide = {254, 62, 192};
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan, *grown = NULL;
	struct pm_fabric *few, *all;
	struct recipe recipe;
	struct pm_error err = {""};

	make_wide(&wide, &recipe);
	for (uint32_t l = 244; l < 254; l++)
		recipe.nodes[l].away = true;
	few = recipe_build(&recipe, NULL);
	for (uint32_t l = 244; l < 254; l++)
		recipe.nodes[l].away = false;
	all = recipe_build(&recipe, NULL);
	plan = make_as(few, &config);
	if (pm_plan_grow(plan, all, &grown, &err))
		fail_msg("%s", err.text);
	assert_in_range(grown->top_lid, 49084, PM_MAX_LID);
	for (uint32_t i = 0, num = 0; i < grown->topology->num_ports; i++) {
		num += grown->lid[i] != 0;
		assert_true(!grown->lid[i] || grown->owner[grown->lid[i]] == i);
		if (i + 1 == grown->topology->num_ports)
			assert_int_equal(num, 254 * 193 + 62);
	}
	pm_plan_free(grown);
	pm_plan_free(plan);
	pm_fabric_free(few);
	pm_fabric_free(all);
	recipe_free(&recipe);
}

static void test_order_names(void **state)
{
	enum pm_lid_order order = PM_LEAF_MAJOR;

	for (enum pm_lid_order i = PM_GROUPED; i <= PM_PORT_MAJOR; i++) {
		assert_int_equal(pm_lid_order_parse(pm_lid_order_name(i), &order), 0);
		assert_int_equal(order, i);
	}
	assert_int_equal(pm_lid_order_parse("Grouped", &order), -EINVAL);
	assert_int_equal(pm_lid_order_parse("", &order), -EINVAL);
	assert_int_equal(order, PM_PORT_MAJOR);
}

/* ---- Growth ---- */

static struct pm_plan *grow(struct pm_plan *plan, const char *drawing)
{
	struct pm_fabric *now = recipe_draw(drawing);
	struct pm_plan *grown = NULL;
	struct pm_error err = {""};
	uint8_t *usable;

	pm_plan_set_adopted(plan, true);
	if (pm_plan_grow(plan, now, &grown, &err))
		fail_msg("%s", err.text);
	assert_non_null(grown);
	assert_true(grown->adopted);
	pm_plan_free(plan);
	usable = calloc(grown->topology->num_ports, 1);
	assert_non_null(usable);
	assert_true(pm_plan_match(grown, now, usable));
	free(usable);
	pm_fabric_free(now);
	return grown;
}

static void test_grow(void **state)
{
	static const struct {
		const char *name, *drawing;
		struct lid expected[5];
	} rows[] = {
		{"new host on a port that was no slot",
		 TWO_LEVEL " l0:5=e",
		 {{"l0", 5, 4}}},
		/* Runs are full but for 4 to 6: the next goes behind all. */
		{"new leaf",
		 TWO_LEVEL " l2:1=e l2:2=f l2:3=s0:3 l2:4=s1:3",
		 {{"l2", 0, 4}, {"l2", 1, 5}, {"l2", 2, 64}}},
		{"new spine", TWO_LEVEL " l0:6=s2:1 l1:6=s2:2", {{"s2", 0, 64}}},
		{"new cable", TWO_LEVEL " l0:6=s0:3", {{"s0", 0, 7}}},
	};
	static const struct lid old[] = {
		{"l0", 1, 1}, {"l0", 0, 2}, {"l1", 1, 3},  {"s0", 0, 7},
		{"l0", 2, 8}, {"l1", 2, 9}, {"l1", 0, 10}, {"s1", 0, 11},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		/* Free ports, and switches in the order of the old GUIDs. */
		char before[400], after[400];
		struct pm_fabric *fabric;
		struct pm_plan *plan;
		size_t num = 0;

		snprintf(before, sizeof(before), "l0/6 l1/6 s0/4 s1/4 %s",
			 strstr(TWO_LEVEL, "l0:1"));
		snprintf(after, sizeof(after), "l0/6 l1/6 s0/4 s1/4 %s%s %s",
			 strstr(rows[i].drawing, "l2:") ? "l2/6 " : "",
			 strstr(rows[i].drawing, "s2:") ? "s2/4 " : "",
			 strstr(rows[i].drawing, "l0:1"));
		fabric = recipe_draw(before);
		plan = make_plan(fabric, PM_GROUPED);
		expect_lids(plan, old, LENGTH(old));
		plan = grow(plan, after);
		expect_lids(plan, old, LENGTH(old));
		while (num < 5 && rows[i].expected[num].name)
			num++;
		expect_lids(plan, rows[i].expected, num);
		if (reference_plan(plan, true))
			fail_msg("%s: %s", rows[i].name, reference_plan(plan, true));
		pm_plan_free(plan);
		pm_fabric_free(fabric);
	}
}

/* A new host keeps the LID that it has, if that is free and the tables have room for it.
 */
static void test_newcomers(void **state)
{
	static const struct {
		uint8_t lmc;
		uint16_t has, gets; /* 0: another than it has */
	} rows[] = {
		{0, 0, 4},     {0, 20, 20}, {0, 63, 63}, {0, 64, 4}, {0, 2, 4}, {0, 8, 4},
		{0, 49151, 4}, {1, 62, 62}, {1, 63, 0},	 {1, 1, 0},  {1, 0, 0},
	};
	static const char drawing[] =
		"l0/5 l1/5 s0/2 s1/2 l0:1=a l0:2=b l0:3=s0:1 l0:4=s1:1 "
		"l1:1=c l1:2=d l1:3=s0:2 l1:4=s1:2 l0:5=e";

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_plan_config config = {.order = PM_GROUPED, .lmc = rows[i].lmc};
		struct pm_fabric *fabric = recipe_draw(drawing), *before;
		struct pm_plan *plan = NULL, *grown = NULL;
		uint32_t place;
		char old[200];

		snprintf(old, sizeof(old), "%.*s",
			 (int)(strstr(drawing, " l0:5") - drawing), drawing);
		before = recipe_draw(old);
		set_lid(fabric, "e", 1, rows[i].has);
		assert_int_equal(pm_plan_make(before, &config, &plan, NULL), 0);
		assert_int_equal(pm_plan_blocks(plan), 1);
		assert_int_equal(pm_plan_grow(plan, fabric, &grown, NULL), 0);
		assert_non_null(grown);
		place = world_port(grown->topology, "l0", 5);
		assert_int_not_equal(grown->lid[place], 0);
		if (rows[i].gets ? grown->lid[place] != rows[i].gets
				 : grown->lid[place] == rows[i].has)
			fail_msg("with LID %u it gets %u", rows[i].has,
				 grown->lid[place]);
		pm_plan_free(plan);
		pm_plan_free(grown);
		pm_fabric_free(before);
		pm_fabric_free(fabric);
	}
}

/* A second spine; its plane is the first from now on: places and runs keep theirs. */
static void test_grown_planes(void **state)
{
	struct pm_fabric *fabric = recipe_draw(ONE_SPINE), *now;
	struct pm_plan *before = make_plan(fabric, PM_GROUPED), *grown = NULL;

	now = recipe_draw(ONE_SPINE " l0:3=s0:1 l1:3=s0:2");
	assert_int_equal(pm_plan_grow(before, now, &grown, NULL), 0);
	assert_non_null(grown);
	expect_as_before(grown, before);
	assert_int_equal(grown->num_runs, before->num_runs);
	for (uint32_t r = 0; r < grown->num_runs; r++)
		assert_int_equal(grown->runs[r].plane,
				 before->runs[r].plane == 0 ? 1 : PM_NONE);
	pm_plan_free(before);
	pm_plan_free(grown);
	pm_fabric_free(fabric);
	pm_fabric_free(now);
}

/*
 * Parts that come beside LIDs out of plan: they get the planned LID and plane where
 * that LID is free, and a reported LID comes first.
 */
static void test_grown_beside(void **state)
{
	static const char drawing[] =
		"l0/5 l1/5 s0/2 s1/2 l0:1=a l0:2=b l1:1=c l1:2=d "
		"l0:4=s0:1 l1:4=s0:2 l0:5=s1:1 l1:5=s1:2 l0:3=e l1:3=f";
	char old[200];
	struct pm_fabric *before, *now = recipe_draw(drawing);
	struct pm_plan *base, *planned = NULL, *plan = NULL, *grown = NULL;
	uint32_t e, f, differ;

	snprintf(old, sizeof(old), "%.*s", (int)(strstr(drawing, " l0:3") - drawing),
		 drawing);
	before = recipe_draw(old);
	base = make_plan(before, PM_GROUPED);
	assert_int_equal(pm_plan_grow(base, now, &planned, NULL), 0);
	e = world_port(planned->topology, "l0", 3);
	f = world_port(planned->topology, "l1", 3);
	world_set_lids(before, base);
	set_lid(before, "a", 1, planned->lid[e]);
	set_lid(before, "b", 1, 60);
	assert_int_equal(pm_plan_keep(base, before, NULL, &plan, &differ, NULL), 0);
	assert_int_equal(differ, 2);

	assert_int_equal(pm_plan_grow_beside(plan, planned, now, &grown, NULL), 0);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->lid[i])
			assert_int_equal(grown->lid[i], plan->lid[i]);
	assert_int_not_equal(grown->lid[e], planned->lid[e]);
	assert_int_not_equal(grown->lid[e], 0);
	assert_int_equal(grown->lid[f], planned->lid[f]);
	assert_int_equal(grown->plane[f], planned->plane[f]);
	pm_plan_free(grown);

	set_lid(now, "f", 1, 61);
	assert_int_equal(pm_plan_grow_beside(plan, planned, now, &grown, NULL), 0);
	assert_int_equal(grown->lid[f], 61);
	pm_plan_free(grown);
	assert_int_equal(pm_plan_grow_beside(plan, planned, before, &grown, NULL), 0);
	assert_null(grown);
	pm_plan_free(plan);
	pm_plan_free(planned);
	pm_plan_free(base);
	pm_fabric_free(before);
	pm_fabric_free(now);
}

#define CHAIN_LEAVES "l0:1=a l1:1=b "
#define CHAIN                                                                            \
	"l0/3 l1/3 m0/3 m1/3 t/2 " CHAIN_LEAVES "l0:2=m0:1 l1:2=m1:1 m0:2=t:1 m1:2=t:2"

static const struct replacement {
	const char *name, *drawing;
	const char *news; /* switches that have another GUID */
	const char *back; /* one that has the GUID of m0 */
	uint32_t switches;
} replacements[] = {
	{"one", CHAIN, "m0", NULL, 5},
	{"a leaf", CHAIN, "l1", NULL, 5},
	{"those behind it too", CHAIN, "m0 m1 t", NULL, 5},
	{"one that is known by them, and comes first",
	 "l0/3 l1/3 t/2 m0/3 m1/3 " CHAIN_LEAVES "l0:2=m0:1 l1:2=m1:1 m0:2=t:1 m1:2=t:2",
	 "m0 m1 t", NULL, 5},
	{"all", CHAIN, "l0 l1 m0 m1 t", NULL, 10},
	{"more ports",
	 "l0/3 l1/3 m0/4 m1/3 t/2 " CHAIN_LEAVES "l0:2=m0:1 l1:2=m1:1 m0:2=t:1 m1:2=t:2",
	 "m0", NULL, 6},
	{"another port",
	 "l0/3 l1/3 m0/3 m1/3 t/2 " CHAIN_LEAVES "l0:2=m0:3 l1:2=m1:1 m0:2=t:1 m1:2=t:2",
	 "m0", NULL, 6},
	{"another port of its neighbour",
	 "l0/3 l1/3 m0/3 m1/3 t/2 " CHAIN_LEAVES "l0:3=m0:1 l1:2=m1:1 m0:2=t:1 m1:2=t:2",
	 "m0", NULL, 6},
	{"the old one is elsewhere", CHAIN " x/3", "m0", "x", 6},
	{"half of two", "l0/3 l1/3 n/3 x/3 t/2 " CHAIN_LEAVES "l0:2=n:1 n:2=t:2", "n x",
	 NULL, 7},
};

/* Each of the switches keeps its key and its LIDs, under the GUID that it has now. */
static void expect_kept(const struct pm_plan *before, const struct pm_plan *grown,
			const struct pm_fabric *now)
{
	for (uint32_t sw = 0; sw < before->topology->num_switches; sw++) {
		const char *name = pm_fabric_name(before->topology, sw);
		const struct pm_node *was = &before->topology->nodes[sw];
		const struct pm_node *is =
			&grown->topology
				 ->nodes[pm_fabric_find_name(grown->topology, name)];

		assert_int_equal(is->key, was->key);
		assert_int_equal(is->guid,
				 now->nodes[pm_fabric_find_name(now, name)].guid);
		for (unsigned int port = 0; port <= is->num_ports; port++)
			assert_int_equal(grown->lid[is->first_port + port],
					 before->lid[was->first_port + port]);
	}
}

static void check_replacement(const struct pm_plan *before, uint64_t guid_of_m0,
			      const struct replacement *row)
{
	struct pm_fabric *now = recipe_draw(row->drawing);
	struct pm_plan *grown = NULL;

	for (uint32_t sw = 0; sw < now->num_switches; sw++) {
		char name[8];

		snprintf(name, sizeof(name), "%s", pm_fabric_name(now, sw));
		if (strstr(row->news, name))
			assert_int_equal(
				pm_fabric_rename(now, sw, 0x900 + sw, name, NULL), 0);
	}
	if (row->back)
		assert_int_equal(pm_fabric_rename(now,
						  pm_fabric_find_name(now, row->back),
						  guid_of_m0, "m0", NULL),
				 0);
	assert_int_equal(pm_plan_grow(before, now, &grown, NULL), 0);
	assert_non_null(grown);
	if (grown->topology->num_switches != row->switches)
		fail_msg("%s: %u switches", row->name, grown->topology->num_switches);
	if (row->switches == before->topology->num_switches)
		expect_kept(before, grown, now);
	pm_plan_free(grown);
	pm_fabric_free(now);
}

/* A switch with the same cables in the same ports is the one that was there. */
static void test_replaced(void **state)
{
	struct pm_fabric *fabric = recipe_draw(CHAIN);
	struct pm_plan *before = make_plan(fabric, PM_GROUPED);
	uint64_t guid_of_m0 = fabric->nodes[pm_fabric_find_name(fabric, "m0")].guid;

	for (size_t i = 0; i < LENGTH(replacements); i++)
		check_replacement(before, guid_of_m0, &replacements[i]);
	pm_plan_free(before);
	pm_fabric_free(fabric);
}

/* Known parts, absent or empty slots, are no growth. */
static void test_nothing_to_grow(void **state)
{
	static const char *const drawings[] = {
		TWO_LEVEL,
		"l0/4 l1/4 s0/2 l0:1=a l0:3=s0:1 l1:1=c l1:3=s0:2",
		"l0/4 l1/4 s0/2 s1/2 l0:1=other l0:2=hosts l0:3=s0:1",
		"",
	};
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
	struct pm_plan *plan = make_plan(fabric, PM_GROUPED);

	for (size_t i = 0; i < LENGTH(drawings); i++) {
		struct pm_fabric *now = recipe_draw(drawings[i]);
		struct pm_plan *grown = plan;

		assert_int_equal(pm_plan_grow(plan, now, &grown, NULL), 0);
		assert_null(grown);
		pm_fabric_free(now);
	}
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

static void test_match_marks(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL), *now;
	struct pm_plan *plan = make_plan(fabric, PM_GROUPED);
	uint8_t usable[64];

	assert_true(plan->topology->num_ports <= sizeof(usable));
	now = recipe_draw("l0/4 l1/4 s0/2 l0:1=a l0:3=s0:1 l1:2=x");
	assert_true(pm_plan_match(plan, now, usable));
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		assert_int_equal(usable[i],
				 i == world_port(plan->topology, "l0", 1) ||
					 i == world_port(plan->topology, "l0", 3) ||
					 i == world_port(plan->topology, "s0", 1) ||
					 i == world_port(plan->topology, "l1", 2));
	pm_fabric_free(now);
	now = recipe_draw("l0/4 l1/4 s0/2 l0:3=s0:2");
	assert_false(pm_plan_match(plan, now, usable));
	pm_fabric_free(now);
	now = recipe_draw("l0/4 l1/4 s0/2 s1/2 x/2 x:1=l0:1");
	assert_false(pm_plan_match(plan, now, usable));
	pm_fabric_free(now);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

/*
 * A spine and so many leaves, each with a host. The last ones differ from those of the
 * first fabric in the ways of `strange`, a letter each.
 */
static struct pm_fabric *make_leaves(unsigned int leaves, const char *strange)
{
	struct recipe recipe = {0};
	uint32_t spine = recipe_add_node(&recipe, PM_SWITCH, 1000, 250, 1, "spine"), node;
	size_t known = leaves - strlen(strange);
	struct pm_fabric *fabric;

	for (unsigned int i = 0; i < leaves; i++) {
		char kind = i < known ? ' ' : strange[i - known], name[16];

		snprintf(name, sizeof(name), "l%u", i);
		node = recipe_add_node(&recipe, PM_SWITCH,
				       1 + i + (kind == 'g' ? 500 : 0),
				       kind == 'p' ? 5 : 4, 0, name);
		recipe_add_host(&recipe, node, kind == 'h' ? 2 : 1);
		if (kind == 's') /* a switch that the plan does not know is behind 2 */
			recipe_add_link(
				&recipe, node, 2,
				recipe_add_node(&recipe, PM_SWITCH, 2000, 4, 1, "new"),
				1);
		else if (kind != 'h' && kind != 'n')
			recipe_add_link(&recipe, node, 2, spine,
					1 + i + (kind == 'c' ? 100 : 0));
	}
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	return fabric;
}

/* A plan fits unless more than a tenth of the switches are strangers to it. */
static void test_fits(void **state)
{
	static const struct {
		const char *strange; /* g: GUID, p: ports, c: cable, h: host in its place,
				      * n: no cable, s: a new switch in its place */
		unsigned int leaves;
		bool fits;
	} rows[] = {
		{"", 19, true},	     {"g", 19, true},	    {"gg", 19, true},
		{"ggg", 19, false},  {"gg", 18, false},	    {"pp", 19, true},
		{"ppp", 19, false},  {"cc", 19, true},	    {"ccc", 19, false},
		{"hh", 19, true},    {"hhh", 19, false},    {"gpch", 40, true},
		{"gpch", 38, false}, {"nnnnnnn", 19, true}, {"gnnng", 19, true},
		{"s", 7, false},     {"s", 8, true},	    {"g", 9, true},
		{"g", 8, false},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric = make_leaves(rows[i].leaves, "");
		struct pm_fabric *now = make_leaves(rows[i].leaves, rows[i].strange);
		struct pm_plan *plan = make_plan(fabric, PM_GROUPED);

		if (pm_plan_fits(plan, now) != rows[i].fits)
			fail_msg("%u leaves, strange %s", rows[i].leaves,
				 rows[i].strange);
		pm_plan_free(plan);
		pm_fabric_free(now);
		pm_fabric_free(fabric);
	}
}

/* Hosts with a cable to each other are there, but have no place and are in no tree. */
static void test_hosts_connected(void **state)
{
	struct recipe recipe = {0};
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	uint8_t usable[3];

	recipe_add_node(&recipe, PM_SWITCH, 1, 2, 0, "l");
	recipe_add_host(&recipe, 0, 1);
	recipe_add_node(&recipe, PM_CA, 20, 1, 0, "x");
	recipe_add_node(&recipe, PM_CA, 30, 1, 0, "y");
	recipe_add_link(&recipe, 2, 1, 3, 1);
	fabric = recipe_build(&recipe, NULL);
	plan = make_plan(fabric, PM_GROUPED);
	assert_int_equal(plan->topology->num_ports, 3);
	assert_int_equal(pm_plan_place(plan, fabric, world_port(fabric, "x", 1)),
			 PM_NONE);
	assert_int_equal(pm_plan_place(plan, fabric, world_port(fabric, "h1", 1)), 1);
	assert_true(pm_plan_match(plan, fabric, usable));
	assert_true(pm_plan_fits(plan, fabric));
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	recipe_free(&recipe);
}

/*
 * A slot becomes a cable and then a slot again. The place keeps its LID, and at each
 * step packets reach the present part: in the end a host on l1's port 2.
 */
static void test_slot_link_slot(void **state)
{
	static const char *const steps[] = {
		"l0/3 l1/3 s0/4 l0:1=a l0:3=s0:1 l1:1=b l1:2=c l1:3=s0:2",
		"l0/3 l1/3 s0/4 l0:1=a l0:3=s0:1 l1:1=b l1:2=s0:3 l1:3=s0:2",
		"l0/3 l1/3 s0/4 l0:1=a l0:3=s0:1 l1:1=b l1:3=s0:2",
		"l0/3 l1/3 s0/4 l0:1=a l0:3=s0:1 l1:1=b l1:2=c l1:3=s0:2",
	};
	struct pm_fabric *now = recipe_draw(steps[0]);
	struct pm_plan *plan = make_plan(now, PM_GROUPED), *grown;
	uint16_t lid;

	for (size_t i = 0; i < LENGTH(steps); i++) {
		struct pm_routes *routes;
		uint8_t usable[32];

		pm_fabric_free(now);
		now = recipe_draw(steps[i]);
		assert_int_equal(pm_plan_grow(plan, now, &grown, NULL), 0);
		if (grown) {
			pm_plan_free(plan);
			plan = grown;
		}
		assert_true(plan->topology->num_ports <= sizeof(usable));
		assert_true(pm_plan_match(plan, now, usable));
		/* While a cable is known there, the port is no place. */
		lid = plan->lid[world_port(plan->topology, "l1", 2)];
		assert_int_equal(lid != 0, i == 0 || i == 3);
		for (uint32_t p = 0; p < plan->topology->num_ports; p++)
			if (plan->topology->ports[p].peer != PM_NONE &&
			    usable[p] != usable[plan->topology->ports[p].peer])
				fail_msg("step %zu: one end of a cable is alive", i);
		assert_int_equal(pm_routes_make(plan, &routes, NULL), 0);
		pm_routes_update(routes, usable, NULL);
		if (lid && pm_routes_table(routes, 1)[lid] != 2)
			fail_msg("step %zu: entry %u", i,
				 pm_routes_table(routes, 1)[lid]);
		pm_routes_free(routes);
	}
	pm_plan_free(plan);
	pm_fabric_free(now);
}

/* A shared plan stays whole until its last owner frees it (the sanitizers watch that). */
static void test_share(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL);
	const struct pm_plan_config config = {.order = PM_GROUPED};
	static const struct lid lids[] = {{"l0", 1, 1}, {"l0", 0, 2}, {"s1", 0, 11}};
	struct pm_plan *plan;

	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	assert_int_equal(plan->sharers, 0);
	assert_ptr_equal(pm_plan_share(plan), plan);
	assert_ptr_equal(pm_plan_share(plan), plan);
	for (uint32_t owners = 3; owners > 0; owners--) {
		assert_int_equal(plan->sharers, owners - 1);
		expect_lids(plan, lids, LENGTH(lids));
		assert_int_equal(
			pm_fabric_find_guid(plan->topology, fabric->nodes[0].guid), 0);
		pm_plan_free(plan);
	}
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_surplus_rotates),
		cmocka_unit_test(test_empty_slots),
		cmocka_unit_test(test_director),
		cmocka_unit_test(test_one_pod),
		cmocka_unit_test(test_pods_do_not_straddle),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_full_bundles),
		cmocka_unit_test(test_no_such_port),
		cmocka_unit_test(test_shared_block),
		cmocka_unit_test(test_top_is_a_switch),
		cmocka_unit_test(test_keep_lids),
		cmocka_unit_test(test_recover),
		cmocka_unit_test(test_two_rounds),
		cmocka_unit_test(test_older),
		cmocka_unit_test(test_keep_planes),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_scarce_growth),
		cmocka_unit_test(test_order_names),
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_newcomers),
		cmocka_unit_test(test_grown_planes),
		cmocka_unit_test(test_grown_beside),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_nothing_to_grow),
		cmocka_unit_test(test_match_marks),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_hosts_connected),
		cmocka_unit_test(test_slot_link_slot),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_top_is_no_multiple),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
