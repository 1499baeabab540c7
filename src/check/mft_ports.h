/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports that a switch relays a multicast packet to; for the files of this folder. */
#ifndef PORTMAJOR_CHECK_MFT_PORTS_H
#define PORTMAJOR_CHECK_MFT_PORTS_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/multicast/mft.h>

/* The lowest port number in the mask that is `from` or above, or PM_NONE. */
static inline uint32_t mft_next_port(const struct pm_mfts *mfts, uint32_t sw,
				     uint16_t mlid, uint32_t from)
{
	for (uint32_t p = from / PM_MFT_POSITION; p < pm_mfts_num_positions(mfts, sw);
	     p++) {
		uint32_t mask = pm_mfts_mask(mfts, sw, mlid, p);

		if (p == from / PM_MFT_POSITION)
			mask &= UINT32_MAX << from % PM_MFT_POSITION;
		if (mask)
			return p * PM_MFT_POSITION + (uint32_t)__builtin_ctz(mask);
	}
	return PM_NONE;
}

/* Runs `num` through the port numbers in a mask. */
#define mft_for_each_port(num, mfts, sw, mlid)                                           \
	for (uint32_t num = mft_next_port(mfts, sw, mlid, 0); (num) != PM_NONE;          \
	     (num) = mft_next_port(mfts, sw, mlid, (num) + 1))

static inline bool mft_has_entry(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid)
{
	return mft_next_port(mfts, sw, mlid, 0) != PM_NONE;
}

/*
 * Whether a switch's port, in a mask, delivers packets: it is port 0, or has a link to an
 * end node.
 */
static inline bool mft_is_end(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return !fabric->ports[port].num ||
	       (peer != PM_NONE && fabric->ports[peer].node >= fabric->num_switches);
}

/* The switch at the other end of a switch's port, or PM_NONE. */
static inline uint32_t mft_switch_behind(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].num ? fabric->ports[port].peer : PM_NONE;

	return peer != PM_NONE && fabric->ports[peer].node < fabric->num_switches
		       ? fabric->ports[peer].node
		       : PM_NONE;
}

#endif
