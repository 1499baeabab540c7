/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/files/role_files.h>

#include <unistd.h>

struct row {
	const char *name, *text;
	uint32_t count;
	uint64_t first; /* of the sorted list */
	unsigned int bad_line;
};

static const struct row texts[] = {
	{"empty", "", 0, 0, 0},
	{"comments and blanks", "# 0x1\n\n  \t\n   # 2", 0, 0, 0},
	{"hexadecimal, decimal, names", "0x20 spine 1\n16\tx\n0x30# c\n", 3, 16, 0},
	{"no newline at the end", "0x2\n0x1", 2, 1, 0},
	{"the highest", "0xffffffffffffffff\n", 1, UINT64_MAX, 0},
	{"too high", "0x1\n0x10000000000000000\n", 0, 0, 2},
	{"a name", "\n\nspine\n", 0, 0, 3},
	{"not hexadecimal", "0x5g\n", 0, 0, 1},
	{"negative", "-5\n", 0, 0, 1},
};

static void test_parse(void **state)
{
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct pm_guids guids = {0};
		struct pm_error err = {""};
		char place[16];
		int rc = pm_guids_parse(texts[i].text, "in", &guids, &err);

		snprintf(place, sizeof(place), "in:%u: ", texts[i].bad_line);
		if (texts[i].bad_line
			    ? rc != -EINVAL || strncmp(err.text, place, strlen(place)) ||
				      guids.given
			    : rc || guids.count != texts[i].count || !guids.given ||
				      (guids.count && guids.list[0] != texts[i].first))
			fail_msg("%s: %d %s", texts[i].name, rc, err.text);
		free(guids.list);
	}
}

/* Roles that are there already outlive a file that is not. */
static void test_files(void **state)
{
	char path[] = "/tmp/test_roles-XXXXXX";
	struct pm_role_files files = {.io = path};
	struct pm_roles roles = {0};
	struct pm_error err = {""};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0x7\n", 4), 4);
	close(fd);
	assert_int_equal(pm_roles_read(&files, &roles, &err), 0);
	assert_int_equal(roles.io.count, 1);
	assert_false(roles.roots.given);
	unlink(path);
	assert_int_equal(pm_roles_read(&files, &roles, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(roles.io.list[0], 7);
	pm_roles_free(&roles);
}

/* ---- Rules ---- */

static const char *add(struct pm_role_rules *rules, const char *text)
{
	return pm_role_rules_add(rules, (struct pm_text){text, text + strlen(text)});
}

static void test_rules(void **state)
{
	static const struct {
		const char *text, *wrong;
	} rows[] = {
		{"service name UFM *", NULL},
		{" compute  guid 0x11 ", NULL},
		{"io device 4119", NULL},
		{"", "the first word must be compute, io, service or aggregation"},
		{"leaf guid 1",
		 "the first word must be compute, io, service or aggregation"},
		{"io port 1", "the second word must be guid, device or name"},
		{"io guid", "not a number, such as 0xcf09, last"},
		{"io guid 1 2", "not a number, such as 0xcf09, last"},
		{"io device 0x10000", "not a number, such as 0xcf09, last"},
		{"io name  ", "no name of at most 63 bytes"},
	};
	struct pm_role_rules rules = {.count = 0};
	char name[PM_ROLE_PATTERN + 8] = "io name ";

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const char *wrong = add(&rules, rows[i].text);

		if (!wrong != !rows[i].wrong || (wrong && strcmp(wrong, rows[i].wrong)))
			fail_msg("%s: %s", rows[i].text, wrong ? wrong : "taken");
	}
	assert_int_equal(rules.count, 3);
	assert_string_equal(rules.list[0].pattern, "UFM *");
	memset(name + 8, 'x', PM_ROLE_PATTERN - 1);
	assert_null(add(&rules, name));
	memset(name + 8, 'x', PM_ROLE_PATTERN);
	name[sizeof(name) - 1] = 'x';
	assert_non_null(
		pm_role_rules_add(&rules, (struct pm_text){name, name + sizeof(name)}));
	while (rules.count < PM_ROLE_RULES)
		assert_null(add(&rules, "io guid 1"));
	assert_string_equal(add(&rules, "io guid 1"), "more rules than there may be");
}

/* The role of a node with this name and device. */
static uint8_t role_of(const struct pm_roles *roles, const char *name, uint16_t device,
		       enum pm_node_type type)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t sw, node;
	uint8_t host;

	assert_non_null(fabric);
	assert_int_equal(pm_fabric_add_node(fabric, PM_SWITCH, 1, 4, "s", &sw, NULL), 0);
	assert_int_equal(pm_fabric_add_node(fabric, type, 0x20, 1, name, &node, NULL), 0);
	fabric->nodes[node].device = device;
	fabric->ports[fabric->nodes[node].first_port + 1].guid = 0x21;
	assert_int_equal(pm_fabric_link(fabric, sw, 2, node, 1, NULL), 0);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	pm_roles_apply(roles, fabric);
	host = fabric->ports[fabric->nodes[0].first_port + 2].host;
	pm_fabric_free(fabric);
	return host;
}

