/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Simulates shared memory over datagrams, and finds its times. */
#include <portmajor/base/pool.h>
#include <portmajor/lab/dsm.h>
#include <portmajor/lab/event_queue.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>

#define NONE UINT32_MAX
#define MAX_BYTES (1U << 20)
#define MAX_CLOCK (UINT64_MAX / 4) /* so that sums of a few times do not overflow */

/* A request and its outstanding answers. */
struct request {
	uint32_t node, owner;
	uint64_t missing; /* a bit per page, or bit 0 for the acknowledgement */
	bool pages;	  /* requests pages, not an acknowledgement */
	bool done;
	uint32_t next; /* request that begins when this one is done; or NONE */
	uint32_t tries;
};

enum kind { QUESTION, ANSWER };

struct message {
	enum kind kind;
	uint32_t request;
	uint64_t pages; /* bits: pages requested, or contained */
	uint32_t to;
	uint32_t packets; /* not yet received */
	uint32_t last;	  /* bytes of the last packet; the others are full */
	uint32_t on_link; /* packets that have not reached the receiver's link */
	bool direct;	  /* written to memory directly */
};

struct node {
	uint64_t processor, out, in; /* when each is free */
	uint32_t posted;
};

/* The next event of a message's packet, or of a request. */
enum event { AT_LINK, ARRIVED, NOTICED, HANDLED, TIMED_OUT };

struct simulation {
	const struct pm_dsm_config *config;
	struct pm_dsm_result result;
	struct pm_pool pool;
	struct pm_event_queue events;
	struct node *nodes;
	struct request *requests;
	uint32_t num_requests;
	struct message *messages;
	uint32_t num_messages, room;
};

/* ---- Sending ---- */

/* The time of bytes on a link, in picoseconds. */
static uint64_t wire_time(const struct simulation *sim, uint64_t bytes)
{
	return bytes * 8 * 1000000 / sim->config->mbps;
}

/* Queues for a resource that serves in turn; returns when it has served. */
static uint64_t take_turn(struct simulation *sim, uint64_t *is_free, uint64_t ready,
			  uint64_t time)
{
	*is_free = (*is_free > ready ? *is_free : ready) + time;
	if (*is_free > MAX_CLOCK)
		sim->events.out_of_range = true;
	return *is_free;
}

static void put_on_link(struct simulation *sim, uint32_t m, struct node *from,
			uint64_t ready, uint64_t bytes)
{
	uint64_t gone = take_turn(sim, &from->out, ready, wire_time(sim, bytes));

	sim->result.packets++;
	sim->result.bytes += bytes;
	pm_event_queue_add(&sim->events, gone + sim->config->latency - sim->events.now,
			   AT_LINK, m);
}

/* RDMA has only InfiniBand's headers, which are not counted for UD either. */
static uint32_t header_of(const struct message *message)
{
	return message->direct ? 0 : PM_DSM_HEADER;
}

static void send_bytes(struct simulation *sim, uint32_t from, struct message message,
		       uint32_t bytes)
{
	const struct pm_dsm_config *config = sim->config;
	struct node *node = &sim->nodes[from];
	uint32_t header = header_of(&message), data = PM_DSM_PACKET - header;
	uint64_t ready = 0;

	pm_xgrow(&sim->messages, &sim->room, sim->num_messages + 1, sizeof(message));
	message.packets = bytes ? (bytes + data - 1) / data : 1;
	message.on_link = message.packets;
	message.last = bytes - (message.packets - 1) * data + header;
	sim->messages[sim->num_messages++] = message;
	sim->result.messages++;
	for (uint32_t i = 0; i < message.packets; i++) {
		if (!i || !message.direct)
			ready = take_turn(sim, &node->processor, sim->events.now,
					  config->touch);
		sim->result.headers += header;
		put_on_link(sim, sim->num_messages - 1, node, ready + config->delay,
			    i + 1 == message.packets ? message.last : PM_DSM_PACKET);
	}
}

