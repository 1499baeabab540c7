/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's job for tables that were found in the switches: rebalancing. */
#include "repairer_parts.h"

#include <errno.h>

#define ROUND_MS 2000 /* a routing run's longest wait for the end of a round */

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
	const struct repairer_settings settings = repairer_settings_of(r);
	uint32_t resumed = r->resumed_rate, rate;

	*requested = true;
	r->resumed_rate = 0;
	if (kept_requests_take_rebalance(r->config.requests, &rate))
		return rate ? rate : settings.rebalance_rate;
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
	repairer_lock(r);
	r->balance = made;
	repairer_unlock(r);
	return 0;
}

/*
 * Whether rebalancing helps. If not, it has no reason until more parts come. A trap
 * interrupts the computing.
 */
static bool helps(struct repairer *r)
{
	bool helps;
	int rc = balance_helps(&r->balance, &r->view, repairer_is_interrupted, r, &helps);

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
	if (repairer_update_first(r) || make_balance(r)) {
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

/* Makes a round, or ends rebalancing; false: nothing is due. */
static bool run_round(struct repairer *r)
{
	const struct balance_subject subject = {
		&r->sender, &r->view, repairer_is_interrupted, repairer_is_halted, r};
	double next_ms;
	bool goes_on;

	if (!r->balance.active)
		judge_balance(r);
	if (!r->balance.active || repairer_update_first(r))
		return false;
	goes_on = balance_run(&r->balance, &subject, &next_ms);
	repairer_lock(r);
	r->balanced |= !goes_on && !r->balance.now.blocks_off;
	repairer_unlock(r);
	r->tries[JOB_REBALANCE].due_ms = goes_on ? next_ms : 0;
	if (!goes_on && r->balance.now.blocks_off)
		r->rest_ms = clock_ms() + REPAIRER_REST_MS;
	r->config.log_balance(r->config.context, &r->balance);
	return goes_on && next_ms <= clock_ms();
}

/* Ends a request where all tables are the plan's. */
static void drop_request(struct repairer *r)
{
	uint32_t rate;

	if (kept_requests_take_rebalance(r->config.requests, &rate))
		kept_requests_rebalanced(r->config.requests);
}

bool repairer_rebalance(struct repairer *r)
{
	if (repairer_is_halted(r) || repairer_has_traps(r))
		return false;
	if (r->unmeasured || r->adopted || r->balance.active)
		return run_round(r);
	drop_request(r);
	return false;
}

bool repairer_take_balance(struct repairer *r, struct view *view, bool wait, bool *over)
{
	double until_ms = clock_ms() + (wait ? ROUND_MS : 0);
	bool any;

	repairer_lock(r);
	while (r->running == JOB_REBALANCE && clock_ms() < until_ms && !osm_exit_flag)
		clock_wait_briefly(&r->signal, REPAIRER_WAIT_MS);
	any = r->balance.planned && view->routes && r->view.serial == view->serial;
	*over = any && r->balanced;
	if (any)
		balance_apply(&r->balance, view);
	r->balanced &= !any;
	repairer_unlock(r);
	return any;
}
