/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that asks OpenSM for a routing run at a time that was set. */
#include "alarm.h"

#include "clock.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>

struct alarm {
	osm_opensm_t *osm;
	pthread_t thread;
	struct clock_signal signal;
	/* Under its lock. */
	double due; /* clock_ms */
	bool leaving;
};

static void *keep_time(void *context)
{
	struct alarm *a = context;

	pthread_mutex_lock(&a->signal.lock);
	while (!a->leaving) {
		if (clock_ms() >= a->due) {
			a->due = DBL_MAX;
			/* As OpenSM's own console does. */
			a->osm->subn.force_reroute = TRUE;
			osm_sm_signal(&a->osm->sm, OSM_SIGNAL_SWEEP);
		} else if (a->due < DBL_MAX) {
			clock_wait_until(&a->signal, a->due);
		} else {
			pthread_cond_wait(&a->signal.changed, &a->signal.lock);
		}
	}
	pthread_mutex_unlock(&a->signal.lock);
	return NULL;
}

static void free_alarm(struct alarm *a)
{
	clock_signal_destroy(&a->signal);
	free(a);
}

struct alarm *alarm_start(osm_opensm_t *osm)
{
	struct alarm *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->osm = osm;
	a->due = DBL_MAX;
	clock_signal_init(&a->signal);
	if (!pthread_create(&a->thread, NULL, keep_time, a))
		return a;
	free_alarm(a);
	return NULL;
}

void alarm_stop(struct alarm *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->signal.lock);
	a->leaving = true;
	pthread_cond_signal(&a->signal.changed);
	pthread_mutex_unlock(&a->signal.lock);
	pthread_join(a->thread, NULL);
	free_alarm(a);
}

void alarm_set(struct alarm *a, double when_ms)
{
	pthread_mutex_lock(&a->signal.lock);
	a->due = when_ms;
	pthread_cond_signal(&a->signal.changed);
	pthread_mutex_unlock(&a->signal.lock);
}
