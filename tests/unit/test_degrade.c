/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		struct pm_share links, switches, hosts;
	} good[] = {
		{"links=3%,switches=1,hosts=5", {3000, true}, {1, false}, {5, false}},
		{"hosts=0.25%", {0, false}, {0, false}, {250, true}},
		{"switches=100%", {0, false}, {100000, true}, {0, false}},
		{"links=0.001%,hosts=0", {1, true}, {0, false}, {0, false}},
		{"links=4294967295", {UINT32_MAX, false}, {0, false}, {0, false}},
	};
	static const char *const bad[] = {
		"",	     "links",	    "links=",	  "links=x",
		"links=-1",  "links=1.5",   "links=101%", "links=1,links=2",
		"cables=1",  "links=1,",    "links=1;",	  "links=0.0001%",
		"links=1%%", "hosts=1..2%", "links=.%",	  "links=4294967296",
	};
	struct pm_degrade degrade = {.seed = 7};
	struct pm_error err;

	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_int_equal(pm_degrade_parse(good[i].text, &degrade, &err), 0);
		assert_int_equal(degrade.links.number, good[i].links.number);
		assert_int_equal(degrade.links.percent, good[i].links.percent);
		assert_int_equal(degrade.switches.number, good[i].switches.number);
		assert_int_equal(degrade.switches.percent, good[i].switches.percent);
		assert_int_equal(degrade.hosts.number, good[i].hosts.number);
		assert_int_equal(degrade.hosts.percent, good[i].hosts.percent);
		assert_int_equal(degrade.seed, 7);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		if (pm_degrade_parse(bad[i], &degrade, &err) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
}

struct counts {
	uint32_t switches, hosts, links; /* with a cable; cables between switches */
};

static struct counts count(const struct pm_fabric *fabric)
{
	struct counts counts = {0, 0, 0};

	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];
		bool cabled = false;

		for (uint32_t p = 1; p <= n->num_ports; p++) {
			uint32_t peer = pm_fabric_peer_node(fabric, n->first_port + p);

			cabled |= peer != PM_NONE;
			counts.links += peer != PM_NONE && peer > i &&
					peer < fabric->num_switches;
		}
		counts.switches += cabled && i < fabric->num_switches;
		counts.hosts += cabled && i >= fabric->num_switches;
	}
	return counts;
}

static struct pm_fabric *degraded(const char *what, uint64_t seed)
{
	struct pm_degrade degrade = {.seed = seed};
	struct pm_fabric *fabric = world_director(36);

	assert_int_equal(pm_degrade_parse(what, &degrade, NULL), 0);
	assert_int_equal(pm_degrade_apply(&degrade, fabric, NULL), 0);
	return fabric;
}

/* The director has 36 leaves, 54 other switches, 648 hosts and 1,296 cables. */
static void test_numbers(void **state)
{
	static const struct {
		const char *what;
		struct counts left;
	} rows[] = {
		{"links=0", {90, 648, 1296}},  {"links=7", {90, 648, 1289}},
		{"links=3%", {90, 648, 1257}}, /* 38.88 */
		{"hosts=5", {90, 643, 1296}},  {"hosts=0.5%", {90, 645, 1296}}, /* 3.24 */
		{"hosts=100%", {90, 0, 1296}}, {"links=100%", {36, 648, 0}},
		{"switches=100%", {0, 0, 0}},
	};

	for_each_row(row, rows)
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct pm_fabric *fabric = degraded(row->what, seed);
			struct counts counts = count(fabric);

			if (memcmp(&counts, &row->left, sizeof(counts)))
				fail_msg("%s: %u switches, %u hosts, %u cables",
					 row->what, counts.switches, counts.hosts,
					 counts.links);
			pm_fabric_free(fabric);
		}
}

static bool equal(const struct pm_fabric *a, const struct pm_fabric *b)
{
	for (uint32_t i = 0; i < a->num_ports; i++)
		if (a->ports[i].peer != b->ports[i].peer)
			return false;
	return true;
}