static void request(struct simulation *sim, uint32_t a)
{
	struct request *one = &sim->requests[a];

	one->tries++;
	send_bytes(sim, one->node,
		   (struct message){.kind = QUESTION,
				    .request = a,
				    .pages = one->missing,
				    .to = one->owner},
		   sim->config->small);
	pm_event_queue_add(&sim->events, sim->config->timeout, TIMED_OUT, a);
}

/* ---- Events ---- */

static void finish_question(struct simulation *sim, struct request *one)
{
	one->done = true;
	if (one->next != NONE) {
		request(sim, one->next);
		return;
	}
	if (!sim->result.first)
		sim->result.first = sim->events.now;
	sim->result.last = sim->events.now;
}

static void give_answers(struct simulation *sim, const struct message *question)
{
	const struct request *one = &sim->requests[question->request];
	struct message answer = {
		.kind = ANSWER,
		.request = question->request,
		.to = one->node,
		.direct = sim->config->rdma && one->pages,
	};

	for (uint64_t left = question->pages; left; left &= left - 1) {
		answer.pages = left & (~left + 1);
		send_bytes(sim, one->owner, answer,
			   one->pages ? sim->config->page : sim->config->small);
	}
}

/* Handles a complete message. */
static void handle(struct simulation *sim, struct message message)
{
	struct request *one = &sim->requests[message.request];

	if (message.kind == QUESTION) {
		give_answers(sim, &message);
		return;
	}
	one->missing &= ~message.pages;
	if (!one->missing && !one->done)
		finish_question(sim, one);
}

static void time_out(struct simulation *sim, uint32_t a)
{
	struct request *one = &sim->requests[a];

	if (one->done)
		return;
	if (one->tries == sim->config->tries) {
		sim->result.unanswered++;
		finish_question(sim, one);
		return;
	}
	sim->result.repeats++;
	request(sim, a);
}

/* A packet has passed the switches, and waits until the link to its node is free. */
static void pass_link(struct simulation *sim, uint32_t m)
{
	struct message *message = &sim->messages[m];
	struct node *node = &sim->nodes[message->to];
	uint64_t bytes = --message->on_link ? PM_DSM_PACKET : message->last, now;

	/* It arrives while on the sender's link, unless another packet is first. */
	now = sim->events.now;
	node->in = node->in + wire_time(sim, bytes) > now
			   ? node->in + wire_time(sim, bytes)
			   : now;
	pm_event_queue_add(&sim->events, node->in - now, ARRIVED, m);
}

static void arrive(struct simulation *sim, uint32_t m)
{
	struct message *message = &sim->messages[m];
	struct node *node = &sim->nodes[message->to];

	if (message->direct) {
		if (--message->packets)
			return;
	} else if (!node->posted) {
		sim->result.lost++;
		return;
	} else {
		node->posted--;
	}
	pm_event_queue_add(&sim->events, sim->config->delay, NOTICED, m);
}

static void notice(struct simulation *sim, uint32_t m)
{
	struct node *node = &sim->nodes[sim->messages[m].to];
	uint64_t now = sim->events.now;

	pm_event_queue_add(&sim->events,
			   take_turn(sim, &node->processor, now, sim->config->touch) -
				   now,
			   HANDLED, m);
}

static void finish_packet(struct simulation *sim, uint32_t m)
{
	struct message *message = &sim->messages[m];

	if (!message->direct) {
		sim->nodes[message->to].posted++;
		if (--message->packets)
			return;
	}
	handle(sim, *message); /* a copy, as further messages may move the array */
}

static void play(struct simulation *sim)
{
	static void (*const handlers[])(struct simulation *, uint32_t) = {
		[AT_LINK] = pass_link,	   [ARRIVED] = arrive,	   [NOTICED] = notice,
		[HANDLED] = finish_packet, [TIMED_OUT] = time_out,
	};
	struct pm_event event;

	while (pm_event_queue_take(&sim->events, &event))
		handlers[event.kind](sim, event.index);
}

