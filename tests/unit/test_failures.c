/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/failures.h>

/*
 * A switch with the LID of another one as its name, and a host with a pattern as name.
 */
#define DRAWING                                                                          \
	"left/4 right/4 7/4 left:1=host-a right:1=host-b right:2=host-* left:3=7:1 "     \
	"left:4=7:2 right:3=7:3"

static uint16_t lid_of(const struct world *w, const char *name)
{
	return w->fabric->ports[world_port(w->fabric, name, 1)].lid;
}

static uint64_t guid_of(const struct world *w, const char *name)
{
	return w->fabric->nodes[pm_fabric_find_name(w->fabric, name)].guid;
}

/* The LIDs of the fabric: left 5, right 7, "7" 9, host-a 20 and 21, host-b 30. */
static void give_lids(struct world *w)
{
	static const struct {
		const char *name;
		unsigned int port;
		uint16_t lid;
		uint8_t lmc;
	} rows[] = {{"left", 0, 5, 0},
		    {"right", 0, 7, 0},
		    {"7", 0, 9, 0},
		    {"host-a", 1, 20, 1},
		    {"host-b", 1, 30, 0}};

	for (uint32_t i = 0; i < w->fabric->num_ports; i++)
		w->fabric->ports[i].lid = 0;
	for_each_row(row, rows) {
		struct pm_port *p =
			&w->fabric->ports[world_port(w->fabric, row->name, row->port)];

		p->lid = row->lid;
		p->lmc = row->lmc;
	}
}

/* The ports of a list as "left:3 left:4", in text. */
static void print_ports(const struct pm_fabric *fabric, const struct pm_ports *ports,
			char *text, size_t room)
{
	size_t used = 0;

	*text = '\0';
	for (uint32_t i = 0; i < ports->num; i++) {
		const struct pm_port *p = &fabric->ports[ports->list[i]];

		used += (size_t)snprintf(text + used, room - used, "%s%s:%u",
					 i ? " " : "", pm_fabric_name(fabric, p->node),
					 p->num);
	}
}

