/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs a thread that requests a routing run of OpenSM at a set time. */
#include "alarm.h"

#include "clock.h"
#include "worker.h"
#include "osm/sweep_flags.h"

#include <float.h>
#include <stdatomic.h>
#include <stdlib.h>

struct alarm {
	osm_opensm_t *osm;
	struct worker *worker;
	_Atomic double due; /* clock_ms */
};

static double ring_when_due(void *context, bool last)
{
	struct alarm *a = context;
	double due = a->due;

	if (last || clock_ms() < due)
		return due;
	/* If another time was set meanwhile, it stays, and gets a further round. */
	if (!atomic_compare_exchange_strong(&a->due, &due, DBL_MAX))
		return due;
	/* as OpenSM's console does */
	sweep_flag_set(&a->osm->subn.force_reroute);
	osm_sm_signal(&a->osm->sm, OSM_SIGNAL_SWEEP);
	return DBL_MAX;
}

struct alarm *alarm_start(osm_opensm_t *osm)
{
	struct alarm *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->osm = osm;
	a->due = DBL_MAX;
	a->worker = worker_start("portmajor-alarm", ring_when_due, a);
	if (a->worker)
		return a;
	free(a);
	return NULL;
}

void alarm_stop(struct alarm *a)
{
	if (!a)
		return;
	worker_stop(a->worker, DBL_MAX);
	worker_free(a->worker);
	free(a);
}

void alarm_set(struct alarm *a, double when_ms)
{
	a->due = when_ms;
	worker_poke(a->worker);
}

void alarm_advance(struct alarm *a, double when_ms)
{
	double due = a->due;

	while (when_ms < due && !atomic_compare_exchange_weak(&a->due, &due, when_ms))
		;
	worker_poke(a->worker);
}
