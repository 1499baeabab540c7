/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of VLANs after a failure: switches that a VLAN still connects. */
#ifndef VLAN_VLAN_PARTS_H
#define VLAN_VLAN_PARTS_H

#include <portmajor/vlan/vlan.h>

struct parts {
	const struct pm_vlans *vlans;
	uint32_t num_switches;
	uint32_t *part;	  /* [vlan][switch] the highest switch of its part of the tree;
			     PM_NONE: not in this VLAN */
	uint32_t *count;  /* [vlan][highest switch] remaining sites in the part */
	uint32_t *live;	  /* [switch] present hosts that send tags; above 0: it is a site,
			     which others have to reach */
	uint8_t *gone;	  /* [host] its link has failed */
	uint32_t *island; /* [switch] index of its component, connected by any links */
	uint32_t num_live; /* hosts */
};

/* Begins with all sites remaining; arrays are in the pool. */
void parts_make(const struct pm_vlans *vlans, const uint8_t *cut, struct pm_pool *pool,
		struct parts *parts);

/* The part of a VLAN that a switch is in. */
static inline uint32_t parts_of(const struct parts *p, uint32_t vlan, uint32_t sw)
{
	return p->part[(size_t)vlan * p->num_switches + sw];
}

/* The number of remaining sites that a VLAN connects with this one, including itself. */
static inline uint32_t parts_reach(const struct parts *p, uint32_t vlan, uint32_t sw)
{
	uint32_t part = parts_of(p, vlan, sw);

	return part == PM_NONE ? 0 : p->count[(size_t)vlan * p->num_switches + part];
}

/* Whether a VLAN connects two switches. */
static inline bool parts_join(const struct parts *p, uint32_t vlan, uint32_t a,
			      uint32_t b)
{
	uint32_t part = parts_of(p, vlan, a);

	return part != PM_NONE && part == parts_of(p, vlan, b);
}

/* The most remaining sites that a VLAN connects with a switch, over all VLANs. */
uint32_t parts_best(const struct parts *p, uint32_t sw);

/* Removes a site from the remaining ones. */
void parts_drop(struct parts *p, uint32_t sw);

/* The VLAN of a pair of hosts. */
static inline uint32_t pair_vlan(const struct pm_vlan_host *host, uint32_t a, uint32_t b)
{
	return host[host[a].priority > host[b].priority ? a : b].vlan;
}

#endif
