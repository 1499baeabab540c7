/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes, drops and returns packets. */
#include "packet_parts.h"

#include <portmajor/memory/xalloc.h>

static const char *const drop_names[PM_DROPS] = {
	"no-entry", "no-lid", "dead-port", "cut", "lifetime", "wrong-host",
};

const char *pm_packet_drop_name(enum pm_packet_drop reason)
{
	return drop_names[reason];
}

uint32_t packet_take(struct pm_packet *sim)
{
	uint32_t index = sim->free;

	if (index != PM_NONE) {
		sim->free = sim->packets[index].next;
		return index;
	}
	if (sim->num_packets == PM_NONE)
		pm_no_memory();
	pm_xgrow(&sim->packets, &sim->room, sim->num_packets + 1, sizeof(*sim->packets));
	if (sim->config.timeout)
		pm_xgrow(&sim->tags, &sim->tags_room, sim->num_packets + 1,
			 sizeof(*sim->tags));
	return sim->num_packets++;
}

/* Returns a packet's credit to its sender, from a time on. */
static void give_credit(struct pm_packet *sim, const struct packet *packet, uint32_t time)
{
	add_event(sim, time + sim->config.wire, CREDIT, port_of(sim, packet->in)->peer,
		  (uint32_t)packet->lane << LANE_SHIFT | packet->size);
}

void packet_leave(struct pm_packet *sim, const struct packet *packet, uint32_t time)
{
	if (packet->in == PM_NONE)
		return;
	give_credit(sim, packet, time);
	if (sim->line)
		add_event(sim, time, NEXT, packet->in, packet->lane);
}

void packet_count_drop(struct pm_packet *sim, uint32_t node, enum pm_packet_drop reason)
{
	sim->dropped++;
	sim->drops[reason]++;
	sim->drops_at[node][reason]++;
	sim->batches[sim->batch].dropped++;
	if (sim->window < sim->num_windows)
		sim->windows[sim->window].dropped++;
}

void packet_drop(struct pm_packet *sim, uint32_t index, uint32_t node,
		 enum pm_packet_drop reason)
{
	struct packet *packet = &sim->packets[index];
	uint32_t now = sim->wheel.now;
	uint32_t time = packet->tail > now ? packet->tail : now;

	if (!(packet->flags & BAD)) {
		packet_count_drop(sim, node, reason);
		sim->inside--;
		sim->waste++;
	}
	packet->flags |= DROPPED;
	packet_leave(sim, packet, time);
	add_event(sim, time, DISCARD, 0, index);
}

void packet_cut(struct pm_packet *sim, uint32_t in, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	uint32_t out = port_of(sim, in)->peer, now = sim->wheel.now;

	packet->in = in;
	give_credit(sim, packet, packet->tail > now ? packet->tail : now);
	packet->in = PM_NONE; /* it occupies its input no more */
	packet_drop(sim, index, port_of(sim, out)->node, PM_DROP_CUT);
}
