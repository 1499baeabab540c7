/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths of packets: on a flat switch, by tables, in VLANs. */
#include <portmajor/lab/packet_paths.h>

uint32_t pm_packet_path_flat(const void *network, uint32_t from, uint32_t to,
			     uint32_t *ports)
{
	const struct pm_packet_paths *paths = network;

	ports[0] = paths->hosts[from].port;
	ports[1] = paths->fabric->ports[paths->hosts[to].port].peer;
	return 2;
}

/* ---- Tables ---- */

/* The port by which packets for a LID leave a switch, or PM_NONE. */
static uint32_t exit_port(const struct pm_packet_paths *paths, uint32_t sw, uint16_t lid)
{
	const struct pm_node *node = &paths->fabric->nodes[sw];
	uint8_t out;

	if (lid >= paths->length)
		return PM_NONE;
	out = paths->lfts[(size_t)sw * paths->length + lid];
	return out && out <= node->num_ports ? node->first_port + out : PM_NONE;
}

uint32_t pm_packet_path_by_lfts(const void *network, uint32_t from, uint32_t to,
				uint32_t *ports)
{
	const struct pm_packet_paths *paths = network;
	const struct pm_fabric *fabric = paths->fabric;
	uint32_t port = paths->hosts[from].port, hops = 0;

	while (port != PM_NONE && hops < PM_PATH_MAX) {
		uint32_t peer = fabric->ports[port].peer;

		if (peer == PM_NONE)
			return 0;
		ports[hops++] = port;
		if (peer == paths->hosts[to].port)
			return hops;
		if (fabric->ports[peer].node >= fabric->num_switches)
			return 0;
		port = exit_port(paths, fabric->ports[peer].node, paths->hosts[to].lid);
	}
	return 0;
}

/* Whether packets arrive at a host from a switch. */
static bool leads(const struct pm_packet_paths *paths, uint32_t sw,
		  const struct pm_packet_host *to)
{
	const struct pm_fabric *fabric = paths->fabric;

	for (uint32_t hops = 0; hops <= fabric->num_switches; hops++) {
		uint32_t port = exit_port(paths, sw, to->lid);
		uint32_t peer = port == PM_NONE ? PM_NONE : fabric->ports[port].peer;

		if (peer == PM_NONE || peer == to->port)
			return peer != PM_NONE;
		sw = fabric->ports[peer].node;
		if (sw >= fabric->num_switches)
			return false;
	}
	return false;
}

void pm_packet_no_path(const struct pm_packet_paths *paths, uint32_t num_hosts,
		       struct pm_no_path *found)
{
	uint32_t next;

	*found = (struct pm_no_path){0};
	for (uint32_t h = 0; h < num_hosts; h = next) {
		uint32_t sw = pm_fabric_peer_node(paths->fabric, paths->hosts[h].port);

		for (next = h + 1; next < num_hosts; next++)
			if (pm_fabric_peer_node(paths->fabric, paths->hosts[next].port) !=
			    sw)
				break;
		for (uint32_t to = 0; to < num_hosts; to++) {
			bool below = to >= h && to < next; /* the same switch */

			if (next - h == below || leads(paths, sw, &paths->hosts[to]))
				continue;
			if (!found->pairs) {
				found->from = to == h ? h + 1 : h;
				found->to = to;
			}
			found->pairs += next - h - below;
		}
	}
}

/* ---- VLANs ---- */

#define STEM_MAX (PM_PATH_MAX / 2 - 1)

/* The path up from a switch in a VLAN, as far as there are links. */
struct stem {
	uint32_t switches[STEM_MAX + 1]; /* the switch itself first */
	uint32_t ports[STEM_MAX];	 /* up ports of all but the last */
	uint32_t num;			 /* of ports */
};

static void climb(const struct pm_packet_paths *paths, uint32_t vlan, uint32_t sw,
		  struct stem *stem)
{
	const struct pm_fabric *fabric = paths->fabric;
	const uint32_t *up =
		paths->vlans->up + (size_t)vlan * paths->vlans->tree->num_switches;

	stem->num = 0;
	stem->switches[0] = sw;
	while (stem->num < STEM_MAX && up[sw] < PM_VLAN_TOP &&
	       fabric->ports[up[sw]].peer != PM_NONE) {
		stem->ports[stem->num++] = up[sw];
		sw = pm_fabric_peer_node(fabric, up[sw]);
		stem->switches[stem->num] = sw;
	}
}

/* Finds where two paths first meet, as numbers of ports on each; false: nowhere. */
static bool find_meeting(const struct stem *a, const struct stem *b, uint32_t *of_a,
			 uint32_t *of_b)
{
	for (uint32_t i = 0; i <= a->num; i++)
		for (uint32_t k = 0; k <= b->num; k++)
			if (a->switches[i] == b->switches[k]) {
				*of_a = i;
				*of_b = k;
				return true;
			}
	return false;
}

static uint32_t choose_vlan(const struct pm_packet_paths *paths, uint32_t from,
			    uint32_t to)
{
	const struct pm_vlan_host *a, *b;

	if (paths->broadcast)
		return paths->table->broadcast;
	a = &paths->table->host[paths->index[from]];
	b = &paths->table->host[paths->index[to]];
	return a->priority > b->priority ? a->vlan : b->vlan;
}

uint32_t pm_packet_path_by_vlan(const void *network, uint32_t from, uint32_t to,
				uint32_t *ports)
{
	const struct pm_packet_paths *paths = network;
	const struct pm_fabric *fabric = paths->fabric;
	uint32_t vlan = choose_vlan(paths, from, to), up, down, hops = 0;
	struct stem a, b;

	climb(paths, vlan, pm_fabric_peer_node(fabric, paths->hosts[from].port), &a);
	climb(paths, vlan, pm_fabric_peer_node(fabric, paths->hosts[to].port), &b);
	if (!find_meeting(&a, &b, &up, &down))
		return 0;
	ports[hops++] = paths->hosts[from].port;
	for (uint32_t i = 0; i < up; i++)
		ports[hops++] = a.ports[i];
	while (down)
		ports[hops++] = fabric->ports[b.ports[--down]].peer;
	ports[hops++] = fabric->ports[paths->hosts[to].port].peer;
	return hops;
}
