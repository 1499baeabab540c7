/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's jobs for links that come back. */
#include "repairer_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 20 /* for a trap to reach repairs, and its failure to be found */

/* Whether OpenSM may have PortInfo Sets out: the LID manager's, or the link manager's. */
static bool sets_ports(void *context)
{
	enum sweep_phase phase = repairer_phase(context);

	return phase == PHASE_MANAGEMENT || phase == PHASE_LINKS;
}

static void keep_before(struct repairer *r)
{
	uint32_t num = r->view.plan->topology->num_ports;

	if (r->before)
		return;
	r->before = malloc(num + 1u); /* without it the log says less */
	if (r->before)
		memcpy(r->before, r->view.discovered, num);
}

static int use_up(void *context, const uint8_t *up)
{
	struct repairer *r = context;

	keep_before(r);
	return repairer_update(r, up);
}

static void explain(void *context, uint32_t node, uint32_t traps)
{
	struct repairer *r = context;
	const struct pm_plan *plan = r->view.plan;

	if (r->config.repair && traps)
		repair_explain(r->config.repair,
			       plan->lid[plan->topology->nodes[node].first_port], traps);
}

/* Uses cables that are in service again: entries move onto them. */
static void use_back(struct repairer *r, const struct returned *done)
{
	if (done->num_whole && r->mcast)
		mcast_forget(r->mcast, &(struct mcast_doubt){.guids = done->whole,
							     .num = done->num_whole});
	if (!done->up)
		return;
	keep_before(r);
	if (!done->back)
		(void)repairer_update(r, done->up); /* none of those in use_up */
	if (!done->back || repairer_note_back(r, done->back, done->up) == -ECANCELED)
		return; /* a discovery finds them */
	repairer_lock(r);
	r->resend = true;
	repairer_unlock(r);
	r->groups_due = true;
}

/* Whether values of ports are known, of the view's plan. */
static bool is_ready(struct repairer *r)
{
	return r->config.returns && r->records.plan && !repairer_is_halted(r) &&
	       r->records.plan == r->view.plan && !repairer_update_first(r);
}

static bool run(struct repairer *r, bool look)
{
	const struct returns_subject subject = {
		.sender = &r->sender,
		.view = &r->view,
		.records = &r->records,
		.urgent = repairer_phase(r) != PHASE_IDLE,
		.look = look,
		.is_halted = repairer_is_halted,
		.sets_ports = sets_ports,
		.use = use_up,
		.explain = explain,
		.context = r,
	};
	struct returned done;
	bool any = returns_run(r->config.returns, &subject, &done);

	use_back(r, &done);
	r->tries[JOB_RETURN].due_ms = returns_due(r->config.returns);
	if (any)
		r->config.log_return(r->config.context, &done);
	if (done.number || done.left || done.held)
		repairer_note_tables(r, false, true);
	/* The SA knows a dropped host from a discovery on. */
	if (done.number && (done.unknown || !r->config.osm->subn.opt.sweep_on_trap))
		repairer_request_sweep(r);
	free(done.back);
	free(done.up);
	free(done.whole);
	return done.number;
}

bool repairer_return(struct repairer *r)
{
	return r->config.returns && returns_wait(r->config.returns) && is_ready(r) &&
	       run(r, false);
}

/* The repair of a failure comes first, and the trap that reports it, through OpenSM. */
bool repairer_look(struct repairer *r)
{
	double *due_ms = &r->tries[JOB_LOOK].due_ms;

	if (!r->config.returns || !is_ready(r) || repairer_has_traps(r) ||
	    returns_wait(r->config.returns) || r->tries[JOB_REPAIR].due_ms > 0)
		return false;
	if (!returns_are_unexplained(r->config.returns, r->view.plan)) {
		*due_ms = 0;
		return false;
	}
	if (*due_ms <= 0)
		*due_ms = clock_ms() + LOOK_MS;
	if (clock_ms() < *due_ms)
		return false;
	*due_ms = 0;
	return run(r, true);
}
