/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/roles.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/plan/guess.h>

#define TWO_LEVEL                                                                        \
	"l0/4 l1/4 s0/5 s1/5 l0:1=a l0:2=b l1:1=c l1:2=d l0:3=s0:1 l0:4=s1:1 "           \
	"l1:3=s0:2 l1:4=s1:2 "

struct row {
	const char *name, *drawing, *aggregation, *rule, *text;
};

static const struct row rows[] = {
	{"a tree", TWO_LEVEL, NULL, NULL, ""},
	{"an aggregation node", TWO_LEVEL "s0:3=g", "g", NULL,
	 "roles guessed: 1 aggregation node"},
	{"one by its place", TWO_LEVEL "s0:3=g", NULL, NULL,
	 "roles guessed: 1 end port above the leaves is a service port (g at s0[3]), `role "
	 "compute` in portmajor.conf or cn_guid_file says otherwise"},
	{"one that was named", TWO_LEVEL "s0:3=g", NULL, "service name g", ""},
	{"one that is to stay", TWO_LEVEL "s0:3=g", NULL, "compute name g", ""},
	{"one of two", TWO_LEVEL "s0:3=g s1:3=h", NULL, "compute name g",
	 "roles guessed: 1 end port above the leaves is a service port (h at s1[3]), `role "
	 "compute` in portmajor.conf or cn_guid_file says otherwise"},
	{"both", TWO_LEVEL "s0:3=g s1:3=h s1:4=i", "h", NULL,
	 "roles guessed: 1 aggregation node; 2 end ports above the leaves are service "
	 "ports (g at s0[3], i at s1[4]), `role compute` in portmajor.conf or cn_guid_file says "
	 "otherwise"},
	{"a router", TWO_LEVEL "s0:3=r", NULL, NULL, "roles guessed: 1 router"},
	{"a router, and an aggregation node", TWO_LEVEL "s0:3=r s1:3=g", "g", NULL,
	 "roles guessed: 1 aggregation node; 1 router"},
	{"two switches", "l0/2 l1/2 l0:1=a l1:1=b l0:2=l1:2", NULL, NULL,
	 "roles guessed: levels count from 1 switch (l1), root_guid_file says otherwise"},
};

static void set_device(struct pm_fabric *fabric, const char *name)
{
	uint32_t node = name ? pm_fabric_find_name(fabric, name) : PM_NONE;

	if (node != PM_NONE)
		fabric->nodes[node].device = 0xcf09;
}

/* A node with the name r is a router. */
static void set_router(struct pm_fabric *fabric)
{
	uint32_t node = pm_fabric_find_name(fabric, "r");

	if (node != PM_NONE)
		fabric->nodes[node].type = PM_ROUTER;
}

static void add_rule(struct pm_roles *roles, const char *rule)
{
	assert_null(pm_role_rules_add(&roles->rules,
				      (struct pm_text){rule, rule + strlen(rule)}));
}

static void test_texts(void **state)
{
	struct pm_plan_config config = {.order = PM_GROUPED};

	for_each_row(row, rows) {
		struct pm_fabric *fabric = recipe_draw(row->drawing);
		struct pm_roles roles = {.rules = {.count = 0}};
		char text[PM_GUESS_TEXT];
		struct pm_plan *plan = NULL;

		if (row->rule)
			add_rule(&roles, row->rule);
		set_device(fabric, row->aggregation);
		set_router(fabric);
		pm_roles_apply(&roles, fabric);
		assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
		if (pm_guess_describe(plan, fabric, text, sizeof(text)) !=
			    (row->text[0] != '\0') ||
		    strcmp(text, row->text) != 0)
			fail_msg("%s: \"%s\"", row->name, text);
		/* Text beyond the end is cut off. */
		pm_guess_describe(plan, fabric, text, 8);
		assert_true(strlen(text) < 8);
		pm_plan_free(plan);
		pm_fabric_free(fabric);
	}
}

/* A plan that is written and read, or grows, keeps its service ports. */
static void test_roles_stay(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL "s0:3=g");
	struct pm_fabric *more = recipe_draw(TWO_LEVEL "s0:3=g s1:3=h");
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL, *grown = NULL;
	uint32_t port = world_port(fabric, "s0", 3);

	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	assert_int_equal(plan->topology->ports[port].host, PM_SERVICE);
	assert_int_equal(pm_plan_grow(plan, more, &grown, NULL), 0);
	assert_non_null(grown);
	assert_int_equal(grown->topology->ports[port].host, PM_SERVICE);
	assert_int_equal(grown->topology->ports[world_port(more, "s1", 3)].host,
			 PM_SERVICE);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->lid[i])
			assert_int_equal(grown->lid[i], plan->lid[i]);
	pm_plan_free(grown);
	pm_plan_free(plan);
	pm_fabric_free(more);
	pm_fabric_free(fabric);
}

/*
 * A compute node g above the leaves, by the operator's line, is none of these ports, also
 * in a plan that is read and grows to another fabric, of which g may be absent.
 */
static void check_named(const char *drawing)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL "s0:3=g");
	struct pm_fabric *more = recipe_draw(drawing);
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_roles roles = {.rules = {.count = 0}};
	struct pm_plan *plan = NULL, *read = NULL, *grown = NULL;
	uint32_t port = world_port(fabric, "s0", 3);
	char *text = NULL;
	size_t length;

	add_rule(&roles, "compute name g");
	pm_roles_apply(&roles, fabric);
	pm_roles_apply(&roles, more);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	assert_int_equal(plan->topology->ports[port].host, PM_COMPUTE);
	assert_int_equal(pm_plan_file_print(plan, &text, &length), 0);
	assert_int_equal(pm_plan_file_parse(text, length, "plan", &read, NULL), 0);
	assert_int_equal(pm_plan_grow(read, more, &grown, NULL), 0);
	assert_non_null(grown);
	assert_int_equal(grown->topology->ports[port].host, PM_COMPUTE);
	assert_int_equal(grown->topology->ports[world_port(more, "s1", 3)].host,
			 PM_SERVICE);
	free(text);
	pm_plan_free(grown);
	pm_plan_free(read);
	pm_plan_free(plan);
	pm_fabric_free(more);
	pm_fabric_free(fabric);
}

static void test_named_stay(void **state)
{
	check_named(TWO_LEVEL "s0:3=g s1:3=h");
	check_named(TWO_LEVEL "s1:3=h");
}

/* Switches of one name are distinguished. */
static void test_same_names(void **state)
{
	struct pm_fabric *fabric = recipe_draw(TWO_LEVEL "s0:3=g");
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL;
	char text[PM_GUESS_TEXT];

	assert_int_equal(pm_fabric_rename(fabric, pm_fabric_find_name(fabric, "s1"),
					  0xabc, "model", NULL),
			 0);
	assert_int_equal(pm_fabric_rename(fabric, pm_fabric_find_name(fabric, "s0"),
					  0xdef, "model", NULL),
			 0);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	assert_true(pm_guess_describe(plan, fabric, text, sizeof(text)));
	assert_non_null(strstr(text, "(g at model (0x0000000000000def)[3]), "));
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_roles_stay),
		cmocka_unit_test(test_named_stay),
		cmocka_unit_test(test_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
