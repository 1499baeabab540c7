/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds deadlocks. An output without credit waits for packets to leave the input at its
 * other end. It is not stuck if one of these packets is on a link, or waits for an output
 * that is not stuck. All other outputs wait for each other in loops.
 */
#include "packet_parts.h"

#include <portmajor/memory/xalloc.h>

struct stuck {
	const struct pm_packet *sim;
	struct pm_pool pool;
	uint32_t *waiting; /* [port][lane] blocks that wait in an input */
	bool *moves;	   /* [port][lane] outputs that are not stuck */
};

static size_t index_of(const struct stuck *stuck, uint32_t port, uint32_t lane)
{
	return (size_t)port * stuck->sim->lanes + lane;
}

static const struct packet *packet_at(const struct stuck *stuck, uint32_t index)
{
	return &stuck->sim->packets[index];
}

static void count_waiting(struct stuck *stuck)
{
	const struct pm_packet *sim = stuck->sim;
	size_t num_lanes = (size_t)sim->lanes * sim->config.fabric->num_ports;

	for (size_t o = 0; o < num_lanes; o++) {
		const struct lane *lane = lane_of(sim, (uint32_t)(o / sim->lanes),
						  (uint32_t)(o % sim->lanes));

		for (uint32_t i = lane->head; i != PM_NONE; i = packet_at(stuck, i)->next)
			if (packet_at(stuck, i)->in != PM_NONE)
				stuck->waiting[index_of(stuck, packet_at(stuck, i)->in,
							packet_at(stuck, i)->lane)] +=
					packet_at(stuck, i)->size;
		for (uint32_t i = sim->line ? sim->line[o].head : PM_NONE; i != PM_NONE;
		     i = packet_at(stuck, i)->next)
			stuck->waiting[o] += packet_at(stuck, i)->size;
	}
}

/* Whether an output waits only for packets that wait at its other end. */
static bool is_blocked(const struct stuck *stuck, uint32_t port, uint32_t number)
{
	const struct pm_packet *sim = stuck->sim;
	const struct lane *lane = lane_of(sim, port, number);
	uint32_t waiting;

	if (lane->head == PM_NONE || port_of(sim, port)->dead ||
	    (port_of(sim, port)->busy && port_of(sim, port)->sending == number) ||
	    packet_at(stuck, lane->head)->size <= lane->credit)
		return false;
	waiting = stuck->waiting[index_of(stuck, port_of(sim, port)->peer, number)];
	return lane->credit + (int32_t)waiting == (int32_t)sim->config.buffer;
}

/* If an output moves, so do the outputs to the inputs of its waiting packets. */
static bool spread(struct stuck *stuck, uint32_t port, uint32_t number)
{
	const struct pm_packet *sim = stuck->sim;
	bool changed = false;

	for (uint32_t i = lane_of(sim, port, number)->head; i != PM_NONE;
	     i = packet_at(stuck, i)->next) {
		const struct packet *packet = packet_at(stuck, i);
		bool *moves;

		if (packet->in == PM_NONE)
			continue;
		moves = &stuck->moves[index_of(stuck, port_of(sim, packet->in)->peer,
					       packet->lane)];
		changed |= !*moves;
		*moves = true;
	}
	return changed;
}

static void find_moving(struct stuck *stuck)
{
	uint32_t num_ports = stuck->sim->config.fabric->num_ports;
	bool changed = true;

	for (uint32_t p = 0; p < num_ports; p++)
		for (uint32_t l = 0; l < stuck->sim->lanes; l++)
			stuck->moves[index_of(stuck, p, l)] = !is_blocked(stuck, p, l);
	while (changed) {
		changed = false;
		for (uint32_t p = 0; p < num_ports; p++)
			for (uint32_t l = 0; l < stuck->sim->lanes; l++)
				if (stuck->moves[index_of(stuck, p, l)])
					changed |= spread(stuck, p, l);
	}
}

/* The next output that a stuck output waits for. */
static uint32_t next_stuck(const struct stuck *stuck, uint32_t port, uint32_t number)
{
	const struct pm_packet *sim = stuck->sim;
	uint32_t in = port_of(sim, port)->peer, sw = port_of(sim, in)->node;

	pm_for_each_port(out, sim->config.fabric, sw) {
		for (uint32_t i = lane_of(sim, out, number)->head; i != PM_NONE;
		     i = packet_at(stuck, i)->next)
			if (packet_at(stuck, i)->in == in)
				return out;
	}
	return PM_NONE;
}

