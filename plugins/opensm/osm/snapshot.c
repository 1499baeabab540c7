/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies OpenSM's discovered subnet into a fabric. */
#include "snapshot.h"

#include <portmajor/base/hash.h>

#include <string.h>

#define SNAPSHOT_AHEAD 8 /* ports that are fetched before they are read */

static enum pm_node_type type_of(const osm_node_t *node)
{
	switch (osm_node_get_type(node)) {
	case IB_NODE_TYPE_SWITCH:
		return PM_SWITCH;
	case IB_NODE_TYPE_ROUTER:
		return PM_ROUTER;
	default:
		return PM_CA;
	}
}

static void copy_port(const osm_node_t *node, unsigned int num, bool active_only,
		      struct pm_port *port)
{
	osm_physp_t *physp = osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, num);

	if (!physp)
		return;
	if (num == 0 || type_of(node) != PM_SWITCH)
		port->guid = cl_ntoh64(osm_physp_get_port_guid(physp));
	if (active_only && type_of(node) != PM_SWITCH &&
	    ib_port_info_get_port_state(&physp->port_info) != IB_LINK_ACTIVE)
		return;
	if (num == 0 || type_of(node) != PM_SWITCH) {
		port->lid = cl_ntoh16(osm_physp_get_base_lid(physp));
		port->lmc = osm_physp_get_lmc(physp);
	}
}

static int copy_node(const struct subnet_cache_node *n, const osm_node_t *node,
		     bool active_only, struct pm_fabric *fabric, struct pm_error *err)
{
	uint32_t index;
	int rc;

	rc = pm_fabric_add_node(fabric, type_of(node),
				cl_ntoh64(node->node_info.node_guid), n->ports,
				node->print_desc ? node->print_desc : "", &index, err);
	if (!rc)
		fabric->nodes[index].device = cl_ntoh16(node->node_info.device_id);
	for (unsigned int p = 0; !rc && p <= n->ports; p++)
		copy_port(node, p, active_only,
			  &fabric->ports[fabric->nodes[index].first_port + p]);
	return rc;
}

/*
 * Copies a port's link, unless it was copied from its other end, or is a loopback plug.
 */
static int copy_link(const struct subnet_cache *cache, uint32_t port,
		     struct pm_fabric *fabric, struct pm_error *err)
{
	uint32_t peer = cache->ports[port].peer;
	uint32_t near = cache->ports[port].node, remote;

	if (!subnet_cache_is_connected(cache, port) || port == peer ||
	    fabric->ports[port].peer != PM_NONE || fabric->ports[peer].peer != PM_NONE)
		return 0;
	remote = cache->ports[peer].node;
	fabric->ports[port].link = fabric->ports[peer].link =
		subnet_cache_link(cache, port);
	return pm_fabric_link(fabric, near, port - cache->nodes[near].first, remote,
			      peer - cache->nodes[remote].first, err);
}

/* Copies nodes and ports, numbered as learnt: in the order of OpenSM's table. */
static int copy_all(const struct subnet_cache *cache, const osm_subn_t *subn,
		    bool active_only, struct pm_fabric *fabric, struct pm_error *err)
{
	const cl_map_item_t *item = cl_qmap_head(&subn->node_guid_tbl);
	int rc = 0;

	for (uint32_t i = 0; i < cache->num_nodes && !rc; i++) {
		while (cl_qmap_key(item) != cache->nodes[i].key)
			item = cl_qmap_next(item);
		rc = copy_node(&cache->nodes[i], (const osm_node_t *)item, active_only,
			       fabric, err);
	}
	for (uint32_t i = 0; i < cache->num_ports && !rc; i++)
		rc = copy_link(cache, i, fabric, err);
	return rc;
}

int snapshot_copy(const struct subnet_cache *cache, const osm_subn_t *subn,
		  bool active_only, struct pm_fabric **result, struct pm_error *err)
{
	struct pm_fabric *fabric = pm_fabric_new();
	int rc;

	if (!fabric)
		return pm_error_no_memory(err);
	rc = copy_all(cache, subn, active_only, fabric, err);
	if (rc)
		pm_fabric_free(fabric);
	else
		*result = fabric;
	return rc;
}

int snapshot_finish(const struct pm_roles *roles, struct pm_fabric **fabric,
		    struct pm_error *err)
{
	int rc = pm_fabric_seal(*fabric, err);

	if (!rc) {
		pm_roles_apply(roles, *fabric);
		return 0;
	}
	pm_fabric_free(*fabric);
	*fabric = NULL;
	return rc;
}

