/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a failure: plans and routes a fabric, removes parts, and compares the
 * tables before and after.
 */
#ifndef PORTMAJOR_WHATIF_H
#define PORTMAJOR_WHATIF_H

#include <portmajor/plan/reachable.h>
#include <portmajor/route/delta.h>

#define PM_WHATIF_LEVELS 8

/* Opaque: a fabric, its plan and its tables before the failure. */
struct pm_whatif;

struct pm_whatif_result {
	struct pm_delta level[PM_WHATIF_LEVELS]; /* by level of the switch */
	struct pm_delta total;			 /* blocks: LFT Sets to send */
	/*
	 * Of these blocks: the number in early repair's order up to and including the
	 * last one that restores a path between hosts, see pm_order_restoring.
	 */
	uint32_t restoring;
	uint64_t full_load;    /* blocks of whole tables of these switches */
	uint32_t switches;     /* within the subnet manager's reach */
	uint32_t switches_cut; /* out of its reach */
	/*
	 * Ordered pairs of end ports that the tables joined before, and no longer do,
	 * with paths up and then down or to all end ports of a switch over others.
	 */
	uint64_t pairs_cut;
	uint64_t load;	/* with `loads`: most flows in one direction of a link between
			   switches when every end port sends one to each other, scaled by
			   pm_link_weigh */
	uint32_t shift; /* with `shifts`: the same for the worst shift permutation */
	/*
	 * Within the subnet manager's reach. Unless pm_reachable_enough, the plugin fails
	 * over: it sends the next engine's tables.
	 */
	struct pm_reachable reachable;
};

struct pm_whatif_config {
	struct pm_plan_config plan;
	/*
	 * The subnet manager's port (of a switch: port 0): detours lead to its LIDs, see
	 * route.h. PM_NONE: no detours.
	 */
	uint32_t sm;
	bool connect_roots; /* detours to all switches, too */
	bool loads; /* compute loads, see pm_check_loads: O(entries) once and 2 bytes for
		     * each, then as pm_flows_update */
	uint32_t shifts; /* number of shift permutations to try, evenly spread; 0: none;
			  * O(end ports) each */
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
 * The result for the complete fabric: no changes; loads and shifts without a failure.
 * Borrowed.
 */
const struct pm_whatif_result *pm_whatif_before(const struct pm_whatif *whatif);

/*
 * The cost when the links at these ports of the fabric fail together; ports without a
 * link, and repeated links, are ignored. Without config.sm the subnet manager is in the
 * component with the most end ports; switches elsewhere get no Sets. -ENOMEM. Cost: that
 * of the changes (pm_routes_fail); if an end port, a switch or a pair of them is cut off,
 * also O(ports + switches^2 / 64). For one thread at a time.
 */
int pm_whatif_fail(struct pm_whatif *whatif, const uint32_t *ports, uint32_t num_ports,
		   struct pm_whatif_result *result, struct pm_error *err);

/*
 * The end nodes not connected to the subnet manager's component after the last failure,
 * failed ones included, in the order of the fabric. Borrowed until the next failure.
 */
const uint32_t *pm_whatif_cut_off(const struct pm_whatif *whatif, uint32_t *num);

/*
 * The same for the links that `broken`, a clone of the fabric, lacks. -EINVAL: `broken`
 * has other parts, or is no clone.
 */
int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err);

/*
 * Writes reached[switch]: whether the subnet manager knows it and its tables after the
 * last failure. False if that took the subnet manager's own link: then nothing is dropped
 * before the manager's next sweep, and reached[] is as before the failure.
 */
bool pm_whatif_reached(const struct pm_whatif *whatif, uint8_t *reached);

#endif
