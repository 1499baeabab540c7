/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "unit.h"

#include <portmajor/fabric/fabric.h>

#include <inttypes.h>

/* Invariants of every sealed fabric. */
static void check(const struct pm_fabric *f)
{
	uint32_t next_port = 0;

	assert_true(f->sealed);
	for (uint32_t i = 0; i < f->num_nodes; i++) {
		const struct pm_node *node = &f->nodes[i];

		assert_int_equal(node->type == PM_SWITCH, i < f->num_switches);
		if (i && i != f->num_switches)
			assert_true(node[-1].guid < node->guid);
		assert_int_equal(node->first_port, next_port);
		next_port += node->num_ports + 1u;
		assert_int_equal(pm_fabric_find_guid(f, node->guid), i);
	}
	assert_int_equal(f->num_ports, next_port);
	for (uint32_t i = 0; i < f->num_ports; i++) {
		const struct pm_port *port = &f->ports[i];

		assert_int_equal(f->nodes[port->node].first_port + port->num, i);
		if (port->peer == PM_NONE)
			continue;
		assert_true(port->num > 0);
		assert_int_equal(f->ports[port->peer].peer, i);
	}
}

/* One node of each kind: "s" (8 ports), "c" (2), "r" (1). */
struct three {
	struct pm_fabric *fabric;
	uint32_t s, c, r;
};

static int make_three(void **state)
{
	struct three *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	*state = t;
	t->fabric = pm_fabric_new();
	return pm_fabric_add_node(t->fabric, PM_CA, 7, 2, "c", &t->c, NULL) ||
	       pm_fabric_add_node(t->fabric, PM_SWITCH, 9, 8, "s", &t->s, NULL) ||
	       pm_fabric_add_node(t->fabric, PM_ROUTER, 3, 1, "r", &t->r, NULL);
}

static int free_three(void **state)
{
	struct three *t = *state;

	pm_fabric_free(t->fabric);
	free(t);
	return 0;
}

static void test_empty(void **state)
{
	struct pm_fabric *fabric = pm_fabric_new(), *copy;

	assert_non_null(fabric);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	check(fabric);
	assert_int_equal(pm_fabric_find_guid(fabric, 0), PM_NONE);
	assert_int_equal(pm_fabric_find_name(fabric, ""), PM_NONE);
	copy = pm_fabric_clone(fabric);
	assert_non_null(copy);
	check(copy);
	pm_fabric_free(copy);
	pm_fabric_free(fabric);
	pm_fabric_free(NULL);
}

static void test_add_node_refuses(void **state)
{
	static const struct {
		const char *name;
		unsigned int ports;
	} rows[] = {
		{"no ports", 0},
		{"255 ports", 255},
		{"257 ports", 257},
	};
	struct three *t = *state;

	for_each_row(row, rows) {
		struct pm_error err = {""};
		uint32_t node = 1234;

		if (pm_fabric_add_node(t->fabric, PM_SWITCH, 1, row->ports, "x", &node,
				       &err) != -EINVAL ||
		    !strstr(err.text, "\"x\""))
			fail_msg("%s: \"%s\"", row->name, err.text);
		assert_int_equal(node, 1234);
	}
	assert_int_equal(t->fabric->num_nodes, 3);
	assert_int_equal(t->fabric->num_switches, 1);
}

static void test_node_limit(void **state)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t node = 0;

	for (uint32_t i = 0; i < PM_MAX_NODES; i++)
		if (pm_fabric_add_node(fabric, PM_CA, i, 1, "", &node, NULL))
			fail_msg("node %u", i);
	assert_int_equal(node, PM_MAX_NODES - 1);
	assert_int_equal(
		pm_fabric_add_node(fabric, PM_CA, 1ull << 40, 1, "", &node, NULL),
		-E2BIG);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	check(fabric);
	pm_fabric_free(fabric);
}

