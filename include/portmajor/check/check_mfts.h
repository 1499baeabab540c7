/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks multicast tables by following packets, as check.h does with unicast tables. A
 * switch relays a packet to all ports of its mask but the one by which it came:
 *
 *	h0 -> leaf0 {h0, up}   -> spine {leaf0, leaf1} -> leaf1 {h1, h2, up} -> h1, h2
 *
 * Each member must get one copy of each other member's packets, and no other port any.
 */
#ifndef PORTMAJOR_CHECK_MFTS_H
#define PORTMAJOR_CHECK_MFTS_H

#include <portmajor/multicast/multicast.h>

enum pm_mft_fault {
	PM_MFT_LOOP,	 /* groups with packets that return to a link */
	PM_MFT_TWICE,	 /* (sending switch, switch): a second copy comes to the switch */
	PM_MFT_MISSED,	 /* (member, other member): no copy arrives */
	PM_MFT_STRANGER, /* (MLID, end port or switch's port 0): in a mask, but no member
			  */
	PM_MFT_NOWHERE,	 /* (MLID, port): in a mask, and leads to no node, or to a switch
			    with an empty mask */
	PM_MFT_FAULTS
};

struct pm_check_mfts {
	uint32_t groups;    /* with two members or more, and an MLID of their own */
	uint64_t members;   /* of these */
	uint64_t pairs;	    /* (member, other member) of a group */
	uint64_t delivered; /* of these: one copy arrives, or more */
	uint64_t unused;    /* (MLID, switch) with a mask, for MLIDs with fewer than two
			       members */
	uint64_t count[PM_MFT_FAULTS];
	struct pm_error example[PM_MFT_FAULTS]; /* the first fault; empty: none */
};

/*
 * Follows packets from all members, by the tables of the fabric's switches; unknown
 * tables count as in pm_mfts_mask. groups[num] are sorted by MLID, each once; members are
 * end ports of the fabric and port 0 of its switches. NULL: members are the end ports and
 * ports 0 in a mask of the MLID, and no port is a stranger. -ENOMEM. Cost: O(MLIDs x
 * switches), and for a group switches with members x switches of its tree.
 */
int pm_check_mfts(const struct pm_fabric *fabric, const struct pm_mfts *mfts,
		  const struct pm_group *groups, uint32_t num,
		  struct pm_check_mfts *result, struct pm_error *err);

#endif
