/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A refresh against a snapshot and a match, while nodes, cables and LIDs go and come at
 * random: either the refresh reports a new part, and there is one, or both see the same.
 */
#include "recipe.h"
#include "unit.h"
#include "osm/snapshot.h"

#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>

#include <pthread.h>
#include <time.h>

#define ROUNDS 20000
#define RELEARN 50 /* rounds */
#define MOST_LIDS 200
#define MOST_NODES 32

static struct pm_fabric *fabric;
static struct pm_plan *plan;
static osm_node_t *nodes[MOST_NODES];
static osm_switch_t switches[32];
static osm_opensm_t osm;
static struct random dice = {4711};

static osm_port_t ends[32]; /* [node], each has one */

struct osm_port *osm_get_port_by_guid(const osm_subn_t *of, ib_net64_t guid)
{
	assert_ptr_equal(of, &osm.subn);
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (ends[i].guid == guid)
			return &ends[i];
	return NULL;
}

/* As OpenSM has it: by the number of the port. */
static uint8_t discovered_ports[MOST_NODES][PM_MAX_PORTS + 1];

static osm_physp_t *physp_at(uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return &nodes[p->node]->physp_table[p->num];
}

static bool is_switch(uint32_t node)
{
	return node < fabric->num_switches;
}

static bool has_lid(uint32_t port)
{
	return is_switch(fabric->ports[port].node) == (fabric->ports[port].num == 0);
}

static void make_node(uint32_t index)
{
	const struct pm_node *n = &fabric->nodes[index];
	osm_node_t *node = calloc(1, sizeof(*node) + n->num_ports * sizeof(osm_physp_t));

	assert_non_null(node);
	nodes[index] = ends[index].p_node = node;
	node->node_info.node_type =
		is_switch(index) ? IB_NODE_TYPE_SWITCH : IB_NODE_TYPE_CA;
	node->node_info.node_guid = cl_hton64(n->guid);
	node->physp_tbl_size = n->num_ports + 1u;
	node->physp_discovered = discovered_ports[index];
	node->sw = is_switch(index) ? &switches[index] : NULL;
	for (uint32_t p = is_switch(index) ? 0 : 1; p <= n->num_ports; p++) {
		osm_physp_t *physp = &node->physp_table[p];

		physp->port_guid = cl_hton64(fabric->ports[n->first_port + p].guid);
		physp->port_num = (uint8_t)p;
		physp->p_node = node;
		ends[index].guid = physp->port_guid;
	}
}

/* As OpenSM's LID manager does, with an answer. */
static void set_lid(uint32_t port, uint16_t lid)
{
	osm_physp_t *physp = physp_at(port);

	cl_ptr_vector_set(&osm.subn.port_lid_tbl, cl_ntoh16(physp->port_info.base_lid),
			  NULL);
	cl_ptr_vector_set(&osm.subn.port_lid_tbl, lid,
			  lid ? &ends[fabric->ports[port].node] : NULL);
	physp->port_info.base_lid = cl_hton16(lid);
}

static void restore_lids(void)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (physp_at(i)->port_guid && has_lid(i))
			set_lid(i, 0);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (physp_at(i)->port_guid && has_lid(i))
			set_lid(i, plan->lid[pm_plan_place(plan, fabric, i)]);
}

/* Everything is there, and has its LID. */
static void restore(void)
{
	restore_lids();
	memset(discovered_ports, 1, sizeof(discovered_ports));
	cl_qmap_init(&osm.subn.node_guid_tbl);
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		nodes[i]->discovery_count = 1;
		cl_qmap_insert(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid,
			       &nodes[i]->map_item);
	}
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;
		osm_physp_t *physp = physp_at(i);

		if (!physp->port_guid)
			continue;
		physp->healthy = TRUE;
		physp->p_remote_physp = peer == PM_NONE ? NULL : physp_at(peer);
		ib_port_info_set_port_state(&physp->port_info, peer == PM_NONE
								       ? IB_LINK_DOWN
								       : IB_LINK_ACTIVE);
	}
}

