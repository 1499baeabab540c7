/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fails links. Packets that wait for such a link are dropped. A packet that is partly on
 * it is cut off: the part beyond the link goes on, takes its time and space, and is
 * dropped at its end.
 *
 * The sender gets the credits of all these packets back at once. So a returning link has
 * credits for its whole buffer, like a new link.
 */
#include "packet_parts.h"

#include <string.h>

#define NO_PORT 0xff /* in a table */

static void flush(struct pm_packet *sim, uint32_t out)
{
	port_of(sim, out)->waiting = 0;
	for (uint32_t l = 0; l < sim->lanes; l++) {
		struct lane *lane = lane_of(sim, out, l);

		while (lane->head != PM_NONE) {
			uint32_t index = lane->head;

			lane->head = sim->packets[index].next;
			packet_drop(sim, index, port_of(sim, out)->node,
				    PM_DROP_DEAD_PORT);
		}
		lane->tail = PM_NONE;
	}
}

/*
 * Cuts off the packet that arrives from a failed link. If its head has not arrived, the
 * packet is found when the head does.
 */
static void cut_input(struct pm_packet *sim, uint32_t in)
{
	struct port *p = port_of(sim, in);
	struct packet *packet;

	if (p->arrived == PM_NONE || p->tail <= sim->wheel.now)
		return;
	packet = &sim->packets[p->arrived];
	if (packet->flags & (BAD | DROPPED))
		return;
	packet->flags |= BAD;
	packet_count_drop(sim, port_of(sim, p->peer)->node, PM_DROP_CUT);
	sim->inside--;
	sim->waste++;
}

void packet_fail_links(struct pm_packet *sim)
{
	for (uint32_t i = 0; i < sim->config.num_failed; i++) {
		uint32_t port = sim->config.failed[i], peer = port_of(sim, port)->peer;

		if (peer == PM_NONE)
			continue;
		port_of(sim, port)->dead = port_of(sim, peer)->dead = true;
		port_of(sim, port)->fell = port_of(sim, peer)->fell = true;
		flush(sim, port);
		flush(sim, peer);
		cut_input(sim, port);
		cut_input(sim, peer);
	}
	for (uint32_t i = 0; i < sim->config.num_reset; i++)
		memset(sim->tables + (size_t)sim->config.reset[i] * sim->config.length,
		       NO_PORT, sim->config.length);
	sim->links_failed = true;
}

/* No switch has a packet waiting for such a link, but a host may. */
void packet_return(struct pm_packet *sim)
{
	for (; sim->back < sim->config.num_returns &&
	       sim->config.returns[sim->back].time <= sim->wheel.now;
	     sim->back++) {
		uint32_t port = sim->config.returns[sim->back].port;
		uint32_t peer = port_of(sim, port)->peer;

		if (peer == PM_NONE || !port_of(sim, port)->dead)
			continue;
		port_of(sim, port)->dead = port_of(sim, peer)->dead = false;
		if (port_of(sim, port)->host != PM_NONE)
			packet_feed(sim, port_of(sim, port)->host);
		if (port_of(sim, peer)->host != PM_NONE)
			packet_feed(sim, port_of(sim, peer)->host);
	}
}
