/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that reads the files that operators write while OpenSM runs. */
#include "operator_files.h"

#include "engine/held_links.h"
#include "log.h"
#include "engine/clock.h"
#include "engine/worker.h"

#include <portmajor/files/rebalance.h>

#include <errno.h>
#include <float.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 1000
#define GUID_FILES 3

/* What tells a file from the one before; all zero: there is none. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written;
};

struct watch {
	osm_opensm_t *osm;
	struct store *store;
	struct worker *worker;
	char *drained;		     /* path, NULL: not looked at */
	char *guid_file[GUID_FILES]; /* NULL: there is none */
	struct pm_role_files files;  /* these */

	/* Of the thread. */
	struct stamp drained_stamp, guid_stamp[GUID_FILES];
	struct pm_error drains_told, roles_told, rebalance_told,
		holds_told; /* why not read */

	struct clock_signal signal; /* the first look is over */
	/* Under its lock, which is never held while a file is looked at. */
	void (*tell_request)(void *context);
	void *context;	   /* of that */
	bool asked;	   /* by watch_look */
	bool looked;	   /* all files, once */
	bool given_up;	   /* nobody waits for that */
	char *clear_holds; /* path of it, NULL: not looked at */
	bool sweeping;	   /* a sweep has begun, and not routed yet; so it is at first */
	bool new_drains, new_roles; /* the next two were read and not taken */
	bool unclaimed;		    /* portmajor.drained is another one since .. */
				    /* .. it was taken, or watch_claim_drains */
	struct pm_drains drains;
	struct pm_roles roles;
	char *to_clear;	 /* text of clear-holds, or NULL */
	bool rebalances; /* this was asked for, and not taken: */
	struct rebalance_request rebalance;
	struct pm_error unread;
};

/* Looks at a file, NULL for none; whether it is another one than before. */
static bool has_changed(const char *file, struct stamp *stamp)
{
	struct stamp before = *stamp;
	struct stat there;

	*stamp = (struct stamp){0};
	if (file && !stat(file, &there))
		*stamp = (struct stamp){there.st_dev, there.st_ino, there.st_size,
					there.st_mtim};
	return stamp->device != before.device || stamp->inode != before.inode ||
	       stamp->size != before.size ||
	       stamp->written.tv_sec != before.written.tv_sec ||
	       stamp->written.tv_nsec != before.written.tv_nsec;
}

/* Logs why something could not be read, if that is not what was told last. */
static void tell(struct watch *w, const char *what, const struct pm_error *why,
		 struct pm_error *told)
{
	if (why->text[0] && strcmp(why->text, told->text) != 0) {
		worker_enter(w->worker);
		say(&w->osm->log, OSM_LOG_ERROR, ": %s: %s", what, why->text);
		worker_leave(w->worker);
	}
	*told = *why;
}

/* ---- Looking ---- */

static void read_drains(struct watch *w, bool changed)
{
	struct pm_drains found = {0};
	struct pm_error err = {""};
	int rc = pm_drains_read(w->drained, &found, &err);

	pthread_mutex_lock(&w->signal.lock);
	if (!rc) {
		pm_drains_free(&w->drains);
		w->drains = found;
		w->new_drains = true;
	}
	w->unclaimed |= changed;
	w->unread = err;
	pthread_mutex_unlock(&w->signal.lock);
	tell(w, "drains not followed", &err, &w->drains_told);
}

static void read_roles(struct watch *w)
{
	struct pm_roles found = {0};
	struct pm_error err = {""};

	if (!pm_roles_read(&w->files, &found, &err)) {
		pthread_mutex_lock(&w->signal.lock);
		pm_roles_free(&w->roles);
		w->roles = found;
		w->new_roles = true;
		pthread_mutex_unlock(&w->signal.lock);
	}
	tell(w, "GUID files not used", &err, &w->roles_told);
}

/* Whether there was a file that asks for something. */
static bool read_clear_holds(struct watch *w, const char *path)
{
	struct pm_error err = {""};
	char *text;
	int rc = holds_read_clearing(path, &text, &err);

	if (rc == -ENOENT)
		err.text[0] = '\0';
	tell(w, "clear-holds, later", &err, &w->holds_told);
	if (rc)
		return false;
	pthread_mutex_lock(&w->signal.lock);
	free(w->to_clear);
	w->to_clear = text;
	pthread_mutex_unlock(&w->signal.lock);
	return true;
}

