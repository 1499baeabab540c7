/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "drains.h"

#include "say.h"
#include "wait.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 1000

/* What tells a file from the one before; all zero: there is none. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written;
};

struct drains {
	osm_opensm_t *osm;
	char *file;
	struct pm_error unread; /* why it could not be read, last time */
	pthread_t thread;
	struct wait_signal signal;
	bool leaving; /* under its lock */
};

static struct stamp look_at(const char *file)
{
	struct stat there;

	if (stat(file, &there))
		return (struct stamp){0};
	return (struct stamp){there.st_dev, there.st_ino, there.st_size, there.st_mtim};
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->written.tv_sec == b->written.tv_sec &&
	       a->written.tv_nsec == b->written.tv_nsec;
}

/* Waits for another file, and has a sweep take it up. */
static void *keep_looking(void *context)
{
	struct drains *d = context;
	struct stamp last = look_at(d->file);

	pthread_mutex_lock(&d->signal.lock);
	while (!d->leaving) {
		struct stamp now;

		wait_until(&d->signal, wait_clock_ms() + LOOK_MS);
		pthread_mutex_unlock(&d->signal.lock);
		now = look_at(d->file);
		if (!is_same(&now, &last)) {
			d->osm->subn.force_heavy_sweep = TRUE;
			osm_sm_signal(&d->osm->sm, OSM_SIGNAL_SWEEP);
		}
		last = now;
		pthread_mutex_lock(&d->signal.lock);
	}
	pthread_mutex_unlock(&d->signal.lock);
	return NULL;
}

static void free_drains(struct drains *d)
{
	wait_signal_destroy(&d->signal);
	free(d->file);
	free(d);
}

struct drains *drains_start(osm_opensm_t *osm, const struct store *store)
{
	struct drains *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->osm = osm;
	wait_signal_init(&d->signal);
	d->file = store_path_beside(store, "portmajor.drained");
	if (d->file && !pthread_create(&d->thread, NULL, keep_looking, d))
		return d;
	free_drains(d);
	return NULL;
}

void drains_stop(struct drains *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->signal.lock);
	d->leaving = true;
	pthread_cond_signal(&d->signal.changed);
	pthread_mutex_unlock(&d->signal.lock);
	pthread_join(d->thread, NULL);
	free_drains(d);
}

bool drains_reread(struct drains *d, struct pm_drains *now)
{
	struct pm_drains found = {0};
	struct pm_error err = {""};
	bool changed;

	if (pm_drains_read(d->file, &found, &err)) {
		if (strcmp(err.text, d->unread.text) != 0)
			say(&d->osm->log, OSM_LOG_ERROR, ": drains not followed: %s",
			    err.text);
		d->unread = err;
		return false;
	}
	d->unread = err;
	changed = !pm_drains_equal(&found, now);
	if (changed) {
		struct pm_drains before = *now;

		*now = found;
		found = before;
	}
	pm_drains_free(&found);
	return changed;
}

const char *drains_unread(const struct drains *d)
{
	return d->unread.text;
}
