/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies OpenSM's records of ports, and compares a port's values with them. */
#include "link_records.h"

#include <opensm/osm_partition.h>
#include <opensm/osm_pkey.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLLING 2 /* LinkDownDefaultState, with PortPhysicalState "no change" */

/* ---- Options ---- */

static uint32_t hash_partitions(const osm_subn_t *subn)
{
	const cl_qmap_t *map = &subn->prtn_pkey_tbl;
	const cl_map_item_t *item = cl_qmap_head(map);
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; item != cl_qmap_end(map); item = cl_qmap_next(item))
		hash = (hash ^ (uint32_t)((const osm_prtn_t *)item)->pkey) * 16777619u;
	return hash;
}

static void read_values(const osm_subn_t *subn, struct link_values *values)
{
	const osm_subn_opt_t *opt = &subn->opt;

	memset(values, 0, sizeof(*values)); /* the gaps, too: they are compared */
	values->m_key = opt->m_key;
	values->subnet_prefix = opt->subnet_prefix;
	values->lease = opt->m_key_lease_period;
	values->protect = opt->m_key_protect_bits;
	values->lmc = opt->lmc;
	values->timeout = opt->subnet_timeout;
	values->sm_sl = opt->sm_sl;
	values->phy_errors = opt->local_phy_errors_threshold;
	values->overrun_errors = opt->overrun_errors_threshold;
	values->max_op_vls = opt->max_op_vls;
	values->lifetime = opt->head_of_queue_lifetime;
	values->leaf_lifetime = opt->leaf_head_of_queue_lifetime;
	values->stall = opt->vl_stall_count;
	values->leaf_stall = opt->leaf_vl_stall_count;
	values->width = opt->force_link_width;
	values->speed = opt->force_link_speed;
	values->speed_ext = opt->force_link_speed_ext;
	values->fdr10 = opt->fdr10;
	values->qos = opt->qos != 0;
	values->both_pkeys = opt->allow_both_pkeys != 0;
	values->enforcement = opt->no_partition_enforcement != 0;
	values->partitions = hash_partitions(subn);
}

bool link_records_are_outdated(const struct link_records *records, const osm_subn_t *subn)
{
	struct link_values now;

	read_values(subn, &now);
	return memcmp(&now, &records->options, sizeof(now)) != 0 ||
	       subn->sm_base_lid != records->sm_lid;
}

/* ---- Copies ---- */

void link_records_forget(struct link_records *records)
{
	free(records->ends);
	free(records->switches);
	free(records->hosts);
	free(records->host);
	pm_plan_free((struct pm_plan *)(uintptr_t)records->plan);
	*records = (struct link_records){.values = records->values};
}

/* Whether OpenSM has values of a port that it has set. */
static bool is_set(const osm_physp_t *physp)
{
	return physp && osm_physp_get_port_state(physp) > IB_LINK_INIT;
}

static void copy_end(const struct link_records *records, const osm_physp_t *physp,
		     struct link_end *end)
{
	*end = (struct link_end){
		.node_guid = osm_node_get_node_guid(physp->p_node),
		.port_guid = osm_physp_get_port_guid(physp),
		.info = physp->port_info,
		.values = records->values,
		.sweep = records->sweep,
		.num = osm_physp_get_port_num(physp),
	};
}

static void copy_pkeys(const osm_physp_t *physp, struct link_host *host)
{
	const osm_pkey_tbl_t *table = &physp->pkeys;
	const ib_pkey_table_t none = {{0}};

	host->num_pkeys = 0;
	for (uint16_t i = 0; i < osm_pkey_tbl_get_num_blocks(table); i++) {
		const ib_pkey_table_t *block = osm_pkey_tbl_block_get(table, i);

		if (!block || !memcmp(block, &none, sizeof(none)))
			continue;
		host->num_pkeys = (uint16_t)(i + 1u);
		if (i < LINK_PKEY_BLOCKS)
			host->pkeys[i] = *block;
	}
}

