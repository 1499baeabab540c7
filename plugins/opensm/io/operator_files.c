/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that reads the files that operators write while OpenSM runs. */
#include "operator_files.h"

#include "engine/held_links.h"
#include "log.h"
#include "engine/clock.h"
#include "engine/worker.h"

#include <portmajor/base/trusted.h>
#include <portmajor/files/rebalance.h>

#include <errno.h>
#include <float.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_MS 1000
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
	struct store *store;
	struct worker *worker;
	char *drained;			 /* path; NULL: not watched */
	char *guid_path[GUID_FILES];	 /* NULL: no such file */
	struct pm_role_files guid_files; /* the paths as roles' files */

	char *conf; /* path of the configuration; NULL: none */

	/* of the thread: */
	struct stamp drained_stamp, guid_stamp[GUID_FILES];
	struct pm_config read; /* as last read */
	struct pm_error drains_logged, roles_logged, rebalance_logged, conf_logged,
		holds_logged; /* the last logged errors */

	struct clock_signal signal; /* signals the end of the first round */
	/* under its lock, which is never held during a file operation: */
	void (*log_request)(void *context);
	void *context;	   /* of log_request */
	bool requested;	   /* by operator_files_poll */
	bool polled;	   /* all files have been read once */
	bool given_up;	   /* nothing waits for that any more */
	char *clear_holds; /* its path; NULL: not watched */
	bool sweeping;	   /* a sweep began and has not routed yet; true at first */
	bool new_config;   /* the next two are new, and not taken */
	struct pm_config config;
	struct pm_error misread;
	bool new_drains, new_roles; /* read, and not taken */
	bool unclaimed;		    /* portmajor.drained changed since it was taken .. */
				    /* .. or claimed (operator_files_claim_drains) */
	struct pm_drains drains;
	struct pm_roles roles;
	char *to_clear;	 /* text of clear-holds, or NULL */
	bool rebalances; /* the next one is a request that was not taken */
	struct rebalance_request rebalance;
	struct pm_error unread;
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
		worker_enter(files->worker);
		log_line(&files->osm->log, OSM_LOG_ERROR, ": %s: %s", what, why->text);
		worker_leave(files->worker);
	}
	*logged = *why;
}

/* ---- Reading ---- */

static void read_drains(struct operator_files *files, bool changed)
{
	struct pm_drains found = {0};
	struct pm_error err = {""};
	int rc = pm_trusted_file(files->drained, NULL, &err);

	if (!rc)
		rc = pm_drains_read(files->drained, &found, &err);
	if (rc == -ENOENT) { /* nothing is drained */
		err.text[0] = '\0';
		rc = 0;
	}
	pthread_mutex_lock(&files->signal.lock);
	if (!rc) {
		pm_drains_free(&files->drains);
		files->drains = found;
		files->new_drains = true;
	}
	files->unclaimed |= changed;
	files->unread = err;
	pthread_mutex_unlock(&files->signal.lock);
	log_error(files, "drains not followed", &err, &files->drains_logged);
}

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

/* Reads clear-holds; returns whether there was a request. */
static bool read_clear_holds(struct operator_files *files, const char *path)
{
	struct pm_error err = {""};
	char *text;
	int rc = holds_read_clearing(path, &text, &err);

	if (rc == -ENOENT)
		err.text[0] = '\0';
	log_error(files, "clear-holds, later", &err, &files->holds_logged);
	if (rc)
		return false;
	pthread_mutex_lock(&files->signal.lock);
	free(files->to_clear);
	files->to_clear = text;
	pthread_mutex_unlock(&files->signal.lock);
	return true;
}