static void test_seeds(void **state)
{
	struct pm_fabric *a = degraded("links=2,switches=1,hosts=1", 5);
	struct pm_fabric *b = degraded("hosts=1,links=2,switches=1", 5);
	struct pm_fabric *c = degraded("links=2,switches=1,hosts=1", 6);

	assert_true(equal(a, b));
	assert_false(equal(a, c));
	pm_fabric_free(a);
	pm_fabric_free(b);
	pm_fabric_free(c);
}

/* The results of a seed are the same in every version: those of splitmix64. */
static void test_pinned(void **state)
{
	static const uint32_t hosts[] = {7, 113, 166};

	for (uint64_t seed = 0; seed < LENGTH(hosts); seed++) {
		struct pm_fabric *fabric = degraded("hosts=1", seed);
		uint32_t failed = PM_NONE;

		for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
			if (!pm_fabric_has_link(fabric, i))
				failed = i - fabric->num_switches;
		assert_int_equal(failed, hosts[seed]);
		pm_fabric_free(fabric);
	}
}

/* Every host is equally likely: half of them are drawn half of the times. */
static void test_spread(void **state)
{
	unsigned int high = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct pm_fabric *fabric = degraded("hosts=1", seed);
		uint32_t middle = (fabric->num_switches + fabric->num_nodes) / 2;

		for (uint32_t i = middle; i < fabric->num_nodes; i++)
			high += fabric->ports[fabric->nodes[i].first_port + 1].peer ==
				PM_NONE;
		pm_fabric_free(fabric);
	}
	assert_in_range(high, 30, 70);
}

static void test_too_many(void **state)
{
	struct pm_degrade degrade = {.switches = {91, false}};
	struct pm_fabric *fabric = world_director(36);
	struct pm_error err;

	assert_int_equal(pm_degrade_apply(&degrade, fabric, &err), -EINVAL);
	assert_string_equal(err.text, "there are only 90 switches");
	pm_fabric_free(fabric);
}

/* Links of all widths and speeds, and some that are not known; ports without a cable have
 * none. */
static void mix_links(struct pm_fabric *fabric)
{
	static const unsigned int lanes[] = {1, 2, 4, 8, 12};
	uint32_t links = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		struct pm_port *port = &fabric->ports[i];

		if (port->peer == PM_NONE)
			port->link = 0;
		else if (port->peer > i && links++ % 7 == 0)
			port->link = fabric->ports[port->peer].link = 0;
		else if (port->peer > i)
			port->link = fabric->ports[port->peer].link = pm_link_code(
				lanes[links / 7 % 5],
				(enum pm_speed)(PM_SDR + links % (PM_SPEEDS - PM_SDR)));
	}
}

/* The written text is read as the same fabric, less the nodes without a cable. */
/* To every other switch and host. */
static void give_lids(struct pm_fabric *fabric)
{
	uint16_t lid = 1;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		struct pm_port *port = &fabric->ports[i];
		bool is_switch = port->node < fabric->num_switches;

		if (port->node % 2 || (is_switch ? port->num : !port->num))
			continue;
		port->lid = lid;
		port->lmc = is_switch ? 0 : 1;
		lid = (uint16_t)(lid + 2);
	}
}

static void test_write(void **state)
{
	struct pm_fabric *fabric = degraded("links=5%,switches=3,hosts=20", 9), *back;
	struct counts before = count(fabric), after;
	struct pm_error err = {""};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	mix_links(fabric);
	give_lids(fabric);
	pm_netlist_write(fabric, file);
	assert_int_equal(fclose(file), 0);
	if (pm_netlist_parse(text, length, "in", &back, &err))
		fail_msg("%s", err.text);
	after = count(back);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(back->num_nodes, after.switches + after.hosts);
	for (uint32_t i = 0; i < back->num_ports; i++) {
		uint32_t there = pm_fabric_same_port(back, i, fabric), peer;

		assert_int_not_equal(there, PM_NONE);
		assert_int_equal(back->ports[i].guid, fabric->ports[there].guid);
		assert_int_equal(back->ports[i].link, fabric->ports[there].link);
		assert_int_equal(back->ports[i].lid, fabric->ports[there].lid);
		assert_int_equal(back->ports[i].lmc, fabric->ports[there].lmc);
		peer = back->ports[i].peer;
		if (peer != PM_NONE)
			peer = pm_fabric_same_port(back, peer, fabric);
		assert_int_equal(peer, fabric->ports[there].peer);
	}
	free(text);
	pm_fabric_free(back);
	pm_fabric_free(fabric);
}

