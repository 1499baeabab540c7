/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks tables by following packets. It knows no plans and no routing rules. So it tests
 * both independently, and judges the tables of any engine.
 */
#ifndef PORTMAJOR_CHECK_H
#define PORTMAJOR_CHECK_H

#include <portmajor/multicast/mft.h>

#include <stddef.h>

/* The input; all of it borrowed. */
struct pm_check {
	/* Links and LIDs as they are; a port without a LID is no destination. */
	const struct pm_fabric *fabric;
	/* [switch] Level in the tree, 0 for leaves; see pm_tree.level. */
	const uint8_t *level;
	/* [switch] Table, port by LID; NULL: unknown, then packets end there. */
	const uint8_t *const *table;
	/* [switch] LinearFDBTop, the highest LID of the table; 0 with no table. */
	const uint16_t *top;
	/* The subnet manager's port (of a switch: port 0), or PM_NONE. */
	uint32_t sm;
	/* For loads: of pm_link_common_rate; 0: flows count alike on all links. */
	uint32_t common_rate;
	/* For credit loops: multicast tables of the switches, too; NULL: none. */
	const struct pm_mfts *mfts;
};

enum pm_check_fault {
	PM_FAULT_LOST,
	PM_FAULT_LOOP,
	PM_FAULT_TURN,
	PM_FAULT_MISROUTED,
	PM_FAULT_UNREACHABLE,
	PM_FAULT_SM_UNREACHABLE,
	PM_FAULTS
};

struct pm_check_paths {
	uint64_t pairs; /* (switch with end ports, LID) with an up-then-down path, by a
			 * search over the links */
	uint64_t delivered;   /* of these: the table's path ends at the LID's port */
	uint64_t cut;	      /* (switch, LID) without an up-then-down path */
	uint64_t unreachable; /* of these, with an end port's LID: connected by links, but
				 not by the tables */
	uint64_t aggregation; /* of these: dropped on the way to an aggregation node, from
				 a switch that has no other end ports */
	uint64_t lost;	      /* pairs not delivered though a path exists */
	uint64_t loops;	      /* paths that came back to a switch */
	uint64_t turns;	      /* paths that went up after going down */
	uint64_t misrouted;   /* paths that ended at another port */
	uint64_t sm_unreachable; /* (switch, LID of the subnet manager) connected by
			  links, over any path, but not by the tables */
	struct pm_error first;	 /* message on the first fault other than `unreachable` */
	struct pm_error
		example[PM_FAULTS]; /* message on the first fault of each kind,
				       those of `aggregation` apart; empty: none */
	struct pm_error left_out;   /* the same on the first one of `aggregation` */
};

/*
 * Follows every LID from every switch with end ports (or, with from_all, from every
 * switch). The tables are right if lost, loops, turns, misrouted and sm_unreachable are
 * 0. -ENOMEM. Cost: O(switches x (ports + LIDs x path length)).
 */
int pm_check_paths(const struct pm_check *check, bool from_all,
		   struct pm_check_paths *result, struct pm_error *err);

/* Ordered pairs of hosts at different switches. */
struct pm_check_pairs {
	uint64_t connected; /* joined by links, over any path */
	uint64_t reachable; /* of these: packets for each LID arrive, over any path */
	uint32_t from, to;  /* the first pair that is not: a switch and an end port of the
			       fabric; PM_NONE: there is none */
};

/*
 * Counts pairs of end ports with a LID, without those of service nodes. Needs no levels:
 * the fabric may be no tree. -ENOMEM. Cost: O(switches x LIDs of end ports).
 */
int pm_check_pairs(const struct pm_check *check, struct pm_check_pairs *pairs,
		   struct pm_error *err);

/*
 * Loops: LIDs with packets that return to a switch, whatever switch they start from. All
 * LIDs with an entry in a table, up to LinearFDBTop, are examined, even without an owner.
 */
#define PM_CHECK_LOOP 8
struct pm_check_loops {
	uint32_t lids;		      /* LIDs that loop */
	uint16_t lid;		      /* the lowest one */
	uint32_t length;	      /* number of switches in its loop */
	uint32_t loop[PM_CHECK_LOOP]; /* the first of these switches */
};

/* Finds loops. -ENOMEM. O(switches x LIDs). */
int pm_check_loops(const struct pm_check *check, struct pm_check_loops *loops,
		   struct pm_error *err);

/*
 * Credit loops: a channel is a link between switches in one direction; it depends on
 * another if a packet between end ports may hold the first while it waits for the second.
 * Packets in a cycle of such channels can block each other for ever. Multicast packets of
 * the end ports in masks count as well. All packets are assumed to use one virtual lane.
 */
#define PM_CHECK_CREDIT_LOOP 16
struct pm_check_credits {
	uint64_t channels;     /* used by paths of packets */
	uint64_t dependencies; /* between them */
	uint32_t length;       /* channels of the credit loop found; 0: none */
	uint32_t credit_loop[PM_CHECK_CREDIT_LOOP]; /* its first channels: ports (indexes)
						     * that packets leave by */
	bool multicast; /* unicast packets alone have no credit loop */
};

/*
 * Looks for a credit loop of unicast packets and, if there is none, of unicast and
 * multicast packets (check->mfts). -ENOMEM. Cost: O((LIDs + MLIDs) x switches + sum over
 * switches of ports^2).
 */
int pm_check_credits(const struct pm_check *check, struct pm_check_credits *credits,
		     struct pm_error *err);

/*
 * Follows the packets of a LID from a switch, and adds `flows` to load[port] of each port
 * by which they go to another switch. Returns the largest load on this path, scaled to
 * the common rate. Uses the fabric, tables and common_rate of the check. O(path length).
 */
uint64_t pm_check_add_path(const struct pm_check *check, uint32_t from, uint32_t lid,
			   uint32_t flows, uint32_t *load);

/* Loads of the links between two levels in one direction. */
struct pm_check_load {
	uint64_t links; /* directed links */
	uint64_t flows; /* sum over the links; scaled to the common rate (pm_link_weigh),
			   as are those below */
	uint64_t minimum, maximum; /* of one link */
};

/* The highest load of a link, divided by the mean; 1 if nothing flows. */
double pm_check_load_ratio(const struct pm_check_load *load);

#define PM_CHECK_LEVELS 8

struct pm_check_loads {
	struct pm_check_load up[PM_CHECK_LEVELS];   /* [l] from level l to l + 1 */
	struct pm_check_load down[PM_CHECK_LEVELS]; /* [l] from level l + 1 to l */
	/*
	 * The largest difference between two up ports of one leaf in the number of end
	 * ports' LIDs, over all leaves. Ports without a link do not count.
	 */
	uint32_t uplink_spread;
	uint32_t uplink_least, uplink_most;
};

/*
 * Computes the loads of links between switches under all-to-all traffic: every end port
 * with a LID sends one flow to every end port's LID. -ENOMEM.
 */
int pm_check_loads(const struct pm_check *check, struct pm_check_loads *loads,
		   struct pm_error *err);

/*
 * Shift permutations: end port i sends to end port (i + k) mod n, for every k from 1 to n
 * - 1, or for `samples` values of k evenly spread if that is not 0. End ports are
 * numbered by switch (GUID) and port. *most: most flows of one permutation on one
 * directed link between switches, scaled to the common rate. -ENOMEM.
 */
int pm_check_shifts(const struct pm_check *check, uint32_t samples, uint32_t *most,
		    struct pm_error *err);

#endif