/* The first rule that applies counts. */
static void test_first_word_counts(void **state)
{
	static const struct {
		const char *name, *rule, *io, *compute;
		uint16_t device;
		enum pm_node_type type;
		uint8_t host;
	} rows[] = {
		{"n1", NULL, NULL, NULL, 0x101b, PM_CA, PM_COMPUTE},
		{"n1", NULL, NULL, "0x99", 0x101b, PM_CA, PM_IO},
		{"n1", NULL, NULL, "0x21", 0x101b, PM_CA, PM_COMPUTE},
		{"n1", NULL, "0x20", "0x21", 0x101b, PM_CA, PM_IO},
		{"n1", NULL, NULL, NULL, 0xcf09, PM_CA, PM_AGGREGATION},
		{"n1", NULL, NULL, "0x99", 0xcf09, PM_CA, PM_AGGREGATION},
		{"n1", NULL, NULL, "0x20", 0xcf09, PM_CA, PM_COMPUTE},
		{"Mellanox Technologies Aggregation Node", NULL, NULL, NULL, 0, PM_CA,
		 PM_AGGREGATION},
		{"r", NULL, NULL, NULL, 0, PM_ROUTER, PM_SERVICE},
		{"r", "compute name r", NULL, NULL, 0, PM_ROUTER, PM_COMPUTE},
		{"ufm 1", "service name ufm*", "0x20", NULL, 0, PM_CA, PM_SERVICE},
		{"ufm 1", "service device 0x1017", NULL, NULL, 0x1017, PM_CA, PM_SERVICE},
		{"r", "aggregation name r", NULL, NULL, 0, PM_ROUTER, PM_AGGREGATION},
		{"ufm 1", "service guid 0x21", NULL, NULL, 0, PM_CA, PM_SERVICE},
		{"ufm 1", "service guid 0x22", NULL, NULL, 0, PM_CA, PM_COMPUTE},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_roles roles = {.rules = {.count = 0}};
		uint8_t host;

		if (rows[i].rule)
			assert_null(add(&roles.rules, rows[i].rule));
		if (rows[i].io)
			assert_int_equal(
				pm_guids_parse(rows[i].io, "io", &roles.io, NULL), 0);
		if (rows[i].compute)
			assert_int_equal(pm_guids_parse(rows[i].compute, "cn",
							&roles.compute, NULL),
					 0);
		host = role_of(&roles, rows[i].name, rows[i].device, rows[i].type);
		if (host != rows[i].host)
			fail_msg("row %zu: %u", i, host);
		pm_roles_free(&roles);
	}
}

/* How many used slots of a kind each plane has, over all leaves. */
static void count_planes(const struct pm_plan *plan, uint8_t kind, uint32_t *count)
{
	memset(count, 0, plan->tree.num_planes * sizeof(*count));
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->topology->ports[i].host == kind)
			count[plan->plane[i]]++;
}

static void expect_even(const struct pm_plan *plan, uint8_t kind)
{
	uint32_t count[64], most = 0, least = PM_NONE;

	count_planes(plan, kind, count);
	for (uint32_t p = 0; p < plan->tree.num_planes; p++) {
		most = count[p] > most ? count[p] : most;
		least = count[p] < least ? count[p] : least;
	}
	if (most > least + 1)
		fail_msg("kind %u: %u and %u slots of two planes", kind, least, most);
}

