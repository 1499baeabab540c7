/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a loss would cost: a fabric is planned and routed, then something is
 * taken away, and the tables before and after are compared.
 */
#ifndef PORTMAJOR_WHATIF_H
#define PORTMAJOR_WHATIF_H

#include <portmajor/delta.h>

#define PM_WHATIF_LEVELS 8

/* Opaque: a fabric, its plan and its tables before the loss. */
struct pm_whatif;

struct pm_whatif_result {
	struct pm_delta level[PM_WHATIF_LEVELS]; /* by level of the switch */
	struct pm_delta total;			 /* blocks: LFT Sets that will be sent */
	uint64_t full_load;    /* blocks of whole tables of these switches */
	uint32_t switches;     /* that the subnet manager can still reach */
	uint32_t switches_cut; /* and cannot */
	uint64_t pairs_cut;    /* ordered pairs of end ports that had an
				* up-then-down path and have none now */
};

struct pm_whatif_config {
	struct pm_plan_config plan;
	/* Where the subnet manager is, its port (of a switch: port 0): its LIDs are
	 * reached by detours, see route.h. PM_NONE: anywhere, without detours. */
	uint32_t manager;
	bool connect_roots; /* likewise for all switches */
};

/*
 * The fabric is borrowed and must outlive the result, which the caller frees.
 * Errors as pm_plan_make.
 */
int pm_whatif_new(const struct pm_fabric *fabric, const struct pm_whatif_config *config,
		  struct pm_whatif **whatif, struct pm_error *err);
void pm_whatif_free(struct pm_whatif *whatif);

/* The plan, borrowed. */
const struct pm_plan *pm_whatif_plan(const struct pm_whatif *whatif);

/*
 * The cost of going from the whole fabric to `broken`, a clone of it with some
 * cables cut. If nothing is said of the subnet manager, it is taken to be in the part
 * with most end ports; the rest is not sent anything. -EINVAL: `broken` has what the
 * fabric has not.
 */
int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err);

#endif
