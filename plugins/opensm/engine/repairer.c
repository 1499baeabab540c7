/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread that repairs and changes tables, and the data it shares with the sweeper. */
#include "repairer.h"

#include "clock.h"
#include "worker.h"
#include "io/log.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define TRANSITION_MS 2000 /* a routing run's longest wait for a transition's end */
#define FINISH_MS 3000	   /* a discovery's longest wait for a repair */
#define WAIT_MS 50	   /* between looks at other threads' work */
#define COMPARE_MS 5000	   /* until groups are compared without a report */
#define REJOIN_MS 10000	   /* for hosts to join a new master's groups */
#define LATER_MS 1000	   /* until failed work is tried again */

enum validity { VOID, VALID, HALTED };

/* A view that is prepared or handed over. */
struct handover {
	/* With memory and tables for another plan than in use, or empty. */
	struct view view;
	uint32_t serial; /* of the plan that it is prepared for; 0: none */
	uint32_t num_ports, num_switches;
	uint8_t *discovered, *believed, *unfit;
	struct pm_detours detours;
	struct pm_drains drains;
	struct pm_damping *damping;
	bool adopted; /* tables were found in the switches */
	bool ready;   /* it may be taken over */
};

struct repairer {
	struct repairer_config config;
	struct lft_sender sender;
	struct worker *worker;
	atomic_bool halted; /* the view is not valid, until one is taken over */
	atomic_int phase;
	atomic_int trap_phase; /* phase in which the first waiting trap came */
	struct clock_signal signal;
	/* under its lock: */
	struct repairer_settings settings;
	enum validity validity;
	bool busy, repairing, moving, rebalancing; /* rebalancing: a round is under way */
	bool resend;	      /* send blocks that were withheld or postponed */
	bool owed;	      /* blocks wait for OpenSM's */
	bool abandon;	      /* ends the transition */
	bool served;	      /* traps were handled since PHASE_IDLE began */
	struct handover next; /* the sweeper's until it is `ready` */
	uint8_t *discovered;  /* [port] at the take-over, less those found failed since */
	uint8_t *failed;      /* [port] found since the last repairer_take_failed */
	bool any_failed;
	struct pm_drains drained; /* drains of its view */
	struct balance balance;	  /* written by the thread that has acquired it */
	bool balanced;		  /* all tables became the plan's since the last take */
	/* of the thread that has acquired it: */
	struct view view;
	bool unlooked; /* no tables yet for the view that was taken over */
	struct transition transition;
	uint64_t num_moves;
	bool adopted;	/* tables were found in the switches .. */
	bool has_grown; /* .. while parts were absent that have come since */
	bool unmeasured;
	uint32_t resumed_rate; /* of rebalancing that another plan interrupted, or 0 */
	double rest_ms;	       /* until then none without a request, as one failed */
	uint32_t retries, traps_left; /* of a repair that gave up */
	double retry_ms;	      /* 0: nothing to try again */
	double rebalance_ms;	      /* 0: no rebalancing */
	struct mcast *mcast;	      /* NULL: multicast is OpenSM's */
	bool groups_due;	      /* usable links may have changed */
	uint32_t groups_retries;
	double groups_ms; /* 0: nothing to try again */
	double above_ms;  /* when to read blocks from `above` on; 0: done */
	uint32_t above;
};

static void lock(struct repairer *r)
{
	pthread_mutex_lock(&r->signal.lock);
}

/* Wakes waiting threads, too. */
static void unlock(struct repairer *r)
{
	pthread_cond_broadcast(&r->signal.changed);
	pthread_mutex_unlock(&r->signal.lock);
}

static struct repairer_settings settings_of(struct repairer *r)
{
	struct repairer_settings settings;

	pthread_mutex_lock(&r->signal.lock);
	settings = r->settings;
	pthread_mutex_unlock(&r->signal.lock);
	return settings;
}

static enum sweep_phase phase_of(const struct repairer *r)
{
	return (enum sweep_phase)atomic_load(&r->phase);
}

/* OpenSM may hand mastership over in the middle of a sweep, without an event. */
static bool is_halted(void *context)
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

/* ---- Taking over a view, on the thread that has acquired it ---- */

static uint32_t count_links(const struct pm_plan *plan)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		ends += plan->topology->ports[i].peer != PM_NONE;
	return ends / 2;
}

