/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* OpenSM's record of a link that was served follows, in each state that it may be in. */
#include "engine/returns_parts.h"

#include "unit.h"

#define LID 7

static struct {
	osm_node_t *sw, *host;
	osm_port_t port; /* the host's */
	osm_subn_t subn;
} fake;

volatile unsigned int osm_exit_flag;

static osm_physp_t *port_of(osm_node_t *node)
{
	return &node->physp_table[1];
}

struct osm_node *osm_get_node_by_guid(const osm_subn_t *subn, ib_net64_t guid)
{
	assert_ptr_equal(subn, &fake.subn);
	return guid == fake.sw->node_info.node_guid ? fake.sw : fake.host;
}

osm_port_t *osm_get_port_by_guid(IN osm_subn_t const *subn, IN ib_net64_t guid)
{
	return guid == port_of(fake.host)->port_guid ? &fake.port : NULL;
}

void osm_node_link(osm_node_t *node, uint8_t num, osm_node_t *to, uint8_t to_num)
{
	node->physp_table[num].p_remote_physp = &to->physp_table[to_num];
	to->physp_table[to_num].p_remote_physp = &node->physp_table[num];
}

static osm_node_t *make_node(uint64_t guid)
{
	osm_node_t *node = calloc(1, sizeof(*node) + 2 * sizeof(osm_physp_t));

	assert_non_null(node);
	node->node_info.node_guid = cl_hton64(guid);
	node->physp_tbl_size = 2;
	node->physp_table[1].port_guid = cl_hton64(guid);
	node->physp_table[1].p_node = node;
	node->physp_table[1].port_num = 1;
	node->physp_discovered = calloc(2, sizeof(*node->physp_discovered));
	assert_non_null(node->physp_discovered);
	return node;
}

static int begin(void **state)
{
	fake.sw = make_node(1);
	fake.host = make_node(2);
	fake.sw->sw = (osm_switch_t *)fake.sw; /* not NULL */
	fake.port = (osm_port_t){.discovery_count = 0};
	return 0;
}

static int end(void **state)
{
	free(fake.sw->physp_discovered);
	free(fake.sw);
	free(fake.host->physp_discovered);
	free(fake.host);
	return 0;
}

/* A record in which both ends have these states, and the link or not. */
static void set_record(uint8_t near, uint8_t far, bool linked)
{
	osm_physp_t *a = port_of(fake.sw), *b = port_of(fake.host);

	a->p_remote_physp = linked ? b : NULL;
	b->p_remote_physp = linked ? a : NULL;
	ib_port_info_set_port_state(&a->port_info, near);
	ib_port_info_set_port_state(&b->port_info, far);
}

static void expect_record(uint8_t near, uint8_t far)
{
	assert_int_equal(osm_physp_get_port_state(port_of(fake.sw)), near);
	assert_int_equal(osm_physp_get_port_state(port_of(fake.host)), far);
}

static struct served make_served(void)
{
	struct served served = {.lid = LID};

	served.ends[0] = (struct served_end){.guid = cl_hton64(1), .num = 1};
	served.ends[1] = (struct served_end){.guid = cl_hton64(2), .num = 1};
	for (int i = 0; i < 2; i++)
		ib_port_info_set_port_state(&served.ends[i].info, IB_LINK_ACTIVE);
	return served;
}

/* Discovery read INIT: OpenSM would send ARMED to ports that are ACTIVE. */
static void test_read_before(void **state)
{
	const struct served served = make_served();

	set_record(IB_LINK_INIT, IB_LINK_INIT, true);
	assert_true(returns_settle_one(&fake.subn, &served, false));
	expect_record(IB_LINK_ACTIVE, IB_LINK_ACTIVE);
	set_record(IB_LINK_ACTIVE, IB_LINK_ARMED, true);
	assert_true(returns_settle_one(&fake.subn, &served, false));
	expect_record(IB_LINK_ACTIVE, IB_LINK_ACTIVE);
}

/* The host was not found: OpenSM would set the switch's port DOWN. */
static void test_link_lost(void **state)
{
	const struct served served = make_served();

	set_record(IB_LINK_ACTIVE, IB_LINK_DOWN, false);
	assert_false(returns_settle_one(&fake.subn, &served, false));
	expect_record(IB_LINK_INIT, IB_LINK_DOWN);
	set_record(IB_LINK_DOWN, IB_LINK_ACTIVE, false);
	assert_false(returns_settle_one(&fake.subn, &served, false));
	expect_record(IB_LINK_DOWN, IB_LINK_INIT);
}