/* Known and present nodes together are too many. */
static void test_merge_limit(void **state)
{
	struct pm_fabric *was = pm_fabric_new(), *now = pm_fabric_new(), *merged = NULL;
	uint32_t node;

	for (uint32_t i = 0; i < PM_MAX_NODES; i++)
		if (pm_fabric_add_node(was, PM_SWITCH, i, 1, "", &node, NULL))
			fail_msg("node %u", i);
	assert_int_equal(pm_fabric_seal(was, NULL), 0);
	assert_int_equal(pm_fabric_add_node(now, PM_SWITCH, 7, 1, "", &node, NULL), 0);
	assert_int_equal(pm_fabric_seal(now, NULL), 0);
	assert_int_equal(pm_fabric_merge(was, now, &merged, NULL), 0);
	assert_int_equal(merged->num_switches, PM_MAX_NODES);
	pm_fabric_free(merged);
	pm_fabric_free(now);
	now = pm_fabric_new();
	assert_int_equal(
		pm_fabric_add_node(now, PM_SWITCH, 1ull << 40, 1, "", &node, NULL), 0);
	assert_int_equal(pm_fabric_seal(now, NULL), 0);
	merged = NULL;
	assert_int_equal(pm_fabric_merge(was, now, &merged, NULL), -E2BIG);
	assert_null(merged);
	pm_fabric_free(now);
	pm_fabric_free(was);
}

static void test_link(void **state)
{
	struct three *t = *state;
	const struct {
		const char *name;
		uint32_t a;
		unsigned int port_a;
		uint32_t b;
		unsigned int port_b;
		int code;
	} rows[] = {
		{"port 0", t->s, 0, t->c, 1, -EINVAL},
		{"port 0 of the second", t->c, 1, t->s, 0, -EINVAL},
		{"no such port", t->s, 9, t->c, 1, -EINVAL},
		{"no such port of the second", t->s, 1, t->c, 3, -EINVAL},
		{"port with itself", t->s, 1, t->s, 1, -EINVAL},
		{"fine", t->s, 1, t->c, 2, 0},
		{"port used", t->s, 1, t->r, 1, -EEXIST},
		{"port of the second used", t->r, 1, t->c, 2, -EEXIST},
		{"the same again", t->c, 2, t->s, 1, -EEXIST},
		{"two ports of a switch", t->s, 7, t->s, 8, 0},
	};

	for_each_row(row, rows) {
		struct pm_error err = {""};
		int rc = pm_fabric_link(t->fabric, row->a, row->port_a, row->b,
					row->port_b, &err);

		if (rc != row->code || !rc != !*err.text)
			fail_msg("%s: %d \"%s\"", row->name, rc, err.text);
	}
	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	check(t->fabric);
}

static void test_seal_sorts(void **state)
{
	struct three *t = *state;
	const struct pm_port *port;
	uint32_t first;

	assert_int_equal(pm_fabric_link(t->fabric, t->s, 5, t->c, 2, NULL), 0);
	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	check(t->fabric);
	assert_string_equal(pm_fabric_name(t->fabric, 0), "s");
	assert_string_equal(pm_fabric_name(t->fabric, 1), "r");
	assert_string_equal(pm_fabric_name(t->fabric, 2), "c");
	first = t->fabric->nodes[0].first_port;
	port = &t->fabric->ports[first];
	assert_int_equal(pm_fabric_peer_node(t->fabric, first), PM_NONE);
	assert_int_equal(pm_fabric_peer_node(t->fabric, first + 5), 2);
	assert_int_equal(port[5].guid, 9);
	assert_int_equal(t->fabric->ports[port[5].peer].num, 2);
}

static void test_same_guid(void **state)
{
	static const struct {
		const char *name;
		enum pm_node_type type;
		uint64_t guid;
	} rows[] = {
		{"two switches", PM_SWITCH, 9},
		{"switch and CA", PM_SWITCH, 7},
		{"CA and router", PM_CA, 3},
		{"two CAs", PM_CA, 7},
	};

	for_each_row(row, rows) {
		struct pm_error err = {""};
		struct three *t;
		uint32_t node;

		assert_int_equal(make_three((void **)&t), 0);
		assert_int_equal(pm_fabric_add_node(t->fabric, row->type, row->guid, 1,
						    "twin", &node, NULL),
				 0);
		if (pm_fabric_seal(t->fabric, &err) != -EEXIST ||
		    !strstr(err.text, "\"twin\""))
			fail_msg("%s: \"%s\"", row->name, err.text);
		free_three((void **)&t);
	}
}

static void test_find_name(void **state)
{
	struct three *t = *state;
	uint32_t node;

	pm_fabric_add_node(t->fabric, PM_CA, 100, 1, "c", &node, NULL);
	pm_fabric_add_node(t->fabric, PM_CA, 50, 1, "", &node, NULL);
	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	assert_int_equal(pm_fabric_find_name(t->fabric, "s"), 0);
	node = pm_fabric_find_name(t->fabric, "c");
	assert_string_equal(pm_fabric_name(t->fabric, node), "c");
	node = pm_fabric_find_name(t->fabric, "");
	assert_int_equal(t->fabric->nodes[node].guid, 50);
	assert_int_equal(pm_fabric_find_name(t->fabric, "zz"), PM_NONE);
	assert_int_equal(pm_fabric_find_guid(t->fabric, 8), PM_NONE);
}

