/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the packet engine. */
#ifndef PORTMAJOR_LAB_PACKET_PARTS_H
#define PORTMAJOR_LAB_PACKET_PARTS_H

#include "packet_rc.h"
#include "wheel.h"

#include <portmajor/base/pool.h>
#include <portmajor/lab/packet.h>

/* Events: a kind and a port in `what`. */
enum kind {
	ARRIVES,  /* a packet's head is at an input, and may go on; arg: packet */
	READY,	  /* a packet can be sent without a gap by its output; arg: packet */
	FREE,	  /* an output has sent the last block */
	CREDIT,	  /* a credit comes to an output; arg: blocks and lane */
	REACHES,  /* a packet's last block is at a host; arg: packet */
	WAKE,	  /* a host has a message to send */
	NEXT,	  /* in line: the packet in front has left; arg: lane */
	DISCARD,  /* a dropped packet has come in completely; arg: packet */
	TIMEOUT,  /* an answer may not have come in time; arg: pair */
	LIFETIME, /* the head of an output's queue may be too old; arg: lane */
};

#define KIND_SHIFT 28
#define PORT_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)
#define LANE_SHIFT 16 /* in the arg of CREDIT */

/* Flags of a packet. */
enum {
	LAST = 1,    /* the last of its message */
	BAD = 2,     /* cut off: counted as dropped, but goes on */
	DROPPED = 4, /* its end still has to come in */
	ANSWER = 8,  /* an answer of a reliable connection */
	GAP = 16,    /* an answer to a packet after a gap */
};

struct packet {
	uint32_t next; /* in a queue or the list of free ones, or PM_NONE */
	uint32_t in;   /* the input that buffers it; PM_NONE: at its host */
	uint32_t tail; /* when its last block arrives */
	uint32_t created;
	uint32_t id; /* of its message */
	uint16_t lid;
	uint16_t from; /* host */
	uint8_t size;  /* blocks */
	uint8_t lane;
	uint8_t flags;
	uint8_t sl;
};

/* An output's lane. */
struct lane {
	uint32_t head, tail; /* packets that wait, or PM_NONE */
	int32_t credit;	     /* blocks */
	uint32_t since;	     /* when its present head became the head */
};

/*
 * A port, as output and as input. Members used together lie together, as on large trees
 * most time is spent waiting for memory.
 */
struct port {
	uint32_t peer; /* PM_NONE: no link */
	uint32_t node;
	uint32_t from;	/* output that is busy: the packet's input, or PM_NONE */
	uint16_t ticks; /* for a block */
	bool busy, dead;
	uint32_t arrived; /* input: the packet with the last head to arrive, or PM_NONE */
	uint32_t tail;	  /* when its last block arrives */
	uint16_t waiting; /* output: lanes with packets, where there are several */
	uint16_t timed;	  /* output: lanes with a LIFETIME event under way */
	uint16_t reading; /* input: packets that are leaving */
	uint32_t sent;	  /* output: blocks sent, .. */
	uint32_t until;	  /* .. and the time of the last */
	bool to_host;	  /* output */
	uint8_t sending;  /* output that is busy: the packet's lane */
	bool fell;	  /* its link has failed, and may be back */
	uint32_t host;	  /* at this port, or PM_NONE */
	struct lane lane[];
};

/* An output with several lanes: the next entries of the high and the low table. */
struct arbiter {
	uint8_t at[2];
	int16_t left[2];   /* blocks that this entry may still send */
	int32_t high_left; /* blocks, until the low table has its turn */
	bool low;	   /* the low table has its turn */
};

/* An input's lane, with in_line. */
struct line {
	uint32_t head, tail; /* packets behind the one in front, or PM_NONE */
	bool active;	     /* a packet is in front */
};

/* A host. */
struct source {
	uint32_t to;   /* destination of the present message */
	uint32_t left; /* blocks of it to be sent */
	uint32_t id, created;
	uint32_t ticks; /* of its port */
	uint8_t sl;	/* of the present message */
	uint8_t lane;	/* of the packet that was fed last */
	uint32_t wake;	/* when a WAKE comes, or NO_TIME */
};

#define FINE 64 /* buckets are 1/64 of their value wide */
#define BUCKETS ((size_t)FINE * (64 - 6 + 1))

struct pm_packet {
	struct pm_pool pool;
	struct pm_packet_config config;
	struct wheel wheel;
	uint32_t lanes;
	uint8_t *tables;
	char *ports; /* [port] of `stride` bytes, see port_of */
	size_t stride;
	struct line *line;	  /* [port][lanes], or NULL */
	struct arbiter *arbiters; /* [port] with several lanes */
	uint16_t served[2];	  /* lanes of the high and low table, as bits */
	uint64_t *starved;     /* [switch][4] outputs that wait for an input, or NULL */
	struct source *source; /* [host] */

	struct packet *packets;
	uint32_t num_packets, room, free;
	uint64_t inside;     /* packets that are neither bad nor dropped */
	uint64_t waste;	     /* bad and dropped packets that still come in */
	struct rc rc;	     /* with config.timeout */
	struct rc_tag *tags; /* [packet] then */
	uint32_t tags_room;

	struct pm_packet_deadlock *deadlocks; /* found so far */
	uint32_t num_deadlocks, deadlocks_room;
	uint32_t last_search; /* for deadlocks: its time, or 0 */