/* Takes over memory and tables that were prepared for another plan. */
static int change_plan(struct repairer *r)
{
	size_t num = r->next.num_ports + 1u;
	uint8_t *discovered = malloc(num), *failed = calloc(num, 1);

	if (!discovered || !failed) {
		free(discovered);
		free(failed);
		return -ENOMEM;
	}
	free(r->discovered);
	free(r->failed);
	r->discovered = discovered;
	r->failed = failed;
	r->has_grown = r->next.adopted && r->adopted &&
		       (r->has_grown ||
			count_links(r->next.view.plan) > count_links(r->view.plan));
	r->resumed_rate = r->balance.active ? r->balance.rate : 0;
	balance_forget(&r->balance);
	pm_plan_free((struct pm_plan *)(uintptr_t)r->view.plan);
	view_free(&r->view);
	r->view = r->next.view;
	r->next.view = (struct view){0};
	return 0;
}

/* Takes over the next view. With the lock held. Without memory the view is void. */
static void take_over(struct repairer *r)
{
	struct handover *next = &r->next;
	struct view *view = &r->view;

	if (!next->ready)
		return;
	next->ready = false;
	transition_end(&r->transition);
	r->view.current &= !r->moving;
	r->moving = r->abandon = false;
	if (next->view.plan && change_plan(r)) {
		r->validity = VOID;
		return;
	}
	memcpy(r->discovered, next->discovered, next->num_ports);
	memcpy(view->believed, next->believed, next->num_ports);
	memcpy(view->unfit, next->unfit, next->num_switches);
	view->current &= view->detours.sm == next->detours.sm &&
			 view->detours.switches == next->detours.switches;
	view->detours = next->detours;
	view->detours.spare = view->discovered;
	r->unlooked = true;
	/* Measures once more after the tables are no longer adopted ones. */
	r->unmeasured = next->adopted || r->adopted;
	r->adopted = next->adopted;
	r->rebalance_ms = 0;
	pm_drains_free(&view->drains);
	pm_damping_free(view->damping);
	view->drains = next->drains;
	view->damping = next->damping;
	next->drains = (struct pm_drains){0};
	next->damping = NULL;
	r->owed = false;
	r->retry_ms = 0;
	r->retries = 0;
	atomic_store(&r->halted, false);
}

/* Updates the view over these parts; nothing new is known of others. -ENOMEM. */
static int update(struct repairer *r, const uint8_t *discovered)
{
	const struct view_sight sight = {
		.discovered = discovered,
		.silent = r->view.believed,
		.detours = r->view.detours,
		.now_ms = (uint64_t)clock_ms(),
	};
	bool changed;

	return view_update(&r->view, &sight, &changed, NULL);
}

/* Computes the tables that the switches hold, before any failure is found. -ENOMEM. */
static int update_first(struct repairer *r)
{
	if (!r->unlooked && r->view.current)
		return 0;
	r->unlooked = update(r, r->discovered) != 0;
	return r->unlooked ? -ENOMEM : 0;
}

/* ---- Requests to OpenSM ---- */

/* Signals as OpenSM's console does. */
static void request_sweep(struct repairer *r)
{
	r->config.osm->subn.force_heavy_sweep = TRUE;
	osm_sm_signal(&r->config.osm->sm, OSM_SIGNAL_SWEEP);
}

/* ---- What was not acknowledged ---- */

/* When to try again, after so many tries in a row; see repairer.h. */
static double next_try(uint32_t *retries)
{
	if (*retries == REPAIRER_RETRIES)
		return clock_ms() + REPAIRER_REST_MS;
	return clock_ms() + (double)(REPAIRER_RETRY_MS << (*retries)++);
}

static bool may_change(const struct repairer *r)
{
	enum sweep_phase phase = phase_of(r);

	return phase != PHASE_MANAGEMENT && phase != PHASE_ROUTING;
}

/* Reports the end of a repair or transition; see repairer.h. */
static void note_tables(struct repairer *r, bool settled, bool changed)
{
	/* In other phases the switches get tables of the sweeper's view. */
	settled = settled && may_change(r) && !is_halted(r) && r->view.current &&
		  r->transition.stage == TRANSITION_NONE;
	r->config.note_tables(r->config.context, &r->view, settled, changed);
}

/* ---- Repairs ---- */

