/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The discovered and usable parts of the plan's fabric, and their tables. */
#include "view.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/route/stale.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void view_forget(struct view *view)
{
	struct pm_damping *damping = view->damping;
	struct pm_drains drains = view->drains;
	uint32_t serial = view->serial;

	pm_routes_free(view->routes);
	pm_pool_free(&view->pool);
	*view = (struct view){.damping = damping, .drains = drains, .serial = serial};
}

void view_free(struct view *view)
{
	view_forget(view);
	pm_damping_free(view->damping);
	view->damping = NULL;
	pm_drains_free(&view->drains);
}

static void carry_over(const struct view *from, struct view *to)
{
	const struct pm_fabric *old = from->plan->topology;

	for (uint32_t i = 0; i < old->num_ports; i++) {
		uint32_t port = pm_fabric_same_port(old, i, to->plan->topology);

		if (port == PM_NONE)
			continue;
		to->discovered[port] = from->discovered[i];
		to->believed[port] = from->believed[i];
		to->recabled[port] = from->recabled[i];
		to->failed[port] = from->failed[i];
		to->downs[port] = from->downs[i];
		to->logged.discovered[port] = from->logged.discovered[i];
		to->logged.drained[port] = from->logged.drained[i];
		to->logged.recabled[port] = from->logged.recabled[i];
	}
}

int view_rebase(struct view *view, const struct pm_plan *plan, struct pm_error *err)
{
	uint32_t num = plan->topology->num_ports;
	struct view next = {
		.plan = plan,
		.damping = view->damping,
		.holds = view->holds,
		.drains = view->drains,
		.followed = view->followed,
		.serial = view->serial + 1,
	};
	uint8_t **const arrays[] = {
		&next.discovered,	 &next.usable,	       &next.believed,
		&next.drained,		 &next.recabled,       &next.failed,
		&next.logged.discovered, &next.logged.drained, &next.logged.recabled,
		&next.drifting,		 &next.downs,
	};
	int rc;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		*arrays[i] = pm_pool_array(&next.pool, num, 1);
	next.unfit = pm_pool_array(&next.pool, plan->topology->num_switches, 1);
	rc = pm_pool_check(&next.pool, err);
	if (rc) {
		pm_pool_free(&next.pool);
		return rc;
	}
	if (view->plan) {
		carry_over(view, &next);
		pm_stale_mark_recabled(view->plan, plan, next.recabled);
		pm_stale_mark_recabled(view->plan, plan, next.logged.recabled);
	} else {
		memset(next.recabled, 1, num);
	}
	view_forget(view);
	*view = next;
	return 0;
}

/* Whether a port is up as far as is known: discovered, or not known to be down. */
static bool is_believed(const struct view *view, const struct view_observation *seen,
			uint32_t port)
{
	return seen->discovered[port] ||
	       (seen->silent && seen->silent[port] && view->believed[port]);
}

/*
 * Whether a discovered link has bounced: it did not stay up, and was discovered the last
 * time. (OpenSM itself takes a port back to INIT if it did not discover its switch.)
 */
static bool has_bounced(const struct view *view, const struct view_observation *seen,
			uint32_t port)
{
	return seen->stayed && seen->discovered[port] && !seen->stayed[port] &&
	       view->discovered[port];
}

/* Records which links went down and came up since the last update. */
static int note_damping(struct view *view, const struct view_observation *seen,
			struct pm_error *err)
{
	const struct pm_fabric *topology = view->plan->topology;
	uint8_t *now = malloc(2 * ((size_t)topology->num_ports + 1));
	uint8_t *between;
	int rc;

	if (!now)
		return pm_error_no_memory(err);
	between = now + topology->num_ports + 1u;
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		now[i] = is_believed(view, seen, i);
		between[i] = now[i] && !has_bounced(view, seen, i);
	}
	rc = pm_damping_observe(view->damping, topology, view->believed, between,
				seen->now_ms, err);
	if (!rc)
		rc = pm_damping_observe(view->damping, topology, between, now,
					seen->now_ms, err);
	if (!rc)
		memcpy(view->believed, now, topology->num_ports);
	free(now);
	return rc;
}

/*
 * Takes one time of those whose links are up again after it; marks these in up[] and not
 * in down[]. False: there is none.
 */
static bool take_down(struct view *view, uint8_t *up, uint8_t *down)
{
	uint32_t num = view->plan->topology->num_ports;
	bool any = false;

	memcpy(down, up, num);
	for (uint32_t i = 0; i < num; i++) {
		if (view->downs[i] <= !view_is_up(view, i, view->discovered[i]))
			continue;
		view->downs[i]--;
		down[i] = 0;
		any = true;
	}
	return any;
}