/* Whether there was a request that can be followed. A bad one goes as well. */
static bool read_rebalance(struct watch *w)
{
	char *path = w->drained ? store_path(w->store, "rebalance") : NULL;
	struct pm_rebalance found = {0};
	struct pm_error err = {""};
	int rc;

	if (!path)
		return false;
	rc = pm_rebalance_read(path, &found, &err);
	if (rc == -ENOENT)
		err.text[0] = '\0';
	else if ((!rc || rc == -EINVAL) && unlink(path)) /* it would come each second */
		rc = pm_error_set(&err, -errno, "%s: %m", path);
	free(path);
	tell(w, "rebalance not followed", &err, &w->rebalance_told);
	if (rc)
		return false;
	pthread_mutex_lock(&w->signal.lock);
	w->rebalance = (struct rebalance_request){.rate = found.rate};
	w->rebalances = true;
	pthread_mutex_unlock(&w->signal.lock);
	return true;
}

/* Whoever it tells may end when watch_on_request has said so. */
static void report_request(struct watch *w)
{
	void (*tell_request)(void *context);
	void *context;

	worker_enter(w->worker);
	pthread_mutex_lock(&w->signal.lock);
	tell_request = w->tell_request;
	context = w->context;
	pthread_mutex_unlock(&w->signal.lock);
	if (tell_request)
		tell_request(context);
	worker_leave(w->worker);
}

/* What the repairer follows: portmajor.drained and rebalance. */
static void look_for_requests(struct watch *w, bool all)
{
	bool changed = w->drained && has_changed(w->drained, &w->drained_stamp);
	bool drains = changed || (w->drained && all), rebalance;

	if (drains)
		read_drains(w, changed);
	rebalance = read_rebalance(w);
	if (drains || rebalance)
		report_request(w);
}

/* Looks at these, and, `all`, at what else there is; whether that is news for a sweep. */
static bool look(struct watch *w, bool all, const char *clear_holds)
{
	bool news = false;

	look_for_requests(w, all);
	for (int i = 0; all && i < GUID_FILES; i++)
		news |= has_changed(w->guid_file[i], &w->guid_stamp[i]);
	if (all)
		read_roles(w);
	if (clear_holds)
		news |= read_clear_holds(w, clear_holds);
	return news;
}

static void ask_for_sweep(struct watch *w)
{
	w->osm->subn.force_heavy_sweep = TRUE;
	osm_sm_signal(&w->osm->sm, OSM_SIGNAL_SWEEP);
}

static double go_round(void *context, bool last)
{
	struct watch *w = context;
	bool asked, sweeping, news;
	char *clear_holds;

	if (last)
		return DBL_MAX;
	pthread_mutex_lock(&w->signal.lock);
	asked = w->asked;
	clear_holds = w->clear_holds ? strdup(w->clear_holds) : NULL;
	w->asked = false;
	pthread_mutex_unlock(&w->signal.lock);
	news = look(w, asked, clear_holds);
	free(clear_holds);
	pthread_mutex_lock(&w->signal.lock);
	sweeping = w->sweeping;
	w->looked |= asked;
	pthread_cond_signal(&w->signal.changed);
	pthread_mutex_unlock(&w->signal.lock);
	if (news && !sweeping) {
		worker_enter(w->worker);
		ask_for_sweep(w);
		worker_leave(w->worker);
	}
	return w->drained ? clock_ms() + LOOK_MS : DBL_MAX;
}

/* ---- The first look ---- */

bool watch_await_look(struct watch *w)
{
	bool awaited;

	pthread_mutex_lock(&w->signal.lock);
	awaited = !w->looked && !w->given_up;
	if (awaited)
		clock_wait_briefly(&w->signal, 10);
	pthread_mutex_unlock(&w->signal.lock);
	return awaited;
}

bool watch_give_up(struct watch *w)
{
	bool waits;

	pthread_mutex_lock(&w->signal.lock);
	waits = !w->looked && !w->given_up;
	w->given_up |= waits;
	pthread_mutex_unlock(&w->signal.lock);
	return waits;
}

/* ---- What was found ---- */

bool watch_has_drains(struct watch *w, const struct pm_drains *now)
{
	bool differs;

	pthread_mutex_lock(&w->signal.lock);
	differs = w->new_drains && !pm_drains_equal(&w->drains, now);
	pthread_mutex_unlock(&w->signal.lock);
	return differs;
}

bool watch_take_drains(struct watch *w, struct pm_drains *now)
{
	bool differs;

	pthread_mutex_lock(&w->signal.lock);
	differs = w->new_drains && !pm_drains_equal(&w->drains, now);
	if (differs) {
		struct pm_drains before = *now;

		*now = w->drains;
		w->drains = before;
	}
	w->new_drains = w->unclaimed = false;
	pthread_mutex_unlock(&w->signal.lock);
	return differs;
}