/* ---- Changes ---- */

/* The other end by its address: the hash of its own node has that, too. */
static uint64_t hash_port(uint64_t hash, const osm_physp_t *physp)
{
	struct subnet_cache_link link = subnet_cache_link_of(physp);
	uint8_t state = ib_port_info_get_port_state(&physp->port_info);
	bool up = state >= IB_LINK_INIT && state <= IB_LINK_ACTIVE;

	hash = pm_hash_mix(hash, physp->port_guid);
	hash = pm_hash_mix(hash, (uintptr_t)physp->p_remote_physp);
	hash = pm_hash_mix(hash, (uint64_t)link.width << 24 | (uint64_t)link.speed << 16 |
					 (uint64_t)link.extended << 8 | link.fdr10);
	return pm_hash_mix(hash, (uint64_t)physp->port_info.base_lid << 16 |
					 (uint64_t)osm_physp_get_lmc(physp) << 8 |
					 (uint64_t)(physp->healthy != 0) << 1 | up);
}

static uint64_t hash_node(uint64_t hash, const osm_node_t *node)
{
	const char *name = node->print_desc ? node->print_desc : "";
	uint32_t num = osm_node_get_num_physp((osm_node_t *)(uintptr_t)node);

	hash = pm_hash_mix(pm_hash_mix(hash, (uintptr_t)node),
			   cl_qmap_key(&node->map_item));
	hash = pm_hash_mix(hash, (uint64_t)num << 32 |
					 (uint64_t)node->node_info.device_id << 16 |
					 (uint64_t)node->node_info.node_type << 8 |
					 (uint64_t)(node->discovery_count != 0) << 1 |
					 (node->sw != NULL));
	return pm_hash(hash, name, strlen(name));
}

static uint64_t hash_ports(uint64_t hash, const osm_node_t *node)
{
	uint32_t num = osm_node_get_num_physp((osm_node_t *)(uintptr_t)node);

	for (uint32_t p = 0; p < num; p++) {
		if (p + SNAPSHOT_AHEAD < num)
			subnet_cache_fetch(&node->physp_table[p + SNAPSHOT_AHEAD]);
		hash = hash_port(hash, &node->physp_table[p]);
	}
	return hash;
}

static uint64_t hash_all(const osm_subn_t *subn,
			 uint64_t (*add)(uint64_t hash, const osm_node_t *node))
{
	const cl_map_item_t *end = cl_qmap_end(&subn->node_guid_tbl);
	uint64_t hash = PM_HASH_START;

	for (const cl_map_item_t *item = cl_qmap_head(&subn->node_guid_tbl); item != end;
	     item = cl_qmap_next(item))
		hash = add(hash, (const osm_node_t *)item);
	return hash | 1; /* not 0 */
}

/* The hash now, of which ports may be known to be as before. */
static struct snapshot_hash hash_subnet(const osm_subn_t *subn, uint64_t cache_hash,
					const struct snapshot_hash *before)
{
	struct snapshot_hash now = {hash_all(subn, hash_node), before->ports, cache_hash};

	if (!cache_hash || cache_hash != before->cache || now.nodes != before->nodes)
		now.ports = hash_all(subn, hash_ports);
	return now;
}

int snapshot_changed(osm_opensm_t *osm, const struct pm_roles *roles, uint64_t cache_hash,
		     struct snapshot_hash *hash, struct pm_fabric **fabric,
		     struct pm_error *err)
{
	struct subnet_cache cache = {.plan = NULL};
	struct snapshot_hash now;
	int rc = 0;

	*fabric = NULL;
	CL_PLOCK_ACQUIRE(&osm->lock);
	now = hash_subnet(&osm->subn, cache_hash, hash);
	if (now.nodes != hash->nodes || now.ports != hash->ports) {
		rc = subnet_cache_learn(&cache, &osm->subn, err);
		if (!rc)
			rc = snapshot_copy(&cache, &osm->subn, false, fabric, err);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	subnet_cache_forget(&cache);
	if (!rc && *fabric)
		rc = snapshot_finish(roles, fabric, err);
	if (rc)
		now = (struct snapshot_hash){0};
	*hash = now;
	return rc;
}

uint16_t snapshot_lid(const osm_subn_t *subn, uint64_t guid)
{
	const osm_port_t *port = osm_get_port_by_guid(subn, cl_hton64(guid));

	return port ? cl_ntoh16(osm_port_get_base_lid(port)) : 0;
}