/* As in repair.h: notes failures for the sweeper before any block is sent for them. */
static int note_failed(void *context)
{
	struct repairer *r = context;
	int rc = 0;

	lock(r);
	if (atomic_load(&r->halted))
		rc = -ECANCELED;
	for (uint32_t i = 0; !rc && i < r->view.plan->topology->num_ports; i++)
		if (r->discovered[i] && !r->view.discovered[i]) {
			r->failed[i] = r->any_failed = true;
			r->discovered[i] = false; /* so it stays failed */
		}
	unlock(r);
	return rc ? rc : transition_mix(&r->transition, &r->view);
}

/* As in repair.h. Where the view is void, the traps are left to the next view. */
static void note_gone(void *context, const uint8_t *gone)
{
	struct repairer *r = context;

	lock(r);
	for (uint32_t i = 0;
	     !atomic_load(&r->halted) && i < r->view.plan->topology->num_ports; i++)
		if (gone[i])
			r->failed[i] = r->any_failed = true;
	unlock(r);
}

/*
 * Decides when to try again what could not be found or sent: after OpenSM's blocks, or
 * soon, and with doubled delays. After REPAIRER_RETRIES tries it is left to the sweep,
 * which the same traps have requested. Returns whether no try is due.
 */
static bool note_rest(struct repairer *r, const struct repaired *done)
{
	bool rest = done->postponed || done->gave_up, over;

	r->traps_left = repair_count_traps(r->config.repair);
	lock(r);
	over = rest && !done->halted && r->retries == REPAIRER_RETRIES;
	r->retry_ms = 0;
	if (done->postponed && phase_of(r) == PHASE_ROUTING)
		r->owed = true;
	else if (rest && !done->halted && !over)
		r->retry_ms = next_try(&r->retries);
	if (!rest || over)
		r->retries = 0;
	unlock(r);
	if (over)
		repair_skip(r->config.repair, r->traps_left);
	return !rest || over;
}

/* Whether the last repair gave up, its retry is not due, and nothing new has come. */
static bool is_early(struct repairer *r)
{
	bool waits;

	lock(r);
	waits = r->retry_ms > clock_ms() && !r->resend;
	unlock(r);
	/* Fewer traps: a discovery has handled some, and the present ones may be new. */
	return waits && repair_count_traps(r->config.repair) == r->traps_left;
}

/* With new work, the rest of the last repair is tried again, too. */
static bool take_resend(struct repairer *r)
{
	bool resend;

	lock(r);
	resend = r->resend || r->retry_ms > 0;
	r->resend = false;
	unlock(r);
	return resend;
}

/* Makes one repair; false: there was nothing to do. */
static bool repair_once(struct repairer *r, uint32_t wait_ms)
{
	struct repair_subject subject = {
		.sender = &r->sender,
		.view = &r->view,
		.budget_ms = settings_of(r).budget_ms,
		.wait_ms = wait_ms,
		.urgent = phase_of(r) != PHASE_IDLE,
		.is_halted = is_halted,
		.take_over = note_failed,
		.note_gone = note_gone,
		.context = r,
	};
	enum sweep_phase phase = phase_of(r);
	struct repaired done;

	if (repairer_has_traps(r))
		phase = (enum sweep_phase)atomic_load(&r->trap_phase);

	if (!r->config.repair || is_halted(r) || is_early(r) || update_first(r))
		return false;
	subject.resend = take_resend(r);
	if (!repair_run(r->config.repair, &subject, &done))
		return false;
	r->config.log_repair(r->config.context, phase, &done);
	note_tables(r, note_rest(r, &done), done.number);
	r->groups_due |= done.number;
	/* Only a discovery ends a failure, and perhaps none is due. */
	if (done.number && !r->config.osm->subn.opt.sweep_on_trap)
		request_sweep(r);
	return true;
}

static void set_repairing(struct repairer *r, bool repairing, bool served)
{
	lock(r);
	r->repairing = repairing;
	r->served |= served;
	unlock(r);
}

static bool repair_all(struct repairer *r, uint32_t wait_ms)
{
	bool any = false;

	set_repairing(r, true, false);
	while (repair_once(r, any ? 0 : wait_ms))
		any = true;
	set_repairing(r, false, any);
	return any;
}

/* If traps were dropped, a discovery finds what they reported. */
static void check_overflow(struct repairer *r)
{
	uint64_t dropped = 0;

	if (!r->config.repair || !repair_take_overflow(r->config.repair, &dropped))
		return;
	r->config.log_dropped(r->config.context, dropped);
	request_sweep(r);
}

/* ---- Transitions ---- */

