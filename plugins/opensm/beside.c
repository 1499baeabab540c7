/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beside.h"

#include "wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DONE 32 /* repairs within a sweep that are remembered for the state */

struct beside {
	struct beside_config config;
	pthread_t thread;
	atomic_bool halted;
	struct wait_signal signal;
	/* Under its lock. */
	bool open, woken, busy, leaving;
	uint8_t *lost; /* [port] found since the last beside_take_lost */
	bool any_lost;
	struct repaired done[DONE];
	uint32_t num_done;
	/* Of the thread while busy, else of the sweeper. */
	struct view view;
	uint8_t *seen; /* [port] when the gate was opened */
};

/* ---- On the thread ---- */

static bool is_halted(void *context)
{
	const struct beside *b = context;

	return atomic_load(&b->halted);
}

static void note_seen(void *context, const uint8_t *seen)
{
	struct beside *b = context;

	pthread_mutex_lock(&b->signal.lock);
	for (uint32_t i = 0; i < b->view.plan->known->num_ports; i++)
		if (b->seen[i] && !seen[i] && !b->lost[i])
			b->lost[i] = b->any_lost = true;
	pthread_mutex_unlock(&b->signal.lock);
}

/* The tables that the switches hold, before anything is found. -ENOMEM. */
static int look_at_first(struct beside *b)
{
	struct view_sight sight = {
		.seen = b->seen,
		.silent = b->view.believed,
		.detours = b->view.detours,
		.now_ms = (uint64_t)wait_clock_ms(),
	};
	bool changed;

	return b->view.current ? 0 : view_look(&b->view, &sight, &changed, NULL);
}

static void note_done(struct beside *b, const struct repaired *done)
{
	b->config.tell(b->config.context, done);
	pthread_mutex_lock(&b->signal.lock);
	if (b->num_done < DONE)
		b->done[b->num_done++] = *done;
	pthread_mutex_unlock(&b->signal.lock);
}

static void repair_all(struct beside *b)
{
	const struct repair_subject subject = {
		.osm = b->config.osm,
		.ask = b->config.ask,
		.view = &b->view,
		.budget_ms = b->config.budget_ms,
		.is_halted = is_halted,
		.tell_seen = note_seen,
		.context = b,
	};
	struct repaired done;

	while (!atomic_load(&b->halted) && !look_at_first(b) &&
	       repair_run(b->config.repair, &subject, &done))
		note_done(b, &done);
}

static void *run(void *context)
{
	struct beside *b = context;

	pthread_mutex_lock(&b->signal.lock);
	while (!b->leaving) {
		if (!b->open || !b->woken) {
			pthread_cond_wait(&b->signal.changed, &b->signal.lock);
			continue;
		}
		b->woken = false;
		b->busy = true;
		pthread_mutex_unlock(&b->signal.lock);
		repair_all(b);
		pthread_mutex_lock(&b->signal.lock);
		b->busy = false;
		pthread_cond_broadcast(&b->signal.changed);
	}
	pthread_mutex_unlock(&b->signal.lock);
	return NULL;
}

void beside_wake(struct beside *b)
{
	pthread_mutex_lock(&b->signal.lock);
	b->woken = true;
	pthread_cond_broadcast(&b->signal.changed);
	pthread_mutex_unlock(&b->signal.lock);
}

/* ---- The gate ---- */

static int copy_drains(const struct pm_drains *from, struct pm_drains *to)
{
	pm_drains_free(to);
	for (uint32_t i = 0; i < from->num; i++)
		if (pm_drains_add(to, from->list[i].guid, from->list[i].num,
				  from->list[i].label, NULL, NULL))
			return -ENOMEM;
	return 0;
}

/* Holds, and what went down lately; flaps that are not watched for are not here. */
static int copy_flaps(const struct beside *b, const struct pm_flaps *from,
		      struct pm_flaps **to)
{
	uint64_t now = (uint64_t)wait_clock_ms();
	struct pm_flap_record record;
	uint32_t at = 0;
	int rc;

	pm_flaps_free(*to);
	*to = NULL;
	if (!from)
		return 0;
	rc = pm_flaps_make(&b->config.flap, to, NULL);
	while (!rc && pm_flaps_export(from, now, &at, &record))
		rc = pm_flaps_import(*to, now, &record, NULL);
	return rc;
}

