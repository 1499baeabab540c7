/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fat tree of Ethernet switches as VLANs (Miura et al., 2006): each VLAN is a tree
 * below one top switch, and a pair of hosts uses the VLAN of its host with the higher
 * priority, in both directions, so that switches learn.
 *
 *        top0       top1        VLAN 0: all cables of top0
 *        /  \\     //  \        VLAN 1: all cables of top1
 *     leaf0  leaf1 ..
 *
 * In a VLAN each switch below the top has one cable up, to a switch of the VLAN: the
 * cable with the fewest VLANs so far or, among several, with the fewest hosts on the
 * cables above it. VLANs are added until each cable of the tree is in one.
 *
 * All broadcasts use one VLAN. After a failure the switches' VLANs stay; only lines of
 * the hosts' table change.
 */
#ifndef PORTMAJOR_VLAN_H
#define PORTMAJOR_VLAN_H

#include <portmajor/fabric/tree.h>

#define PM_VLAN_MAX 4094	     /* highest number of a VLAN */
#define PM_VLAN_TOP (PM_NONE - 1)    /* in pm_vlans.up: this is the top switch */
#define PM_VLAN_PINNED (PM_NONE - 1) /* highest priority of a host */

/* VLANs have indexes from 0; their numbers on a wire begin with one of the caller's. */
struct pm_vlans {
	struct pm_pool pool;
	const struct pm_fabric *fabric; /* borrowed, sealed, with its hosts */
	const struct pm_tree *tree;	/* of it, borrowed */
	uint32_t num, needed;	 /* VLANs; VLANs needed for each cable to be in one */
	uint32_t cables, unused; /* cables between switches; of these: in no VLAN */
	uint32_t access; /* VLAN of hosts that send without tags: the one with the most
			    hosts */
	uint32_t *top;	 /* [vlan] switch */
	uint32_t *up;	 /* [vlan][switch] port up, PM_VLAN_TOP; PM_NONE: not in it */
	uint32_t num_hosts;
	uint32_t *hosts;   /* [host] its port (of the fabric), by switch and port */
	uint32_t *site;	   /* [host] switch */
	uint8_t *untagged; /* [host] whether it sends without tags, and so has the access
			      VLAN for all its pairs; may be set before assigning */
};

/* A host's line. */
struct pm_vlan_host {
	uint32_t vlan;
	uint32_t priority; /* from 1, all different; a pair uses the VLAN of the higher
			      one */
};

struct pm_vlan_table {
	struct pm_vlan_host *host; /* [host]; the caller's */
	uint32_t broadcast;	   /* VLAN */
};

/*
 * Makes the VLANs, or, if more than `limit` (1 to PM_VLAN_MAX) are needed, an even
 * selection of `limit`. The caller frees them, after an error too. -ENOENT: no hosts.
 * Cost: O(VLANs needed x ports).
 */
int pm_vlans_make(const struct pm_fabric *fabric, const struct pm_tree *tree,
		  uint32_t limit, struct pm_vlans *vlans, struct pm_error *err);
void pm_vlans_free(struct pm_vlans *vlans);

/* Whether a VLAN uses a switch's port to a switch. */
bool pm_vlans_tagged(const struct pm_vlans *vlans, uint32_t vlan, uint32_t port);

/*
 * Checks that each VLAN is a tree, by its tagged ports alone. -EINVAL, with a message
 * that names the top switch.
 */
int pm_vlans_check(const struct pm_vlans *vlans, struct pm_error *err);

/* Result of an assignment. */
struct pm_vlan_assignment {
	uint32_t moved;		    /* changed lines, including the broadcast's */
	uint32_t bound;		    /* lower bound of changed lines, for any table */
	uint64_t pairs;		    /* of present hosts */
	uint64_t unreachable;	    /* of these: in unconnected parts of their VLAN, .. */
	uint64_t cabled;	    /* .. and of those: connected by cables */
	uint32_t without_broadcast; /* present hosts out of reach of broadcasts */
	uint32_t spread; /* the largest difference in hosts between two cables up of a
			    switch: one with the switch's own hosts, and the emptiest one
			    with VLANs for these; 1 at most. A cable with only hosts of
			    lower switches may have any number more */
};

/*
 * Assigns hosts to VLANs: a leaf's hosts evenly to its cables, and these evenly to cables
 * above. Leaves that VLANs connect with the fewest other leaves come first and get the
 * highest priority: so they bind no other leaf's choice. cut[port] (NULL: none) is set at
 * both ends of failed cables, of hosts too. table->host has room for each host.
 * Cost: O(hosts x VLANs x levels + sites^2 x VLANs).
 */
void pm_vlans_assign(const struct pm_vlans *vlans, const uint8_t *cut,
		     struct pm_vlan_table *table, struct pm_vlan_assignment *assignment);

/*
 * Changes few lines of a table after a failure. For each pair that only another VLAN
 * still connects, the line of at least one of the two hosts has to change: to a VLAN that
 * connects the host with all hosts that any VLAN connects it with, and, if needed, to
 * another priority. The bound, for any table that connects all these pairs, is that of a
 * vertex cover of the pairs (half a largest matching of their double cover), and the
 * broadcast's line. If few changed lines leave more pairs unreachable than a new
 * assignment would, the new assignment is made. Cost: O(hosts^2) more than assigning, for
 * failures in many VLANs O(hosts^3 / 64), and, where a smallest cover is not enough, a
 * search of a second at most.
 */
void pm_vlans_fail(const struct pm_vlans *vlans, const uint8_t *cut,
		   struct pm_vlan_table *table, struct pm_vlan_assignment *assignment);

/*
 * The most MAC entries, (VLAN, MAC), in one switch if each host has talked with all
 * others and sent a broadcast. For a table of pm_vlans_assign. Cost: O(VLANs x switches
 * x (sites + hosts of a VLAN)).
 */
void pm_vlans_count_macs(const struct pm_vlans *vlans, const struct pm_vlan_table *table,
			 uint64_t *most, uint32_t *sw);

/*
 * Most flows on a cable in one direction; and if all pairs used the broadcast VLAN alone,
 * as with spanning tree.
 */
struct pm_vlan_loads {
	uint32_t most, tree;
};

/*
 * Computes the loads over shift permutations, host i to host (i + k) mod n, for `samples`
 * values of k, evenly spread, or for all if there are fewer. Unreachable pairs do not
 * count. Cost: O(values x hosts x levels).
 */
void pm_vlans_shifts(const struct pm_vlans *vlans, const uint8_t *cut,
		     const struct pm_vlan_table *table, uint32_t samples,
		     struct pm_vlan_loads *loads);

#endif