/* Whether the transition has to end. */
static bool is_abandoned(struct repairer *r)
{
	bool abandon;

	lock(r);
	abandon = r->abandon;
	unlock(r);
	return abandon || is_halted(r);
}

static bool is_interrupted(void *context)
{
	return is_abandoned(context) || repairer_has_traps(context);
}

static void log_transition(struct repairer *r, const struct moved *done)
{
	r->config.log_transition(r->config.context, ++r->num_moves, done);
	if (!done->gave_up || is_halted(r))
		return;
	/* A routing run without a discovery sends what the records lack. */
	r->config.osm->subn.force_reroute = TRUE;
	osm_sm_signal(&r->config.osm->sm, OSM_SIGNAL_SWEEP);
}

/*
 * Reads the present drains. Without memory the view is void, and the next routing run
 * follows the drains. If that run is due already, it follows the former drains; then
 * another sweep reads the present ones.
 */
static void take_drains(struct repairer *r)
{
	bool late, failed;

	operator_files_take_drains(r->config.operator_files, &r->view.drains);
	lock(r);
	late = atomic_load(&r->halted);
	failed = !late && pm_drains_copy(&r->view.drains, &r->drained, NULL);
	if (failed) {
		r->validity = VOID;
		atomic_store(&r->halted, true);
	}
	unlock(r);
	if (failed)
		log_line(&r->config.osm->log, OSM_LOG_ERROR,
			 ": out of memory: the next sweep follows the drains");
	if (late || failed)
		request_sweep(r);
}

static void stop_changing(struct repairer *r)
{
	lock(r);
	r->moving = r->abandon = false;
	unlock(r);
}

/* From now on the sweeper waits for the transition's end; false: not in this phase. */
static bool claim_transition(struct repairer *r)
{
	bool may;

	lock(r);
	may = may_change(r); /* the phase is set before its sweeper takes the lock */
	r->moving = may;
	r->abandon = false;
	unlock(r);
	return may;
}

/* Begins another transition if drains have changed; returns whether it did. */
static bool begin_transition(struct repairer *r)
{
	char *change = r->transition.done.change;
	bool ready;

	if (!may_change(r) ||
	    !operator_files_has_drains(r->config.operator_files, &r->view.drains))
		return false;
	ready = !update_first(r); /* may take long */
	if (!claim_transition(r))
		return false;
	ready = ready && !transition_begin(&r->transition, &r->view);
	view_log(&r->view, change, MOVED_CHANGE_TEXT); /* logged already */
	take_drains(r);
	if (ready && !update(r, r->view.discovered)) {
		view_log(&r->view, change, MOVED_CHANGE_TEXT);
		return true;
	}
	transition_end(&r->transition);
	stop_changing(r);
	r->view.current = false;
	log_transition(
		r, &(struct moved){.change = "other drains", .gave_up = "out of memory"});
	note_tables(r, false, true);
	return false;
}

static void end_transition(struct repairer *r)
{
	struct moved done = r->transition.done;

	transition_end(&r->transition);
	stop_changing(r);
	r->groups_due = true;
	log_transition(r, &done);
	note_tables(r, !done.gave_up, true);
}

/* Leaves the rest to the routing run. */
static void abandon_transition(struct repairer *r)
{
	r->transition.done.gave_up = "a routing run is due";
	r->view.current = false; /* its tables are those of a stage */
	end_transition(r);
}

/* Begins a transition, or goes on with it; false: there is nothing to do. */
static bool run_transition(struct repairer *r)
{
	const struct transition_subject subject = {&r->sender, &r->view, is_interrupted,
						   r};

	/* Waiting traps would interrupt it at once. */
	if (is_halted(r) || repairer_has_traps(r) ||
	    (r->transition.stage == TRANSITION_NONE && !begin_transition(r)))
		return false;
	if (transition_run(&r->transition, &subject))
		end_transition(r);
	else if (is_abandoned(r))
		abandon_transition(r);
	return true;
}

/* ---- Rebalancing ---- */

static bool is_view_whole(const struct view *view)
{
	const struct pm_fabric *topology = view->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].peer != PM_NONE && !view->usable[i])
			return false;
	return true;
}

