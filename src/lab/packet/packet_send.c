/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queues packets at outputs, and sends them. send_packet schedules the three events of a
 * hop at once: the head arrives at the next switch, the output is free again, and the
 * last sender gets the credit.
 */
#include "packet_parts.h"

static void take_head(struct pm_packet *sim, struct lane *lane)
{
	lane->head = sim->packets[lane->head].next;
	if (lane->head == PM_NONE)
		lane->tail = PM_NONE;
	lane->since = sim->wheel.now;
}

/* Sends a packet that has left its queue. */
static void send_packet(struct pm_packet *sim, uint32_t out, struct lane *lane,
			uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	struct port *p = port_of(sim, out);
	uint32_t now = sim->wheel.now, wire = sim->config.wire;
	uint32_t end = now + (uint32_t)packet->size * p->ticks;

	lane->credit -= packet->size;
	p->busy = true;
	p->sending = packet->lane;
	p->from = packet->in;
	p->sent += packet->size;
	p->until = end;
	sim->hops += packet->size;
	add_event(sim, end, FREE, out, 0);
	packet_leave(sim, packet, end);
	packet->tail = end + wire;
	if (p->to_host)
		add_event(sim, packet->tail, REACHES, p->peer, index);
	else
		add_event(sim, now + wire + sim->config.crossing, ARRIVES, p->peer,
			  index);
}

/*
 * Finds the first packet of the lane from an input that may send one more, if there is
 * credit for it, or PM_NONE. *before: the packet before it in the queue.
 */
static uint32_t find_readable(const struct pm_packet *sim, const struct lane *lane,
			      uint32_t *before)
{
	*before = PM_NONE;
	for (uint32_t i = lane->head; i != PM_NONE;
	     *before = i, i = sim->packets[i].next) {
		const struct packet *packet = &sim->packets[i];

		if (sim->config.reads && packet->in != PM_NONE &&
		    port_of(sim, packet->in)->reading >= sim->config.reads)
			continue;
		return packet->size > lane->credit ? PM_NONE : i;
	}
	return PM_NONE;
}

/* Sends the packet that find_readable has found. */
static void send_readable(struct pm_packet *sim, uint32_t out, struct lane *lane,
			  uint32_t index, uint32_t before)
{
	const struct packet *packet = &sim->packets[index];

	if (before == PM_NONE) {
		take_head(sim, lane);
	} else {
		sim->packets[before].next = packet->next;
		if (lane->tail == index)
			lane->tail = before;
	}
	if (sim->config.reads && packet->in != PM_NONE)
		port_of(sim, packet->in)->reading++;
	send_packet(sim, out, lane, index);
}

static void mark_starved(struct pm_packet *sim, uint32_t out, bool starved)
{
	uint32_t sw = port_of(sim, out)->node;
	uint32_t bit = out - sim->config.fabric->nodes[sw].first_port;
	uint64_t *word;

	if (sw >= sim->config.fabric->num_switches)
		return;
	word = &sim->starved[(size_t)sw * 4 + bit / 64];
	*word = starved ? *word | (uint64_t)1 << bit % 64
			: *word & ~((uint64_t)1 << bit % 64);
}

/* Like packet_try_send, where an input sends only a limited number of packets at once. */
static void try_send_limited(struct pm_packet *sim, uint32_t out, struct lane *lane)
{
	uint32_t before, index = find_readable(sim, lane, &before);

	mark_starved(sim, out, index == PM_NONE);
	if (index != PM_NONE)
		send_readable(sim, out, lane, index, before);
}

/* Has the head of a switch's queue checked when its lifetime is over. */
static void watch(struct pm_packet *sim, uint32_t out, uint32_t number,
		  const struct lane *lane)
{
	struct port *p = port_of(sim, out);
	uint32_t now = sim->wheel.now, time = lane->since + sim->config.lifetime;

	if (p->timed >> number & 1 || p->node >= sim->config.fabric->num_switches)
		return;
	p->timed = (uint16_t)(p->timed | 1u << number);
	add_event(sim, time > now ? time : now, LIFETIME, out, number);
}

/* Notes that a queue may be empty, as a packet has left it. */
static void note_empty(struct pm_packet *sim, uint32_t out, uint32_t number)
{
	struct port *p = port_of(sim, out);

	if (p->lane[number].head == PM_NONE)
		p->waiting = (uint16_t)(p->waiting & ~(1u << number));
}

/* Like packet_try_send, for several lanes. */
static void try_send_lanes(struct pm_packet *sim, uint32_t out)
{
	uint32_t waiting = port_of(sim, out)->waiting, ready = 0, before, index, chosen;
	struct lane *lane;

	if (!waiting)
		return;
	for (uint32_t rest = waiting; rest; rest &= rest - 1) {
		lane = lane_of(sim, out, (uint32_t)__builtin_ctz(rest));
		index = find_readable(sim, lane, &before);
		ready |= index == PM_NONE ? 0 : rest & -rest;
	}
	chosen = arbiter_choose(sim, out, ready);
	for (uint32_t rest = sim->config.lifetime ? waiting : 0; rest; rest &= rest - 1) {
		uint32_t l = (uint32_t)__builtin_ctz(rest);

		if (l != chosen)
			watch(sim, out, l, lane_of(sim, out, l));
	}
	if (sim->config.reads)
		mark_starved(sim, out, chosen == PM_NONE);
	if (chosen == PM_NONE)
		return;
	lane = lane_of(sim, out, chosen);
	index = find_readable(sim, lane, &before);
	arbiter_sent(sim, out, sim->packets[index].size);
	send_readable(sim, out, lane, index, before);
	note_empty(sim, out, chosen);
}

void packet_try_send(struct pm_packet *sim, uint32_t out)
{
	struct lane *lane = lane_of(sim, out, 0);
	uint32_t index = lane->head;

	if (port_of(sim, out)->busy)
		return;
	if (sim->lanes > 1) {
		try_send_lanes(sim, out);
		return;
	}
	if (index == PM_NONE)
		return;
	if (sim->packets[index].size > lane->credit) {
		if (sim->config.lifetime)
			watch(sim, out, 0, lane);
		if (!sim->config.reads)
			return;
	}
	if (sim->config.reads) {
		try_send_limited(sim, out, lane);
		return;
	}
	take_head(sim, lane);
	send_packet(sim, out, lane, index);
}

void packet_queue(struct pm_packet *sim, uint32_t out, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	struct lane *lane = lane_of(sim, out, packet->lane);

	packet->next = PM_NONE;
	if (lane->tail == PM_NONE) {
		lane->head = index;
		lane->since = sim->wheel.now;
	} else {
		sim->packets[lane->tail].next = index;
	}
	lane->tail = index;
	port_of(sim, out)->waiting |= (uint16_t)(1u << packet->lane);
}

void packet_look_at_head(struct pm_packet *sim, uint32_t out, uint32_t number)
{
	struct lane *lane = lane_of(sim, out, number);
	struct port *p = port_of(sim, out);
	uint32_t index = lane->head;

	p->timed = (uint16_t)(p->timed & ~(1u << number));
	if (index == PM_NONE || (p->busy && p->sending == number))
		return;
	if (sim->wheel.now - lane->since < sim->config.lifetime) {
		watch(sim, out, number, lane);
		return;
	}
	packet_look_for_deadlock(sim);
	take_head(sim, lane);
	note_empty(sim, out, number);
	packet_drop(sim, index, p->node, PM_DROP_LIFETIME);
	packet_try_send(sim, out);
}
