/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs the packet engine: switches and events.
 *
 *     host: packet_feed -> packet_queue -> packet_try_send
 *     ARRIVES at a switch -> table -> packet_queue -> packet_try_send -> ARRIVES
 *         or REACHES
 *     READY: a packet from a slower link than its output's may have come far enough
 */
#include "packet_parts.h"

#include <string.h>

/* ---- Switches ---- */

/* The output of a packet; PM_NONE: none, for *reason. */
static uint32_t find_output(const struct pm_packet *sim, const struct packet *packet,
			    uint32_t sw, enum pm_packet_drop *reason)
{
	const struct pm_node *n = &sim->config.fabric->nodes[sw];
	uint32_t out;
	uint8_t entry;

	if (packet->lid >= sim->config.length) {
		*reason = PM_DROP_NO_LID;
		return PM_NONE;
	}
	entry = sim->tables[(size_t)sw * sim->config.length + packet->lid];
	out = n->first_port + entry;
	if (!entry || entry > n->num_ports || port_of(sim, out)->peer == PM_NONE) {
		*reason = PM_DROP_NO_ENTRY;
		return PM_NONE;
	}
	*reason = PM_DROP_DEAD_PORT;
	return port_of(sim, out)->dead ? PM_NONE : out;
}

static void route(struct pm_packet *sim, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	uint32_t sw = port_of(sim, packet->in)->node;
	uint32_t there = packet->tail + sim->config.crossing, takes;
	enum pm_packet_drop reason;
	uint32_t out = find_output(sim, packet, sw, &reason);

	if (out == PM_NONE) {
		packet_drop(sim, index, sw, reason);
		return;
	}
	takes = (uint32_t)packet->size * port_of(sim, out)->ticks;
	if (there > sim->wheel.now + takes) { /* it comes by a slower link */
		add_event(sim, there - takes, READY, packet->in, index);
		return;
	}
	packet_queue(sim, out, index);
	packet_try_send(sim, out);
}

static void arrives(struct pm_packet *sim, uint32_t in, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	struct line *line;

	if (packet_is_cut(sim, in, packet)) {
		packet_cut(sim, in, index);
		return;
	}
	packet->in = in;
	port_of(sim, in)->arrived = index;
	port_of(sim, in)->tail = packet->tail;
	if (!sim->line) {
		route(sim, index);
		return;
	}
	line = line_of(sim, in, packet->lane);
	if (!line->active) {
		line->active = true;
		route(sim, index);
		return;
	}
	packet->next = PM_NONE;
	if (line->head == PM_NONE)
		line->head = index;
	else
		sim->packets[line->tail].next = index;
	line->tail = index;
}

/* Routes the next packet of an input: the one in front has left. */
static void go_on(struct pm_packet *sim, uint32_t in, uint32_t number)
{
	struct line *line = line_of(sim, in, number);
	uint32_t index = line->head;

	line->active = index != PM_NONE;
	if (index == PM_NONE)
		return;
	line->head = sim->packets[index].next;
	route(sim, index);
}

/* ---- Events ---- */

/* An output has finished sending: packets that waited for it or its input may go on. */
static void is_free(struct pm_packet *sim, uint32_t out)
{
	struct port *p = port_of(sim, out);
	uint32_t sw = p->node;

	p->busy = false;
	if (sim->config.reads && p->from != PM_NONE)
		port_of(sim, p->from)->reading--;
	packet_try_send(sim, out);
	if (sw >= sim->config.fabric->num_switches) {
		packet_feed(sim, p->host);
		return;
	}
	if (!sim->config.reads)
		return;
	for (uint32_t w = 0; w < 4; w++)
		for (uint64_t rest = sim->starved[(size_t)sw * 4 + w]; rest;
		     rest &= rest - 1)
			packet_try_send(sim, sim->config.fabric->nodes[sw].first_port +
						     w * 64 +
						     (uint32_t)__builtin_ctzll(rest));
}

static void discard(struct pm_packet *sim, uint32_t index)
{
	sim->waste--;
	packet_free(sim, index);
}

static void handle(struct pm_packet *sim, struct event event)
{
	uint32_t port = event.what & PORT_MASK;

	switch ((enum kind)(event.what >> KIND_SHIFT)) {
	case ARRIVES:
		arrives(sim, port, event.arg);
		break;
	case READY:
		route(sim, event.arg);
		break;
	case FREE:
		is_free(sim, port);
		break;
	case CREDIT:
		lane_of(sim, port, event.arg >> LANE_SHIFT)->credit +=
			(int32_t)(event.arg & ((1u << LANE_SHIFT) - 1));
		packet_try_send(sim, port);
		break;
	case REACHES:
		packet_reaches(sim, port, event.arg);
		break;
	case WAKE:
		sim->source[event.arg].wake = NO_TIME;
		packet_feed(sim, event.arg);
		break;
	case NEXT:
		go_on(sim, port, event.arg);
		break;
	case DISCARD:
		discard(sim, event.arg);
		break;
	case TIMEOUT:
		packet_look_at_pair(sim, event.arg);
		break;
	case LIFETIME:
		packet_look_at_head(sim, port, event.arg);
		break;
	}
}

