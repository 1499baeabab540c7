/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's jobs for links that come back. */
#include "repairer_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READ_MS 20	  /* for a trap to reach repairs, and its failure to be found */
#define READ_MOST 8	  /* switches to read */
#define OWN_MS 1000	  /* between Gets of the SM's own port */
#define OWN_DOWNS 2	  /* of these Gets, for a port that does not just retrain */
#define MOVES_MS 20	  /* without a return, until entries move: others may follow, */
#define MOVES_MOST_MS 200 /* but not for longer */
#define ERRORS_MS 500	  /* between checks for errors of a sweep */

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

static void explain(void *context, uint32_t node, uint32_t traps, uint32_t later,
		    bool coming)
{
	struct repairer *r = context;

	if (r->config.repair && traps)
		repair_explain(r->config.repair, returns_lid_of(r->view.plan, node),
			       traps, later, coming);
}

static void doubt(void *context, uint32_t node)
{
	struct repairer *r = context;

	if (r->config.repair)
		repair_doubt(r->config.repair, returns_lid_of(r->view.plan, node));
}

static void plan_moves(struct repairer *r)
{
	double now = clock_ms(), *due_ms = &r->tries[JOB_MOVES].due_ms;

	if (*due_ms <= 0)
		r->back_ms = now;
	*due_ms = fmin(now + MOVES_MS, r->back_ms + MOVES_MOST_MS);
}

/*
 * Entries move onto cables that are back once no others follow, and all traps are
 * explained: another part that entries would lead over may have flapped, and be found by
 * repairer_read_ports.
 */
bool repairer_use_back(struct repairer *r)
{
	double *due_ms = &r->tries[JOB_MOVES].due_ms;

	if (*due_ms <= 0 || clock_ms() < *due_ms || returns_wait(r->config.returns))
		return false;
	if (returns_are_unexplained(r->config.returns, &r->view)) {
		*due_ms = clock_ms() + READ_MS;
		return false;
	}
	*due_ms = 0;
	repairer_lock(r);
	r->resend = true;
	repairer_unlock(r);
	r->groups_due = true;
	return true;
}

/* Uses cables that are in service again; hosts are present, and no entries move. */
static void use_back(struct repairer *r, const struct returned *done)
{
	if (done->num_whole && r->mcast)
		mcast_forget(r->mcast, r->view.plan,
			     &(struct mcast_doubt){.guids = done->whole,
						   .num = done->num_whole});
	if (!done->up)
		return;
	if (done->cables)
		keep_before(r);
	if (!done->back) { /* none of those in use_up */
		if (!repairer_update(r, done->up))
			repairer_follow(r);
	} else if (repairer_note_back(r, done->back, done->up) != -ECANCELED &&
		   done->cables) {
		plan_moves(r); /* else a discovery finds them */
	}
}

/* Whether values of ports are known, of the view's plan. */
static bool is_ready(struct repairer *r)
{
	return r->config.returns && r->records.plan && !repairer_is_halted(r) &&
	       r->records.plan == r->view.plan && !repairer_update_first(r);
}

/* ---- Sweeps ---- */

/* The SA knows a host that was dropped from a discovery on. */
static void ask_for_hosts(struct repairer *r)
{
	if (r->config.throttle && throttle_has_trap(r->config.throttle))
		throttle_hasten(r->config.throttle, clock_ms());
	else
		repairer_request_sweep(r);
}

/* Whether what waits is as it was noted, its time within a second. */
static bool is_noted(const struct repairer *r, const struct throttle_wait *wait)
{
	return wait->since == r->noted.since && wait->traps_ever == r->noted.traps_ever &&
	       fabs(wait->until - r->noted.until) < 1e3;
}

/*
 * If Sets of a sweep have failed, no event ends it, and OpenSM's next one comes at
 * sweep_interval; traps that it has not seen are for one at once. Returns when to check
 * again.
 */
static double judge_errors(struct repairer *r)
{
	if (r->config.osm->subn.subnet_initialization_error)
		repairer_ask_sweep(r, "the last one had errors", "");
	return repairer_phase(r) == PHASE_IDLE ? 0 : clock_ms() + ERRORS_MS;
}

