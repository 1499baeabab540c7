/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds hosts that no cables join. */
#include <portmajor/base/pool.h>
#include <portmajor/fabric/apart.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/fabric/roles.h>

#include <inttypes.h>
#include <stdio.h>

static bool is_forwarder(const struct pm_fabric *fabric, uint32_t node)
{
	return node < fabric->num_switches;
}

/* The switch that a host's port has a link to, or PM_NONE. */
static uint32_t switch_at(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = pm_fabric_peer_node(fabric, port);

	return peer != PM_NONE && is_forwarder(fabric, peer) ? peer : PM_NONE;
}

/* Lists hosts with a link to a switch; returns their number. */
static uint32_t list_hosts(const struct pm_fabric *fabric, uint32_t *hosts)
{
	uint32_t count = 0;

	for (uint32_t node = fabric->num_switches; node < fabric->num_nodes; node++) {
		bool any = false;

		pm_for_each_port(i, fabric, node)
			any |= switch_at(fabric, i) != PM_NONE;
		if (any && !pm_is_aggregation_node(fabric, node))
			hosts[count++] = node;
	}
	return count;
}

/* Whether two hosts have ports in a common part. */
static bool share_part(const struct pm_fabric *fabric, const uint32_t *part, uint32_t a,
		       uint32_t b)
{
	pm_for_each_port(i, fabric, a) {
		uint32_t first = switch_at(fabric, i);

		if (first == PM_NONE)
			continue;
		pm_for_each_port(k, fabric, b) {
			uint32_t second = switch_at(fabric, k);

			if (second != PM_NONE && part[first] == part[second])
				return true;
		}
	}
	return false;
}

/* Finds the parts of the switches; whether there are several with hosts. */
static bool find_switch_parts(const struct pm_fabric *fabric, uint8_t *between,
			      uint32_t *part, uint32_t *queue)
{
	uint32_t first = PM_NONE;
	bool several = false;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		between[i] = is_forwarder(fabric, fabric->ports[i].node) &&
			     switch_at(fabric, i) != PM_NONE;
	pm_reach_parts(fabric, between, part, queue);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t sw = switch_at(fabric, i);

		if (is_forwarder(fabric, fabric->ports[i].node) || sw == PM_NONE)
			continue;
		if (first == PM_NONE)
			first = part[sw];
		several |= part[sw] != first;
	}
	return several;
}

static void count_apart(const struct pm_fabric *fabric, const uint32_t *part,
			const uint32_t *hosts, uint32_t num, struct pm_apart *apart)
{
	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = a + 1; b < num; b++) {
			if (share_part(fabric, part, hosts[a], hosts[b]) ||
			    apart->count++)
				continue;
			apart->host[0] = hosts[a];
			apart->host[1] = hosts[b];
		}
}

int pm_apart_find(const struct pm_fabric *fabric, struct pm_apart *apart,
		  struct pm_error *err)
{
	struct pm_pool pool = {0};
	uint8_t *between = pm_pool_array(&pool, fabric->num_ports, 1);
	uint32_t *part = pm_pool_array(&pool, fabric->num_nodes, sizeof(*part));
	uint32_t *hosts = pm_pool_array(&pool, fabric->num_nodes, sizeof(*hosts));
	int rc = pm_pool_check(&pool, err);

	if (!rc) {
		bool several = find_switch_parts(fabric, between, part, hosts);
		uint32_t num = list_hosts(fabric, hosts);

		*apart = (struct pm_apart){
			.pairs = num ? (uint64_t)num * (num - 1) / 2 : 0,
			.host = {PM_NONE, PM_NONE},
		};
		if (several)
			count_apart(fabric, part, hosts, num, apart);
	}
	pm_pool_free(&pool);
	return rc;
}

bool pm_apart_describe(const struct pm_fabric *fabric, const struct pm_apart *apart,
		       char *text, size_t size)
{
	if (size)
		text[0] = '\0';
	if (!apart->count)
		return false;
	snprintf(text, size,
		 "no cables join %" PRIu64 " of %" PRIu64
		 " pairs of hosts, such as %s and %s",
		 apart->count, apart->pairs, pm_fabric_label(fabric, apart->host[0]),
		 pm_fabric_label(fabric, apart->host[1]));
	return true;
}
