/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "store.h"

#include <opensm/osm_base.h>

#include <portmajor/flapfile.h>
#include <portmajor/planfile.h>
#include <portmajor/replace.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OUR_NAME "portmajor."

/*
 * In the order in which they are written: ports keep what the plan in force says,
 * whatever the base says.
 */
enum file { DRIFTING, PLAN, HOLDS, FILES };

static const char *const names[] = {
	[DRIFTING] = "drifting",
	[PLAN] = "plan",
	[HOLDS] = "holds",
};

/* What is to be in a file. */
struct content {
	bool pending; /* it is not there yet */
	char *text;   /* NULL: the file is to go */
	size_t length;
};

/*
 * Where files are: what stands before their names, the path of a folder with its slash,
 * or, before there were folders, with the first half of the name.
 */
struct store {
	osm_log_t *log;
	char *cache;	      /* with its slash */
	uint64_t saved_holds; /* pm_flaps_changes */

	pthread_mutex_t mutex;
	/* Under it, as is all that is written. */
	uint64_t guid; /* 0: not known yet */
	char *place;   /* of our files, NULL: not known yet */
	bool open;     /* the folder is there, and nobody else uses it */
	int lock;      /* the lock's, -1: none can be had */
	struct content content[FILES];
	char *emptied; /* place whose files go when ours are written, or NULL */
	int emptied_lock;
	struct pm_error trouble; /* what is wrong, and was logged; "" if nothing is */
};

static char *join(const char *place, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s", place, name) < 0 ? NULL : path;
}

/* ---- Whose it is ---- */

/*
 * -EPERM: others could have put there what is there, as it is theirs, a link, or one that
 * its group or others may write. Nothing there is fine. -errno.
 */
static int check_owner(const char *path, struct pm_error *err)
{
	size_t length = strlen(path);
	char name[PATH_MAX];
	struct stat st;

	while (length > 1 && path[length - 1] == '/') /* it would follow a link */
		length--;
	if (length >= sizeof(name))
		return pm_error_set(err, -ENAMETOOLONG, "%s: the name is too long", path);
	memcpy(name, path, length);
	name[length] = '\0';
	if (lstat(name, &st))
		return errno == ENOENT ? 0 : pm_error_set(err, -errno, "%s: %m", name);
	if (S_ISLNK(st.st_mode))
		return pm_error_set(err, -EPERM, "%s: a symbolic link", name);
	if (st.st_uid != geteuid())
		return pm_error_set(err, -EPERM, "%s: it belongs to user %u, not to %u",
				    name, (unsigned int)st.st_uid,
				    (unsigned int)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return pm_error_set(err, -EPERM, "%s: others may write it (mode %04o)",
				    name, (unsigned int)st.st_mode & 07777);
	return 0;
}

/* Of the cache folder and one of a fabric in it. */
static int check_place(const struct store *store, const char *place, struct pm_error *err)
{
	int rc = check_owner(store->cache, err);

	return rc ? rc : check_owner(place, err);
}

/* ---- Locks ---- */

/*
 * Locks a place; *fd is -1 where there can be no lock, on a disk that is read-only say.
 * -EWOULDBLOCK: it is in use. -ENOMEM.
 */
static int lock_place(const char *place, int flags, int *fd)
{
	char *path = join(place, "lock");
	int rc = 0;

	*fd = -1;
	if (!path)
		return -ENOMEM;
	*fd = open(path, O_RDWR | O_CLOEXEC | flags, 0644);
	free(path);
	if (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB)) {
		rc = errno == EWOULDBLOCK ? -EWOULDBLOCK : 0;
		close(*fd);
		*fd = -1;
	}
	return rc;
}

