/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulates traffic packet by packet: virtual cut-through with credits, exact to a block
 * of 64 bytes, by events. Time is in ticks of any length.
 *
 * A packet of n blocks leaves a port in n x ticks[port] ticks, once the input buffer at
 * the other end has room for all of it. Its head arrives `wire` ticks later, and may
 * leave the switch `crossing` ticks after that. The sender gets the credit `wire` ticks
 * after the last block left the buffer. Without other traffic, with one speed and s
 * switches on the path, it takes
 *
 * 	n x ticks + (s + 1) x wire + s x crossing
 *
 * A packet from a slower cable to a faster one leaves without gaps: its head leaves the
 * switch so late that its end arrives at least `crossing` ticks before it has to leave.
 * From a faster cable to a slower one a packet moves as if both were slow.
 *
 * Packets wait in the input buffers. An output sends them in the order of arrival at any
 * input; with `in_line` no packet passes another one of its input and lane. Hosts take
 * packets at once, and send one after the other: a waiting packet holds up the host's
 * next ones.
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
#define PM_PACKET_LOOP 64	  /* ports of a deadlock that are reported */
#define PM_PACKET_MAX_SEARCHES 16 /* searches for deadlocks in a lifetime */

/* A host: its end port, with a cable to a switch, and its LID. */
struct pm_packet_host {
	uint32_t port;
	uint16_t lid;
};

/*
 * Lists hosts with a cable to a switch, by switch and port, with the fabric's LIDs;
 * returns their number, at most num_ports. O(ports).
 */
uint32_t pm_packet_list_hosts(const struct pm_fabric *fabric,
			      struct pm_packet_host *hosts);

/* A block of a switch's table: 64 entries from LID 64 x block on. */
struct pm_packet_set {
	uint32_t time;
	uint32_t sw, block;
	uint8_t entries[64];
};

/*
 * An entry of an arbitration table. weight: blocks that a lane may send in its turn; it
 * then ends its packet. 0: none.
 */
struct pm_packet_weight {
	uint8_t lane, weight;
};

/*
 * Virtual lanes, the same at all ports. Each has its own queue at each output, buffer and
 * credits, so that a waiting lane holds up no other. A free output serves the lanes of
 * the high table that can send, in turn by weights. It serves those of the low table if
 * the high table has none, or after `limit` x 64 blocks from the high table (0: one
 * packet; PM_PACKET_NO_LIMIT: never). If the low table has no such lane, the high table
 * goes on. A lane without a weight sends nothing.
 */
struct pm_packet_lanes {
	uint32_t num;		   /* 1..PM_PACKET_MAX_LANES */
	uint8_t of_sl[PM_MAX_SLS]; /* below num */
	struct pm_packet_weight high[PM_PACKET_WEIGHTS], low[PM_PACKET_WEIGHTS];
	uint32_t num_high, num_low, limit;
};

/* A failed link, by a port at its end, is back with all credits. */
struct pm_packet_return {
	uint32_t time; /* after the failure */
	uint32_t port;
};

/* All is borrowed until pm_packet_free, but for the tables. */
struct pm_packet_config {
	const struct pm_fabric *fabric;
	const uint8_t *tables; /* [switch][length]; copied */
	uint32_t length;       /* a multiple of 64 */
	const struct pm_packet_host *hosts;
	uint32_t num_hosts;	      /* 2 and up */
	struct pm_workload *workload; /* of these hosts; it advances with the run */
	const struct pm_packet_lanes *lanes; /* NULL: one lane */
	const uint16_t *ticks;	 /* [port] for a block to leave, 1 and up; NULL: 1 */
	uint32_t wire, crossing; /* wire: 1 and up */
	uint32_t packet;	 /* blocks of a packet, all but a message's last */
	uint32_t buffer; /* blocks of an input, for each lane; at least one packet */
	uint32_t reads;	 /* packets leaving an input at a time; 0: any number */
	bool in_line;
	uint32_t lifetime; /* ticks at the head of a switch's queue; 0: any */

	const uint32_t *failed; /* ports with cables that fail at fail_at */
	uint32_t num_failed, fail_at;
	const uint32_t *reset; /* switches whose tables are empty from fail_at on */
	uint32_t num_reset;
	const struct pm_packet_return *returns; /* by time */
	uint32_t num_returns;
	const struct pm_packet_set *sets; /* by time */
	uint32_t num_sets;

	/*
	 * Reliable connections: ticks until a time-out (0: no such connections, packets
	 * are sent once), and repetitions before a pair is given up.
	 */
	uint32_t timeout, tries;

	uint32_t warmup;  /* ticks before measuring */
	uint32_t batch;	  /* ticks of a part of the measurement */
	uint32_t batches; /* 1..PM_PACKET_BATCHES */
	uint32_t window;  /* ticks of an element of the time series; 0: none */
};

enum pm_packet_drop {
	PM_DROP_NO_ENTRY,   /* no port in the table, or none with a cable */
	PM_DROP_NO_LID,	    /* above the table's top */
	PM_DROP_DEAD_PORT,  /* the cable there has failed */
	PM_DROP_CUT,	    /* on a cable or in a switch that failed */
	PM_DROP_LIFETIME,   /* too long at the head of a queue */
	PM_DROP_WRONG_HOST, /* at a host with another LID */
	PM_DROPS
};

