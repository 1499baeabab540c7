/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* OpenSM's discovered subnet as a fabric. */
#ifndef PORTMAJOR_SNAPSHOT_H
#define PORTMAJOR_SNAPSHOT_H

#include "subnet_cache.h"

#include <portmajor/fabric/roles.h>

/*
 * Copies the cache's last refresh: the nodes discovered in this sweep, and the links
 * between them that are not down. active_only leaves out the LIDs of end ports that are
 * not active, as after a reboot. Call with osm->lock held, shared at least, since before
 * subnet_cache_learn. The caller frees *fabric; snapshot_finish completes it. -ENOMEM.
 */
int snapshot_copy(const struct subnet_cache *cache, const osm_subn_t *subn,
		  bool active_only, struct pm_fabric **fabric, struct pm_error *err);

/*
 * Seals a copied fabric and sets its roles. That needs no lock, and takes longer than the
 * copy. On failure it frees the fabric, and sets *fabric to NULL; errors as
 * pm_fabric_seal.
 */
int snapshot_finish(const struct pm_roles *roles, struct pm_fabric **fabric,
		    struct pm_error *err);

/* Of all that is copied, in OpenSM's memory. All zero: of no subnet. */
struct snapshot_hash {
	uint64_t nodes, ports;
	uint64_t cache; /* subnet_cache_hash then; 0: not known */
};

/*
 * Copies the present subnet by a cache of its own, unless its hash is *hash: then *fabric
 * is NULL. Else *hash becomes that of the copy. cache_hash: subnet_cache_hash after a
 * refresh that found the ports as they are now, or 0; if it is the one in *hash, only
 * nodes are read. Holds osm->lock shared. The caller frees *fabric. Errors as above.
 * O(subnet); a third of that without a copy, O(nodes) by cache_hash.
 */
int snapshot_changed(osm_opensm_t *osm, const struct pm_roles *roles, uint64_t cache_hash,
		     struct snapshot_hash *hash, struct pm_fabric **fabric,
		     struct pm_error *err);

/* A port's present base LID, which a snapshot may leave out; 0: none. */
uint16_t snapshot_lid(const osm_subn_t *subn, uint64_t guid);

/* Whether a port of the fabric has LIDs: a switch's own or an end port with a link. */
static inline bool snapshot_has_place(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return p->node < fabric->num_switches ? p->num == 0 : p->peer != PM_NONE;
}

#endif