/*
 * 16 leaves of 8 hosts below 8 spines; the last host of each leaf serves files. As one
 * of eight it would have the last plane on every leaf.
 */
static void test_kinds_are_balanced_apart(void **state)
{
	struct pm_generate shape = {.kind = PM_GENERATE_TWO_LEVEL,
				    .two_level = {16, 8, 8, 1}};
	struct pm_fabric *fabric = world_generate(&shape);
	struct pm_roles roles = {0};
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan;

	roles.io.list = calloc(16, sizeof(uint64_t));
	assert_non_null(roles.io.list);
	for (unsigned int leaf = 0; leaf < 16; leaf++) {
		char name[32];

		snprintf(name, sizeof(name), "h%u-8", leaf);
		roles.io.list[roles.io.count++] =
			fabric->ports[world_port(fabric, name, 1)].guid;
	}
	/* As a list of the others in cn_guid_file would. */
	pm_roles_apply(&roles, fabric);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	expect_even(plan, PM_IO);
	expect_even(plan, PM_COMPUTE);
	pm_plan_free(plan);
	pm_roles_free(&roles);
	pm_fabric_free(fabric);
}

/* With cn_guid_file, what is not in it is I/O; io_guid_file wins. */
static void test_compute_file(void **state)
{
	struct pm_fabric *fabric = recipe_draw("l0/4 l0:1=a l0:2=b l0:3=c");
	uint64_t compute[] = {fabric->nodes[1].guid, fabric->nodes[3].guid};
	uint64_t io[] = {fabric->nodes[3].guid};
	struct pm_roles roles = {.compute = {compute, 2, true}, .io = {io, 1, true}};
	const struct pm_port *ports = fabric->ports;

	pm_roles_apply(&roles, fabric);
	assert_int_equal(ports[1].host, PM_COMPUTE);
	assert_int_equal(ports[2].host, PM_IO);
	assert_int_equal(ports[3].host, PM_IO);
	assert_int_equal(ports[4].host, PM_NO_HOST);
	pm_roles_apply(&(struct pm_roles){0}, fabric);
	assert_int_equal(ports[2].host, PM_COMPUTE);
	pm_fabric_free(fabric);
}

/* Spines with as many hosts as leaves: they cannot be distinguished. */
static void test_roots(void **state)
{
	struct pm_fabric *fabric =
		recipe_draw("l0/4 l1/4 s0/4 s1/4 l0:1=a l1:1=b s0:1=c s1:1=d "
			    "l0:3=s0:3 l0:4=s1:3 l1:3=s0:4 l1:4=s1:4");
	uint64_t roots[] = {fabric->nodes[2].guid, fabric->nodes[3].guid};
	struct pm_roles roles = {.roots = {roots, 2, true}};
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL, *grown = NULL;
	struct pm_error err = {""};
	uint8_t usable[20];
	struct world world;

	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), -ENOTSUP);
	pm_roles_apply(&roles, fabric);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	assert_int_equal(plan->tree.num_leaves, 2);
	assert_int_equal(plan->tree.level[2], 1);
	assert_int_equal(plan->tree.num_planes, 2);
	/* Other roots: another tree, the same LIDs. */
	roles.roots.count = 1;
	pm_roles_apply(&roles, fabric);
	assert_false(pm_plan_match(plan, fabric, usable));
	assert_int_equal(pm_plan_grow(plan, fabric, &grown, &err), 0);
	assert_memory_equal(grown->lid, plan->lid, 20 * sizeof(*plan->lid));
	assert_int_equal(grown->tree.level[3], 0);
	pm_plan_free(grown);
	pm_plan_free(plan);
	roles.roots.count = 2;
	pm_roles_apply(&roles, fabric);
	world_make(&world, fabric, PM_GROUPED);
	world_assert_sound(&world, fabric);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_first_word_counts),
		cmocka_unit_test(test_kinds_are_balanced_apart),
		cmocka_unit_test(test_compute_file),
		cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
