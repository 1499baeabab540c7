/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways through a fabric: over a switch that is all of it, by tables of LIDs, and in
 * VLANs. A host's frame in a VLAN goes along its tree, which is where switches learn
 * addresses; hosts have the plan's table, and each pair the VLAN of the one with the
 * higher priority.
 */
#ifndef PORTMAJOR_PACKET_PATHS_H
#define PORTMAJOR_PACKET_PATHS_H

#include <portmajor/lab/bisection.h>
#include <portmajor/lab/packet.h>
#include <portmajor/vlan/vlan.h>

/* All is borrowed; what a way does not need may be NULL. */
struct pm_packet_paths {
	const struct pm_fabric *fabric; /* without what is lost */
	const struct pm_packet_host *hosts;

	const uint8_t *lfts; /* [switch][length] */
	uint32_t length;

	const struct pm_vlans *vlans;	   /* of a fabric with the same indexes */
	const struct pm_vlan_table *table; /* of all its hosts */
	const uint32_t *who;		   /* [host] which one of these it is */
	bool broadcast; /* all go in the broadcast's VLAN, as with spanning tree */
};

/* For struct pm_packet_paths, as pm_packet_path has it. */
uint32_t pm_packet_path_flat(const void *paths, uint32_t from, uint32_t to,
			     uint32_t *ports);
uint32_t pm_packet_path_by_lfts(const void *paths, uint32_t from, uint32_t to,
				uint32_t *ports);
uint32_t pm_packet_path_by_vlan(const void *paths, uint32_t from, uint32_t to,
				uint32_t *ports);

#endif
