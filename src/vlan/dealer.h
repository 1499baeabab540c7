/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dealing hosts to VLANs: what it works with, for all of them and for a few. */
#ifndef VLAN_DEALER_H
#define VLAN_DEALER_H

#include "parts.h"

struct dealer {
	struct pm_pool pool;
	struct parts parts;
	const struct pm_vlans *vlans;
	struct pm_vlan_host *host; /* [host] lines, the caller's */
	uint8_t *moves;		   /* [host] its line is to be written */
	uint32_t *stay;	 /* [switch] hosts there that are and whose lines stay */
	uint32_t *first; /* [switch] its first host; those of one follow each other */
	uint32_t *sites; /* with hosts, in the order in which they are tried */
	uint32_t *reach; /* [switch] sites that VLANs join it with, of all VLANs */
	uint32_t num_sites;
	uint32_t *load;	 /* [port] up: hosts dealt to it */
	uint32_t *dealt; /* [vlan] hosts */
	uint32_t *fit;	 /* VLANs that will do, of one switch */
	uint32_t next;	 /* priority to be given */
	uint32_t spread;
};

/* Nobody moves. The pool is for the caller to free, also after -ENOMEM. */
int dealer_begin(struct dealer *d, const struct pm_vlans *v, const uint8_t *cut,
		 struct pm_vlan_host *host, struct pm_error *err);

/* Counts a host's line, as it is, for the cables of its VLAN. */
void dealer_count(struct dealer *d, uint32_t h);

/* Writes lines of moves[], the first with this priority, the others below it. -ENOMEM. */
int dealer_run(struct dealer *d, uint32_t priority, struct pm_error *err);

/* The VLAN in which most hear a broadcast; the one before, if it is one of these. */
int dealer_broadcast(struct dealer *d, uint32_t *vlan, uint32_t *unheard,
		     struct pm_error *err);

/* Deals all of them; *broadcast was theirs before. */
int dealer_anew(const struct pm_vlans *vlans, const uint8_t *cut,
		struct pm_vlan_table *table, struct pm_vlan_deal *deal,
		struct pm_error *err);

/* Counts pairs, and those that are apart. */
void dealer_count_apart(const struct parts *p, const struct pm_vlan_host *host,
			struct pm_vlan_deal *deal);

#endif