/* The labels of all nodes, against names compared one by one, and found by them. */
static void check_labels(const struct pm_fabric *f)
{
	for (uint32_t i = 0; i < f->num_nodes; i++) {
		const char *name = pm_fabric_name(f, i);
		unsigned int others = 0;
		char text[64], full[64];

		for (uint32_t k = 0; k < f->num_nodes; k++)
			others += k != i && !strcmp(pm_fabric_name(f, k), name);
		snprintf(full, sizeof(full), "%s (0x%016" PRIx64 ")", name,
			 f->nodes[i].guid);
		assert_int_equal(pm_fabric_find_label(f, full), i);
		snprintf(text, sizeof(text), "0x%016" PRIx64, f->nodes[i].guid);
		assert_string_equal(pm_fabric_label(f, i), !others ? name
							   : *name ? full
								   : text);
	}
}

static void test_labels(void **state)
{
	struct three *t = *state;
	struct pm_fabric *skeleton, *merged;
	uint32_t node;

	pm_fabric_add_node(t->fabric, PM_SWITCH, 10, 1, "c", &node, NULL);
	pm_fabric_add_node(t->fabric, PM_CA, 0x1000, 1, "", &node, NULL);
	pm_fabric_add_node(t->fabric, PM_CA, 0x1001, 1, "", &node, NULL);
	assert_string_equal(pm_fabric_label(t->fabric, node), "");
	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	check_labels(t->fabric);
	assert_string_equal(pm_fabric_label(t->fabric, 0), "s");
	assert_string_equal(pm_fabric_label(t->fabric, 1), "c (0x000000000000000a)");
	assert_string_equal(pm_fabric_name(t->fabric, 1), "c");
	assert_string_equal(pm_fabric_label(t->fabric, 4), "0x0000000000001000");
	skeleton = pm_fabric_skeleton(t->fabric);
	assert_non_null(skeleton);
	assert_string_equal(pm_fabric_label(skeleton, 1), "c (0x000000000000000a)");
	assert_int_equal(pm_fabric_merge(skeleton, skeleton, &merged, NULL), 0);
	check_labels(merged); /* where no CA is called c */
	assert_string_equal(pm_fabric_label(merged, 1), "c");
	pm_fabric_free(merged);
	pm_fabric_free(skeleton);
}

static void test_no_label(void **state)
{
	static const char *const rows[] = {
		"c",
		"",
		"(0x0000000000000007)",
		"c(0x0000000000000007)",
		"c  (0x0000000000000007)",
		"c (0x0000000000000007",
		"c (0x0000000000000007) ",
		"c (0x0000000000000007 )",
		"c (0x)",
		"c (7)",
		"c (0x0000000000000008)", /* no such GUID */
		"c (0x0000000000000009)", /* that of s */
		"cc (0x0000000000000007)",
		" (0x0000000000000007)",
		"c (0x10000000000000007)", /* 65 bits */
	};
	struct three *t = *state;

	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (pm_fabric_find_label(t->fabric, rows[i]) != PM_NONE)
			fail_msg("\"%s\"", rows[i]);
	assert_int_equal(pm_fabric_find_label(t->fabric, "c (0x7)"), 2);
}

/* Any nodes are given any few names and GUIDs, one after the other. */
static void test_renamed_labels(void **state)
{
	static const char *const names[] = {"a", "b", "c", "longer", ""};
	unsigned int seed = 1234;

	print_message("seed %u\n", seed);
	for (int round = 0; round < 50; round++) {
		struct pm_fabric *fabric = pm_fabric_new();
		uint32_t node, num = 1 + (uint32_t)rand_r(&seed) % 12;

		for (uint32_t i = 0; i < num; i++)
			assert_int_equal(
				pm_fabric_add_node(
					fabric, rand_r(&seed) % 2 ? PM_CA : PM_SWITCH,
					i + 1, 1,
					names[(size_t)rand_r(&seed) % LENGTH(names)],
					&node, NULL),
				0);
		assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
		check_labels(fabric);
		for (int times = 0; times < 40; times++) {
			uint64_t guid = 1 + (uint64_t)rand_r(&seed) % 20;

			pm_fabric_rename(fabric, (uint32_t)rand_r(&seed) % num, guid,
					 names[(size_t)rand_r(&seed) % LENGTH(names)],
					 NULL);
			check_labels(fabric);
		}
		pm_fabric_free(fabric);
	}
}

