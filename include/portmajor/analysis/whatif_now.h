/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a failure in a fabric as it is: parts are missing, links are on hold or
 * drained, LIDs are those in use. whatif.h is for a complete fabric and many failures.
 */
#ifndef PORTMAJOR_WHATIF_NOW_H
#define PORTMAJOR_WHATIF_NOW_H

#include <portmajor/analysis/whatif.h>

/* All is borrowed. */
struct pm_whatif_now {
	const struct pm_plan *plan;	/* in force */
	const struct pm_fabric *fabric; /* the present parts */
	const uint8_t *there; /* [port of plan->topology] these, and end ports */
	uint32_t sm;	      /* port of the fabric, as in pm_whatif_config */
	bool connect_roots;
	bool loads;
	/*
	 * Writes usable[port of plan->topology]: the links in use if there[] are there,
	 * without excluded ones. 0 or -ENOMEM.
	 */
	int (*use)(void *context, const uint8_t *there, uint8_t *usable,
		   struct pm_error *err);
	void *context;
};

/*
 * Clears there[port of the plan's topology] at both ends of the links at these ports of
 * the fabric.
 */
void pm_whatif_now_fail(const struct pm_plan *plan, const struct pm_fabric *fabric,
			const uint32_t *ports, uint32_t num, uint8_t *there);

/*
 * Compares the tables before and after the links at these ports of the fabric fail
 * together; repeated links are ignored. Shifts are 0, and loads without `loads`.
 * cut_off[node of the fabric] is 1 for end nodes that the subnet manager no longer
 * reaches, failed ones included. -ENOMEM. Cost: twice that of all tables and, with
 * `loads`, of following all flows.
 */
int pm_whatif_now(const struct pm_whatif_now *now, const uint32_t *ports,
		  uint32_t num_ports, struct pm_whatif_result *before,
		  struct pm_whatif_result *after, uint8_t *cut_off, struct pm_error *err);

#endif