bool repairer_sweep(struct repairer *r)
{
	struct throttle *throttle = r->config.throttle;
	struct throttle_wait wait;
	double check_ms = 0;
	bool due;

	if (r->sweep_follows)
		repairer_request_sweep(r);
	if (!throttle)
		return false;
	wait = throttle_waits(throttle);
	if (repairer_settings_of(r).throttle_sweeps && !repairer_is_halted(r))
		check_ms = judge_errors(r);
	due = wait.until > 0 && wait.until <= clock_ms();
	if (due && throttle_request(throttle, clock_ms()))
		repairer_force_sweep(r);
	if (due)
		wait.since = wait.until = 0;
	r->tries[JOB_SWEEP].due_ms =
		check_ms > 0 && (wait.until <= 0 || check_ms < wait.until) ? check_ms
									   : wait.until;
	/* What has not been read may need a sweep at once. */
	if (!is_noted(r, &wait) && (wait.since <= 0 || !throttle_count(throttle))) {
		r->config.note_wait(r->config.context, &wait,
				    wait.since > 0 &&
					    (wait.since != r->noted.since ||
					     wait.until < r->noted.until - 1e3));
		r->noted = wait;
	}
	return false;
}

/* ---- Returns ---- */

static struct returns_subject subject_of(struct repairer *r, const uint8_t *reported,
					 bool read_all)
{
	enum sweep_phase phase = repairer_phase(r);

	return (struct returns_subject){
		.sender = &r->sender,
		.view = &r->view,
		.records = &r->records,
		.idle = phase == PHASE_IDLE,
		.found = phase > PHASE_DISCOVERY,
		.read_all = read_all,
		.reported = reported,
		.is_halted = repairer_is_halted,
		.sets_ports = sets_ports,
		.use = use_up,
		.explain = explain,
		.doubt = doubt,
		.context = r,
	};
}

void repairer_follow(struct repairer *r)
{
	const struct returns_subject subject = subject_of(r, NULL, false);
	struct returned done;

	if (!r->config.returns || repairer_is_halted(r))
		return;
	returns_follow(r->config.returns, &subject, &done);
	if (done.blocks)
		r->config.log_return(r->config.context, &done);
}

static void run(struct repairer *r, const uint8_t *reported, bool read_all,
		struct returned *done)
{
	enum sweep_phase phase = repairer_phase(r);
	const struct returns_subject subject = subject_of(r, reported, read_all);
	bool any = returns_run(r->config.returns, &subject, done);

	use_back(r, done);
	r->tries[JOB_RETURN].due_ms = returns_due(r->config.returns);
	if (any)
		r->config.log_return(r->config.context, done);
	if (done->number || done->left || done->deferred)
		repairer_note_tables(r, false, true);
	if (done->gone)
		repairer_tell_later(r);
	if (done->missed)
		repairer_ask_sweep(r, "a link that came back is left to it",
				   done->left_links);
	if (done->strange)
		repairer_ask_sweep(r, "ports are not as they were", done->strange_ports);
	if (done->number && done->unknown && phase != PHASE_DISCOVERY)
		ask_for_hosts(r);
	else if (done->number && !r->config.osm->subn.opt.sweep_on_trap)
		repairer_request_sweep(r);
}

static void free_returned(struct returned *done)
{
	free(done->back);
	free(done->up);
	free(done->whole);
	free(done->fits);
}

bool repairer_return(struct repairer *r)
{
	struct returned done;

	if (!r->config.returns || !returns_wait(r->config.returns) || !is_ready(r))
		return false;
	run(r, NULL, false, &done);
	free_returned(&done);
	return done.number;
}

/* ---- Switches that report changes ---- */

/* The switch that had this LID when it reported; or PM_NONE, as the plan may be newer. */
static uint32_t node_of(const struct repairer *r, uint16_t lid)
{
	const struct pm_plan *plan = r->view.plan;
	uint32_t port = lid <= plan->top_lid ? plan->owner[lid] : PM_NONE;

	return port != PM_NONE && !plan->topology->ports[port].num
		       ? plan->topology->ports[port].node
		       : PM_NONE;
}

/* Confirms the switches that are as they are known; the others are read again. */
static void judge_read(struct repairer *r, const uint16_t *lids, uint32_t num,
		       const struct returned *done)
{
	struct tries *tries = &r->tries[JOB_READ_PORTS];
	bool rest = false;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t node = node_of(r, lids[i]);
		bool fits = done->fits && node != PM_NONE && done->fits[node];

		throttle_confirm(r->config.throttle, lids[i], fits);
		rest |= !fits;
	}
	if (!rest) {
		tries->num = 0;
		return;
	}
	if (tries->num == REPAIRER_RETRIES)
		repairer_ask_sweep(r, "a switch with changes cannot be read", "");
	repairer_try_again(tries); /* until the sweep, which may be due already */
}