/* Follows stuck outputs from one on, until a loop closes; returns the loop's length. */
static uint32_t follow_stuck(const struct stuck *stuck, uint32_t port, uint32_t number,
			     uint32_t *loop, uint32_t room)
{
	uint32_t steps = stuck->sim->config.fabric->num_ports, at = port, num = 0;

	for (uint32_t i = 0; i < steps && at != PM_NONE; i++)
		at = next_stuck(stuck, at, number);
	if (at == PM_NONE)
		return 0;
	port = at;
	do {
		if (num < room)
			loop[num] = at;
		num++;
		at = next_stuck(stuck, at, number);
	} while (at != port && at != PM_NONE);
	return num;
}

/* Finds outputs that move. The caller frees stuck->pool. */
static void look_for_stuck(struct stuck *stuck)
{
	size_t num = (size_t)stuck->sim->config.fabric->num_ports * stuck->sim->lanes;

	stuck->waiting = pm_pool_xarray(&stuck->pool, num, sizeof(*stuck->waiting));
	stuck->moves = pm_pool_xarray(&stuck->pool, num, sizeof(*stuck->moves));
	count_waiting(stuck);
	find_moving(stuck);
}

/*
 * Finds a loop, of which loop[] gets up to `room` ports, and its lane; returns its
 * length.
 */
static uint32_t find_loop(const struct stuck *stuck, uint32_t *loop, uint32_t room,
			  uint32_t *lane)
{
	const struct pm_packet *sim = stuck->sim;
	uint32_t found = 0;

	for (uint32_t p = 0; p < sim->config.fabric->num_ports && !found; p++)
		for (uint32_t l = 0; l < sim->lanes && !found; l++)
			if (!stuck->moves[index_of(stuck, p, l)]) {
				found = follow_stuck(stuck, p, l, loop, room);
				*lane = l;
			}
	return found;
}

uint32_t pm_packet_stuck(const struct pm_packet *sim, uint32_t *loop, uint32_t room)
{
	struct stuck stuck = {.sim = sim};
	uint32_t lane, found;

	look_for_stuck(&stuck);
	found = find_loop(&stuck, loop, room, &lane);
	pm_pool_free(&stuck.pool);
	return found;
}

/* ---- Deadlocks of a run ---- */

static uint32_t count_blocked(const struct stuck *stuck)
{
	const struct pm_packet *sim = stuck->sim;
	uint32_t num = 0;

	for (uint32_t h = 0; h < sim->config.num_hosts; h++) {
		bool moves = true;

		for (uint32_t l = 0; l < sim->lanes; l++)
			moves &= stuck->moves[index_of(stuck, sim->config.hosts[h].port,
						       l)];
		num += !moves;
	}
	return num;
}

/* When the last of the front packets in the loop's queues arrived there. */
static uint32_t find_begin(const struct pm_packet *sim,
			   const struct pm_packet_deadlock *found, uint32_t lane)
{
	uint32_t begin = 0;

	for (uint32_t i = 0; i < found->length && i < PM_PACKET_LOOP; i++) {
		uint32_t since = lane_of(sim, found->loop[i], lane)->since;

		if (since > begin)
			begin = since;
	}
	return begin;
}

/* Adds a deadlock. One that began when the last had hardly ended is the same. */
static void note_deadlock(struct pm_packet *sim, const struct pm_packet_deadlock *found)
{
	struct pm_packet_deadlock *last =
		sim->num_deadlocks ? &sim->deadlocks[sim->num_deadlocks - 1] : NULL;

	if (last &&
	    found->begin <= last->end + sim->config.lifetime / PM_PACKET_MAX_SEARCHES) {
		last->end = found->end;
		if (found->hosts > last->hosts)
			last->hosts = found->hosts;
		return;
	}
	pm_xgrow(&sim->deadlocks, &sim->deadlocks_room, sim->num_deadlocks + 1,
		 sizeof(*sim->deadlocks));
	sim->deadlocks[sim->num_deadlocks++] = *found;
}

/* Looks for a deadlock now. */
static void find_deadlock(struct pm_packet *sim)
{
	struct pm_packet_deadlock found = {.end = sim->wheel.now};
	struct stuck stuck = {.sim = sim};
	uint32_t lane = 0;

	look_for_stuck(&stuck);
	found.length = find_loop(&stuck, found.loop, PM_PACKET_LOOP, &lane);
	if (found.length) {
		found.begin = find_begin(sim, &found, lane);
		found.hosts = count_blocked(&stuck);
		note_deadlock(sim, &found);
	}
	pm_pool_free(&stuck.pool);
}

void packet_look_for_deadlock(struct pm_packet *sim)
{
	uint32_t pause = sim->config.lifetime / PM_PACKET_MAX_SEARCHES;

	if (sim->last_search && sim->wheel.now - sim->last_search < pause)
		return;
	sim->last_search = sim->wheel.now;
	find_deadlock(sim);
}

uint32_t pm_packet_deadlocks(struct pm_packet *sim,
			     const struct pm_packet_deadlock **list)
{
	find_deadlock(sim);
	*list = sim->deadlocks;
	return sim->num_deadlocks;
}
