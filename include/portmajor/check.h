/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An independent look at tables: follow them packet by packet. Nothing here
 * uses plans or the way tables are made; it serves to test these, and to judge
 * tables read back from switches.
 */
#ifndef PORTMAJOR_CHECK_H
#define PORTMAJOR_CHECK_H

#include <portmajor/fabric.h>

#include <stddef.h>

/* What is to be checked; all of it borrowed. */
struct pm_check {
	/* Cables and LIDs as they are; a port without a LID is no destination. */
	const struct pm_fabric *fabric;
	/* [switch] Level in the tree, 0 for leaves; see pm_tree.level. */
	const uint8_t *level;
	/* [switch] Table, port by LID; NULL: unknown, then packets end there. */
	const uint8_t *const *table;
	/* [switch] LinearFDBTop, the highest LID of the table; 0 with no table. */
	const uint16_t *top;
	/* The subnet manager's port (of a switch: port 0), or PM_NONE. */
	uint32_t manager;
};

struct pm_check_paths {
	uint64_t pairs;	       /* (switch with end ports, LID) that an up-then-down
				* path joins, as a search over the cables finds */
	uint64_t delivered;    /* of these: the table's path ends at the LID's port */
	uint64_t cut;	       /* pairs that no up-then-down path joins */
	uint64_t lost;	       /* pairs not delivered though a path exists */
	uint64_t loops;	       /* paths that came back to a switch */
	uint64_t turns;	       /* paths that went up after going down */
	uint64_t astray;       /* paths that ended at another port */
	uint64_t deaf;	       /* (switch, LID of the manager) that cables join, in
				* whatever way, and the tables do not */
	struct pm_error first; /* one line on the first fault, else empty */
};

/*
 * Follows every LID from every switch with end ports (or, with from_all, from
 * every switch). A fabric is right if lost, loops, turns, astray and deaf are 0.
 * -ENOMEM. Cost: O(switches x (ports + LIDs x path length)).
 */
int pm_check_paths(const struct pm_check *check, bool from_all,
		   struct pm_check_paths *result, struct pm_error *err);

/* Loads of the cables of one kind: from one level up, or down to it. */
struct pm_check_load {
	uint64_t links;	      /* directed, with both ends on a leaf's side of the cut */
	uint64_t flows;	      /* sum over them */
	uint64_t most, least; /* on one */
};

#define PM_CHECK_LEVELS 8

struct pm_check_loads {
	struct pm_check_load up[PM_CHECK_LEVELS];   /* [l] from level l to l + 1 */
	struct pm_check_load down[PM_CHECK_LEVELS]; /* [l] from level l + 1 to l */
	/* Over all leaves: how far apart the numbers of end ports' LIDs are that
	 * two up ports of one leaf serve. Ports without a cable do not count. */
	uint32_t uplink_spread;
	uint32_t uplink_least, uplink_most;
};

/*
 * All-to-all traffic of end ports: every end port with a LID sends one flow to
 * every end port's LID; loads per link between switches. -ENOMEM.
 */
int pm_check_loads(const struct pm_check *check, struct pm_check_loads *loads,
		   struct pm_error *err);

/*
 * Shift permutations: end port i sends to end port (i + k) mod n, for every k
 * from 1 to n - 1, or for `samples` values of k evenly spread if that is not 0.
 * End ports are numbered by switch (GUID) and port. *most is the largest number
 * of flows of one permutation on one directed link between switches. -ENOMEM.
 */
int pm_check_shifts(const struct pm_check *check, uint32_t samples, uint32_t *most,
		    struct pm_error *err);

#endif
