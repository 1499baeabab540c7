/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the plan's LIDs into the LID manager's table of persistent LIDs (guid2lid) after
 * discovery. OpenSM assigns exactly these, stores them in its own file, and treats LMC,
 * duplicates and absent ports as usual. The previous owner of a LID leaves the table, so
 * no LID has two. If the LID manager still gives other LIDs, the engine's callback makes
 * the plan anew with these.
 *
 * OpenSM's limit, max_ucast_lid_ho, falls to the smallest table of all switches that it
 * has seen and never rises; then new ports get no LIDs. So it is raised to the smallest
 * table that can hold the plan.
 */
#ifndef PORTMAJOR_GUID2LID_H
#define PORTMAJOR_GUID2LID_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/plan/lid_history.h>

/* The input. */
struct lids {
	const struct pm_plan *plan;
	const struct pm_fabric *fabric; /* as just discovered */
	uint16_t limit;			/* highest LID to assign */
	bool reassign;			/* clear guid2lid first, see lids_may_reassign */
};

struct lids_given {
	uint32_t assigned; /* ports that had another LID or none */
	uint32_t changed;  /* of these: ports that had another LID */
};

/*
 * Whether to reassign LIDs. With reassign_lids OpenSM's LID manager would clear guid2lid
 * in its first sweep as master and number the ports itself; lids_give gives every port
 * the plan's LID instead, and the option is reset. Later sweeps ignore it, as OpenSM
 * does: it can be changed in a running OpenSM.
 */
bool lids_may_reassign(const osm_subn_t *subn);

/*
 * Gives every port of the fabric its LIDs. Call with osm->lock held exclusively, between
 * discovery and the LID manager. -ENOMEM: nothing was given.
 */
int lids_give(osm_opensm_t *osm, const struct lids *lids, struct lids_given *given,
	      struct pm_error *err);

/*
 * In each sweep: makes room for all LIDs of the plan, and lets OpenSM assign LIDs up to
 * limit. Call it like lids_give.
 */
void lids_make_room(osm_subn_t *subn, const struct pm_plan *plan, uint16_t limit);

/*
 * Copies guid2lid, for the caller to free; NULL without memory. Empty (*num is 0) if it
 * was written with another LMC. Call before lids_give changes it; OpenSM's table has its
 * own lock.
 */
struct pm_claim *lids_claims(osm_opensm_t *osm, uint32_t *num);

/*
 * For the sweep that leaves standby: there the LID manager clears guid2lid and, with
 * honor_guid2lid_file, reads the file again. So this writes the table to the file, and
 * sets the option for one sweep; *honor is the value to restore after it, else -1. Call
 * after lids_give, with no lock held, on the thread on which OpenSM writes the file.
 */
void lids_survive_standby(osm_opensm_t *osm, int *honor);

#endif
