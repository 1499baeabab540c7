/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread that sends the plugin's SMPs, with its table of jobs. */
#include "repairer_parts.h"

#include <float.h>
#include <stdlib.h>

#define FINISH_MS 3000 /* a discovery's longest wait for a repair */
#define RETURN_MS 1000 /* its longest wait for Sets of ports */
#define LATER_MS 1000  /* until failed work is tried again */

/* A set of phases. */
#define DURING(phase) (1u << PHASE_##phase)
#define ANY ((1u << PHASES) - 1)

/* ---- Jobs ---- */

static bool run_errand(struct repairer *r)
{
	struct errand errand;

	repairer_lock(r);
	errand = r->errand;
	repairer_unlock(r);
	if (!errand.run)
		return false;
	errand.run(errand.context);
	repairer_lock(r);
	r->errand = (struct errand){NULL, NULL}; /* it is over */
	repairer_unlock(r);
	return true;
}

static const struct {
	bool (*run)(struct repairer *r);
	unsigned int phases; /* in which it may run; most jobs check more closely */
} jobs[JOBS] = {
	[JOB_ERRAND] = {run_errand, ANY},
	[JOB_RETURN] = {repairer_return, ANY},
	[JOB_REPAIR] = {repairer_repair, ANY},
	[JOB_READ_PORTS] = {repairer_read_ports, ANY},
	[JOB_MOVES] = {repairer_use_back, ANY},
	[JOB_SWEEP] = {repairer_sweep, ANY},
	[JOB_OWN] = {repairer_watch_own, ANY},
	[JOB_TRANSITION] = {repairer_follow_drains,
			    ANY}, /* begins where tables may change */
	/* Packets over links that wait for OpenSM to activate them would be lost. */
	[JOB_REBALANCE] = {repairer_rebalance, DURING(IDLE) | DURING(DISCOVERY)},
	/* After OpenSM's blocks, for which the sweeper waits. */
	[JOB_GROUPS] = {repairer_route, ANY & ~DURING(ROUTING)},
	/* In a sweep the sweeper takes over what was found, and tells it. */
	[JOB_TELL] = {repairer_tell, DURING(IDLE)},
	[JOB_SEARCH] = {repairer_search, DURING(IDLE)},
	[JOB_CHECK] = {repairer_check, ANY}, /* reads in PHASE_IDLE */
};

/*
 * Whether the job may run; then the sweeper knows it. Reads the phase with the lock held:
 * see repairer_take_balance.
 */
static bool begin(struct repairer *r, enum job job)
{
	bool may;

	repairer_lock(r);
	may = (jobs[job].phases >> repairer_phase(r)) & 1;
	if (may)
		r->running = job;
	repairer_unlock(r);
	return may;
}

static void end(struct repairer *r)
{
	repairer_lock(r);
	r->running = JOBS;
	repairer_unlock(r);
}

/* Runs a piece of each job; false: there was nothing to do. */
static bool run_jobs(struct repairer *r)
{
	bool any = false;

	repairer_take_over(r);
	repairer_copy_records(r);
	repairer_check_overflow(r);
	for (enum job job = 0; job < JOBS && !(job && repairer_has_errand(r)); job++) {
		if (!begin(r, job))
			continue;
		any |= jobs[job].run(r);
		end(r);
	}
	return any || repairer_has_errand(r);
}

/*
 * When the next try is due, or DBL_MAX. Work that is due already waits for a view, a
 * phase or the end of traps, which wake the thread; or for memory.
 */
static double next_round(const struct repairer *r)
{
	double now = clock_ms(), next = DBL_MAX;

	for (enum job job = 0; job < JOBS; job++) {
		double due = r->tries[job].due_ms, at = due > now ? due : now + LATER_MS;

		if (due > 0 && at < next)
			next = at;
	}
	return next;
}

static double make_round(void *context, bool last)
{
	struct repairer *r = context;

	if (last)
		return DBL_MAX;
	repairer_leave_drains(r);
	while (run_jobs(r) && !osm_exit_flag)
		;
	return next_round(r);
}

void repairer_note_set_down(struct repairer *r, uint64_t guid, uint8_t num)
{
	repairer_lock(r);
	r->set_down[r->num_set_down % SET_DOWN_MOST].guid = guid;
	r->set_down[r->num_set_down % SET_DOWN_MOST].at_ms = clock_ms();
	r->set_down[r->num_set_down++ % SET_DOWN_MOST].num = num;
	repairer_unlock(r);
}

void repairer_note_trap(struct repairer *r, const ib_mad_notice_attr_t *notice)
{
	if (!repairer_has_traps(r))
		atomic_store(&r->trap_phase, atomic_load(&r->phase));
	if (repair_note_trap(r->config.repair, notice))
		repairer_wake(r);
}

/*
 * Whether the plugin can deal with a trap of this switch alone: its view is valid, and
 * OpenSM has set all ports once. An operator may want no sweep, either.
 */
