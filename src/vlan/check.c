/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks that VLANs are trees, by the switches' tagged ports. */
#include <portmajor/memory/xalloc.h>
#include <portmajor/vlan/vlan.h>

#include <errno.h>

static uint32_t find_root(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x) {
		parent[x] = parent[parent[x]];
		x = parent[x];
	}
	return x;
}

/* Joins the parts that links connect; false: a link closes a loop. */
static bool join_cables(const struct pm_vlans *v, uint32_t vlan, uint32_t *parent)
{
	const struct pm_fabric *fabric = v->fabric;

	for (uint32_t i = 0; i < v->tree->num_ports; i++) {
		uint32_t x, y;

		if (i > fabric->ports[i].peer || !pm_vlans_tagged(v, vlan, i))
			continue;
		x = find_root(parent, fabric->ports[i].node);
		y = find_root(parent, pm_fabric_peer_node(fabric, i));
		if (x == y)
			return false;
		parent[x] = y;
	}
	return true;
}

/* Whether all switches of a VLAN are connected. */
static bool is_vlan_whole(const struct pm_vlans *v, uint32_t vlan, uint32_t *parent)
{
	const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;
	uint32_t root = find_root(parent, v->top[vlan]);

	for (uint32_t sw = 0; sw < v->tree->num_switches; sw++)
		if ((up[sw] != PM_NONE) != (find_root(parent, sw) == root))
			return false;
	return true;
}

int pm_vlans_check(const struct pm_vlans *vlans, struct pm_error *err)
{
	struct pm_pool pool = {0};
	uint32_t num = vlans->tree->num_switches;
	uint32_t *parent = pm_pool_xarray(&pool, num, sizeof(*parent));
	int rc = 0;

	for (uint32_t vlan = 0; vlan < vlans->num && !rc; vlan++) {
		for (uint32_t i = 0; i < num; i++)
			parent[i] = i;
		if (!join_cables(vlans, vlan, parent) ||
		    !is_vlan_whole(vlans, vlan, parent))
			rc = pm_error_set(
				err, -EINVAL, "the VLAN below \"%s\" is no tree",
				pm_fabric_label(vlans->fabric, vlans->top[vlan]));
	}
	pm_pool_free(&pool);
	return rc;
}