bool watch_claim_drains(struct watch *w, const struct pm_drains *now)
{
	bool claims;

	pthread_mutex_lock(&w->signal.lock);
	claims = w->unclaimed && w->new_drains && !pm_drains_equal(&w->drains, now);
	w->unclaimed &= !claims;
	pthread_mutex_unlock(&w->signal.lock);
	return claims;
}

bool watch_take_roles(struct watch *w, struct pm_roles *now)
{
	bool differs;

	pthread_mutex_lock(&w->signal.lock);
	differs = w->new_roles && !pm_roles_equal(&w->roles, now);
	if (differs) {
		struct pm_roles before = *now;

		*now = w->roles;
		w->roles = before;
	}
	w->new_roles = false;
	pthread_mutex_unlock(&w->signal.lock);
	return differs;
}

char *watch_take_clear_holds(struct watch *w)
{
	char *text;

	pthread_mutex_lock(&w->signal.lock);
	text = w->to_clear;
	w->to_clear = NULL;
	pthread_mutex_unlock(&w->signal.lock);
	return text;
}

bool watch_take_rebalance(struct watch *w, struct rebalance_request *request)
{
	bool asked;

	pthread_mutex_lock(&w->signal.lock);
	asked = w->rebalances;
	if (asked)
		*request = w->rebalance;
	w->rebalances = false;
	pthread_mutex_unlock(&w->signal.lock);
	return asked;
}

void watch_drains_unread(struct watch *w, struct pm_error *why)
{
	pthread_mutex_lock(&w->signal.lock);
	*why = w->unread;
	pthread_mutex_unlock(&w->signal.lock);
}

/* ---- Sweeps ---- */

void watch_look(struct watch *w, char *clear_holds)
{
	pthread_mutex_lock(&w->signal.lock);
	free(w->clear_holds);
	w->clear_holds = clear_holds;
	w->asked = w->sweeping = true;
	pthread_mutex_unlock(&w->signal.lock);
	worker_poke(w->worker);
}

void watch_over(struct watch *w, const struct pm_roles *roles)
{
	bool missed;

	pthread_mutex_lock(&w->signal.lock);
	missed = (w->new_roles && !pm_roles_equal(&w->roles, roles)) || w->to_clear;
	w->sweeping = false;
	pthread_mutex_unlock(&w->signal.lock);
	if (missed)
		ask_for_sweep(w);
}

/* ---- Beginning and end ---- */

void watch_on_request(struct watch *w, void (*tell_request)(void *context), void *context)
{
	worker_enter(w->worker);
	pthread_mutex_lock(&w->signal.lock);
	w->tell_request = tell_request;
	w->context = context;
	pthread_mutex_unlock(&w->signal.lock);
	worker_leave(w->worker);
}

static void free_watch(struct watch *w)
{
	pm_drains_free(&w->drains);
	pm_roles_free(&w->roles);
	clock_signal_destroy(&w->signal);
	for (int i = 0; i < GUID_FILES; i++)
		free(w->guid_file[i]);
	free(w->clear_holds);
	free(w->to_clear);
	free(w->drained);
	free(w);
}

/* The paths; OpenSM keeps them as they are. -ENOMEM. */
static int find_files(struct watch *w, const struct store *store,
		      const struct pm_role_rules *rules, bool roles_only)
{
	const osm_subn_opt_t *opt = &w->osm->subn.opt;
	const char *files[GUID_FILES] = {opt->root_guid_file, opt->cn_guid_file,
					 opt->io_guid_file};

	for (int i = 0; i < GUID_FILES; i++) {
		w->guid_file[i] = files[i] ? strdup(files[i]) : NULL;
		if (files[i] && !w->guid_file[i])
			return -ENOMEM;
	}
	w->files = (struct pm_role_files){w->guid_file[0], w->guid_file[1],
					  w->guid_file[2], rules};
	if (roles_only)
		return 0;
	w->drained = store_path_beside(store, "portmajor.drained");
	return w->drained ? 0 : -ENOMEM;
}

struct watch *watch_start(osm_opensm_t *osm, struct store *store,
			  const struct pm_role_rules *rules, bool roles_only)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->osm = osm;
	w->store = store;
	clock_signal_init(&w->signal);
	w->asked = w->sweeping = true;
	if (!find_files(w, store, rules, roles_only))
		w->worker = worker_start("portmajor-look", go_round, w);
	if (!w->worker) {
		free_watch(w);
		return NULL;
	}
	worker_poke(w->worker);
	return w;
}

bool watch_stop(struct watch *w, double until_ms)
{
	if (!w)
		return true;
	if (!worker_stop(w->worker, until_ms))
		return false;
	free_watch(w);
	return true;
}
