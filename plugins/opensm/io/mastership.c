/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks whether OpenSM is the master or knows one. */
#include "mastership.h"

#include "managers.h"
#include "engine/clock.h"

#include <portmajor/json/values.h>

/*
 * Looks at OpenSM's port as its last sweep left it. OpenSM drops a port that is down, and
 * does not know its port before the first discovery. If the lock is held, the port is as
 * before: an OpenSM that hangs may never release it.
 */
static void look_at_port(struct mastership *mastership, osm_opensm_t *osm)
{
	const osm_port_t *port;

	if (pthread_rwlock_tryrdlock(&osm->lock.lock))
		return;
	port = osm_get_port_by_guid(&osm->subn, osm->subn.sm_port_guid);
	mastership->port_down =
		port ? osm_physp_get_port_state(port->p_physp) == IB_LINK_DOWN
		     : mastership->port_found;
	mastership->port_found |= port != NULL;
	pthread_rwlock_unlock(&osm->lock.lock);
}

static const char *judge_master(const struct mastership *mastership, double longest_ms)
{
	double most = 3 * longest_ms;

	if (mastership->state != IB_SMINFO_STATE_DISCOVERING &&
	    mastership->state != IB_SMINFO_STATE_MASTER)
		return NULL;
	if (mastership->port_down)
		return "the port of OpenSM is down";
	if (mastership->state == IB_SMINFO_STATE_MASTER)
		return NULL;
	if (most < MASTERSHIP_DISCOVERY_MS)
		most = MASTERSHIP_DISCOVERY_MS;
	return clock_ms() - mastership->since_ms > most
		       ? "OpenSM discovers, and does not come to an end"
		       : NULL;
}

bool mastership_update(struct mastership *mastership, osm_opensm_t *osm,
		       double longest_ms, bool own_port_down)
{
	uint8_t state = osm->subn.sm_state;
	bool changed = !mastership->known || mastership->state != state;
	const char *before = mastership->alone;

	if (changed) {
		mastership->known = true;
		mastership->state = state;
		mastership->since = time(NULL);
		mastership->since_ms = clock_ms();
	}
	if (state == IB_SMINFO_STATE_DISCOVERING || !mastership->port_found)
		look_at_port(mastership, osm);
	if (state == IB_SMINFO_STATE_MASTER)
		mastership->port_down = own_port_down; /* OpenSM may not know it */
	mastership->alone = judge_master(mastership, longest_ms);
	if (mastership->alone && !before)
		mastership->alone_since = time(NULL);
	return changed || mastership->alone != before;
}

int mastership_describe(const struct mastership *mastership, bool running,
			json_t *document)
{
	const char *alone = running ? mastership->alone : NULL;

	return json_object_update_new(
		document, json_pack("{s:s, s:I, s:o, s:I}", "sm_state",
				    managers_state_name(mastership->state), "sm_since",
				    (json_int_t)mastership->since, "no_master",
				    pm_json_text(alone), "no_master_since",
				    alone ? (json_int_t)mastership->alone_since : 0));
}