static const struct {
	const char *text;
	const char *found;  /* parts, or a message after '!' */
	const char *failed; /* ports that lose their cables */
} rows[] = {
	{"left", "left:0", "left:1 left:3 left:4"},
	{"left:3", "left:3", "left:3"},
	{"left:0x3", "left:3", "left:3"},
	{"*t", "left:0 right:0", "left:1 left:3 left:4 right:1 right:2 right:3"},
	{"*t:3", "left:3 right:3", "left:3 right:3"},
	{"l[e]ft", "left:0", "left:1 left:3 left:4"},
	{"host-a", "host-a:0", "host-a:1"},
	/* As cables are printed: by one end, or by both, in any order. */
	{"left[3]", "left:3", "left:3"},
	{"host-a[1]", "host-a:1", "host-a:1"},
	{"left[3]-7[1]", "left:3", "left:3"},
	{"7[1]-left[3]", "7:1", "7:1"},
	{"right[2]-host-*[1]", "right:2", "right:2"},
	{"*t[3]", "left:3 right:3", "left:3 right:3"},
	{"lid:7[2]", "right:2", "right:2"},
	{"left[3]-7[2]", "!--fail: no node or cable is named \"left[3]-7[2]\"", NULL},
	{"left[3]-7[1]x", "!--fail: no node is named \"left[3]-7[1]x\"", NULL},
	{"left[2]", "!--fail: \"left\" has no cable at port 2", NULL},
	{"left[0]", "!--fail left[0]: no such node, port or cable", NULL},
	{"left[3", "!--fail: no node is named \"left[3\"", NULL},
	{"left[30000000003]", "!--fail left[30000000003]: no such node, port or cable",
	 NULL},
	{"left:00000003", "!--fail left:00000003: no such node, port or cable", NULL},
	{"]", "!--fail: no node is named \"]\"", NULL},
	/* An exact name comes before the pattern, and a name before a LID. */
	{"host-*", "host-*:0", "host-*:1"},
	{"host-?", "host-a:0 host-b:0 host-*:0", "host-a:1 host-b:1 host-*:1"},
	{"7", "7:0", "7:1 7:2 7:3"},
	{"lid:7", "right:0", "right:1 right:2 right:3"},
	{"LID:7:2", "right:2", "right:2"},
	{"20", "host-a:0", "host-a:1"},
	{"lid:21", "host-a:0", "host-a:1"},
	{"lid:19", "!--fail: no node is named \"lid\"", NULL},
	{"lid:22", "!--fail: no node is named \"lid\"", NULL},
	{"22", "!--fail: no node is named \"22\"", NULL},
	{"lid:7:9", "!--fail: \"right\" has no cable at port 9", NULL},
	{"left:2", "!--fail: \"left\" has no cable at port 2", NULL},
	{"left:0", "!--fail left:0: no such node, port or cable", NULL},
	{"left:-1", "!--fail left:-1: no such node, port or cable", NULL},
	{"left:255", "!--fail left:255: no such node, port or cable", NULL},
	{"left:", "!--fail left:: no such node, port or cable", NULL},
	{"left:3x", "!--fail left:3x: no such node, port or cable", NULL},
	{":", "!--fail :: no such node, port or cable", NULL},
	{"up:3", "!--fail: no node is named \"up\"", NULL},
	{"", "!--fail: no node is named \"\"", NULL},
	{"lid:", "!--fail lid:: no such node, port or cable", NULL},
	{"0x", "!--fail: no node is named \"0x\"", NULL},
	{"0", "!--fail: no node is named \"0\"", NULL},
	{"0x0", "!--fail: no node is named \"0x0\"", NULL},
	{"99999999999999999999", "!--fail: no node is named \"99999999999999999999\"",
	 NULL},
	{"-18446744073709551609", "!--fail: no node is named \"-18446744073709551609\"",
	 NULL},
	/* Some have the port and some have not. */
	{"*t:2", "!--fail: \"left\" has no cable at port 2", NULL},
};

/* A chassis is what its switches' names begin with; hosts are in none. */
static void test_chassis(void **state)
{
	struct pm_ports chassis = {0}, pattern = {0}, none = {0};
	struct pm_error err;
	struct world w;

	world_make(&w, world_director(36), PM_GROUPED);
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "", "s1", &chassis, &err), 0);
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "", "s1-*", &pattern, &err),
			 0);
	assert_int_equal(chassis.num, 3 * 36);
	assert_int_equal(chassis.num, pattern.num);
	assert_memory_equal(chassis.list, pattern.list, chassis.num * sizeof(uint32_t));
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "-L", "h1", &none, &err),
			 -EINVAL);
	assert_string_equal(err.text, "-L: no node is named \"h1\"");
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "-L", "", &none, &err),
			 -EINVAL);
	free(chassis.list);
	free(pattern.list);
	free(none.list);
	world_free(&w);
}

static void test_names(void **state)
{
	struct world w;

	world_make(&w, recipe_draw(DRAWING), PM_GROUPED);
	give_lids(&w);
	for_each_row(row, rows) {
		const char *expected[] = {row->found, row->failed};

		for (int add = 0; add < 2; add++) {
			struct pm_ports ports = {0};
			struct pm_error err = {""};
			char text[1000] = "!";
			bool refused = row->found[0] == '!';
			int rc = (add ? pm_failures_add : pm_failures_find)(
				w.fabric, w.plan, "--fail", row->text, &ports, &err);

			if (rc)
				snprintf(text + 1, sizeof(text) - 1, "%s", err.text);
			else
				print_ports(w.fabric, &ports, text, sizeof(text));
			if (rc != (refused ? -EINVAL : 0) || (rc && ports.num) ||
			    strcmp(text, expected[refused ? 0 : add]))
				fail_msg("%s: %s", row->text, text);
			free(ports.list);
		}
	}
	world_free(&w);
}

