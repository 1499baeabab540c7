/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bisection bandwidth: each host of one half sends to a host of the other half of its
 * own, all at once and one way, and the flows share cables (share.h). Halves are by the
 * hosts' order; of an odd number the last one has no part. Who sends to whom:
 *
 *	straight    host i to host half + i
 *	shifts      host i to host half + (i + k) mod half, for each k
 *	drawn       permutations of a half by a seed, the same for every network
 */
#ifndef PORTMAJOR_BISECTION_H
#define PORTMAJOR_BISECTION_H

#include <portmajor/base/error.h>

#include <stdint.h>

#define PM_PATH_MAX 64

/*
 * Writes the ports by which what host `from` sends to another host leaves nodes, its own
 * first, and returns how many there are; 0: there is no way.
 */
typedef uint32_t pm_packet_path(const void *network, uint32_t from, uint32_t to,
				uint32_t ports[PM_PATH_MAX]);

/* Borrowed. */
struct pm_bisection_config {
	pm_packet_path *path;
	const void *network; /* for it */
	uint32_t num_hosts;  /* 2 and up */
	uint32_t num_ports;
	const double *room; /* [port] above 0 */
	uint32_t drawn;	    /* permutations, 1 and up */
	uint64_t seed;
};

/* Of several ways to pair hosts: what all flows get together. */
struct pm_bisection_rates {
	double mean, least, most;
	uint32_t worst; /* the first one with the least: its number, of shifts k */
};

struct pm_bisection {
	uint32_t half;	 /* flows at a time */
	double straight; /* what all get together */
	struct pm_bisection_rates shifts, drawn;
	double slowest;	      /* flow of all that were tried */
	uint64_t unreachable; /* flows of all without a way: they count as 0 */
};

/* -ENOMEM. O((half + drawn) x what pm_share_rates takes). */
int pm_bisection_find(const struct pm_bisection_config *config,
		      struct pm_bisection *bisection, struct pm_error *err);

#endif
