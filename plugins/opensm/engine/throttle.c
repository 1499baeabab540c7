/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a sweep is due that changes have made necessary. */
#include "throttle.h"

#include <portmajor/plan/plan.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum report { NONE, REPORTED, READING, CONFIRMED };

struct throttle {
	pthread_mutex_t lock;
	uint8_t report[PM_MAX_LID + 1]; /* [LID] of a switch: enum report */
	uint32_t num_reported, num_reading;
	double open;	  /* first report since all were confirmed */
	double requested; /* a sweep, since one last began or ended; or 0 */
	uint64_t traps, traps_ever;
	double since, dropped; /* first trap, first host that is back; or 0 */
	double begun, ended;   /* the last sweep; ended < begun: it is running */
	double length, delay;  /* of the last one that has ended; after it */
	double pause;	       /* after the return of a host that was dropped */
	double doubt; /* when the last sweep for a switch in doubt would have begun, one
			 in THROTTLE_DOUBT_MS */
};

struct throttle *throttle_start(void)
{
	struct throttle *throttle = calloc(1, sizeof(*throttle));

	if (!throttle)
		return NULL;
	pthread_mutex_init(&throttle->lock, NULL);
	throttle->delay = THROTTLE_DELAY_MS;
	throttle->pause = THROTTLE_DROPPED_MS;
	return throttle;
}

void throttle_stop(struct throttle *throttle)
{
	if (!throttle)
		return;
	pthread_mutex_destroy(&throttle->lock);
	free(throttle);
}

/* ---- Switches; with the lock held ---- */

static void set_report(struct throttle *throttle, uint16_t lid, enum report report)
{
	throttle->num_reported -= throttle->report[lid] == REPORTED;
	throttle->num_reading -= throttle->report[lid] == READING;
	throttle->num_reported += report == REPORTED;
	throttle->num_reading += report == READING;
	throttle->report[lid] = (uint8_t)report;
}

/* Whether some switch is not CONFIRMED. */
static bool is_in_doubt(const struct throttle *throttle)
{
	return throttle->num_reported || throttle->num_reading;
}

static void note_report(struct throttle *throttle, uint16_t lid, double now)
{
	if (!is_in_doubt(throttle))
		throttle->open = now;
	set_report(throttle, lid, REPORTED);
}

/* ---- Time; with the lock held ---- */

static double most_of(const struct throttle *throttle)
{
	return fmax(THROTTLE_MOST_MS, 4 * throttle->length);
}

/* When the next sweep for a switch in doubt may begin. */
static double doubt_of(const struct throttle *throttle)
{
	return throttle->doubt - (THROTTLE_DOUBT_MOST - 1) * THROTTLE_DOUBT_MS;
}

static bool is_running(const struct throttle *throttle)
{
	return throttle->begun > throttle->ended;
}

/* When a request may be repeated: the sweep may have ended without an event. */
static double after_request(const struct throttle *throttle)
{
	double pause = is_running(throttle) ? most_of(throttle) : THROTTLE_DELAY_MS;

	return throttle->requested > 0 ? throttle->requested + pause : 0;
}

static double due_of(const struct throttle *throttle)
{
	double due;

	if (throttle->since <= 0 && throttle->dropped <= 0)
		return 0;
	if (is_running(throttle)) /* perhaps no event has ended it */
		return fmax(throttle->begun + most_of(throttle), after_request(throttle));
	due = throttle->since > 0 ? fmax(throttle->since + THROTTLE_START_MS,
					 throttle->ended + throttle->delay)
				  : INFINITY;
	if (is_in_doubt(throttle))
		due = fmin(due,
			   fmax(throttle->open + THROTTLE_START_MS, doubt_of(throttle)));
	if (throttle->dropped > 0)
		due = fmin(due, throttle->dropped + throttle->pause);
	return fmax(due, after_request(throttle));
}

/* ---- Traps ---- */

void throttle_note_trap(struct throttle *throttle, uint16_t lid, double now)
{
	pthread_mutex_lock(&throttle->lock);
	note_report(throttle, lid, now);
	if (throttle->since <= 0)
		throttle->since = now;
	throttle->traps++;
	throttle->traps_ever++;
	pthread_mutex_unlock(&throttle->lock);
}

bool throttle_has_trap(struct throttle *throttle)
{
	bool any;

	pthread_mutex_lock(&throttle->lock);
	any = throttle->traps > 0;
	pthread_mutex_unlock(&throttle->lock);
	return any;
}

