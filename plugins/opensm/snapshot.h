/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What OpenSM has discovered, as a fabric of the core's. */
#ifndef PORTMAJOR_SNAPSHOT_H
#define PORTMAJOR_SNAPSHOT_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/fitness.h>
#include <portmajor/plan.h>
#include <portmajor/roles.h>

/*
 * Copies what OpenSM has discovered: nodes seen in this sweep and the cables
 * between them that are not down. LIDs of end ports that are not active, as after
 * a reboot, are left out with active_only. Call with osm->lock held, shared at least.
 * The caller frees *fabric. Errors as pm_fabric_seal.
 */
int snapshot_take(const osm_subn_t *subn, const struct pm_roles *roles, bool active_only,
		  struct pm_fabric **fabric, struct pm_error *err);

/*
 * What the switches that were seen in this sweep say of themselves. Call with osm->lock
 * held, shared at least. The caller frees *switches. -ENOMEM.
 */
int snapshot_switches(const osm_subn_t *subn, struct pm_fitness **switches, uint32_t *num,
		      struct pm_error *err);

/*
 * Numbers that are others when a snapshot would be another one: of the nodes and cables,
 * and of the LIDs in use. That two states have the same ones has a chance of 1 in 2^64.
 */
struct snapshot_digest {
	uint64_t topology, lids;
};

/* Call with osm->lock held. O(ports); allocates nothing. */
struct snapshot_digest snapshot_digest(const osm_subn_t *subn);

/* The digest's LIDs if every port of the fabric has the plan's. O(ports). */
uint64_t snapshot_planned_lids(const struct pm_plan *plan,
			       const struct pm_fabric *fabric);

/* What discovery tells of the cables of `known` beside whether they are seen. [port] */
struct snapshot_doubt {
	uint8_t *stayed; /* seen, and past INIT: it was not down for a moment */
	uint8_t *
		silent; /* not seen, and no end of it was found down: answers were lost */
};

/* Fills both for what is seen; right after discovery only. Call with osm->lock held. */
void snapshot_find_doubt(const osm_subn_t *subn, const struct pm_fabric *known,
			 const uint8_t *seen, const struct snapshot_doubt *doubt);

/* The base LID that a port has now, 0: none; a snapshot may leave it out. */
uint16_t snapshot_lid(const osm_subn_t *subn, uint64_t guid);

/* Whether a port of the fabric has LIDs: a switch's own or an end port with a cable. */
static inline bool snapshot_has_place(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return p->node < fabric->num_switches ? p->num == 0 : p->peer != PM_NONE;
}

#endif
