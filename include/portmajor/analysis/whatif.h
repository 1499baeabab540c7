/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a loss would cost: a fabric is planned and routed, then something is
 * taken away, and the tables before and after are compared.
 */
#ifndef PORTMAJOR_WHATIF_H
#define PORTMAJOR_WHATIF_H

#include <portmajor/plan/reachable.h>
#include <portmajor/route/delta.h>

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
	uint64_t load;	       /* with `loads`: most flows on one link between switches,
				* each way by itself, if every end port sends one to each;
				* links with other rates than most count as
				* pm_link_weigh has it */
	uint32_t shift;	       /* with `shifts`: the same if they send by one shift
				* permutation, the worst of those tried */
	/*
	 * Of what the subnet manager can still reach. Unless it is enough, the engine
	 * gives way, and what is sent is the next one's.
	 */
	struct pm_reachable reachable;
};

struct pm_whatif_config {
	struct pm_plan_config plan;
	/* Where the subnet manager is, its port (of a switch: port 0): its LIDs are
	 * reached by detours, see route.h. PM_NONE: anywhere, without detours. */
	uint32_t sm;
	bool connect_roots; /* likewise for all switches */
	bool loads;	    /* find out loads, see pm_check_loads: O(entries) once and 2
			     * bytes for each, then as pm_flows_update */
	uint32_t shifts;    /* 0: no; else how many shift permutations to try, evenly
			     * spread; O(end ports) each */
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
 * The whole fabric as a result: nothing changes, nothing is cut off; loads and shifts as
 * they are before a loss. Borrowed.
 */
const struct pm_whatif_result *pm_whatif_before(const struct pm_whatif *whatif);

/*
 * The cost of losing the cables at these ports of the fabric, all at once; ports without
 * a cable and the same cable twice do no harm. If nothing is said of the subnet manager,
 * it is taken to be in the part with most end ports; the rest is not sent anything.
 * -ENOMEM.
 * Cost: that of what changes (pm_routes_fail). Where a loss cuts off an end port or a
 * switch, or a pair of them, also O(ports + switches^2 / 64). One pm_whatif serves one
 * thread at a time.
 */
int pm_whatif_fail(struct pm_whatif *whatif, const uint32_t *ports, uint32_t num_ports,
		   struct pm_whatif_result *result, struct pm_error *err);

/* The end nodes that no cables join to the subnet manager's part since the last loss,
 * those that were lost among them; in the order of the fabric. Borrowed until the next
 * loss. */
const uint32_t *pm_whatif_cut_off(const struct pm_whatif *whatif, uint32_t *num);

/*
 * The cost of going from the whole fabric to `broken`, a clone of it with some
 * cables cut; otherwise as above. -EINVAL: `broken` has what the fabric has not, or is
 * no clone of it.
 */
int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err);

#endif
