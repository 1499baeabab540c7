/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A monotonic clock, and waiting for other threads. Does not use OpenSM. */
#ifndef PORTMAJOR_CLOCK_H
#define PORTMAJOR_CLOCK_H

#include <pthread.h>

/* Milliseconds of a monotonic clock. */
double clock_ms(void);

/* A change by other threads that one thread waits for. */
struct clock_signal {
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

void clock_signal_init(struct clock_signal *signal);
void clock_signal_destroy(struct clock_signal *signal);

/* Waits, with the lock held, for `changed` or a moment of clock_ms; DBL_MAX: never. */
void clock_wait_until(struct clock_signal *signal, double when_ms);

/*
 * The same for some ms, at most 10: the caller then checks whether OpenSM is exiting,
 * which signals nothing.
 */
void clock_wait_briefly(struct clock_signal *signal, double ms);

#endif