static void unlock(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Our folder ---- */

static bool is_pending(const struct store *store)
{
	for (enum file file = 0; file < FILES; file++)
		if (store->content[file].pending)
			return true;
	return false;
}

/* Says what is wrong, once until something else is, or nothing. */
static void set_trouble(struct store *store, const struct pm_error *why)
{
	if (!strcmp(why->text, store->trouble.text))
		return;
	if (why->text[0])
		say(store->log, OSM_LOG_ERROR,
		    ": not saved: %s (said once; it is tried again)", why->text);
	else
		say(store->log, OSM_LOG_INFO, ": saved again");
	store->trouble = *why;
}

/* Makes and locks the folder. -errno. */
static int open_folder(struct store *store, struct pm_error *err)
{
	struct stat there;
	int rc;

	if (!store->place && !store->guid)
		return pm_error_set(err, -ENOENT, "the port is not known yet");
	if (!store->place)
		return pm_error_no_memory(err);
	rc = check_place(store, store->place, err);
	if (rc) {
		unlock(&store->lock);
		store->open = false;
		return rc;
	}
	if (store->lock >= 0 && !access(store->place, F_OK))
		return 0;
	unlock(&store->lock); /* of a folder that somebody removed */
	if (mkdir(store->place, 0755) && stat(store->place, &there))
		return pm_error_set(err, -errno, "%s: %m", store->place);
	rc = lock_place(store->place, O_CREAT, &store->lock);
	store->open = !rc;
	if (rc == -ENOMEM)
		return pm_error_no_memory(err);
	return rc ? pm_error_set(err, rc, "%s: another process uses it", store->place)
		  : 0;
}

bool store_open(struct store *store, uint64_t port_guid)
{
	struct pm_error err = {""};
	bool before, opened;

	pthread_mutex_lock(&store->mutex);
	before = store->open;
	if (!store->place && asprintf(&store->place, "%s" OUR_NAME "%016" PRIx64 "/",
				      store->cache, port_guid) < 0)
		store->place = NULL;
	store->guid = port_guid;
	if (open_folder(store, &err) || !is_pending(store))
		set_trouble(store, &err);
	opened = store->open && !before;
	pthread_mutex_unlock(&store->mutex);
	return opened;
}

char *store_path(struct store *store, const char *name)
{
	char *path = NULL;

	pthread_mutex_lock(&store->mutex);
	if (store->open)
		path = join(store->place, name);
	pthread_mutex_unlock(&store->mutex);
	return path;
}

char *store_path_beside(const struct store *store, const char *name)
{
	return join(store->cache, name);
}

bool store_has_plan(struct store *store)
{
	char *path = store_path(store, names[PLAN]);
	bool there = path && !access(path, F_OK);

	free(path);
	return there;
}

uint64_t store_guid(struct store *store)
{
	uint64_t guid;

	pthread_mutex_lock(&store->mutex);
	guid = store->guid;
	pthread_mutex_unlock(&store->mutex);
	return guid;
}

/* ---- Reading ---- */

/* -ENOMEM: it is where it was. */
static int set_aside(const struct store *store, const char *path, const char *why)
{
	char *aside;

	if (asprintf(&aside, "%s.bad-%lld", path, (long long)time(NULL)) < 0)
		return -ENOMEM;
	if (rename(path, aside))
		say(store->log, OSM_LOG_ERROR,
		    ": plan not used: %s (and it cannot be renamed: %s)", why,
		    strerror(errno));
	else
		say(store->log, OSM_LOG_ERROR, ": plan not used and renamed to %s: %s",
		    aside, why);
	free(aside);
	return 0;
}

/*
 * A plan at a place. -ENOENT: there is none; -EPERM: it may be another's; -EBADMSG: it
 * cannot be used; -errno.
 */
static int read_plan(const char *path, const struct store_request *request,
		     struct pm_plan **plan, struct pm_error *err)
{
	struct pm_plan *found;
	int rc = check_owner(path, err);

	if (!rc)
		rc = pm_planfile_read(path, &found, err);
	if (rc)
		return rc;
	if (found->lmc != request->lmc)
		rc = pm_error_set(err, -EBADMSG, "%s: made for LMC %u", path, found->lmc);
	else if (!request->fabric->num_switches || !pm_plan_fits(found, request->fabric))
		rc = pm_error_set(err, -EBADMSG, "%s: it is the plan of another fabric",
				  path);
	if (rc)
		pm_plan_free(found);
	else
		*plan = found;
	return rc;
}

/*
 * One of the plans at our place or, to be left alone, at another; NULL: none to be used.
 * -ENOMEM: nobody knows yet.
 */
static int load(const struct store *store, const char *place, enum file file,
		const struct store_request *request, struct pm_plan **plan)
{
	char *path = join(place, names[file]);
	bool ours = store->open && !strcmp(place, store->place);
	struct pm_error err;
	int rc;

	*plan = NULL;
	rc = path ? read_plan(path, request, plan, &err) : -ENOMEM;
	if (rc == -EPERM && ours)
		say(store->log, OSM_LOG_ERROR, ": plan not used: %s", err.text);
	if (rc == -EPERM)
		rc = 0;
	if (rc && rc != -ENOMEM)
		rc = rc != -ENOENT && ours ? set_aside(store, path, err.text) : 0;
	free(path);
	return rc;
}

/* A plan and where it is from. */
struct found {
	char *place; /* NULL: none */
	struct pm_plan *plan;
	struct timespec when; /* it was written */
};

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Takes what is at a place in place of *best if it is later. -ENOMEM. */
static int consider(const struct store *store, const char *place,
		    const struct store_request *request, struct found *best)
{
	char *path = join(place, names[PLAN]), *copy;
	struct pm_plan *plan = NULL;
	struct stat st;
	int rc = path ? 0 : -ENOMEM;

	if (path && !check_place(store, place, NULL) && !stat(path, &st) &&
	    (!best->place || is_later(&st.st_mtim, &best->when)))
		rc = load(store, place, PLAN, request, &plan);
	free(path);
	if (!plan)
		return rc;
	copy = strdup(place);
	if (!copy) {
		pm_plan_free(plan);
		return -ENOMEM;
	}
	free(best->place);
	pm_plan_free(best->plan);
	*best = (struct found){copy, plan, st.st_mtim};
	return 0;
}

static void forget(struct found *found)
{
	pm_plan_free(found->plan);
	free(found->place);
}

static int is_folder(const struct dirent *entry)
{
	size_t length = strlen(OUR_NAME);

	return !strncmp(entry->d_name, OUR_NAME, length) && entry->d_name[length] &&
	       strchr("0123456789abcdef", entry->d_name[length]);
}

/*
 * Considers all folders but ours. Not by glob(3): glibc's frees what it has freed before
 * when memory runs out. -ENOMEM.
 */
static int consider_folders(const struct store *store,
			    const struct store_request *request, struct found *best)
{
	struct dirent **folders = NULL;
	int num = scandir(store->cache, &folders, is_folder, alphasort);
	int rc = num < 0 && errno == ENOMEM ? -ENOMEM : 0;

	for (int i = 0; i < num; i++) {
		char *place = NULL;

		if (!rc &&
		    asprintf(&place, "%s%s/", store->cache, folders[i]->d_name) < 0) {
			place = NULL;
			rc = -ENOMEM;
		}
		if (place && (!store->place || strcmp(place, store->place) != 0))
			rc = consider(store, place, request, best);
		free(place);
		free(folders[i]);
	}
	free(folders);
	return rc;
}

/* The latest plan for this fabric, with ours considered first. -ENOMEM: nothing found. */
static int find_latest(struct store *store, const struct store_request *request,
		       struct found *best)
{
	char *old = join(store->cache, OUR_NAME);
	int rc = old ? 0 : -ENOMEM;

	*best = (struct found){0};
	if (!rc && store->open)
		rc = consider(store, store->place, request, best);
	if (!rc)
		rc = consider_folders(store, request, best);
	if (!rc)
		rc = consider(store, old, request, best);
	free(old);
	if (rc) {
		forget(best);
		*best = (struct found){0};
	}
	return rc;
}

static bool is_ours(const struct store *store, const struct found *found)
{
	return store->open && found->place && !strcmp(found->place, store->place);
}

bool store_has_later(struct store *store, const struct store_request *request)
{
	struct found found;
	bool later;

	pthread_mutex_lock(&store->mutex);
	find_latest(store, request, &found); /* without memory what is in force stays */
	later = found.place && !is_ours(store, &found);
	forget(&found);
	pthread_mutex_unlock(&store->mutex);
	return later;
}

static void load_holds(const struct store *store, const char *place,
		       const struct store_request *request)
{
	const struct pm_flap_clock clock = {request->now_ms, (uint64_t)time(NULL)};
	char *path = join(place, names[HOLDS]);
	struct pm_error err;
	uint32_t none = 0;
	struct pm_flap flap;
	int rc = -ENOENT;

	/* What this process has seen itself is not mixed with it. */
	if (request->flaps &&
	    !pm_flaps_next(request->flaps, request->now_ms, &none, &flap))
		rc = path ? check_owner(path, &err) : pm_error_no_memory(&err);
	if (!rc)
		rc = pm_flapfile_read(path, &clock, request->flaps, &err);
	if (rc && rc != -ENOENT)
		say(store->log, OSM_LOG_ERROR, ": holds not used: %s", err.text);
	free(path);
}

/* Another place's plan becomes ours; if we had none, and it is free, its files go then.
 */
static void take_over(struct store *store, const struct found *from)
{
	char *path = store->open ? join(store->place, names[PLAN]) : NULL;

	say(store->log, OSM_LOG_INFO, ": plan taken over from %s%s", from->place,
	    names[PLAN]);
	if (path && access(path, F_OK) && !store->emptied &&
	    !lock_place(from->place, 0, &store->emptied_lock)) {
		store->emptied = strdup(from->place);
		if (!store->emptied)
			unlock(&store->emptied_lock);
	}
	free(path);
}

int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err)
{
	struct pm_plan *drifting = NULL;
	struct found found;
	int rc;

	pthread_mutex_lock(&store->mutex);
	rc = find_latest(store, request, &found);
	if (!rc && found.place)
		rc = load(store, found.place, DRIFTING, request, &drifting);
	if (!rc && found.place) {
		planning_load(planning, found.plan, drifting);
		found.plan = NULL;
		if (!is_ours(store, &found)) {
			take_over(store, &found);
			planning->unsaved = true;
		}
	}
	if (!rc && (found.place || store->open))
		load_holds(store, found.place ? found.place : store->place, request);
	forget(&found);
	pthread_mutex_unlock(&store->mutex);
	return rc ? pm_error_no_memory(err) : 0;
}

