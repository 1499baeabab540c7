/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The behaviour of real ports that ibsim's lack, in libwire.so: they remember set
 * values, check M_Keys, know reregistration, and lose everything in a reboot.
 *
 * The ports of a fabric are in a file that all processes with a wire on that fabric map
 * (WIRE_PORTS; if it is not set, ports are ibsim's). Values that ibsim itself keeps
 * (LIDs, states, speeds, tables) are not in it: the file's values replace those in
 * ibsim's answers. Native byte order, no padding. Functions here take the file's lock
 * each; they send nothing.
 *
 * The rules are those of the IBA specification, volume 1: 14.2.4 (M_Keys), 14.2.5.6
 * (PortInfo), 14.4.11 (reregistration), as OpenSM and drivers apply them.
 */
#ifndef PM_TESTS_WIRE_TRUTH_H
#define PM_TESTS_WIRE_TRUTH_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_nodes.h"

#pragma GCC visibility push(hidden)

#define TRUTH_MAGIC 0x54574d50u /* "PMWT" read as little endian */
#define TRUTH_VERSION 1u
#define TRUTH_PORTS 0x80000u
#define TRUTH_INDEX 0x100000u /* of the hash table; a power of two */
#define TRUTH_REBOOTS 1024u

/* A port; port 0 of a host stands for the node and has only the last three fields. */
struct truth_port {
	uint64_t guid;
	uint64_t lease_ends; /* CLOCK_MONOTONIC, ns; 0: does not run */
	uint32_t port;
	uint32_t reregistered; /* how often it was told to reregister its clients */
	uint32_t refused;      /* SMPs with a wrong M_Key */
	uint8_t ahead;	       /* ACTIVE, and ibsim, whose peer is in INIT, has ARMED */
	uint8_t rebooted;      /* values that were not set since are the default ones */
	uint8_t due;	       /* of a node: its tables are to be wiped */
	uint8_t reserved;
	uint16_t lft_blocks; /* of a node: the highest number of set blocks */
	uint16_t mft_blocks;
	uint16_t mft_positions;
	uint16_t p_key_blocks; /* of a port */
	uint8_t set[64];       /* bits of PortInfo that were set */
	uint8_t value[64];
};

struct truth {
	uint32_t magic; /* out, like all fields without another word */
	uint32_t version;
	uint64_t lock[8];	 /* a pthread_mutex_t */
	uint64_t wrong_m_keys;	 /* SMPs that were dropped for their M_Key */
	uint64_t invalid_values; /* PortInfo Sets with a value that the port refused */
	uint64_t woken;		 /* ports that turned ACTIVE by a packet */
	uint64_t wiped;		 /* nodes whose tables were wiped */
	uint32_t packets; /* in: the share of links, in a million, that carry a packet
			   * as soon as one end is ACTIVE */
	uint32_t reboots; /* in: the number of nodes in `reboot`, in turn; only grows */
	uint32_t reboots_done;
	uint32_t num_ports;
	uint64_t reboot[TRUTH_REBOOTS]; /* in: GUIDs of nodes that have rebooted */
	uint32_t index[TRUTH_INDEX];	/* 1 + the index in `ports`; 0: free */
	struct truth_port ports[TRUTH_PORTS];
};

static_assert(sizeof(struct truth_port) == 168, "layout of ports");
static_assert(offsetof(struct truth, reboot) == 120, "layout of ports");

/* Maps the file; NULL: ports are ibsim's, and the functions below do nothing. */
void truth_open(const char *path);

struct truth *truth_file(void);

/* The port of an SMP about PortInfo that has reached that target. */
uint8_t truth_port_of(struct target target, const uint8_t *mad);

/* Whether a port accepts an SMP with this M_Key, which is counted if not. */
bool truth_admits(struct target target, const uint8_t *question);

/* Notes that tables are set, before they are. */
void truth_note(struct target target, const uint8_t *question);

/* Notes a PortInfo Set that the node has acknowledged. */
void truth_set(struct target target, const uint8_t *question);

/* Turns ibsim's answer about a PortInfo into a port's. */
void truth_show(struct target target, const uint8_t *question, uint8_t *answer);

/* The same for a trap. */
void truth_show_trap(uint8_t *trap);

/* Whether a port is ACTIVE and ibsim has it in ARMED. */
bool truth_is_ahead(uint64_t guid, uint8_t port);
void truth_put_ahead(uint64_t guid, uint8_t port, bool ahead);

/*
 * Whether the node has rebooted since its last SMP, and its tables before: *had. It has
 * forgotten its PortInfos then; the caller wipes its tables.
 */
bool truth_has_rebooted(uint64_t guid, struct truth_port *had);

/* The number of P_Key blocks that a port was given; forgets it. */
unsigned int truth_p_key_blocks(uint64_t guid, uint8_t port);

#pragma GCC visibility pop

#endif
