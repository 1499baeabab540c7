/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/tree.h>

/* Switches in the order drawn; 6 end ports below two spines. */
#define TWO_LEVEL                                                                        \
	"l0/4 l1/4 l2/4 s0/3 s1/3 "                                                      \
	"l0:1=a l0:2=b l0:3=s0:1 l0:4=s1:1 l1:1=c l1:2=d l1:3=s0:2 l1:4=s1:2 "           \
	"l2:1=e l2:2=f l2:3=s0:3 l2:4=s1:3"

/* Two pods of two leaves below two chassis of two lines and a fabric switch. */
#define DIRECTOR                                                                         \
	"l0/4 l1/4 l2/4 l3/4 c0q0/3 c0q1/3 c0f/2 c1q0/3 c1q1/3 c1f/2 "                   \
	"l0:1=a l1:1=b l2:1=c l3:1=d "                                                   \
	"l0:3=c0q0:1 l1:3=c0q0:2 l2:3=c0q1:1 l3:3=c0q1:2 "                               \
	"l0:4=c1q0:1 l1:4=c1q0:2 l2:4=c1q1:1 l3:4=c1q1:2 "                               \
	"c0q0:3=c0f:1 c0q1:3=c0f:2 c1q0:3=c1f:1 c1q1:3=c1f:2"

/* The same planes, but the pods' leaves alternate in GUID order. */
#define WOVEN                                                                            \
	"l0/4 l1/4 l2/4 l3/4 q0/3 q1/3 f/2 l0:1=a l1:1=b l2:1=c l3:1=d "                 \
	"l0:3=q0:1 l2:3=q0:2 l1:3=q1:1 l3:3=q1:2 q0:3=f:1 q1:3=f:2"

/* Two pods of two leaves with two hosts each and two spines; a core for both first
 * spines and one for both second ones, and a host at every switch above the leaves. */
#define HOSTS_EVERYWHERE                                                                 \
	"l0/5 l1/5 l2/5 l3/5 p0/5 p1/5 p2/5 p3/5 c0/3 c1/3 "                             \
	"l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l2:2=f l3:1=g l3:2=h "                       \
	"l0:5=i l1:5=j l2:5=k l3:5=l "                                                   \
	"l0:3=p0:1 l0:4=p1:1 l1:3=p0:2 l1:4=p1:2 l2:3=p2:1 l2:4=p3:1 l3:3=p2:2 "         \
	"l3:4=p3:2 p0:3=c0:1 p2:3=c0:2 p1:3=c1:1 p3:3=c1:2 "                             \
	"p0:4=m p1:4=n p2:4=o p3:4=p c0:3=q c1:3=r"

/* Line boards with hosts below two spine chips, and an edge switch below two of them. */
#define LINE_BOARDS                                                                       \
	"e0/5 b0/6 b1/6 b2/6 s0/3 s1/3 e0:1=a e0:2=h b0:1=b b0:2=c b1:1=d b1:2=e b2:1=f " \
	"b2:2=g b0:3=s0:1 b0:4=s1:1 b1:3=s0:2 b1:4=s1:2 b2:3=s0:3 b2:4=s1:3 "             \
	"e0:3=b0:5 e0:4=b1:5"

struct row {
	const char *name, *drawing;
	const char *level;  /* a digit per switch, - without one */
	const char *leaves; /* index of the leaves in subtree order */
	uint32_t planes, components, pods, side;
};