/* A port with a cable. */
static uint32_t any_link(void)
{
	uint32_t port;

	do
		port = random_below(&dice, fabric->num_ports);
	while (fabric->ports[port].peer == PM_NONE);
	return port;
}

static void unlink_port(uint32_t port)
{
	osm_physp_t *physp = physp_at(port);

	if (physp->p_remote_physp)
		physp->p_remote_physp->p_remote_physp = NULL;
	physp->p_remote_physp = NULL;
}

static void fail_all_links(uint32_t node)
{
	for (uint32_t p = 1; p <= fabric->nodes[node].num_ports; p++)
		unlink_port(fabric->nodes[node].first_port + p);
}

static void fail_node(void)
{
	uint32_t node = random_below(&dice, fabric->num_nodes);

	nodes[node]->discovery_count = 0;
	if (random_chance(&dice, 50))
		return;
	cl_qmap_remove(&osm.subn.node_guid_tbl, nodes[node]->node_info.node_guid);
	fail_all_links(node);
}

/* The other ends of two cables change places. */
static void swap_links(void)
{
	osm_physp_t *a = physp_at(any_link()), *b = physp_at(any_link());
	osm_physp_t *c = a->p_remote_physp, *d = b->p_remote_physp;

	if (!c || !d || a == b || a == d)
		return;
	a->p_remote_physp = d;
	d->p_remote_physp = a;
	b->p_remote_physp = c;
	c->p_remote_physp = b;
}

/* To one that nobody has, or none. */
static void change_lid(void)
{
	uint16_t lid = 0;
	uint32_t port;

	do
		port = random_below(&dice, fabric->num_ports);
	while (!has_lid(port));
	if (random_chance(&dice, 50))
		do
			lid = (uint16_t)random_below(&dice, MOST_LIDS);
		while (cl_ptr_vector_get(&osm.subn.port_lid_tbl, lid));
	set_lid(port, lid);
}

static void change_state(void)
{
	static const uint8_t states[] = {IB_LINK_NO_CHANGE, IB_LINK_DOWN, IB_LINK_INIT,
					 IB_LINK_ARMED, 7};

	ib_port_info_set_port_state(&physp_at(any_link())->port_info,
				    states[random_below(&dice, sizeof(states))]);
}

static void change(void)
{
	switch (random_below(&dice, 12)) {
	case 0:
		fail_node();
		break;
	case 1:
		swap_links();
		break;
	case 2:
		change_lid();
		break;
	case 3:
	case 4:
		physp_at(any_link())->healthy = FALSE;
		break;
	case 5:
	case 6:
	case 7:
		unlink_port(any_link());
		break;
	default:
		change_state();
	}
}

static bool has_planned_lids(const struct pm_fabric *now)
{
	for (uint32_t i = 0; i < now->num_ports; i++) {
		uint32_t place = snapshot_has_place(now, i) ? pm_plan_place(plan, now, i)
							    : PM_NONE;

		if (place != PM_NONE && now->ports[i].lid != plan->lid[place])
			return false;
	}
	return true;
}

/* The result of a snapshot; false: it has a part that is not in the plan. */
static bool match(uint8_t *discovered, uint32_t *sm)
{
	const struct pm_roles none = {.roots = {0}};
	struct subnet_cache fresh = {.plan = NULL};
	struct pm_fabric *now;
	bool matches;

	assert_int_equal(subnet_cache_learn(&fresh, &osm.subn, NULL), 0);
	assert_int_equal(snapshot_copy(&fresh, &osm.subn, false, &now, NULL), 0);
	assert_int_equal(snapshot_finish(&none, &now, NULL), 0);
	matches = pm_plan_match(plan, now, discovered) && has_planned_lids(now);
	*sm = PM_NONE;
	for (uint32_t i = 0; i < now->num_ports; i++)
		if (now->ports[i].guid == cl_ntoh64(osm.subn.sm_port_guid) &&
		    snapshot_has_place(now, i))
			*sm = pm_plan_place(plan, now, i);
	pm_fabric_free(now);
	subnet_cache_forget(&fresh);
	return matches;
}

