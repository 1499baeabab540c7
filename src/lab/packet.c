/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 *     host: feed -> queue of its port -> send_packet
 *     ARRIVES at a switch -> table -> queue of the output -> send_packet -> ARRIVES or
 * REACHES
 *
 * send_packet schedules the three events of a hop at once: the head comes to the next
 * switch, the output is free again, and the sender before learns of the room.
 */
#include "packet_parts.h"

#include <portmajor/alloc.h>

#include <errno.h>

/* ---- Sending ---- */

static void take_head(struct pm_packet *sim, struct lane *lane)
{
	lane->head = sim->packets[lane->head].next;
	if (lane->head == PM_NONE)
		lane->tail = PM_NONE;
	lane->since = sim->wheel.now;
}

/* Sends a packet that is in no queue any more. */
static void send_packet(struct pm_packet *sim, uint32_t out, struct lane *lane,
			uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	struct port *p = port_of(sim, out);
	uint32_t now = sim->wheel.now, wire = sim->config.wire;
	uint32_t end = now + (uint32_t)packet->size * p->ticks;

	/* Its end cannot leave before it has come, if that was on a slower cable. */
	if (packet->tail + sim->config.crossing > end && packet->in != PM_NONE)
		end = packet->tail + sim->config.crossing;
	lane->credit -= packet->size;
	p->busy = true;
	p->from = packet->in;
	p->sent += packet->size;
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

/* The first packet of the lane whose input may send one more, taken out of the queue; or
 * PM_NONE. */
static uint32_t take_readable(struct pm_packet *sim, struct lane *lane)
{
	uint32_t before = PM_NONE;

	for (uint32_t i = lane->head; i != PM_NONE;
	     before = i, i = sim->packets[i].next) {
		struct packet *packet = &sim->packets[i];

		if (packet->in != PM_NONE &&
		    port_of(sim, packet->in)->reading >= sim->config.reads)
			continue;
		if (packet->size > lane->credit)
			return PM_NONE;
		if (before == PM_NONE) {
			take_head(sim, lane);
			return i;
		}
		sim->packets[before].next = packet->next;
		if (lane->tail == i)
			lane->tail = before;
		return i;
	}
	return PM_NONE;
}

static void mark_starved(struct pm_packet *sim, uint32_t out, bool starved)
{
	uint32_t sw = port_of(sim, out)->node;
	const struct pm_node *n = &sim->config.fabric->nodes[sw];
	uint32_t bit = out - n->first_port;
	uint64_t *word;

	if (sw >= sim->config.fabric->num_switches)
		return;
	word = &sim->starved[(size_t)sw * 4 + bit / 64];
	*word = starved ? *word | (uint64_t)1 << bit % 64
			: *word & ~((uint64_t)1 << bit % 64);
}

/* The same as try_send, where inputs send so many packets at once and no more. */
static void try_send_limited(struct pm_packet *sim, uint32_t out, struct lane *lane)
{
	uint32_t index = take_readable(sim, lane);

	mark_starved(sim, out, index == PM_NONE);
	if (index == PM_NONE)
		return;
	if (sim->packets[index].in != PM_NONE)
		port_of(sim, sim->packets[index].in)->reading++;
	send_packet(sim, out, lane, index);
}

/* Sees to it that the head of a queue is looked at when its time is up. */
static void watch(struct pm_packet *sim, uint32_t out, uint32_t number,
		  const struct lane *lane)
{
	struct port *p = port_of(sim, out);
	uint32_t now = sim->wheel.now, time = lane->since + sim->config.lifetime;

	if (p->timed >> number & 1)
		return;
	p->timed = (uint16_t)(p->timed | 1u << number);
	add_event(sim, time > now ? time : now, LIFETIME, out, number);
}

/* Sends if there is something to send and room for it. */
static void try_send(struct pm_packet *sim, uint32_t out)
{
	struct lane *lane = lane_of(sim, out, 0);
	uint32_t index = lane->head;

	if (port_of(sim, out)->busy || index == PM_NONE)
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

static void queue(struct pm_packet *sim, uint32_t out, uint32_t index)
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
}

/* ---- Switches ---- */

/* Where a packet goes; PM_NONE: nowhere, for that reason. */
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
	enum pm_packet_drop reason;
	uint32_t out = find_output(sim, packet, sw, &reason);

	if (out == PM_NONE) {
		packet_drop(sim, index, sw, reason);
		return;
	}
	queue(sim, out, index);
	try_send(sim, out);
}