/* ---- Writing ---- */

/* Has it written; the text is taken over. */
static void put(struct store *store, enum file file, char *text, size_t length)
{
	struct content *content = &store->content[file];

	free(content->text);
	*content = (struct content){true, text, length};
}

static int write_content(const struct store *store, enum file file, struct pm_error *err)
{
	const struct content *content = &store->content[file];
	char *path = join(store->place, names[file]);
	int rc = 0;

	if (!path)
		return pm_error_no_memory(err);
	if (content->text)
		rc = pm_replace(path, ".new", content->text, content->length, err);
	else if (unlink(path) && errno != ENOENT)
		rc = pm_error_set(err, -errno, "%s: %m", path);
	free(path);
	return rc;
}

/* Texts first, so that the plan in force is there until the base is its equal. */
static int write_pending(struct store *store, bool texts, struct pm_error *err)
{
	for (enum file file = 0; file < FILES; file++) {
		struct content *content = &store->content[file];
		int rc;

		if (!content->pending || (content->text != NULL) != texts)
			continue;
		rc = write_content(store, file, err);
		if (rc)
			return rc;
		free(content->text);
		*content = (struct content){0};
	}
	return 0;
}

/* Removes what was taken over. What is there besides, set aside say, stays. */
static void empty(struct store *store)
{
	static const char *const taken[] = {"plan",  "drifting",    "holds",
					    "state", "clear-holds", "portmajor.prom",
					    "prom",  "lock"};
	char *path;

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		path = join(store->emptied, taken[i]);
		if (path && unlink(path) && errno != ENOENT && errno != ENOTDIR)
			say(store->log, OSM_LOG_INFO, ": not removed: %s: %s", path,
			    strerror(errno));
		free(path);
	}
	if (rmdir(store->emptied))
		errno = 0; /* it is not empty, or no folder */
	unlock(&store->emptied_lock);
	free(store->emptied);
	store->emptied = NULL;
}

