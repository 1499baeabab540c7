/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the source files of lid_history.h share. */
#ifndef PORTMAJOR_LID_HISTORY_PARTS_H
#define PORTMAJOR_LID_HISTORY_PARTS_H

#include <portmajor/plan/lid_history.h>

#include "plan_parts.h"

/* Whether the plan speaks for a LID, and LID history does not any more. */
enum settled {
	SETTLED_NOT,
	SETTLED_USED,	 /* a port has or had it in use */
	SETTLED_PLANNED, /* so says a plan that was not lost */
};

/* A port of a switch, in whatever skeleton. */
struct mark {
	uint64_t guid; /* 0: none */
	uint8_t num;
};

/* What is known of one LID. */
struct trace {
	uint64_t claimant; /* GUID, by a claim, or 0 */
	struct mark slot;  /* where tables lead */
	struct mark plane; /* an up port of a leaf through which they do */
	uint8_t in_table;  /* some table has a port for it, or a port had it */
	uint8_t settled;   /* enum settled */
};

struct pm_lid_history {
	struct pm_claim *claims; /* by GUID; low is 0 where it does not hold any more */
	uint32_t num_claims;
	struct trace *trace; /* [0..PM_MAX_LID] */
	bool unheeded;	     /* tables had news since the last plan */
};

/* The claim of a GUID that still holds, or NULL. */
struct pm_claim *history_claim(const struct pm_lid_history *history, uint64_t guid);

/* A marked port in a skeleton, or PM_NONE. */
uint32_t history_find(const struct pm_fabric *topology, const struct mark *mark);

/*
 * Settles the planned LIDs of ports that have them in use, or, with all, of all ports
 * that are there and so get them; these ports claim no others.
 */
void history_settle(struct pm_lid_history *history, const struct pm_plan *plan,
		    const struct pm_fabric *now, bool all);

/*
 * Settled LIDs without a place have an owner, which may be away, and report it elsewhere.
 */
void history_release(struct pm_lid_history *history, const struct pm_plan *plan);

#endif