static bool is_cut(const struct pm_packet *sim, uint32_t in, const struct packet *packet)
{
	return port_of(sim, in)->dead && packet->tail > sim->config.lose_at;
}

static void arrives(struct pm_packet *sim, uint32_t in, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	struct line *line;

	if (is_cut(sim, in, packet)) {
		packet->in = PM_NONE; /* nobody waits for that room any more */
		packet_drop(sim, index, port_of(sim, port_of(sim, in)->peer)->node,
			    PM_DROP_CUT);
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

/* The packet in front is gone. */
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

/* ---- Hosts ---- */

/* A message that the host may send now; false: none. */
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
	return true;
}

/* A new packet at a host, in the queue of its port. */
static void inject(struct pm_packet *sim, uint32_t host, uint32_t to,
		   const struct packet *like, struct rc_tag tag)
{
	uint32_t index = packet_take(sim), port = sim->config.hosts[host].port;
	struct packet *packet;

	if (index == PM_NONE)
		return;
	packet = &sim->packets[index];
	*packet = *like;
	packet->in = PM_NONE;
	packet->lid = sim->config.hosts[to].lid;
	packet->from = (uint16_t)host;
	if (sim->config.timeout)
		sim->tags[index] = tag;
	sim->created++;
	sim->inside++;
	queue(sim, port, index);
	try_send(sim, port);
}

/* The next packet of the messages of a host that has them answered. */
static void feed_reliably(struct pm_packet *sim, uint32_t host)
{
	struct source *s = &sim->source[host];
	struct rc_record record;
	struct rc_tag tag;
	bool timed;

	while (!rc_next(&sim->rc, host, sim->wheel.now, &tag, &record, &timed)) {
		struct pm_message message = {.to = s->to};

		if (!take_message(sim, host))
			return;
		message = (struct pm_message){s->to, s->left, s->id, s->created};
		s->left = 0;
		if (rc_add(&sim->rc, host, &message, sim->config.packet)) {
			sim->failed = true;
			return;
		}
	}
	if (timed)
		add_event(sim, sim->rc.pairs[tag.pair].deadline, TIMEOUT, 0, tag.pair);
	inject(sim, host, sim->rc.pairs[tag.pair].to,
	       &(struct packet){.created = record.created,
				.id = record.id,
				.size = record.size,
				.flags = record.last ? LAST : 0},
	       tag);
}

/* Gives a host's port the next packet, if it has none and there is one. */
static void feed(struct pm_packet *sim, uint32_t host)
{
	uint32_t port = sim->config.hosts[host].port, size;
	struct source *s = &sim->source[host];

	if (port_of(sim, port)->busy || port_of(sim, port)->dead ||
	    lane_of(sim, port, 0)->head != PM_NONE)
		return;
	if (sim->config.timeout) {
		feed_reliably(sim, host);
		return;
	}
	if (!s->left && !take_message(sim, host))
		return;
	size = s->left < sim->config.packet ? s->left : sim->config.packet;
	s->left -= size;
	inject(sim, host, s->to,
	       &(struct packet){.created = s->created,
				.id = s->id,
				.size = (uint8_t)size,
				.flags = s->left ? 0 : LAST},
	       (struct rc_tag){0});
}

/* A packet of a reliable connection is there; whether it is the one expected. */
static bool receive(struct pm_packet *sim, uint32_t host, uint32_t index)
{
	const struct packet *packet = &sim->packets[index];
	struct rc_tag tag = sim->tags[index];
	unsigned int answer;

	if (packet->flags & ANSWER) {
		rc_answered(&sim->rc, tag, packet->flags & GAP, sim->wheel.now);
		feed(sim, host);
		return false;
	}
	answer = rc_receive(&sim->rc, tag, packet->flags & LAST);
	if (answer & (RC_ACKNOWLEDGE | RC_GAP) &&
	    !port_of(sim, sim->config.hosts[host].port)->dead) {
		tag.number = sim->rc.pairs[tag.pair].expected;
		inject(sim, host, packet->from,
		       &(struct packet){
			       .size = 1,
			       .flags = (uint8_t)(ANSWER | (answer & RC_GAP ? GAP : 0))},
		       tag);
	}
	return answer & RC_TAKE;
}

/* A packet that was meant for this host. */
static void take(struct pm_packet *sim, uint32_t host, uint32_t index)
{
	struct packet packet = sim->packets[index];
	uint32_t woken;

	packet_leave(sim, &packet, sim->wheel.now);
	sim->inside--;
	if (sim->config.timeout && !receive(sim, host, index)) {
		sim->spare++;
		packet_free(sim, index);
		return;
	}
	packet_see(sim, &packet);
	woken = pm_workload_got(sim->config.workload, packet.id, packet.size,
				sim->wheel.now);
	packet_free(sim, index);
	if (woken == PM_NONE)
		return;
	sim->done = sim->wheel.now;
	feed(sim, woken);
}

static void reaches(struct pm_packet *sim, uint32_t in, uint32_t index)
{
	struct packet *packet = &sim->packets[index];
	uint32_t host = sim->host_of[in];
	uint32_t node = port_of(sim, port_of(sim, in)->peer)->node;

	packet->in = in;
	if (is_cut(sim, in, packet)) {
		packet->in = PM_NONE;
		packet_drop(sim, index, node, PM_DROP_CUT);
	} else if (packet->flags & BAD || host == PM_NONE ||
		   sim->config.hosts[host].lid != packet->lid) {
		packet_drop(sim, index, node, PM_DROP_WRONG_HOST);
	} else {
		take(sim, host, index);
	}
}

/* An answer may be overdue. */
static void look_at_pair(struct pm_packet *sim, uint32_t pair)
{
	uint32_t deadline = rc_look(&sim->rc, pair, sim->wheel.now);

	if (deadline != PM_NONE)
		add_event(sim, deadline, TIMEOUT, 0, pair);
	feed(sim, sim->rc.pairs[pair].from);
}

/* ---- Events ---- */

/* An output has ended sending: who waited for it, or for the input, may go on. */
static void is_free(struct pm_packet *sim, uint32_t out)
{
	struct port *p = port_of(sim, out);
	uint32_t sw = p->node;

	p->busy = false;
	if (sim->config.reads && p->from != PM_NONE)
		port_of(sim, p->from)->reading--;
	try_send(sim, out);
	if (sw >= sim->config.fabric->num_switches) {
		feed(sim, sim->host_of[out]);
		return;
	}
	if (!sim->config.reads)
		return;
	for (uint32_t w = 0; w < 4; w++)
		for (uint64_t rest = sim->starved[(size_t)sw * 4 + w]; rest;
		     rest &= rest - 1)
			try_send(sim, sim->config.fabric->nodes[sw].first_port + w * 64 +
					      (uint32_t)__builtin_ctzll(rest));
}

/* A packet that has been the head of a queue for too long is dropped. */
static void look_at_head(struct pm_packet *sim, uint32_t out, uint32_t number)
{
	struct lane *lane = lane_of(sim, out, number);
	struct port *p = port_of(sim, out);
	uint32_t index = lane->head;

	p->timed = (uint16_t)(p->timed & ~(1u << number));
	if (index == PM_NONE || p->busy)
		return;
	if (sim->wheel.now - lane->since < sim->config.lifetime) {
		watch(sim, out, number, lane);
		return;
	}
	take_head(sim, lane);
	packet_drop(sim, index, p->node, PM_DROP_LIFETIME);
	try_send(sim, out);
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
	case FREE:
		is_free(sim, port);
		break;
	case CREDIT:
		lane_of(sim, port, event.arg >> LANE_SHIFT)->credit +=
			(int32_t)(event.arg & ((1u << LANE_SHIFT) - 1));
		try_send(sim, port);
		break;
	case REACHES:
		reaches(sim, port, event.arg);
		break;
	case WAKE:
		sim->source[event.arg].wake = NO_TIME;
		feed(sim, event.arg);
		break;
	case NEXT:
		go_on(sim, port, event.arg);
		break;
	case DISCARD:
		discard(sim, event.arg);
		break;
	case TIMEOUT:
		look_at_pair(sim, event.arg);
		break;
	case LIFETIME:
		look_at_head(sim, port, event.arg);
		break;
	}
}