static void flush(struct store *store)
{
	struct pm_error err = {""};
	int rc = open_folder(store, &err);

	if (!rc)
		rc = write_pending(store, true, &err);
	if (!rc)
		rc = write_pending(store, false, &err);
	set_trouble(store, &err);
	if (!rc && store->emptied)
		empty(store);
}

void store_retry(struct store *store)
{
	pthread_mutex_lock(&store->mutex);
	if (is_pending(store))
		flush(store);
	pthread_mutex_unlock(&store->mutex);
}

static int put_plan(struct store *store, enum file file, const struct pm_plan *plan)
{
	char *text;
	size_t length;
	int rc = pm_planfile_print(plan, &text, &length);

	if (!rc)
		put(store, file, text, length);
	return rc;
}

void store_save(struct store *store, struct planning *planning)
{
	int rc = 0;

	pthread_mutex_lock(&store->mutex);
	if (planning->unsaved && planning->plan) {
		if (planning->plan != planning->base)
			rc = put_plan(store, DRIFTING, planning->plan);
		else
			put(store, DRIFTING, NULL, 0);
		if (!rc)
			rc = put_plan(store, PLAN, planning->base);
		planning->unsaved = rc != 0; /* no memory: next time */
	}
	if (is_pending(store))
		flush(store);
	pthread_mutex_unlock(&store->mutex);
}

