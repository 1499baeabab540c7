/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Assigns hosts to VLANs: all of them, or those that have to move after a failure. */
#ifndef VLAN_ASSIGN_VLANS_H
#define VLAN_ASSIGN_VLANS_H

#include "vlan_parts.h"

#define ASSIGNER_GAP 1000 /* between priorities: others find places there later */

struct assigner {
	struct pm_pool pool;
	struct parts parts;
	const struct pm_vlans *vlans;
	struct pm_vlan_host *host; /* [host] lines, the caller's */
	uint8_t *moves;		   /* [host] its line is to be written */
	uint32_t *first;  /* [switch] its first host; those of one follow each other */
	uint32_t *sites;  /* with hosts, in the order in which they are tried */
	uint32_t *number; /* [switch] its index in sites */
	uint32_t *reach;  /* [switch] sites that any VLAN connects it with */
	uint32_t num_sites, words; /* of 64 sites each */
	uint32_t *by_priority;	   /* hosts as they were, the highest one first */
	uint64_t *connected; /* [site][word] sites that some VLAN connects it with, as
				bits */
	/* Of a run. */
	uint64_t *remain;	   /* [word] sites with unassigned hosts, as bits */
	uint32_t *count;	   /* of parts at the beginning */
	uint32_t *left;		   /* [switch] unassigned hosts there */
	uint32_t *fixed;	   /* hosts with lines that stay, by priority, .. */
	uint32_t num_fixed, taken; /* .. and how many of these were taken */
	uint32_t *order;	   /* hosts that move, as they were taken, .. */
	uint32_t *above;	   /* .. and how many of fixed[] before */
	uint32_t num_moved;
	uint32_t *load;	    /* [port] up: hosts assigned to it */
	uint32_t *assigned; /* [vlan] hosts */
	uint32_t *fit;	    /* suitable VLANs of one switch */
	uint32_t *list;	    /* switches with unassigned hosts that move */
	uint32_t stuck;	    /* assigned hosts that do not reach all others */
	uint32_t blocked;   /* of fixed[]: taken when that came for the first time */
	uint32_t spread;
};

/* No host moves. The caller frees the pool, also after -ENOMEM. */
int assigner_begin(struct assigner *d, const struct pm_vlans *v, const uint8_t *cut,
		   struct pm_vlan_host *host, struct pm_error *err);

/* Whether some VLAN connects two switches with hosts. */
bool assigner_can_join(const struct assigner *d, uint32_t a, uint32_t b);

/*
 * Gives the hosts of moves[] VLANs, and priorities among the others. `stuck` is 0 if all
 * pairs are connected that a VLAN can connect. It may be run again with other moves[];
 * host[] must be as before then.
 */
void assigner_run(struct assigner *d);

/* Writes the priorities in this order; false: a gap has too few of them. */
bool assigner_rank(struct assigner *d);

/* The VLAN in which a broadcast reaches most hosts; the previous one if it is one of
 * them. */
int assigner_broadcast(struct assigner *d, uint32_t *vlan, uint32_t *unheard,
		       struct pm_error *err);

/* Assigns all hosts; *broadcast: the VLAN of broadcasts before and after. -ENOMEM. */
int assigner_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		  struct pm_vlan_table *table, struct pm_vlan_assignment *assignment,
		  struct pm_error *err);

/* Counts pairs, and the unreachable ones. */
void assigner_count_unreachable(const struct parts *p, const struct pm_vlan_host *host,
				struct pm_vlan_assignment *assignment);

#endif
