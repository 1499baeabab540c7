/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether OpenSM is the master or knows one: its state, its port, and for how long. */
#include "unit.h"

#include "engine/clock.h"
#include "io/managers.h"
#include "io/mastership.h"

#include <stdlib.h>

static double now_ms = 1e6;
static osm_physp_t *physp;
static osm_port_t port;
static bool found;
static bool own_port_down; /* as the plugin read it */

/* Of OpenSM. */
osm_port_t *osm_get_port_by_guid(osm_subn_t const *subn, ib_net64_t guid)
{
	return found ? &port : NULL;
}

double clock_ms(void)
{
	return now_ms;
}

static osm_opensm_t *start(void)
{
	osm_opensm_t *osm = calloc(1, sizeof(*osm));

	assert_non_null(osm);
	physp = calloc(1, sizeof(*physp));
	assert_non_null(physp);
	port.p_physp = physp;
	pthread_rwlock_init(&osm->lock.lock, NULL);
	found = false;
	return osm;
}

static void stop(osm_opensm_t *osm)
{
	pthread_rwlock_destroy(&osm->lock.lock);
	free(physp);
	free(osm);
}

/* Looks after some seconds; "" for a master, itself or another one. */
static const char *look(struct mastership *m, osm_opensm_t *osm, uint8_t state,
			uint8_t port_state, double seconds)
{
	osm->subn.sm_state = state;
	ib_port_info_set_port_state(&physp->port_info, port_state);
	now_ms += seconds * 1e3;
	mastership_update(m, osm, 0, own_port_down);
	return m->alone ? m->alone : "";
}

/* A start, a port that goes down and comes back, and one that OpenSM has dropped. */
static void test_port(void **state)
{
	osm_opensm_t *osm = start();
	struct mastership m = {0};

	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_INIT, 0),
			    "");
	found = true;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_INIT, 1),
			    "");
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_ACTIVE, 1), "");
	/* OpenSM may know of its port, and is still the master, until its sweep ends. */
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_DOWN, 1), "");
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_DOWN, 1),
			    "the port of OpenSM is down");
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_INIT, 1),
			    "");
	found = false;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_INIT, 1),
			    "the port of OpenSM is down");
	stop(osm);
}

/*
 * A master whose port is found down before OpenSM sweeps: one outage, also while OpenSM
 * holds its lock, until the port is read as up.
 */
static void test_own_port(void **state)
{
	static const char *const down = "the port of OpenSM is down";
	osm_opensm_t *osm = start();
	struct mastership m = {0};
	time_t since;

	found = true;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_ACTIVE, 1), "");
	assert_int_equal(m.alone_since, 0);
	own_port_down = true;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_ACTIVE, 1),
			    down);
	since = m.alone_since;
	assert_true(since > 0);
	own_port_down = false;
	assert_int_equal(pthread_rwlock_wrlock(&osm->lock.lock), 0);
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_ACTIVE, 1),
			    down);
	assert_int_equal(pthread_rwlock_unlock(&osm->lock.lock), 0);
	found = false;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_ACTIVE, 1),
			    down);
	assert_int_equal(m.alone_since, since);
	found = true;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_ACTIVE, 1), "");
	own_port_down = true;
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_STANDBY, IB_LINK_ACTIVE, 1),
			    "");
	own_port_down = false;
	stop(osm);
}

/* A standby and a manager that is not to be active know a master, for however long. */
static void test_others(void **state)
{
	static const uint8_t fine[] = {IB_SMINFO_STATE_NOTACTIVE, IB_SMINFO_STATE_STANDBY,
				       IB_SMINFO_STATE_MASTER};
	osm_opensm_t *osm = start();
	struct mastership m = {0};

	for (size_t i = 0; i < sizeof(fine); i++)
		for (unsigned int hours = 0; hours < 3; hours++)
			assert_string_equal(look(&m, osm, fine[i], IB_LINK_DOWN, 3600),
					    "");
	stop(osm);
}

/* A discovery may take three times as long as the longest one. */
static void test_discovery(void **state)
{
	static const char *const hangs = "OpenSM discovers, and does not come to an end";
	osm_opensm_t *osm = start();
	struct mastership m = {0};

	osm->subn.sm_state = IB_SMINFO_STATE_DISCOVERING;
	assert_true(mastership_update(&m, osm, 0, false));
	now_ms += 30e3;
	assert_false(mastership_update(&m, osm, 0, false));
	assert_null(m.alone);
	now_ms += 1;
	assert_false(mastership_update(&m, osm, 20e3, false));
	assert_true(mastership_update(&m, osm, 0, false));
	assert_string_equal(m.alone, hangs);
	assert_true(mastership_update(&m, osm, 20e3, false));
	now_ms += 30e3;
	assert_true(mastership_update(&m, osm, 20e3, false));
	assert_string_equal(m.alone, hangs);
	stop(osm);
}

