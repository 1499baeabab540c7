/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks at the other subnet managers that OpenSM knows. */
#include "managers.h"

#include <portmajor/json/values.h>

#include <stdio.h>
#include <string.h>

const char *managers_state_name(uint8_t state)
{
	switch (state) {
	case IB_SMINFO_STATE_DISCOVERING:
		return "discovering";
	case IB_SMINFO_STATE_STANDBY:
		return "standby";
	case IB_SMINFO_STATE_MASTER:
		return "master";
	default:
		return "not active";
	}
}

/* Adds a manager; `since` is that of the same one before. */
static void add_manager(struct managers *now, const struct managers *before,
			const osm_opensm_t *osm, ib_net64_t guid, uint8_t pri_state)
{
	const osm_port_t *port = osm_get_port_by_guid(&osm->subn, guid);
	struct manager *one = &now->list[now->num];

	if (now->num == MANAGERS)
		return;
	one->guid = cl_ntoh64(guid);
	one->state = pri_state & 0x0f;
	one->priority = pri_state >> 4;
	one->since = time(NULL);
	if (port && port->p_node && port->p_node->print_desc)
		snprintf(one->name, sizeof(one->name), "%s", port->p_node->print_desc);
	for (uint32_t i = 0; i < before->num; i++)
		if (before->list[i].guid == one->guid &&
		    before->list[i].state == one->state) {
			one->since = before->list[i].since;
			one->foreign = before->list[i].foreign;
		}
	now->num++;
}

static void look_at_all(struct managers *now, const struct managers *before,
			osm_opensm_t *osm)
{
	const cl_qmap_t *all = &osm->subn.sm_guid_tbl;
	const cl_map_item_t *item;
	uint8_t state;

	for (item = cl_qmap_head(all); item != cl_qmap_end(all);
	     item = cl_qmap_next(item)) {
		const osm_remote_sm_t *sm = (const osm_remote_sm_t *)item;

		if ((sm->smi.pri_state & 0x0f) == IB_SMINFO_STATE_DISCOVERING)
			state = IB_SMINFO_STATE_STANDBY; /* by now */
		else
			state = sm->smi.pri_state & 0x0f;
		if (state != IB_SMINFO_STATE_NOTACTIVE)
			add_manager(now, before, osm, sm->smi.guid,
				    (sm->smi.pri_state & 0xf0) | state);
	}
}

static void look_at_master(struct managers *now, const struct managers *before,
			   osm_opensm_t *osm)
{
	ib_net64_t guid = osm->sm.master_sm_guid;
	const osm_remote_sm_t *sm =
		(const osm_remote_sm_t *)cl_qmap_get(&osm->subn.sm_guid_tbl, guid);
	bool known = &sm->map_item != cl_qmap_end(&osm->subn.sm_guid_tbl);
	uint8_t priority = known ? sm->smi.pri_state & 0xf0 : 0;

	if (guid && guid != osm->subn.sm_port_guid)
		add_manager(now, before, osm, guid, priority | IB_SMINFO_STATE_MASTER);
}

static bool are_alike(const struct managers *a, const struct managers *b)
{
	bool same = a->num == b->num;

	for (uint32_t i = 0; same && i < a->num; i++)
		same = a->list[i].guid == b->list[i].guid &&
		       a->list[i].state == b->list[i].state &&
		       a->list[i].former == b->list[i].former &&
		       a->list[i].priority == b->list[i].priority &&
		       !strcmp(a->list[i].name, b->list[i].name);
	return same;
}

/* This OpenSM has become the master: whether another one is, its first sweep finds. */
static bool mark_former(struct managers *managers)
{
	if (!managers->of_standby)
		return false;
	managers->of_standby = false;
	for (uint32_t i = 0; i < managers->num; i++)
		managers->list[i].former = true;
	return managers->num != 0;
}

bool managers_update(struct managers *managers, osm_opensm_t *osm, bool resting)
{
	uint8_t state = osm->subn.sm_state;
	struct managers now = {.of_standby = state == IB_SMINFO_STATE_STANDBY};
	bool changed;

	if (state == IB_SMINFO_STATE_MASTER && !resting)
		return mark_former(managers);
	if (state != IB_SMINFO_STATE_MASTER && state != IB_SMINFO_STATE_STANDBY)
		return false;
	if (pthread_rwlock_tryrdlock(&osm->lock.lock))
		return false;
	if (state == IB_SMINFO_STATE_MASTER)
		look_at_all(&now, managers, osm);
	else
		look_at_master(&now, managers, osm);
	pthread_rwlock_unlock(&osm->lock.lock);
	changed = !are_alike(&now, managers);
	*managers = now;
	return changed;
}

json_t *managers_describe(const struct managers *managers)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < managers->num; i++) {
		const struct manager *one = &managers->list[i];

		list = pm_json_append(
			list, json_pack("{s:o, s:o, s:s, s:i, s:I, s:b}", "guid",
					pm_json_guid(one->guid), "name",
					pm_json_filled(one->name), "sm_state",
					one->former ? "former"
						    : managers_state_name(one->state),
					"priority", (int)one->priority, "since",
					(json_int_t)one->since, "foreign", one->foreign));
	}
	return list;
}
