/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs of hosts cut off, from a loss to the last LFT Set: how many paths are dead now,
 * kept up to date while blocks of tables change one by one.
 *
 * A path leads from a host to a LID of another host, by the tables of the switches. It is
 * dead if it comes to an entry without a port, to a cable that is not alive, to a host
 * that is not meant, or to where it was before.
 */
#ifndef PORTMAJOR_CUTOFF_H
#define PORTMAJOR_CUTOFF_H

#include <portmajor/fabric/fabric.h>

/* A LID of a host, and the port of the switch that the host is attached to. */
struct pm_cutoff_lid {
	uint16_t lid;
	uint32_t port;
};

/* Opaque. */
struct pm_cutoff;

/*
 * Begins with the tables of all switches, [switch][length], length a multiple of 64, and
 * with the cables at ports marked in alive[port]; hosts are attached by cables, too.
 * LIDs: each once, those of one port together, below length. fabric is borrowed and may
 * be a skeleton; alive, tables and lids are copied. The caller frees *cutoff. -ENOMEM.
 * Cost: O(lids x switches).
 */
int pm_cutoff_new(const struct pm_fabric *fabric, const uint8_t *alive,
		  const uint8_t *tables, uint32_t length,
		  const struct pm_cutoff_lid *lids, uint32_t num_lids,
		  struct pm_cutoff **cutoff, struct pm_error *err);
void pm_cutoff_free(struct pm_cutoff *cutoff);

/* Other cables are alive now. Cost: as of pm_cutoff_new. */
void pm_cutoff_lose(struct pm_cutoff *cutoff, const uint8_t *alive);

/*
 * A switch has got a block of its table, 64 entries from LID 64 x block on, below length;
 * returns how many of them differ from those before.
 * Cost: O(entries that differ x longest path), and of each path that dies or comes back
 * O(ports of its switches).
 */
uint32_t pm_cutoff_set(struct pm_cutoff *cutoff, uint32_t sw, uint32_t block,
		       const uint8_t *entries);

/* Hosts that are alive. O(1). */
uint64_t pm_cutoff_hosts(const struct pm_cutoff *cutoff);

/* Paths from a host that is alive to each LID of another one, those of them that are
 * dead now, and of these the ones that lead into a loop. O(1). */
uint64_t pm_cutoff_paths(const struct pm_cutoff *cutoff);
uint64_t pm_cutoff_dead(const struct pm_cutoff *cutoff);
uint64_t pm_cutoff_looping(const struct pm_cutoff *cutoff);

#endif