/* All ports of a switch have its GUID, also after it is renamed; a host's keep theirs. */
static void test_renamed_ports(void **state)
{
	const struct three *t = *state;
	struct pm_fabric *fabric = t->fabric;
	const struct pm_node *s, *host;

	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	s = &fabric->nodes[0];
	host = &fabric->nodes[1];
	fabric->ports[host->first_port + 1].guid = 0x51;
	assert_int_equal(pm_fabric_rename(fabric, 0, 0x77, "new", NULL), 0);
	assert_int_equal(pm_fabric_rename(fabric, 1, 0x78, "other", NULL), 0);
	assert_int_equal(s->type, PM_SWITCH);
	for (uint32_t p = 0; p <= s->num_ports; p++)
		assert_int_equal(fabric->ports[s->first_port + p].guid, 0x77);
	assert_int_equal(fabric->ports[host->first_port + 1].guid, 0x51);
	assert_int_equal(fabric->nodes[1].guid, 0x78);
	assert_int_equal(pm_fabric_rename(fabric, 1, 0x77, "third", NULL), -EEXIST);
	assert_int_equal(fabric->nodes[1].guid, 0x78);
	assert_string_equal(pm_fabric_name(fabric, 1), "other");
}

static void test_cut_and_clone(void **state)
{
	struct three *t = *state;
	struct pm_fabric *copy;
	uint32_t port, peer;

	assert_int_equal(pm_fabric_link(t->fabric, t->s, 5, t->c, 2, NULL), 0);
	assert_int_equal(pm_fabric_seal(t->fabric, NULL), 0);
	copy = pm_fabric_clone(t->fabric);
	assert_non_null(copy);
	port = t->fabric->nodes[0].first_port + 5;
	peer = t->fabric->ports[port].peer;
	pm_fabric_cut(t->fabric, port);
	assert_int_equal(t->fabric->ports[port].peer, PM_NONE);
	assert_int_equal(t->fabric->ports[peer].peer, PM_NONE);
	pm_fabric_cut(t->fabric, port);
	check(t->fabric);
	check(copy);
	assert_int_equal(copy->ports[port].peer, peer);
	assert_string_equal(pm_fabric_name(copy, 2), "c");
	pm_fabric_cut(copy, peer);
	assert_int_equal(copy->ports[port].peer, PM_NONE);
	pm_fabric_free(copy);
}

/* Random fabrics, built twice in different orders. */

#define NODES 60
#define LINKS 80

struct plan {
	unsigned int order[NODES];
	unsigned int links[LINKS][4]; /* node, port, node, port */
};

/* GUIDs fall and rise, and kinds alternate. */
static struct pm_fabric *build(const struct plan *plan)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t index[NODES];
	char name[16];

	assert_non_null(fabric);
	for (unsigned int i = 0; i < NODES; i++) {
		unsigned int node = plan->order[i];

		snprintf(name, sizeof(name), "n%u", node % 50); /* some twice */
		assert_int_equal(pm_fabric_add_node(fabric, node % 3 ? PM_CA : PM_SWITCH,
						    node * 7919 % 1009, 1 + node % 12,
						    name, &index[node], NULL),
				 0);
	}
	for (unsigned int i = 0; i < LINKS; i++) {
		const unsigned int *l = plan->links[i];

		/* Some fail, and the same ones whatever the order of nodes. */
		pm_fabric_link(fabric, index[l[0]], l[1], index[l[2]], l[3], NULL);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	check(fabric);
	return fabric;
}

static void assert_same(const struct pm_fabric *a, const struct pm_fabric *b)
{
	assert_int_equal(a->num_nodes, b->num_nodes);
	assert_int_equal(a->num_ports, b->num_ports);
	for (uint32_t i = 0; i < a->num_nodes; i++) {
		assert_int_equal(a->nodes[i].guid, b->nodes[i].guid);
		assert_int_equal(a->nodes[i].first_port, b->nodes[i].first_port);
		assert_string_equal(pm_fabric_name(a, i), pm_fabric_name(b, i));
		assert_string_equal(pm_fabric_label(a, i), pm_fabric_label(b, i));
	}
	for (uint32_t i = 0; i < a->num_ports; i++) {
		assert_int_equal(a->ports[i].guid, b->ports[i].guid);
		assert_int_equal(a->ports[i].node, b->ports[i].node);
		assert_int_equal(a->ports[i].peer, b->ports[i].peer);
		assert_int_equal(a->ports[i].num, b->ports[i].num);
	}
}

