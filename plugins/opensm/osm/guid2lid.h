/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LIDs: the plan's are written into the LID manager's table of persistent LIDs (guid2lid)
 * after discovery; OpenSM then assigns exactly these, stores them in its own file, and
 * treats LMC, duplicates and lost ports as ever.
 */
#ifndef PORTMAJOR_GUID2LID_H
#define PORTMAJOR_GUID2LID_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <portmajor/plan/lid_history.h>

/* What OpenSM is given. */
struct lids {
	const struct pm_plan *plan;
	const struct pm_fabric *fabric; /* as just discovered */
	uint16_t limit;			/* LIDs above it are given to nobody */
	bool reassign; /* all of guid2lid is forgotten first, see lids_may_reassign */
};

struct lids_given {
	uint32_t assigned; /* ports that have another LID or none */
	uint32_t moved;	   /* of these, those that have another one */
};

/*
 * With reassign_lids OpenSM's LID manager would clear guid2lid in its first sweep as
 * master and number the ports itself. What is asked for is done by lids_give instead, by
 * giving every port the plan's LID, so the option is taken back. In later sweeps
 * OpenSM does not heed it, and neither does this: the option can be changed in a
 * running OpenSM.
 */
bool lids_may_reassign(const osm_subn_t *subn);

/*
 * Gives every port of the fabric its LIDs. Call with osm->lock held exclusively, between
 * discovery and the LID manager. -ENOMEM: nothing was given.
 */
int lids_give(osm_opensm_t *osm, const struct lids *lids, struct lids_given *given,
	      struct pm_error *err);

/*
 * What of that is to be done in each sweep: OpenSM is to have room for all LIDs of the
 * plan, and may give LIDs up to limit. Call likewise.
 */
void lids_make_room(osm_subn_t *subn, const struct pm_plan *plan, uint16_t limit);

/*
 * What guid2lid says, as the caller's to free; NULL without memory. Nothing (*num is 0)
 * if it was written with another LMC: LIDs are other ones then. Call before lids_give
 * changes it; OpenSM's table has a lock of its own.
 */
struct pm_claim *lids_claims(osm_opensm_t *osm, uint32_t *num);

/*
 * Leaving standby, the LID manager clears guid2lid and, if honor_guid2lid_file is set,
 * reads the file again. So the file is made to say what the table says, and the option
 * set for this one sweep: *honor then has what is to be restored after it, else -1. Call
 * after lids_give. Writes a file, which OpenSM's table of LIDs does on this thread alone:
 * no lock is to be held.
 */
void lids_survive_standby(osm_opensm_t *osm, int *honor);

#endif