/*
 * Data of later events are fetched into the cache while others are handled: on large
 * trees most time goes into waiting for memory. First the ports and packets of the chunk
 * after the next one are fetched; then the entries and hosts that the next chunk needs;
 * then the outputs to which these entries lead.
 */
static void fetch_ports(const struct pm_packet *sim, const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->num; i++) {
		struct event event = chunk->list[i];
		enum kind kind = (enum kind)(event.what >> KIND_SHIFT);

		__builtin_prefetch(port_of(sim, event.what & PORT_MASK), 1);
		if (kind == ARRIVES || kind == REACHES)
			__builtin_prefetch(&sim->packets[event.arg], 1);
	}
}

/* The entry for an arriving packet, or NULL. */
static const uint8_t *entry_of(const struct pm_packet *sim, struct event event)
{
	uint32_t lid;

	if (event.what >> KIND_SHIFT != ARRIVES)
		return NULL;
	lid = sim->packets[event.arg].lid;
	return lid < sim->config.length
		       ? sim->tables +
				 (size_t)port_of(sim, event.what & PORT_MASK)->node *
					 sim->config.length +
				 lid
		       : NULL;
}

/* Fetches what a packet's arrival at its host, or a host's next message, will need. */
static void fetch_host(const struct pm_packet *sim, struct event event)
{
	uint32_t host = port_of(sim, event.what & PORT_MASK)->host;

	if (event.what >> KIND_SHIFT == REACHES) {
		host = sim->packets[event.arg].from;
		__builtin_prefetch(&sim->senders[host], 1);
		__builtin_prefetch(&sim->source[host]);
	} else if (host != PM_NONE) {
		__builtin_prefetch(&sim->source[host], 1);
		pm_workload_fetch(sim->config.workload, host);
	}
}

static void fetch_entries(const struct pm_packet *sim, const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->num; i++)
		if (chunk->list[i].what >> KIND_SHIFT == ARRIVES)
			__builtin_prefetch(entry_of(sim, chunk->list[i]));
		else
			fetch_host(sim, chunk->list[i]);
}

static void fetch_outputs(const struct pm_packet *sim, const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->num; i++) {
		const uint8_t *entry = entry_of(sim, chunk->list[i]);
		uint32_t sw;

		if (!entry)
			continue;
		sw = port_of(sim, chunk->list[i].what & PORT_MASK)->node;
		__builtin_prefetch(
			port_of(sim, sim->config.fabric->nodes[sw].first_port + *entry),
			1);
	}
}

/* Handles one chunk after the other, and fetches for the next two. */
static void handle_chunks(struct pm_packet *sim, uint32_t c)
{
	while (c != PM_NONE) {
		struct chunk chunk = sim->wheel.chunks[c];
		uint32_t next = chunk.next;

		wheel_give_back(&sim->wheel, c);
		if (next != PM_NONE) {
			const struct chunk *second = &sim->wheel.chunks[next];

			if (second->next != PM_NONE)
				fetch_ports(sim, &sim->wheel.chunks[second->next]);
			fetch_entries(sim, second);
		}
		fetch_outputs(sim, &chunk);
		for (uint32_t i = 0; i < chunk.num; i++)
			handle(sim, chunk.list[i]);
		sim->events += chunk.num;
		c = next;
	}
}

/* Handles all events of the tick `now`, including those that are added meanwhile. */
static void run_tick(struct pm_packet *sim)
{
	uint32_t c;

	while ((c = wheel_take(&sim->wheel)) != PM_NONE)
		handle_chunks(sim, c);
}

/* ---- Changes from outside ---- */

static uint32_t next_change(const struct pm_packet *sim)
{
	uint32_t time = packet_see_next(sim);

	if (sim->config.num_failed && !sim->links_failed && sim->config.fail_at < time)
		time = sim->config.fail_at;
	if (sim->links_failed && sim->back < sim->config.num_returns &&
	    sim->config.returns[sim->back].time < time)
		time = sim->config.returns[sim->back].time;
	if (sim->set < sim->config.num_sets && sim->config.sets[sim->set].time < time)
		time = sim->config.sets[sim->set].time;
	return time;
}

static void change(struct pm_packet *sim)
{
	const struct pm_packet_config *config = &sim->config;

	if (config->num_failed && !sim->links_failed &&
	    config->fail_at <= sim->wheel.now) {
		packet_look_for_deadlock(sim);
		packet_fail_links(sim);
	}
	if (sim->links_failed)
		packet_return(sim);
	for (;
	     sim->set < config->num_sets && config->sets[sim->set].time <= sim->wheel.now;
	     sim->set++) {
		const struct pm_packet_set *set = &config->sets[sim->set];

		memcpy(sim->tables + (size_t)set->sw * config->length +
			       (size_t)set->block * 64,
		       set->entries, 64);
	}
	packet_see_end(sim);
}

void pm_packet_run(struct pm_packet *sim, uint32_t until)
{
	while (sim->wheel.now < until) {
		uint32_t stop = next_change(sim), time;

		stop = stop < until ? stop : until;
		while ((time = wheel_next(&sim->wheel)) < stop) {
			sim->wheel.now = time;
			run_tick(sim);
		}
		sim->wheel.now = stop;
		if (stop < until)
			change(sim);
	}
}
