/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of links that return (return_cost.h). The numbers are those that the plugin
 * sends on a wire; integration.return_prediction compares them there.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/return_cost.h>

/* Two leaves with two hosts each below two spines, a cable between these, and a host. */
static const char drawing[] =
	"l/4 m/4 s/5 t/5 s:5=t:5 l:1=a l:2=b m:1=c m:2=d l:3=s:1 l:4=t:1 "
	"m:3=s:2 m:4=t:2 t:3=e";

/* Ends of links that return; switches out of reach before, and nodes that were reset. */
struct back {
	const char *ends, *away, *reset;
};

/* Whether a list with blanks between has this name. */
static bool has_name(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at && *at; at = strchr(at, ' '), at += at != NULL)
		if (!strncmp(at, name, length) && strchr(" ", at[length]))
			return true;
	return false;
}

static uint32_t find_ports(const struct pm_fabric *fabric, const char *ends,
			   uint32_t *ports)
{
	uint32_t num = 0;

	for (const char *at = ends; at && *at; at = strchr(at, ' '), at += at != NULL) {
		const char name[] = {at[0], '\0'};

		ports[num++] = world_port(fabric, name, (unsigned int)(at[2] - '0'));
	}
	return num;
}

static struct pm_return_cost find(const struct back *back, uint32_t at_once)
{
	struct pm_fabric *fabric = recipe_draw(drawing);
	uint8_t reached[4], reset[16] = {0};
	uint32_t ports[32];
	struct pm_return parts = {.fabric = fabric,
				  .ports = ports,
				  .reached = reached,
				  .reset = back->reset ? reset : NULL,
				  .table_blocks = 5,
				  .at_once = at_once};
	struct pm_return_cost cost;

	assert_in_range(fabric->num_nodes, 1, LENGTH(reset));
	parts.num_ports = find_ports(fabric, back->ends, ports);
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const char *name = pm_fabric_name(fabric, i);

		reset[i] = has_name(back->reset, name);
		if (i < fabric->num_switches)
			reached[i] = !has_name(back->away, name);
	}
	assert_int_equal(pm_return_cost_find(&parts, &cost, NULL), 0);
	pm_fabric_free(fabric);
	return cost;
}

#define ALL_OF_M "m:1 m:2 m:3 m:4"
#define ALL_OF_S "s:1 s:2"

/* Ports, remote ports and switches that are asked; tables, values and states set. */
#define GETS(port, remote, sw) .port_gets = port, .remote_gets = remote, .switch_gets = sw
#define SETS(table, value, state)                                                        \
	.table_sets = table, .value_sets = value, .state_sets = state

/* Each row: the links, the Gets by kind, the Sets by kind. */
static const struct row {
	const char *name;
	struct back back;
	struct pm_return_cost cost;
} rows[] = {
	{"nothing", {"", NULL, NULL}, {0}},
	{"a port without a cable", {"s:4", NULL, NULL}, {0}},
	{"a host", {"l:1", NULL, NULL}, {.hosts = 1, GETS(1, 3, 1), SETS(0, 0, 4)}},
	{"a host, by its own port",
	 {"a:1", NULL, NULL},
	 {.hosts = 1, GETS(1, 3, 1), SETS(0, 0, 4)}},
	{"a host that was reset",
	 {"l:1", NULL, "a"},
	 {.hosts = 1, GETS(1, 3, 1), SETS(0, 1, 4)}},
	{"a leaf that was reset while the subnet manager's own link was down",
	 {ALL_OF_M, NULL, "m"},
	 {.hosts = 2, .cables = 2, .switches = 1, GETS(4, 10, 4), SETS(5, 6, 16)}},
	{"two hosts of a leaf: its LID is asked for once",
	 {"l:1 l:2 l:1", NULL, NULL},
	 {.hosts = 2, GETS(2, 6, 1), SETS(0, 0, 8)}},
	{"hosts of two leaves: two runs",
	 {"l:1 m:1", NULL, NULL},
	 {.hosts = 2, GETS(2, 6, 2), SETS(0, 0, 8)}},
	{"a cable, named by both ends",
	 {"l:3 s:1", NULL, NULL},
	 {.cables = 1, GETS(1, 2, 2), SETS(0, 0, 4)}},
	/* By l's trap; then s is read. */
	{"a spine",
	 {ALL_OF_S, "s", NULL},
	 {.cables = 2, .switches = 1, GETS(2, 4, 3), SETS(5, 0, 8)}},
	{"a spine that was reset",
	 {ALL_OF_S, "s", "s"},
	 {.cables = 2, .switches = 1, GETS(2, 4, 4), SETS(5, 4, 8)}},
	{"a leaf with its hosts, which kept their values",
	 {ALL_OF_M, "m", "m"},
	 {.hosts = 2, .cables = 2, .switches = 1, GETS(4, 10, 4), SETS(5, 6, 16)}},
	{"a leaf and its hosts were reset",
	 {ALL_OF_M, "m", "m c d"},
	 {.hosts = 2, .cables = 2, .switches = 1, GETS(4, 10, 4), SETS(5, 8, 16)}},
	{"a cable between two switches that are read at once",
	 {"s:1 t:1 s:5", "m s t", NULL},
	 {.cables = 3, .switches = 2, GETS(4, 6, 3), SETS(10, 0, 12)}},
	{"the subnet manager's own host: nothing is reached",
	 {"l:1", "l m s t", NULL},
	 {.unreached = 1}},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_return_cost found = find(&rows[i].back, 4),
				      wanted = rows[i].cost;

		wanted.round_trips = found.round_trips;
		if (memcmp(&found, &wanted, sizeof(found)) != 0)
			fail_msg("%s: Gets %u %u %u, Sets %u %u %u; %u switches",
				 rows[i].name, found.port_gets, found.remote_gets,
				 found.switch_gets, found.table_sets, found.value_sets,
				 found.state_sets, found.switches);
	}
}

/* Both spines: m, which is out of reach at first, is found from the first one. */
static void test_all_but_a_leaf(void **state)
{
	const struct back back = {"s:1 s:2 t:1 t:2 t:3", "m s t", NULL};
	struct pm_return_cost found = find(&back, 4);

	assert_int_equal(found.hosts, 1);
	assert_int_equal(found.cables, 4);
	assert_int_equal(found.switches, 3);
	assert_int_equal(found.unreached, 0);
	assert_int_equal(found.state_sets, 20);
	assert_int_equal(pm_return_cost_gets(&found),
			 found.port_gets + found.remote_gets + found.switch_gets);
	assert_int_equal(pm_return_cost_sets(&found),
			 found.table_sets + found.value_sets + found.state_sets);
}

/* Steps wait for each other, and so many SMPs of a step are on the wire at a time. */
static void test_round_trips(void **state)
{
	static const struct {
		const char *ends;
		uint32_t at_once, round_trips;
	} cases[] = {
		{"l:1", 4, 5},					   /* 1, 3, 1, 2, 2 */
		{"l:1", 1, 9},	 {"l:1", 2, 6}, {"l:1 l:2", 4, 6}, /* 2, 6, 1, 4, 4 */
		{"l:3", 100, 5},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct back back = {cases[i].ends, NULL, NULL};

		assert_int_equal(find(&back, cases[i].at_once).round_trips,
				 cases[i].round_trips);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_all_but_a_leaf),
		cmocka_unit_test(test_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