/* Learns the subnet after changes that the plan knows. */
static void learn(struct subnet_cache *cache, uint32_t changes, uint8_t *discovered)
{
	uint32_t sm;

	do {
		restore();
		for (uint32_t i = 0; i < changes; i++)
			change();
	} while (!match(discovered, &sm));
	assert_int_equal(subnet_cache_learn(cache, &osm.subn, NULL), 0);
	assert_false(subnet_cache_refresh(cache, &osm.subn, NULL));
	subnet_cache_bind(cache, plan);
}

/* Of what is discovered, of what is not, and of one port. */
static void check_sees_any(const struct subnet_cache *cache, const uint8_t *discovered,
			   uint32_t num)
{
	uint8_t *ports = calloc(num, 1);
	uint32_t one = random_below(&dice, num);

	assert_non_null(ports);
	for (uint32_t i = 0; i < num; i++)
		ports[i] = !discovered[i];
	assert_false(subnet_cache_sees_any(cache, ports, 1));
	assert_true(subnet_cache_sees_any(cache, discovered, 1));
	memset(ports, 0, num);
	ports[one] = 1;
	assert_int_equal(subnet_cache_sees_any(cache, ports, 1), discovered[one]);
	free(ports);
}

static void test_random(void **state)
{
	uint32_t num = plan->topology->num_ports, known_whole = 0, sm;
	uint8_t *discovered = calloc(2, num), *expected = discovered + num;
	struct subnet_cache cache = {.plan = NULL};

	assert_non_null(discovered);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool matches, known, whole = round / RELEARN % 2;

		if (round % RELEARN == 0)
			learn(&cache, whole ? 0 : 2, expected);
		restore();
		for (uint32_t i = random_below(&dice, 4); i > 0; i--)
			change();
		matches = match(expected, &sm);
		known = subnet_cache_refresh(&cache, &osm.subn, NULL);
		/* A part that was absent when the cache learnt is new to it. */
		if (!known)
			continue;
		assert_true(matches);
		subnet_cache_see(&cache, discovered);
		assert_memory_equal(discovered, expected, num);
		check_sees_any(&cache, discovered, num);
		assert_int_equal(subnet_cache_sm_place(&cache), sm);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		for (uint32_t i = 0; i < cache.num_ports; i++)
			assert_true(cache.ports[i].used ||
				    !subnet_cache_is_connected(&cache, i));
		known_whole += whole;
	}
	print_message("%u of %u known\n", known_whole, ROUNDS / 2);
	assert_true(known_whole > ROUNDS / 2 * 3 / 4);
	free(discovered);
	subnet_cache_forget(&cache);
}

/*
 * The present fabric as text; NULL: its hash is *hash. The caller frees it. cache:
 * refreshed now; or NULL.
 */
static char *changed_text(struct subnet_cache *cache, struct snapshot_hash *hash,
			  struct pm_fabric **copy)
{
	uint64_t fresh = cache && subnet_cache_refresh(cache, &osm.subn, NULL)
				 ? subnet_cache_hash(cache)
				 : 0;
	const struct pm_roles none = {.roots = {0}};
	char *text = NULL;
	size_t length;
	FILE *out;