/* Both ends are there, and the discovery saw the link down: the host is not dropped. */
static void test_link_made(void **state)
{
	const struct served served = make_served();
	osm_node_t other = {0};

	set_record(IB_LINK_DOWN, IB_LINK_ACTIVE, false);
	assert_true(returns_settle_one(&fake.subn, &served, true));
	expect_record(IB_LINK_ACTIVE, IB_LINK_ACTIVE);
	assert_ptr_equal(osm_physp_get_remote(port_of(fake.sw)), port_of(fake.host));
	assert_int_equal(fake.host->discovery_count, 1);
	assert_int_equal(fake.host->physp_discovered[1], 1);
	assert_int_equal(fake.port.discovery_count, 1);
	assert_int_equal(fake.sw->discovery_count, 0);
	assert_true(returns_settle_one(&fake.subn, &served, true));
	assert_int_equal(fake.port.discovery_count, 1);
	set_record(IB_LINK_DOWN, IB_LINK_ACTIVE, false); /* it was found elsewhere */
	port_of(fake.host)->p_remote_physp = &other.physp_table[0];
	assert_false(returns_settle_one(&fake.subn, &served, true));
	assert_null(osm_physp_get_remote(port_of(fake.sw)));
}

/* Links served since the sweep began are followed, unless a trap reports a change. */
static void test_since_the_sweep_began(void **state)
{
	const struct served served = make_served();
	struct returns *returns = returns_start();

	assert_non_null(returns);
	returns_remember(returns, &served);
	set_record(IB_LINK_INIT, IB_LINK_INIT, true);
	returns_note_lid(returns, LID, true);
	returns_settle(returns, &fake.subn, false);
	expect_record(IB_LINK_INIT, IB_LINK_INIT);
	returns_note_lid(returns, LID + 1, true);
	returns->noted[LID] = 0;
	returns_settle(returns, &fake.subn, false);
	expect_record(IB_LINK_ACTIVE, IB_LINK_ACTIVE);
	set_record(IB_LINK_INIT, IB_LINK_INIT, true);
	returns_begin_sweep(returns);
	returns_settle(returns, &fake.subn, false);
	expect_record(IB_LINK_INIT, IB_LINK_INIT);
	returns_stop(returns);
}

/* Traps before OpenSM's filter: 128 alone counts. */
static void test_traps(void **state)
{
	struct returns *returns = returns_start();
	ib_mad_notice_attr_t notice = {.generic_type = 0x81};

	assert_non_null(returns);
	notice.g_or_v.generic.trap_num = CL_HTON16(SM_LINK_STATE_CHANGED_TRAP);
	notice.data_details.ntc_128.sw_lid = cl_hton16(LID);
	assert_false(returns_wait(returns));
	for (int i = 0; i < 300; i++)
		assert_true(returns_note_trap(returns, &notice));
	assert_int_equal(returns->noted[LID], UINT8_MAX);
	assert_int_equal(returns->num_noted, 1);
	assert_true(returns_wait(returns));
	notice.g_or_v.generic.trap_num = CL_HTON16(SM_LOCAL_CHANGES_TRAP);
	assert_false(returns_note_trap(returns, &notice));
	returns_stop(returns);
}

/* Ports noted for one plan are not read in another, whose switches are others. */
static void test_other_plan(void **state)
{
	enum { FEW = 2, MANY = 200 };
	struct pm_node nodes[MANY] = {{0}};
	struct pm_fabric topology = {.nodes = nodes, .num_switches = MANY};
	uint16_t lid[1] = {LID}; /* of all, as none has a port */
	struct pm_plan plan = {.topology = &topology, .lid = lid};
	struct view before = {.serial = 1, .plan = &plan},
		    view = {.serial = 2, .plan = &plan};
	struct returns *returns = returns_start();

	assert_non_null(returns);
	assert_false(returns_are_unexplained(returns, &view));
	returns_explain(returns, &view, MANY - 1);
	returns->serial = before.serial;
	returns->down = calloc(1, 1);
	returns->unexplained = calloc(MANY, 1);
	returns->credit = calloc(MANY, 1);
	assert_true(returns->down && returns->unexplained && returns->credit);
	memset(returns->unexplained + FEW, 1, MANY - FEW); /* behind its end */
	assert_false(returns_are_unexplained(returns, &view));
	returns_explain(returns, &view, MANY - 1);
	assert_int_equal(returns->unexplained[MANY - 1], 1);
	assert_int_equal(returns->credit[MANY - 1], 0);
	assert_true(returns_are_unexplained(returns, &before));
	returns_explain(returns, &before, MANY - 1);
	assert_int_equal(returns->unexplained[MANY - 1], 0);
	returns_stop(returns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_before, begin, end),
		cmocka_unit_test_setup_teardown(test_link_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_link_made, begin, end),
		cmocka_unit_test_setup_teardown(test_since_the_sweep_began, begin, end),
		cmocka_unit_test_setup_teardown(test_traps, begin, end),
		cmocka_unit_test(test_other_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
