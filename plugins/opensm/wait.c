/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sources that work with OpenSM's other threads share. */
#include "plugin.h"

#include <math.h>
#include <time.h>

#define MOST_MS 10 /* between two looks at whether OpenSM is leaving */

double plugin_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void plugin_signal_init(struct plugin_signal *s)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &clock);
	pthread_condattr_destroy(&clock);
}

void plugin_signal_destroy(struct plugin_signal *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}

void plugin_wait_until(struct plugin_signal *s, double when)
{
	struct timespec until = {(time_t)(when / 1e3), (long)(fmod(when, 1e3) * 1e6)};

	pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

void plugin_wait_briefly(struct plugin_signal *s, double milliseconds)
{
	plugin_wait_until(s, plugin_clock() +
				     (milliseconds < MOST_MS ? milliseconds : MOST_MS));
}

int plugin_take_over(osm_opensm_t *osm, cl_disp_reg_handle_t *handle,
		     const struct plugin_handler *ours,
		     const struct plugin_handler *theirs)
{
	cl_disp_unregister(*handle);
	*handle =
		cl_disp_register(&osm->disp, ours->message, ours->receive, ours->context);
	if (*handle != CL_DISP_INVALID_HANDLE)
		return 0;
	*handle = cl_disp_register(&osm->disp, theirs->message, theirs->receive,
				   theirs->context);
	return -1;
}