	assert_int_equal(snapshot_changed(&osm, &none, fresh, hash, copy, NULL), 0);
	if (!*copy)
		return NULL;
	out = open_memstream(&text, &length);
	assert_non_null(out);
	pm_netlist_write(*copy, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void check_changed(struct subnet_cache *cache, struct snapshot_hash *hash,
			  const char *before)
{
	struct snapshot_hash none = {0};
	struct pm_fabric *now, *anew;
	char *text = changed_text(cache, hash, &now);
	char *expected = changed_text(NULL, &none, &anew);

	assert_non_null(expected);
	if (text || !cache)
		assert_memory_equal(hash, &none, offsetof(struct snapshot_hash, cache));
	assert_string_equal(text ? text : before, expected);
	pm_fabric_free(now);
	pm_fabric_free(anew);
	free(text);
	free(expected);
}

/* A snapshot is made anew only of what has changed, of links' speeds and names, too. */
static void test_changed(void **state)
{
	uint8_t *discovered = calloc(1, plan->topology->num_ports);
	struct subnet_cache cache = {.plan = NULL};
	uint32_t kept = 0;

	assert_non_null(discovered);
	learn(&cache, 0, discovered);
	for (uint32_t round = 0; round < ROUNDS / 10; round++) {
		struct snapshot_hash hash = {0}, first;
		struct pm_fabric *now;
		char *before;

		restore();
		before = changed_text(&cache, &hash, &now);
		first = hash;
		assert_non_null(before);
		pm_fabric_free(now);
		for (uint32_t i = random_below(&dice, 3); i > 0; i--)
			change();
		if (random_chance(&dice, 20)) {
			ib_port_info_t *info = &physp_at(any_link())->port_info;

			info->link_width_active = IB_LINK_WIDTH_ACTIVE_4X;
			info->link_speed ^= IB_LINK_SPEED_ACTIVE_5 << 4;
		}
		check_changed(&cache, &hash, before);
		kept += hash.ports == first.ports && hash.nodes == first.nodes;
		free(before);
	}
	assert_true(kept > ROUNDS / 10 / 5 && kept < ROUNDS / 10 * 4 / 5);
	free(discovered);
	subnet_cache_forget(&cache);
}

static void test_renamed(void **state)
{
	struct pm_fabric *now;
	struct snapshot_hash hash = {0};
	char *before;

	restore();
	nodes[0]->print_desc = (char *)(uintptr_t) "one";
	before = changed_text(NULL, &hash, &now);
	pm_fabric_free(now);
	nodes[0]->print_desc = (char *)(uintptr_t) "two";
	check_changed(NULL, &hash, before);
	nodes[0]->print_desc = NULL;
	free(before);
}

/* OpenSM's actions between discovery and routing. */
static void test_unchanged(void **state)
{
	struct subnet_cache cache = {.plan = NULL};

	restore();
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	subnet_cache_bind(&cache, plan);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		restore();
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		subnet_cache_keep(&cache);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		if (has_lid(i)) {
			set_lid(i, MOST_LIDS - 1);
			assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
			assert_false(subnet_cache_refresh(&cache, &osm.subn, NULL));
			restore();
		}
		if (fabric->ports[i].peer == PM_NONE)
			continue;
		unlink_port(i);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		assert_false(subnet_cache_is_kept(&cache));
	}
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		restore();
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		cl_qmap_remove(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		/* One that was not found is dropped, and changes nothing. */
		restore();
		fail_all_links(i);
		nodes[i]->discovery_count = 0;
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		cl_qmap_remove(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		cl_qmap_remove(&osm.subn.node_guid_tbl,
			       nodes[(i + 1) % fabric->num_nodes]->node_info.node_guid);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	}
	subnet_cache_forget(&cache);
}

/* Actions of OpenSM's drop manager that the refresh can predict. */
static void test_unheard(void **state)
{
	struct subnet_cache cache = {.plan = NULL};

	restore();
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, false));
	subnet_cache_bind(&cache, plan);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];

		restore();
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		if (has_lid(i)) {
			set_lid(i, MOST_LIDS - 1);
			assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, false));
			restore();
		}
		if (port->peer == PM_NONE)
			continue;
		/* Unexpected changes are not looked for, .. */
		unlink_port(i);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		/* .. unless OpenSM says that something failed. */
		osm.subn.subnet_initialization_error = TRUE;
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		osm.subn.subnet_initialization_error = FALSE;
		restore();
		discovered_ports[port->node][port->num] = 0;
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		/* What OpenSM's drop manager does then. */
		if (is_switch(port->node))
			unlink_port(i);
		else
			set_lid(i, 0);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, false));
	}
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		restore();
		fail_all_links(i);
		nodes[i]->discovery_count = 0;
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		cl_qmap_remove(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, false));
		cl_qmap_remove(&osm.subn.node_guid_tbl,
			       nodes[(i + 1) % fabric->num_nodes]->node_info.node_guid);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, false));
	}
	subnet_cache_forget(&cache);
}

