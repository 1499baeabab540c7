/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the files that operators write while OpenSM runs, on the writer's thread. */
#include "operator_files.h"

#include "log.h"
#include "engine/clock.h"
#include "osm/sweep_flags.h"

#include <portmajor/base/trusted.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GUID_FILES 3

/* Identifies a version of a file; all zero: no file. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed; /* content, owner or mode */
};

struct operator_files {
	osm_opensm_t *osm;
	struct worker *writer;
	char *guid_path[GUID_FILES];	 /* NULL: no such file */
	struct pm_role_files guid_files; /* the paths as roles' files */

	char *conf; /* path of the configuration; NULL: none */

	/* of the writer's thread: */
	struct stamp guid_stamp[GUID_FILES];
	struct pm_config read;			   /* as last read */
	struct pm_error roles_logged, conf_logged; /* the last logged errors */

	struct clock_signal signal; /* signals the end of the first round */
	/* under its lock, which is never held during a file operation: */
	bool requested;	 /* by operator_files_poll */
	bool polled;	 /* all files have been read once */
	bool given_up;	 /* nothing waits for that any more */
	bool sweeping;	 /* a sweep began and has not routed yet; true at first */
	bool new_config; /* the next two are new, and not taken */
	struct pm_config config;
	struct pm_error misread;
	bool new_roles; /* read, and not taken */
	struct pm_roles roles;
};

/* Whether a file (NULL: none) has another version than before. */
static bool has_changed(const char *file, struct stamp *stamp)
{
	struct stamp before = *stamp;
	struct stat there;

	*stamp = (struct stamp){0};
	if (file && !stat(file, &there))
		*stamp = (struct stamp){there.st_dev, there.st_ino, there.st_size,
					there.st_ctim};
	return stamp->device != before.device || stamp->inode != before.inode ||
	       stamp->size != before.size ||
	       stamp->changed.tv_sec != before.changed.tv_sec ||
	       stamp->changed.tv_nsec != before.changed.tv_nsec;
}

/* Logs why a file could not be read, unless that was logged last. */
static void log_error(struct operator_files *files, const char *what,
		      const struct pm_error *why, struct pm_error *logged)
{
	if (why->text[0] && strcmp(why->text, logged->text) != 0) {
		worker_enter(files->writer);
		log_line(&files->osm->log, OSM_LOG_ERROR, ": %s: %s", what, why->text);
		worker_leave(files->writer);
	}
	*logged = *why;
}

/* ---- Reading ---- */

static int check_guid_files(const struct operator_files *files, struct pm_error *err)
{
	int rc = 0;

	for (int i = 0; i < GUID_FILES && !rc; i++)
		if (files->guid_path[i])
			rc = pm_trusted_linked_file(files->guid_path[i], err);
	return rc;
}

static void read_roles(struct operator_files *files)
{
	struct pm_roles found = {0};
	struct pm_error err = {""};

	if (!check_guid_files(files, &err) &&
	    !pm_roles_read(&files->guid_files, &found, &err)) {
		pthread_mutex_lock(&files->signal.lock);
		pm_roles_free(&files->roles);
		files->roles = found;
		files->new_roles = true;
		pthread_mutex_unlock(&files->signal.lock);
	}
	log_error(files, "GUID files not used", &err, &files->roles_logged);
}

static bool are_alike(const struct pm_config *a, const struct pm_config *b)
{
	char names[PM_CONFIG_KEYS];

	return !pm_config_compare(a, b, PM_CONFIG_LIVE, names) &&
	       !pm_config_compare(a, b, PM_CONFIG_RESTART, names);
}

/*
 * Reads portmajor.conf; its roles apply to the role files read next. Returns whether
 * there is news for a sweep.
 */
static bool read_config(struct operator_files *files)
{
	struct pm_config found;
	struct pm_error err = {""};
	bool news;
	int rc = pm_config_read_trusted(files->conf, &found, &err);

	news = strcmp(err.text, files->conf_logged.text) != 0 ||
	       (!rc && !are_alike(&found, &files->read));
	log_error(files, "configuration not used, values in use stay", &err,
		  &files->conf_logged);
	if (!rc)
		files->read = found;
	if (!news)
		return false;
	pthread_mutex_lock(&files->signal.lock);
	files->config = files->read;
	files->misread = err;
	files->new_config = true;
	pthread_mutex_unlock(&files->signal.lock);
	return true;
}

static void request_sweep(struct operator_files *files)
{
	sweep_flag_set(&files->osm->subn.force_heavy_sweep);
	osm_sm_signal(&files->osm->sm, OSM_SIGNAL_SWEEP);
}

void operator_files_request_sweep(struct operator_files *files)
{
	bool sweeping;

	pthread_mutex_lock(&files->signal.lock);
	sweeping = files->sweeping;
	pthread_mutex_unlock(&files->signal.lock);
	if (sweeping)
		return;
	worker_enter(files->writer);
	request_sweep(files);
	worker_leave(files->writer);
}

