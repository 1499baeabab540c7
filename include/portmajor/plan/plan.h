/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan: the LID of each place, and the plane of its traffic.
 *
 * LIDs belong to places, not to GUIDs. A place is a port of the skeleton. Port 0 of a
 * switch stands for the switch itself, any other port for its slot: whatever end port is
 * plugged in there. Slots are ports where an end node is or was attached, and empty ports
 * of a leaf with the number of an end port on a leaf with as many ports.
 *
 * With the order `grouped`, the LIDs of one plane are one run: its slots in subtree order
 * with the leaves' own LIDs among them, and, in the gaps, the LIDs of the switches that
 * make up the plane above the leaves. A run begins at a block boundary (a run of at most
 * 32 LIDs at a multiple of its size, rounded up to a power of two), and is as long as
 * whole blocks allow: the rest is spare, for growth. Where the planes of a component fit
 * into one block, but not with such lengths, they share it: each run is as long as
 * needed, plus an equal part of the rest (without LMC). If the spare allows, no subtree
 * with at most 64 LIDs in a plane straddles two blocks. Example,
 * director of 324 leaves, one plane of 6 blocks; 19 LIDs are 18 slots and one leaf of a
 * pod:
 *
 *     | pod 0: 19 | pod 1: 19 | pod 2: 19 | 7 | pod 3: 19 | pod 4: 19 | ...
 *     ^ block boundary                      ^ switches of the chassis, spare
 *
 * With LMC, a slot has 2^LMC LIDs, aligned, that use as many planes. The planes of a
 * switch form bundles of 2^LMC consecutive planes; the last bundle has up to twice as
 * many, less one. A slot has all planes of its bundle, its own plane first. In the last
 * bundle it has its own plane and the next ones, cyclically, and only every g-th plane is
 * a slot's own plane, where g is the greatest common divisor of 2^LMC and the number of
 * planes: so slots with the same planes share blocks. The base LID's plane differs from
 * slot to slot, so that base LIDs alone are balanced too.
 *
 * Example: 18 planes and LMC 2. The planes of a leaf's 18 slots:
 *
 *     | 0..3: 4 slots | 4..7: 4 | 8..11: 4 | 12..15: 2 | 14..17: 2 | 16,17,12,13: 2 |
 *
 * With LMC switches' own LIDs add no block to a run: they get spare LIDs of any run, or
 * else blocks behind the runs.
 *
 * If that needs more LIDs than there are, runs have no spare LIDs, are as long as needed
 * and begin anywhere, so that planes share blocks. With LMC switches then have the LIDs
 * below the first run and above the last one of slots.
 *
 * I/O ports (roles.h) and compute ports are assigned to planes as if the other kind did
 * not exist, so that neither spoils the other's balance.
 *
 * The failure of a plane changes ceil(LIDs / 64) blocks of a leaf, and that of a
 * first-level switch one block of every leaf outside its pod.
 */
#ifndef PORTMAJOR_PLAN_H
#define PORTMAJOR_PLAN_H

#include <portmajor/fabric/lft.h>
#include <portmajor/fabric/tree.h>

enum pm_lid_order {
	PM_GROUPED,    /* see above */
	PM_LEAF_MAJOR, /* leaf by leaf, port by port; then the switches */
	PM_PORT_MAJOR, /* first slot of every leaf, second slot ..; then switches */
};

#define PM_MAX_LMC 3

struct pm_plan_config {
	enum pm_lid_order order;
	uint8_t lmc; /* of end ports, 0..PM_MAX_LMC; switches have one LID */
};

/* A run of LIDs that belongs to one plane (grouped only). */
struct pm_run {
	uint16_t start;	 /* LID */
	uint16_t length; /* including spare LIDs */
	uint32_t plane;	 /* PM_NONE: places without a plane */
};

/* Read-only outside src/plan/. [port] means: per port of `topology`. */
struct pm_plan {
	struct pm_pool pool; /* of the arrays but for runs, which grow */
	enum pm_lid_order order;
	uint8_t lmc;
	bool adopted; /* made from a running fabric: the tables in its switches are
			 preferred to new ones, see pm_routes_adopt */
	struct pm_fabric *topology; /* skeleton of all parts ever discovered */
	struct pm_tree tree;	    /* of it */
	uint16_t *lid;		    /* [port] base LID of the place, 0: no place */
	uint32_t *plane;	    /* [port] plane of the place, or PM_NONE */
	uint8_t *base_plane; /* [port] with LMC: which of the slot's planes, counted from
			      * 0, is that of the base LID */
	uint32_t *rank;	     /* [port] index of the place in its plane, in subtree order;
			      * slots, leaves and other switches are counted separately */
	uint16_t top_lid;    /* LinearFDBTop: the highest LID of a place, or the free one
			      * above a multiple of 64, which dump_fts would leave out */
	uint32_t *owner;     /* [0..PM_MAX_LID] place (port) of this LID or PM_NONE */
	struct pm_run *runs; /* by start */
	uint32_t num_runs;
	_Atomic uint32_t sharers; /* besides the first owner, see pm_plan_share */
};

/*
 * Makes a plan for a fabric, a function of its topology alone. The caller frees it.
 * -EINVAL: lmc is above PM_MAX_LMC; -ENOENT: no switch has an end port; -ENOTSUP: not a
 * fat tree, see pm_reachable_enough (the message names two leaves without an up-then-down
 * path); -ENOSPC: the places need more LIDs than there are, or with this order (the
 * message has the numbers, and the order or LMC with which they fit); -ENOMEM.
 */