static void test_order_does_not_matter(void **state)
{
	unsigned int seed = 4711;
	struct plan plan;

	print_message("seed %u\n", seed);
	for (int round = 0; round < 50; round++) {
		struct pm_fabric *first, *second;

		for (unsigned int i = 0; i < NODES; i++)
			plan.order[i] = i;
		for (unsigned int i = 0; i < LINKS; i++)
			for (unsigned int j = 0; j < 4; j++)
				plan.links[i][j] = (unsigned int)rand_r(&seed) %
						   (j % 2 ? 13 : NODES);
		first = build(&plan);
		for (unsigned int i = NODES - 1; i > 0; i--) {
			unsigned int j = (unsigned int)rand_r(&seed) % (i + 1);
			unsigned int swap = plan.order[i];

			plan.order[i] = plan.order[j];
			plan.order[j] = swap;
		}
		second = build(&plan);
		assert_same(first, second);
		pm_fabric_free(first);
		pm_fabric_free(second);
	}
}

#define WITH_THREE(test) cmocka_unit_test_setup_teardown(test, make_three, free_three)

/*
 * Known and present parts: the present ones win where both have a switch or a port, and
 * the rest of both stays.
 */
static void test_merge(void **state)
{
	struct pm_fabric *old = recipe_draw("a/4 b/4 c/4 a:1=x b:1=y a:2=b:2 b:3=c:3");
	struct pm_fabric *now = recipe_draw("a/4 b/4 a:1=x a:2=z a:3=b:4");
	struct pm_fabric *topology = pm_fabric_skeleton(old), *merged = NULL;
	static const struct {
		unsigned int port, host, peer; /* ports of a, then b, then c; 0: none */
	} rows[] = {
		{1, PM_COMPUTE, 0}, {2, PM_COMPUTE, 0}, {3, 0, 9},  {4, 0, 0},
		{6, PM_COMPUTE, 0}, {7, 0, 0},		{8, 0, 13}, {9, 0, 3},
		{11, 0, 0},	    {12, 0, 0},		{13, 0, 8}, {14, 0, 0},
	};

	now->nodes[0].root = topology->nodes[1].root = topology->nodes[2].root = 1;
	topology->nodes[1].key = 7;
	topology->nodes[2].key = 8;
	assert_int_equal(pm_fabric_merge(topology, now, &merged, NULL), 0);
	assert_int_equal(merged->num_switches, 3);
	assert_int_equal(merged->nodes[pm_fabric_find_name(merged, "a")].root, 1);
	assert_int_equal(merged->nodes[pm_fabric_find_name(merged, "b")].root, 0);
	assert_int_equal(merged->nodes[pm_fabric_find_name(merged, "b")].key, 7);
	assert_int_equal(merged->nodes[pm_fabric_find_name(merged, "c")].root, 1);
	assert_int_equal(merged->nodes[pm_fabric_find_name(merged, "c")].key, 8);
	pm_fabric_free(merged);
	topology->nodes[1].key = topology->nodes[1].guid;
	topology->nodes[2].key = topology->nodes[2].guid;
	assert_int_equal(pm_fabric_merge(topology, now, &merged, NULL), 0);
	assert_int_equal(merged->num_ports, 15);
	for_each_row(row, rows) {
		const struct pm_port *port = &merged->ports[row->port];

		if (port->host != row->host ||
		    port->peer != (row->peer ? row->peer : PM_NONE))
			fail_msg("port %u: host %u, peer %u", row->port, port->host,
				 port->peer);
	}
	pm_fabric_free(merged);
	pm_fabric_free(topology);
	pm_fabric_free(now);
	pm_fabric_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		WITH_THREE(test_add_node_refuses),
		cmocka_unit_test(test_node_limit),
		cmocka_unit_test(test_merge_limit),
		WITH_THREE(test_link),
		WITH_THREE(test_seal_sorts),
		cmocka_unit_test(test_same_guid),
		WITH_THREE(test_find_name),
		WITH_THREE(test_labels),
		WITH_THREE(test_no_label),
		cmocka_unit_test(test_renamed_labels),
		WITH_THREE(test_renamed_ports),
		WITH_THREE(test_cut_and_clone),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
