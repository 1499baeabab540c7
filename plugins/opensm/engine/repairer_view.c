/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The view that the sweeper hands over to the repairer, and failures that it takes back.
 */
#include "repairer_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	uint8_t *downs = calloc(num, 1), *swept = malloc(num);

	if (!discovered || !failed || !downs || !swept) {
		free(discovered);
		free(swept);
		free(failed);
		free(downs);
		return -ENOMEM;
	}
	free(r->discovered);
	free(r->swept);
	free(r->failed);
	free(r->downs);
	r->discovered = discovered;
	r->swept = swept;
	r->failed = failed;
	r->downs = downs;
	r->has_grown = r->next.adopted && r->adopted &&
		       (r->has_grown ||
			count_links(r->next.view.plan) > count_links(r->view.plan));
	r->resumed_rate = r->balance.active ? r->balance.rate : 0;
	balance_forget(&r->balance);
	pm_plan_free((struct pm_plan *)(uintptr_t)r->view.plan);
	view_free(&r->view);
	r->view = r->next.view;
	r->next.view = (struct view){0};
	free(r->before);
	r->before = NULL;
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
	r->view.current &= !r->in_transition;
	r->in_transition = r->abandon = false;
	if (next->view.plan && change_plan(r)) {
		r->validity = VOID;
		return;
	}
	memcpy(r->discovered, next->discovered, next->num_ports);
	memcpy(r->swept, next->discovered, next->num_ports);
	memcpy(view->believed, next->believed, next->num_ports);
	memcpy(view->unfit, next->unfit, next->num_switches);
	memcpy(view->drifting, next->drifting, next->num_ports);
	view->current &= view->detours.sm == next->detours.sm &&
			 view->detours.switches == next->detours.switches;
	view->detours = next->detours;
	view->detours.extra = view->discovered;
	r->without_tables = true;
	/* Measures once more after the tables are no longer adopted ones. */
	r->unmeasured = next->adopted || r->adopted;
	r->adopted = next->adopted;
	r->tries[JOB_REBALANCE] = r->tries[JOB_REPAIR] = (struct tries){.num = 0};
	pm_drains_free(&view->drains);
	pm_damping_free(view->damping);
	view->drains = next->drains;
	view->damping = next->damping;
	next->drains = (struct pm_drains){0};
	next->damping = NULL;
	r->owed = false;
	atomic_store(&r->halted, false);
}

void repairer_take_over(struct repairer *r)
{
	repairer_lock(r);
	take_over(r);
	repairer_unlock(r);
}

int repairer_update(struct repairer *r, const uint8_t *discovered)
{
	const struct view_observation seen = {
		.discovered = discovered,
		.silent = r->view.believed,
		.detours = r->view.detours,
		.now_ms = (uint64_t)clock_ms(),
	};
	bool changed;

	return view_update(&r->view, &seen, &changed, NULL);
}

int repairer_update_first(struct repairer *r)
{
	if (!r->without_tables && r->view.current)
		return 0;
	r->without_tables = repairer_update(r, r->discovered) != 0;
	return r->without_tables ? -ENOMEM : 0;
}

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
	free(next->drifting);
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
	next->drifting = malloc(next->num_ports + 1u);
	return next->discovered && next->believed && next->unfit && next->drifting
		       ? 0
		       : -ENOMEM;
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

	repairer_lock(r);
	prepared = r->next.serial;
	in_use = r->view.serial;
	repairer_unlock(r);
	if (prepared == view->serial)
		return 0;
	rc = make_handover(&next, view->plan);
	if (!rc && in_use != view->serial)
		rc = copy_tables(&next.view, view);
	if (rc) {
		forget_next(&next);
		return rc;
	}
	repairer_lock(r);
	forget_next(&r->next);
	r->next = next;
	repairer_unlock(r);
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
	memcpy(next->drifting, view->drifting, next->num_ports);
	next->detours = view->detours;
	next->adopted = view->plan->adopted;
	next->ready = true;
	return 0;
}

/* With the lock held. */
static void forget_failed(struct repairer *r)
{
	memset(r->failed, 0, r->view.plan->topology->num_ports);
	memset(r->downs, 0, r->view.plan->topology->num_ports);
}

bool repairer_commit(struct repairer *r, const struct view *view)
{
	bool valid;

	repairer_lock(r);
	atomic_store(&r->halted, true); /* not earlier, as take_over ends it */
	valid = !fill_next(r, view);
	r->validity = valid ? VALID : VOID;
	r->any_failed = false;
	if (r->failed && r->view.plan)
		forget_failed(r);
	repairer_unlock(r);
	repairer_wake(r);
	return valid;
}

