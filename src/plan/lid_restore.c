/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes plans with LIDs restored by LID history.
 *
 * Settled: a planned LID that its port uses, or has used according to a plan file. The
 *   place keeps it; from then on only the plan counts for this LID, even when the port
 *   has left.
 * Newcomer: a present port without its planned LID.
 * Evidence (best first) that a LID is another port's: guid2lid has it for another GUID;
 *   tables lead it to another slot; to some port.
 *
 * A LID that is not settled goes by the first of these rules that applies. Only rule 1
 * can replace a place's settled LID, and not one that a plan file settled:
 *
 *   1. guid2lid has it for a newcomer's GUID: that newcomer, at whatever place.
 *   2. Tables lead it to a newcomer's slot, and guid2lid has it for no other GUID: that
 *      newcomer.
 *   3. A newcomer reports it, guid2lid has it for no other GUID, and it is not beyond all
 *      tables: that newcomer. (This holds even if tables lead it to a slot that is empty
 *      now: the newcomer has moved from there.)
 *   4. Tables lead it to an empty slot: that slot, for its next port, which is likely the
 *      one that left. So installed entries can stay.
 *
 * A newcomer that gets none by these rules keeps the planned LID, unless there is
 * evidence that this is another port's: then it gets one of the second to fourth below
 * and, if there is none, keeps the planned one all the same.
 *
 * A place that loses its LID by these rules gets the first of these that exists. None of
 * the first four is another port's by any evidence:
 *
 *   - the former LID of the place that took it: the two places exchange LIDs;
 *   - one of its plane's runs;
 *   - one of a new run;
 *   - any other;
 *   - one that is another port's by the weakest evidence.
 *
 * If the place of a settled LID later gets another LID for a new port, the former LID
 * counts as somebody's (enum strength).
 */
#include "lid_history_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>

/* How strong the evidence is that a LID without a place has an owner. */
enum strength {
	FREE,
	SOMEBODYS, /* tables lead to some port, or it was in use */
	OF_SLOT,   /* tables lead to a slot */
	OF_GUID,
};

struct restoring {
	const struct pm_plan *old;
	struct pm_plan *plan; /* the new plan */
	struct pm_lid_history *history;
	struct pm_lid_restore *restore;
	uint8_t *fixed;	 /* [LID] final: with its place, or without one */
	uint8_t *done;	 /* [port] the place's LID is final */
	uint32_t *comer; /* [port] the newcomer's port in the fabric, or PM_NONE */
};

static struct trace *trace_of(const struct restoring *r, uint32_t lid)
{
	return &r->history->trace[lid];
}

/* The GUID of the newcomer at a place, or 0. */
static uint64_t comer_guid(const struct restoring *r, uint32_t place)
{
	uint32_t port = r->comer[place];

	return port == PM_NONE ? 0 : r->restore->now->ports[port].guid;
}

/* Evidence that a LID has an owner other than this place or its newcomer. */
static enum strength strength_of(const struct restoring *r, uint32_t lid, uint32_t place)
{
	const struct trace *trace = trace_of(r, lid);
	uint32_t slot;

	if (trace->settled)
		return SOMEBODYS;
	if (trace->claimant)
		return trace->claimant == comer_guid(r, place) ? FREE : OF_GUID;
	slot = history_find(r->plan->topology, &trace->slot);
	if (slot != PM_NONE && r->plan->lid[slot])
		return slot == place ? FREE : OF_SLOT;
	return trace->in_table ? SOMEBODYS : FREE;
}

/* The strongest evidence over all LIDs of a place that has this one. */
static enum strength strongest(const struct restoring *r, uint32_t lid, uint32_t place)
{
	enum strength most = FREE;

	for (uint32_t k = 0;
	     k < pm_plan_num_lids(r->plan, place) && lid + k <= PM_MAX_LID; k++) {
		enum strength strength = strength_of(r, lid + k, place);

		if (strength > most)
			most = strength;
	}
	return most;
}