/* OpenSM's node is freed, and what it has of the same node is elsewhere then. */
static void move_node(uint32_t index)
{
	const struct pm_node *n = &fabric->nodes[index];
	osm_node_t *old = nodes[index], *node;

	make_node(index);
	node = nodes[index];
	node->discovery_count = old->discovery_count;
	for (uint32_t p = 0; p <= n->num_ports; p++) {
		osm_physp_t *physp = &node->physp_table[p];

		*physp = old->physp_table[p];
		physp->p_node = physp->port_guid ? node : NULL;
		if (physp->p_remote_physp)
			physp->p_remote_physp->p_remote_physp = physp;
	}
	cl_qmap_remove(&osm.subn.node_guid_tbl, node->node_info.node_guid);
	cl_qmap_insert(&osm.subn.node_guid_tbl, node->node_info.node_guid,
		       &node->map_item);
	memset(old, 0xee, sizeof(*old) + n->num_ports * sizeof(osm_physp_t));
	free(old);
}

/* No pointer of OpenSM's is kept: it may free anything between two refreshes. */
static void test_freed(void **state)
{
	struct subnet_cache cache = {.plan = NULL};

	restore();
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	subnet_cache_bind(&cache, plan);
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		move_node(i);
		assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		/* One that is gone, and another in its place in memory. */
		cl_qmap_remove(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid);
		fail_all_links(i);
		memset(nodes[i]->physp_table, 0xee, sizeof(osm_physp_t));
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		nodes[i]->node_info.node_guid ^= cl_hton64(UINT64_C(1) << 40);
		cl_qmap_insert(&osm.subn.node_guid_tbl, nodes[i]->node_info.node_guid,
			       &nodes[i]->map_item);
		assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
		assert_false(subnet_cache_refresh(&cache, &osm.subn, NULL));
		free(nodes[i]);
		make_node(i);
		restore();
	}
	for (uint32_t i = 0; i < cache.num_nodes; i++)
		assert_null(cache.nodes[i].here);
	subnet_cache_forget(&cache);
}

/* A cable to a node that cannot be used is none. */
static void test_unusable(void **state)
{
	struct subnet_cache cache = {.plan = NULL};
	uint32_t sw = fabric->num_switches - 1;

	restore();
	nodes[sw]->sw = NULL; /* it did not answer */
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	subnet_cache_bind(&cache, plan);
	assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
	assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	nodes[sw]->sw = &switches[sw];
	assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	assert_false(subnet_cache_refresh(&cache, &osm.subn, NULL));
	subnet_cache_forget(&cache);
}

/* Widths and speeds as PortInfo has them. */
static void test_links(void **state)
{
	static const struct {
		uint8_t width, speed, extended, fdr10;
		const char *link;
	} rows[] = {
		{1, 0x10, 0, 0, "1xSDR"},     {2, 0x2f, 0, 0, "4xDDR"},
		{4, 0x40, 0, 0, "8xQDR"},     {8, 0x40, 0, 1, "12xFDR10"},
		{16, 0x40, 0x1f, 1, "2xFDR"}, {2, 0x40, 0x2f, 0, "4xEDR"},
		{2, 0, 0x40, 0, "4xHDR"},     {2, 0, 0x80, 0, "4xNDR"},
		{2, 0, 0, 1, "4x?"},	      {3, 0x40, 0, 0, "?xQDR"},
		{32, 0xf0, 0, 0, "?"},	      {0, 0, 0xf0, 0, "?"},
	};
	struct subnet_cache cache = {.sm = PM_NONE};
	uint8_t *link = calloc(plan->topology->num_ports, 1);
	uint32_t port = fabric->nodes[0].first_port + 3, dark = port + 2;
	char text[PM_LINK_TEXT];

	assert_non_null(link);
	assert_true(fabric->ports[port].peer != PM_NONE);
	assert_true(fabric->ports[dark].peer == PM_NONE);
	restore();
	/* This end is not queried. */
	physp_at(fabric->ports[port].peer)->port_info.link_width_active = 1;
	physp_at(fabric->ports[port].peer)->port_info.link_speed = 0x10;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		for (uint32_t k = 0; k < 2; k++) {
			osm_physp_t *physp = physp_at(k ? dark : port);

			physp->port_info.link_width_active = rows[i].width;
			physp->port_info.link_speed = rows[i].speed;
			physp->port_info.link_speed_ext = rows[i].extended;
			physp->ext_port_info.link_speed_active = rows[i].fdr10;
		}
		/* Learnt at first, then refreshed. */
		if (!i) {
			assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
			subnet_cache_bind(&cache, plan);
		} else {
			assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
		}
		memset(link, 0xff, plan->topology->num_ports);
		subnet_cache_links(&cache, link);
		assert_string_equal(pm_link_print(link[port], text), rows[i].link);
		assert_int_equal(link[dark], 0);
		assert_int_equal(link[fabric->ports[port].peer], 0);
	}
	unlink_port(port);
	assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
	subnet_cache_links(&cache, link);
	assert_int_equal(link[port], 0);
	subnet_cache_forget(&cache);
	free(link);
}

