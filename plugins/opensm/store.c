/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "store.h"

#include "wait.h"

#include <opensm/osm_base.h>

#include <portmajor/flapfile.h>
#include <portmajor/planfile.h>
#include <portmajor/replace.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
	char *text; /* NULL: the file is to go */
	size_t length;
	uint64_t put, written; /* how often it was handed over; which of these is there */
};

/*
 * Where files are: what stands before their names, the path of a folder with its slash,
 * or, before there were folders, with the first half of the name.
 */
struct store {
	osm_log_t *log;
	struct worker *writer;
	char *cache;	      /* with its slash */
	uint64_t saved_holds; /* pm_flaps_changes */
	/* Of the sweeper until the folder was looked for, then of the writer. */
	int lock; /* the lock's, -1: none can be had */

	struct wait_signal signal; /* something was written, or not */
	/* Under its lock, which is never held during a file operation. */
	uint64_t guid; /* 0: not known yet */
	char *place;   /* of our files, NULL: not known yet; stays */
	bool begun;    /* the folder was looked for */
	bool open;     /* the folder is there, and nobody else uses it */
	bool has_plan; /* see store_has_plan */
	struct content content[FILES];
	uint64_t puts,
		failed; /* how often anything was; before which of them it failed */
	char *emptied;	/* place whose files go when ours are written, or NULL */
	int emptied_lock;
	struct pm_error trouble; /* what is wrong, and was logged; "" if nothing is */
};

static void hold(struct store *store)
{
	pthread_mutex_lock(&store->signal.lock);
}

static void release(struct store *store)
{
	pthread_mutex_unlock(&store->signal.lock);
}

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

/* With our lock held. */
static bool is_pending(const struct content *content)
{
	return content->put != content->written;
}

static bool is_any_pending(const struct store *store)
{
	for (enum file file = 0; file < FILES; file++)
		if (is_pending(&store->content[file]))
			return true;
	return false;
}

/* Says what is wrong, once until something else is, or nothing. */
static void set_trouble(struct store *store, const struct pm_error *why)
{
	if (!strcmp(why->text, store->trouble.text))
		return;
	worker_enter(store->writer);
	if (why->text[0])
		say(store->log, OSM_LOG_ERROR,
		    ": not saved: %s (said once; it is tried again)", why->text);
	else
		say(store->log, OSM_LOG_INFO, ": saved again");
	worker_leave(store->writer);
	hold(store);
	store->trouble = *why;
	release(store);
}

static void set_open(struct store *store, bool open)
{
	char *plan = open ? join(store->place, names[PLAN]) : NULL;
	bool has_plan = plan && !access(plan, F_OK);

	free(plan);
	hold(store);
	store->open = open;
	store->has_plan = has_plan;
	release(store);
}

/* Makes and locks the folder. -errno. */
static int open_folder(struct store *store, struct pm_error *err)
{
	struct stat there;
	int rc;

	rc = check_place(store, store->place, err);
	if (rc) {
		unlock(&store->lock);
		set_open(store, false);
		return rc;
	}
	if (store->lock >= 0 && !access(store->place, F_OK))
		return 0;
	unlock(&store->lock); /* of a folder that somebody removed */
	if (mkdir(store->place, 0755) && stat(store->place, &there))
		return pm_error_set(err, -errno, "%s: %m", store->place);
	rc = lock_place(store->place, O_CREAT, &store->lock);
	set_open(store, !rc);
	if (rc == -ENOMEM)
		return pm_error_no_memory(err);
	return rc ? pm_error_set(err, rc, "%s: another process uses it", store->place)
		  : 0;
}

/* Looks for the folder for the first time. */
static void begin(struct store *store)
{
	struct pm_error err = {""};
	int rc = open_folder(store, &err);
	bool pending;

	hold(store);
	pending = is_any_pending(store);
	release(store);
	if (rc || !pending)
		set_trouble(store, &err);
	hold(store);
	store->begun = true;
	release(store);
}

bool store_open(struct store *store, uint64_t port_guid)
{
	struct pm_error err;
	bool begun, idle, known;

	hold(store);
	if (!store->place && asprintf(&store->place, "%s" OUR_NAME "%016" PRIx64 "/",
				      store->cache, port_guid) < 0)
		store->place = NULL;
	store->guid = port_guid;
	known = store->place != NULL;
	begun = store->begun;
	idle = store->open && !is_any_pending(store);
	release(store);
	if (!known) {
		pm_error_no_memory(&err);
		set_trouble(store, &err);
	} else if (!begun) {
		begin(store);
	} else if (!idle) {
		worker_poke(store->writer);
	}
	return !begun && known;
}

