/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's job for drains: transitions. */
#include "repairer_parts.h"

#include "io/log.h"

#define TRANSITION_MS 2000 /* a routing run's longest wait for a transition's end */

static void log_transition(struct repairer *r, const struct transition_result *done)
{
	r->config.log_transition(r->config.context, ++r->num_transitions, done);
	if (!done->gave_up || repairer_is_halted(r))
		return;
	repairer_request_reroute(r); /* it sends what the records lack */
}

/*
 * Reads the present drains. Without memory the view is void, and the next routing run
 * follows the drains. If that run is due already, it follows the former drains; then
 * another sweep reads the present ones.
 */
static void take_drains(struct repairer *r)
{
	int taken = kept_requests_take_drains(r->config.requests, &r->view.drains);
	bool late, failed;

	repairer_lock(r);
	late = atomic_load(&r->halted);
	failed = taken < 0 ||
		 (!late && pm_drains_copy(&r->view.drains, &r->drained, NULL));
	if (failed) {
		r->validity = VOID;
		atomic_store(&r->halted, true);
	}
	repairer_unlock(r);
	if (failed)
		log_line(&r->config.osm->log, OSM_LOG_ERROR,
			 ": out of memory: the next sweep follows the drains");
	if (late || failed)
		repairer_request_sweep(r);
}

static void stop_changing(struct repairer *r)
{
	repairer_lock(r);
	r->in_transition = r->abandon = false;
	repairer_unlock(r);
}

/* From now on the sweeper waits for the transition's end; false: not in this phase. */
static bool claim_transition(struct repairer *r)
{
	bool may;

	repairer_lock(r);
	/* The phase is set before its sweeper takes the lock. */
	may = repairer_may_change(repairer_phase(r));
	r->in_transition = may;
	r->abandon = false;
	repairer_unlock(r);
	return may;
}

/* The same drains were requested anew: the state's document tells that. */
static void renumber_drains(struct repairer *r)
{
	take_drains(r);
	stop_changing(r);
	repairer_note_tables(r, r->tries[JOB_REPAIR].due_ms <= 0, true);
}

/* Begins another transition if drains have changed; returns whether it did. */
static bool begin_transition(struct repairer *r)
{
	char *change = r->transition.done.change;
	bool ready, differ;

	if (!repairer_may_change(repairer_phase(r)) ||
	    !kept_requests_has_drains(r->config.requests, &r->view.drains, &differ))
		return false;
	ready = !repairer_update_first(r); /* may take long */
	if (!claim_transition(r))
		return false;
	if (!differ) {
		renumber_drains(r);
		return false;
	}
	ready = ready && !transition_begin(&r->transition, &r->view);
	view_log(&r->view, change, TRANSITION_CHANGE_TEXT); /* logged already */
	take_drains(r);
	if (ready && !repairer_update(r, r->view.discovered)) {
		view_log(&r->view, change, TRANSITION_CHANGE_TEXT);
		return true;
	}
	transition_end(&r->transition);
	stop_changing(r);
	r->view.current = false;
	log_transition(r, &(struct transition_result){.change = "other drains",
						      .gave_up = "out of memory"});
	repairer_note_tables(r, false, true);
	return false;
}

static void end_transition(struct repairer *r)
{
	struct transition_result done = r->transition.done;

	transition_end(&r->transition);
	stop_changing(r);
	r->groups_due = true;
	log_transition(r, &done);
	repairer_note_tables(r, !done.gave_up, true);
}

/* Leaves the rest to the routing run. */
static void abandon_transition(struct repairer *r)
{
	r->transition.done.gave_up = "a routing run is due";
	r->view.current = false; /* its tables are those of a stage */
	end_transition(r);
}

bool repairer_follow_drains(struct repairer *r)
{
	const struct transition_subject subject = {&r->sender, &r->view,
						   repairer_is_interrupted, r};

	/* Waiting traps would interrupt it at once. */
	if (repairer_is_halted(r) || repairer_has_traps(r) ||
	    (r->transition.stage == TRANSITION_NONE && !begin_transition(r)))
		return false;
	if (transition_run(&r->transition, &subject))
		end_transition(r);
	else if (repairer_is_abandoned(r))
		abandon_transition(r);
	return true;
}

void repairer_leave_drains(struct repairer *r)
{
	if (repairer_is_void(r) && repairer_phase(r) == PHASE_IDLE &&
	    r->config.osm->routing_engine_used &&
	    kept_requests_claim_drains(r->config.requests, &r->view.drains))
		repairer_request_sweep(r);
}

bool repairer_take_drains(struct repairer *r, struct pm_drains *drains, bool wait)
{
	double until_ms = clock_ms() + (wait ? TRANSITION_MS : 0);
	bool differ;

	repairer_lock(r);
	while (r->in_transition && clock_ms() < until_ms && !osm_exit_flag)
		clock_wait_briefly(&r->signal, REPAIRER_WAIT_MS);
	r->abandon = r->in_transition;
	differ = r->validity != VOID && !pm_drains_equal(&r->drained, drains) &&
		 !pm_drains_copy(&r->drained, drains, NULL);
	if (r->validity != VOID && !differ && pm_drains_equal(&r->drained, drains))
		pm_drains_renumber(drains, &r->drained);
	repairer_unlock(r);
	return differ;
}