static const struct row rows[] = {
	{"one switch", "l0/4 l0:1=a l0:3=b", "0", "0", 0, 0, 1, 0},
	{"one end port", "l0/1 l0:1=a", "0", "0", 0, 0, 1, 0},
	{"two levels", TWO_LEVEL, "00011", "012", 2, 2, 1, 0},
	{"spines first",
	 "s0/2 s1/2 l0/3 l1/3 l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 "
	 "l1:2=s0:2 l1:3=s1:2",
	 "1100", "23", 2, 2, 1, 0},
	{"parallel cables",
	 "l0/5 l1/5 s0/4 l0:1=a l1:1=b l0:2=s0:1 l0:4=s0:3 l1:2=s0:2 l1:3=s0:4", "001",
	 "01", 2, 1, 1, 0},
	{"three cables here, one there",
	 "l0/5 l1/5 s0/4 l0:1=a l1:1=b l0:2=s0:1 "
	 "l0:3=s0:2 l0:4=s0:3 l1:2=s0:4",
	 "001", "01", 3, 1, 1, 0},
	{"director", DIRECTOR, "0000112112", "0123", 2, 2, 2, 0},
	{"woven pods", WOVEN, "0000112", "0213", 1, 1, 2, 0},
	{"gateway on a spine",
	 "l0/4 l1/4 s0/4 s1/2 l0:1=a l0:2=b l1:1=c l1:2=d s0:3=g "
	 "l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2",
	 "0011", "01", 2, 2, 1, 0},
	{"a host on each switch", HOSTS_EVERYWHERE, "0000111122", "0123", 2, 2, 2, 0},
	{"line boards and an edge switch", LINE_BOARDS, "011122", "0123", 2, 2, 1, 0},
	{"two switches", "l0/4 l1/4 l0:1=a l1:1=b l0:3=l1:3 l0:4=l1:4", "01", "0", 2, 1,
	 1, 0},
	{"a star",
	 "l0/2 l1/2 l2/2 c/5 l0:1=a l1:1=b l2:1=d c:1=e c:2=f l0:2=c:3 l1:2=c:4 l2:2=c:5",
	 "0001", "012", 1, 1, 1, 0},
	{"a chain of five",
	 "l0/2 l1/3 l2/3 l3/3 l4/2 l0:1=a l1:1=b l2:1=c l3:1=d l4:1=e l0:2=l1:2 "
	 "l1:3=l2:2 l2:3=l3:2 l3:3=l4:2",
	 "01210", "04", 1, 1, 2, 0},
	{"as many on a spine as on leaves",
	 "l0/4 l1/4 s0/4 s1/2 l0:1=a l0:2=b l1:1=c "
	 "l1:2=d s0:3=g s0:4=h l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2",
	 "1102", "012", 1, 1, 1, 0},
	{"spines joined",
	 "l0/3 l1/3 s0/3 s1/3 l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 "
	 "l1:2=s0:2 l1:3=s1:2 s0:3=s1:3",
	 "0011", "01", 2, 2, 1, 1},
	{"a switch that is dark", "l0/3 s0/2 x/4 l0:1=a l0:2=s0:1", "01-", "0", 1, 1, 1,
	 0},
	{"leaf without end ports",
	 "l0/2 l1/2 l2/2 s0/3 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l2:2=s0:3", "0001", "012",
	 1, 1, 1, 0},
	/* Spines that have more cables to each other than to leaves, beside one. */
	{"spines in pairs",
	 "l0/4 l1/4 s0/4 s1/4 t/2 l0:1=a l1:1=b l0:2=s0:1 l0:3=t:1 "
	 "l1:2=s1:1 l1:3=t:2 s0:3=s1:3 s0:4=s1:4",
	 "00111", "01", 3, 3, 1, 2},
	{"two islands", "l0/2 l1/2 s0/1 s1/1 l0:1=a l1:1=b l0:2=s0:1 l1:2=s1:1", "0011",
	 "01", 2, 2, 2, 0},
	{"ring", "r0/3 r1/3 r2/3 r0:1=a r1:1=b r2:1=c r0:2=r1:3 r1:2=r2:3 r2:2=r0:3",
	 "000", "012", 0, 0, 3, 3},
};

#define TWO_BY_TWO "l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 l1:2=s0:2 l1:3=s1:2"

static char digit(uint8_t level)
{
	return level == PM_NO_LEVEL ? '-' : (char)('0' + level);
}

static void check_row(const struct row *row, const struct pm_tree *tree)
{
	char level[32] = "", leaves[32] = "";
	unsigned int top = 0;

	for (uint32_t i = 0; i < tree->num_switches; i++) {
		level[i] = digit(tree->level[i]);
		if (tree->level[i] != PM_NO_LEVEL && tree->level[i] > top)
			top = tree->level[i];
	}
	if (tree->top_level != top)
		fail_msg("%s: top level %u", row->name, tree->top_level);
	for (uint32_t i = 0; i < tree->num_leaves; i++) {
		leaves[i] = (char)('0' + tree->leaves[i]);
		if (tree->leaf_index[tree->leaves[i]] != i)
			fail_msg("%s: leaf index", row->name);
	}
	if (strcmp(level, row->level) || strcmp(leaves, row->leaves))
		fail_msg("%s: levels %s, leaves %s", row->name, level, leaves);
	if (tree->num_planes != row->planes || tree->num_components != row->components ||
	    tree->num_pods != row->pods || tree->num_side != row->side)
		fail_msg("%s: %u planes, %u components, %u pods, %u side", row->name,
			 tree->num_planes, tree->num_components, tree->num_pods,
			 tree->num_side);
}

static void test_drawings(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric, *skeleton;
		struct pm_error err = {""};
		struct pm_tree tree;

		fabric = recipe_draw(rows[i].drawing);
		skeleton = pm_fabric_skeleton(fabric);
		assert_non_null(skeleton);
		if (pm_tree_make(skeleton, &tree, &err))
			fail_msg("%s: %s", rows[i].name, err.text);
		check_row(&rows[i], &tree);
		pm_tree_free(&tree);
		pm_fabric_free(skeleton);
		pm_fabric_free(fabric);
	}
}

