/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast packets followed copy by copy through tables: a slow reference. Shares no
 * code and no idea with src/multicast/, except how tables are read.
 */
#ifndef TESTS_MWALK_H
#define TESTS_MWALK_H

#include <portmajor/multicast/mft.h>
#include <portmajor/multicast/multicast.h>

/* The network of a group's packets, all of it borrowed. */
struct mwalk {
	const struct pm_fabric *topology;
	const struct pm_mfts *tables;
	const uint8_t *up; /* [port] the link passes packets; NULL: all do */
};

/*
 * Sends a packet from a port (slot, or port 0 of a switch). received[port] counts the
 * copies that came out of each port without a link to a switch. NULL, or the fault, in
 * static memory: a link or an end port has a second copy, so there is a loop or a
 * duplicate.
 */
const char *mwalk_send(const struct mwalk *walk, uint16_t mlid, uint32_t from,
		       uint8_t *received);

/*
 * Sends a packet from each member: each other member receives one copy, and no other
 * port any. NULL, or the fault.
 */
const char *mwalk_group(const struct mwalk *walk, const struct pm_group *group);

/*
 * Sends a packet from each of some ports: no port receives two copies, and only ports
 * with may[port] any. NULL, or the fault.
 */
const char *mwalk_harmless(const struct mwalk *walk, uint16_t mlid, const uint32_t *from,
			   uint32_t num, const uint8_t *may);

#endif
