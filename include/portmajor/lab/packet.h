/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traffic, packet by packet: virtual cut-through with credits, exact to a block of 64
 * bytes, by events. Time is in ticks of whatever length, the same for all.
 *
 * A packet of n blocks leaves a port in n x ticks[port] ticks, and only when the input
 * buffer at the other end has room for all of it. Its head is there `wire` ticks after it
 * left, and may leave the switch `crossing` ticks later. Its room is free again, as far
 * as the sender knows, `wire` ticks after its last block left the buffer. So without
 * other traffic, with one speed and s switches on the way, it takes
 *
 *	n x ticks + (s + 1) x wire + s x crossing
 *
 * A packet on its way from a slower cable to a faster one must not run dry: its head may
 * leave the switch only so late that its end, which may leave `crossing` ticks after it
 * has come, is not waited for. From a faster cable to a slower one it goes on as if both
 * were slow.
 *
 * Packets wait in the input buffers; those for one output go in the order in which they
 * came, whichever input they came by, or with `in_line` no packet passes another one of
 * its input and lane. Hosts take what comes at once. They send one packet after the
 * other: one that waits for its lane holds up those of the host behind it.
 */
#ifndef PORTMAJOR_PACKET_H
#define PORTMAJOR_PACKET_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/lab/workload.h>

#define PM_PACKET_MAX_BLOCKS 64	       /* 4,096 bytes */
#define PM_PACKET_MAX_TICKS (1u << 31) /* of a run */
#define PM_PACKET_MAX_LANES 15
#define PM_PACKET_WEIGHTS 64 /* entries of a table, at most */
#define PM_PACKET_NO_LIMIT 255
#define PM_PACKET_BATCHES 64
#define PM_PACKET_LOOP 64  /* ports of a deadlock that are told */
#define PM_PACKET_LOOKS 16 /* for deadlocks in a lifetime, at most */

/* A host: its end port, with a cable to a switch, and its LID. */
struct pm_packet_host {
	uint32_t port;
	uint16_t lid;
};

/* Hosts with a cable to a switch, by switch and port, with the fabric's LIDs: their
 * number, at most num_ports. O(ports). */
uint32_t pm_packet_list_hosts(const struct pm_fabric *fabric,
			      struct pm_packet_host *hosts);

/* A switch gets a block of its table: 64 entries from LID 64 x block on. */
struct pm_packet_set {
	uint32_t time;
	uint32_t sw, block;
	uint8_t entries[64];
};

/* An entry of an arbitration table: a lane may send so many blocks in its turn, and ends
 * the packet that is on its way then. 0: none. */
struct pm_packet_weight {
	uint8_t lane, weight;
};

/*
 * Virtual lanes, the same at all ports. Each has a queue at each output, and a buffer and
 * credits of its own; so one that waits holds up none of the others. An output that is
 * free asks the high table for a lane that can send a packet, and takes turns by weights.
 * It asks the low one if there is none, or if `limit` x 64 blocks were sent by the high
 * one since it last did so; 0: one packet; PM_PACKET_NO_LIMIT: any number. If it has
 * none either, the high one goes on. A lane without a weight in either sends nothing.
 */
struct pm_packet_lanes {
	uint32_t num;		   /* 1..PM_PACKET_MAX_LANES */
	uint8_t of_sl[PM_MAX_SLS]; /* below num */
	struct pm_packet_weight high[PM_PACKET_WEIGHTS], low[PM_PACKET_WEIGHTS];
	uint32_t num_high, num_low, limit;
};

/* All is borrowed until pm_packet_free, but for the tables. */
struct pm_packet_config {
	const struct pm_fabric *fabric;
	const uint8_t *tables; /* [switch][length]; copied */
	uint32_t length;       /* a multiple of 64 */
	const struct pm_packet_host *hosts;
	uint32_t num_hosts;		     /* 2 and up */
	struct pm_workload *workload;	     /* of these hosts; it goes on with the run */
	const struct pm_packet_lanes *lanes; /* NULL: one for all */
	const uint16_t *ticks;	 /* [port] for a block to leave, 1 and up; NULL: 1 */
	uint32_t wire, crossing; /* wire: 1 and up */
	uint32_t packet;	 /* blocks of a packet, all but a message's last */
	uint32_t buffer; /* blocks of an input, for each lane; at least one packet */
	uint32_t reads;	 /* packets leaving an input at once; 0: any number */
	bool in_line;
	uint32_t lifetime; /* ticks at the head of a switch's queue; 0: any */

	const uint32_t *lost; /* ports whose cables die at lose_at */
	uint32_t num_lost, lose_at;
	uint32_t return_at; /* when they are back, with all credits; after that, 0: never
			     */
	const struct pm_packet_set *sets; /* by time */
	uint32_t num_sets;

	/* Reliable connections: ticks that an answer may take, 0: packets are sent once;
	 * and how often a packet is sent again, before its pair is given up. */
	uint32_t timeout, tries;

	uint32_t warmup;  /* ticks before measuring */
	uint32_t batch;	  /* ticks of a part of what is measured */
	uint32_t batches; /* 1..PM_PACKET_BATCHES */
	uint32_t window;  /* ticks of an element of the time series; 0: none */
};

enum pm_packet_drop {
	PM_DROP_NO_ENTRY,   /* no port in the table, or none with a cable */
	PM_DROP_NO_LID,	    /* the table does not go so far */
	PM_DROP_DEAD_PORT,  /* the cable there has died */
	PM_DROP_CUT,	    /* was on a cable or in a switch when it died */
	PM_DROP_LIFETIME,   /* was too long at the head of a queue */
	PM_DROP_WRONG_HOST, /* came to a host that has another LID */
	PM_DROPS
};