int pm_plan_make(const struct pm_fabric *fabric, const struct pm_plan_config *config,
		 struct pm_plan **plan, struct pm_error *err);

/*
 * Extends a plan by the fabric's new switches, links, and hosts at new places. No place
 * gives up its LID, except a slot with a link to a switch now. *grown is NULL if nothing
 * is new; else the caller frees it. Errors as pm_plan_make.
 */
int pm_plan_grow(const struct pm_plan *plan, const struct pm_fabric *now,
		 struct pm_plan **grown, struct pm_error *err);

/*
 * The same for a plan in force beside `planned`, which has grown already: new places get
 * the LIDs and planes that they have in `planned`, where those LIDs are free.
 */
int pm_plan_grow_beside(const struct pm_plan *plan, const struct pm_plan *planned,
			const struct pm_fabric *now, struct pm_plan **grown,
			struct pm_error *err);

/*
 * Makes a new plan for a plan's parts and the fabric's, with the same order and LMC. The
 * caller frees it. Errors as pm_plan_make.
 */
int pm_plan_remake(const struct pm_plan *plan, const struct pm_fabric *now,
		   struct pm_plan **remade, struct pm_error *err);

/*
 * Makes the plan with the present LIDs of the fabric's ports, except LIDs that two ports
 * have. A place without a present LID gets the planned one, or another if that is in use
 * elsewhere. `before` is the plan in force so far, or NULL. Where it has the same LID for
 * a place, the place also keeps its plane, base_plane and rank, so that tables do not
 * change for ports in use. *differ: places with another LID than planned. *kept is NULL
 * if all is as planned; else the caller frees it. -ENOSPC, -ENOMEM.
 */
int pm_plan_keep(const struct pm_plan *plan, const struct pm_fabric *fabric,
		 const struct pm_plan *before, struct pm_plan **kept, uint32_t *differ,
		 struct pm_error *err);

/*
 * Finds the plan that the LIDs in `grown` come from, if `grown` began with a part of the
 * fabric. That is a new plan for all parts of `grown`, if it has the same LID for every
 * place that is or was in use. *origin is NULL if there is none; else the caller frees
 * it. Errors as pm_plan_make.
 */
int pm_plan_find_origin(const struct pm_plan *grown, const struct pm_fabric *now,
			struct pm_plan **origin, struct pm_error *err);

/* Sets whether the tables in the switches are preferred. */
void pm_plan_set_adopted(struct pm_plan *plan, bool adopted);

/*
 * Notes widths and speeds of the fabric's links in plan->topology, which has none: for
 * loads, no table depends on them.
 */
void pm_plan_note_links(struct pm_plan *plan, const struct pm_fabric *now);

void pm_plan_free(struct pm_plan *plan);

/*
 * Adds an owner of a plan, on any thread; pm_plan_free by the last owner frees it. From
 * then on all but `adopted` is constant.
 */
const struct pm_plan *pm_plan_share(const struct pm_plan *plan);

/* A place, for pm_plan_restore. */
struct pm_plan_place {
	uint32_t port;	/* index in the skeleton */
	uint32_t plane; /* or PM_NONE */
	uint32_t rank;
	uint16_t lid;
	uint8_t base_plane;
};

/*
 * Rebuilds a plan from the parts in a plan file. Takes over the skeleton, also on
 * failure. -EBADMSG: parts contradict each other, with a message; -ENOMEM.
 */
int pm_plan_restore(const struct pm_plan_config *config, struct pm_fabric *skeleton,
		    const struct pm_plan_place *places, uint32_t num_places,
		    const struct pm_run *runs, uint32_t num_runs, struct pm_plan **plan,
		    struct pm_error *err);

/*
 * Marks the fabric's parts in plan->topology: usable[port] = 1 at both ends of a link
 * between switches and at slots with an end node, else 0. False if the fabric has a
 * switch, a link or an end port that the plan lacks, or other roots; then see
 * pm_plan_grow. O(ports).
 */
bool pm_plan_match(const struct pm_plan *plan, const struct pm_fabric *now,
		   uint8_t *usable);

/*
 * Whether a plan, such as a file's, is for this fabric, which may lack parts: at most one
 * in ten of the fabric's switches is not in the plan, or has a link to another port than
 * in the plan. O(ports).
 */
bool pm_plan_fits(const struct pm_plan *plan, const struct pm_fabric *now);

/* The place of an end port or of a switch's own port in a fabric, or PM_NONE. */
uint32_t pm_plan_place(const struct pm_plan *plan, const struct pm_fabric *now,
		       uint32_t port);

/* The number of LIDs of a place (port of plan->topology). */
static inline uint32_t pm_plan_num_lids(const struct pm_plan *plan, uint32_t place)
{
	return plan->topology->ports[place].num ? 1u << plan->lmc : 1u;
}

/* The plane of the k-th LID of a place, or PM_NONE. O(ports of the switch). */
uint32_t pm_plan_plane(const struct pm_plan *plan, uint32_t place, uint32_t k);

/* Blocks of a full table: those of LIDs 0 to top_lid. */
static inline uint32_t pm_plan_blocks(const struct pm_plan *plan)
{
	return plan->top_lid / PM_LFT_BLOCK + 1u;
}

const char *pm_lid_order_name(enum pm_lid_order order);
/* -EINVAL: no such order. */
int pm_lid_order_parse(const char *name, enum pm_lid_order *order);

#endif