/*
 * A plan's own fabric has no hosts: their ports are distinguished from ports without a
 * cable.
 */
static void test_host_of_plan(void **state)
{
	struct pm_ports ports = {0};
	struct pm_error err = {""};
	struct world w;

	world_make(&w, world_director(36), PM_GROUPED);
	assert_int_equal(pm_failures_find(w.plan->topology, w.plan, "drain", "leaf0:1",
					  &ports, &err),
			 -EINVAL);
	assert_string_equal(err.text, "drain: port 1 of leaf0 is a host's or free, and "
				      "no link between switches");
	assert_int_equal(pm_failures_find(w.plan->topology, w.plan, "drain", "leaf0:37",
					  &ports, &err),
			 -EINVAL);
	assert_string_equal(err.text, "drain: \"leaf0\" has no cable at port 37");
	free(ports.list);
	world_free(&w);
}

/* Names of exactly one node: as above, without ports and cables. */
static void test_one_node(void **state)
{
	static const struct {
		const char *text, *found; /* its name, or a message after '!' */
	} one[] = {
		{"left", "left"},
		{"l*", "left"},
		{"7", "7"},
		{"lid:7", "right"},
		{"20", "host-a"},
		{"host-*", "host-*"},
		{"left[3]", "!-s: no node is named \"left[3]\""},
		{"left:3", "!-s: no node is named \"left:3\""},
		{"nobody", "!-s: no node is named \"nobody\""},
		{"*t", NULL},
	};
	struct pm_error err = {""};
	uint32_t node = 0;
	struct world w;
	char guid[24], several[200];

	world_make(&w, recipe_draw(DRAWING), PM_GROUPED);
	give_lids(&w);
	snprintf(several, sizeof(several),
		 "!-s: 2 nodes are named \"*t\": give the GUID of one (0x%016llx, "
		 "0x%016llx)",
		 (unsigned long long)guid_of(&w, "left"),
		 (unsigned long long)guid_of(&w, "right"));
	for_each_row(row, one) {
		const char *wanted = row->found ? row->found : several;
		int rc = pm_failures_find_node(w.fabric, w.plan, "-s", row->text, &node,
					       &err);

		assert_int_equal(rc, *wanted == '!' ? -EINVAL : 0);
		assert_string_equal(rc ? err.text : pm_fabric_name(w.fabric, node),
				    wanted + (*wanted == '!'));
	}
	snprintf(guid, sizeof(guid), "S-%016llx",
		 (unsigned long long)w.fabric->nodes[0].guid);
	assert_int_equal(pm_failures_find_node(w.fabric, w.plan, "-s", guid, &node, &err),
			 0);
	assert_int_equal(node, 0);

	/* Without a plan a LID is one that a port has. */
	assert_int_equal(pm_failures_find_node(w.fabric, NULL, "-s", "7", &node, &err),
			 0);
	for (uint32_t i = 0; i < w.fabric->num_ports; i++)
		w.fabric->ports[i].lid = 0;
	assert_int_equal(
		pm_failures_find_node(w.fabric, NULL, "-s", "lid:7", &node, &err),
		-EINVAL);
	world_free(&w);
}