/* Whether the LID that a place had is settled. */
static enum settled settled_at(const struct restoring *r, uint32_t place)
{
	return trace_of(r, r->old->lid[place])->settled;
}

/* The plane through which tables led to the LID. (With LMC a slot has several.) */
static void restore_plane(const struct restoring *r, uint32_t place, uint32_t lid)
{
	const struct pm_plan *plan = r->plan;
	uint32_t port = history_find(plan->topology, &trace_of(r, lid)->plane);
	uint32_t plane = port == PM_NONE ? PM_NONE : plan->tree.plane[port];

	if (!plan->lmc && plane != PM_NONE &&
	    plan_leads_to(plan, plane, plan->topology->ports[place].node))
		plan->plane[place] = plane;
}

/* Gives a place its former LIDs, if they fit; other places lose these. */
static void take_lids(struct restoring *r, uint32_t place, uint32_t lid)
{
	if (lid + pm_plan_num_lids(r->plan, place) - 1 > r->restore->max_lid ||
	    !plan_keep_place(r->plan, place, lid, r->fixed))
		return;
	r->done[place] = 1;
	r->restore->restored += r->old->lid[place] != lid;
	restore_plane(r, place, lid);
}

/* ---- The rules ---- */

static void take_claimed(struct restoring *r)
{
	for (uint32_t i = 0; i < r->plan->topology->num_ports; i++) {
		uint64_t guid = comer_guid(r, i);
		const struct pm_claim *claim =
			guid ? history_claim(r->history, guid) : NULL;

		if (claim && settled_at(r, i) != SETTLED_PLANNED &&
		    strongest(r, claim->low, i) != OF_GUID)
			take_lids(r, i, claim->low);
	}
}

/* Whether tables lead to one slot for all LIDs of a place. */
static bool same_slot(const struct restoring *r, uint32_t lid, uint32_t place)
{
	for (uint32_t k = 0; k < pm_plan_num_lids(r->plan, place); k++)
		if (lid + k > PM_MAX_LID ||
		    history_find(r->plan->topology, &trace_of(r, lid + k)->slot) != place)
			return false;
	return true;
}

/*
 * Restores LIDs by tables: for slots of newcomers or for empty ones; LIDs with an owner
 * in guid2lid or without. (A newcomer has had its chance at LIDs with an owner.)
 */
static void take_slots(struct restoring *r, bool comers, bool claimed)
{
	for (uint32_t lid = 1; lid <= r->restore->max_lid; lid++) {
		const struct trace *trace = trace_of(r, lid);
		uint32_t i = r->fixed[lid] || !trace->claimant == claimed
				     ? PM_NONE
				     : history_find(r->plan->topology, &trace->slot);

		if (i == PM_NONE || !r->old->lid[i] || r->done[i] || settled_at(r, i) ||
		    (r->comer[i] != PM_NONE) != comers || !same_slot(r, lid, i))
			continue;
		if (!comers || strongest(r, lid, i) != OF_GUID)
			take_lids(r, i, lid);
	}
}

/* Takes no LID beyond the present tables: it may come from another fabric. */
static void take_reported(struct restoring *r)
{
	uint32_t end = pm_plan_blocks(r->old) * PM_LFT_BLOCK;

	for (uint32_t i = 0; i < r->plan->topology->num_ports; i++) {
		uint32_t lid = r->comer[i] == PM_NONE
				       ? 0
				       : r->restore->now->ports[r->comer[i]].lid;
		uint32_t num = pm_plan_num_lids(r->plan, i);

		if (!lid || r->done[i] || settled_at(r, i) ||
		    lid + num - 1 > r->restore->max_lid ||
		    (lid + num > end && !trace_of(r, lid)->in_table))
			continue;
		if (strongest(r, lid, i) != OF_GUID)
			take_lids(r, i, lid);
	}
}

/* ---- Places that lost their LID ---- */

