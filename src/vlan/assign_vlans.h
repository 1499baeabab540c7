/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dealing hosts to VLANs: what it works with, for all of them and for a few. */
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
	uint32_t *number; /* [switch] its place in that */
	uint32_t *reach;  /* [switch] sites that VLANs join it with, of all VLANs */
	uint32_t num_sites, words; /* of 64 sites each */
	uint32_t *by_priority;	   /* hosts as they were, the highest one first */
	uint64_t
		*connected; /* [site][word] sites that some VLAN joins it with, as bits */
	/* Of a run. */
	uint64_t *remain; /* [word] sites with hosts that were not taken yet, as bits */
	uint32_t *count;  /* of parts before anything was taken */
	uint32_t *left;	  /* [switch] hosts there that were not taken */
	uint32_t *fixed;  /* hosts with lines that stay, by priority, .. */
	uint32_t num_fixed, taken; /* .. and how many of these were taken */
	uint32_t *order;	   /* hosts that move, as they were taken, .. */
	uint32_t *above;	   /* .. and how many of fixed[] before */
	uint32_t num_moved;
	uint32_t *load;	    /* [port] up: hosts assigned to it */
	uint32_t *assigned; /* [vlan] hosts */
	uint32_t *fit;	    /* VLANs that will do, of one switch */
	uint32_t *list;	    /* switches with hosts that move and were not taken */
	uint32_t stuck;	    /* hosts taken that do not meet all */
	uint32_t blocked;   /* of fixed[]: taken when that came for the first time */
	uint32_t spread;
};

/* No host moves. The caller frees the pool, also after -ENOMEM. */
int assigner_begin(struct assigner *d, const struct pm_vlans *v, const uint8_t *cut,
		   struct pm_vlan_host *host, struct pm_error *err);

/* Whether some VLAN joins two switches with hosts. */
bool assigner_can_join(const struct assigner *d, uint32_t a, uint32_t b);

/*
 * Gives those of moves[] VLANs and places among the others by priority; `stuck` is 0 if
 * all pairs meet that a VLAN joins. It may be run again with others; host[] has to be as
 * it was then.
 */
void assigner_run(struct assigner *d);

/* Writes the priorities for these places; false: there are not enough somewhere. */
bool assigner_rank(struct assigner *d);

/* The VLAN in which most hear a broadcast; the one before, if it is one of these. */
int assigner_broadcast(struct assigner *d, uint32_t *vlan, uint32_t *unheard,
		       struct pm_error *err);

/* Deals all of them; *broadcast was theirs before. -ENOMEM. */
int assigner_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		  struct pm_vlan_table *table, struct pm_vlan_assignment *assignment,
		  struct pm_error *err);

/* Counts pairs, and those that are apart. */
void assigner_count_unreachable(const struct parts *p, const struct pm_vlan_host *host,
				struct pm_vlan_assignment *assignment);

#endif
