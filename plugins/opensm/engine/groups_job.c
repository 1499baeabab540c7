/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's jobs for multicast groups. */
#include "repairer_parts.h"

#define COMPARE_MS 5000 /* until groups are compared without a report */
#define REJOIN_MS 10000 /* for hosts to join a new master's groups */

/* Whether groups or links may have changed, or a retry is due. */
static bool are_groups_due(const struct repairer *r)
{
	double due_ms = r->tries[JOB_GROUPS].due_ms;

	return r->groups_due || atomic_load(&r->config.quiet->due) ||
	       (due_ms > 0 && clock_ms() >= due_ms);
}

static void note_groups(struct repairer *r, const struct mcast_done *done)
{
	struct tries *tries = &r->tries[JOB_GROUPS];

	if (done->wire.gave_up)
		repairer_try_again(tries);
	else
		*tries = (struct tries){
			.due_ms = done->compare_later ? clock_ms() + COMPARE_MS : 0};
}

/* True: it was interrupted. */
bool repairer_route(struct repairer *r)
{
	const struct mcast_subject subject = {
		.view = &r->view,
		.sweeping = repairer_phase(r) != PHASE_IDLE,
		.is_interrupted = repairer_is_interrupted,
		.context = r,
	};
	struct mcast_done done;

	if (!r->mcast || !are_groups_due(r) || repairer_is_halted(r) ||
	    repairer_has_traps(r) || repairer_update_first(r))
		return false;
	r->groups_due = false;
	if (mcast_run(r->mcast, &subject, &done))
		r->config.log_groups(r->config.context, &done);
	note_groups(r, &done);
	r->groups_due |= done.wire.interrupted;
	return done.wire.interrupted;
}

/* A sweep must not wait for work without hurry. */
static bool is_busy(void *context)
{
	return repairer_phase(context) != PHASE_IDLE || repairer_is_interrupted(context);
}

/* Searches blocks of MLIDs without a group. */
bool repairer_search(struct repairer *r)
{
	const struct mcast_subject subject = {
		.view = &r->view,
		.idle = true,
		.is_interrupted = is_busy,
		.context = r,
	};
	double *due_ms = &r->tries[JOB_SEARCH].due_ms;
	struct mcast_done done;
	bool again;

	if (!r->mcast || *due_ms <= 0 || clock_ms() < *due_ms || is_busy(r))
		return false;
	again = r->tries[JOB_GROUPS].num || are_groups_due(r);
	if (!again && mcast_search_above(r->mcast, &subject, &r->above, &done)) {
		again = done.wire.interrupted;
		done.wire.interrupted = false; /* the groups' tables are all sent */
		r->config.log_groups(r->config.context, &done);
	}
	*due_ms = again ? clock_ms() + REJOIN_MS : 0;
	return false; /* the rest is not urgent */
}

/* Tables of these switches are unknown, and all groups are routed. */
struct renewal {
	struct repairer *repairer;
	const struct mcast_doubt *doubt;
};

static void renew(void *context)
{
	const struct renewal *renewal = context;
	struct repairer *r = renewal->repairer;

	if (r->mcast && r->view.plan)
		mcast_forget(r->mcast, r->view.plan, renewal->doubt);
	r->groups_due = true;
	r->tries[JOB_GROUPS].num = 0;
	if (r->tries[JOB_SEARCH].due_ms <= 0) {
		r->tries[JOB_SEARCH].due_ms = clock_ms() + REJOIN_MS;
		r->above = 0;
	}
	repairer_route(r);
}

void repairer_route_groups(struct repairer *r, const struct mcast_doubt *doubt)
{
	repairer_do(r, renew, &(struct renewal){r, doubt});
}
