/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a failure would cost in multicast tables: trees of some groups before and after it
 * are compared, as whatif.h does with unicast tables. Trees are the plugin's: those of
 * multicast.h, and pm_multicast_span's for groups that no switch reaches downwards.
 */
#ifndef PORTMAJOR_MFT_FAILURE_H
#define PORTMAJOR_MFT_FAILURE_H

#include <portmajor/multicast/multicast.h>

struct pm_mft_failure {
	uint32_t trees;	      /* groups with a tree after the failure */
	uint32_t down_and_up; /* of these: no switch reaches all members downwards */
	uint32_t left_out;    /* members that are left and in no tree: others of the group
			       * are more, and joined to each other only */
	uint32_t blocks;      /* blocks and positions of switches that change */
	uint32_t sets;	      /* MFT Sets: some blocks take two */
	uint32_t ordered;   /* groups whose packets may be lost while Sets are sent .. */
	uint32_t longest;   /* .. for so many Sets at most */
	uint64_t full_load; /* Sets of all blocks up to each switch's highest, as OpenSM
			     * sends them */
	struct pm_mfts *before, *after; /* all tables, owned */
};

/*
 * Compares the whole plan with `broken`, a fabric that lacks parts of it. sm is the place
 * (port of plan->known) of the subnet manager, or PM_NONE: in the part of the fabric with
 * the most end ports. Switches that it cannot reach get no Sets and members there leave
 * their groups, as do those whose port has failed. *result is for pm_mft_failure_free,
 * and untouched on failure; errors as pm_multicast_route. Cost: two of these, and that of
 * pm_mft_steps_find.
 */
int pm_mft_failure_find(const struct pm_plan *plan, const struct pm_fabric *broken,
			uint32_t sm, const struct pm_group *groups, uint32_t num,
			struct pm_mft_failure *result, struct pm_error *err);
void pm_mft_failure_free(struct pm_mft_failure *failure);

#endif