int view_note_flaps(struct view *view, uint64_t now_ms)
{
	const struct pm_fabric *topology = view->plan->topology;
	uint8_t *up = malloc(2 * ((size_t)topology->num_ports + 1));
	uint8_t *down = up ? up + topology->num_ports + 1u : NULL;
	int rc = up ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < topology->num_ports; i++)
		up[i] = view->believed[i] || view->downs[i];
	if (!rc && view->damping)
		rc = pm_damping_observe(view->damping, topology, view->believed, up,
					now_ms, NULL);
	if (!rc)
		memcpy(view->believed, up, topology->num_ports);
	while (!rc && view->damping && take_down(view, up, down)) {
		rc = pm_damping_observe(view->damping, topology, up, down, now_ms, NULL);
		if (!rc)
			rc = pm_damping_observe(view->damping, topology, down, up, now_ms,
						NULL);
	}
	memset(view->downs, 0, topology->num_ports);
	free(up);
	return rc;
}

/* Removes flapping links from usable[], which has the discovered links. */
static int hold_links(struct view *view, const struct view_observation *seen,
		      uint8_t *usable, struct pm_error *err)
{
	int rc;

	if (!view->damping)
		return 0;
	rc = note_damping(view, seen, err);
	if (!rc)
		rc = pm_damping_hold(view->damping, view->plan, usable, seen->now_ms,
				     &view->holds, err);
	return rc;
}

/* Removes links between unfit switches and others from usable[]. */
static void leave_out(const struct view *view, uint8_t *usable)
{
	const struct pm_fabric *topology = view->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].peer != PM_NONE &&
		    view->unfit[topology->ports[i].node])
			usable[i] = usable[topology->ports[i].peer] = 0;
}

/* Removes drained links from usable[], which lacks the flapping ones already. */
static int take_drained(struct view *view, uint8_t *usable, uint8_t *drained,
			struct pm_error *err)
{
	uint32_t num = view->plan->topology->num_ports;
	int rc;

	memcpy(drained, usable, num);
	rc = pm_drains_apply(&view->drains, view->plan, usable, err);
	for (uint32_t i = 0; i < num; i++)
		drained[i] = drained[i] && !usable[i];
	return rc;
}

/* When the next hold ends, or UINT64_MAX. */
static uint64_t end_of_holds(const struct view *view, uint64_t now_ms)
{
	if (!view->damping || view->holds.next_ms == UINT64_MAX)
		return UINT64_MAX;
	return now_ms + view->holds.next_ms + 1;
}

static bool same_detours(const struct pm_detours *a, const struct pm_detours *b)
{
	return a->sm == b->sm && a->switches == b->switches;
}

int view_update(struct view *view, const struct view_observation *seen, bool *changed,
		struct pm_error *err)
{
	uint32_t num = view->plan->topology->num_ports;
	uint8_t *usable = malloc(num + 1u), *drained = malloc(num + 1u);
	int rc = usable && drained ? 0 : pm_error_no_memory(err);

	if (!rc) {
		memcpy(usable, seen->discovered, num);
		leave_out(view, usable);
	}
	if (!rc && !view->routes)
		rc = pm_routes_make(view->plan, &view->routes, err);
	if (!rc)
		rc = hold_links(view, seen, usable, err);
	if (!rc)
		rc = take_drained(view, usable, drained, err);
	if (rc)
		goto out;
	memcpy(view->drained, drained, num);
	if (view->followed)
		memcpy(view->logged.drained, drained, num);
	view->followed = false;
	view->until_ms = end_of_holds(view, seen->now_ms);
	*changed = !view->current || memcmp(usable, view->usable, num) ||
		   memcmp(seen->discovered, view->discovered, num) ||
		   !same_detours(&seen->detours, &view->detours);
	if (!*changed)
		goto out;
	memcpy(view->discovered, seen->discovered, num);
	memcpy(view->usable, usable, num);
	view->detours = seen->detours;
	view->detours.extra = view->discovered;
	pm_routes_update(view->routes, usable, &view->detours);
	rc = pm_routes_unreachable(view->routes, &view->unreachable, err);
	if (!rc)
		rc = pm_routes_reachable(view->routes, view->discovered, &view->reachable,
					 err);
	view->current = !rc; /* otherwise all is done again */
out:
	free(usable);
	free(drained);
	return rc;
}

bool view_is_current(const struct view *view, uint64_t now_ms)
{
	return view->current && now_ms < view->until_ms;
}

void view_written(struct view *view)
{
	memset(view->recabled, 0, view->plan->topology->num_ports);
}

void view_log(struct view *view, char *text, size_t size)
{
	uint32_t num = view->plan->topology->num_ports;

	pm_change_describe_use(
		view->plan,
		&(struct pm_change_use){.discovered = view->logged.discovered,
					.drained = view->logged.drained},
		&(struct pm_change_use){.discovered = view->discovered,
					.drained = view->drained,
					.recabled = view->logged.recabled},
		text, size);
	memcpy(view->logged.discovered, view->discovered, num);
	memcpy(view->logged.drained, view->drained, num);
	memset(view->logged.recabled, 0, num);
}

bool view_is_up(const struct view *view, uint32_t port, bool seen)
{
	return view->failed[port] ? view->failed[port] >= VIEW_BACK : seen;
}

uint32_t view_num_ports(const struct view *view)
{
	return view->plan ? view->plan->topology->num_ports : 0;
}
