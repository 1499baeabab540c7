/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts: their messages become packets, and packets that arrive are counted. */
#include "packet_parts.h"

/* Takes a message that the host may send now; false: none. */
static bool take_message(struct pm_packet *sim, uint32_t host)
{
	struct source *s = &sim->source[host];
	uint64_t time = pm_workload_time(sim->config.workload, host);
	struct pm_message message;

	if (time > sim->wheel.now) {
		if (time < PM_PACKET_MAX_TICKS && s->wake != time) {
			s->wake = (uint32_t)time;
			add_event(sim, s->wake, WAKE, sim->config.hosts[host].port, host);
		}
		return false;
	}
	pm_workload_take(sim->config.workload, host, &message);
	s->to = message.to;
	s->left = message.blocks;
	s->id = message.id;
	s->created = (uint32_t)message.time;
	s->sl = message.sl;
	return true;
}

/* Puts a new packet into the queue of a host's port. */
static void inject(struct pm_packet *sim, uint32_t host, uint32_t to,
		   const struct packet *like, struct rc_tag tag)
{
	uint32_t index = packet_take(sim), port = sim->config.hosts[host].port;
	struct packet *packet = &sim->packets[index];

	*packet = *like;
	packet->in = PM_NONE;
	packet->lid = sim->config.hosts[to].lid;
	packet->from = (uint16_t)host;
	packet->lane = lane_of_sl(sim, packet->sl);
	if (sim->config.timeout)
		sim->tags[index] = tag;
	sim->created++;
	sim->inside++;
	packet_queue(sim, port, index);
	packet_try_send(sim, port);
}

/* Injects the next packet of a host with acknowledged messages. */
static void feed_reliably(struct pm_packet *sim, uint32_t host)
{
	struct source *s = &sim->source[host];
	struct rc_record record;
	struct rc_tag tag;
	bool timed;

	while (!rc_next(&sim->rc, host, sim->wheel.now, &tag, &record, &timed)) {
		struct pm_message message;

		if (!take_message(sim, host))
			return;
		message = (struct pm_message){
			.to = s->to,
			.blocks = s->left,
			.id = s->id,
			.time = s->created,
			.sl = s->sl,
		};
		s->left = 0;
		rc_add(&sim->rc, host, &message, sim->config.packet);
	}
	if (timed)
		add_event(sim, sim->rc.pairs[tag.pair].deadline, TIMEOUT, 0, tag.pair);
	s->lane = lane_of_sl(sim, record.sl);
	inject(sim, host, sim->rc.pairs[tag.pair].to,
	       &(struct packet){.created = record.created,
				.id = record.id,
				.size = record.size,
				.sl = record.sl,
				.flags = record.last ? LAST : 0},
	       tag);
}

void packet_feed(struct pm_packet *sim, uint32_t host)
{
	uint32_t port = sim->config.hosts[host].port, size;
	struct source *s = &sim->source[host];

	if (port_of(sim, port)->busy || port_of(sim, port)->dead ||
	    lane_of(sim, port, s->lane)->head != PM_NONE)
		return;
	if (sim->config.timeout) {
		feed_reliably(sim, host);
		return;
	}
	if (!s->left && !take_message(sim, host))
		return;
	size = s->left < sim->config.packet ? s->left : sim->config.packet;
	s->left -= size;
	s->lane = lane_of_sl(sim, s->sl);
	inject(sim, host, s->to,
	       &(struct packet){.created = s->created,
				.id = s->id,
				.size = (uint8_t)size,
				.sl = s->sl,
				.flags = s->left ? 0 : LAST},
	       (struct rc_tag){0});
}

/* Receives a packet of a reliable connection; returns whether it is the expected one. */
static bool receive(struct pm_packet *sim, uint32_t host, uint32_t index)
{
	const struct packet *packet = &sim->packets[index];
	struct rc_tag tag = sim->tags[index];
	unsigned int answer;

	if (packet->flags & ANSWER) {
		rc_answered(&sim->rc, tag, packet->flags & GAP, sim->wheel.now);
		packet_feed(sim, host);
		return false;
	}
	answer = rc_receive(&sim->rc, tag, packet->flags & LAST);
	if (answer & (RC_ACKNOWLEDGE | RC_GAP) &&
	    !port_of(sim, sim->config.hosts[host].port)->dead) {
		tag.number = sim->rc.pairs[tag.pair].expected;
		inject(sim, host, packet->from,
		       &(struct packet){
			       .size = 1,
			       .sl = packet->sl,
			       .flags = (uint8_t)(ANSWER | (answer & RC_GAP ? GAP : 0))},
		       tag);
	}
	return answer & RC_TAKE;
}

static void take_packet(struct pm_packet *sim, uint32_t host, uint32_t index)
{
	struct packet packet = sim->packets[index];
	uint32_t woken[2], num;

	packet_leave(sim, &packet, sim->wheel.now);
	sim->inside--;
	if (sim->config.timeout && !receive(sim, host, index)) {
		sim->uncounted++;
		packet_free(sim, index);
		return;
	}
	packet_see(sim, &packet);
	num = pm_workload_got(sim->config.workload, packet.id, packet.size,
			      sim->wheel.now, woken);
	packet_free(sim, index);
	if (num)
		sim->done = sim->wheel.now;
	for (uint32_t i = 0; i < num; i++)
		packet_feed(sim, woken[i]);
}

void packet_reaches(struct pm_packet *sim, uint32_t in, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	uint32_t host = port_of(sim, in)->host;
	uint32_t node = port_of(sim, port_of(sim, in)->peer)->node;

	packet->in = in;
	if (packet_is_cut(sim, in, packet)) {
		packet_cut(sim, in, index);
	} else if (packet->flags & BAD || host == PM_NONE ||
		   sim->config.hosts[host].lid != packet->lid) {
		packet_drop(sim, index, node, PM_DROP_WRONG_HOST);
	} else {
		take_packet(sim, host, index);
	}
}

void packet_look_at_pair(struct pm_packet *sim, uint32_t pair)
{
	uint32_t deadline = rc_look(&sim->rc, pair, sim->wheel.now);

	if (deadline != PM_NONE)
		add_event(sim, deadline, TIMEOUT, 0, pair);
	packet_feed(sim, sim->rc.pairs[pair].from);
}
