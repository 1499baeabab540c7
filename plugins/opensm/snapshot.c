/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "snapshot.h"

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

/* Not all states that a port may tell are any: OpenSM does nothing with the others. */
static bool is_up(const osm_physp_t *physp)
{
	uint8_t state = ib_port_info_get_port_state(&physp->port_info);

	return state >= IB_LINK_INIT && state <= IB_LINK_ACTIVE;
}

/* Whether a cable leads somewhere from here and is up. */
static bool is_joined(osm_physp_t *physp)
{
	return physp && physp->p_remote_physp && is_up(physp) &&
	       is_up(physp->p_remote_physp) && osm_link_is_healthy(physp);
}

/* The cables of one node, each from the end that was copied first. */
static int copy_cables(const struct pair *from, const struct pair *pairs, size_t count,
		       struct pm_fabric *fabric, struct pm_error *err)
{
	for (unsigned int p = 1; p <= highest_port(from->node); p++) {
		osm_physp_t *physp =
			osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)from->node, p);
		const struct pair *to;
		struct pair key = {0};
		uint32_t port, far;
		int rc;

		if (!is_joined(physp))
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

/* Whether a node is one that can be copied. */
static bool is_usable(const osm_node_t *node)
{
	return is_there(node) && highest_port(node) >= 1 &&
	       (node->sw || highest_port(node) <= PM_MAX_PORTS);
}

static int copy_all(const osm_subn_t *subn, bool active_only, struct pair *pairs,
		    struct pm_fabric *fabric, struct pm_error *err)
{
	const cl_qmap_t *nodes = &subn->node_guid_tbl;
	size_t count = 0;
	int rc = 0;