/* While OpenSM holds its lock, the port keeps its last state; no thread waits. */
static void test_locked(void **state)
{
	osm_opensm_t *osm = start();
	struct mastership m = {0};

	found = true;
	look(&m, osm, IB_SMINFO_STATE_MASTER, IB_LINK_ACTIVE, 1);
	assert_int_equal(pthread_rwlock_wrlock(&osm->lock.lock), 0);
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_DOWN, 1),
			    "");
	assert_int_equal(pthread_rwlock_unlock(&osm->lock.lock), 0);
	assert_string_equal(look(&m, osm, IB_SMINFO_STATE_DISCOVERING, IB_LINK_DOWN, 1),
			    "the port of OpenSM is down");
	stop(osm);
}

/* Looks at managers; "GUID state priority, .." of those that are known then. */
static const char *look_at_others(struct managers *m, osm_opensm_t *osm, uint8_t state,
				  bool resting)
{
	static char text[200];
	size_t used = 0;

	osm->subn.sm_state = state;
	managers_update(m, osm, resting);
	*text = '\0';
	for (uint32_t i = 0; i < m->num; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%x %s %s %u", i ? ", " : "",
			(unsigned int)m->list[i].guid, m->list[i].name,
			managers_state_name(m->list[i].state), m->list[i].priority);
	return text;
}

/* A standby knows its master; a master forgets states of others only in its sweeps. */
static void test_managers(void **state)
{
	osm_opensm_t *osm = start();
	char name[] = "sm2";
	osm_node_t node = {.print_desc = name};
	osm_remote_sm_t other = {.smi = {.guid = cl_hton64(0x17), .pri_state = 0x52}};
	struct managers m = {.num = 0};

	cl_qmap_init(&osm->subn.sm_guid_tbl);
	port.p_node = &node;
	found = true;
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_MASTER, true), "");
	cl_qmap_insert(&osm->subn.sm_guid_tbl, other.smi.guid, &other.map_item);
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_MASTER, false), "");
	assert_true(managers_update(&m, osm, true));
	m.list[0].since = 7;
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_MASTER, true),
			    "17 sm2 standby 5");
	assert_int_equal(m.list[0].since, 7);
	other.smi.pri_state = 0x50;
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_MASTER, false),
			    "17 sm2 standby 5");
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_DISCOVERING, true),
			    "17 sm2 standby 5");
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_MASTER, true), "");
	osm->sm.master_sm_guid = cl_hton64(0x17);
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_STANDBY, false),
			    "17 sm2 master 5");
	assert_true(m.list[0].since > 7);
	cl_qmap_remove_all(&osm->subn.sm_guid_tbl);
	port.p_node = NULL;
	assert_string_equal(look_at_others(&m, osm, IB_SMINFO_STATE_STANDBY, false),
			    "17  master 0");
	assert_int_equal(pthread_rwlock_wrlock(&osm->lock.lock), 0);
	assert_false(managers_update(&m, osm, true));
	assert_int_equal(pthread_rwlock_unlock(&osm->lock.lock), 0);
	osm->subn.sm_state = IB_SMINFO_STATE_DISCOVERING;
	assert_false(managers_update(&m, osm, false));
	assert_false(m.list[0].former);
	osm->subn.sm_state = IB_SMINFO_STATE_MASTER;
	assert_true(managers_update(&m, osm, false));
	assert_true(m.list[0].former);
	assert_false(managers_update(&m, osm, false));
	assert_true(managers_update(&m, osm, true));
	assert_int_equal(m.num, 0);
	stop(osm);
}

static void test_describe(void **state)
{
	struct mastership m = {.state = IB_SMINFO_STATE_STANDBY,
			       .since = 7,
			       .alone = "x",
			       .alone_since = 9};
	json_t *document = json_object();

	assert_int_equal(mastership_describe(&m, true, document), 0);
	assert_string_equal(json_string_value(json_object_get(document, "sm_state")),
			    "standby");
	assert_int_equal(json_integer_value(json_object_get(document, "sm_since")), 7);
	assert_string_equal(json_string_value(json_object_get(document, "no_master")),
			    "x");
	assert_int_equal(json_integer_value(json_object_get(document, "no_master_since")),
			 9);
	assert_int_equal(mastership_describe(&m, false, document), 0);
	assert_true(json_is_null(json_object_get(document, "no_master")));
	assert_int_equal(json_integer_value(json_object_get(document, "no_master_since")),
			 0);
	json_decref(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port),	 cmocka_unit_test(test_own_port),
		cmocka_unit_test(test_others),	 cmocka_unit_test(test_discovery),
		cmocka_unit_test(test_locked),	 cmocka_unit_test(test_describe),
		cmocka_unit_test(test_managers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