bool operator_files_begin(struct operator_files *files)
{
	bool requested;

	pthread_mutex_lock(&files->signal.lock);
	requested = files->requested;
	files->requested = false;
	pthread_mutex_unlock(&files->signal.lock);
	return requested;
}

void operator_files_read(struct operator_files *files)
{
	bool news = files->conf && read_config(files);

	for (int i = 0; i < GUID_FILES; i++)
		news |= has_changed(files->guid_path[i], &files->guid_stamp[i]);
	read_roles(files);
	pthread_mutex_lock(&files->signal.lock);
	files->polled = true;
	pthread_cond_signal(&files->signal.changed);
	pthread_mutex_unlock(&files->signal.lock);
	if (news)
		operator_files_request_sweep(files);
}

/* ---- The first round ---- */

bool operator_files_await(struct operator_files *files)
{
	bool awaited;

	pthread_mutex_lock(&files->signal.lock);
	awaited = !files->polled && !files->given_up;
	if (awaited)
		clock_wait_briefly(&files->signal, 10);
	pthread_mutex_unlock(&files->signal.lock);
	return awaited;
}

bool operator_files_give_up(struct operator_files *files)
{
	bool waits;

	pthread_mutex_lock(&files->signal.lock);
	waits = !files->polled && !files->given_up;
	files->given_up |= waits;
	pthread_mutex_unlock(&files->signal.lock);
	return waits;
}

/* ---- Results ---- */

bool operator_files_take_roles(struct operator_files *files, struct pm_roles *now)
{
	bool differs;

	pthread_mutex_lock(&files->signal.lock);
	differs = files->new_roles && !pm_roles_equal(&files->roles, now);
	if (differs) {
		struct pm_roles before = *now;

		*now = files->roles;
		files->roles = before;
	}
	files->new_roles = false;
	pthread_mutex_unlock(&files->signal.lock);
	return differs;
}

bool operator_files_take_config(struct operator_files *files, struct pm_config *now,
				struct pm_error *misread)
{
	bool news;

	pthread_mutex_lock(&files->signal.lock);
	news = files->new_config;
	if (news)
		*misread = files->misread;
	if (news && !files->misread.text[0])
		*now = files->config;
	files->new_config = false;
	pthread_mutex_unlock(&files->signal.lock);
	return news;
}

/* ---- Sweeps ---- */

void operator_files_poll(struct operator_files *files)
{
	pthread_mutex_lock(&files->signal.lock);
	files->requested = files->sweeping = true;
	pthread_mutex_unlock(&files->signal.lock);
	worker_poke(files->writer);
}

void operator_files_routed(struct operator_files *files, const struct pm_roles *roles,
			   bool more)
{
	bool missed;

	pthread_mutex_lock(&files->signal.lock);
	missed = (files->new_roles && !pm_roles_equal(&files->roles, roles)) ||
		 files->new_config;
	files->sweeping = false;
	pthread_mutex_unlock(&files->signal.lock);
	if (missed || more)
		request_sweep(files);
}

/* ---- Beginning and end ---- */

void operator_files_stop(struct operator_files *files)
{
	if (!files)
		return;
	pm_roles_free(&files->roles);
	clock_signal_destroy(&files->signal);
	for (int i = 0; i < GUID_FILES; i++)
		free(files->guid_path[i]);
	free(files->conf);
	free(files);
}

/* Finds the paths; OpenSM does not change these. -ENOMEM. */
static int find_files(struct operator_files *files)
{
	const osm_subn_opt_t *opt = &files->osm->subn.opt;
	const char *guid_files[GUID_FILES] = {opt->root_guid_file, opt->cn_guid_file,
					      opt->io_guid_file};

	for (int i = 0; i < GUID_FILES; i++) {
		files->guid_path[i] = guid_files[i] ? strdup(guid_files[i]) : NULL;
		if (guid_files[i] && !files->guid_path[i])
			return -ENOMEM;
	}
	files->guid_files =
		(struct pm_role_files){files->guid_path[0], files->guid_path[1],
				       files->guid_path[2], &files->read.roles};
	if (!opt->event_plugin_options || !*opt->event_plugin_options)
		return 0;
	files->conf = strdup(opt->event_plugin_options);
	return files->conf ? 0 : -ENOMEM;
}

struct operator_files *operator_files_start(osm_opensm_t *osm, struct worker *writer,
					    const struct pm_config *config,
					    const struct pm_error *misread)
{
	struct operator_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->osm = osm;
	files->writer = writer;
	clock_signal_init(&files->signal);
	files->requested = files->sweeping = true;
	files->read = *config;
	files->conf_logged = *misread;
	if (find_files(files)) {
		operator_files_stop(files);
		return NULL;
	}
	return files;
}