/* The first LID from `from` on that a place may have, or 0. */
static uint32_t find_lid(const struct restoring *r, uint32_t place, uint32_t from,
			 uint32_t to, enum strength strength)
{
	uint32_t num = pm_plan_num_lids(r->plan, place);

	if (to > r->restore->max_lid)
		to = r->restore->max_lid;
	for (uint32_t lid = from; lid + num - 1 <= to; lid++)
		if (plan_is_free(r->plan, lid, num) &&
		    strongest(r, lid, place) <= strength)
			return lid;
	return 0;
}

/*
 * The former LID of the place that took this one's LID. Where a third place took that,
 * goes on with the third place. 0 if the LID is gone.
 */
static uint32_t find_left(const struct restoring *r, uint32_t place)
{
	uint32_t num = pm_plan_num_lids(r->plan, place), lid = r->old->lid[place];

	for (uint32_t steps = 0; steps < r->plan->topology->num_ports; steps++) {
		uint32_t by = r->plan->owner[lid];

		if (by == PM_NONE)
			break;
		lid = r->old->lid[by];
	}
	return plan_is_free(r->plan, lid, num) && !strongest(r, lid, place) ? lid : 0;
}

/* Adds a run for a place's plane, behind all runs. *lid stays 0 if there is no room. */
static int add_run(struct restoring *r, uint32_t place, uint32_t *lid,
		   struct pm_error *err)
{
	struct pm_plan *plan = r->plan;
	uint32_t start = PM_LFT_BLOCK;

	for (uint32_t i = 0; i < plan->num_runs; i++)
		if ((uint32_t)plan->runs[i].start + plan->runs[i].length > start)
			start = (uint32_t)plan->runs[i].start + plan->runs[i].length;
	plan_find_top(plan);
	if (plan->top_lid >= start)
		start = plan->top_lid + 1u;
	start = (start + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK * PM_LFT_BLOCK;
	for (; start + PM_LFT_BLOCK - 1 <= r->restore->max_lid; start += PM_LFT_BLOCK) {
		*lid = find_lid(r, place, start, start + PM_LFT_BLOCK - 1, FREE);
		if (*lid)
			return plan_add_run(plan, start, PM_LFT_BLOCK, plan->plane[place],
					    err);
	}
	return 0;
}

/* Another LID for a place. *lid is 0 if all have owners by evidence above `most`. */
static int find_other(struct restoring *r, uint32_t place, enum strength most,
		      uint32_t *lid, struct pm_error *err)
{
	bool grouped = r->plan->order == PM_GROUPED;
	int rc = 0;

	*lid = r->plan->lid[place] ? 0 : find_left(r, place);
	for (uint32_t i = 0; grouped && !*lid && i < r->plan->num_runs; i++) {
		const struct pm_run *run = &r->plan->runs[i];

		if (run->plane == r->plan->plane[place])
			*lid = find_lid(r, place, run->start,
					(uint32_t)run->start + run->length - 1, FREE);
	}
	if (grouped && !*lid)
		rc = add_run(r, place, lid, err);
	for (enum strength s = FREE; !rc && !*lid && s <= most; s++)
		*lid = find_lid(r, place, 1, r->restore->max_lid, s);
	return rc;
}

static void note_given_away(struct restoring *r, uint32_t lid)
{
	struct pm_lid_restore *restore = r->restore;

	if (restore->given_away < PM_LID_RESTORE_NAMED) {
		restore->away[restore->given_away].lid = (uint16_t)lid;
		restore->away[restore->given_away].guid = trace_of(r, lid)->claimant;
	}
	restore->given_away++;
}

/* Gives a newcomer's place another LID if it has none, or an owned one by history. */
static int give_comer(struct restoring *r, uint32_t place, struct pm_error *err)
{
	uint32_t has = r->plan->lid[place], lid;
	int rc;

	if (has && strongest(r, has, place) == FREE)
		return 0;
	rc = find_other(r, place, has ? FREE : OF_GUID, &lid, err);
	if (rc)
		return rc;
	if (lid) {
		plan_take_back(r->plan, place);
		plan_give_lids(r->plan, place, lid);
	} else if (!has) {
		return pm_error_set(err, -ENOSPC, "no LID up to %u is free",
				    r->restore->max_lid);
	}
	lid = r->plan->lid[place];
	if (strongest(r, lid, place) != FREE)
		note_given_away(r, lid);
	return 0;
}

static int give_empty(struct restoring *r, uint32_t place, struct pm_error *err)
{
	uint32_t lid;
	int rc = find_other(r, place, OF_GUID, &lid, err);

	if (!rc && !lid)
		rc = pm_error_set(err, -ENOSPC, "no LID up to %u is free",
				  r->restore->max_lid);
	if (!rc)
		plan_give_lids(r->plan, place, lid);
	return rc;
}

/* Newcomers get theirs first. */
static int give_others(struct restoring *r, struct pm_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->plan->topology->num_ports && !rc; i++)
		if (r->comer[i] != PM_NONE && !r->done[i] && !settled_at(r, i))
			rc = give_comer(r, i, err);
	for (uint32_t i = 0; i < r->plan->topology->num_ports && !rc; i++)
		if (r->old->lid[i] && !r->plan->lid[i])
			rc = give_empty(r, i, err);
	return rc;
}

