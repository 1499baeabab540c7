/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "subnet_mcast.h"

#include "mwalk.h"
#include "unit.h"

#define SWITCHES 16
#define MLIDS 128
#define MOST_BLOCKS (MLIDS / PM_MFT_BLOCK)
#define GROUPS 8
#define MEMBERS 8
#define ABOVE (PM_MLID_FIRST - 1) /* a MulticastFDBTop that passes no MLID */

static struct {
	const struct pm_fabric *fabric;
	struct group {
		osm_mgrp_box_t box;
		osm_mgrp_t mgrp;
		osm_mcm_port_t members[MEMBERS];
		uint32_t hosts[MEMBERS]; /* [member] node, or PM_NONE */
	} groups[GROUPS];
	uint8_t requests[PM_MLIDS];
	uint16_t records[SWITCHES][MLIDS][IB_MCAST_POSITION_MAX + 1];
	uint16_t installed[SWITCHES]
			  [MLIDS]; /* masks of the one position, in network order */
	uint16_t top[SWITCHES];
	bool has_top;
	uint32_t turned_off; /* so often a top was set that passes nothing */
	uint32_t refusals, sets, gets, sets_of_opensm;
	uint32_t silent;      /* switch that answers no Set, or PM_NONE */
	void (*on_set)(void); /* subnet_mcast_on_set, or NULL */
} fake;

static osm_switch_t *switch_of(uint32_t index)
{
	return osm_get_switch_by_guid(&subnet_opensm()->subn,
				      cl_hton64(fake.fabric->nodes[index].guid));
}

static uint32_t find(const char *name)
{
	uint32_t node = pm_fabric_find_name(fake.fabric, name);

	assert_true(node != PM_NONE);
	return node;
}

void subnet_mcast_begin(const struct pm_fabric *fabric)
{
	osm_opensm_t *osm = subnet_opensm();

	memset(&fake, 0, sizeof(fake));
	fake.fabric = fabric;
	fake.silent = PM_NONE;
	assert_true(fabric->num_switches <= SWITCHES);
	osm->sm.mlids_req = fake.requests;
	osm->subn.max_mcast_lid_ho = PM_MLID_FIRST + MLIDS - 1;
	osm->subn.opt.use_mfttop = TRUE;
	for (uint32_t i = 0; i < fabric->num_switches; i++) {
		osm_switch_t *sw = switch_of(i);

		assert_true(fabric->nodes[i].num_ports < PM_MFT_POSITION);
		sw->switch_info.mcast_cap = cl_hton16(MLIDS);
		sw->mcast_tbl = (osm_mcast_tbl_t){.num_entries = MLIDS,
						  .max_block = MOST_BLOCKS - 1,
						  .max_block_in_use = -1};
	}
}

void subnet_mcast_end(void)
{
	memset(subnet_opensm()->subn.mboxes, 0, sizeof(subnet_opensm()->subn.mboxes));
}

uint32_t subnet_mcast_turned_off(void)
{
	return fake.turned_off;
}

void subnet_mcast_have_top(void)
{
	fake.has_top = true;
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++) {
		osm_switch_t *sw = switch_of(i);

		fake.top[i] = ABOVE;
		sw->switch_info.mcast_top = cl_hton16(ABOVE);
		osm_node_get_physp_ptr(sw->p_node, 0)->port_info.capability_mask |=
			IB_PORT_CAP_HAS_MCAST_FDB_TOP;
	}
}

/* ---- Groups ---- */

static void ask_for(uint16_t mlid)
{
	osm_sm_t *sm = &subnet_opensm()->sm;
	unsigned int index = mlid - (unsigned int)PM_MLID_FIRST;

	sm->mlids_req[index] = 1;
	if (sm->mlids_req_max < index)
		sm->mlids_req_max = index;
}

static struct group *find_group(uint16_t mlid)
{
	for (struct group *g = fake.groups; g < fake.groups + GROUPS; g++)
		if (g->box.mlid == mlid)
			return g;
	return NULL;
}

static struct group *make_group(uint16_t mlid, bool configured)
{
	struct group *g = find_group(0);

	assert_non_null(g);
	*g = (struct group){.box = {.mlid = mlid}, .mgrp = {.well_known = configured}};
	memset(g->hosts, 0xff, sizeof(g->hosts));
	cl_qlist_init(&g->box.mgrp_list);
	cl_qmap_init(&g->mgrp.mcm_port_tbl);
	cl_qlist_insert_tail(&g->box.mgrp_list, &g->mgrp.list_item);
	subnet_opensm()->subn.mboxes[mlid - PM_MLID_FIRST] = &g->box;
	return g;
}

