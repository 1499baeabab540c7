/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the source files of lid_history.h. */
#ifndef PORTMAJOR_LID_HISTORY_PARTS_H
#define PORTMAJOR_LID_HISTORY_PARTS_H

#include <portmajor/plan/lid_history.h>

#include "plan_parts.h"

/* Whether the plan alone decides on a LID: its history has ended. */
enum settled {
	SETTLED_NOT,
	SETTLED_USED,	 /* a port uses or has used it */
	SETTLED_PLANNED, /* by a plan that was not lost */
};

/* A port of a switch, in any skeleton. */
struct mark {
	uint64_t guid; /* 0: none */
	uint8_t num;
};

/* The history of one LID. */
struct trace {
	uint64_t claimant; /* GUID with a claim to it, or 0 */
	struct mark slot;  /* slot to which tables lead */
	struct mark plane; /* an up port of a leaf on the way there */
	uint8_t in_table;  /* a table has an entry for it, or a port had it */
	uint8_t settled;   /* enum settled */
};

struct pm_lid_history {
	struct pm_claim *claims; /* by GUID; low is 0: no longer valid */
	uint32_t num_claims;
	struct trace *trace; /* [0..PM_MAX_LID] */
	bool tables_added;   /* tables were added since the last plan */
};

/* The valid claim of a GUID, or NULL. */
struct pm_claim *history_claim(const struct pm_lid_history *history, uint64_t guid);

/* A marked port in a skeleton, or PM_NONE. */
uint32_t history_find(const struct pm_fabric *topology, const struct mark *mark);

/*
 * Settles the planned LIDs of ports that use them or, with `all`, of all present ports,
 * as these get them. The claims of these ports end.
 */
void history_settle(struct pm_lid_history *history, const struct pm_plan *plan,
		    const struct pm_fabric *now, bool all);

/*
 * Makes settled LIDs without a place unsettled: their owner may be absent, and report the
 * LID at another place.
 */
void history_release(struct pm_lid_history *history, const struct pm_plan *plan);

#endif