static int check_dsm(const struct pm_dsm_config *config, uint32_t pages,
		     struct pm_error *err)
{
	if (!config->nodes || config->nodes > PM_DSM_MAX_NODES)
		return pm_error_set(err, -EINVAL, "%u nodes: not a number from 1 to %u",
				    config->nodes, PM_DSM_MAX_NODES);
	if (!pages || pages > PM_DSM_MAX_PAGES)
		return pm_error_set(err, -EINVAL, "%u pages: not a number from 1 to %u",
				    pages, PM_DSM_MAX_PAGES);
	if (config->delay > PM_DSM_MAX_TIME || config->touch > PM_DSM_MAX_TIME ||
	    config->latency > PM_DSM_MAX_TIME || config->timeout > PM_DSM_MAX_TIME)
		return pm_error_set(err, -EINVAL, "a time is above 1,000 seconds");
	if (!config->mbps || !config->posted || !config->tries)
		return pm_error_set(err, -EINVAL,
				    "no rate, no receive that is posted, or no try");
	if (config->small > MAX_BYTES || config->page > MAX_BYTES)
		return pm_error_set(err, -EINVAL, "a message of more than 1 MiB");
	return 0;
}

static int begin_simulation(struct simulation *sim, const struct pm_dsm_config *config,
			    uint32_t pages, struct pm_error *err)
{
	int rc = check_dsm(config, pages, err);

	*sim = (struct simulation){.config = config};
	if (rc)
		return rc;
	sim->nodes = pm_pool_xarray(&sim->pool, config->nodes, sizeof(*sim->nodes));
	/* at most two for each node */
	sim->requests = pm_pool_xarray(&sim->pool, 2 * (size_t)config->nodes,
				       sizeof(*sim->requests));
	for (uint32_t i = 0; i < config->nodes; i++)
		sim->nodes[i].posted = config->posted;
	return 0;
}

static void add_request(struct simulation *sim, uint32_t node, uint32_t owner,
			uint32_t pages)
{
	sim->requests[sim->num_requests++] = (struct request){
		.node = node,
		.owner = owner,
		.missing = pages ? UINT64_MAX >> (PM_DSM_MAX_PAGES - pages) : 1,
		.pages = pages > 0,
		.next = NONE,
	};
}

/* Begins with each request that is not another one's `next`; frees all. */
static int end_simulation(struct simulation *sim, int rc, struct pm_dsm_result *result,
			  struct pm_error *err)
{
	for (uint32_t a = 0; !rc && a < sim->num_requests; a++)
		if (!a || sim->requests[a - 1].next != a)
			request(sim, a);
	if (!rc)
		play(sim);
	if (!rc && sim->events.out_of_range)
		rc = pm_error_set(err, -ERANGE, "it takes more than 50 days");
	if (!rc)
		*result = sim->result;
	free(sim->messages);
	pm_event_queue_free(&sim->events);
	pm_pool_free(&sim->pool);
	return rc;
}

int pm_dsm_invalidate(const struct pm_dsm_config *config, struct pm_dsm_result *result,
		      struct pm_error *err)
{
	struct simulation sim;
	int rc = begin_simulation(&sim, config, 1, err);

	for (uint32_t i = 1; !rc && i < config->nodes; i++)
		add_request(&sim, 0, i, 0);
	return end_simulation(&sim, rc, result, err);
}

int pm_dsm_update(const struct pm_dsm_config *config, uint32_t pages,
		  struct pm_dsm_result *result, struct pm_error *err)
{
	struct simulation sim;
	int rc = begin_simulation(&sim, config, pages, err);

	for (uint32_t i = 1; !rc && i < config->nodes; i++)
		add_request(&sim, i, 0, pages);
	return end_simulation(&sim, rc, result, err);
}

int pm_dsm_exchange(const struct pm_dsm_config *config, uint32_t pages,
		    struct pm_dsm_result *result, struct pm_error *err)
{
	struct simulation sim;
	int rc = begin_simulation(&sim, config, pages, err);

	for (uint32_t i = 0; !rc && i < config->nodes; i++) {
		if (i)
			add_request(&sim, i, i - 1, pages);
		if (i && i + 1 < config->nodes)
			sim.requests[sim.num_requests - 1].next = sim.num_requests;
		if (i + 1 < config->nodes)
			add_request(&sim, i, i + 1, pages);
	}
	return end_simulation(&sim, rc, result, err);
}
