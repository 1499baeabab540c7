/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A monotonic clock, and waits with a deadline. */
#include "clock.h"

#include <float.h>
#include <math.h>
#include <time.h>

#define MOST_MS 10 /* longest wait before checking whether OpenSM exits */

double clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void clock_signal_init(struct clock_signal *s)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &clock);
	pthread_condattr_destroy(&clock);
}

void clock_signal_destroy(struct clock_signal *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}

void clock_wait_until(struct clock_signal *s, double when_ms)
{
	struct timespec until = {.tv_nsec = (long)(fmod(when_ms, 1e3) * 1e6)};

	if (when_ms == DBL_MAX) {
		pthread_cond_wait(&s->changed, &s->lock);
		return;
	}
	until.tv_sec = (time_t)(when_ms / 1e3);
	pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

void clock_wait_briefly(struct clock_signal *s, double ms)
{
	clock_wait_until(s, clock_ms() + (ms < MOST_MS ? ms : MOST_MS));
}