/* The rate for rebalancing; 0: no reason. *requested: not because parts have come. */
static uint32_t find_reason(struct repairer *r, bool *requested)
{
	const struct repairer_settings settings = settings_of(r);
	struct rebalance_request request;
	uint32_t resumed = r->resumed_rate;

	*requested = true;
	r->resumed_rate = 0;
	if (operator_files_take_rebalance(r->config.operator_files, &request))
		return request.rate ? request.rate : settings.rebalance_rate;
	if (resumed)
		return resumed;
	*requested = false;
	if (settings.rebalance_auto && r->has_grown && is_view_whole(&r->view) &&
	    clock_ms() >= r->rest_ms)
		return settings.rebalance_rate;
	return 0;
}

/* Makes the plan's tables, which the sweeper may read once they are set. -ENOMEM. */
static int make_balance(struct repairer *r)
{
	struct balance made = {.planned = NULL};

	if (r->balance.planned)
		return 0;
	if (balance_make(&made, &r->view))
		return -ENOMEM;
	lock(r);
	r->balance = made;
	unlock(r);
	return 0;
}

/*
 * Whether rebalancing helps. If not, it has no reason until more parts come. A trap
 * interrupts the computing.
 */
static bool helps(struct repairer *r)
{
	bool helps;
	int rc = balance_helps(&r->balance, &r->view, is_interrupted, r, &helps);

	if (!rc && !helps)
		r->has_grown = false;
	return helps;
}

/* Measures if nothing was measured, and begins to rebalance if there is a reason. */
static void judge_balance(struct repairer *r)
{
	bool requested;
	uint32_t rate = find_reason(r, &requested);

	if (!r->unmeasured && !rate)
		return;
	if (update_first(r) || make_balance(r)) {
		r->resumed_rate = rate; /* the next round begins with it */
		r->balance.gave_up = "out of memory";
		r->config.log_balance(r->config.context, &r->balance);
		return;
	}
	r->unmeasured = false;
	balance_measure(&r->balance, &r->view);
	if (rate && (requested || helps(r)))
		balance_begin(&r->balance, rate);
	r->config.log_balance(r->config.context, &r->balance);
}

/*
 * Begins a round, unless a link in use waits for OpenSM to activate it: packets over it
 * would be lost. Reads the phase with the lock held: see repairer_take_balance.
 */
static bool begin_round(struct repairer *r)
{
	bool begins;

	lock(r);
	begins = may_change(r) && phase_of(r) != PHASE_LINKS;
	r->rebalancing = begins;
	unlock(r);
	return begins;
}

static void end_round(struct repairer *r)
{
	lock(r);
	r->rebalancing = false;
	unlock(r);
}

/* Makes a round, or ends rebalancing; false: nothing is due. */
static bool run_round(struct repairer *r)
{
	const struct balance_subject subject = {&r->sender, &r->view, is_interrupted,
						is_halted, r};
	double next_ms;
	bool goes_on;

	if (!r->balance.active)
		judge_balance(r);
	if (!r->balance.active || update_first(r))
		return false;
	goes_on = balance_run(&r->balance, &subject, &next_ms);
	lock(r);
	r->balanced |= !goes_on && !r->balance.now.blocks_off;
	r->rebalance_ms = goes_on ? next_ms : 0;
	unlock(r);
	if (!goes_on && r->balance.now.blocks_off)
		r->rest_ms = clock_ms() + REPAIRER_REST_MS;
	r->config.log_balance(r->config.context, &r->balance);
	return goes_on && next_ms <= clock_ms();
}

static bool rebalance(struct repairer *r)
{
	bool any;

	if (is_halted(r) || repairer_has_traps(r) ||
	    (!r->unmeasured && !r->adopted && !r->balance.active) || !begin_round(r))
		return false;
	any = run_round(r);
	end_round(r);
	return any;
}

bool repairer_take_balance(struct repairer *r, struct view *view, bool wait, bool *over)
{
	double until_ms = clock_ms() + (wait ? TRANSITION_MS : 0);
	bool any;

	lock(r);
	while (r->rebalancing && clock_ms() < until_ms && !osm_exit_flag)
		clock_wait_briefly(&r->signal, WAIT_MS);
	any = r->balance.planned && view->routes && r->view.serial == view->serial;
	*over = any && r->balanced;
	if (any)
		balance_apply(&r->balance, view);
	r->balanced &= !any;
	unlock(r);
	return any;
}

/* ---- Multicast ---- */

/* Whether groups or links may have changed, or a retry is due. */
static bool are_groups_due(const struct repairer *r)
{
	return r->groups_due || atomic_load(&r->config.quiet->due) ||
	       (r->groups_ms > 0 && clock_ms() >= r->groups_ms);
}

