/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Missing parts: those of the plan that discovery does not find. A plan has all parts
 * ever discovered, so a dead leaf is missing even though no path and no table needs it.
 *
 * A part is a switch, a link between two present switches, or a host at a present switch.
 * A switch is missing when none of its ports is discovered. Its links and hosts count
 * with it; a link between two missing switches counts with the first. Missing switches
 * that have links to other missing ones alone are behind these: they may be whole. Hosts'
 * links are not counted, as each is a host's that is counted; those of service ports are.
 * A switch that has no links and hosts in the plan any more, as its links lead elsewhere
 * now, is never missing. Nor is a slot that was always empty.
 */
#ifndef PORTMAJOR_MISSING_H
#define PORTMAJOR_MISSING_H

#include <portmajor/fabric/fabric.h>

struct pm_missing_part {
	uint32_t port;	/* of the skeleton: a switch's port 0, the first end of a link, or
			   a host's slot */
	uint32_t hosts; /* missing with it, as in pm_fabric_count_hosts */
	uint32_t links; /* likewise, but for hosts' links */
	bool behind;
};

struct pm_missing {
	struct pm_missing_part *parts; /* switches, links and hosts, switches behind
					  others; each by port */
	uint32_t num;
	uint32_t switches, hosts, links; /* in all parts */
};

/*
 * Compares a skeleton (plan->topology) with discovered[port], from pm_plan_match. The
 * caller frees *missing with pm_missing_free; untouched on failure. -ENOMEM. O(ports).
 */
int pm_missing_find(const struct pm_fabric *topology, const uint8_t *discovered,
		    struct pm_missing *missing, struct pm_error *err);
void pm_missing_free(struct pm_missing *missing);

#endif