/* Rooms for another plan, and its tables. */
static int change_plan(struct beside *b, const struct view *view)
{
	size_t num = view->plan->known->num_ports + 1u;
	struct pm_routes *routes;
	uint8_t *seen, *lost;

	view_forget(&b->view);
	seen = realloc(b->seen, num);
	if (seen)
		b->seen = seen;
	lost = realloc(b->lost, num);
	if (lost)
		b->lost = lost;
	if (!seen || !lost || view_rebase(&b->view, view->plan, NULL))
		return -ENOMEM;
	memset(lost, 0, num);
	b->any_lost = false;
	if (pm_routes_copy(view->routes, &routes, NULL)) {
		view_forget(&b->view);
		return -ENOMEM;
	}
	b->view.routes = routes;
	b->view.serial = view->serial;
	return 0;
}

static int copy_view(struct beside *b, const struct view *view)
{
	uint32_t num_ports = view->plan->known->num_ports;

	if ((!b->view.plan || b->view.serial != view->serial) && change_plan(b, view))
		return -ENOMEM;
	memcpy(b->seen, view->seen, num_ports);
	memcpy(b->view.believed, view->believed, num_ports);
	memcpy(b->view.unfit, view->unfit, view->plan->known->num_switches);
	b->view.detours = view->detours;
	b->view.current = false;
	if (copy_drains(&view->drains, &b->view.drains))
		return -ENOMEM;
	return copy_flaps(b, view->flaps, &b->view.flaps);
}

int beside_open(struct beside *b, const struct view *view)
{
	beside_shut(b);
	if (copy_view(b, view)) {
		view_forget(&b->view); /* all of it anew the next time */
		return -ENOMEM;
	}
	atomic_store(&b->halted, false);
	pthread_mutex_lock(&b->signal.lock);
	b->open = b->woken = true;
	pthread_cond_broadcast(&b->signal.changed);
	pthread_mutex_unlock(&b->signal.lock);
	return 0;
}

void beside_shut(struct beside *b)
{
	beside_halt(b);
	pthread_mutex_lock(&b->signal.lock);
	while (b->busy)
		pthread_cond_wait(&b->signal.changed, &b->signal.lock);
	pthread_mutex_unlock(&b->signal.lock);
}

bool beside_halt(struct beside *b)
{
	bool open;

	atomic_store(&b->halted, true);
	pthread_mutex_lock(&b->signal.lock);
	open = b->open;
	b->open = false;
	pthread_mutex_unlock(&b->signal.lock);
	return open;
}

/* ---- What was found and done ---- */

bool beside_take_lost(struct beside *b, const struct view *view, uint8_t *lost)
{
	bool any;

	pthread_mutex_lock(&b->signal.lock);
	any = b->any_lost && b->view.serial == view->serial;
	for (uint32_t i = 0; any && i < b->view.plan->known->num_ports; i++)
		lost[i] |= b->lost[i];
	if (any)
		memset(b->lost, 0, b->view.plan->known->num_ports);
	b->any_lost = false;
	pthread_mutex_unlock(&b->signal.lock);
	return any;
}

bool beside_take_done(struct beside *b, struct repaired *done)
{
	bool any;

	pthread_mutex_lock(&b->signal.lock);
	any = b->num_done != 0;
	if (any) {
		*done = b->done[0];
		memmove(b->done, b->done + 1, --b->num_done * sizeof(*b->done));
	}
	pthread_mutex_unlock(&b->signal.lock);
	return any;
}

/* ---- Begin and end ---- */

static void free_beside(struct beside *b)
{
	wait_signal_destroy(&b->signal);
	view_free(&b->view);
	free(b->seen);
	free(b->lost);
	free(b);
}

struct beside *beside_start(const struct beside_config *config)
{
	struct beside *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->config = *config;
	atomic_init(&b->halted, true);
	wait_signal_init(&b->signal);
	if (!pthread_create(&b->thread, NULL, run, b))
		return b;
	free_beside(b);
	return NULL;
}

void beside_stop(struct beside *b)
{
	if (!b)
		return;
	atomic_store(&b->halted, true);
	pthread_mutex_lock(&b->signal.lock);
	b->leaving = true;
	pthread_cond_broadcast(&b->signal.changed);
	pthread_mutex_unlock(&b->signal.lock);
	pthread_join(b->thread, NULL);
	free_beside(b);
}
