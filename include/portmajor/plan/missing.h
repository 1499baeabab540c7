/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Missing parts: what a plan knows and discovery does not find. A plan knows all that was
 * ever there, so that a dead leaf is missing although no path and no table lacks
 * anything.
 *
 * A part is a switch, a link between two switches that are there, or a host at a switch
 * that is there. A switch is missing when none of its ports is seen; its links and hosts
 * are counted with it, and a link between two missing switches with the first of them. A
 * switch that the plan knows no link or host of, as its cables lead elsewhere now, is
 * never missing, nor is a slot that was always empty.
 */
#ifndef PORTMAJOR_MISSING_H
#define PORTMAJOR_MISSING_H

#include <portmajor/fabric/fabric.h>

struct pm_missing_part {
	uint32_t port;	/* of the skeleton: port 0 of a switch; the end of a link that
			 * comes first; or the slot of a host */
	uint32_t hosts; /* that are missing with it, as pm_fabric_count_hosts has them */
	uint32_t links; /* likewise, with those of hosts */
};

struct pm_missing {
	struct pm_missing_part *parts; /* switches, then links and hosts, by port */
	uint32_t num;
	uint32_t switches, hosts, links; /* in all parts */
};

/*
 * Compares a skeleton (plan->known) with seen[port], as pm_plan_match has it. The caller
 * frees *missing with pm_missing_free; untouched on failure. -ENOMEM. O(ports).
 */
int pm_missing_find(const struct pm_fabric *known, const uint8_t *seen,
		    struct pm_missing *missing, struct pm_error *err);
void pm_missing_free(struct pm_missing *missing);

#endif