void store_save_holds(struct store *store, const struct pm_flaps *flaps, uint64_t now_ms)
{
	const struct pm_flap_clock clock = {now_ms, (uint64_t)time(NULL)};
	size_t length;
	char *text;

	if (pm_flaps_changes(flaps) == store->saved_holds ||
	    pm_flapfile_print(flaps, &clock, &text, &length))
		return;
	store->saved_holds = pm_flaps_changes(flaps);
	pthread_mutex_lock(&store->mutex);
	put(store, HOLDS, text, length);
	flush(store);
	pthread_mutex_unlock(&store->mutex);
}

void store_trouble(struct store *store, struct pm_error *why)
{
	pthread_mutex_lock(&store->mutex);
	*why = store->trouble;
	pthread_mutex_unlock(&store->mutex);
}

/* ---- Beginning and end ---- */

static void free_store(struct store *store)
{
	unlock(&store->lock);
	unlock(&store->emptied_lock);
	for (enum file file = 0; file < FILES; file++)
		free(store->content[file].text);
	pthread_mutex_destroy(&store->mutex);
	free(store->emptied);
	free(store->place);
	free(store->cache);
	free(store);
}

struct store *store_start(osm_log_t *log)
{
	const char *folder = getenv("OSM_CACHE_DIR");
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->log = log;
	store->lock = store->emptied_lock = -1;
	pthread_mutex_init(&store->mutex, NULL);
	store->cache = join(folder && *folder ? folder : OSM_DEFAULT_CACHE_DIR, "/");
	if (store->cache)
		return store;
	free_store(store);
	return NULL;
}

void store_stop(struct store *store)
{
	if (!store)
		return;
	store_retry(store);
	free_store(store);
}
