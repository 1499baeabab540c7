/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts flows on links. */
#include "step.h"

#include <portmajor/base/alloc.h>
#include <portmajor/fabric/link.h>

#include <errno.h>

/* Lists end ports that have a LID and a link to a switch, by switch and port. */
static int list_end_ports(const struct pm_fabric *fabric, uint32_t **list,
			  uint32_t *count)
{
	uint32_t num = 0;
	uint32_t *ports = pm_array(fabric->num_ports, sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (fabric->ports[i].node >= fabric->num_switches)
			break;
		if (peer != PM_NONE && fabric->ports[peer].node >= fabric->num_switches &&
		    fabric->ports[peer].lid)
			ports[num++] = peer;
	}
	*list = ports;
	*count = num;
	return 0;
}

/* A port's load, weighted by the rate of its link. */
static uint64_t weigh(const struct pm_check *check, const uint32_t *load, uint32_t port)
{
	return pm_link_weigh(check->fabric, check->common_rate, port, load[port]);
}

uint64_t pm_check_add_path(const struct pm_check *check, uint32_t from, uint32_t lid,
			   uint32_t flows, uint32_t *load)
{
	uint32_t sw = from, hops = 0, at;
	uint64_t most = 0;

	while (take_step(check, lid, &sw, &at) == STEP_ON) {
		load[at] += flows;
		if (weigh(check, load, at) > most)
			most = weigh(check, load, at);
		if (++hops > check->fabric->num_switches)
			break;
	}
	return most;
}

static void sum_loads(const struct pm_check *check, const uint32_t *load,
		      struct pm_check_loads *loads)
{
	const struct pm_fabric *fabric = check->fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t x = fabric->ports[i].node, y = pm_fabric_peer_node(fabric, i);
		struct pm_check_load *kind;
		unsigned int low;
		uint64_t own;

		if (x >= fabric->num_switches || y == PM_NONE ||
		    y >= fabric->num_switches)
			continue;
		if (check->level[x] == check->level[y])
			continue;
		low = check->level[x] < check->level[y] ? check->level[x]
							: check->level[y];
		if (low >= PM_CHECK_LEVELS)
			continue;
		kind = low == check->level[x] ? &loads->up[low] : &loads->down[low];
		own = weigh(check, load, i);
		if (!kind->links || own < kind->minimum)
			kind->minimum = own;
		if (own > kind->maximum)
			kind->maximum = own;
		kind->links++;
		kind->flows += own;
	}
}

/* Counts, per up port of a leaf, the LIDs of end ports at other switches. */
static void count_uplinks(const struct pm_check *check, uint32_t leaf,
			  const uint32_t *ends, uint32_t num_ends,
			  struct pm_check_loads *loads)
{
	const struct pm_fabric *fabric = check->fabric;
	const struct pm_node *n = &fabric->nodes[leaf];
	uint32_t count[PM_MAX_PORTS + 1] = {0};
	uint32_t least = PM_NONE, most = 0;

	for (uint32_t e = 0; e < num_ends; e++) {
		const struct pm_port *p = &fabric->ports[ends[e]];

		for (uint32_t k = 0; k < 1u << p->lmc; k++) {
			uint32_t lid = p->lid + k;

			if (lid <= check->top[leaf] &&
			    check->table[leaf][lid] <= n->num_ports)
				count[check->table[leaf][lid]]++;
		}
	}
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t peer = pm_fabric_peer_node(fabric, n->first_port + p);

		if (peer == PM_NONE || peer >= fabric->num_switches ||
		    check->level[peer] <= check->level[leaf])
			continue;
		if (count[p] < least)
			least = count[p];
		if (count[p] > most)
			most = count[p];
	}
	if (least == PM_NONE)
		return;
	if (most - least > loads->uplink_spread)
		loads->uplink_spread = most - least;
	if (least < loads->uplink_least)
		loads->uplink_least = least;
	if (most > loads->uplink_most)
		loads->uplink_most = most;
}

double pm_check_load_ratio(const struct pm_check_load *load)
{
	return load->flows
		       ? (double)load->maximum * (double)load->links / (double)load->flows
		       : 1.0;
}

int pm_check_loads(const struct pm_check *check, struct pm_check_loads *loads,
		   struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t *load = pm_array(fabric->num_ports, sizeof(*load));
	uint32_t *hosts = pm_array(fabric->num_switches, sizeof(*hosts));
	uint32_t *ends = NULL, num_ends = 0;
	int rc = 0;

	if (!load || !hosts || list_end_ports(fabric, &ends, &num_ends)) {
		rc = pm_error_no_memory(err);
		goto out;
	}
	memset(loads, 0, sizeof(*loads));
	loads->uplink_least = PM_NONE;
	for (uint32_t e = 0; e < num_ends; e++)
		hosts[pm_fabric_peer_node(fabric, ends[e])]++;
	for (uint32_t e = 0; e < num_ends; e++)
		for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
			if (hosts[sw])
				pm_check_add_path(check, sw, fabric->ports[ends[e]].lid,
						  hosts[sw], load);
	sum_loads(check, load, loads);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		if (check->level[sw] == 0 && check->table[sw] && hosts[sw])
			count_uplinks(check, sw, ends, num_ends, loads);
out:
	free(load);
	free(hosts);
	free(ends);
	return rc;
}

int pm_check_shifts(const struct pm_check *check, uint32_t samples, uint32_t *result,
		    struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t *load = pm_array(fabric->num_ports, sizeof(*load));
	uint32_t *ends = NULL, num_ends = 0, steps;
	uint64_t most = 0;
	int rc = 0;

	if (!load || list_end_ports(fabric, &ends, &num_ends)) {
		rc = pm_error_no_memory(err);
		goto out;
	}
	/* The last step is left out: each end port would send to itself. */
	steps = samples && samples < num_ends ? samples + 1 : num_ends;
	for (uint32_t s = 1; s < steps; s++) {
		uint32_t k = (uint32_t)((uint64_t)s * num_ends / steps);

		memset(load, 0, fabric->num_ports * sizeof(*load));
		for (uint32_t i = 0; i < num_ends; i++) {
			uint32_t to = ends[(i + k) % num_ends];
			uint64_t here;

			here = pm_check_add_path(check,
						 pm_fabric_peer_node(fabric, ends[i]),
						 fabric->ports[to].lid, 1, load);
			if (here > most)
				most = here;
		}
	}
	*result = (uint32_t)most;
out:
	free(load);
	free(ends);
	return rc;
}