static void note_groups(struct repairer *r, const struct mcast_done *done)
{
	if (done->wire.gave_up) {
		r->groups_ms = next_try(&r->groups_retries);
		return;
	}
	r->groups_retries = 0;
	r->groups_ms = done->compare_later ? clock_ms() + COMPARE_MS : 0;
}

/* Routes groups after unicast tables. Returns whether to go on at once. */
static bool route_groups(struct repairer *r)
{
	const struct mcast_subject subject = {
		.view = &r->view,
		.urgent = phase_of(r) != PHASE_IDLE,
		.is_interrupted = is_interrupted,
		.context = r,
	};
	struct mcast_done done;

	if (!r->mcast || !are_groups_due(r) || is_halted(r) || repairer_has_traps(r) ||
	    update_first(r))
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
	return phase_of(context) != PHASE_IDLE || is_interrupted(context);
}

/* Searches blocks of MLIDs without a group for entries that another master has left. */
static void search_above(struct repairer *r)
{
	const struct mcast_subject subject = {
		.view = &r->view,
		.idle = true,
		.is_interrupted = is_busy,
		.context = r,
	};
	struct mcast_done done;
	bool again;

	if (!r->mcast || r->above_ms <= 0 || clock_ms() < r->above_ms || is_busy(r))
		return;
	again = r->groups_retries || are_groups_due(r);
	if (!again && mcast_search_above(r->mcast, &subject, &r->above, &done)) {
		again = done.wire.interrupted;
		done.wire.interrupted = false; /* the groups' tables are all sent */
		r->config.log_groups(r->config.context, &done);
	}
	r->above_ms = again ? clock_ms() + REJOIN_MS : 0;
}

/* ---- The thread ---- */

/* Leaves drains that the repairer cannot follow to a sweep. */
static void leave_drains(struct repairer *r)
{
	if (repairer_is_void(r) && phase_of(r) == PHASE_IDLE &&
	    r->config.osm->routing_engine_used &&
	    operator_files_claim_drains(r->config.operator_files, &r->view.drains))
		request_sweep(r);
}

/* Does all pending work, on the thread that has acquired it. */
static void work(struct repairer *r)
{
	bool any;

	leave_drains(r);

	do {
		lock(r);
		take_over(r);
		unlock(r);
		check_overflow(r);
		any = repair_all(r, 0);
		any |= run_transition(r);
		any |= rebalance(r);
		/* After OpenSM's blocks, for which the sweeper waits. */
		any |= phase_of(r) != PHASE_ROUTING && route_groups(r);
		search_above(r);
	} while (any && !osm_exit_flag);
}

static bool try_acquire(struct repairer *r)
{
	bool free;

	lock(r);
	free = !r->busy;
	r->busy = true;
	unlock(r);
	return free;
}

/* Wakes the thread. */
static void release(struct repairer *r)
{
	lock(r);
	r->busy = false;
	unlock(r);
}

/*
 * When the next retry is due, or DBL_MAX. Work that is due already waits for a view, a
 * phase or the end of traps, which wake the thread; or for memory.
 */
static double next_round(const struct repairer *r)
{
	const double due[] = {r->retry_ms, r->rebalance_ms, r->groups_ms, r->above_ms};
	double now = clock_ms(), next = DBL_MAX;

	for (size_t i = 0; i < sizeof(due) / sizeof(*due); i++) {
		double look = due[i] > now ? due[i] : now + LATER_MS;

		if (due[i] > 0 && look < next)
			next = look;
	}
	return next;
}

/* If another thread has acquired it, that thread makes a round afterwards. */
static double make_round(void *context, bool last)
{
	struct repairer *r = context;
	double next;

	if (last || !try_acquire(r))
		return DBL_MAX;
	work(r);
	lock(r);
	next = next_round(r);
	unlock(r);
	release(r);
	return next;
}

void repairer_wake(struct repairer *r)
{
	worker_poke(r->worker);
}

void repairer_note_trap(struct repairer *r, const ib_mad_notice_attr_t *notice)
{
	if (!repairer_has_traps(r))
		atomic_store(&r->trap_phase, atomic_load(&r->phase));
	if (repair_note_trap(r->config.repair, notice))
		repairer_wake(r);
}

/* ---- Handing a view over ---- */

