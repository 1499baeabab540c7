/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bisection bandwidth: each host of one half sends to another host of the other half, all
 * at the same time, and the flows share links (share.h). Halves are by the hosts' order;
 * an odd last host is left out. The pairings:
 *
 *	straight    host i to host half + i
 *	shifts      host i to host half + (i + k) mod half, for each k
 *	drawn       permutations of a half by a seed, the same for every network
 *
 * Throughput: all hosts send, in shifts and permutations of all hosts, and then each to
 * all others at once.
 */
#ifndef PORTMAJOR_BISECTION_H
#define PORTMAJOR_BISECTION_H

#include <portmajor/base/error.h>

#include <stdint.h>

#define PM_PATH_MAX 64

/*
 * Writes the output ports of the path from a host to another, its own first; returns
 * their number; 0: no path.
 */
typedef uint32_t pm_packet_path(const void *network, uint32_t from, uint32_t to,
				uint32_t ports[PM_PATH_MAX]);

/* Borrowed. */
struct pm_bisection_config {
	pm_packet_path *path;
	const void *network; /* for path */
	uint32_t num_hosts;  /* 2 and up */
	uint32_t num_ports;
	const double *room; /* [port] above 0 */
	uint32_t drawn;	    /* permutations, 1 and up */
	uint64_t seed;
	void (*tried)(void *about); /* called after each pairing; NULL: none */
	void *about;
};

/* Total rates of all flows, over several pairings. */
struct pm_bisection_rates {
	double mean, least, most;
	uint32_t worst; /* number of the first pairing with the least rate; of shifts k */
};

struct pm_bisection {
	uint32_t half;	 /* flows at a time */
	double straight; /* total rate */
	struct pm_bisection_rates shifts, drawn;
	double slowest;	      /* rate of the slowest flow in all pairings */
	uint64_t unreachable; /* flows without a path, which count as 0 */
};

/* O((half + drawn) x cost of pm_share_rates). */
void pm_bisection_find(const struct pm_bisection_config *config,
		       struct pm_bisection *bisection);

/* Borrowed. */
struct pm_throughput_config {
	struct pm_bisection_config of; /* of.drawn permutations, by of.seed */
	uint32_t shifts;      /* tried, evenly spread as in pm_check_shifts; 1 and up */
	const uint32_t *port; /* [host] its output port, with which its paths begin */
	/* [host] its switch. Paths of hosts of one switch differ in that port only.
	 */
	const uint32_t *leaf;
};

struct pm_throughput {
	struct pm_bisection_rates shifts, drawn; /* total rates of all flows */
	/*
	 * The sum of a host's flows when every flow has the rate of the slowest. Messages
	 * of one size, with fair shares, end as early as at this rate: the flows over the
	 * link that fills first have the lowest rate, and end together, after all others.
	 */
	double pace;
	uint64_t unreachable; /* flows without a path, which count as 0; `pace` leaves
				 them out */
};

/*
 * O((shifts + drawn) x cost of pm_share_rates + switches with hosts x hosts x path
 * length).
 */
void pm_throughput_find(const struct pm_throughput_config *config,
			struct pm_throughput *throughput);

#endif