/* Bits of the blocks of VL arbitration tables that OpenSM sets. */
static uint8_t vlarb_blocks(const ib_port_info_t *info)
{
	const uint8_t caps[] = {info->vl_arb_low_cap, info->vl_arb_high_cap};
	uint8_t blocks = 0;

	for (unsigned int i = 0; i < 2 && ib_port_info_get_vl_cap(info) > 1; i++)
		blocks |= (uint8_t)(((caps[i] > 0) |
				     (caps[i] > IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK) << 1)
				    << 2 * i);
	return blocks;
}

/*
 * OpenSM's tables are zero until they are acknowledged. All VLs without a weight, or all
 * SLs on one of several VLs, count as that.
 */
static void copy_qos(const osm_physp_t *physp, struct link_qos *qos)
{
	const ib_port_info_t *info = &physp->port_info;
	const ib_vl_arb_table_t no_weights = {0};
	const ib_slvl_table_t one_vl = {{0}};

	qos->blocks = vlarb_blocks(info);
	qos->has_sl2vl = info->capability_mask & IB_PORT_CAP_HAS_SL_MAP;
	qos->known = true;
	for (unsigned int i = 0; i < 4; i++) {
		qos->vlarb[i] = physp->vl_arb[i];
		qos->known &= !(qos->blocks >> i & 1) ||
			      memcmp(&qos->vlarb[i], &no_weights, sizeof(no_weights));
	}
	if (!qos->has_sl2vl)
		return;
	qos->sl2vl = *osm_physp_get_slvl_tbl(physp, 0);
	qos->known &= ib_port_info_get_op_vls(info) == 1 ||
		      memcmp(&qos->sl2vl, &one_vl, sizeof(one_vl));
}

/* Copies the end port at a switch's port, if there is one. */
static void copy_host(struct link_records *records, const osm_physp_t *physp,
		      uint32_t port)
{
	const osm_physp_t *peer = physp ? osm_physp_get_remote(physp) : NULL;
	struct link_host *host;

	if (!is_set(physp) || !is_set(peer) || peer->p_node->sw ||
	    !peer->port_info.base_lid)
		return;
	if (records->host[port] == PM_NONE)
		records->host[port] = records->num_hosts++;
	host = &records->hosts[records->host[port]];
	*host = (struct link_host){.num_pkeys = 0};
	copy_end(records, peer, &host->end);
	copy_pkeys(peer, host);
	if (records->options.qos)
		copy_qos(peer, &host->qos);
}

static void copy_switch(struct link_records *records, const osm_node_t *node,
			uint32_t first, uint32_t num)
{
	for (uint32_t i = 0; i <= num; i++) {
		const osm_physp_t *physp =
			i < osm_node_get_num_physp(node)
				? osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, i)
				: NULL;

		if (i ? is_set(physp) : physp != NULL)
			copy_end(records, physp, &records->ends[first + i]);
		if (records->plan->topology->ports[first + i].host != PM_NO_HOST)
			copy_host(records, physp, first + i);
	}
}

/* Takes over what was known of a port. */
static void keep_port(const struct link_records *from, uint32_t port,
		      struct link_records *to, uint32_t as)
{
	const struct link_host *host = link_records_host(from, port);

	to->ends[as] = from->ends[port];
	if (!host || to->plan->topology->ports[as].host == PM_NO_HOST)
		return;
	to->host[as] = to->num_hosts;
	to->hosts[to->num_hosts++] = *host;
}

static void keep_known(const struct link_records *from, struct link_records *to)
{
	const struct pm_fabric *topology = to->plan->topology;

	for (uint32_t i = 0; from->plan && i < topology->num_ports; i++) {
		uint32_t port = i;

		if (from->plan != to->plan)
			port = pm_fabric_same_port(topology, i, from->plan->topology);
		if (port == PM_NONE)
			continue;
		keep_port(from, port, to, i);
		if (!topology->ports[i].num)
			to->switches[topology->ports[i].node] =
				from->switches[from->plan->topology->ports[port].node];
	}
}

static uint32_t count_end_ports(const struct pm_fabric *topology)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		num += topology->ports[i].host != PM_NO_HOST;
	return num;
}

