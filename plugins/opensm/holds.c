/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "holds.h"

#include "say.h"
#include "store.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMED 8 /* cables in a log line */

struct holds {
	osm_opensm_t *osm;
	char *clear_file;	   /* path */
	struct pm_flap_holds told; /* of the last log line */
	pthread_t thread;
	struct wait_signal signal;
	/* Under its lock. */
	double due; /* wait_clock_ms when a hold ends, 0: none */
	bool leaving;
};

/* Waits for holds to end, and has the tables made anew then. */
static void *keep_time(void *context)
{
	struct holds *h = context;

	pthread_mutex_lock(&h->signal.lock);
	while (!h->leaving) {
		if (h->due && wait_clock_ms() >= h->due) {
			h->due = 0;
			h->osm->subn.force_reroute = TRUE;
			osm_sm_signal(&h->osm->sm, OSM_SIGNAL_SWEEP);
		} else if (h->due) {
			wait_until(&h->signal, h->due);
		} else {
			pthread_cond_wait(&h->signal.changed, &h->signal.lock);
		}
	}
	pthread_mutex_unlock(&h->signal.lock);
	return NULL;
}

static void free_holds(struct holds *h)
{
	wait_signal_destroy(&h->signal);
	free(h->clear_file);
	free(h);
}

struct holds *holds_start(osm_opensm_t *osm)
{
	struct holds *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->osm = osm;
	wait_signal_init(&h->signal);
	h->clear_file = store_path("portmajor.clear-holds");
	if (h->clear_file && !pthread_create(&h->thread, NULL, keep_time, h))
		return h;
	free_holds(h);
	return NULL;
}

void holds_stop(struct holds *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->signal.lock);
	h->leaving = true;
	pthread_cond_signal(&h->signal.changed);
	pthread_mutex_unlock(&h->signal.lock);
	pthread_join(h->thread, NULL);
	free_holds(h);
}

void holds_clear_if_asked(const struct holds *h, struct view *view)
{
	if (!unlink(h->clear_file))
		say(&h->osm->log, OSM_LOG_INFO, ": %u links cleared of flapping",
		    pm_flaps_clear(view->flaps, 0, 0));
}

/* "leaf5[20] (4 times down, 60 s left)" and so on. */
static void list_held(const struct view *view, char *text, size_t size)
{
	const struct pm_fabric *known = view->plan->known;
	uint64_t now = (uint64_t)wait_clock_ms();
	uint32_t at = 0, named = 0;
	struct pm_flap flap;
	size_t used = 0;

	text[0] = '\0';
	while (pm_flaps_next(view->flaps, now, &at, &flap) && used < size) {
		uint32_t sw = pm_fabric_find_guid(known, flap.end[0].guid);

		if (flap.state != PM_FLAP_HELD && flap.state != PM_FLAP_NEEDED)
			continue;
		if (named++ == NAMED) {
			snprintf(text + used, size - used, ", ..");
			return;
		}
		used += (size_t)snprintf(text + used, size - used,
					 "%s%s[%u] (%s, %u times down, %u s left)",
					 named > 1 ? ", " : "",
					 sw == PM_NONE ? "?" : pm_fabric_name(known, sw),
					 flap.end[0].num, pm_flap_state_name(flap.state),
					 flap.downs, (flap.left_ms + 999) / 1000);
	}
}

static void tell(struct holds *h, const struct view *view)
{
	const struct pm_flap_holds *now = &view->holds;
	char text[1024];

	if (now->held == h->told.held && now->released == h->told.released)
		return;
	h->told = *now;
	list_held(view, text, sizeof(text));
	say(&h->osm->log, OSM_LOG_INFO,
	    ": flapping: %u links kept out, %u in use as last paths%s%s", now->held,
	    now->released, text[0] ? ": " : "", text);
}

void holds_keep(struct holds *h, const struct view *view)
{
	uint64_t next = view->holds.next_ms;

	tell(h, view);
	pthread_mutex_lock(&h->signal.lock);
	h->due = next == UINT64_MAX ? 0 : wait_clock_ms() + (double)next + 1;
	pthread_cond_signal(&h->signal.changed);
	pthread_mutex_unlock(&h->signal.lock);
}