/*
 * What events will look at is fetched into the cache while others are handled: on large
 * trees the time goes into waiting for memory. First the ports and packets of the chunk
 * after the next one, then the entries that those of the next one need, then the outputs
 * that these lead to.
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

/* The entry for the packet of such an event, or NULL. */
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

static void fetch_entries(const struct pm_packet *sim, const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->num; i++)
		__builtin_prefetch(entry_of(sim, chunk->list[i]));
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

/* Chunks are read one after the other, and two ahead. */
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

/* All events of the tick `now`, also those that come while it is looked at. */
static void run_tick(struct pm_packet *sim)
{
	uint32_t c;

	while ((c = wheel_take(&sim->wheel)) != PM_NONE)
		handle_chunks(sim, c);
}

/* ---- What happens from without ---- */

static uint32_t next_change(const struct pm_packet *sim)
{
	uint32_t time = packet_see_next(sim);

	if (sim->config.num_lost && !sim->lost && sim->config.lose_at < time)
		time = sim->config.lose_at;
	if (sim->set < sim->config.num_sets && sim->config.sets[sim->set].time < time)
		time = sim->config.sets[sim->set].time;
	return time;
}

static void change(struct pm_packet *sim)
{
	const struct pm_packet_config *config = &sim->config;

	if (config->num_lost && !sim->lost && config->lose_at <= sim->wheel.now)
		packet_lose(sim);
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

int pm_packet_run(struct pm_packet *sim, uint32_t until, struct pm_error *err)
{
	while (sim->wheel.now < until) {
		uint32_t stop = next_change(sim), time;

		stop = stop < until ? stop : until;
		while ((time = wheel_next(&sim->wheel)) < stop) {
			sim->wheel.now = time;
			run_tick(sim);
			if (sim->failed || sim->wheel.failed)
				return pm_error_no_memory(err);
		}
		sim->wheel.now = stop;
		if (stop < until)
			change(sim);
	}
	return 0;
}

/* ---- Life ---- */

static int check_sets(const struct pm_packet_config *config, struct pm_error *err)
{
	for (uint32_t i = 0; i < config->num_sets; i++) {
		const struct pm_packet_set *set = &config->sets[i];

		if (set->sw >= config->fabric->num_switches ||
		    set->block >= config->length / 64)
			return pm_error_set(err, -EINVAL,
					    "Set %u: there is no block %u of switch %u",
					    i, set->block, set->sw);
		if (i && set->time < config->sets[i - 1].time)
			return pm_error_set(err, -EINVAL,
					    "Set %u is older than the one "
					    "before it",
					    i);
	}
	return 0;
}

static int check_numbers(const struct pm_packet_config *config, struct pm_error *err)
{
	uint64_t end = config->warmup + (uint64_t)config->batch * config->batches;

	if (!config->packet || config->packet > PM_PACKET_MAX_BLOCKS)
		return pm_error_set(err, -EINVAL, "packets of %u blocks: not 1 to %u",
				    config->packet, PM_PACKET_MAX_BLOCKS);
	if (config->buffer < config->packet || config->buffer > INT16_MAX)
		return pm_error_set(err, -EINVAL,
				    "buffers of %u blocks: not %u, a packet, to %u",
				    config->buffer, config->packet, INT16_MAX);
	if (!config->wire || config->wire > UINT16_MAX || config->crossing > UINT16_MAX)
		return pm_error_set(err, -EINVAL,
				    "delays of %u and %u ticks: not 1 and 0 to %u",
				    config->wire, config->crossing, UINT16_MAX);
	if (!config->batch || !config->batches || config->batches > PM_PACKET_BATCHES ||
	    end >= PM_PACKET_MAX_TICKS)
		return pm_error_set(
			err, -EINVAL,
			"%u batches of %u ticks after %u: not 1 to %u, or too "
			"long",
			config->batches, config->batch, config->warmup,
			PM_PACKET_BATCHES);
	if (config->lifetime >= PM_PACKET_MAX_TICKS ||
	    config->timeout >= PM_PACKET_MAX_TICKS || config->tries > UINT8_MAX - 1)
		return pm_error_set(err, -EINVAL,
				    "a lifetime of %u ticks, answers in %u and %u tries: "
				    "too many",
				    config->lifetime, config->timeout, config->tries);
	return 0;
}

static int check_config(const struct pm_packet_config *config, struct pm_error *err)
{
	const struct pm_fabric *fabric = config->fabric;
	int rc = check_numbers(config, err);

	if (rc)
		return rc;
	for (uint32_t h = 0; h < config->num_hosts; h++) {
		uint32_t port = config->hosts[h].port;
		uint32_t far = pm_fabric_peer_node(fabric, port);

		if (fabric->ports[port].node < fabric->num_switches ||
		    far >= fabric->num_switches)
			return pm_error_set(
				err, -EINVAL,
				"\"%s\" is no host with a cable to a switch",
				pm_fabric_name(fabric, fabric->ports[port].node));
		if (!config->hosts[h].lid)
			return pm_error_set(
				err, -EINVAL, "\"%s\" has no LID",
				pm_fabric_name(fabric, fabric->ports[port].node));
	}
	return check_sets(config, err);
}

static void begin_ports(struct pm_packet *sim)
{
	const struct pm_fabric *fabric = sim->config.fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t far = pm_fabric_peer_node(fabric, i);

		*port_of(sim, i) = (struct port){
			.peer = fabric->ports[i].peer,
			.node = fabric->ports[i].node,
			.from = PM_NONE,
			.ticks = sim->config.ticks ? sim->config.ticks[i] : 1,
			.arrived = PM_NONE,
			.to_host = far >= fabric->num_switches,
		};
		for (uint32_t l = 0; l < sim->lanes; l++) {
			*lane_of(sim, i, l) = (struct lane){
				.head = PM_NONE,
				.tail = PM_NONE,
				.credit = (int32_t)sim->config.buffer,
			};
			if (sim->line)
				line_of(sim, i, l)->head = PM_NONE;
		}
	}
}

