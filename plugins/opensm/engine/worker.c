/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread for work that may wait for files. */
#include "worker.h"

#include "clock.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

struct worker {
	worker_round *round;
	void *context;
	pthread_t thread;
	struct clock_signal signal;
	/* under its lock: */
	bool poked, ending, ended;

	pthread_mutex_t opensm;
	bool left; /* under `opensm` */
};

/* Waits for the next round; returns whether it is the last one. */
static bool await_round(struct worker *w, double due)
{
	bool last;

	pthread_mutex_lock(&w->signal.lock);
	while (!w->poked && !w->ending && clock_ms() < due)
		clock_wait_until(&w->signal, due);
	w->poked = false;
	last = w->ending;
	pthread_mutex_unlock(&w->signal.lock);
	return last;
}

static void *make_rounds(void *context)
{
	struct worker *w = context;
	double due = DBL_MAX;
	bool last = false;

	while (!last) {
		last = await_round(w, due);
		due = w->round(w->context, last);
	}
	pthread_mutex_lock(&w->signal.lock);
	w->ended = true;
	pthread_cond_signal(&w->signal.changed);
	pthread_mutex_unlock(&w->signal.lock);
	return NULL;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->opensm);
	clock_signal_destroy(&w->signal);
	free(w);
}

struct worker *worker_start(const char *name, worker_round *round, void *context)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->round = round;
	w->context = context;
	clock_signal_init(&w->signal);
	pthread_mutex_init(&w->opensm, NULL);
	if (pthread_create(&w->thread, NULL, make_rounds, w)) {
		worker_free(w);
		return NULL;
	}
	pthread_setname_np(w->thread, name);
	return w;
}

void worker_poke(struct worker *w)
{
	pthread_mutex_lock(&w->signal.lock);
	w->poked = true;
	pthread_cond_signal(&w->signal.changed);
	pthread_mutex_unlock(&w->signal.lock);
}

void worker_end(struct worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->signal.lock);
	w->ending = true;
	pthread_cond_signal(&w->signal.changed);
	pthread_mutex_unlock(&w->signal.lock);
}

bool worker_stop(struct worker *w, double until_ms)
{
	bool ended;

	if (!w)
		return true;
	worker_end(w);
	pthread_mutex_lock(&w->signal.lock);
	while (!w->ended && clock_ms() < until_ms)
		clock_wait_until(&w->signal, until_ms);
	ended = w->ended;
	pthread_mutex_unlock(&w->signal.lock);
	if (ended) {
		pthread_join(w->thread, NULL);
		return true;
	}
	pthread_mutex_lock(&w->opensm);
	w->left = true;
	pthread_mutex_unlock(&w->opensm);
	pthread_detach(w->thread);
	return false;
}

void worker_enter(struct worker *w)
{
	pthread_mutex_lock(&w->opensm);
	if (!w->left)
		return;
	pthread_mutex_unlock(&w->opensm);
	for (;;)
		pause();
}

void worker_leave(struct worker *w)
{
	pthread_mutex_unlock(&w->opensm);
}