	for (cl_map_item_t *item = cl_qmap_head(nodes); item != cl_qmap_end(nodes) && !rc;
	     item = cl_qmap_next(item)) {
		const osm_node_t *node = (const osm_node_t *)item;

		if (!is_usable(node))
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

/* What one end of a cable tells. */
static void doubt_end(const struct pm_fabric *known, uint32_t port, osm_physp_t *physp,
		      const struct snapshot_doubt *doubt)
{
	uint32_t peer = known->ports[port].peer;
	uint8_t state = physp ? ib_port_info_get_port_state(&physp->port_info) : 0;

	if (peer == PM_NONE || state > IB_LINK_INIT)
		return;
	doubt->stayed[port] = doubt->stayed[peer] = 0;
	if (state == IB_LINK_DOWN)
		doubt->silent[port] = doubt->silent[peer] = 0;
}

void snapshot_find_doubt(const osm_subn_t *subn, const struct pm_fabric *known,
			 const uint8_t *seen, const struct snapshot_doubt *doubt)
{
	memcpy(doubt->stayed, seen, known->num_ports);
	for (uint32_t i = 0; i < known->num_ports; i++)
		doubt->silent[i] = !seen[i] && known->ports[i].peer != PM_NONE;
	for (uint32_t sw = 0; sw < known->num_switches; sw++) {
		const struct pm_node *n = &known->nodes[sw];
		const osm_switch_t *there =
			osm_get_switch_by_guid(subn, cl_hton64(n->guid));

		for (unsigned int p = 1;
		     there && there->p_node->discovery_count && p <= n->num_ports &&
		     p <= highest_port(there->p_node);
		     p++)
			doubt_end(known, n->first_port + p,
				  osm_node_get_physp_ptr(there->p_node, p), doubt);
	}
}

int snapshot_take(const osm_subn_t *subn, const struct pm_roles *roles, bool active_only,
		  struct pm_fabric **result, struct pm_error *err)
{
	struct pm_fabric *fabric = pm_fabric_new();
	struct pair *pairs =
		calloc(cl_qmap_count(&subn->node_guid_tbl) + 1, sizeof(*pairs));
	int rc = -ENOMEM;

	if (fabric && pairs)
		rc = copy_all(subn, active_only, pairs, fabric, err);
	else
		pm_error_set(err, rc, "out of memory");
	free(pairs);
	if (!rc)
		rc = pm_fabric_seal(fabric, err);
	if (rc) {
		pm_fabric_free(fabric);
		return rc;
	}
	pm_roles_apply(roles, fabric);
	*result = fabric;
	return 0;
}

/* The highest LID that a switch's table has room for: it begins with LID 0. */
static uint16_t highest_lid(const osm_switch_t *sw)
{
	uint16_t room = cl_ntoh16(sw->switch_info.lin_cap);

	return room ? (uint16_t)(room - 1) : 0;
}

static uint16_t count_odd_ports(osm_node_t *node)
{
	uint16_t odd = 0;

	for (unsigned int p = 1; p <= highest_port(node); p++) {
		const osm_physp_t *physp = osm_node_get_physp_ptr(node, p);

		odd = (uint16_t)(odd + (physp && !is_up(physp) &&
					ib_port_info_get_port_state(&physp->port_info) !=
						IB_LINK_DOWN));
	}
	return odd;
}

int snapshot_switches(const osm_subn_t *subn, struct pm_fitness **switches, uint32_t *num,
		      struct pm_error *err)
{
	const cl_qmap_t *table = &subn->sw_guid_tbl;
	struct pm_fitness *found = malloc((cl_qmap_count(table) + 1) * sizeof(*found));

	if (!found)
		return pm_error_no_memory(err);
	*num = 0;
	for (cl_map_item_t *item = cl_qmap_head(table); item != cl_qmap_end(table);
	     item = cl_qmap_next(item)) {
		const osm_switch_t *sw = (const osm_switch_t *)item;

		if (is_there(sw->p_node))
			found[(*num)++] = (struct pm_fitness){
				cl_ntoh64(osm_node_get_node_guid(sw->p_node)),
				highest_lid(sw), count_odd_ports(sw->p_node)};
	}
	*switches = found;
	return 0;
}

uint16_t snapshot_lid(const osm_subn_t *subn, uint64_t guid)
{
	const osm_port_t *port = osm_get_port_by_guid(subn, cl_hton64(guid));

	return port ? cl_ntoh16(osm_port_get_base_lid(port)) : 0;
}

/* ---- Digests: sums of well-mixed numbers, so that no order matters ---- */

/* The finalizer of MurmurHash3: every bit of its argument changes half of the result's.
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static uint64_t digest_lid(uint64_t port_guid, uint16_t lid)
{
	return mix(mix(port_guid) + lid);
}

static uint64_t digest_end(const osm_physp_t *physp)
{
	return mix(cl_ntoh64(osm_node_get_node_guid(physp->p_node)) * 256 +
		   physp->port_num);
}

static void digest_node(const osm_node_t *node, struct snapshot_digest *digest)
{
	osm_node_t *n = (osm_node_t *)(uintptr_t)node;

	digest->topology += mix(cl_ntoh64(osm_node_get_node_guid(n)) + highest_port(n));
	if (node->sw)
		digest->lids += digest_lid(cl_ntoh64(osm_node_get_node_guid(n)),
					   cl_ntoh16(osm_node_get_base_lid(n, 0)));
	for (unsigned int p = 1; p <= highest_port(n); p++) {
		osm_physp_t *physp = osm_node_get_physp_ptr(n, p);

		if (!is_joined(physp) || !is_usable(physp->p_remote_physp->p_node))
			continue;
		digest->topology +=
			mix(digest_end(physp) + 3 * digest_end(physp->p_remote_physp));
		if (!node->sw)
			digest->lids +=
				digest_lid(cl_ntoh64(osm_physp_get_port_guid(physp)),
					   cl_ntoh16(osm_physp_get_base_lid(physp)));
	}
}

struct snapshot_digest snapshot_digest(const osm_subn_t *subn)
{
	const cl_qmap_t *nodes = &subn->node_guid_tbl;
	struct snapshot_digest digest = {0};

	for (cl_map_item_t *item = cl_qmap_head(nodes); item != cl_qmap_end(nodes);
	     item = cl_qmap_next(item))
		if (is_usable((const osm_node_t *)item))
			digest_node((const osm_node_t *)item, &digest);
	return digest;
}

uint64_t snapshot_planned_lids(const struct pm_plan *plan, const struct pm_fabric *fabric)
{
	uint64_t lids = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t place = snapshot_has_place(fabric, i)
					 ? pm_plan_place(plan, fabric, i)
					 : PM_NONE;

		if (snapshot_has_place(fabric, i))
			lids += digest_lid(fabric->ports[i].guid,
					   place == PM_NONE ? 0 : plan->lid[place]);
	}
	return lids;
}