/* Copies holds and recent failures, with the present limits. */
static int copy_damping(const struct repairer *r, const struct pm_damping *from,
			struct pm_damping **to)
{
	pm_damping_free(*to);
	*to = NULL;
	return from ? pm_damping_copy(from, &r->settings.flap, (uint64_t)clock_ms(), to,
				      NULL)
		    : 0;
}

static void forget_next(struct handover *next)
{
	pm_plan_free((struct pm_plan *)(uintptr_t)next->view.plan);
	view_free(&next->view);
	free(next->discovered);
	free(next->believed);
	free(next->unfit);
	pm_drains_free(&next->drains);
	pm_damping_free(next->damping);
	*next = (struct handover){0};
}

/* Allocates memory for what is handed over. -ENOMEM. */
static int make_handover(struct handover *next, const struct pm_plan *plan)
{
	next->num_ports = plan->topology->num_ports;
	next->num_switches = plan->topology->num_switches;
	next->discovered = malloc(next->num_ports + 1u);
	next->believed = malloc(next->num_ports + 1u);
	next->unfit = malloc(next->num_switches + 1u);
	return next->discovered && next->believed && next->unfit ? 0 : -ENOMEM;
}

/* Copies tables, for another plan. -ENOMEM. */
static int copy_tables(struct view *to, const struct view *from)
{
	struct pm_routes *routes;

	if (view_rebase(to, from->plan, NULL))
		return -ENOMEM;
	pm_plan_share(to->plan);
	if (pm_routes_copy(from->routes, &routes, NULL))
		return -ENOMEM;
	to->routes = routes;
	to->serial = from->serial;
	return 0;
}

int repairer_prepare(struct repairer *r, const struct view *view)
{
	struct handover next = {.serial = view->serial};
	uint32_t prepared, in_use;
	int rc;

	lock(r);
	prepared = r->next.serial;
	in_use = r->view.serial;
	unlock(r);
	if (prepared == view->serial)
		return 0;
	rc = make_handover(&next, view->plan);
	if (!rc && in_use != view->serial)
		rc = copy_tables(&next.view, view);
	if (rc) {
		forget_next(&next);
		return rc;
	}
	lock(r);
	forget_next(&r->next);
	r->next = next;
	unlock(r);
	return 0;
}

/* Called with the lock held. */
static int fill_next(struct repairer *r, const struct view *view)
{
	struct handover *next = &r->next;

	if (next->serial != view->serial ||
	    (!next->view.plan && r->view.serial != view->serial) ||
	    pm_drains_copy(&view->drains, &next->drains, NULL) ||
	    pm_drains_copy(&view->drains, &r->drained, NULL) ||
	    copy_damping(r, view->damping, &next->damping))
		return -ENOMEM;
	memcpy(next->discovered, view->discovered, next->num_ports);
	memcpy(next->believed, view->believed, next->num_ports);
	memcpy(next->unfit, view->unfit, next->num_switches);
	next->detours = view->detours;
	next->adopted = view->plan->adopted;
	next->ready = true;
	return 0;
}

bool repairer_commit(struct repairer *r, const struct view *view)
{
	bool valid;

	lock(r);
	atomic_store(&r->halted, true); /* not earlier, as take_over ends it */
	valid = !fill_next(r, view);
	r->validity = valid ? VALID : VOID;
	r->any_failed = false;
	if (r->failed && r->view.plan)
		memset(r->failed, 0, r->view.plan->topology->num_ports);
	unlock(r);
	repairer_wake(r);
	return valid;
}

static void invalidate(struct repairer *r, enum validity validity)
{
	lock(r);
	atomic_store(&r->halted, true); /* as in repairer_commit */
	if (r->validity != VOID)
		r->validity = validity;
	r->next.ready = false;
	r->resend = r->owed = false;
	r->retry_ms = 0;
	unlock(r);
}

void repairer_halt(struct repairer *r)
{
	invalidate(r, HALTED);
}

void repairer_void(struct repairer *r)
{
	invalidate(r, VOID);
}

static enum validity validity_of(struct repairer *r)
{
	enum validity validity;

	lock(r);
	validity = r->validity;
	unlock(r);
	return validity;
}

bool repairer_is_void(struct repairer *r)
{
	return validity_of(r) == VOID;
}

bool repairer_is_valid(struct repairer *r)
{
	return validity_of(r) == VALID;
}

