/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Assigns hosts to VLANs: all of them, or those that have to move after a failure. */
#ifndef VLAN_ASSIGN_VLANS_H
#define VLAN_ASSIGN_VLANS_H

#include "vlan_parts.h"

#define ASSIGNER_STEP 1000 /* between priorities, for hosts that come between later */

struct assigner {
	struct pm_pool pool;
	struct parts parts;
	const struct pm_vlans *vlans;
	struct pm_vlan_host *host; /* [host] lines, the caller's */
	uint8_t *moves;		   /* [host] its line has to be written */
	uint32_t *first; /* [switch] its first host; a switch's hosts follow each other */
	uint32_t *sites; /* switches with hosts, in the order of trying */
	uint32_t *index; /* [switch] its index in sites */
	uint32_t *reach; /* [switch] number of sites that any VLAN connects it with */
	uint32_t num_sites, words; /* of 64 sites each */
	uint32_t *by_priority;	   /* hosts by former priority, the highest first */
	uint64_t *connected;	   /* [site][word] the same sites, as bits */
	/* For one assignment. */
	uint64_t *remain;	   /* [word] sites with unassigned hosts, as bits */
	uint32_t *count;	   /* parts.count at the beginning */
	uint32_t *left;		   /* [switch] unassigned hosts there */
	uint32_t *fixed;	   /* hosts with lines that stay, by priority .. */
	uint32_t num_fixed, taken; /* .. and the number of these taken so far */
	uint32_t *order;	   /* hosts that move, in the order of taking .. */
	uint32_t *above;	   /* .. and the number of fixed[] taken before each */
	uint32_t num_moved;
	uint32_t *load;	    /* [port] up: hosts assigned to it */
	uint32_t *assigned; /* [vlan] hosts */
	uint32_t *fit;	    /* suitable VLANs of one switch */
	uint32_t *list;	    /* switches with unassigned hosts that move */
	uint32_t stuck;	    /* assigned hosts that do not reach all others */
	uint32_t blocked;   /* number of fixed[] taken when `stuck` was first set */
	uint32_t spread;
};

/* Begins with no host to move. The caller frees the pool. */
void assigner_begin(struct assigner *d, const struct pm_vlans *v, const uint8_t *cut,
		    struct pm_vlan_host *host);

/* Whether any VLAN connects two switches with hosts. */
bool assigner_can_join(const struct assigner *d, uint32_t a, uint32_t b);

/*
 * Assigns VLANs to the hosts in moves[], and their gaps between the priorities of the
 * others. `stuck` is 0 if all pairs are connected that a VLAN can connect. It may be
 * called again with other moves[], if host[] is as before.
 */
void assigner_run(struct assigner *d);

/* Writes the priorities in this order; false: a gap has too few. */
bool assigner_set_priorities(struct assigner *d);

/*
 * Finds the VLAN in which a broadcast reaches the most hosts; the previous one, if it is
 * as good.
 */
void assigner_broadcast(struct assigner *d, uint32_t *vlan, uint32_t *without_broadcast);

/* Assigns all hosts; table->broadcast is the VLAN of broadcasts, before and after. */
void assigner_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		   struct pm_vlan_table *table, struct pm_vlan_assignment *assignment);

/* Counts pairs, and the unreachable ones. */
void assigner_count_unreachable(const struct parts *p, const struct pm_vlan_host *host,
				struct pm_vlan_assignment *assignment);

#endif
