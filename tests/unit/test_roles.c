/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"

#include <portmajor/roles.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct row {
	const char *name, *text;
	uint32_t count;
	uint64_t first; /* of the sorted list */
	unsigned int bad_line;
};

static const struct row rows[] = {
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
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_guids guids = {0};
		struct pm_error err = {""};
		char place[16];
		int rc = pm_guids_parse(rows[i].text, "in", &guids, &err);

		snprintf(place, sizeof(place), "in:%u: ", rows[i].bad_line);
		if (rows[i].bad_line
			    ? rc != -EINVAL || strncmp(err.text, place, strlen(place)) ||
				      guids.given
			    : rc || guids.count != rows[i].count || !guids.given ||
				      (guids.count && guids.list[0] != rows[i].first))
			fail_msg("%s: %d %s", rows[i].name, rc, err.text);
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

	(void)state;
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

/* How many used slots of a kind each plane has, over all leaves. */
static void count_planes(const struct pm_plan *plan, uint8_t kind, uint32_t *count)
{
	memset(count, 0, plan->tree.num_planes * sizeof(*count));
	for (uint32_t i = 0; i < plan->known->num_ports; i++)
		if (plan->known->ports[i].host == kind)
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

	(void)state;
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

	(void)state;
	pm_roles_apply(&roles, fabric);
	assert_int_equal(ports[1].host, PM_COMPUTE);
	assert_int_equal(ports[2].host, PM_IO);
	assert_int_equal(ports[3].host, PM_IO);
	assert_int_equal(ports[4].host, PM_NO_HOST);
	pm_roles_apply(&(struct pm_roles){0}, fabric);
	assert_int_equal(ports[2].host, PM_COMPUTE);
	pm_fabric_free(fabric);
}

/* Spines with as many hosts as leaves: nobody could tell which are which. */
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
	uint8_t alive[20];
	struct world world;

	(void)state;
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), -ENOTSUP);
	pm_roles_apply(&roles, fabric);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	assert_int_equal(plan->tree.num_leaves, 2);
	assert_int_equal(plan->tree.level[2], 1);
	assert_int_equal(plan->tree.num_planes, 2);
	/* Other roots: another tree, the same LIDs. */
	roles.roots.count = 1;
	pm_roles_apply(&roles, fabric);
	assert_false(pm_plan_match(plan, fabric, alive));
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
		cmocka_unit_test(test_kinds_are_balanced_apart),
		cmocka_unit_test(test_compute_file),
		cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
