/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flapping links: what flap.h says of the fabric that is seen, and the two things that it
 * does not have: a clock that asks OpenSM for a new routing run when a hold ends, and an
 * operator, who ends all holds by a file in OpenSM's cache folder.
 */
#include "plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMED 8 /* cables in a log line */

struct plugin_flaps {
	struct pm_flaps *flaps;
	char *clear_file;	    /* path */
	struct pm_flap_holds holds; /* of the last run */
	pthread_t thread;
	struct plugin_signal signal;
	/* Under its lock. */
	double due; /* plugin_clock when a hold ends, 0: none */
	bool leaving;
};

/* Waits for holds to end, and has the tables made anew then. */
static void *keep_time(void *context)
{
	struct plugin *plugin = context;
	struct plugin_flaps *f = plugin->flaps;

	pthread_mutex_lock(&f->signal.lock);
	while (!f->leaving) {
		if (f->due && plugin_clock() >= f->due) {
			f->due = 0;
			plugin->osm->subn.force_reroute = TRUE;
			osm_sm_signal(&plugin->osm->sm, OSM_SIGNAL_SWEEP);
		} else if (f->due) {
			plugin_wait_until(&f->signal, f->due);
		} else {
			pthread_cond_wait(&f->signal.changed, &f->signal.lock);
		}
	}
	pthread_mutex_unlock(&f->signal.lock);
	return NULL;
}

static void free_flaps(struct plugin_flaps *f)
{
	pm_flaps_free(f->flaps);
	plugin_signal_destroy(&f->signal);
	free(f->clear_file);
	free(f);
}

int plugin_start_flaps(struct plugin *plugin)
{
	struct plugin_flaps *f;

	if (!plugin->config.flap.limit)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	plugin_signal_init(&f->signal);
	f->clear_file = plugin_cache_path("portmajor.clear-holds");
	plugin->flaps = f;
	if (f->clear_file && !pm_flaps_make(&plugin->config.flap, &f->flaps, NULL) &&
	    !pthread_create(&f->thread, NULL, keep_time, plugin))
		return 0;
	plugin->flaps = NULL;
	free_flaps(f);
	return -ENOMEM;
}

void plugin_stop_flaps(struct plugin *plugin)
{
	struct plugin_flaps *f = plugin->flaps;

	if (!f)
		return;
	pthread_mutex_lock(&f->signal.lock);
	f->leaving = true;
	pthread_cond_signal(&f->signal.changed);
	pthread_mutex_unlock(&f->signal.lock);
	pthread_join(f->thread, NULL);
	plugin->flaps = NULL;
	free_flaps(f);
}

/* One that the operator has put there. It goes before what it asks for is done. */
static void clear_if_asked(struct plugin *plugin)
{
	struct plugin_flaps *f = plugin->flaps;

	if (!unlink(f->clear_file))
		OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
			"portmajor: %u links cleared of flapping\n",
			pm_flaps_clear(f->flaps, 0, 0));
}

/* "leaf5[20] (4 times down, 60 s left)" and so on. */
static void list_held(const struct plugin *plugin, uint64_t now, char *text, size_t size)
{
	const struct pm_fabric *known = plugin->plan->known;
	uint32_t at = 0, named = 0;
	struct pm_flap flap;
	size_t used = 0;

	text[0] = '\0';
	while (pm_flaps_next(plugin->flaps->flaps, now, &at, &flap) && used < size) {
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

static void log_holds(const struct plugin *plugin, uint64_t now,
		      const struct pm_flap_holds *holds)
{
	const struct pm_flap_holds *before = &plugin->flaps->holds;
	char text[PLUGIN_CHANGE_TEXT * 2];

	if (holds->held == before->held && holds->released == before->released)
		return;
	list_held(plugin, now, text, sizeof(text));
	OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
		"portmajor: flapping: %u links kept out, %u in use as last paths%s%s\n",
		holds->held, holds->released, text[0] ? ": " : "", text);
}

bool plugin_next_flap(const struct plugin *plugin, uint32_t *at, struct pm_flap *flap)
{
	return plugin->flaps &&
	       pm_flaps_next(plugin->flaps->flaps, (uint64_t)plugin_clock(), at, flap);
}

int plugin_hold_flaps(struct plugin *plugin, const uint8_t *bounced, uint8_t *alive,
		      struct pm_error *err)
{
	struct plugin_flaps *f = plugin->flaps;
	const struct pm_fabric *known = plugin->plan->known;
	uint64_t now = (uint64_t)plugin_clock();
	struct pm_flap_holds holds;
	int rc = 0;

	if (!f)
		return 0;
	clear_if_asked(plugin);
	if (bounced)
		rc = pm_flaps_observe(f->flaps, known, plugin->seen, bounced, now, err);
	if (!rc)
		rc = pm_flaps_observe(f->flaps, known, bounced ? bounced : plugin->seen,
				      alive, now, err);
	if (!rc)
		rc = pm_flaps_hold(f->flaps, plugin->plan, alive, now, &holds, err);
	if (rc)
		return rc;
	log_holds(plugin, now, &holds);
	f->holds = holds;
	pthread_mutex_lock(&f->signal.lock);
	f->due = holds.next_ms == UINT64_MAX ? 0 : (double)(now + holds.next_ms + 1);
	pthread_cond_signal(&f->signal.changed);
	pthread_mutex_unlock(&f->signal.lock);
	return 0;
}