static void make(const char *drawing, struct pm_fabric **skeleton, struct pm_tree *tree)
{
	struct pm_fabric *fabric = recipe_draw(drawing);

	*skeleton = pm_fabric_skeleton(fabric);
	assert_non_null(*skeleton);
	pm_fabric_free(fabric);
	assert_int_equal(pm_tree_make(*skeleton, tree, NULL), 0);
}

static void test_directions(void **state)
{
	static const struct {
		const char *sw;
		unsigned int port;
		int direction;
	} ports[] = {
		{"l0", 0, PM_DARK}, {"l0", 1, PM_HOST},	 {"l0", 2, PM_DARK},
		{"l0", 3, PM_UP},   {"l0", 4, PM_UP},	 {"c0q0", 1, PM_DOWN},
		{"c0q0", 3, PM_UP}, {"c0f", 1, PM_DOWN}, {"c1f", 2, PM_DOWN},
	};
	struct pm_fabric *skeleton;
	struct pm_tree tree;

	make(DIRECTOR, &skeleton, &tree);
	for (size_t i = 0; i < LENGTH(ports); i++)
		if (tree.direction[world_port(skeleton, ports[i].sw, ports[i].port)] !=
		    ports[i].direction)
			fail_msg("%s[%u]: %u", ports[i].sw, ports[i].port,
				 tree.direction[world_port(skeleton, ports[i].sw,
							   ports[i].port)]);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	make("l0/3 l1/3 s0/3 s1/3 x/2 y/2 l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 l1:2=s0:2 "
	     "l1:3=s1:2 s0:3=s1:3 x:1=y:1",
	     &skeleton, &tree);
	assert_int_equal(tree.direction[world_port(skeleton, "s0", 3)], PM_SIDE);
	assert_int_equal(tree.direction[world_port(skeleton, "s1", 3)], PM_SIDE);
	assert_int_equal(tree.direction[world_port(skeleton, "x", 1)], PM_DARK);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	pm_tree_free(&tree);
}

/* The same up port is the same plane on every leaf, and its parts are right. */
static void test_planes(void **state)
{
	static const char *const leaves[] = {"l0", "l1", "l2", "l3"};
	struct pm_fabric *skeleton;
	struct pm_tree tree;

	make(DIRECTOR, &skeleton, &tree);
	for (size_t i = 0; i < LENGTH(leaves); i++) {
		assert_int_equal(tree.plane[world_port(skeleton, leaves[i], 1)], PM_NONE);
		assert_int_equal(tree.plane[world_port(skeleton, leaves[i], 3)], 0);
		assert_int_equal(tree.plane[world_port(skeleton, leaves[i], 4)], 1);
		assert_int_equal(tree.pod[pm_fabric_find_name(skeleton, leaves[i])],
				 i / 2);
	}
	assert_int_equal(tree.plane[world_port(skeleton, "c0q0", 3)], PM_NONE);
	assert_int_equal(tree.component[pm_fabric_find_name(skeleton, "c0f")], 0);
	assert_int_equal(tree.component[pm_fabric_find_name(skeleton, "c1q1")], 1);
	assert_int_equal(tree.component[pm_fabric_find_name(skeleton, "l0")], PM_NONE);
	assert_int_equal(tree.pod[pm_fabric_find_name(skeleton, "c1q1")], 1);
	assert_int_equal(tree.pod[pm_fabric_find_name(skeleton, "c1f")], PM_NONE);
	assert_int_equal(tree.index_in_level[pm_fabric_find_name(skeleton, "c1q1")], 1);
	assert_int_equal(tree.index_in_pod[pm_fabric_find_name(skeleton, "c1q1")], 0);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	make("l0/5 l1/5 s0/4 l0:1=a l1:1=b l0:2=s0:1 l0:4=s0:3 l1:2=s0:2 l1:3=s0:4",
	     &skeleton, &tree);
	assert_int_equal(tree.plane[world_port(skeleton, "l0", 2)], 0);
	assert_int_equal(tree.plane[world_port(skeleton, "l0", 4)], 1);
	assert_int_equal(tree.plane[world_port(skeleton, "l1", 3)], 1);
	assert_int_equal(tree.planes[1].link, 1);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
}