/* As in OpenSM's first sweep: what was learnt had no LIDs yet. */
static void test_lids_given(void **state)
{
	struct subnet_cache cache = {.plan = NULL};

	restore();
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (physp_at(i)->port_guid && has_lid(i))
			set_lid(i, 0);
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	subnet_cache_bind(&cache, plan);
	assert_false(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	restore();
	assert_true(subnet_cache_is_unchanged(&cache, &osm.subn, true));
	assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
	subnet_cache_forget(&cache);
}

/* As a performance manager does, once it has the lock. */
static void *drop_last(void *unused)
{
	CL_PLOCK_EXCL_ACQUIRE(&osm.lock);
	cl_qmap_remove(&osm.subn.node_guid_tbl,
		       nodes[fabric->num_nodes - 1]->node_info.node_guid);
	CL_PLOCK_RELEASE(&osm.lock);
	return unused;
}

/* Others get the lock during a refresh; a node that was dropped then is not read. */
static void test_shared(void **state)
{
	struct subnet_cache cache = {.plan = NULL};
	const time_t end = time(NULL) + 20;
	pthread_t thread;
	bool same;

	restore();
	assert_int_equal(subnet_cache_learn(&cache, &osm.subn, NULL), 0);
	subnet_cache_bind(&cache, plan);
	CL_PLOCK_ACQUIRE(&osm.lock);
	assert_int_equal(pthread_create(&thread, NULL, drop_last, NULL), 0);
	do {
		struct lock_share share = {&osm.lock, LOCK_SHARE_STEPS - 1};

		assert_int_equal(cl_qmap_count(&osm.subn.node_guid_tbl),
				 fabric->num_nodes);
		same = subnet_cache_refresh(&cache, &osm.subn, &share);
	} while (same && time(NULL) < end);
	CL_PLOCK_RELEASE(&osm.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(same);
	restore();
	assert_true(subnet_cache_refresh(&cache, &osm.subn, NULL));
	subnet_cache_forget(&cache);
}

static int set_up(void **state)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};

	fabric = recipe_draw("l0/6 l1/6 l2/6 s0/4 s1/4 l0:1=a0 l0:2=b0 l1:1=a1 l1:2=b1 "
			     "l2:1=a2 l2:2=b2 l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2 "
			     "l2:3=s0:3 l2:4=s1:3");
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		make_node(i);
	cl_plock_init(&osm.lock);
	cl_ptr_vector_construct(&osm.subn.port_lid_tbl);
	cl_ptr_vector_init(&osm.subn.port_lid_tbl, MOST_LIDS, 1);
	osm.subn.sm_port_guid =
		physp_at(fabric->nodes[fabric->num_switches].first_port + 1)->port_guid;
	return pm_plan_make(fabric, &config, &plan, NULL);
}

static int tear_down(void **state)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		free(nodes[i]);
	cl_ptr_vector_destroy(&osm.subn.port_lid_tbl);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_freed),	cmocka_unit_test(test_unusable),
		cmocka_unit_test(test_links),	cmocka_unit_test(test_lids_given),
		cmocka_unit_test(test_unheard), cmocka_unit_test(test_changed),
		cmocka_unit_test(test_renamed), cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