uint32_t throttle_count(struct throttle *throttle)
{
	uint32_t num;

	pthread_mutex_lock(&throttle->lock);
	num = throttle->num_reported;
	pthread_mutex_unlock(&throttle->lock);
	return num;
}

uint32_t throttle_take(struct throttle *throttle, uint16_t *lids, uint32_t room)
{
	uint32_t num = 0, all;

	pthread_mutex_lock(&throttle->lock);
	all = throttle->num_reported;
	for (uint32_t lid = 0; lid <= PM_MAX_LID && num < all && num < room; lid++) {
		if (throttle->report[lid] != REPORTED)
			continue;
		set_report(throttle, (uint16_t)lid, READING);
		lids[num++] = (uint16_t)lid;
	}
	pthread_mutex_unlock(&throttle->lock);
	return all;
}

void throttle_confirm(struct throttle *throttle, uint16_t lid, bool known)
{
	pthread_mutex_lock(&throttle->lock);
	if (throttle->report[lid] == READING)
		set_report(throttle, lid, known ? CONFIRMED : REPORTED);
	pthread_mutex_unlock(&throttle->lock);
}

bool throttle_hides(struct throttle *throttle, uint16_t lid, double now)
{
	bool hides;

	pthread_mutex_lock(&throttle->lock);
	hides = lid <= PM_MAX_LID && throttle->report[lid] != NONE;
	if (hides)
		note_report(throttle, lid, now);
	pthread_mutex_unlock(&throttle->lock);
	return hides;
}

/* ---- Sweeps ---- */

void throttle_hasten(struct throttle *throttle, double since)
{
	pthread_mutex_lock(&throttle->lock);
	if (throttle->dropped <= 0 || since < throttle->dropped)
		throttle->dropped = since;
	pthread_mutex_unlock(&throttle->lock);
}

bool throttle_request(struct throttle *throttle, double now)
{
	bool first;

	pthread_mutex_lock(&throttle->lock);
	first = throttle->requested <= 0 || now >= after_request(throttle);
	if (first)
		throttle->requested = now;
	pthread_mutex_unlock(&throttle->lock);
	return first;
}

bool throttle_ask(struct throttle *throttle, double now)
{
	bool soon;

	pthread_mutex_lock(&throttle->lock);
	soon = is_in_doubt(throttle) && now < doubt_of(throttle);
	pthread_mutex_unlock(&throttle->lock);
	return !soon && throttle_request(throttle, now);
}

double throttle_due(struct throttle *throttle)
{
	double due;

	pthread_mutex_lock(&throttle->lock);
	due = due_of(throttle);
	pthread_mutex_unlock(&throttle->lock);
	return due;
}

struct throttle_wait throttle_waits(struct throttle *throttle)
{
	struct throttle_wait wait = {0};

	pthread_mutex_lock(&throttle->lock);
	wait.until = due_of(throttle);
	if (wait.until > 0 && throttle->requested <= 0)
		wait.since = throttle->since > 0 ? throttle->since : throttle->dropped;
	wait.traps = throttle->traps;
	wait.traps_ever = throttle->traps_ever;
	pthread_mutex_unlock(&throttle->lock);
	return wait;
}

void throttle_begin_sweep(struct throttle *throttle, double now)
{
	pthread_mutex_lock(&throttle->lock);
	if (throttle->since > 0 &&
	    throttle->since < throttle->ended + 2 * throttle->delay)
		throttle->delay = fmin(2 * throttle->delay, most_of(throttle));
	else
		throttle->delay = THROTTLE_DELAY_MS;
	if (is_in_doubt(throttle))
		throttle->doubt = fmin(fmax(throttle->doubt, now) + THROTTLE_DOUBT_MS,
				       now + THROTTLE_DOUBT_MOST * THROTTLE_DOUBT_MS);
	memset(throttle->report, NONE, sizeof(throttle->report));
	throttle->num_reported = throttle->num_reading = 0;
	if (throttle->dropped > 0)
		throttle->pause -= THROTTLE_STEP_MS;
	if (throttle->pause <= 0)
		throttle->pause = THROTTLE_DROPPED_MS;
	throttle->requested = 0;
	throttle->traps = 0;
	throttle->since = throttle->dropped = 0;
	throttle->begun = now;
	pthread_mutex_unlock(&throttle->lock);
}

void throttle_end_sweep(struct throttle *throttle, double now)
{
	pthread_mutex_lock(&throttle->lock);
	throttle->ended = now;
	throttle->requested = 0; /* a discovery that began anew has fulfilled it */
	throttle->length = now - throttle->begun;
	throttle->delay = fmax(throttle->delay, throttle->length);
	pthread_mutex_unlock(&throttle->lock);
}