/* Device IDs, routers, and names that several nodes have. */
static void test_write_roles(void **state)
{
	struct pm_fabric *fabric = world_generate(&(struct pm_generate){
		.kind = PM_GENERATE_TWO_LEVEL,
		.two_level = {3, 2, 2, 1},
		.aggregation = true,
		.services = {{"router", 1, 1}},
		.num_services = 1,
	});
	struct pm_fabric *back = NULL;
	struct pm_error err = {""};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	pm_netlist_write(fabric, file);
	assert_int_equal(fclose(file), 0);
	if (pm_netlist_parse(text, length, "in", &back, &err))
		fail_msg("%s", err.text);
	assert_int_equal(back->num_nodes, 5 + 6 + 1 + 5);
	for (uint32_t i = 0; i < back->num_nodes; i++) {
		assert_string_equal(pm_fabric_name(back, i), pm_fabric_name(fabric, i));
		assert_int_equal(back->nodes[i].guid, fabric->nodes[i].guid);
		assert_int_equal(back->nodes[i].type, fabric->nodes[i].type);
		assert_int_equal(back->nodes[i].device, fabric->nodes[i].device);
	}
	for (uint32_t i = 0; i < back->num_ports; i++)
		assert_int_equal(back->ports[i].peer, fabric->ports[i].peer);
	free(text);
	pm_fabric_free(back);
	pm_fabric_free(fabric);
}

/* Names that cannot be ids: odd ones, none, one of two nodes, and ids of others. */
static void test_write_names(void **state)
{
	static const char *const names[][2] = {
		{"leaf one", "leaf one"},
		{"a\"b#c", "a?b#c"},
		{"@x\n", "@x?"},
		{"", "S-0000000000200003"},
		{"twin", "twin"},
		{"twin", "twin"},
		{"S-0000000000200000", "S-0000000000200000"},
		{"S-0000000000200004", "S-0000000000200004"},
		{"H-000000000010000A", "H-000000000010000A"},
		{"[1]", "[1]"},
	};
	struct pm_fabric *fabric = world_generate(&(struct pm_generate){
		.kind = PM_GENERATE_TWO_LEVEL, .two_level = {4, 2, 1, 1}});
	struct pm_fabric *back = NULL;
	struct pm_error err = {""};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	for (uint32_t i = 0; i < LENGTH(names); i++)
		assert_int_equal(pm_fabric_rename(fabric, i, fabric->nodes[i].guid,
						  names[i][0], NULL),
				 0);
	pm_netlist_write(fabric, file);
	assert_int_equal(fclose(file), 0);
	if (pm_netlist_parse(text, length, "in", &back, &err))
		fail_msg("%s", err.text);
	assert_int_equal(back->num_ports, fabric->num_ports);
	for (uint32_t i = 0; i < LENGTH(names); i++)
		assert_string_equal(pm_fabric_name(back, i), names[i][1]);
	for (uint32_t i = 0; i < back->num_ports; i++)
		assert_int_equal(back->ports[i].peer, fabric->ports[i].peer);
	free(text);
	pm_fabric_free(back);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	    cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_seeds),	    cmocka_unit_test(test_spread),
		cmocka_unit_test(test_pinned),	    cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_write),	    cmocka_unit_test(test_write_roles),
		cmocka_unit_test(test_write_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