static uint32_t find_member(const struct group *g, uint32_t host)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (g->hosts[i] == host)
			return i;
	fail();
	return 0;
}

void subnet_join(const char *host, uint16_t mlid, bool configured)
{
	struct group *g = find_group(mlid);
	uint32_t node = find(host), at;
	uint64_t guid = fake.fabric->ports[fake.fabric->nodes[node].first_port + 1].guid;

	if (!g)
		g = make_group(mlid, configured);
	at = find_member(g, PM_NONE);
	g->hosts[at] = node;
	g->members[at] = (osm_mcm_port_t){
		.port = osm_get_port_by_guid(&subnet_opensm()->subn, cl_hton64(guid))};
	assert_non_null(g->members[at].port);
	cl_qmap_insert(&g->mgrp.mcm_port_tbl, guid, &g->members[at].map_item);
	ask_for(mlid);
}

void subnet_leave(const char *host, uint16_t mlid)
{
	struct group *g = find_group(mlid);
	uint32_t at;

	assert_non_null(g);
	at = find_member(g, find(host));
	cl_qmap_remove_item(&g->mgrp.mcm_port_tbl, &g->members[at].map_item);
	g->hosts[at] = PM_NONE;
	ask_for(mlid);
	if (cl_qmap_count(&g->mgrp.mcm_port_tbl) || g->mgrp.well_known)
		return;
	subnet_opensm()->subn.mboxes[mlid - PM_MLID_FIRST] = NULL;
	g->box.mlid = 0;
}

/* ---- OpenSM's manager ---- */

static void make_room(void)
{
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++) {
		osm_mcast_tbl_t *table = &switch_of(i)->mcast_tbl;

		table->p_mask_tbl =
			(uint16_t(*)[][IB_MCAST_POSITION_MAX + 1]) fake.records[i];
		table->mft_depth = MLIDS;
	}
}

static void process(uint32_t index)
{
	osm_opensm_t *osm = subnet_opensm();
	osm_routing_engine_t *used = osm->routing_engine_used;
	osm_mgrp_box_t *box = osm->subn.mboxes[index];

	osm->sm.mlids_req[index] = 0;
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++)
		memset(fake.records[i][index], 0, sizeof(fake.records[i][index]));
	if (box && used && used->mcast_build_stree)
		assert_int_equal(used->mcast_build_stree(used->context, box), IB_SUCCESS);
	else if (box && !osm->subn.opt.disable_multicast)
		assert_true(subnet_has_hop_counts()); /* for trees of OpenSM's own */
}

static void send_record(uint32_t sw)
{
	const osm_opensm_t *osm = subnet_opensm();
	osm_switch_t *record = switch_of(sw);
	int last = record->mcast_tbl.max_block_in_use;

	for (int mlid = 0; mlid < (last + 1) * PM_MFT_BLOCK; mlid++)
		fake.installed[sw][mlid] = fake.records[sw][mlid][0];
	fake.sets_of_opensm += (uint32_t)(last + 1);
	if (fake.has_top && osm->subn.opt.use_mfttop) {
		fake.top[sw] = (uint16_t)(ABOVE + (last + 1) * PM_MFT_BLOCK);
		fake.turned_off += last < 0;
		record->switch_info.mcast_top = cl_hton16(fake.top[sw]);
	}
}

void subnet_mcast_run(bool all)
{
	osm_opensm_t *osm = subnet_opensm();

	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	make_room();
	for (uint32_t i = 0; i < MLIDS; i++)
		if ((i <= osm->sm.mlids_req_max && osm->sm.mlids_req[i]) ||
		    (all && osm->subn.mboxes[i]))
			process(i);
	osm->sm.mlids_req_max = 0;
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++)
		send_record(i);
	CL_PLOCK_RELEASE(&osm->lock);
}

/* ---- Switches ---- */

