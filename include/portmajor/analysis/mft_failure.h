/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a failure, or of the return of what failed, in multicast tables: compares
 * trees of groups before and after it, as whatif.h does with unicast tables. Trees are
 * made as in the plugin: by multicast.h, and by pm_multicast_span for groups that no
 * switch reaches downwards.
 */
#ifndef PORTMAJOR_MFT_FAILURE_H
#define PORTMAJOR_MFT_FAILURE_H

#include <portmajor/multicast/multicast.h>

struct pm_mft_failure {
	uint32_t trees;	      /* groups with a tree after it */
	uint32_t down_and_up; /* of these: no switch reaches all members downwards */
	uint32_t left_out;  /* remaining members in no tree, as they are not connected to
			       the group's larger part */
	uint32_t blocks;    /* changed (switch, block, position) */
	uint32_t sets;	    /* MFT Sets: some blocks take two */
	uint32_t ordered;   /* groups that may lose packets while Sets are sent .. */
	uint32_t longest;   /* .. for at most this number of Sets */
	uint64_t full_load; /* Sets of all blocks up to each switch's highest, as OpenSM
			       sends */
	struct pm_mfts *before, *after; /* all tables, owned */
};

/*
 * Compares the complete plan with `broken`, a fabric that lacks parts of it. sm is the
 * place (port of plan->topology) of the subnet manager, or PM_NONE: in the component with
 * the most end ports. Switches out of its reach get no Sets; members there, and members
 * with a failed port, leave their groups. The caller frees *result with
 * pm_mft_failure_free; untouched on failure. Errors as pm_multicast_route. Cost: that of
 * two pm_multicast_route and of pm_mft_steps_find.
 */
int pm_mft_failure_find(const struct pm_plan *plan, const struct pm_fabric *broken,
			uint32_t sm, const struct pm_group *groups, uint32_t num,
			struct pm_mft_failure *result, struct pm_error *err);

/*
 * The same for the return of all that `broken` lacks: members there join again. Switches
 * out of reach before have their tables of before the failure, or none if reset[switch].
 */
int pm_mft_failure_undo(const struct pm_plan *plan, const struct pm_fabric *broken,
			uint32_t sm, const uint8_t *reset, const struct pm_group *groups,
			uint32_t num, struct pm_mft_failure *result,
			struct pm_error *err);
void pm_mft_failure_free(struct pm_mft_failure *failure);

#endif
