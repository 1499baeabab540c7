/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The destination of a datagram, in libwire.so: learned from answers to NodeInfo, cable
 * by cable, and from LIDs in answers to PortInfo. Under the library's lock.
 */
#ifndef PM_TESTS_WIRE_NODES_H
#define PM_TESTS_WIRE_NODES_H

#include "wire_smp.h"

#pragma GCC visibility push(hidden)

/* A node, and the port by which a datagram comes to it. GUID 0: not known. */
struct target {
	uint64_t guid;
	uint8_t port;
	bool is_switch;
};

/* Learns from an answer to an SMP. */
void nodes_learn(const uint8_t *question, const uint8_t *answer);

struct target nodes_where(const void *umad);

/* The other end of a node's port. */
struct target nodes_peer(uint64_t guid, uint8_t port);

/* The directed route by which a node was found last, a path's bytes; hops by *hops. NULL:
 * none. */
const uint8_t *nodes_route(uint64_t guid, unsigned int *hops);

/* A node's LID, 0 if not known. */
uint16_t nodes_lid(uint64_t guid);

#pragma GCC visibility pop

#endif
