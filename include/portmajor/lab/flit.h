/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wormhole switching with virtual channels (VCs), cycle by cycle and flit by flit.
 *
 * A link takes one flit in a cycle, and `cable` cycles to carry it. It leads into
 * buffers, one for each VC, of `buffer` flits. A flit that has arrived may leave in the
 * same cycle, or `delay` cycles later. In each cycle an output sends one flit, of those
 * at inputs that want it, in turn; an input gives up to `reads` flits, of different VCs.
 * The head of a packet takes a VC of the next link that no other packet has; the tail
 * gives it back. Nodes send one packet at a time, as early as they can, and take all that
 * comes.
 *
 * Flow control, in either case with the cable's delay on the way back:
 *
 *   credit   a sender may have `buffer` flits under way or in the buffer
 *   slack    a buffer with `stop` flits or more says STOP, one with `go` or less says GO;
 *            a flit that finds no room is lost, with the rest of its packet
 */
#ifndef PORTMAJOR_FLIT_H
#define PORTMAJOR_FLIT_H

#include <portmajor/lab/flitnet.h>

#define PM_FLIT_MAX_VCS 64
#define PM_FLIT_MAX_CABLE 4096
#define PM_FLIT_MAX_BUFFER 65536
#define PM_FLIT_MAX_LENGTH 16384
#define PM_FLIT_MAX_CYCLES 1000000000u
#define PM_FLIT_FULL_LOAD 1000000 /* load is in millionths */
#define PM_FLIT_MIN_LOAD 1000

enum pm_flit_flow {
	PM_FLIT_CREDIT,
	PM_FLIT_SLACK,
};

/* Which VCs a packet may take. */
enum pm_flit_rule {
	PM_FLIT_HOP,	  /* that of the number of links between switches so far */
	PM_FLIT_DATELINE, /* torus: the upper half from the wrapping link of a row on */
	PM_FLIT_ANY,
	PM_FLIT_ONE, /* VC 0 */
};

enum pm_flit_pattern {
	PM_FLIT_UNIFORM,  /* to any other node */
	PM_FLIT_SHIFT,	  /* to the node so many further on */
	PM_FLIT_HOT_SPOT, /* a share of the packets to one node, the others uniformly */
	PM_FLIT_PAIR,	  /* one node sends to another one, and nobody else does */
};

enum pm_flit_arrivals {
	PM_FLIT_INTERVAL, /* at a fixed interval, with a phase drawn for each node */
	PM_FLIT_POISSON,
};

struct pm_flit_config {
	enum pm_flit_flow flow;
	uint32_t stop, go; /* slack: 0 <= go < stop <= buffer */
	uint32_t cable;	   /* cycles, 1 to PM_FLIT_MAX_CABLE */
	uint32_t buffer;   /* flits of a VC, 1 to PM_FLIT_MAX_BUFFER */
	uint32_t vcs;	   /* of a link, 1 to PM_FLIT_MAX_VCS */
	enum pm_flit_rule rule;
	uint32_t reads;	 /* flits of an input in a cycle, 1 and up */
	uint32_t delay;	 /* of a switch in cycles, 0 to PM_FLIT_MAX_CABLE */
	uint32_t length; /* of packets in flits, 1 to PM_FLIT_MAX_LENGTH */
	uint32_t load;	 /* of each node, in millionths of a flit a cycle */
	enum pm_flit_arrivals arrivals;
	enum pm_flit_pattern pattern;
	uint32_t node;	/* hot spot: which; pair: the receiver; shift: how far */
	uint32_t from;	/* pair: the sender */
	uint32_t share; /* hot spot: percent, 1 to 100; with 100 it sends nothing */
	uint64_t seed;
};

/* What was found since pm_flit_measure. */
struct pm_flit_result {
	uint64_t cycles;
	uint64_t flits, packets; /* that came to their nodes whole */
	double accepted;	 /* flits a node and cycle */
	double mean;		/* latency, from a packet's birth to its tail's arrival */
	uint32_t p50, p99, max; /* rounded down by less than 0.1% */
	uint32_t highest_fill;	/* of a switch's buffer */
	uint64_t lost_flits, lost_packets; /* found a buffer full */
	uint64_t hops;			   /* flits sent into links */
	double busiest;			   /* flits a cycle of the busiest link */
	uint32_t busiest_link;
	double backlog;	 /* packets a node that have been born and not sent, by which they
			  * became more */
	double fairness; /* Jain's index of the packets by node that sent them; nodes that
			  * send nothing are left out */
	bool saturated;	 /* the backlog grows */
};

/* A buffer: VC `vc` of a link. */
struct pm_flit_buffer {
	uint32_t link, vc;
};

/* Packets that wait for each other in a loop. */
#define PM_FLIT_LOOP 16
struct pm_flit_deadlock {
	uint32_t cycle;	  /* when it was found; 0: none */
	uint32_t buffers; /* in which nothing will ever move */
	uint64_t flits;	  /* in them */
	uint32_t length;  /* of a loop; each waits for the next one's */
	struct pm_flit_buffer loop[PM_FLIT_LOOP]; /* its first ones */
};

/* Where all flits are that nodes have sent. */
struct pm_flit_count {
	uint64_t sent, arrived, lost;
	uint64_t inside; /* counted one by one, in buffers and on cables */
};

struct pm_flit; /* opaque */

/*
 * The net is borrowed. -EINVAL with a message: numbers out of range or that contradict
 * each other; -ENOMEM. Memory: 4 bytes for each flit of all buffers, and 8 for each that
 * cables hold.
 */
int pm_flit_new(const struct pm_flit_net *net, const struct pm_flit_config *config,
		struct pm_flit **flit, struct pm_error *err);
void pm_flit_free(struct pm_flit *flit);

/*
 * Goes on for so many cycles, up to PM_FLIT_MAX_CYCLES over all, or until a deadlock is
 * found. -ENOMEM: flit is to be freed. Cost: of what moves, and O(switches + nodes) a
 * cycle.
 */
int pm_flit_run(struct pm_flit *flit, uint32_t cycles, struct pm_error *err);

/* Begins to measure anew. */
void pm_flit_measure(struct pm_flit *flit);

void pm_flit_result(const struct pm_flit *flit, struct pm_flit_result *result);

const struct pm_flit_deadlock *pm_flit_deadlock(const struct pm_flit *flit);

/* O(buffers). */
struct pm_flit_count pm_flit_count(const struct pm_flit *flit);

#endif
