/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wormhole switching with virtual channels (VCs), cycle by cycle and flit by flit.
 *
 * A link takes one flit per cycle, and carries it in `cable` cycles into a buffer of
 * `buffer` flits per VC. A flit may leave in the cycle of its arrival, or `delay` cycles
 * later. In each cycle an output sends one flit, from the inputs with flits for it in
 * turn; an input gives at most `reads` flits, of different VCs. The head of a packet
 * takes a free VC of the next link; the tail frees it. Nodes send one packet at a time,
 * as early as possible, and take all flits that arrive. Switches may have stages instead
 * of `delay`: see pm_flit_stages.
 *
 * Flow control; its signals take the cable's delay, too:
 *
 *   credit   a sender may have `buffer` flits under way or in the buffer
 *   slack    a buffer with `stop` flits or more sends STOP, one with `go` or less sends
 *            GO; a flit that finds no room is lost, with the rest of its packet
 */
#ifndef PORTMAJOR_FLIT_H
#define PORTMAJOR_FLIT_H

#include <portmajor/lab/flitnet.h>

#define PM_FLIT_MAX_VCS 64
#define PM_FLIT_MAX_CABLE 4096
#define PM_FLIT_MAX_STAGE 256
#define PM_FLIT_MAX_BUFFER 65536
#define PM_FLIT_MAX_LENGTH 16384
#define PM_FLIT_MAX_CYCLES 1000000000u
#define PM_FLIT_FULL_LOAD 1000000 /* load is in millionths */
#define PM_FLIT_MIN_LOAD 1000

enum pm_flit_flow {
	PM_FLIT_CREDIT,
	PM_FLIT_SLACK,
};

/* VCs that a packet may take. */
enum pm_flit_rule {
	PM_FLIT_HOP,	  /* numbered by the links between switches so far */
	PM_FLIT_DATELINE, /* torus: the upper half from the wrapping link of a row on */
	PM_FLIT_ANY,
	PM_FLIT_ONE, /* VC 0 */
	PM_FLIT_ROW, /* torus: the upper half all along a row, if it takes the wrapping
			link */
};

enum pm_flit_pattern {
	PM_FLIT_UNIFORM,  /* to any other node */
	PM_FLIT_SHIFT,	  /* to the node a fixed number further on */
	PM_FLIT_HOT_SPOT, /* a share of the packets to one node, the others uniformly */
	PM_FLIT_PAIR,	  /* one node sends to another, and no other node sends */
};

enum pm_flit_arrivals {
	PM_FLIT_INTERVAL, /* at a fixed interval, with a phase drawn for each node */
	PM_FLIT_POISSON,
};

/*
 * The pipeline of a switch, in cycles: a head is routed, gets a VC of the next link and
 * then, as each flit of the packet, its turn in the crossbar, and crosses it. VCs and
 * turns are given to a matching of one round, without conflicts but not always the
 * largest: outputs offer in turn to requesting inputs, and inputs accept one offer in
 * turn (iSLIP). So a packet without others takes routing + vc + crossbar + crossing - 1
 * cycles in a switch.
 */
struct pm_flit_stages {
	uint32_t routing;  /* 0: known when the head arrives */
	uint32_t vc;	   /* 1 and up; 0: no stages at all */
	uint32_t crossbar; /* 1 and up */
	uint32_t crossing;
	uint32_t credit; /* of a flow-control signal, after its cable */
};

/* When an output of a switch without stages goes on to the next VC. */
enum pm_flit_arbitration {
	PM_FLIT_BY_FLIT,
	PM_FLIT_BY_PACKET, /* sooner only if a packet's next flit cannot leave */
};

struct pm_flit_config {
	enum pm_flit_flow flow;
	uint32_t stop, go; /* slack: 0 <= go < stop <= buffer */
	uint32_t cable;	   /* cycles, 1 to PM_FLIT_MAX_CABLE */
	uint32_t buffer;   /* flits of a VC, 1 to PM_FLIT_MAX_BUFFER */
	uint32_t vcs;	   /* of a link, 1 to PM_FLIT_MAX_VCS */
	enum pm_flit_rule rule;
	uint32_t reads; /* flits of an input in a cycle, 1 and up */
	uint32_t delay; /* of a switch in cycles, 0 to PM_FLIT_MAX_CABLE */
	enum pm_flit_arbitration arbitration;
	struct pm_flit_stages stages; /* each 0 to PM_FLIT_MAX_STAGE; reads has to be 1 */
	uint32_t length;	      /* of packets in flits, 1 to PM_FLIT_MAX_LENGTH */
	uint32_t load;		      /* of each node, in millionths of a flit a cycle */
	enum pm_flit_arrivals arrivals;
	enum pm_flit_pattern pattern;
	uint32_t node;	/* hot spot: the node; pair: the receiver; shift: how far */
	uint32_t from;	/* pair: the sender */
	uint32_t share; /* hot spot: percent, 1..100; at 100 the node sends nothing */
	uint64_t seed;
};

/* Results since pm_flit_measure. */
struct pm_flit_result {
	uint64_t cycles;
	uint64_t flits, packets; /* that arrived completely */
	double accepted;	 /* flits per node and cycle */
	double mean;		/* latency, from a packet's birth to its tail's arrival */
	uint32_t p50, p99, max; /* rounded down by less than 0.1% */
	uint32_t highest_fill;	/* most flits in a switch's buffer */
	uint64_t lost_flits, lost_packets; /* that met a full buffer */
	uint64_t hops;			   /* flits sent into links */
	double busiest;			   /* flits per cycle on the busiest link */
	uint32_t busiest_link;
	double backlog;	 /* growth of the number of waiting packets per node */
	double fairness; /* Jain's index of packets by sending node */
	bool saturated;	 /* the backlog grows */
};

/* A buffer: VC `vc` of a link. */
struct pm_flit_buffer {
	uint32_t link, vc;
};

/* A loop of packets that wait for each other. */
#define PM_FLIT_LOOP 16
struct pm_flit_deadlock {
	uint32_t cycle;	  /* when it was found; 0: none */
	uint32_t buffers; /* stuck for ever */
	uint64_t flits;	  /* in them */
	uint32_t length;  /* of a loop of buffers, each waiting for the next */
	struct pm_flit_buffer loop[PM_FLIT_LOOP]; /* its first ones */
};

/* All flits sent by nodes. */
struct pm_flit_count {
	uint64_t sent, arrived, lost;
	uint64_t inside; /* counted one by one, in buffers and on links */
};

struct pm_flit; /* opaque */

/*
 * The net is borrowed. -EINVAL with a message: numbers are out of range or contradict
 * each other. Memory: 4 bytes for each flit that buffers have room for, and 8
 * for each that links hold.
 */
int pm_flit_new(const struct pm_flit_net *net, const struct pm_flit_config *config,
		struct pm_flit **flit, struct pm_error *err);
void pm_flit_free(struct pm_flit *flit);

/*
 * Runs more cycles, up to PM_FLIT_MAX_CYCLES in all, or until a deadlock is found. Cost:
 * of moving flits, and O(switches + nodes) a cycle.
 */
void pm_flit_run(struct pm_flit *flit, uint32_t cycles);

/* Starts a new measurement. */
void pm_flit_measure(struct pm_flit *flit);

void pm_flit_result(const struct pm_flit *flit, struct pm_flit_result *result);

const struct pm_flit_deadlock *pm_flit_deadlock(const struct pm_flit *flit);

/* O(buffers). */
struct pm_flit_count pm_flit_count(const struct pm_flit *flit);

#endif