static void begin_hosts(struct pm_packet *sim)
{
	const struct pm_fabric *fabric = sim->config.fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		sim->host_of[i] = PM_NONE;
	for (uint32_t h = 0; h < sim->config.num_hosts; h++) {
		sim->host_of[sim->config.hosts[h].port] = h;
		sim->source[h].wake = NO_TIME;
	}
	for (uint32_t h = 0; h < sim->config.num_hosts; h++)
		feed(sim, h);
}

static void allocate(struct pm_packet *sim)
{
	const struct pm_fabric *fabric = sim->config.fabric;
	struct pm_pool *pool = &sim->pool;
	size_t lanes = (size_t)fabric->num_ports * sim->lanes;

	sim->tables =
		pm_pool_bytes(pool, (size_t)fabric->num_switches * sim->config.length);
	sim->stride =
		(sizeof(struct port) + sim->lanes * sizeof(struct lane) + 63) / 64 * 64;
	sim->ports = pm_pool_bytes(pool, fabric->num_ports * sim->stride);
	if (sim->config.in_line)
		sim->line = pm_pool_array(pool, lanes, sizeof(*sim->line));
	if (sim->config.reads)
		sim->starved = pm_pool_array(pool, (size_t)fabric->num_switches * 4,
					     sizeof(*sim->starved));
	sim->source = pm_pool_array(pool, sim->config.num_hosts, sizeof(*sim->source));
	sim->host_of = pm_pool_array(pool, fabric->num_ports, sizeof(*sim->host_of));
	sim->drops_at = pm_pool_array(pool, fabric->num_nodes, sizeof(*sim->drops_at));
	sim->windows = pm_pool_array(pool, sim->num_windows, sizeof(*sim->windows));
	sim->latencies = pm_pool_array(pool, BUCKETS, sizeof(*sim->latencies));
	sim->sent_before =
		pm_pool_array(pool, fabric->num_ports, sizeof(*sim->sent_before));
	sim->sent = pm_pool_array(pool, fabric->num_ports, sizeof(*sim->sent));
}