	uint32_t set;	   /* the next of config.sets */
	uint32_t back;	   /* the next of config.returns */
	bool links_failed; /* the failure has happened */

	/* Observations. */
	uint64_t created, delivered, uncounted, dropped, events, hops;
	uint32_t done;
	uint64_t drops[PM_DROPS];
	uint32_t (*drops_at)[PM_DROPS];			       /* [node] */
	struct pm_packet_while batches[PM_PACKET_BATCHES + 2]; /* before the measurement,
								  each batch, after it */
	uint32_t batch;					       /* the present batch */
	struct pm_packet_while sls[PM_MAX_SLS];
	struct pm_packet_while *windows;
	uint32_t num_windows, window;	  /* the present window */
	struct pm_packet_sender *senders; /* [host] */
	uint64_t *latencies;		  /* [BUCKETS] messages */
	uint64_t *busy_before;		  /* [port] ticks before measuring */
	uint64_t *busy;			  /* [port] while measuring */
};

static inline struct port *port_of(const struct pm_packet *sim, uint32_t port)
{
	return (struct port *)(void *)(sim->ports + port * sim->stride);
}

static inline struct lane *lane_of(const struct pm_packet *sim, uint32_t port,
				   uint32_t lane)
{
	return &port_of(sim, port)->lane[lane];
}

static inline uint8_t lane_of_sl(const struct pm_packet *sim, uint32_t sl)
{
	return sim->config.lanes ? sim->config.lanes->of_sl[sl] : 0;
}

static inline struct line *line_of(const struct pm_packet *sim, uint32_t port,
				   uint32_t lane)
{
	return &sim->line[(size_t)port * sim->lanes + lane];
}

static inline void add_event(struct pm_packet *sim, uint32_t time, enum kind kind,
			     uint32_t port, uint32_t arg)
{
	wheel_add(&sim->wheel, time, (uint32_t)kind << KIND_SHIFT | port, arg);
}

/* Whether a part of the packet was on this input's link when the link failed. */
static inline bool packet_is_cut(const struct pm_packet *sim, uint32_t in,
				 const struct packet *packet)
{
	const struct port *p = port_of(sim, in);
	uint32_t takes;

	if (!p->fell || packet->tail <= sim->config.fail_at)
		return false;
	takes = packet->size * port_of(sim, p->peer)->ticks + sim->config.wire;
	return packet->tail - takes < sim->config.fail_at; /* not sent after it */
}

/* packet_send.c: adds a packet to the queue of an output. */
void packet_queue(struct pm_packet *sim, uint32_t out, uint32_t index);
/* Sends the next packet, if there is one, and room for it. */
void packet_try_send(struct pm_packet *sim, uint32_t out);
/* Drops a packet that has been the head of a queue for too long. */
void packet_look_at_head(struct pm_packet *sim, uint32_t out, uint32_t number);

/* packet_arbiter.c: begins, with nothing sent yet. */
void arbiter_begin(struct pm_packet *sim);
/* The lane that sends next, among the ready ones (bits); PM_NONE: none may. */
uint32_t arbiter_choose(struct pm_packet *sim, uint32_t out, uint32_t ready);
/* Notes that this lane sends a packet. */
void arbiter_sent(struct pm_packet *sim, uint32_t out, uint32_t blocks);

/* packet_host.c: gives a host's port the host's next packet, if the port has none. */
void packet_feed(struct pm_packet *sim, uint32_t host);
/* Handles a packet that has reached a host. */
void packet_reaches(struct pm_packet *sim, uint32_t in, uint32_t index);
/* Handles an answer that may be overdue. */
void packet_look_at_pair(struct pm_packet *sim, uint32_t pair);

/*
 * packet_pool.c: takes an unused packet; PM_NONE: no memory. The array of packets may
 * move.
 */
uint32_t packet_take(struct pm_packet *sim);

/* Returns a packet's credits to the sender at this time. */
void packet_leave(struct pm_packet *sim, const struct packet *packet, uint32_t time);

/* Counts a packet as dropped. */
void packet_count_drop(struct pm_packet *sim, uint32_t node, enum pm_packet_drop reason);

/* Drops a packet that is in no queue. It is freed when its end has come in. */
void packet_drop(struct pm_packet *sim, uint32_t index, uint32_t node,
		 enum pm_packet_drop reason);

/* Drops a packet that was cut on the link of an input. */
void packet_cut(struct pm_packet *sim, uint32_t in, uint32_t index);

/* Frees a packet. */
static inline void packet_free(struct pm_packet *sim, uint32_t index)
{
	sim->packets[index].next = sim->free;
	sim->free = index;
}

/* packet_failure.c: the failure of links, and the return of those whose time has come. */
void packet_fail_links(struct pm_packet *sim);
void packet_return(struct pm_packet *sim);

/* packet_stuck.c: looks for a deadlock, before an event that may end it. */
void packet_look_for_deadlock(struct pm_packet *sim);

/* packet_stats.c: counts a packet that has come to its host. */
void packet_see(struct pm_packet *sim, const struct packet *packet);
/* The time when the next batch or window ends, or NO_TIME. */
uint32_t packet_see_next(const struct pm_packet *sim);
/* Ends the batches and windows that end now. */
void packet_see_end(struct pm_packet *sim);

#endif