/* ---- All of it ---- */

/* Finds the newcomers; returns whether there are any. */
static bool find_comers(struct restoring *r)
{
	const struct pm_fabric *now = r->restore->now;
	bool any = false;

	for (uint32_t i = 0; i < r->old->topology->num_ports; i++) {
		uint32_t port = r->old->lid[i] ? plan_end_port(r->old, now, i) : PM_NONE;

		if (port != PM_NONE && now->ports[port].lid == r->old->lid[i])
			port = PM_NONE; /* in use */
		r->comer[i] = port;
		any |= port != PM_NONE;
	}
	return any;
}

static int restore_all(struct restoring *r, struct pm_error *err)
{
	for (uint32_t lid = 0; lid <= PM_MAX_LID; lid++)
		r->fixed[lid] = trace_of(r, lid)->settled != SETTLED_NOT;
	take_claimed(r);
	take_slots(r, true, false);
	take_reported(r);
	take_slots(r, false, true);
	take_slots(r, false, false);
	return give_others(r, err);
}

static bool differs(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t num = a->topology->num_ports;

	return memcmp(a->lid, b->lid, num * sizeof(*a->lid)) ||
	       memcmp(a->plane, b->plane, num * sizeof(*a->plane));
}

int pm_plan_restore_lids(const struct pm_plan *plan, struct pm_lid_history *history,
			 struct pm_lid_restore *restore, struct pm_plan **restored,
			 struct pm_error *err)
{
	uint32_t num = plan->topology->num_ports;
	struct pm_pool pool = {0};
	struct restoring r = {
		.old = plan,
		.history = history,
		.restore = restore,
		.fixed = pm_pool_array(&pool, PM_MAX_LID + 1u, 1),
		.done = pm_pool_array(&pool, num, 1),
		.comer = pm_pool_array(&pool, num, sizeof(*r.comer)),
	};
	int rc = pm_pool_check(&pool, err);

	restore->restored = restore->given_away = 0;
	if (restore->max_lid > PM_MAX_LID)
		restore->max_lid = PM_MAX_LID;
	if (rc)
		goto out;
	history_settle(history, plan, restore->now, false);
	if (!find_comers(&r) && !history->tables_added) {
		*restored = NULL;
		goto out;
	}
	r.plan = plan_clone(plan, err);
	rc = r.plan ? restore_all(&r, err) : -ENOMEM;
	if (rc)
		goto out;
	history->tables_added = false;
	history_settle(history, r.plan, restore->now, true);
	history_release(history, r.plan);
	*restored = NULL;
	if (differs(r.plan, plan)) {
		plan_find_top(r.plan);
		*restored = r.plan;
		r.plan = NULL;
	}
out:
	pm_plan_free(r.plan);
	pm_pool_free(&pool);
	return rc;
}