/* Two first-level switches of one component over a pod: planes by index. */
static void test_index_in_pod(void **state)
{
	struct recipe_xgft shape = {3, 2, {0, 2, 2}, {2, 2}, {1, 1, 1}};
	struct recipe recipe = {0};
	struct pm_fabric *fabric, *skeleton;
	struct pm_tree tree;

	recipe_add_xgft(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	skeleton = pm_fabric_skeleton(fabric);
	assert_int_equal(pm_tree_make(skeleton, &tree, NULL), 0);
	assert_int_equal(tree.top_level, 2);
	assert_int_equal(tree.num_pods, 2);
	assert_int_equal(tree.num_components, 2);
	assert_int_equal(tree.num_planes, 2);
	/* Cables between the upper parts make them one component with two over a pod. */
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	pm_fabric_free(fabric);
	recipe_free(&recipe);
	make("l0/3 l1/3 a0/3 a1/3 b0/3 b1/3 t/4 l0:1=x l1:1=y l0:2=a0:1 l0:3=a1:1 "
	     "l1:2=b0:1 l1:3=b1:1 a0:2=t:1 a1:2=t:2 b0:2=t:3 b1:2=t:4",
	     &skeleton, &tree);
	assert_int_equal(tree.num_components, 1);
	assert_int_equal(tree.num_planes, 2);
	assert_int_equal(tree.index_in_pod[pm_fabric_find_name(skeleton, "a1")], 1);
	assert_int_equal(tree.index_in_pod[pm_fabric_find_name(skeleton, "b0")], 0);
	assert_int_equal(tree.planes[1].index_in_pod, 1);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
}

/*
 * Levels counted from roots: with the switches in the middle of a chain as roots, both
 * ends are leaves; switches that no cable joins with a root keep their level.
 */
static void test_roots(void **state)
{
	static const struct {
		const char *name, *drawing;
		uint32_t roots; /* set of switches */
		const char *level, *leaves;
	} cases[] = {
		{"as found", "l0/3 l1/3 s0/2 s1/2 " TWO_BY_TWO, 12, "0011", "01"},
		{"upside down", "l0/3 l1/3 s0/2 s1/2 " TWO_BY_TWO, 3, "1100", "23"},
		{"one of two", "l0/3 l1/3 s0/2 s1/2 " TWO_BY_TWO, 4, "1120", "013"},
		{"beside an island",
		 "l0/2 s0/2 t0/1 m0/2 r0/1 l0:1=a l0:2=s0:1 s0:2=t0:1 m0:1=b m0:2=r0:1",
		 4, "01201", "03"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pm_fabric *fabric = recipe_draw(cases[i].drawing);
		struct pm_fabric *skeleton = pm_fabric_skeleton(fabric);
		struct pm_tree tree;
		struct row row = {.name = cases[i].name,
				  .level = cases[i].level,
				  .leaves = cases[i].leaves};

		assert_non_null(skeleton);
		for (uint32_t sw = 0; sw < skeleton->num_switches; sw++)
			skeleton->nodes[sw].root = cases[i].roots >> sw & 1;
		assert_int_equal(pm_tree_make(skeleton, &tree, NULL), 0);
		row.planes = tree.num_planes;
		row.components = tree.num_components;
		row.pods = tree.num_pods;
		row.side = tree.num_side;
		check_row(&row, &tree);
		pm_tree_free(&tree);
		pm_fabric_free(skeleton);
		pm_fabric_free(fabric);
	}
}

static void test_no_hosts(void **state)
{
	static const char *const drawings[] = {"l0/2 s0/2 l0:1=s0:1", "l0/3", ""};

	for (size_t i = 0; i < LENGTH(drawings); i++) {
		struct pm_fabric *fabric = recipe_draw(drawings[i]);
		struct pm_fabric *skeleton = pm_fabric_skeleton(fabric);
		struct pm_tree tree = {.num_leaves = 77};
		struct pm_error err = {""};

		assert_int_equal(pm_tree_make(skeleton, &tree, &err), -ENOENT);
		assert_non_null(strstr(err.text, "no switch has an end port"));
		assert_int_equal(tree.num_leaves, 77);
		pm_fabric_free(skeleton);
		pm_fabric_free(fabric);
	}
}

static void test_director(void **state)
{
	struct pm_fabric *fabric = world_director(324);
	struct pm_fabric *skeleton = pm_fabric_skeleton(fabric);
	struct pm_tree tree;

	assert_int_equal(pm_tree_make(skeleton, &tree, NULL), 0);
	assert_int_equal(tree.num_switches, 810);
	assert_int_equal(tree.num_leaves, 324);
	assert_int_equal(tree.num_planes, 18);
	assert_int_equal(tree.num_components, 18);
	assert_int_equal(tree.num_pods, 18);
	assert_int_equal(tree.top_level, 2);
	for (uint32_t p = 0; p < 18; p++)
		assert_int_equal(tree.planes[p].component, p);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawings), cmocka_unit_test(test_directions),
		cmocka_unit_test(test_planes),	 cmocka_unit_test(test_index_in_pod),
		cmocka_unit_test(test_roots),	 cmocka_unit_test(test_no_hosts),
		cmocka_unit_test(test_director),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