void repairer_resend(struct repairer *r)
{
	lock(r);
	r->resend = true;
	unlock(r);
	repairer_wake(r);
}

/* ---- Phases ---- */

void repairer_set_phase(struct repairer *r, enum sweep_phase phase)
{
	atomic_store(&r->sender.routing, phase == PHASE_ROUTING);
	atomic_store(&r->phase, phase);
	lock(r);
	if (phase == PHASE_IDLE)
		r->served = false;
	if (phase != PHASE_ROUTING && r->owed) {
		r->resend = true;
		r->owed = false;
	}
	unlock(r);
	repairer_wake(r);
}

/* ---- The sweeper's turn ---- */

struct lft_sender *repairer_acquire(struct repairer *r)
{
	lock(r);
	while (r->busy)
		clock_wait_briefly(&r->signal, WAIT_MS);
	r->busy = true;
	unlock(r);
	return &r->sender;
}

void repairer_release(struct repairer *r)
{
	release(r);
	repairer_wake(r);
}

/* Whether the thread does other work, and no trap makes it leave that. */
static bool is_elsewhere(struct repairer *r, double until_ms)
{
	bool traps = repairer_has_traps(r), elsewhere;

	lock(r);
	elsewhere = r->busy && !r->repairing && !traps;
	if (r->busy && (!elsewhere || clock_ms() < until_ms))
		clock_wait_briefly(&r->signal, WAIT_MS);
	elsewhere &= clock_ms() >= until_ms;
	unlock(r);
	return elsewhere;
}

void repairer_finish(struct repairer *r, uint32_t wait_ms)
{
	double start = clock_ms();

	lock(r);
	wait_ms = r->served ? 0 : wait_ms;
	unlock(r);
	while (!try_acquire(r))
		if (is_elsewhere(r, start + wait_ms) || osm_exit_flag ||
		    clock_ms() > start + FINISH_MS)
			return;
	lock(r);
	take_over(r);
	unlock(r);
	repair_all(r, wait_ms);
	repairer_release(r);
}

void repairer_route_groups(struct repairer *r, const struct mcast_doubt *doubt)
{
	repairer_acquire(r);
	lock(r);
	take_over(r);
	unlock(r);
	if (r->mcast)
		mcast_forget(r->mcast, doubt);
	r->groups_due = true;
	r->groups_retries = 0;
	if (r->above_ms <= 0) {
		r->above_ms = clock_ms() + REJOIN_MS;
		r->above = 0;
	}
	route_groups(r);
	repairer_release(r);
}

bool repairer_take_drains(struct repairer *r, struct pm_drains *drains, bool wait)
{
	double until_ms = clock_ms() + (wait ? TRANSITION_MS : 0);
	bool differ;

	lock(r);
	while (r->moving && clock_ms() < until_ms && !osm_exit_flag)
		clock_wait_briefly(&r->signal, WAIT_MS);
	r->abandon = r->moving;
	differ = r->validity != VOID && !pm_drains_equal(&r->drained, drains) &&
		 !pm_drains_copy(&r->drained, drains, NULL);
	unlock(r);
	return differ;
}

/* ---- Found failures ---- */

bool repairer_has_failed(struct repairer *r)
{
	bool any;

	lock(r);
	any = r->any_failed;
	unlock(r);
	return any;
}

bool repairer_take_failed(struct repairer *r, const struct view *view, uint8_t *failed)
{
	const struct pm_fabric *topology;
	bool any;

	lock(r);
	any = r->any_failed;
	topology = any ? r->view.plan->topology : NULL;
	for (uint32_t i = 0; any && i < topology->num_ports; i++) {
		uint32_t port = i;

		if (r->failed[i] && r->view.serial != view->serial)
			port = pm_fabric_same_port(topology, i, view->plan->topology);
		if (r->failed[i] && port != PM_NONE)
			failed[port] = 1;
	}
	if (any)
		memset(r->failed, 0, topology->num_ports);
	r->any_failed = false;
	unlock(r);
	return any;
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
	lock(r);
	r->settings = *settings;
	unlock(r);
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
	clock_signal_destroy(&r->signal);
	transition_end(&r->transition);
	pm_plan_free((struct pm_plan *)(uintptr_t)r->view.plan);
	view_free(&r->view);
	pm_drains_free(&r->drained);
	balance_forget(&r->balance);
	mcast_free(r->mcast);
	forget_next(&r->next);
	free(r->discovered);
	free(r->failed);
	free(r);
}