/* Names shared by nodes: sw by GUIDs 1 and 2, "s (old)" and h by one each, "" by two. */
static const struct {
	const char *text, *found;
	bool is_name;
} shared_rows[] = {
	{"sw", "1:0 2:0", true},
	{"sw:1", "1:1 2:1", true},
	{"sw[1]", "1:1 2:1", true},
	{"sw[2]-sw[3]", "1:2", true},
	{"sw[1]-h[1]", "1:1", true},
	{"s?", "1:0 2:0", false},
	{"s?:1", "1:1 2:1", false},
	{"s[w]", "1:0 2:0", false},
	{"sw (0x0000000000000001)", "1:0", false},
	{"sw (0x2)", "2:0", false},
	{"sw (0x0000000000000001):2", "1:2", false},
	{"sw (0x0000000000000002)[1]", "2:1", false},
	{"sw (0x0000000000000002)[3]-sw (0x0000000000000001)[2]", "2:3", false},
	{"sw (0x0000000000000001)[2]-sw[3]", "1:2", false},
	{"sw[2]-sw (0x0000000000000002)[3]", "1:2", true},
	{"sw[2]-sw (0x0000000000000001)[3]", "!", false},
	{"sw (0x0000000000000002)[2]-sw (0x0000000000000001)[3]", "!", false},
	{"h (0x0000000000000004)", "4:0", false},
	{"h (0x0000000000000004)[1]-sw[1]", "4:1", false},
	{"h (0x0000000000000001)", "!", false},
	{"s (old)", "3:0", true},
	{"s (old) (0x0000000000000003)", "3:0", false},
	{"s (old)[4]", "3:4", true},
	{"", "5:0 6:0", true},
	{"0x0000000000000005", "5:0", false},
	{"0x0000000000000005[1]-s (old)[1]", "5:1", false},
	{"s (old)[2]-0x0000000000000006[1]", "3:2", true},
	{"0x0000000000000006[1]-s (old)[1]", "!", false},
};

static struct pm_fabric *make_shared(void)
{
	static const char *const names[] = {"sw", "sw", "s (old)", "h", "", ""};
	static const uint32_t links[][4] = {{0, 1, 3, 1}, {0, 2, 1, 3}, {2, 1, 4, 1},
					    {2, 2, 5, 1}, {2, 4, 0, 4}, {1, 1, 2, 5}};
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t node;

	for (uint32_t i = 0; i < LENGTH(names); i++)
		assert_int_equal(pm_fabric_add_node(fabric, i < 3 ? PM_SWITCH : PM_CA,
						    i + 1, 5, names[i], &node, NULL),
				 0);
	for (size_t i = 0; i < LENGTH(links); i++)
		assert_int_equal(pm_fabric_link(fabric, links[i][0], links[i][1],
						links[i][2], links[i][3], NULL),
				 0);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static void test_shared_names(void **state)
{
	struct pm_fabric *fabric = make_shared();

	for_each_row(row, shared_rows) {
		struct pm_ports things = {0};
		char found[100] = "";
		int rc = pm_failures_find(fabric, NULL, "-", row->text, &things, NULL);

		if (rc)
			strcpy(found, "!");
		for (uint32_t k = 0; k < things.num; k++) {
			const struct pm_port *p = &fabric->ports[things.list[k]];

			sprintf(found + strlen(found), "%s%u:%u", k ? " " : "",
				(unsigned int)fabric->nodes[p->node].guid, p->num);
			if (pm_failures_is_name(fabric, things.list[k], row->text) !=
			    row->is_name)
				fail_msg("\"%s\": not as a name", row->text);
		}
		if (strcmp(found, row->found) != 0)
			fail_msg("\"%s\": %s", row->text, found);
		free(things.list);
	}
	pm_fabric_free(fabric);
}

/* A node or a cable is found by its name in lists. */
static void test_labels(void **state)
{
	struct pm_fabric *fabric = make_shared();
	char text[200];

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *p = &fabric->ports[i];
		struct pm_ports things = {0};
		int used = snprintf(text, sizeof(text), "%s",
				    pm_fabric_label(fabric, p->node));

		if (p->num && p->peer == PM_NONE)
			continue;
		if (p->num)
			snprintf(text + used, sizeof(text) - (size_t)used, "[%u]-%s[%u]",
				 p->num,
				 pm_fabric_label(fabric, pm_fabric_peer_node(fabric, i)),
				 fabric->ports[p->peer].num);
		assert_int_equal(pm_failures_find(fabric, NULL, "-", text, &things, NULL),
				 0);
		assert_int_equal(things.num, 1);
		assert_int_equal(things.list[0], i);
		free(things.list);
	}
	pm_fabric_free(fabric);
}