/* Reads and removes a request to rebalance; returns whether there was a good one. */
static bool read_rebalance(struct operator_files *files)
{
	char *path = files->drained ? store_path(files->store, "rebalance") : NULL;
	struct pm_rebalance found = {0};
	struct pm_error err = {""};
	bool trusted;
	int rc;

	if (!path)
		return false;
	rc = pm_trusted_file(path, NULL, &err);
	trusted = !rc;
	if (trusted)
		rc = pm_rebalance_read(path, &found, &err);
	if (rc == -ENOENT)
		err.text[0] = '\0';
	else if (trusted && (!rc || rc == -EINVAL) &&
		 unlink(path)) /* else read each second */
		rc = pm_error_set(&err, -errno, "%s: %m", path);
	free(path);
	log_error(files, "rebalance not followed", &err, &files->rebalance_logged);
	if (rc)
		return false;
	pthread_mutex_lock(&files->signal.lock);
	files->rebalance = (struct rebalance_request){.rate = found.rate};
	files->rebalances = true;
	pthread_mutex_unlock(&files->signal.lock);
	return true;
}

/* Calls log_request. The call may end after operator_files_on_request has returned. */
static void report_request(struct operator_files *files)
{
	void (*log_request)(void *context);
	void *context;

	worker_enter(files->worker);
	pthread_mutex_lock(&files->signal.lock);
	log_request = files->log_request;
	context = files->context;
	pthread_mutex_unlock(&files->signal.lock);
	if (log_request)
		log_request(context);
	worker_leave(files->worker);
}

/* Reads the files that the repairer follows: portmajor.drained and rebalance. */
static void poll_requests(struct operator_files *files, bool all)
{
	bool changed =
		files->drained && has_changed(files->drained, &files->drained_stamp);
	bool drains = changed || (files->drained && all), rebalance;

	if (drains)
		read_drains(files, changed);
	else if (files->drains_logged.text[0]) { /* its folder may be better now */
		read_drains(files, false);
		drains = !files->drains_logged.text[0];
	}
	rebalance = read_rebalance(files);
	if (drains || rebalance)
		report_request(files);
}

/* Reads these and, if `all`, the other files; whether there is news for a sweep. */
static bool poll_files(struct operator_files *files, bool all, const char *clear_holds)
{
	bool news = false;

	poll_requests(files, all);
	if (all && files->conf)
		news |= read_config(files);
	for (int i = 0; all && i < GUID_FILES; i++)
		news |= has_changed(files->guid_path[i], &files->guid_stamp[i]);
	if (all)
		read_roles(files);
	if (clear_holds)
		news |= read_clear_holds(files, clear_holds);
	return news;
}

static void request_sweep(struct operator_files *files)
{
	files->osm->subn.force_heavy_sweep = TRUE;
	osm_sm_signal(&files->osm->sm, OSM_SIGNAL_SWEEP);
}