int pm_packet_new(const struct pm_packet_config *config, struct pm_packet **result,
		  struct pm_error *err)
{
	struct pm_packet *sim;
	int rc = check_config(config, err);

	if (rc)
		return rc;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return pm_error_no_memory(err);
	wheel_begin(&sim->wheel);
	sim->config = *config;
	sim->lanes = 1;
	sim->free = PM_NONE;
	if (config->window)
		sim->num_windows = (config->warmup + config->batch * config->batches) /
				   config->window;
	allocate(sim);
	rc = pm_pool_check(&sim->pool, err);
	if (!rc && config->timeout &&
	    rc_begin(&sim->rc, config->num_hosts, config->timeout, config->tries))
		rc = pm_error_no_memory(err);
	if (!rc) {
		memcpy(sim->tables, config->tables,
		       (size_t)config->fabric->num_switches * config->length);
		begin_ports(sim);
		begin_hosts(sim);
		if (sim->failed || sim->wheel.failed)
			rc = pm_error_no_memory(err);
	}
	if (rc) {
		pm_packet_free(sim);
		return rc;
	}
	*result = sim;
	return 0;
}

void pm_packet_free(struct pm_packet *sim)
{
	if (!sim)
		return;
	wheel_end(&sim->wheel);
	free(sim->packets);
	free(sim->tags);
	rc_end(&sim->rc);
	pm_pool_free(&sim->pool);
	free(sim);
}

bool pm_packet_is_idle(const struct pm_packet *sim)
{
	if (sim->inside || sim->waste || !wheel_is_empty(&sim->wheel))
		return false;
	for (uint32_t i = 0; i < sim->config.fabric->num_ports; i++)
		for (uint32_t l = 0; l < sim->lanes; l++)
			if (port_of(sim, i)->peer != PM_NONE && !port_of(sim, i)->dead &&
			    lane_of(sim, i, l)->credit != (int32_t)sim->config.buffer)
				return false;
	return true;
}
