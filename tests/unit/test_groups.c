/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of groups in a file are found by their names, with few comparisons. */
#include "world.h"
#include "unit.h"

#include "../../src/cli/cmd/groups.h"
#include "../../src/cli/output.h"

#define TIMES 5 /* lines for each host */

const char cli_program[] = "portmajor";

static unsigned long comparisons;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int __wrap_strcmp(const char *a, const char *b)
{
	comparisons++;
	return __real_strcmp(a, b);
}

/* Lines that name each host several times, in groups of all hosts. */
static char *write_lines(const struct pm_fabric *fabric, size_t *length)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, length);

	assert_non_null(file);
	for (unsigned int g = 0; g < TIMES; g++)
		for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
			fprintf(file, "0x%x %s\n", PM_MLID_FIRST + g,
				pm_fabric_name(fabric, i));
	assert_int_equal(fclose(file), 0);
	return text;
}

/* A search through all nodes would take half as many comparisons as there are nodes. */
static void test_many(void **state)
{
	struct pm_fabric *fabric = world_generate(&(struct pm_generate){
		.kind = PM_GENERATE_TWO_LEVEL, .two_level = {32, 8, 32, 1}});
	uint32_t hosts = fabric->num_nodes - fabric->num_switches;
	uint32_t lines = TIMES * hosts;
	struct cli_groups groups = {0};
	size_t length;
	char *text = write_lines(fabric, &length);

	comparisons = 0;
	assert_int_equal(
		cli_groups_parse(text, length, "in", fabric, NULL, &groups, NULL), 0);
	print_message("%lu comparisons for %u lines\n", comparisons, lines);
	assert_true(comparisons >= lines); /* they are counted */
	assert_true(comparisons < 20ul * (lines + fabric->num_nodes));
	assert_int_equal(groups.num, TIMES);
	for (uint32_t g = 0; g < TIMES; g++) {
		assert_int_equal(groups.list[g].mlid, PM_MLID_FIRST + g);
		assert_int_equal(groups.list[g].num, hosts);
		for (uint32_t i = 0; i < hosts; i++)
			assert_int_equal(
				groups.list[g].members[i],
				fabric->nodes[fabric->num_switches + i].first_port + 1);
	}
	cli_groups_free(&groups);
	pm_fabric_free(fabric);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
