/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs of hosts cut off, from a failure to the last LFT Set: counts dead paths while
 * blocks of tables change one by one.
 *
 * A path leads from a host to a LID of another host, by the tables of the switches. It is
 * dead if it comes to an entry without a port, a failed link, a wrong host, or a switch
 * for the second time.
 */
#ifndef PORTMAJOR_CUTOFF_H
#define PORTMAJOR_CUTOFF_H

#include <portmajor/fabric/fabric.h>

/* A LID of a host, and the port of the switch that the host is attached to. */
struct pm_cutoff_lid {
	uint16_t lid;
	uint32_t port;
};

struct pm_cutoff;

/*
 * Begins with the tables of all switches, [switch][length], length a multiple of 64, and
 * the usable links, usable[port], including hosts' links. lids has each LID once, below
 * length, those of one port side by side. fabric is borrowed and may be a skeleton;
 * usable, tables and lids are copied. The caller frees the result. Cost: O(lids x
 * switches).
 */
struct pm_cutoff *pm_cutoff_new(const struct pm_fabric *fabric, const uint8_t *usable,
				const uint8_t *tables, uint32_t length,
				const struct pm_cutoff_lid *lids, uint32_t num_lids);
void pm_cutoff_free(struct pm_cutoff *cutoff);

/*
 * Changes the usable links. Hosts at other links count as well if counted[port] says so:
 * all their paths are dead. Cost: as of pm_cutoff_new.
 */
void pm_cutoff_links(struct pm_cutoff *cutoff, const uint8_t *usable,
		     const uint8_t *counted);

/*
 * Writes a block of a switch's table, 64 entries from LID 64 x block on, below length;
 * returns the number of changed entries. Cost: O(changed entries x longest path), and of
 * each path that dies or comes back O(ports of its switches).
 */
uint32_t pm_cutoff_set(struct pm_cutoff *cutoff, uint32_t sw, uint32_t block,
		       const uint8_t *entries);

/* Hosts that count. O(1). */
uint64_t pm_cutoff_hosts(const struct pm_cutoff *cutoff);

/*
 * Paths between these hosts, of these the dead ones, and of those the looping ones.
 * O(1).
 */
uint64_t pm_cutoff_paths(const struct pm_cutoff *cutoff);
uint64_t pm_cutoff_dead(const struct pm_cutoff *cutoff);
uint64_t pm_cutoff_looping(const struct pm_cutoff *cutoff);

#endif