bool subnet_mcast_answer(ib_smp_t *smp, uint32_t sw)
{
	uint32_t modifier = cl_ntoh32(smp->attr_mod);

	assert_true(modifier < MOST_BLOCKS);
	if (smp->method == IB_MAD_METHOD_GET) {
		fake.gets++;
		memcpy(smp->data, fake.installed[sw] + modifier * PM_MFT_BLOCK,
		       IB_SMP_DATA_SIZE);
		return true;
	}
	if (sw == fake.silent)
		return false;
	if (fake.refusals) {
		fake.refusals--;
		return false;
	}
	fake.sets++;
	memcpy(fake.installed[sw] + modifier * PM_MFT_BLOCK, smp->data, IB_SMP_DATA_SIZE);
	if (fake.on_set)
		fake.on_set();
	fake.on_set = NULL;
	return true;
}

void subnet_mcast_set_info(const ib_switch_info_t *info, uint32_t sw)
{
	assert_true(fake.has_top);
	assert_false(ib_switch_info_get_state_change(info));
	fake.top[sw] = cl_ntoh16(info->mcast_top);
	switch_of(sw)->switch_info = *info;
}

void subnet_mcast_refuse(uint32_t times)
{
	fake.refusals = times;
}

void subnet_mcast_on_set(void (*call)(void))
{
	fake.on_set = call;
}

void subnet_mcast_silence(const char *sw)
{
	fake.silent = sw ? find(sw) : PM_NONE;
}

void subnet_mcast_scribble(const char *sw, uint16_t mlid)
{
	uint32_t node = find(sw);

	fake.installed[node][mlid - PM_MLID_FIRST] = cl_hton16(1 << 1);
	fake.records[node][mlid - PM_MLID_FIRST][0] = cl_hton16(1 << 1);
}

uint32_t subnet_mcast_sets_of_opensm(void)
{
	uint32_t sets = fake.sets_of_opensm;

	fake.sets_of_opensm = 0;
	return sets;
}

uint32_t subnet_mcast_sets(void)
{
	uint32_t sets = fake.sets;

	fake.sets = 0;
	return sets;
}

uint32_t subnet_mcast_gets(void)
{
	uint32_t gets = fake.gets;

	fake.gets = 0;
	return gets;
}

bool subnet_mcast_has_entries(uint16_t mlid)
{
	for (uint32_t sw = 0; sw < fake.fabric->num_switches; sw++)
		if (fake.installed[sw][mlid - PM_MLID_FIRST])
			return true;
	return false;
}

/* The tables on the path of packets. */
static struct pm_mfts *read_tables(const struct pm_fabric *topology)
{
	struct pm_mfts *tables = pm_mfts_new(topology);

	assert_non_null(tables);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		for (uint32_t i = 0; i < MLIDS; i++)
			if (!fake.has_top || i + PM_MLID_FIRST <= fake.top[sw])
				assert_int_equal(
					pm_mfts_set_mask(
						tables, sw, (uint16_t)(PM_MLID_FIRST + i),
						0, cl_ntoh16(fake.installed[sw][i])),
					0);
	return tables;
}

const char *subnet_mcast_fault(uint16_t mlid)
{
	struct pm_fabric *topology = pm_fabric_skeleton(fake.fabric);
	struct group *g = find_group(mlid);
	uint32_t members[MEMBERS];
	struct pm_group group = {.mlid = mlid, .members = members};
	uint8_t *up;
	struct pm_mfts *tables;
	const char *fault;

	assert_non_null(topology);
	tables = read_tables(topology);
	up = calloc(topology->num_ports, 1);
	assert_non_null(up);
	for (uint32_t i = 0; i < topology->num_ports; i++)
		up[i] = topology->ports[i].peer != PM_NONE && subnet_is_up(i);
	for (uint32_t i = 0; g && i < MEMBERS; i++)
		if (g->hosts[i] != PM_NONE)
			members[group.num++] =
				fake.fabric
					->ports[fake.fabric->nodes[g->hosts[i]]
							.first_port +
						1]
					.peer;
	fault = mwalk_group(
		&(struct mwalk){.topology = topology, .tables = tables, .up = up},
		&group);
	free(up);
	pm_mfts_free(tables);
	pm_fabric_free(topology);
	return fault;
}

bool subnet_mcast_is_shown(void)
{
	for (uint32_t sw = 0; sw < fake.fabric->num_switches; sw++) {
		int last = switch_of(sw)->mcast_tbl.max_block_in_use;

		for (int i = 0; i < MLIDS; i++)
			if (fake.installed[sw][i] !=
			    (i < (last + 1) * PM_MFT_BLOCK ? fake.records[sw][i][0] : 0))
				return false;
	}
	return true;
}