/* Our folder, if it is open; it stays. */
static const char *our_place(struct store *store)
{
	const char *place;

	hold(store);
	place = store->open ? store->place : NULL;
	release(store);
	return place;
}

char *store_path(struct store *store, const char *name)
{
	const char *place = our_place(store);

	return place ? join(place, name) : NULL;
}

char *store_path_beside(const struct store *store, const char *name)
{
	return join(store->cache, name);
}

bool store_has_plan(struct store *store)
{
	bool has_plan;

	hold(store);
	has_plan = store->has_plan;
	release(store);
	return has_plan;
}

uint64_t store_guid(struct store *store)
{
	uint64_t guid;

	hold(store);
	guid = store->guid;
	release(store);
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

static bool is_ours(struct store *store, const char *place)
{
	const char *ours = our_place(store);

	return ours && place && !strcmp(place, ours);
}

/* Whether another one is to be written. */
static bool is_awaited(struct store *store, enum file file)
{
	bool awaited;

	hold(store);
	awaited = is_pending(&store->content[file]);
	release(store);
	return awaited;
}

/*
 * One of the plans at our place or, to be left alone, at another; NULL: none to be used.
 * -ENOMEM: nobody knows yet.
 */
static int load(struct store *store, const char *place, enum file file,
		const struct store_request *request, struct pm_plan **plan)
{
	char *path = join(place, names[file]);
	bool ours = is_ours(store, place) && !is_awaited(store, file);
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
static int consider(struct store *store, const char *place,
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
static int consider_folders(struct store *store, const struct store_request *request,
			    struct found *best)
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
	const char *place = our_place(store);
	char *old = join(store->cache, OUR_NAME);
	int rc = old ? 0 : -ENOMEM;

	*best = (struct found){0};
	if (!rc && place)
		rc = consider(store, place, request, best);
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

bool store_has_later(struct store *store, const struct store_request *request)
{
	struct found found;
	bool later;

	find_latest(store, request, &found); /* without memory what is in force stays */
	later = found.place && !is_ours(store, found.place);
	forget(&found);
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
	char *path = store_path(store, names[PLAN]), *emptied = NULL;
	int lock = -1;

	say(store->log, OSM_LOG_INFO, ": plan taken over from %s%s", from->place,
	    names[PLAN]);
	if (path && access(path, F_OK) && !lock_place(from->place, 0, &lock))
		emptied = strdup(from->place);
	free(path);
	hold(store);
	if (emptied && !store->emptied) {
		store->emptied = emptied;
		store->emptied_lock = lock;
		store->has_plan = false;
		emptied = NULL;
		lock = -1;
	}
	release(store);
	free(emptied);
	unlock(&lock);
}

int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err)
{
	struct pm_plan *drifting = NULL;
	const char *holds = our_place(store);
	struct found found;
	int rc;

	rc = find_latest(store, request, &found);
	if (!rc && found.place)
		rc = load(store, found.place, DRIFTING, request, &drifting);
	if (!rc && found.place) {
		planning_load(planning, found.plan, drifting);
		found.plan = NULL;
		if (!is_ours(store, found.place)) {
			take_over(store, &found);
			planning->unsaved = true;
		}
		holds = found.place;
	}
	if (!rc && holds)
		load_holds(store, holds, request);
	forget(&found);
	return rc ? pm_error_no_memory(err) : 0;
}

/* ---- Writing ---- */

/* Has it written; the text is taken over. */
static void put(struct store *store, enum file file, char *text, size_t length)
{
	struct content *content = &store->content[file];

	hold(store);
	free(content->text);
	content->text = text;
	content->length = length;
	content->put++;
	store->puts++;
	release(store);
}

/* What the writer has taken to write. */
struct taken {
	enum file file;
	struct content content;
};

/* The next of those that are to be written, or to go; FILES: there is none. */
static enum file find_pending(const struct store *store, bool texts)
{
	enum file file = 0;

	while (file < FILES && (!is_pending(&store->content[file]) ||
				(store->content[file].text != NULL) != texts))
		file++;
	return file;
}

/* Texts first, so that the plan in force is there until the base is its equal. */
static bool take(struct store *store, struct taken *taken)
{
	hold(store);
	taken->file = find_pending(store, true);
	if (taken->file == FILES)
		taken->file = find_pending(store, false);
	if (taken->file < FILES) {
		taken->content = store->content[taken->file];
		store->content[taken->file].text = NULL;
	}
	release(store);
	return taken->file < FILES;
}

static int write_taken(const struct store *store, const struct taken *taken,
		       struct pm_error *err)
{
	const struct content *content = &taken->content;
	char *path = join(store->place, names[taken->file]);
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

/* It was written, or is given back unless there is a newer one. */
static void give_back(struct store *store, struct taken *taken, bool written)
{
	struct content *content = &store->content[taken->file];

	hold(store);
	if (written)
		content->written = taken->content.put;
	if (written && taken->file == PLAN)
		store->has_plan = true;
	if (!written && content->put == taken->content.put) {
		content->text = taken->content.text;
		taken->content.text = NULL;
	}
	pthread_cond_signal(&store->signal.changed);
	release(store);
	free(taken->content.text);
}

/* Removes what was taken over. What is there besides, set aside say, stays. */
static void empty(struct store *store, const char *place)
{
	static const char *const taken[] = {"plan",  "drifting",    "holds",
					    "state", "clear-holds", "portmajor.prom",
					    "prom",  "lock"};
	char *path;

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		path = join(place, taken[i]);
		if (path && unlink(path) && errno != ENOENT && errno != ENOTDIR) {
			int why = errno;

			worker_enter(store->writer);
			say(store->log, OSM_LOG_INFO, ": not removed: %s: %s", path,
			    strerror(why));
			worker_leave(store->writer);
		}
		free(path);
	}
	if (rmdir(place))
		errno = 0; /* it is not empty, or no folder */
}

/* Empties the folder that ours came from, when there is a plan in ours. */
static void empty_if_due(struct store *store)
{
	char *place = NULL;
	int lock = -1;

	hold(store);
	if (store->has_plan && store->emptied) {
		place = store->emptied;
		lock = store->emptied_lock;
		store->emptied = NULL;
		store->emptied_lock = -1;
	}
	release(store);
	if (place)
		empty(store, place);
	unlock(&lock);
	free(place);
}

void store_write(struct store *store)
{
	struct pm_error err = {""};
	struct taken taken;
	uint64_t puts;
	bool begun;
	int rc;

	hold(store);
	begun = store->begun;
	puts = store->puts;
	release(store);
	if (!begun)
		return;
	rc = open_folder(store, &err);
	while (!rc && take(store, &taken)) {
		rc = write_taken(store, &taken, &err);
		give_back(store, &taken, !rc);
	}
	set_trouble(store, &err);
	if (!rc) {
		empty_if_due(store);
		return;
	}
	hold(store);
	store->failed = puts;
	pthread_cond_signal(&store->signal.changed);
	release(store);
}

bool store_await_plan(struct store *store)
{
	bool awaited;

	hold(store);
	awaited =
		store->failed != store->puts && (is_pending(&store->content[DRIFTING]) ||
						 is_pending(&store->content[PLAN]));
	if (awaited)
		wait_briefly(&store->signal, 10);
	release(store);
	return awaited;
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

	if (!planning->unsaved || !planning->plan)
		return;
	if (planning->plan != planning->base)
		rc = put_plan(store, DRIFTING, planning->plan);
	else
		put(store, DRIFTING, NULL, 0);
	if (!rc)
		rc = put_plan(store, PLAN, planning->base);
	planning->unsaved = rc != 0; /* no memory: next time */
	worker_poke(store->writer);
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
	put(store, HOLDS, text, length);
	worker_poke(store->writer);
}

void store_trouble(struct store *store, struct pm_error *why)
{
	hold(store);
	*why = store->trouble;
	release(store);
}

/* ---- Beginning and end ---- */

static void free_store(struct store *store)
{
	unlock(&store->lock);
	unlock(&store->emptied_lock);
	for (enum file file = 0; file < FILES; file++)
		free(store->content[file].text);
	wait_signal_destroy(&store->signal);
	free(store->emptied);
	free(store->place);
	free(store->cache);
	free(store);
}

struct store *store_start(osm_log_t *log, struct worker *writer)
{
	const char *folder = getenv("OSM_CACHE_DIR");
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->log = log;
	store->writer = writer;
	store->lock = store->emptied_lock = -1;
	wait_signal_init(&store->signal);
	store->cache = join(folder && *folder ? folder : OSM_DEFAULT_CACHE_DIR, "/");
	if (store->cache)
		return store;
	free_store(store);
	return NULL;
}

void store_stop(struct store *store)
{
	if (store)
		free_store(store);
}
