/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths through a fabric: over one switch with all hosts (flat), by LFTs, and in VLANs. A
 * frame goes along its VLAN's tree, where switches learn addresses. Hosts have the plan's
 * table, and a pair uses the VLAN of its host with the higher priority.
 */
#ifndef PORTMAJOR_PACKET_PATHS_H
#define PORTMAJOR_PACKET_PATHS_H

#include <portmajor/lab/bisection.h>
#include <portmajor/lab/no_path.h>
#include <portmajor/lab/packet.h>
#include <portmajor/vlan/vlan.h>

/* All is borrowed; members that a path does not need may be NULL. */
struct pm_packet_paths {
	const struct pm_fabric *fabric; /* without failed parts */
	const struct pm_packet_host *hosts;

	const uint8_t *lfts; /* [switch][length] */
	uint32_t length;

	const struct pm_vlans *vlans;	   /* of a fabric with the same indexes */
	const struct pm_vlan_table *table; /* of all hosts of `vlans` */
	const uint32_t *index;		   /* [host] its index in vlans and table */
	bool broadcast; /* all pairs use the broadcast's VLAN, as with spanning tree */
};

/* Finds those by LFTs. Hosts are listed by switch. O(leaves x hosts x hops). */
void pm_packet_no_path(const struct pm_packet_paths *paths, uint32_t num_hosts,
		       struct pm_no_path *found);

/* As pm_packet_path (bisection.h); `paths` is a struct pm_packet_paths. */
uint32_t pm_packet_path_flat(const void *paths, uint32_t from, uint32_t to,
			     uint32_t *ports);
uint32_t pm_packet_path_by_lfts(const void *paths, uint32_t from, uint32_t to,
				uint32_t *ports);
uint32_t pm_packet_path_by_vlan(const void *paths, uint32_t from, uint32_t to,
				uint32_t *ports);

#endif