/* A GUID is that of a node or of one of its ports. */
static void test_guids(void **state)
{
	struct pm_ports ports = {0};
	struct world w;
	char text[40];

	world_make(&w, recipe_draw(DRAWING), PM_GROUPED);
	for (uint32_t node = 0; node < w.fabric->num_nodes; node++) {
		const struct pm_node *n = &w.fabric->nodes[node];
		uint32_t port = n->first_port + (node >= w.fabric->num_switches);

		w.fabric->ports[port].guid = 0xabc000 + node;
		for (int i = 0; i < 2; i++) {
			snprintf(text, sizeof(text), "0%c%llx", i ? 'X' : 'x',
				 (unsigned long long)(i ? 0xabc000 + node : n->guid));
			ports.num = 0;
			assert_int_equal(pm_failures_find(w.fabric, w.plan, "", text,
							  &ports, NULL),
					 0);
			assert_int_equal(ports.num, 1);
			assert_int_equal(ports.list[0], n->first_port);
		}
		/* As ibnetdiscover names it. */
		snprintf(text, sizeof(text), "%c-%016llx",
			 node < w.fabric->num_switches ? 'S' : 'H',
			 (unsigned long long)n->guid);
		ports.num = 0;
		assert_int_equal(
			pm_failures_find(w.fabric, w.plan, "", text, &ports, NULL), 0);
		assert_int_equal(ports.num, 1);
		assert_int_equal(ports.list[0], n->first_port);
	}
	free(ports.list);
	world_free(&w);
}

/* The plan's LIDs count where the fabric has none, and only there. */
static void test_planned_lids(void **state)
{
	struct pm_ports ports = {0};
	struct pm_error err;
	struct world w;
	char text[40];
	uint16_t host, sw;

	world_make(&w, recipe_draw(DRAWING), PM_GROUPED);
	host = lid_of(&w, "host-b");
	sw = w.fabric->ports[world_port(w.fabric, "right", 0)].lid;
	for (uint32_t i = 0; i < w.fabric->num_ports; i++)
		w.fabric->ports[i].lid = 0;
	snprintf(text, sizeof(text), "lid:%u", host);
	assert_int_equal(pm_failures_find(w.fabric, w.plan, "", text, &ports, NULL), 0);
	snprintf(text, sizeof(text), "lid:%u:3", sw);
	assert_int_equal(pm_failures_find(w.fabric, w.plan, "", text, &ports, NULL), 0);
	assert_int_equal(ports.num, 2);
	assert_int_equal(ports.list[0], world_port(w.fabric, "host-b", 0));
	assert_int_equal(ports.list[1], world_port(w.fabric, "right", 3));
	/* Results from before a failure stay. */
	snprintf(text, sizeof(text), "lid:%u", PM_MAX_LID + 1u);
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "", text, &ports, &err),
			 -EINVAL);
	assert_int_equal(pm_failures_add(w.fabric, w.plan, "", "*t:2", &ports, &err),
			 -EINVAL);
	assert_int_equal(ports.num, 2);
	/* The plan's LID for an empty place belongs to no node. */
	pm_fabric_cut(w.fabric, world_port(w.fabric, "host-b", 1));
	snprintf(text, sizeof(text), "lid:%u", host);
	assert_int_equal(pm_failures_find(w.fabric, w.plan, "", text, &ports, &err),
			 -EINVAL);
	w.fabric->ports[world_port(w.fabric, "left", 0)].lid = 1000;
	snprintf(text, sizeof(text), "lid:%u", sw);
	assert_int_equal(pm_failures_find(w.fabric, w.plan, "", text, &ports, &err),
			 -EINVAL);
	free(ports.list);
	world_free(&w);
}

/* ---- Every one of a kind ---- */

