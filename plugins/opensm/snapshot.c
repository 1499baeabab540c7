/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where each osm_node_t went: pairs sorted by pointer. */
struct pair {
	const osm_node_t *node;
	uint32_t index;
};

static int compare_pairs(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct pair *)a)->node;
	uintptr_t y = (uintptr_t)((const struct pair *)b)->node;

	return x < y ? -1 : x > y;
}

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

static bool is_there(const osm_node_t *node)
{
	return node->discovery_count != 0 && (node->sw || type_of(node) != PM_SWITCH);
}

static unsigned int highest_port(const osm_node_t *node)
{
	return osm_node_get_num_physp((osm_node_t *)(uintptr_t)node) - 1u;
}

static void copy_port(const osm_node_t *node, unsigned int num, bool active_only,
		      struct pm_port *port)
{
	osm_physp_t *physp = osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, num);

	if (!physp)
		return;
	if (type_of(node) != PM_SWITCH)
		port->guid = cl_ntoh64(osm_physp_get_port_guid(physp));
	if (active_only && type_of(node) != PM_SWITCH &&
	    ib_port_info_get_port_state(&physp->port_info) != IB_LINK_ACTIVE)
		return;
	if (num == 0 || type_of(node) != PM_SWITCH) {
		port->lid = cl_ntoh16(osm_physp_get_base_lid(physp));
		port->lmc = osm_physp_get_lmc(physp);
	}
}

static int copy_node(const osm_node_t *node, bool active_only, struct pm_fabric *fabric,
		     uint32_t *index, struct pm_error *err)
{
	unsigned int ports = highest_port(node);
	int rc;

	rc = pm_fabric_add_node(fabric, type_of(node),
				cl_ntoh64(node->node_info.node_guid), ports,
				node->print_desc ? node->print_desc : "", index, err);
	if (rc)
		return rc;
	for (unsigned int p = 0; p <= ports; p++)
		copy_port(node, p, active_only,
			  &fabric->ports[fabric->nodes[*index].first_port + p]);
	return 0;
}

static bool is_up(osm_physp_t *physp)
{
	return ib_port_info_get_port_state(&physp->port_info) > IB_LINK_DOWN;
}

/* The cables of one node, each from the end that was copied first. */
static int copy_cables(const struct pair *from, const struct pair *pairs, size_t count,
		       struct pm_fabric *fabric, struct pm_error *err)
{
	for (unsigned int p = 1; p <= highest_port(from->node); p++) {
		osm_physp_t *physp =
			osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)from->node, p);
		struct pair key, *to;
		uint32_t port, far;
		int rc;

		if (!physp || !physp->p_remote_physp || !is_up(physp) ||
		    !is_up(physp->p_remote_physp) || !osm_link_is_healthy(physp))
			continue;
		key.node = physp->p_remote_physp->p_node;
		to = bsearch(&key, pairs, count, sizeof(*pairs), compare_pairs);
		if (!to)
			continue;
		port = fabric->nodes[from->index].first_port + p;
		far = fabric->nodes[to->index].first_port +
		      physp->p_remote_physp->port_num;
		if (port == far || fabric->ports[port].peer != PM_NONE ||
		    fabric->ports[far].peer != PM_NONE)
			continue; /* the other end, or a loopback plug */
		rc = pm_fabric_link(fabric, from->index, p, to->index,
				    physp->p_remote_physp->port_num, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int copy_all(const osm_opensm_t *osm, bool active_only, struct pair *pairs,
		    struct pm_fabric *fabric, struct pm_error *err)
{
	const cl_qmap_t *nodes = &osm->subn.node_guid_tbl;
	size_t count = 0;
	int rc = 0;

	for (cl_map_item_t *item = cl_qmap_head(nodes); item != cl_qmap_end(nodes) && !rc;
	     item = cl_qmap_next(item)) {
		const osm_node_t *node = (const osm_node_t *)item;

		if (!is_there(node) || highest_port(node) < 1 ||
		    (!node->sw && highest_port(node) > PM_MAX_PORTS))
			continue;
		pairs[count].node = node;
		rc = copy_node(node, active_only, fabric, &pairs[count].index, err);
		count++;
	}
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < count && !rc; i++)
		rc = copy_cables(&pairs[i], pairs, count, fabric, err);
	return rc;
}

void plugin_find_bounced(const struct plugin *plugin, uint8_t *stayed)
{
	const cl_qmap_t *switches = &plugin->osm->subn.sw_guid_tbl;
	const struct pm_fabric *known = plugin->plan->known;

	for (cl_map_item_t *item = cl_qmap_head(switches); item != cl_qmap_end(switches);
	     item = cl_qmap_next(item)) {
		const osm_node_t *node = ((const osm_switch_t *)item)->p_node;
		uint32_t sw =
			pm_fabric_find_guid(known, cl_ntoh64(node->node_info.node_guid));

		for (unsigned int p = 1; sw != PM_NONE && p <= highest_port(node) &&
					 p <= known->nodes[sw].num_ports;
		     p++) {
			osm_physp_t *physp =
				osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, p);
			uint32_t port = known->nodes[sw].first_port + p;

			if (!physp || known->ports[port].peer == PM_NONE ||
			    ib_port_info_get_port_state(&physp->port_info) > IB_LINK_INIT)
				continue;
			stayed[port] = 0;
			stayed[known->ports[port].peer] = 0;
		}
	}
}

void plugin_read_roles(struct plugin *plugin)
{
	const osm_subn_opt_t *opt = &plugin->osm->subn.opt;
	struct pm_role_files files = {opt->root_guid_file, opt->cn_guid_file,
				      opt->io_guid_file};
	struct pm_error err = {""};

	if (pm_roles_read(&files, &plugin->roles, &err) &&
	    strcmp(err.text, plugin->unread.text) != 0)
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: GUID files not used: %s\n", err.text);
	plugin->unread = err;
}

int plugin_snapshot(const struct plugin *plugin, bool active_only,
		    struct pm_fabric **result, struct pm_error *err)
{
	const osm_opensm_t *osm = plugin->osm;
	struct pm_fabric *fabric = pm_fabric_new();
	struct pair *pairs =
		calloc(cl_qmap_count(&osm->subn.node_guid_tbl) + 1, sizeof(*pairs));
	int rc = -ENOMEM;

	if (fabric && pairs)
		rc = copy_all(osm, active_only, pairs, fabric, err);
	else
		pm_error_set(err, rc, "out of memory");
	free(pairs);
	if (!rc)
		rc = pm_fabric_seal(fabric, err);
	if (rc) {
		pm_fabric_free(fabric);
		return rc;
	}
	pm_roles_apply(&plugin->roles, fabric);
	*result = fabric;
	return 0;
}