static bool is_throttled(struct repairer *r, uint16_t lid)
{
	const osm_subn_t *subn = &r->config.osm->subn;

	return r->config.throttle && subn->opt.sweep_on_trap &&
	       !subn->first_time_master_sweep && !subn->coming_out_of_standby &&
	       !repairer_is_halted(r) && repairer_settings_of(r).throttle_sweeps &&
	       r->config.repair && repair_has_switch(r->config.repair, lid);
}

bool repairer_note_early_trap(struct repairer *r, const ib_mad_notice_attr_t *notice)
{
	uint16_t lid = cl_ntoh16(notice->data_details.ntc_128.sw_lid);
	bool ours;

	if (!r->config.returns || !returns_note_trap(r->config.returns, notice))
		return false;
	ours = is_throttled(r, lid);
	if (ours)
		throttle_note_trap(r->config.throttle, lid, clock_ms());
	if (r->config.repair)
		repair_expect(r->config.repair, lid);
	repairer_wake(r);
	return ours;
}

/* ---- The sweeper ---- */

void repairer_set_phase(struct repairer *r, enum sweep_phase phase)
{
	atomic_store(&r->sender.routing, phase == PHASE_ROUTING);
	atomic_store(&r->phase, phase);
	repairer_lock(r);
	if (phase == PHASE_IDLE) {
		r->served = false;
		r->records_due = true;
		r->anew = 0;
	}
	repairer_unlock(r);
	if (r->config.returns)
		returns_hurry(r->config.returns); /* it checks the phase */
	repairer_wake(r);
}

void repairer_settle_returns(struct repairer *r, bool links)
{
	double first = r->config.returns ? returns_settle(r->config.returns,
							  &r->config.osm->subn, links)
					 : 0;

	if (first > 0 && r->config.throttle)
		throttle_hasten(r->config.throttle, first);
}

void repairer_end_returns(struct repairer *r)
{
	double until_ms = clock_ms() + RETURN_MS;

	repairer_lock(r);
	while ((r->running == JOB_RETURN || r->running == JOB_READ_PORTS) &&
	       clock_ms() < until_ms && !osm_exit_flag)
		clock_wait_briefly(&r->signal, REPAIRER_WAIT_MS);
	repairer_unlock(r);
	CL_PLOCK_EXCL_ACQUIRE(&r->config.osm->lock);
	repairer_settle_returns(r, repairer_phase(r) == PHASE_MANAGEMENT);
	CL_PLOCK_RELEASE(&r->config.osm->lock);
}

void repairer_resend(struct repairer *r)
{
	repairer_lock(r);
	r->resend = true;
	repairer_unlock(r);
	repairer_wake(r);
}

struct lft_sender *repairer_sender(struct repairer *r)
{
	return &r->sender;
}

/*
 * Waits a little for the end of repairs. True: they have ended, or the thread does other
 * work, which no trap makes it leave, and the time for a first trap is over.
 */
static bool is_finished(struct repairer *r)
{
	bool traps = repairer_has_traps(r), elsewhere, over;

	repairer_lock(r);
	elsewhere = r->running > JOB_OWN && r->running != JOBS && !traps;
	over = !r->finishing || (elsewhere && clock_ms() >= r->first_trap_ms);
	if (!over)
		clock_wait_briefly(&r->signal, REPAIRER_WAIT_MS);
	repairer_unlock(r);
	return over;
}

void repairer_finish(struct repairer *r, uint32_t wait_ms)
{
	double start = clock_ms();

	repairer_lock(r);
	r->first_trap_ms = start + (r->served ? 0 : wait_ms);
	r->finishing = true;
	repairer_unlock(r);
	repairer_wake(r);
	while (!is_finished(r) && !osm_exit_flag && clock_ms() < start + FINISH_MS)
		;
	repairer_lock(r);
	r->finishing = false;
	repairer_unlock(r);
}

/* ---- Begin and end ---- */

struct repairer *repairer_start(const struct repairer_config *config)
{
	struct repairer *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->config = *config;
	r->settings = config->settings;
	r->sender.osm = config->osm;
	r->sender.smps = config->smps;
	r->running = JOBS;
	r->mcast = mcast_start(config->smps, config->quiet);
	atomic_init(&r->sender.routing, false);
	atomic_init(&r->halted, true);
	atomic_init(&r->phase, PHASE_IDLE);
	atomic_init(&r->trap_phase, PHASE_IDLE);
	clock_signal_init(&r->signal);
	r->worker = worker_start("portmajor-send", make_round, r);
	if (r->worker)
		return r;
	clock_signal_destroy(&r->signal);
	mcast_free(r->mcast);
	free(r);
	return NULL;
}

void repairer_set(struct repairer *r, const struct repairer_settings *settings)
{
	repairer_lock(r);
	r->settings = *settings;
	repairer_unlock(r);
}

bool repairer_stop(struct repairer *r, double until_ms)
{
	if (!r)
		return true;
	atomic_store(&r->halted, true);
	return worker_stop(r->worker, until_ms);
}

void repairer_free(struct repairer *r)
{
	if (!r)
		return;
	worker_free(r->worker);
	clock_signal_destroy(&r->signal);
	transition_end(&r->transition);
	repairer_free_views(r);
	balance_forget(&r->balance);
	link_records_forget(&r->records);
	mcast_free(r->mcast);
	free(r);
}
