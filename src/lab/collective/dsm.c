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

struct run {
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
static uint64_t wire_time(const struct run *run, uint64_t bytes)
{
	return bytes * 8 * 1000000 / run->config->mbps;
}

/* Queues for a resource that serves in turn; returns when it has served. */
static uint64_t take_turn(struct run *run, uint64_t *is_free, uint64_t ready,
			  uint64_t time)
{
	*is_free = (*is_free > ready ? *is_free : ready) + time;
	if (*is_free > MAX_CLOCK)
		run->events.out_of_range = true;
	return *is_free;
}

static void put_on_link(struct run *run, uint32_t m, struct node *from, uint64_t ready,
			uint64_t bytes)
{
	uint64_t gone = take_turn(run, &from->out, ready, wire_time(run, bytes));

	run->result.packets++;
	run->result.bytes += bytes;
	pm_event_queue_add(&run->events, gone + run->config->latency - run->events.now,
			   AT_LINK, m);
}

/* RDMA has only InfiniBand's headers, which are not counted for UD either. */
static uint32_t header_of(const struct message *message)
{
	return message->direct ? 0 : PM_DSM_HEADER;
}

static void send_bytes(struct run *run, uint32_t from, struct message message,
		       uint32_t bytes)
{
	const struct pm_dsm_config *config = run->config;
	struct node *node = &run->nodes[from];
	uint32_t header = header_of(&message), data = PM_DSM_PACKET - header;
	uint64_t ready = 0;

	pm_xgrow(&run->messages, &run->room, run->num_messages + 1, sizeof(message));
	message.packets = bytes ? (bytes + data - 1) / data : 1;
	message.on_link = message.packets;
	message.last = bytes - (message.packets - 1) * data + header;
	run->messages[run->num_messages++] = message;
	run->result.messages++;
	for (uint32_t i = 0; i < message.packets; i++) {
		if (!i || !message.direct)
			ready = take_turn(run, &node->processor, run->events.now,
					  config->touch);
		run->result.headers += header;
		put_on_link(run, run->num_messages - 1, node, ready + config->delay,
			    i + 1 == message.packets ? message.last : PM_DSM_PACKET);
	}
}

static void request(struct run *run, uint32_t a)
{
	struct request *one = &run->requests[a];

	one->tries++;
	send_bytes(run, one->node,
		   (struct message){.kind = QUESTION,
				    .request = a,
				    .pages = one->missing,
				    .to = one->owner},
		   run->config->small);
	pm_event_queue_add(&run->events, run->config->timeout, TIMED_OUT, a);
}

/* ---- Events ---- */

static void finish_question(struct run *run, struct request *one)
{
	one->done = true;
	if (one->next != NONE) {
		request(run, one->next);
		return;
	}
	if (!run->result.first)
		run->result.first = run->events.now;
	run->result.last = run->events.now;
}

static void give_answers(struct run *run, const struct message *question)
{
	const struct request *one = &run->requests[question->request];
	struct message answer = {
		.kind = ANSWER,
		.request = question->request,
		.to = one->node,
		.direct = run->config->rdma && one->pages,
	};

	for (uint64_t left = question->pages; left; left &= left - 1) {
		answer.pages = left & (~left + 1);
		send_bytes(run, one->owner, answer,
			   one->pages ? run->config->page : run->config->small);
	}
}

/* Handles a complete message. */
static void handle(struct run *run, struct message message)
{
	struct request *one = &run->requests[message.request];

	if (message.kind == QUESTION) {
		give_answers(run, &message);
		return;
	}
	one->missing &= ~message.pages;
	if (!one->missing && !one->done)
		finish_question(run, one);
}

static void time_out(struct run *run, uint32_t a)
{
	struct request *one = &run->requests[a];

	if (one->done)
		return;
	if (one->tries == run->config->tries) {
		run->result.unanswered++;
		finish_question(run, one);
		return;
	}
	run->result.repeats++;
	request(run, a);
}

/* A packet has passed the switches, and waits until the link to its node is free. */
static void pass_link(struct run *run, uint32_t m)
{
	struct message *message = &run->messages[m];
	struct node *node = &run->nodes[message->to];
	uint64_t bytes = --message->on_link ? PM_DSM_PACKET : message->last, now;

	/* It arrives while on the sender's link, unless another packet is first. */
	now = run->events.now;
	node->in = node->in + wire_time(run, bytes) > now
			   ? node->in + wire_time(run, bytes)
			   : now;
	pm_event_queue_add(&run->events, node->in - now, ARRIVED, m);
}

static void arrive(struct run *run, uint32_t m)
{
	struct message *message = &run->messages[m];
	struct node *node = &run->nodes[message->to];

	if (message->direct) {
		if (--message->packets)
			return;
	} else if (!node->posted) {
		run->result.lost++;
		return;
	} else {
		node->posted--;
	}
	pm_event_queue_add(&run->events, run->config->delay, NOTICED, m);
}

static void notice(struct run *run, uint32_t m)
{
	struct node *node = &run->nodes[run->messages[m].to];
	uint64_t now = run->events.now;

	pm_event_queue_add(&run->events,
			   take_turn(run, &node->processor, now, run->config->touch) -
				   now,
			   HANDLED, m);
}

static void finish_packet(struct run *run, uint32_t m)
{
	struct message *message = &run->messages[m];

	if (!message->direct) {
		run->nodes[message->to].posted++;
		if (--message->packets)
			return;
	}
	handle(run, *message); /* a copy, as further messages may move the array */
}

static void play(struct run *run)
{
	static void (*const handlers[])(struct run *, uint32_t) = {
		[AT_LINK] = pass_link,	   [ARRIVED] = arrive,	   [NOTICED] = notice,
		[HANDLED] = finish_packet, [TIMED_OUT] = time_out,
	};
	struct pm_event event;

	while (pm_event_queue_take(&run->events, &event))
		handlers[event.kind](run, event.index);
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

static int begin_run(struct run *run, const struct pm_dsm_config *config, uint32_t pages,
		     struct pm_error *err)
{
	int rc = check_dsm(config, pages, err);

	*run = (struct run){.config = config};
	if (rc)
		return rc;
	run->nodes = pm_pool_xarray(&run->pool, config->nodes, sizeof(*run->nodes));
	/* at most two for each node */
	run->requests = pm_pool_xarray(&run->pool, 2 * (size_t)config->nodes,
				       sizeof(*run->requests));
	for (uint32_t i = 0; i < config->nodes; i++)
		run->nodes[i].posted = config->posted;
	return 0;
}

static void add_request(struct run *run, uint32_t node, uint32_t owner, uint32_t pages)
{
	run->requests[run->num_requests++] = (struct request){
		.node = node,
		.owner = owner,
		.missing = pages ? UINT64_MAX >> (PM_DSM_MAX_PAGES - pages) : 1,
		.pages = pages > 0,
		.next = NONE,
	};
}

/* Begins with each request that is not another one's `next`; frees all. */
static int end_run(struct run *run, int rc, struct pm_dsm_result *result,
		   struct pm_error *err)
{
	for (uint32_t a = 0; !rc && a < run->num_requests; a++)
		if (!a || run->requests[a - 1].next != a)
			request(run, a);
	if (!rc)
		play(run);
	if (!rc && run->events.out_of_range)
		rc = pm_error_set(err, -ERANGE, "it takes more than 50 days");
	if (!rc)
		*result = run->result;
	free(run->messages);
	pm_event_queue_free(&run->events);
	pm_pool_free(&run->pool);
	return rc;
}

int pm_dsm_invalidate(const struct pm_dsm_config *config, struct pm_dsm_result *result,
		      struct pm_error *err)
{
	struct run run;
	int rc = begin_run(&run, config, 1, err);

	for (uint32_t i = 1; !rc && i < config->nodes; i++)
		add_request(&run, 0, i, 0);
	return end_run(&run, rc, result, err);
}

int pm_dsm_update(const struct pm_dsm_config *config, uint32_t pages,
		  struct pm_dsm_result *result, struct pm_error *err)
{
	struct run run;
	int rc = begin_run(&run, config, pages, err);

	for (uint32_t i = 1; !rc && i < config->nodes; i++)
		add_request(&run, i, 0, pages);
	return end_run(&run, rc, result, err);
}

int pm_dsm_exchange(const struct pm_dsm_config *config, uint32_t pages,
		    struct pm_dsm_result *result, struct pm_error *err)
{
	struct run run;
	int rc = begin_run(&run, config, pages, err);

	for (uint32_t i = 0; !rc && i < config->nodes; i++) {
		if (i)
			add_request(&run, i, i - 1, pages);
		if (i && i + 1 < config->nodes)
			run.requests[run.num_requests - 1].next = run.num_requests;
		if (i + 1 < config->nodes)
			add_request(&run, i, i + 1, pages);
	}
	return end_run(&run, rc, result, err);
}