/* Reads all ports of a few switches; a discovery is cheaper for many. */
static void read_reported(struct repairer *r)
{
	const struct pm_plan *plan = r->view.plan;
	uint8_t *reported = calloc(plan->topology->num_switches + 1u, 1);
	uint16_t lids[READ_MOST];
	uint32_t num = 0;
	struct returned done;

	if (r->config.throttle && reported)
		num = throttle_take(r->config.throttle, lids, READ_MOST);
	if (num > READ_MOST) {
		repairer_ask_sweep(r, "many switches report changes", "");
		num = READ_MOST;
	}
	for (uint32_t i = 0; i < num; i++)
		if (node_of(r, lids[i]) != PM_NONE)
			reported[node_of(r, lids[i])] = 1;
	run(r, reported, true, &done);
	judge_read(r, lids, num, &done);
	free_returned(&done);
	free(reported);
}

static bool any_to_read(const struct repairer *r)
{
	return returns_are_unexplained(r->config.returns, &r->view) ||
	       (r->config.throttle && throttle_count(r->config.throttle));
}

/*
 * Returns and repairs come first, and the trap that reports a failure, through OpenSM;
 * and entries that are about to move, unless they wait for what is found here.
 */
bool repairer_read_ports(struct repairer *r)
{
	double *due_ms = &r->tries[JOB_READ_PORTS].due_ms,
	       moves_ms = r->tries[JOB_MOVES].due_ms;

	if (!r->config.returns || !is_ready(r) || repairer_has_traps(r) ||
	    returns_wait(r->config.returns) || r->tries[JOB_REPAIR].due_ms > 0 ||
	    !any_to_read(r)) {
		*due_ms = 0;
		return false;
	}
	if (*due_ms <= 0)
		*due_ms = clock_ms() + READ_MS;
	if (moves_ms > 0 && !returns_are_unexplained(r->config.returns, &r->view)) {
		*due_ms = fmax(*due_ms, moves_ms + 1);
		return false;
	}
	if (clock_ms() < *due_ms)
		return false;
	*due_ms = 0;
	read_reported(r);
	return true;
}

/* ---- The SM's own port ---- */

static enum smp_make make_own(void *context, uint32_t index, struct smp_request *smp)
{
	const struct repairer *r = context;
	const osm_subn_t *subn = &r->config.osm->subn;
	const osm_port_t *port = osm_get_port_by_guid(subn, subn->sm_port_guid);

	(void)index;
	if (!port || port->p_node->sw)
		return SMP_OMIT;
	smp->kind = SMP_PORT_INFO;
	smp->guid = osm_node_get_node_guid(port->p_node);
	smp->m_key = port->p_physp->port_info.m_key;
	smp->modifier = osm_physp_get_port_num(port->p_physp);
	return SMP_SEND; /* without a hop */
}

static bool take_own(void *context, const struct smp_answer *answer)
{
	struct repairer *r = context;
	uint8_t state = ib_port_info_get_port_state((const ib_port_info_t *)answer->data);

	if (answer->outcome == SMP_ANSWERED)
		r->own_downs = state == IB_LINK_DOWN ? r->own_downs + 1 : 0;
	if (answer->outcome == SMP_ANSWERED &&
	    (state == IB_LINK_INIT || state == IB_LINK_ARMED))
		returns_note_port(r->config.returns, &r->view, r->view.detours.sm);
	return true;
}

bool repairer_watch_own(struct repairer *r)
{
	double *due_ms = &r->tries[JOB_OWN].due_ms;
	struct smp_count count = {0};

	if (!r->config.returns || !is_ready(r) || r->view.detours.sm == PM_NONE) {
		*due_ms = 0;
		r->own_downs = 0;
		r->config.note_own(r->config.context, false);
		return false;
	}
	if (clock_ms() < *due_ms)
		return false;
	*due_ms = clock_ms() + OWN_MS;
	smp_run(r->config.smps,
		&(struct smp_batch){.num = 1,
				    .ahead = SMP_AHEAD,
				    .ahead_most = SMP_AHEAD_MOST,
				    .total_ms = OWN_MS / 10,
				    .context = r,
				    .make = make_own,
				    .take = take_own},
		&count);
	r->config.note_own(r->config.context, r->own_downs >= OWN_DOWNS);
	return returns_wait(r->config.returns);
}