/* "no-entry" and so on. */
const char *pm_packet_drop_name(enum pm_packet_drop reason);

/* What happened in a while. */
struct pm_packet_while {
	uint64_t packets, blocks;   /* that arrived */
	uint64_t ticks;		    /* that these took on the cables of their senders */
	uint64_t dropped;	    /* packets */
	uint64_t messages, latency; /* that arrived whole; sum of their ticks */
	uint64_t slowest;	    /* of these, ticks */
	uint64_t lag; /* at its end: sum over hosts of how long ago the message that is
		       * next, or is being sent, was to be sent */
};

/* Of the messages of a host, while measuring. */
struct pm_packet_sender {
	uint64_t blocks;	    /* that arrived */
	uint64_t messages, latency; /* that arrived whole; sum of their ticks */
	uint32_t slowest;	    /* of these, ticks */
};

/* Pairs of hosts, with reliable connections. */
struct pm_packet_pairs {
	uint64_t pairs;	   /* that were used */
	uint64_t again;	   /* of these: packets were sent again */
	uint64_t late;	   /* an answer did not come in time */
	uint64_t broken;   /* were given up */
	uint64_t timeouts; /* how often answers did not come in time, */
	uint64_t gaps;	   /* and packets were missing */
	uint64_t resent;   /* packets sent again */
	uint64_t refused;  /* messages of pairs that are given up */
};

/* Of the whole run unless said otherwise. */
struct pm_packet_result {
	/* Packets: created = delivered + spare + dropped + inside. With reliable
	 * connections spare ones are answers, and packets that came again or too soon;
	 * inside: now. */
	uint64_t created, delivered, spare, dropped, inside;
	struct pm_packet_pairs pairs;
	uint64_t drops[PM_DROPS];
	uint64_t events;
	uint64_t hops; /* blocks over cables */
	uint32_t now;  /* ticks */
	bool over;     /* nothing is left to happen */
	uint32_t done; /* when the last message of a closed loop or list arrived, or 0 */

	/* Of what was measured, batches[0..num_batches) of it in full. */
	const struct pm_packet_while *batches;
	uint32_t num_batches;
	uint32_t measured; /* ticks; of a closed loop or list up to `done` */
	uint64_t messages;
	double accepted;   /* what arrived, as a share of what the links of the hosts
			    * that send carry */
	double mean, half; /* latency of messages in ticks, and half of the interval
			    * that has it with 95%; half: 0 with one batch */
	uint32_t means;	   /* whole batches with messages, which half is made of */
	uint64_t p50, p99; /* at most 1/64 too high */
	uint64_t slowest;
	double fairness;      /* Jain's index of what arrived from each host that sends */
	bool unstable;	      /* ever more waits at the hosts */
	const uint64_t *busy; /* [port] ticks in which it sent */
	const struct pm_packet_while *sls;	/* [PM_MAX_SLS], measured */
	const struct pm_packet_sender *senders; /* [host] */
	const struct pm_packet_while *windows;
	uint32_t num_windows;
	const uint32_t (*drops_at)[PM_DROPS]; /* [node] */
};

/* Opaque. */
struct pm_packet;

/* Whether packets of a service level are sent at all. */
bool pm_packet_is_served(const struct pm_packet_lanes *lanes, uint32_t sl);

/* -EINVAL: something is not in range, the message says what; -ENOMEM. The caller frees
 * *packet. The first messages are taken from the workload, also if it fails. */
int pm_packet_new(const struct pm_packet_config *config, struct pm_packet **packet,
		  struct pm_error *err);
void pm_packet_free(struct pm_packet *packet);

/*
 * Goes on up to a tick, which is not reached, or until nothing is left to happen.
 * -ENOMEM, and no more can be done. Cost: 20 to 40 ns an event, of which there are three
 * for each packet and cable.
 */
int pm_packet_run(struct pm_packet *packet, uint32_t until, struct pm_error *err);

/* What has happened so far; arrays are borrowed until the next run. */
void pm_packet_result(struct pm_packet *packet, struct pm_packet_result *result);

/*
 * Looks for outputs that wait for each other in a loop: whoever waits there waits for
 * ever. Writes at most `room` ports of a loop, each of which waits for the next one,
 * and returns how many there are; 0: none. -ENOMEM. O(ports + packets).
 */
int pm_packet_stuck(const struct pm_packet *packet, uint32_t *loop, uint32_t room,
		    struct pm_error *err);

/* Outputs that waited for each other in a loop for a while. */
struct pm_packet_deadlock {
	uint32_t begin;	 /* tick when the last packet in front of a queue of the loop
			  * came there, */
	uint32_t end;	 /* and when the loop was there for the last time */
	uint32_t hosts;	 /* whose next packet waited for it, most at a time */
	uint32_t length; /* of the first loop that was found, */
	uint32_t loop[PM_PACKET_LOOP]; /* and its ports, or the first ones */
};

/*
 * Deadlocks of the run, by time, with one that is there now (`end` is then the tick that
 * the run is at). Nothing but a lifetime that is over or a cable that dies ends one, so
 * it is looked for one at such moments; at the former PM_PACKET_LOOKS times in a lifetime
 * at most, so a deadlock that was there for less than the time between may be missing,
 * and such that follow each other as close are one, and so are those of one time. *list
 * is borrowed until the next call of anything. -ENOMEM. O(ports + packets).
 */
int pm_packet_deadlocks(struct pm_packet *packet, const struct pm_packet_deadlock **list,
			uint32_t *num, struct pm_error *err);

/* Whether nothing is on its way and all inputs are empty, as far as all senders know. */
bool pm_packet_is_idle(const struct pm_packet *packet);

#endif