static double go_round(void *context, bool last)
{
	struct operator_files *files = context;
	bool requested, sweeping, news;
	char *clear_holds;

	if (last)
		return DBL_MAX;
	pthread_mutex_lock(&files->signal.lock);
	requested = files->requested;
	clear_holds = files->clear_holds ? strdup(files->clear_holds) : NULL;
	files->requested = false;
	pthread_mutex_unlock(&files->signal.lock);
	news = poll_files(files, requested, clear_holds);
	free(clear_holds);
	pthread_mutex_lock(&files->signal.lock);
	sweeping = files->sweeping;
	files->polled |= requested;
	pthread_cond_signal(&files->signal.changed);
	pthread_mutex_unlock(&files->signal.lock);
	if (news && !sweeping) {
		worker_enter(files->worker);
		request_sweep(files);
		worker_leave(files->worker);
	}
	return files->drained ? clock_ms() + POLL_MS : DBL_MAX;
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

bool operator_files_has_drains(struct operator_files *files, const struct pm_drains *now)
{
	bool differs;

	pthread_mutex_lock(&files->signal.lock);
	differs = files->new_drains && !pm_drains_equal(&files->drains, now);
	pthread_mutex_unlock(&files->signal.lock);
	return differs;
}

bool operator_files_take_drains(struct operator_files *files, struct pm_drains *now)
{
	bool differs;

	pthread_mutex_lock(&files->signal.lock);
	differs = files->new_drains && !pm_drains_equal(&files->drains, now);
	if (differs) {
		struct pm_drains before = *now;

		*now = files->drains;
		files->drains = before;
	}
	files->new_drains = files->unclaimed = false;
	pthread_mutex_unlock(&files->signal.lock);
	return differs;
}

bool operator_files_claim_drains(struct operator_files *files,
				 const struct pm_drains *now)
{
	bool claims;

	pthread_mutex_lock(&files->signal.lock);
	claims = files->unclaimed && files->new_drains &&
		 !pm_drains_equal(&files->drains, now);
	files->unclaimed &= !claims;
	pthread_mutex_unlock(&files->signal.lock);
	return claims;
}

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

char *operator_files_take_clear_holds(struct operator_files *files)
{
	char *text;

	pthread_mutex_lock(&files->signal.lock);
	text = files->to_clear;
	files->to_clear = NULL;
	pthread_mutex_unlock(&files->signal.lock);
	return text;
}

bool operator_files_take_rebalance(struct operator_files *files,
				   struct rebalance_request *request)
{
	bool requested;

	pthread_mutex_lock(&files->signal.lock);
	requested = files->rebalances;
	if (requested)
		*request = files->rebalance;
	files->rebalances = false;
	pthread_mutex_unlock(&files->signal.lock);
	return requested;
}

void operator_files_drains_error(struct operator_files *files, struct pm_error *why)
{
	pthread_mutex_lock(&files->signal.lock);
	*why = files->unread;
	pthread_mutex_unlock(&files->signal.lock);
}

/* ---- Sweeps ---- */

void operator_files_poll(struct operator_files *files, char *clear_holds)
{
	pthread_mutex_lock(&files->signal.lock);
	free(files->clear_holds);
	files->clear_holds = clear_holds;
	files->requested = files->sweeping = true;
	pthread_mutex_unlock(&files->signal.lock);
	worker_poke(files->worker);
}

void operator_files_routed(struct operator_files *files, const struct pm_roles *roles)
{
	bool missed;

	pthread_mutex_lock(&files->signal.lock);
	missed = (files->new_roles && !pm_roles_equal(&files->roles, roles)) ||
		 files->to_clear || files->new_config;
	files->sweeping = false;
	pthread_mutex_unlock(&files->signal.lock);
	if (missed)
		request_sweep(files);
}

/* ---- Beginning and end ---- */

void operator_files_on_request(struct operator_files *files,
			       void (*log_request)(void *context), void *context)
{
	worker_enter(files->worker);
	pthread_mutex_lock(&files->signal.lock);
	files->log_request = log_request;
	files->context = context;
	pthread_mutex_unlock(&files->signal.lock);
	worker_leave(files->worker);
}

static void free_files(struct operator_files *files)
{
	pm_drains_free(&files->drains);
	pm_roles_free(&files->roles);
	clock_signal_destroy(&files->signal);
	for (int i = 0; i < GUID_FILES; i++)
		free(files->guid_path[i]);
	free(files->clear_holds);
	free(files->to_clear);
	free(files->drained);
	free(files->conf);
	free(files);
}

/* Finds the paths; OpenSM does not change these. -ENOMEM. */
static int find_files(struct operator_files *files, const struct store *store)
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
	if (opt->event_plugin_options && *opt->event_plugin_options) {
		files->conf = strdup(opt->event_plugin_options);
		if (!files->conf)
			return -ENOMEM;
	}
	if (files->read.shadow)
		return 0;
	files->drained = store_path_beside(store, "portmajor.drained");
	return files->drained ? 0 : -ENOMEM;
}

struct operator_files *operator_files_start(osm_opensm_t *osm, struct store *store,
					    const struct pm_config *config,
					    const struct pm_error *misread)
{
	struct operator_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->osm = osm;
	files->store = store;
	clock_signal_init(&files->signal);
	files->requested = files->sweeping = true;
	files->read = *config;
	files->conf_logged = *misread;
	if (!find_files(files, store))
		files->worker = worker_start("portmajor-look", go_round, files);
	if (!files->worker) {
		free_files(files);
		return NULL;
	}
	worker_poke(files->worker);
	return files;
}

bool operator_files_stop(struct operator_files *files, double until_ms)
{
	if (!files)
		return true;
	if (!worker_stop(files->worker, until_ms))
		return false;
	free_files(files);
	return true;
}