/* "no-entry" and so on. */
const char *pm_packet_drop_name(enum pm_packet_drop reason);

/* Counts over a time. */
struct pm_packet_while {
	uint64_t packets, blocks;   /* that arrived */
	uint64_t ticks;		    /* of these on their senders' cables */
	uint64_t dropped;	    /* packets */
	uint64_t messages, latency; /* messages that arrived; sum of their ticks */
	uint64_t slowest;	    /* of these, ticks */
	uint64_t lag; /* at the end of the time: sum over hosts of the delay of the next
			 message, or of the one being sent */
};

/* A host's messages during the measurement. */
struct pm_packet_sender {
	uint64_t blocks;	    /* that arrived */
	uint64_t messages, latency; /* that arrived whole; sum of their ticks */
	uint32_t slowest;	    /* of these, ticks */
};

/* Pairs of hosts with reliable connections. */
struct pm_packet_pairs {
	uint64_t pairs;	   /* used */
	uint64_t again;	   /* of these: with resent packets */
	uint64_t late;	   /* with a time-out */
	uint64_t broken;   /* given up */
	uint64_t timeouts; /* time-outs, .. */
	uint64_t gaps;	   /* .. and gaps in packets */
	uint64_t resent;   /* packets sent again */
	uint64_t refused;  /* messages of given-up pairs */
};

/* Of the whole run unless noted. */
struct pm_packet_result {
	/*
	 * Packets: created = delivered + uncounted + dropped + inside (now). With
	 * reliable connections uncounted ones are answers, and repeated or early packets.
	 */
	uint64_t created, delivered, uncounted, dropped, inside;
	struct pm_packet_pairs pairs;
	uint64_t drops[PM_DROPS];
	uint64_t events;
	uint64_t hops; /* blocks over cables */
	uint32_t now;  /* ticks */
	bool over;     /* no events are left */
	uint32_t done; /* when the last message of a closed loop or list arrived, or 0 */

	/* Measured. batches[0..num_batches) are complete. */
	const struct pm_packet_while *batches;
	uint32_t num_batches;
	uint32_t measured; /* ticks; of a closed loop or list up to `done` */
	uint64_t messages;
	double accepted; /* arrived, as a share of the capacity of sending hosts' links */
	double mean, half; /* latency of messages in ticks, and half its 95% confidence
			      interval (0 with one batch) */
	uint32_t means;	   /* full batches with messages, for half */
	uint64_t p50, p99; /* at most 1/64 too high */
	uint64_t slowest;
	double fairness;      /* Jain's index of blocks arrived by sending host */
	bool unstable;	      /* queues at the hosts grow; never of a closed loop */
	const uint64_t *busy; /* [port] ticks in which it sent */
	const struct pm_packet_while *sls;	/* [PM_MAX_SLS], measured */
	const struct pm_packet_sender *senders; /* [host] */
	const struct pm_packet_while *windows;
	uint32_t num_windows;
	const uint32_t (*drops_at)[PM_DROPS]; /* [node] */
};

struct pm_packet;

/* Whether packets of a service level can be sent. */
bool pm_packet_is_served(const struct pm_packet_lanes *lanes, uint32_t sl);

/*
 * -EINVAL: out of range, with a message. The caller frees *packet. Takes the
 * first messages from the workload, even on failure.
 */
int pm_packet_new(const struct pm_packet_config *config, struct pm_packet **packet,
		  struct pm_error *err);
void pm_packet_free(struct pm_packet *packet);

/*
 * Runs up to the tick `until`, which is excluded, or until no events are left. Cost: 20
 * to 40 ns an event, three events for each packet and cable.
 */
void pm_packet_run(struct pm_packet *packet, uint32_t until);

/* Results so far; arrays are borrowed until the next run. */
void pm_packet_result(struct pm_packet *packet, struct pm_packet_result *result);

/*
 * Looks for a loop of outputs that wait for each other for ever. Writes at most `room`
 * ports of it, each waiting for the next, and returns its length; 0: none.
 * O(ports + packets).
 */
uint32_t pm_packet_stuck(const struct pm_packet *packet, uint32_t *loop, uint32_t room);

/* A loop of outputs that waited for each other for a while. */
struct pm_packet_deadlock {
	uint32_t begin;	 /* tick of the arrival of the last packet at the head of its
			  * queues */
	uint32_t end;	 /* last tick of the loop */
	uint32_t hosts;	 /* most hosts at a time with a packet waiting for it */
	uint32_t length; /* of the first loop found, .. */
	uint32_t loop[PM_PACKET_LOOP]; /* .. and its first ports */
};

/*
 * Deadlocks of the run, by time, with a present one (`end` is then the current tick).
 * Only the end of a lifetime or a failing cable ends a deadlock, so these start searches:
 * at most PM_PACKET_MAX_SEARCHES in a lifetime. So a shorter deadlock may be missed, and
 * deadlocks closer than that count as one. Returns their number; *list is borrowed until
 * the next call. O(ports + packets).
 */
uint32_t pm_packet_deadlocks(struct pm_packet *packet,
			     const struct pm_packet_deadlock **list);

/* Whether no packet is on a cable and all inputs are empty, with all credits back. */
bool pm_packet_is_idle(const struct pm_packet *packet);

#endif