static void invalidate(struct repairer *r, enum validity validity)
{
	repairer_lock(r);
	atomic_store(&r->halted, true); /* as in repairer_commit */
	if (r->validity != VOID)
		r->validity = validity;
	r->next.ready = false;
	r->resend = false;
	repairer_unlock(r);
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

	repairer_lock(r);
	validity = r->validity;
	repairer_unlock(r);
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

/* What has failed explains the traps of its switches. */
static void explain_failed(struct repairer *r)
{
	const struct pm_fabric *topology = r->view.plan->topology;

	for (uint32_t i = 0; r->config.returns && i < topology->num_ports; i++)
		if (r->discovered[i] && !r->view.discovered[i])
			returns_explain(r->config.returns, &r->view,
					topology->ports[i].node);
}

/* Whether OpenSM has set this port down, or its peer. With the lock held. */
static bool is_set_down(const struct repairer *r, uint32_t port)
{
	const struct pm_fabric *topology = r->view.plan->topology;
	const struct pm_port *ends[] = {&topology->ports[port], NULL};

	if (ends[0]->peer != PM_NONE)
		ends[1] = &topology->ports[ends[0]->peer];
	for (uint32_t i = 0; i < r->num_set_down && i < SET_DOWN_MOST; i++)
		for (int e = 0; e < 2 && ends[e]; e++)
			if (r->set_down[i].at_ms > clock_ms() - SET_DOWN_MS &&
			    r->set_down[i].num == ends[e]->num &&
			    r->set_down[i].guid == topology->nodes[ends[e]->node].guid)
				return true;
	return false;
}

/* With the lock held. */
static void note_failed_port(struct repairer *r, uint32_t port)
{
	bool set_down = is_set_down(r, port);

	r->failed[port] = set_down ? VIEW_SET_DOWN : VIEW_FAILED;
	if (!set_down && r->downs[port] < UINT8_MAX)
		r->downs[port]++;
	r->any_failed = true;
}

/* Notes failures for the sweeper before any block is sent for them. */
int repairer_note_failed(void *context)
{
	struct repairer *r = context;
	int rc = 0;

	explain_failed(r);
	repairer_lock(r);
	if (atomic_load(&r->halted))
		rc = -ECANCELED;
	for (uint32_t i = 0; !rc && i < r->view.plan->topology->num_ports; i++)
		if (r->discovered[i] && !r->view.discovered[i]) {
			note_failed_port(r, i);
			r->discovered[i] = false; /* so it stays failed */
		}
	repairer_unlock(r);
	return rc ? rc : transition_mix(&r->transition, &r->view);
}

/* Where the view is void, the traps are left to the next view. */
void repairer_note_gone(void *context, const uint8_t *gone)
{
	struct repairer *r = context;

	repairer_lock(r);
	for (uint32_t i = 0;
	     !atomic_load(&r->halted) && i < r->view.plan->topology->num_ports; i++)
		if (gone[i])
			note_failed_port(r, i);
	repairer_unlock(r);
}

void repairer_note_init(void *context, uint32_t port)
{
	struct repairer *r = context;

	if (r->config.returns)
		returns_note_port(r->config.returns, &r->view, port);
}

int repairer_note_back(struct repairer *r, const uint8_t *back, const uint8_t *up)
{
	int rc = 0;

	repairer_lock(r);
	if (atomic_load(&r->halted))
		rc = -ECANCELED;
	for (uint32_t i = 0; i < r->view.plan->topology->num_ports && !rc; i++) {
		if (!back[i])
			continue;
		r->failed[i] = VIEW_BACK;
		r->any_failed = true;
		r->discovered[i] = true;
	}
	repairer_unlock(r);
	return rc ? rc : repairer_update(r, up);
}

void repairer_copy_records(struct repairer *r)
{
	osm_opensm_t *osm = r->config.osm;
	struct lock_share share = {&osm->lock, 0};
	bool due;

	repairer_lock(r);
	due = r->records_due && r->view.plan && !repairer_is_halted(r);
	r->records_due &= !due;
	repairer_unlock(r);
	if (!due || !r->config.returns)
		return;
	CL_PLOCK_ACQUIRE(&osm->lock);
	(void)link_records_copy(&r->records, r->view.plan, &osm->subn, &share);
	CL_PLOCK_RELEASE(&osm->lock);
}

bool repairer_has_failed(struct repairer *r)
{
	bool any;

	repairer_lock(r);
	any = r->any_failed;
	repairer_unlock(r);
	return any;
}

bool repairer_take_failed(struct repairer *r, struct view *view)
{
	const struct pm_fabric *topology;
	bool any;

	repairer_lock(r);
	any = r->any_failed;
	topology = any ? r->view.plan->topology : NULL;
	for (uint32_t i = 0; any && i < topology->num_ports; i++) {
		uint32_t port = i;

		if (r->failed[i] && r->view.serial != view->serial)
			port = pm_fabric_same_port(topology, i, view->plan->topology);
		if (!r->failed[i] || port == PM_NONE)
			continue;
		view->failed[port] = r->failed[i];
		view->downs[port] = r->downs[i];
	}
	if (any)
		forget_failed(r);
	r->any_failed = false;
	repairer_unlock(r);
	return any;
}

void repairer_free_views(struct repairer *r)
{
	pm_plan_free((struct pm_plan *)(uintptr_t)r->view.plan);
	view_free(&r->view);
	pm_drains_free(&r->drained);
	forget_next(&r->next);
	free(r->discovered);
	free(r->swept);
	free(r->failed);
	free(r->downs);
	free(r->before);
}
