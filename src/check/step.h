/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A packet's path, step by step; for the files of this folder. */
#ifndef PORTMAJOR_CHECK_STEP_H
#define PORTMAJOR_CHECK_STEP_H

#include <portmajor/check/check.h>

/* The next step of a packet for a LID at switch *sw. */
enum step {
	STEP_ON,  /* to another switch: *sw is that switch, *port the output port */
	STEP_END, /* to its last port, *port: an end port, or the switch's port 0 */
	STEP_DROP,
};

static inline enum step take_step(const struct pm_check *check, uint32_t lid,
				  uint32_t *sw, uint32_t *port)
{
	const struct pm_fabric *fabric = check->fabric;
	const struct pm_node *n = &fabric->nodes[*sw];
	uint8_t out;

	if (!check->table[*sw] || lid > check->top[*sw])
		return STEP_DROP;
	out = check->table[*sw][lid];
	if (out > n->num_ports)
		return STEP_DROP;
	*port = n->first_port + out;
	if (out == 0)
		return STEP_END;
	if (fabric->ports[*port].peer == PM_NONE)
		return STEP_DROP;
	if (pm_fabric_peer_node(fabric, *port) >= fabric->num_switches) {
		*port = fabric->ports[*port].peer;
		return STEP_END;
	}
	*sw = pm_fabric_peer_node(fabric, *port);
	return STEP_ON;
}

static inline bool has_end_ports(const struct pm_fabric *fabric, uint32_t sw)
{
	const struct pm_node *n = &fabric->nodes[sw];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (peer != PM_NONE && peer >= fabric->num_switches)
			return true;
	}
	return false;
}

/*
 * The switch of a port with a LID: the port's own, or the one that an end port has a link
 * to. PM_NONE: no link.
 */
static inline uint32_t switch_of(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t node = fabric->ports[port].node;

	return node < fabric->num_switches ? node : pm_fabric_peer_node(fabric, port);
}

/*
 * Finds connected components: part[switch] is the lowest switch of its component.
 * queue[switch] is working memory. O(links).
 */
void find_parts(const struct pm_fabric *fabric, uint32_t *part, uint32_t *queue);

#endif
