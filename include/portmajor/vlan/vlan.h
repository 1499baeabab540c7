/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fat tree of Ethernet switches as VLANs (Miura et al., 2006): each VLAN is a tree of
 * its own, below one top switch, and a pair of hosts uses the VLAN of that host of both
 * which has the higher priority. So both ways use one VLAN, in which switches learn.
 *
 *        top0       top1        VLAN 0: all cables of top0
 *        /  \\     //  \        VLAN 1: all cables of top1
 *     leaf0  leaf1 ..
 *
 * Each switch below the top has one cable up in a VLAN: of those that lead to a switch
 * which is in it, that with the fewest VLANs so far. VLANs are added until each cable of
 * the tree is in one; so parallel cables have one each.
 *
 * Broadcasts all go in one VLAN. A loss takes cables out of VLANs, and puts none in:
 * switches stay as they are, and other lines of the hosts' table do the rest.
 */
#ifndef PORTMAJOR_VLAN_H
#define PORTMAJOR_VLAN_H

#include <portmajor/fabric/tree.h>

#define PM_VLAN_MAX 4094	     /* highest number of a VLAN */
#define PM_VLAN_TOP (PM_NONE - 1)    /* in pm_vlans.up: this is the top switch */
#define PM_VLAN_PINNED (PM_NONE - 1) /* highest priority that a host has */

/* VLANs are counted from 0 here; on a wire from a number that the caller chooses. */
struct pm_vlans {
	struct pm_pool pool;
	const struct pm_fabric *fabric; /* borrowed, sealed, with its hosts */
	const struct pm_tree *tree;	/* of it, borrowed */
	uint32_t num, needed;		/* VLANs; so that each cable is in one */
	uint32_t cables, unused;	/* up, between switches; of these: in no VLAN */
	uint32_t access; /* VLAN of hosts that send without tags: most hosts are in it */
	uint32_t *top;	 /* [vlan] switch */
	uint32_t *up;	 /* [vlan][switch] port up, PM_VLAN_TOP; PM_NONE: not in it */
	uint32_t num_hosts;
	uint32_t *hosts;   /* [host] its port (of the fabric), by switch and port */
	uint32_t *site;	   /* [host] switch */
	uint8_t *untagged; /* [host] sends without tags; the caller may set it before
			    * assigning. It has the access VLAN for all its pairs */
};

/* A host's line. */
struct pm_vlan_host {
	uint32_t vlan;
	uint32_t priority; /* from 1, no two alike: the higher one of a pair decides */
};

struct pm_vlan_table {
	struct pm_vlan_host *host; /* [host]; the caller's */
	uint32_t broadcast;	   /* VLAN */
};

/*
 * Makes VLANs, at most `limit` (1 to PM_VLAN_MAX): if more are needed, as many, evenly
 * out of those. The caller frees them; both may be freed after an error too. -ENOENT: no
 * hosts; -ENOMEM. Cost: O(VLANs needed x ports).
 */
int pm_vlans_make(const struct pm_fabric *fabric, const struct pm_tree *tree,
		  uint32_t limit, struct pm_vlans *vlans, struct pm_error *err);
void pm_vlans_free(struct pm_vlans *vlans);

/* Whether frames of a VLAN go through a port, of a switch to a switch. */
bool pm_vlans_tagged(const struct pm_vlans *vlans, uint32_t vlan, uint32_t port);

/*
 * Whether each VLAN is a tree, by its tagged ports alone. -EINVAL, with a message that
 * names the top switch; -ENOMEM.
 */
int pm_vlans_check(const struct pm_vlans *vlans, struct pm_error *err);

/* What came of assigning. */
struct pm_vlan_assignment {
	uint32_t moved; /* lines that differ from those before, with the broadcast's */
	uint32_t bound; /* lines that no table could leave as they are */
	uint64_t pairs; /* of hosts that are there */
	uint64_t unreachable; /* of these: in different parts of the VLAN that they use,
				 .. */
	uint64_t cabled;      /* .. and of those: joined by cables, in whatever way */
	uint32_t unheard;     /* hosts that are there and that broadcasts do not reach */
	uint32_t spread; /* how far apart numbers of hosts assigned to the cables of a
			  * leaf  are that lead to VLANs which it could be given */
};

/*
 * Deals hosts to VLANs: those of a leaf evenly to its cables, and these evenly to cables
 * above. Leaves that VLANs join with the fewest come first and have the highest priority:
 * others need not keep to what these reach. cut[port] (NULL: none) is set at both ends of
 * cables that are lost, of hosts too. table->host has room for each host. -ENOMEM.
 * Cost: O(hosts x VLANs x levels + sites^2 x VLANs).
 */
int pm_vlans_assign(const struct pm_vlans *vlans, const uint8_t *cut,
		    struct pm_vlan_table *table, struct pm_vlan_assignment *assignment,
		    struct pm_error *err);

/*
 * Changes a table for a loss, in few lines. Of each pair that its VLAN does not join any
 * more, though some VLAN does, at least one line has to change: those that do get VLANs
 * that join whom some VLAN joins them with and, where their own priority is not enough
 * for that, another place among the others. The bound is that of a vertex cover of these
 * pairs (half a largest matching of their double cover), and the broadcast's line; it
 * counts lines of any table with which all these pairs meet. If moving few leaves pairs
 * apart and assigning anew leaves fewer, that is done. -ENOMEM; the table is void then.
 * Cost: O(hosts^2) more than assigning, for losses of many VLANs O(hosts^3 / 64), and
 * where a smallest cover is not enough a search of a second at most.
 */
int pm_vlans_lose(const struct pm_vlans *vlans, const uint8_t *cut,
		  struct pm_vlan_table *table, struct pm_vlan_assignment *assignment,
		  struct pm_error *err);

/*
 * The most MAC entries in one switch if all hosts talk with all others and all have sent
 * a broadcast: (VLAN, MAC) each counts. For a table as pm_vlans_assign makes it. -ENOMEM.
 * Cost: O(VLANs x switches x (sites + hosts of a VLAN)).
 */
int pm_vlans_count_macs(const struct pm_vlans *vlans, const struct pm_vlan_table *table,
			uint64_t *most, uint32_t *sw, struct pm_error *err);

/* Flows on the fullest cable, one way, and what they would be in the broadcast VLAN
 * alone, as with spanning tree. */
struct pm_vlan_loads {
	uint32_t most, tree;
};

/*
 * Of shift permutations, host i to host (i + k) mod n: of `samples` values of k, evenly
 * spread, or of all. Pairs that are apart do not count. -ENOMEM.
 * Cost: O(values x hosts x levels).
 */
int pm_vlans_shifts(const struct pm_vlans *vlans, const uint8_t *cut,
		    const struct pm_vlan_table *table, uint32_t samples,
		    struct pm_vlan_loads *loads, struct pm_error *err);

#endif
