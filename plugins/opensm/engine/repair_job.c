/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's first job: repairs, and what of them was not acknowledged. */
#include "repairer_parts.h"

#include <stdlib.h>

/*
 * Decides when to try again what could not be found or sent: after OpenSM's blocks, or
 * soon, and with doubled delays. After REPAIRER_RETRIES tries it is left to the sweep,
 * which the same traps have requested. Returns whether no try is due.
 */
static bool note_rest(struct repairer *r, const struct repaired *done)
{
	struct tries *tries = &r->tries[JOB_REPAIR];
	bool rest = done->postponed || done->gave_up, over;

	r->traps_left = repair_count_traps(r->config.repair);
	over = rest && !done->halted && tries->num == REPAIRER_RETRIES;
	tries->due_ms = 0;
	if (done->postponed && repairer_phase(r) == PHASE_ROUTING)
		r->owed = true;
	else if (rest && !done->halted && !over)
		repairer_try_again(tries);
	if (!rest || over)
		tries->num = 0;
	if (over)
		repair_skip(r->config.repair, r->traps_left);
	return !rest || over;
}

/* Whether blocks wait that were withheld, or were postponed until OpenSM's are answered.
 */
static bool has_blocks(struct repairer *r)
{
	bool resend;

	repairer_lock(r);
	resend = r->resend;
	repairer_unlock(r);
	return resend || (r->owed && repairer_phase(r) != PHASE_ROUTING);
}

/* Whether the last repair gave up, its retry is not due, and nothing new has come. */
static bool is_early(struct repairer *r)
{
	/* Fewer traps: a discovery has handled some, and the present ones may be new. */
	return r->tries[JOB_REPAIR].due_ms > clock_ms() && !has_blocks(r) &&
	       repair_count_traps(r->config.repair) == r->traps_left;
}

/* With new work, the rest of the last repair is tried again, too. */
static bool take_resend(struct repairer *r)
{
	bool resend = has_blocks(r) || r->tries[JOB_REPAIR].due_ms > 0;

	r->owed = r->owed && repairer_phase(r) == PHASE_ROUTING;
	repairer_lock(r);
	r->resend = false;
	repairer_unlock(r);
	return resend;
}

/* Before blocks are sent: entries of others may lead to switches without a record. */
static int take_over(void *context)
{
	int rc = repairer_note_failed(context);

	if (!rc)
		repairer_follow(context);
	return rc;
}

/* Makes one repair; false: there was nothing to do. */
static bool repair_once(struct repairer *r, uint32_t wait_ms)
{
	struct repair_subject subject = {
		.sender = &r->sender,
		.view = &r->view,
		.records = &r->records,
		.budget_ms = repairer_settings_of(r).budget_ms,
		.wait_ms = wait_ms,
		.sweeping = repairer_phase(r) != PHASE_IDLE,
		.is_halted = repairer_is_halted,
		.take_over = take_over,
		.note_gone = repairer_note_gone,
		.note_init = repairer_note_init,
		.context = r,
	};
	enum sweep_phase phase = repairer_phase(r);
	struct repaired done;

	if (repairer_has_traps(r))
		phase = (enum sweep_phase)atomic_load(&r->trap_phase);

	if (!r->config.repair || repairer_is_halted(r) || is_early(r) ||
	    repairer_update_first(r))
		return false;
	subject.resend = take_resend(r);
	subject.before = r->before;
	if (!repair_run(r->config.repair, &subject, &done))
		return false;
	if (done.number || subject.resend) {
		free(r->before);
		r->before = NULL;
	}
	r->config.log_repair(r->config.context, phase, &done);
	if (done.gave_up && !done.halted)
		repairer_ask_sweep(r, "a repair gave up", done.gave_up);
	if (done.number && done.links_down)
		repairer_begin_anew(r);
	repairer_note_tables(r, note_rest(r, &done), done.number);
	r->groups_due |= done.number;
	/* Only a discovery ends a failure, and perhaps none is due. */
	if (done.number && !r->config.osm->subn.opt.sweep_on_trap)
		repairer_request_sweep(r);
	return true;
}

/*
 * While the sweeper waits for the end of repairs, a repair may wait for its first trap,
 * for the rest of the time that the sweeper has set.
 */
bool repairer_repair(struct repairer *r)
{
	double left_ms;
	bool finishing, any;

	repairer_lock(r);
	finishing = r->finishing;
	left_ms = finishing && !r->served ? r->first_trap_ms - clock_ms() : 0;
	repairer_unlock(r);
	any = repair_once(r, left_ms > 0 ? (uint32_t)left_ms : 0);
	repairer_lock(r);
	r->served |= any;
	if (finishing && !any)
		r->finishing = false;
	repairer_unlock(r);
	return any;
}

/* Whether a port was up at the last sweep, and was not found down since. With the lock.
 */
static bool is_left(const struct repairer *r, uint32_t port)
{
	const uint8_t *seen = r->without_tables ? r->discovered : r->view.discovered;

	return r->swept[port] && seen[port] &&
	       (!r->failed[port] || r->failed[port] >= VIEW_BACK);
}

/* A link that has just failed may be a flap: its host is not told as missing yet. */
static void exclude_gone(struct repairer *r, uint8_t *left)
{
	double first;

	if (!r->config.returns)
		return;
	first = returns_exclude_gone(r->config.returns, &r->view,
				     clock_ms() - REPAIRER_TELL_MS, left);
	if (first > 0)
		r->tries[JOB_TELL].due_ms = first + REPAIRER_TELL_MS;
}

bool repairer_tell(struct repairer *r)
{
	double *due_ms = &r->tries[JOB_TELL].due_ms;
	uint8_t *left;

	if (*due_ms <= 0 || clock_ms() < *due_ms)
		return false;
	*due_ms = 0;
	if (repairer_is_halted(r) || !r->view.plan)
		return false;
	left = malloc(r->view.plan->topology->num_ports + 1u);
	if (!left)
		return false;
	repairer_lock(r);
	for (uint32_t i = 0; i < r->view.plan->topology->num_ports; i++)
		left[i] = is_left(r, i);
	repairer_unlock(r);
	exclude_gone(r, left);
	r->config.note_missing(r->config.context, r->view.plan, left);
	free(left);
	return false;
}

void repairer_check_overflow(struct repairer *r)
{
	uint64_t dropped = 0;

	if (!r->config.repair || !repair_take_overflow(r->config.repair, &dropped))
		return;
	r->config.log_dropped(r->config.context, dropped);
	repairer_request_sweep(r);
}
