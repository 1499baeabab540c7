/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all parts of the repairer use: its lock, its phase, what interrupts it, errands.
 */
#include "repairer_parts.h"
#include "osm/sweep_flags.h"

void repairer_lock(struct repairer *r)
{
	pthread_mutex_lock(&r->signal.lock);
}

void repairer_unlock(struct repairer *r)
{
	pthread_cond_broadcast(&r->signal.changed);
	pthread_mutex_unlock(&r->signal.lock);
}

struct repairer_settings repairer_settings_of(struct repairer *r)
{
	struct repairer_settings settings;

	pthread_mutex_lock(&r->signal.lock);
	settings = r->settings;
	pthread_mutex_unlock(&r->signal.lock);
	return settings;
}

enum sweep_phase repairer_phase(const struct repairer *r)
{
	return (enum sweep_phase)atomic_load(&r->phase);
}

bool repairer_may_change(enum sweep_phase phase)
{
	return phase != PHASE_MANAGEMENT && phase != PHASE_ROUTING;
}

void repairer_try_again(struct tries *tries)
{
	double pause_ms = REPAIRER_REST_MS;

	if (tries->num < REPAIRER_RETRIES)
		pause_ms = REPAIRER_RETRY_MS << tries->num++;
	tries->due_ms = clock_ms() + pause_ms;
}

/* OpenSM may hand mastership over in the middle of a sweep, without an event. */
bool repairer_is_halted(void *context)
{
	const struct repairer *r = context;

	return atomic_load(&r->halted) ||
	       r->config.osm->subn.sm_state != IB_SMINFO_STATE_MASTER;
}

bool repairer_has_traps(void *context)
{
	const struct repairer *r = context;

	return r->config.repair && repair_count_traps(r->config.repair);
}

bool repairer_is_abandoned(struct repairer *r)
{
	bool abandon;

	pthread_mutex_lock(&r->signal.lock);
	abandon = r->abandon;
	pthread_mutex_unlock(&r->signal.lock);
	return abandon || repairer_is_halted(r);
}

bool repairer_has_errand(struct repairer *r)
{
	bool any;

	pthread_mutex_lock(&r->signal.lock);
	any = r->errand.run && r->running != JOB_ERRAND;
	pthread_mutex_unlock(&r->signal.lock);
	return any;
}

/* Whether one of the short jobs is due, which must not wait for the end of a long one. */
static bool is_short_due(const struct repairer *r)
{
	double now = clock_ms();

	for (enum job job = JOB_READ_PORTS; job <= JOB_SWEEP; job++)
		if (r->tries[job].due_ms > 0 && r->tries[job].due_ms <= now)
			return true;
	return false;
}

bool repairer_is_urgent(struct repairer *r)
{
	return repairer_has_traps(r) || repairer_has_errand(r) || is_short_due(r);
}

bool repairer_is_interrupted(void *context)
{
	return repairer_is_abandoned(context) || repairer_is_urgent(context);
}

/*
 * A sweep that is asked for in a discovery has OpenSM begin that anew at its end: one
 * that takes longer than the time between requests would never end. So it follows.
 */
void repairer_request_sweep(struct repairer *r)
{
	if (repairer_phase(r) == PHASE_DISCOVERY)
		r->sweep_follows = true;
	else
		repairer_force_sweep(r);
}

void repairer_begin_anew(struct repairer *r)
{
	bool few;

	if (repairer_phase(r) != PHASE_DISCOVERY || !r->config.throttle ||
	    !throttle_has_trap(r->config.throttle))
		return;
	repairer_lock(r);
	few = r->anew < ANEW_MOST;
	r->anew += few;
	repairer_unlock(r);
	if (few)
		sweep_flag_set(&r->config.osm->subn.force_heavy_sweep);
}

void repairer_force_sweep(struct repairer *r)
{
	r->sweep_follows = false;
	sweep_flag_set(&r->config.osm->subn.force_heavy_sweep);
	osm_sm_signal(&r->config.osm->sm, OSM_SIGNAL_SWEEP);
}

void repairer_request_reroute(struct repairer *r)
{
	sweep_flag_set(&r->config.osm->subn.force_reroute);
	osm_sm_signal(&r->config.osm->sm, OSM_SIGNAL_SWEEP);
}

void repairer_ask_sweep(struct repairer *r, const char *why, const char *ports)
{
	if (r->sweep_follows || !r->config.throttle ||
	    !throttle_has_trap(r->config.throttle) ||
	    !throttle_ask(r->config.throttle, clock_ms()))
		return;
	r->config.log_sweep(r->config.context, why, ports);
	repairer_request_sweep(r);
}

void repairer_note_tables(struct repairer *r, bool settled, bool changed)
{
	/*
	 * In other phases the switches get tables of the sweeper's view; entries that
	 * move onto cables that are back are not sent yet.
	 */
	settled = settled && repairer_may_change(repairer_phase(r)) &&
		  !repairer_is_halted(r) && r->view.current &&
		  r->transition.stage == TRANSITION_NONE &&
		  r->tries[JOB_MOVES].due_ms <= 0;
	r->config.note_tables(r->config.context, &r->view, settled, changed);
	repairer_tell_later(r);
}

void repairer_tell_later(struct repairer *r)
{
	if (r->tries[JOB_TELL].due_ms <= 0)
		r->tries[JOB_TELL].due_ms = clock_ms() + REPAIRER_TELL_MS;
}

void repairer_wake(struct repairer *r)
{
	worker_poke(r->worker);
}

void repairer_do(struct repairer *r, void (*run)(void *context), void *context)
{
	repairer_lock(r);
	r->errand = (struct errand){run, context};
	repairer_unlock(r);
	repairer_wake(r);
	repairer_lock(r);
	while (r->errand.run)
		clock_wait_briefly(&r->signal, REPAIRER_WAIT_MS);
	repairer_unlock(r);
}