/* Failures, "/" between them, each as the ports that lose their cables. */
static void print_failures(const struct pm_failures *failures, char *text, size_t room)
{
	size_t used = 0;

	*text = '\0';
	for (uint64_t k = 0; k < failures->count; k++) {
		struct pm_ports ports = {0};

		if (k)
			used += (size_t)snprintf(text + used, room - used, " / ");
		assert_int_equal(pm_failures_ports(failures, k, &ports), 0);
		print_ports(failures->fabric, &ports, text + used, room - used);
		used = strlen(text);
		free(ports.list);
	}
}

static void test_kinds(void **state)
{
	static const struct {
		const char *name;
		bool pairs;
		const char *failures;
	} kinds[] = {
		{"links", false, "l0:3 / l0:4 / l1:3"},
		{"switches", false, "l0:1 l0:3 l0:4 / l1:1 l1:3 / s0:1 s0:2 / s1:1"},
		{"leaves", false, "l0:1 l0:3 l0:4 / l1:1 l1:3"},
		{"spines", false, "s0:1 s0:2 / s1:1"},
		{"hosts", false, "a:1 / b:1"},
		{"links", true, "l0:3 l0:4 / l0:3 l1:3 / l0:4 l1:3"},
		{"spines", true, "s0:1 s0:2 s1:1"},
	};
	struct world w;

	world_make(
		&w,
		recipe_draw(
			"l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:3=s0:1 l0:4=s1:1 l1:3=s0:2"),
		PM_GROUPED);
	for_each_row(row, kinds) {
		enum pm_failure_kind kind;
		struct pm_failures failures;
		char text[1000];

		assert_int_equal(pm_failure_kind_parse(row->name, &kind), 0);
		assert_string_equal(pm_failure_kind_name(kind), row->name);
		assert_int_equal(pm_failures_list(w.fabric, &w.plan->tree, kind,
						  row->pairs, &failures, NULL),
				 0);
		print_failures(&failures, text, sizeof(text));
		if (strcmp(text, row->failures))
			fail_msg("%s: %s", row->name, text);
		pm_failures_free(&failures);
		pm_failures_free(&failures); /* a repetition is harmless */
	}
	assert_int_equal(pm_failure_kind_parse("link", &(enum pm_failure_kind){0}),
			 -EINVAL);
	world_free(&w);
}

/* Every pair once, in an order that more elements do not change; also far out. */
static void test_pairs(void **state)
{
	enum { NUM = 200 };
	uint32_t elements[NUM], found[2];
	struct pm_failures failures = {
		.pairs = true, .element = elements, .num_elements = NUM};
	uint64_t k = 0;

	for (uint32_t i = 0; i < NUM; i++)
		elements[i] = 1000 + i;
	for (uint32_t j = 0; j < NUM; j++)
		for (uint32_t i = 0; i < j; i++, k++) {
			assert_int_equal(pm_failures_elements(&failures, k, found), 2);
			assert_int_equal(found[0], 1000 + i);
			assert_int_equal(found[1], 1000 + j);
		}
	failures.pairs = false;
	assert_int_equal(pm_failures_elements(&failures, 7, found), 1);
	assert_int_equal(found[0], 1007);
}

/* None, and pairs of none and of one. */
static void test_none(void **state)
{
	struct pm_failures failures;
	struct world w;

	world_make(&w, recipe_draw("s/4 s:1=a s:2=b"), PM_GROUPED);
	assert_int_equal(pm_failures_list(w.fabric, &w.plan->tree, PM_FAIL_LINKS, true,
					  &failures, NULL),
			 0);
	assert_int_equal(failures.count, 0);
	pm_failures_free(&failures);
	assert_int_equal(pm_failures_list(w.fabric, &w.plan->tree, PM_FAIL_SWITCHES, true,
					  &failures, NULL),
			 0);
	assert_int_equal(failures.count, 0);
	pm_failures_free(&failures);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_host_of_plan),
		cmocka_unit_test(test_one_node), cmocka_unit_test(test_chassis),
		cmocka_unit_test(test_guids),	 cmocka_unit_test(test_planned_lids),
		cmocka_unit_test(test_kinds),	 cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_none),	 cmocka_unit_test(test_shared_names),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