/* Changes to another plan. -ENOMEM: nothing was changed. */
static int rebase(struct link_records *records, const struct pm_plan *plan)
{
	const struct pm_fabric *topology = plan->topology;
	struct link_records next = *records;

	if (records->plan == plan)
		return 0;
	next.num_hosts = 0;
	next.ends = calloc(topology->num_ports + 1u, sizeof(*next.ends));
	next.switches = calloc(topology->num_switches + 1u, sizeof(*next.switches));
	next.host = malloc((topology->num_ports + 1u) * sizeof(*next.host));
	next.hosts = calloc(count_end_ports(topology) + 1u, sizeof(*next.hosts));
	if (!next.ends || !next.switches || !next.host || !next.hosts) {
		free(next.switches);
		free(next.ends);
		free(next.host);
		free(next.hosts);
		return -ENOMEM;
	}
	next.plan = pm_plan_share(plan);
	memset(next.host, 0xff, (topology->num_ports + 1u) * sizeof(*next.host));
	keep_known(records, &next);
	link_records_forget(records);
	*records = next;
	return 0;
}

int link_records_copy(struct link_records *records, const struct pm_plan *plan,
		      const osm_subn_t *subn, struct lock_share *share)
{
	const struct pm_fabric *topology = plan->topology;
	struct link_values now;
	int rc = rebase(records, plan);

	if (rc)
		return rc;
	read_values(subn, &now);
	records->values += memcmp(&now, &records->options, sizeof(now)) != 0;
	records->options = now;
	records->sm_lid = subn->sm_base_lid;
	records->sweep++;
	for (uint32_t sw = 0; sw < topology->num_switches; sw++) {
		const struct pm_node *node = &topology->nodes[sw];
		const osm_node_t *here;

		lock_share_step(share);
		here = osm_get_node_by_guid(subn, cl_hton64(node->guid));
		if (!here || !here->sw)
			continue;
		records->switches[sw] = here->sw->switch_info;
		copy_switch(records, here, node->first_port, node->num_ports);
	}
	return 0;
}

/* ---- Values ---- */

static void merge_end_port(const ib_port_info_t *last, ib_net16_t sm_lid,
			   ib_port_info_t *to)
{
	to->m_key = last->m_key;
	to->subnet_prefix = last->subnet_prefix;
	to->base_lid = last->base_lid;
	to->master_sm_base_lid = sm_lid;
	to->m_key_lease_period = last->m_key_lease_period;
	to->mkey_lmc = last->mkey_lmc;
	to->subnet_timeout = last->subnet_timeout & 0x7f; /* no ClientReregister */
}

bool link_records_merge(const ib_port_info_t *has, const ib_port_info_t *last,
			ib_net16_t sm_lid, ib_port_info_t *to)
{
	ib_port_info_t alike;

	*to = *has;
	if (sm_lid)
		merge_end_port(last, sm_lid, to);
	to->link_width_enabled = last->link_width_enabled;
	to->link_speed = (uint8_t)((has->link_speed & 0xf0) | (last->link_speed & 0x0f));
	to->link_speed_ext_enabled = last->link_speed_ext_enabled;
	to->mtu_smsl = last->mtu_smsl;
	to->vl_high_limit = last->vl_high_limit;
	to->vl_stall_life = last->vl_stall_life;
	to->vl_enforce = last->vl_enforce;
	to->error_threshold = last->error_threshold;
	ib_port_info_set_port_state(to, IB_LINK_NO_CHANGE);
	to->state_info2 = POLLING;
	alike = *to;
	alike.state_info1 = has->state_info1;
	alike.state_info2 = (uint8_t)((has->state_info2 & 0xf0) | POLLING);
	return memcmp(&alike, has, sizeof(alike)) != 0;
}

const char *link_records_misfit(const ib_port_info_t *has, const ib_port_info_t *last)
{
	if (ib_port_info_get_neighbor_mtu(last) > ib_port_info_get_mtu_cap(has))
		return "its MTU is lower than before";
	if (ib_port_info_get_op_vls(last) > ib_port_info_get_vl_cap(has))
		return "it has fewer VLs than before";
	return NULL;
}
